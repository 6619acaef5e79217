// SPDX-License-Identifier: MIT
// Saves ranges of a trace as HTML and opens them without a server: TAP. usage: node save.mjs DEVTRACE FOLDER (with made.db)
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => file.screenshot({path: `${folder}/failed-${tap.n}.png`});
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}, acceptDownloads: true});
const page = watch(await context.newPage()), file = watch(await context.newPage()), errors = [], asked = [];
for (const p of [page, file]) p.on("pageerror", e => errors.push(e.message));
file.on("request", r => { if (!/^(file|data|blob):/.test(r.url())) asked.push(r.url()); });

const server = await served(devtrace, folder + "/made.db");
const ready = async p => {
	await p.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 30000});
	await settle(p);
};
await page.goto(server.url);
await ready(page);
const length = await page.evaluate(async () => (await import("./main.js")).state.length);
const [from, to] = [Math.round(length * 0.31), Math.round(length * 0.36)];

// what a page shows: its tracks, and the bars of a window
const shown = (p, main, a, b) => p.evaluate(async ([main, a, b]) => {
	const { state } = await import(main + "main.js"), data = await import(main + "data.js");
	const got = await data.bars(a, b, 8192, state.tracks.filter(t => t.track < 0x40000000).map(t => t.track), 1000), bars = {};
	for (const [track, x] of got) {
		bars[track] = [];
		for (let i = 0; i < x.n; i++) if (x.end[i] >= a && x.begin[i] <= b) bars[track].push([x.depth[i], x.begin[i], x.end[i], x.busy[i], x.high[i], x.count[i], x.what[i], x.flags[i]].join());
		bars[track].sort();
	}
	return {tracks: state.tracks.map(t => [t.kind, t.id, t.name]), bars};
}, [main, a, b]);
const rows = async p => {
	await p.click("#tabs button[data-tab=functions]");
	await p.waitForSelector("#table tbody tr");
	return p.evaluate(() => [...document.querySelectorAll("#table tbody tr")].map(r => [...r.cells].map(c => c.textContent)));
};

await test("the button saves what is selected; the file shows just that, and asks nobody", async () => {
	await page.evaluate(async ([a, b]) => { const { state, show } = await import("./main.js"); state.selection = [a, b]; show(a, b); }, [from, to]);
	await settle(page);
	const coming = page.waitForEvent("download");
	await page.click("#html");
	await (await coming).saveAs(folder + "/part.html");
	is((await coming).suggestedFilename(), "made.db.html", "name");
	await file.goto("file://" + folder + "/part.html");
	await ready(file);
	is(await file.evaluate(() => document.title), "made.db (a part) – devtrace", "title");
	is(await file.evaluate(async () => { const { state } = await import("devtrace/main.js"); return [state.from, state.to]; }), [from, to], "window");
	const third = Math.round((to - from) / 40), windows = [[from, from + third], [from + 20 * third, from + 21 * third], [to - third, to]];
	for (const [a, b] of windows) {
		const [want, got] = [await shown(page, "./", a, b), await shown(file, "devtrace/", a, b)];
		is(got.tracks, want.tracks, "tracks");
		ok(Object.values(want.bars).flat().length > 20, "few bars");
		for (const track in want.bars) {
			// what the server puts together here are single bars in the file
			if (want.bars[track].some(x => Number(x.split(",")[5]) > 1)) continue;
			is(got.bars[track], want.bars[track], "bars of track " + track);
		}
	}
	is(asked, [], "requests");
});

await test("the table of functions is the same, and so are the list and a tooltip's text", async () => {
	const want = await rows(page), got = await rows(file);
	ok(want.length > 3, "rows " + want.length);
	is(got, want, "rows");
	const list = p => p.evaluate(async main => (await (await fetch("get/list?" + new URLSearchParams({from: main[0], to: main[1], rows: 50, kinds: 31}))).json()).rows, [from, to]);
	is(await list(file), await list(page), "list");
	const row = (await list(page)).find(r => r.thread !== undefined), call = p => p.evaluate(async r => (await (await fetch("get/call?" + new URLSearchParams({track: r.track, begin: r.begin, end: r.end, depth: r.depth, what: r.what}))).json()).text, row);
	// without the result, which the list does not have either
	ok((await call(file)).length > 0 && (await call(page)).startsWith(await call(file)), [await call(file), await call(page)].join(" / "));
});

await test("what is not in the file is shown as that, and said", async () => {
	await file.evaluate(async () => { const { state, show } = await import("devtrace/main.js"); show(0, state.length); });
	await settle(file);
	const gap = await file.evaluate(async at => { const { state } = await import("devtrace/main.js"), { gap_at } = await import("devtrace/gaps.js"); return [gap_at(state, null, null, at[0], 1)?.lines[0], gap_at(state, null, null, at[1], 1)?.lines[0]]; }, [Math.round(from / 2), to + 1000]);
	is(gap, ["not in this file", "not in this file"], "gaps");
	await file.fill("#filter", "core:0");
	await file.press("#filter", "Enter");
	await file.waitForSelector("#wrong:has-text('this file has a part of a trace')");
	await file.fill("#filter", "");
	await file.press("#filter", "Enter");
	await file.click("#html");
	await file.waitForSelector("#progress:has-text('no file: this is one already')");
	await file.click("#tabs button[data-tab=heat]");
	await file.waitForSelector("#table:has-text('this file has a part of a trace')");
});

await test("names that are code stay names", async () => {
	const evil = await served(devtrace, folder + "/evil.db"), name = "</script><script>window.evil=1</script>";
	await page.goto(evil.url);
	await ready(page);
	const coming = page.waitForEvent("download");
	await page.click("#html");
	await (await coming).saveAs(folder + "/evil.html");
	await file.goto("file://" + folder + "/evil.html");
	await ready(file);
	const got = await rows(file);
	is([got.length, got[0][0], await file.evaluate(() => window.evil ?? 0)], [1, name, 0], "a row, and no code");
	is(readFileSync(folder + "/evil.html", "utf8").split("</script>").length - 1, 3, "scripts");
	await evil.stop();
	await page.goto(server.url);
	await ready(page);
});

await test("too much is refused with what to do; nothing went wrong anywhere", async () => {
	await page.evaluate(async () => { const { state, show } = await import("./main.js"); state.selection = null; show(0, state.length); });
	await settle(page);
	await page.evaluate(async () => { const s = await import("./main.js"); s.state.selection = [0, s.state.length]; });
	await page.click("#html");
	await page.waitForFunction(() => /no file: there is too much in it for one file: select less time|saved/.test(document.getElementById("progress").textContent), null, {timeout: 60000});
	ok(/select less time/.test(await page.textContent("#progress")), await page.textContent("#progress"));
	is(errors, [], "errors");
});

await server.stop();
await browser.close();
end();
