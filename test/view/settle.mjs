// SPDX-License-Identifier: MIT
// When a page has come to rest: no answer has been waited for during what its longest timer takes.
const asked = new WeakMap();

export function watch(page) {
	const open = new Set();
	asked.set(page, open);
	page.on("request", r => { if (/\/get\//.test(r.url()) && !/\/get\/news/.test(r.url())) open.add(r); });
	for (const end of ["requestfinished", "requestfailed"]) page.on(end, r => open.delete(r));
	return page;
}

export async function settle(page) {
	for (let quiet = Date.now(), late = quiet + 20000; Date.now() - quiet < 400 && Date.now() < late;) {
		await page.waitForTimeout(20);
		if (asked.get(page).size) quiet = Date.now();
	}
	await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

// Points at the place that where() gives until the tooltip's first line begins with `text': what comes late may move it, and a
// person would point again. Returns that line.
export async function point(page, where, text) {
	let told = "";
	for (let i = 0; i < 12 && !told.startsWith(text); i++) {
		const at = await where();
		if (!at) { await page.waitForTimeout(500); continue; }
		// a pointer that does not move tells nothing
		await page.mouse.move(at.x + (i & 1), at.y);
		await page.waitForFunction(text => document.querySelector("#tip b")?.textContent.startsWith(text) && !document.getElementById("tip").hidden, text, {timeout: 5000}).catch(() => {});
		told = await page.evaluate(() => document.querySelector("#tip b")?.textContent ?? "");
	}
	return told;
}
