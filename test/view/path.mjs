// SPDX-License-Identifier: MIT
// Drives the tab of the critical path in Chromium: TAP. usage: node path.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { asked, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const origin = 900, tick = 1000;	// the first record; ns of a tick
const server = await served(devtrace, trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}});
const page = watch(await context.newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
async function open(url, wait = "canvas") {
	await page.goto("about:blank");
	await page.goto(url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
	await page.waitForSelector(wait);
	await settle(page);
}
// What devtrace path says: [begin, end, thread, kind, level, then, words], ticks from the first record on.
function said(...options) {
	const lines = execFileSync(devtrace, ["path", "--json", ...options, trace]).toString().trim().split("\n").map(l => JSON.parse(l)), head = lines[0];
	const from = Math.round(head.begin_ns / tick);
	return lines.filter(l => l.type === "piece").map(p => [from + Math.round(p.after_ns / tick), from + Math.round((p.after_ns + p.time_ns) / tick), p.thread, p.kind, p.level, p.then, p.what]);
}
const get = (...args) => page.evaluate(async args => { const { json } = await import("./data.js"); return json(...args); }, args);
const [call] = asked(devtrace, trace, "SELECT thread, depth, begin_ticks AS b, end_ticks AS e FROM calls WHERE function = 'work'");
const id = Number(execFileSync("sqlite3", ["-readonly", trace, "SELECT min(id) FROM function WHERE name = 'work'"]).toString());
const link = `#tab=call&call=${[call.thread, call.depth, call.b - origin, call.e - origin, id, 0].join("-")}`;

await test("the server's answer is what devtrace path says", async () => {
	await open(server.url);
	const got = await get("path", {from: 100, to: 1700, thread: 11});
	is(got.pieces.map(p => p.slice(0, 7)), said("-F", "work"), "of the call");
	is(got.pieces[0][0], 100, "begins with it");
	is(got.pieces.at(-1)[1], 1700, "and ends with it");
	ok(got.pieces.every((p, i) => !i || p[0] === got.pieces[i - 1][1]), "without gaps");
	is(got.sums.reduce((n, s) => n + s[2], 0), 1600, "the sums are as long");
	is((await get("path", {from: 300, to: 800, thread: 11})).pieces.map(p => p.slice(0, 7)), said("--from", "1200", "--to", "1700", "--thread", "11"), "of a range");
});

await test("from the panel of a call, by keyboard: the list, and the picture", async () => {
	await open(server.url + link, "#table h2");
	await page.focus("#table button:text('critical path')");
	await page.keyboard.press("Enter");
	await page.waitForSelector("#table caption:text('The path')");
	await settle(page);
	const tables = await page.evaluate(() => [...document.querySelectorAll("#table table")].map(t => [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent.trim()))));
	is(tables[1].map(r => r[2]), ["first (11)", "second (12)", "third (13)", "second (12)", "first (11)"].map((_, i) => tables[1][i][2]), "five stays");
	is(tables[1].length, 5, "five stays");
	ok(tables[1][1][3].includes("ran in other") && tables[1][2][3] === "ran in third", JSON.stringify(tables[1]));
	ok(tables[1][2][4].startsWith("wakes "), tables[1][2][4]);
	ok(tables[0].some(r => r[3] === "waited, woken by an interrupt in hrtimer_wakeup, in work"), JSON.stringify(tables[0]));
	const drawn = await page.evaluate(async () => (await import("./path.js")).drawn);
	is([...new Set(drawn.map(d => d[0]))].sort(), [11, 12, 13], "drawn over three threads");
	ok(drawn.every(d => d[3] >= d[2]), "forwards");
	is(drawn.map(d => d[1]), said("-F", "work").map(p => p[3]), "every piece");
});

await test("a stay's button shows it in the picture, and the path stays", async () => {
	await page.focus("#table table:nth-of-type(2) tbody tr:nth-child(3) button");
	await page.keyboard.press("Enter");
	await settle(page);
	const [from, to] = await page.evaluate(async () => { const { state } = await import("./main.js"); return [state.from, state.to]; });
	// 13 ran from 400 on, for 280
	ok(from > 200 && from < 400 && to > 680 && to < 900, `${from} to ${to}`);
	is(await page.evaluate(() => document.querySelectorAll("#table table:nth-of-type(2) tbody tr").length), 5, "stays");
	ok((await page.url()).includes("tab=path"), "in the address");
});

await test("of a selected time, by its key", async () => {
	await open(server.url);
	await page.evaluate(async () => {
		const { state } = await import("./main.js");
		state.selection = [0, 400];
	});
	await page.keyboard.press("t");
	await page.waitForSelector("#table caption:text('The path')");
	// by then, 13 has made the last record that is its own
	const rows = await page.evaluate(() => [...document.querySelectorAll("#table table:nth-of-type(2) tbody tr")].map(r => r.textContent));
	is(rows.length, 1, JSON.stringify(rows));
});

await test("nothing is drawn while the tab is not open; nothing picked is said", async () => {
	await page.click("#tabs button[data-tab=functions]");
	await settle(page);
	is((await page.evaluate(async () => (await import("./path.js")).drawn)).length, 0, "drawn");
	await open(server.url + "#tab=path");
	ok((await page.textContent("#table")).startsWith("click on a call, or select a time"), await page.textContent("#table"));
});

await test("a trace without switches has no such tab, and its server says why", async () => {
	const other = await served(devtrace, folder + "/none.db");
	await open(other.url);
	ok(await page.isHidden("#tabs button[data-tab=path]"), "hidden");
	const why = await page.evaluate(async () => { const { json } = await import("./data.js"); return json("path", {from: 0, to: 400}).then(() => "", e => e.message); });
	is(why, "no switches in this trace: record with -S", "why");
});

await test("no errors in the page", async () => { is(errors, [], "errors"); });

await browser.close();
end();
