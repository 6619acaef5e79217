// SPDX-License-Identifier: MIT
// Drives the page's address in Chromium: TAP. usage: node address.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { copyFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const view = (file = trace) => served(devtrace, file);
const server = await view();
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = p => p.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const state = () => page.evaluate(async () => {
	const { state: s } = await import("./main.js"), round = l => l && l.map(Math.round);
	return {window: round([s.from, s.to]), selection: round(s.selection), tab: s.tab, opened: s.opened, filter: s.filter, picked: s.picked && [s.picked.begin, s.picked.end, s.picked.depth], a: s.a, b: s.b, open: s.tracks.filter(t => t.open).map(t => t.id), hidden: [...s.hidden], marks: s.marks.length};
});
// Says whether two views are alike; times may be a tick or two apart, as the address has whole ones.
function alike(got, want, what) {
	const rest = ({window, ...x}) => x;
	is(rest(got), rest(want), what);
	got.window.forEach((t, i) => ok(Math.abs(t - want.window[i]) <= 2, `${what}: window ${got.window}, not ${want.window}`));
}
const rest = async () => { await ready(page); await page.waitForTimeout(400); await settle(page); };

await page.goto(server.url);
await rest();
const line = await page.locator("#line").boundingBox();
async function drag(y) {
	await page.mouse.move(line.x + 400, y);
	await page.mouse.down();
	await page.mouse.move(line.x + 800, y, {steps: 4});
	await page.mouse.up();
	await page.mouse.move(line.x + 60, line.y + 8);
}
const steps = {
	"zoom": async () => { for (let i = 0; i < 4; i++) await page.keyboard.press("w"); },
	"select": () => drag(line.y + 6),
	"another tab": () => page.click("#tabs [data-tab=threads]"),
	"unfold": () => page.evaluate(async () => { const m = await import("./main.js"); m.state.tracks.find(t => t.kind === "thread").open = true; m.relayout(); }),
	"filter": async () => { await page.fill("#filter", "time>1us"); await page.press("#filter", "Enter"); await page.evaluate(() => document.activeElement.blur()); },
	"pick": () => page.evaluate(async () => {
		const m = await import("./main.js"), t = m.state.tracks.find(t => t.kind === "thread"), b = m.state.bars.get(t.track), i = [...b.count].indexOf(1);
		m.state.picked = {track: t.track, depth: b.depth[i], begin: b.begin[i], end: b.end[i], what: b.what[i], flags: b.flags[i], count: 1};
		(await import("./panel.js")).panel.open("call");
	}),
	"marks": async () => { await page.click("#measured button:text-is('set A')"); },
	"hide": () => page.evaluate(async () => { const m = await import("./main.js"); m.state.hidden.add("core"); m.relayout(); }),
	"nothing selected": () => page.keyboard.press("Escape"),
};
const seen = [await state()];
for (const step of Object.values(steps)) {
	await page.waitForTimeout(1100);
	await step();
	await rest();
	seen.push(await state());
}

await test("the browser's Back takes back one action after the other, to the first view", async () => {
	const names = Object.keys(steps);
	for (let i = seen.length - 2; i >= 0; i--) {
		await page.goBack();
		await rest();
		alike(await state(), seen[i], "before " + names[i]);
	}
});

await test("Forward does them again; a new action after Back leaves out what came after", async () => {
	for (let i = 1; i < seen.length; i++) {
		await page.goForward();
		await rest();
		alike(await state(), seen[i], "after " + Object.keys(steps)[i - 1]);
	}
	await page.goBack();
	await page.goBack();
	await rest();
	await page.waitForTimeout(1100);
	await page.click("#tabs [data-tab=cores]");
	await rest();
	const there = await state();
	await page.goForward().catch(() => {});
	await rest();
	alike(await state(), there, "nothing is forward");
});

await test("an unfolded thread that a filter leaves out is unfolded when it comes back, and no step of its own", async () => {
	await page.click("#fit");
	await steps.unfold();
	await rest();
	await page.waitForTimeout(1100);
	const filter = async text => { await page.fill("#filter", text); await page.press("#filter", "Enter"); await page.evaluate(() => document.activeElement.blur()); await rest(); };
	const open = async () => (await state()).open, id = (await open())[0], length = await page.evaluate(() => history.length);
	await filter("thread:" + (id + 1));
	ok((await page.evaluate(async () => (await import("./main.js")).state.tracks.filter(t => t.kind === "thread").length)) === 1, "another thread only");
	is(await open(), [], "what is left out is drawn");
	ok(await page.evaluate(id => new URLSearchParams(location.hash.slice(1)).get("open") === String(id), id), "address");
	await page.waitForTimeout(1100);
	await filter("");
	is(await open(), [id], "come back");
	ok(await page.evaluate(() => history.length) <= Math.min(50, length + 2), "steps");
});

