// SPDX-License-Identifier: MIT
// Drives questions in SQL in Chromium: TAP. usage: node sql.mjs DEVTRACE TRACE OTHER_TRACE FOLDER
import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { asked, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, other, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const {url} = await served(devtrace, trace);
const sql = q => asked(devtrace, trace, q);
const sum = () => createHash("sha256").update(readFileSync(trace)).digest("hex");

const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 1000}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
await page.goto(url);
await ready();
await page.waitForFunction(async () => (await import("./main.js")).state.complete);
await page.waitForTimeout(300);

// Asks without the page's form.
const ask = q => page.evaluate(async q => {
	const r = await fetch("ask?" + new URLSearchParams({sql: q}), {method: "POST"}), said = await r.json();
	if (!r.ok) return {status: r.status, ...said};
	for (;;) {
		const answer = await (await fetch("get/asked?number=" + said.number)).json();
		if (answer.done !== false) return answer;
		await new Promise(resolve => setTimeout(resolve, 20));
	}
}, q);

await test("an answer has what devtrace sql says", async () => {
	for (const q of ["SELECT function, count(*) AS n, sum(duration) AS sum FROM calls GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 30", "SELECT thread, name FROM threads", "SELECT 1 AS one, NULL AS void, 'a\"b' AS text, 1.5 AS real; -- a remark", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n"]) {
		const got = await ask(q);
		is(got.error, "", q);
		is(got.rows.map(r => Object.fromEntries(got.columns.map((c, i) => [c, r[i]]))), sql(q.replace(/;.*/, "")), q);
	}
});

await test("it only reads this trace: nothing is changed, made, attached or read elsewhere", async () => {
	const before = sum();
	for (const q of ["INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)", "DELETE FROM activities", "UPDATE function SET name = 'x'", "DROP TABLE chunk", "CREATE TABLE x(a)", "CREATE TEMP TABLE x(a)", "CREATE TEMP VIEW v AS SELECT 1", `ATTACH '${folder}/new.db' AS a`, `ATTACH '${other}' AS a`, `VACUUM INTO '${folder}/new.db'`,
		"VACUUM", "PRAGMA journal_mode=DELETE", "PRAGMA user_version=5", "PRAGMA table_info(calls)", "BEGIN", "SAVEPOINT s", "REINDEX", "ANALYZE", `SELECT count(*) FROM devtrace_calls('${other}')`, `SELECT count(*) FROM calls('${other}')`, `SELECT count(*) FROM calls WHERE file = '${other}'`, `SELECT count(*) FROM threads('${other}')`,
		"SELECT load_extension('/tmp/x.so')", `SELECT writefile('${folder}/new.db', 'x')`, `SELECT readfile('${other}')`, "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE chunk", "", "-- nothing", "SELEC", "SELECT * FROM nowhere"]) {
		const got = await ask(q);
		ok(!q || got.error, q + ": " + JSON.stringify(got).slice(0, 100));
		ok(!/\n/.test(got.error ?? ""), q + " is a line: " + got.error);
	}
	is(existsSync(`${folder}/new.db`), false, "a file was made");
	is(sum(), before, "the trace");
	is((await ask("SELECT count(*) AS n FROM devtrace_threads")).rows, [[sql("SELECT count(*) AS n FROM threads")[0].n]], "the same trace by its other name");
});

await test("what is too much is cut or ended, and says so; the picture goes on meanwhile", async () => {
	const many = await ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n");
	is([many.rows.length, many.more, many.error], [10000, true, ""], "rows");
	const wide = await ask("SELECT randomblob(50000000)");
	ok(/too big|out of memory/.test(wide.error), wide.error);
	const long = await ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(40000)) AS x FROM n");
	ok(long.more && long.rows.length < 100, "bytes: " + long.rows.length);
	for (const args of ["", "?sql=" + "x".repeat(10001)]) is(await page.evaluate(async args => (await fetch("ask" + args, {method: "POST"})).status, args), 400, args.slice(0, 10));
	is(await page.evaluate(async () => (await fetch("get/ask?sql=SELECT+1")).status), 404, "only posted");
	is(await page.evaluate(async () => (await fetch("get/asked?number=999999")).status), 404, "another question");
	// one that does not end is ended by the next
	const took = await page.evaluate(async () => {
		const post = async sql => (await (await fetch("ask?" + new URLSearchParams({sql}), {method: "POST"})).json()).number;
		const number = await post("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
		await new Promise(resolve => setTimeout(resolve, 300));
		const running = await (await fetch("get/asked?number=" + number)).json(), begun = performance.now();
		await (await fetch("get/names?ids=1")).json();
		const picture = performance.now() - begun, next = await post("SELECT 7");
		return {running, picture, old: (await fetch("get/asked?number=" + number)).status, next};
	});
	is([took.running.done, took.old], [false, 404], JSON.stringify(took));
	ok(took.picture < 1000, "the picture waits: " + took.picture);
});

const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, from: s.from, to: s.to, ns: s.ns_per_tick, picked: s.picked, notes: s.notes, tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, name: t.name, y: t.y, count: t.count}))}; });
const run = async q => { await page.fill("#question", q); await page.press("#question", "Control+Enter"); await page.waitForFunction(() => /row|error|not|no such/.test(document.querySelector("#table form [role=status]").textContent) && !/looking/.test(document.querySelector("#table form [role=status]").textContent)); };
const longest = "SELECT function, thread, depth, begin, end, duration FROM calls WHERE ended = 'returned' ORDER BY duration DESC, begin LIMIT 20";

