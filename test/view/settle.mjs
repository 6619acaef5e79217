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
