// SPDX-License-Identifier: MIT
// Drives the panel of a call that waited in Chromium: TAP. usage: node waits.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { copyFileSync, readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { asked, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const view = (...args) => served(devtrace, ...args);
const sql = (file, query) => asked(devtrace, file, query);
const sqlite = (file, query) => execFileSync("sqlite3", ["-cmd", ".timeout 20000", file, query]).toString().trim();

const calls = sql(trace, "SELECT id, parent, depth, thread, begin_ticks AS b, end_ticks AS e, waited, timed FROM calls WHERE function = 'work'"), took = r => r.e - r.b;
const origin = Number(sqlite(trace, "SELECT min(min_ticks) FROM chunk")), id = Number(sqlite(trace, "SELECT min(id) FROM function WHERE name = 'work'"));
const slow = [...calls].sort((a, b) => took(b) - took(a))[0];
const link = r => `#tab=call&call=${[r.thread, r.depth, r.b - origin, r.e - origin, id, 0].join("-")}`;

const server = await view("--source", folder + "/src", trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}, permissions: ["clipboard-read", "clipboard-write"]});
const page = watch(await context.newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
async function open(url) {
	await page.goto("about:blank");
	await page.goto(url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
	await page.waitForSelector("#table h2");
	await settle(page);
}
async function copied() {
	await page.click("#table button:text('copy as JSON')");
	await page.waitForSelector("#table [role=status]:text('copied')");
	return JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
}

await test("what the slow call waited for: a lock that another thread held, and a pipe, as long as that thread slept", async () => {
	await open(server.url + link(slow));
	const said = await copied(), of = name => said.waits.filter(w => w.function === name);
	ok(said.waits.every((w, i) => !i || w.ns <= said.waits[i - 1].ns), "the longest first");
	const [lock] = of("pthread_mutex_lock"), [pipe] = of("read");
	ok(/^(lock 0x[0-9a-f]+, held by |a lock$)/.test(lock.for), lock.for);
	ok(/^(pipe:|data to read$)/.test(pipe.for), pipe.for);
	for (const w of [lock, pipe]) ok(w.ns > 50e6 && w.ns < 400e6 && w.longest_ns <= w.ns && w.times >= 1, JSON.stringify(w));
	const sum = said.waits.reduce((n, w) => n + w.ns, 0);
	ok(Math.abs(sum - slow.waited) < 1000, `${sum} ns together, and SQL has ${slow.waited}`);
	// the words are those of report
	const report = execFileSync(devtrace, ["report", "--waits", "--json", trace]).toString().trim().split("\n").map(l => JSON.parse(l)).filter(r => r.type === "wait");
	for (const w of said.waits) ok(report.some(r => r.function === w.function && r.for === w.for), `report does not know: ${w.function} ${w.for}`);
});

await test("who ended the longest wait, where the trace has it", async () => {
	ok(!(await page.textContent("#table")).includes("woken by"), "this one has not");
	const file = folder + "/woken.db", other = await view(file);
	const [r] = sql(file, "SELECT thread, depth, begin_ticks AS b, end_ticks AS e FROM calls WHERE function = 'f'");
	const from = Number(sqlite(file, "SELECT min(min_ticks) FROM chunk")), row = Number(sqlite(file, "SELECT id FROM function WHERE name = 'f'"));
	await open(other.url + `#tab=call&call=${[r.thread, r.depth, r.b - from, r.e - from, row, 0].join("-")}`);
	const [w] = (await copied()).waits;
	is(w.woken_by, "other (2) in g");
	is(w.ran_after_ns, 100000);
	const cells = await page.$$eval("#table caption:text('What it waited for') ~ tbody tr:first-child td", all => all.map(e => e.textContent));
	is(cells[5], "other (2) in g");
	await other.stop();
	await open(server.url + link(slow));
});

await test("the longest wait is selected by its button", async () => {
	const said = await copied(), longest = said.waits[0];
	await page.click("#table caption:text('What it waited for') ~ tbody tr:first-child button");
	await settle(page);
	const [a, b, ns] = await page.evaluate(async () => { const { state: s } = await import("./main.js"); return [...s.selection, s.ns_per_tick]; });
	ok(Math.abs((b - a) * ns - longest.longest_ns) < 2 && Math.abs(a * ns - longest.longest_at_ns) < 2, `${a} to ${b}`);
});

await test("the rank is exact: how many calls were faster, and as long", async () => {
	for (const r of [slow, calls[0], calls[17], calls[50]]) {
		await open(server.url + link(r));
		const { rank } = await copied();
		is([rank.exact, rank.faster, rank.as_long], [true, calls.filter(c => c.timed && took(c) < took(r)).length, calls.filter(c => c.timed && took(c) === took(r)).length], "of " + took(r));
	}
});

await test("the function's source is shown as it is in the folder, with its line", async () => {
	await open(server.url + link(slow));
	const text = readFileSync(folder + "/src/deep/waiter.c", "utf8").split("\n"), line = text.findIndex(l => l.includes("int work(int n)")) + 1;
	const shown = (await page.textContent("#table pre")).split("\n").filter(Boolean).map(l => [Number(l.slice(0, 6)), l.slice(8)]);
	ok(shown.length > 10, "lines: " + shown.length);
	for (const [number, words] of shown) is(words, text[number - 1], "line " + number);
	// that of its name, or of its brace, as the compiler has it
	is([0, 1].includes(Number((await page.textContent("#table pre b")).slice(0, 6)) - line), true, "the marked line");
});

const source = p => p.evaluate(async id => { const r = await fetch("get/source?function=" + id); return [r.status, await r.text()]; }, id);

await test("no name in a trace leads to a file that is not in the folder, or is no source", async () => {
	const file = folder + "/hostile.db", names = {"/etc/passwd": false, "../outside/secret.c": false, "/../../outside/secret.c": false, "deep/../../outside/secret.c": false, "link.c": false, "away/secret.c": false, "notes.txt": false, "fifo.c": false,
		"deep": false, "": false, "/": false, "/.": false, "//": false, "deep/waiter.c/": false, [folder + "/outside/secret.c"]: false, "deep/./waiter.c": false, "/elsewhere/deep/waiter.c": true, "waiter.c": false, ["a/".repeat(3000) + "x.c"]: false};
	copyFileSync(trace, file);
	for (const name in names) {
		sqlite(file, `UPDATE function SET file = '${name}' WHERE name = 'work'`);
		const s = await view("--source", folder + "/src", file);
		await page.goto("about:blank");
		await page.goto(s.url);
		const [status, text] = await source(page);
		is([status, /^\{"file":/.test(text)], [200, names[name]], name.slice(0, 80));
		ok(!text.includes("secret;") && !text.includes("root:") && !text.includes("not code"), text);
		await s.stop();
	}
});

await test("without the option no file is opened, and the panel says what would show it", async () => {
	const s = await view(trace);
	await open(s.url + link(slow));
	ok(/^\{"why":"[^"\n]+"\}$/.test((await source(page))[1]), "a reason");
	ok((await page.textContent("#table")).includes("devtrace view --source FOLDER"), "the hint");
	await s.stop();
	let said = "";
	try { execFileSync(devtrace, ["view", "-n", "--source", folder + "/none", trace], {stdio: ["ignore", "pipe", "pipe"], timeout: 10000}); } catch (e) { said = String(e.stderr); }
	is(said, `devtrace: --source ${folder}/none: No such file or directory\n`, "a folder that there is not");
});

await test("who woke a thread is an arrow from it, at its time, and told of; an interrupt's is short", async () => {
	const s = await view(folder + "/arrows.db");
	await page.goto("about:blank");
	await page.goto(s.url + "#from=0&to=600");
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
	await settle(page);
	const got = await (await fetch(s.url.replace(/\/?$/, "/get/wakes?from=0&to=600"))).json();
	is(got, {wakes: [[200, 1, 2, "other (2) in g"], [300, 2, 1, "main (1) in f"], [400, 1, 0, got.wakes[2][3]]], all: true}, "what the server says");
	ok(/interrupt|softirq/.test(got.wakes[2][3]), got.wakes[2][3]);
	// what is drawn: dashed lines between the rows of the two
	const lines = await page.evaluate(async () => {
		const { draw_wakes } = await import("./wakes.js"), { state } = await import("./main.js"), { row } = await import("./draw.js"), got = [];
		let from = null;
		const c = {save() {}, restore() {}, setLineDash() {}, beginPath() {}, stroke() {}, fill() {}, moveTo(x, y) { from = [x, y]; }, lineTo(x, y) { got.push([...from, x, y]); }};
		draw_wakes(c, t => t, 0, 1e6, 1e6, {});
		const middle = id => state.tracks.find(t => t.kind === "thread" && t.id === id).y + row / 2;
		// of each arrow the line comes before the two of its head
		return {lines: got.filter(l => l[0] === l[2] && Math.abs(l[3] - l[1]) > 10), main: middle(1), other: middle(2), row};
	});
	is(lines.lines, [[200, lines.other, 200, lines.main], [300, lines.main, 300, lines.other], [400, lines.main - 1.5 * lines.row, 400, lines.main]], "lines");
	const told = await page.evaluate(async ([a, b]) => {
		const { state, redraw } = await import("./main.js"), { left } = await import("./draw.js"), line = document.getElementById("line"), r = line.getBoundingClientRect();
		redraw();
		await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
		return {x: r.left + left + (200 - state.from) * (line.clientWidth - left) / (state.to - state.from), y: r.top + (a + b) / 2};
	}, [lines.main, lines.other]);
	await page.mouse.move(told.x, told.y);
	await page.waitForSelector("#tip:has-text('is woken')");
	ok((await page.textContent("#tip")).includes("by other (2) in g"), await page.textContent("#tip"));
	// too many: that is said
	await page.evaluate(async () => (await import("./main.js")).show(0, 4000));
	await page.waitForFunction(() => /more wake-ups than are drawn/.test(document.getElementById("progress").textContent));
	await page.evaluate(async () => (await import("./main.js")).show(0, 600));
	await page.waitForFunction(() => !/more wake-ups/.test(document.getElementById("progress").textContent));
	// and they can be switched off
	await page.click("#legend");
	await page.click("#keybox label:has-text('who woke a thread') input");
	is(await page.evaluate(async () => { let n = 0; const c = {save() {}, restore() {}, setLineDash() {}, beginPath() {}, stroke() { n++; }, fill() {}, moveTo() {}, lineTo() {}}; (await import("./wakes.js")).draw_wakes(c, t => t, 0, 1e6, 1e6, {}); return n; }), 0, "none");
	await s.stop();
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await server.stop();
await browser.close();
end();