await test("by keyboard: Q, a question, Ctrl-Enter; a row leads to its call", async () => {
	await page.keyboard.press("q");
	await page.waitForSelector("#question");
	const q = sql("SELECT DISTINCT ended FROM calls").map(r => r.ended).includes("returned") ? longest : longest.replace(/WHERE.*ORDER/, "ORDER"), want = sql(q);
	await run(q);
	is(await page.locator("#table tbody tr").count(), want.length, "rows");
	for (const i of [3, 0]) {
		await page.locator("#table tbody tr >> nth=" + i).locator("button").focus();
		await page.keyboard.press("Enter");
		await page.waitForFunction(async depth => (await import("./main.js")).state.picked?.depth === depth, want[i].depth);
		await settle(page);
		const s = await state(), t = s.tracks.find(t => t.track === s.picked.track);
		is([t.id, s.picked.depth], [want[i].thread, want[i].depth], "the picked call");
		ok(Math.abs(s.picked.begin * s.ns - want[i].begin) <= 2 * s.ns && Math.abs((s.picked.end - s.picked.begin) * s.ns - want[i].duration) <= 2 * s.ns, "its times");
	}
	await run("SELECT * FROM nowhere");
	ok(/no such table/.test(await page.textContent("#table form [role=status]")), "the error");
	await run(q);
});

await test("an answer becomes a track, and a plot", async () => {
	const want = sql(longest.replace(/WHERE.*ORDER/, "ORDER"));
	await run(longest.replace(/WHERE.*ORDER/, "ORDER"));
	await page.click("#table button:text-is('as a track')");
	await page.selectOption("#table select", {label: "depth"});
	await page.click("#table button:text-is('as a plot')");
	await page.evaluate(async () => { const m = await import("./main.js"); m.show(0, m.state.length); });
	await settle(page);
	const s = await state(), track = s.tracks.find(t => t.kind === "answer"), plot = s.tracks.find(t => t.kind === "values");
	is([track.count, plot.count], [want.length, want.length], "rows drawn");
	const bars = await page.evaluate(async track => { const b = (await import("./main.js")).state.bars.get(track); return b.list.map(x => [x.begin, x.name]).sort((a, b) => a[0] - b[0]); }, track.track);
	is(bars.map(b => b[0]), want.map(r => Math.round(r.begin / s.ns)).sort((a, b) => a - b), "where they begin");
	const line = await page.locator("#line").boundingBox(), at = want[0];
	await page.evaluate(() => { document.getElementById("scroll").scrollTop = 0; });
	await page.mouse.move(line.x + 190 + (line.width - 190) * ((at.begin + at.end) / 2 / s.ns) / s.length, line.y + track.y + 8);
	await page.waitForFunction(() => !document.getElementById("tip").hidden);
	ok((await page.textContent("#tip")).startsWith("SELECT"), await page.textContent("#tip"));
	// a filter's picture keeps them
	await page.fill("#filter", "core:0");
	await page.press("#filter", "Enter");
	await ready();
	await settle(page);
	ok(await page.evaluate(async track => !!(await import("./main.js")).state.bars.get(track), track.track), "after a filter");
	await page.fill("#filter", "");
	await page.press("#filter", "Enter");
	await ready();
});

await test("a question is kept in the file, asked again by a click, and removed; the address has the last one", async () => {
	await run("SELECT count(*) AS n FROM calls");
	await page.click("#table button:text-is('keep in the file')");
	await page.waitForSelector("#table button:text-is('SELECT count(*) AS n FROM calls')");
	await page.waitForTimeout(400);
	await page.reload();
	await ready();
	await page.waitForFunction(() => /^1 row/.test(document.querySelector("#table form [role=status]")?.textContent ?? ""));
	is(await page.inputValue("#question"), "SELECT count(*) AS n FROM calls", "the field");
	await page.fill("#question", "SELECT 2");
	await page.waitForSelector("#table button:text-is('SELECT count(*) AS n FROM calls')");
	await page.click("#table button:text-is('SELECT count(*) AS n FROM calls')");
	await page.waitForFunction(n => document.querySelector("#table tbody td")?.textContent === n, String(sql("SELECT count(*) AS n FROM calls")[0].n));
	await page.click("#tabs [data-tab=marks]");
	is(await page.locator("#table input").count(), 0, "it is no bookmark");
	await page.click("#tabs [data-tab=sql]");
	await page.click("#table button:text-is('remove')");
	await page.waitForFunction(async () => !(await import("./main.js")).state.notes.length);
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