await test("movements that follow each other are one step", async () => {
	await page.click("#fit");
	await rest();
	await page.waitForTimeout(1100);
	const before = await state(), length = await page.evaluate(() => history.length);
	for (let i = 0; i < 6; i++) { await page.keyboard.press("d"); await page.waitForTimeout(350); }
	await rest();
	ok(await page.evaluate(() => history.length) <= Math.min(50, length + 1), "steps");
	await page.goBack();
	await rest();
	alike(await state(), before, "before they began");
});

await test("a view is the same in another run of the server", async () => {
	const hash = await page.evaluate(() => location.hash), want = await state(), other = await view();
	ok(other.url !== server.url, "another address");
	await page.goto(other.url + hash);
	await rest();
	alike(await state(), want, "the view");
	await other.stop();
});

const sqlite = (file, query) => execFileSync("sqlite3", ["-cmd", ".timeout 20000", file, query]).toString().trim();

await test("a bookmark is kept in the file as a note, which is there in another run, changed, shown and removed", async () => {
	const file = folder + "/notes.db", origin = Number(sqlite(trace, "SELECT min(min_ticks) FROM chunk"));
	copyFileSync(trace, file);
	const rows = () => sqlite(file, "SELECT begin_ticks, end_ticks, text FROM note");
	let s = await view(file);
	await page.goto("about:blank");
	await page.goto(s.url);
	await rest();
	for (let i = 0; i < 3; i++) await page.keyboard.press("w");
	await rest();
	const [from, to] = (await state()).window;
	await page.keyboard.press("b");
	await page.fill("#table input", 'it\'s "slow" <b>here</b>; µ');
	await page.click("#table button:text-is('keep in the file')");
	await page.waitForSelector("#table td:text-is('in the file')");
	is(rows(), `${from + origin}|${to + origin}|it's "slow" <b>here</b>; µ`, "in the file");
	is((await state()).marks, 0, "bookmarks in the address");
	await s.stop();
	s = await view(file);
	await page.goto(s.url + "#tab=marks");
	await rest();
	is(await page.inputValue("#table input"), 'it\'s "slow" <b>here</b>; µ', "in another run");
	await page.click("#table button[title='show it']");
	await rest();
	is((await state()).window, [from, to], "shown");
	await page.fill("#table input", "another");
	await page.press("#table input", "Tab");
	await page.waitForFunction(async () => (await import("./main.js")).state.notes[0]?.name === "another");
	is(rows(), `${from + origin}|${to + origin}|another`, "changed");
	execFileSync(devtrace, ["check", file]);	// it is sound, or this fails
	await page.click("#table button:text-is('remove')");
	await page.waitForFunction(async () => !(await import("./main.js")).state.notes.length);
	is(rows(), "", "removed");
	await s.stop();
});

await test("what makes no sense is refused in a line, what another site sends is not done, and a file with a trigger is not opened", async () => {
	const file = folder + "/hostile.db", records = f => sqlite(f, "SELECT count(*) FROM chunk");
	copyFileSync(trace, file);
	sqlite(file, "CREATE TABLE note(id INTEGER PRIMARY KEY, begin_ticks INTEGER, end_ticks INTEGER, text TEXT); CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM chunk; END");
	let said = "";
	try { execFileSync(devtrace, ["view", "-n", file], {stdio: ["ignore", "pipe", "pipe"], timeout: 20000}); } catch (e) { said = String(e.stderr); }
	ok(/^devtrace: .*the trace is damaged: foreign tables[^\n]*\n$/.test(said), said);
	sqlite(file, "DROP TRIGGER t");
	const s = await view(file), before = records(file), curl = (path, ...args) => execFileSync("curl", ["-s", "-o", folder + "/answer", "-w", "%{http_code}", ...args, s.url + path]).toString();
	await page.goto("about:blank");
	await page.goto(s.url);
	await rest();
	const post = args => page.evaluate(async args => { const r = await fetch("note?" + args, {method: "POST"}); return [r.status, await r.text()]; }, args);
	is((await post("from=1&to=2&text=x"))[0], 200, "a note");
	is(records(file), before, "the records");
	for (const [args, want] of [["", 400], ["from=1&to=2", 400], ["from=2&to=1&text=x", 400], ["from=1&to=2&text=a%0Ab", 400], ["from=1&to=2&text=" + "x".repeat(1001), 400], ["id=0", 400], ["id=x&text=y&from=1&to=2", 400]]) {
		const [status, text] = await post(args);
		is([status, /^\{"error":"[^"\n]+"\}$/.test(text)], [want, true], args.slice(0, 40) + ": " + text);
	}
	is(curl("note?from=1&to=2&text=y", "-X", "POST"), "403", "no Origin");
	is(curl("note?from=1&to=2&text=y", "-X", "POST", "-H", "Origin: http://elsewhere"), "403", "another site");
	is(curl("get/note?from=1&to=2&text=y"), "404", "by GET");
	is(sqlite(file, "SELECT group_concat(text) FROM note"), "x", "notes");
	await s.stop();
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await server.stop();
await browser.close();
end();
