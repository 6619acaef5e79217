// SPDX-License-Identifier: MIT
// Drives the time line's page on traces of real programs: TAP.
// usage: node real.mjs DEVTRACE FOLDER [PICTURES]     FOLDER has slow.db, fixed.db and pg.db
import { createRequire } from "node:module";
import { spawn, execFileSync } from "node:child_process";
import { point, watch, settle as rest } from "./settle.mjs";
import { test, is, ok, end } from "./tap.mjs";

const [devtrace, folder, pictures] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
let page = null, child = null;

const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1280, height: 760}});
const errors = [];

// The page of another file, in the same window.
async function open(file) {
	await close();
	child = spawn(devtrace, ["view", "-n", `${folder}/${file}`], {stdio: ["ignore", "pipe", "inherit"]});
	const url = await new Promise((resolve, reject) => {
		child.stdout.once("data", d => resolve(String(d).trim()));
		child.once("exit", status => reject(new Error("devtrace view ended with status " + status)));
	});
	page = watch(await context.newPage());
	page.on("console", m => { if (m.type() === "error") errors.push(m.text()); });
	page.on("pageerror", e => errors.push(e.message));
	await page.goto(url);
	await ready();
	await settle();
}

async function close() {
	if (!child) return;
	await page.close();
	child.removeAllListeners("exit");
	const ended = new Promise(resolve => child.once("exit", resolve));
	child.kill("SIGINT");
	await ended;
	child = null;
}

const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const settle = () => rest(page);
const ask = (what, args) => page.evaluate(([what, args]) => import("./data.js").then(d => d.json(what, args)), [what, args]);
const sql = (file, query) => execFileSync(devtrace, ["sql", "-n", "-j", `${folder}/${file}`, query], {maxBuffer: 1 << 28}).toString().trim().split("\n").filter(l => l).map(l => JSON.parse(l));
const keep = async name => { if (pictures) await page.screenshot({path: `${pictures}/${name}.png`}); };
const filter = async text => {
	await page.fill("#filter", text);
	await page.press("#filter", "Enter");
	await ready();
	await settle();
	await page.evaluate(() => document.activeElement.blur());
};
const state = () => page.evaluate(async () => {
	const { state: s } = await import("./main.js");
	return {from: s.from, to: s.to, length: s.length, ns: s.ns_per_tick, picked: s.picked,
		tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, name: t.name, y: t.y, shown: t.shown, depths: t.depths, bars: s.bars.get(t.track)?.n ?? 0}))};
});
// Where on the screen the widest bar of a function is.
const bar_of = name => page.evaluate(async name => {
	const { state: s } = await import("./main.js"), { left, row } = await import("./draw.js"), { name: named } = await import("./data.js");
	const box = document.getElementById("line").getBoundingClientRect(), per = (s.to - s.from) / (box.width - left);
	let best = null;
	for (const t of s.tracks.filter(t => t.kind === "thread")) {
		const b = s.bars.get(t.track);
		for (let i = 0; b && i < b.n; i++) {
			if (b.count[i] !== 1 || b.depth[i] >= t.shown || named(b.what[i], () => {}) !== name) continue;
			const x0 = Math.max(left, left + (b.begin[i] - s.from) / per), x1 = Math.min(box.width, left + (b.end[i] - s.from) / per);
			if (x1 > x0 && (!best || x1 - x0 > best.width))
				best = {x: box.x + (x0 + x1) / 2, y: box.y + t.y + b.depth[i] * row + 8, width: x1 - x0, begin: b.begin[i], end: b.end[i], track: t.track};
		}
	}
	return best;
}, name);

await open("slow.db");
const worst = sql("slow.db", "SELECT begin, end, duration FROM calls WHERE function = 'activeExpireCycle' ORDER BY duration DESC LIMIT 1")[0];

await test("Redis: what stood still is the widest call; a filter of its length finds it", async () => {
	ok(worst.duration > 20e6, "it did not stand still: " + worst.duration);
	await keep("stall-all");
	await filter("time>20ms -aeProcessEvents*");
	const s = await state(), { functions } = await ask("stats", {from: 0, to: s.length});
	const want = sql("slow.db", "SELECT function, count(*) AS n FROM calls WHERE duration > 20000000 AND function NOT LIKE 'aeProcessEvents%' AND timed GROUP BY 1 ORDER BY 1");
	is(functions.filter(f => f.calls).map(f => f.name + f.calls).sort().join(), want.map(w => w.function + w.n).sort().join(), "functions");
	ok(functions.some(f => f.name === "activeExpireCycle"), "activeExpireCycle");
});

await test("Redis: a double click goes there, a tooltip says what it is", async () => {
	const bar = await bar_of("activeExpireCycle");
	ok(bar, "it is not drawn");
	await page.mouse.dblclick(bar.x, bar.y);
	await settle();
	await filter("");
	const near = await bar_of("activeExpireCycle");
	// not where it waited for devtrace: of that time the tooltip says so
	const told = () => page.waitForFunction(() => /^activeExpireCycle\(type=0\)/.test(document.querySelector("#tip b")?.textContent), null, {timeout: 3000}).then(() => true, () => false);
	let at = 0, found = false;
	for (let i = 0; i < 20 && !found; i++) {
		at = near.x + near.width * (i % 2 ? -1 : 1) * i / 45;
		await page.mouse.move(at, near.y);
		found = await told();
	}
	ok(found, "its tooltip is " + await page.evaluate(() => document.querySelector("#tip").innerText));
	const s = await state();
	// SQL's times are those of the nearest readings of the clock, the page's of all of them
	const near_to = (a, b) => Math.abs(a - b) < 10 + 2e-6 * b;
	ok(near_to(near.begin * s.ns, worst.begin) && near_to(near.end * s.ns, worst.end), `times: ${near.begin * s.ns} to ${near.end * s.ns}, not ${worst.begin} to ${worst.end}`);
	await page.mouse.click(at, near.y);
	await settle();
	for (const name of ["dbGenericDelete", "dictRelease", "_dictClear"]) ok(await bar_of(name), name + " is not drawn");
	await keep("stall");
});

await test("Redis: the list tells which key it was, the table where the time went", async () => {
	const from = Math.round(worst.begin / (await state()).ns), to = Math.round(worst.end / (await state()).ns);
	const { rows } = await ask("list", {from, to, rows: 20, kinds: 1});
	ok(rows.some(r => r.text === 'createStringObject(ptr="seen:2026-11-21", len=15)'), "the key: " + rows.slice(0, 6).map(r => r.text).join("; "));
	const { functions } = await ask("stats", {from, to}), most = functions.sort((a, b) => b.calls - a.calls)[0];
	ok(/sdsfree|zfree|dictSdsDestructor/.test(most.name), "most calls: " + most.name);
	const want = sql("slow.db", `SELECT count(*) AS n FROM calls WHERE function = '${most.name}' AND end BETWEEN ${worst.begin} AND ${worst.end} AND timed`)[0].n;
	ok(Math.abs(most.calls - want) <= 1, `${most.name}: ${most.calls} calls, not ${want}`);
});

await open("fixed.db");

await test("Redis: told to free in the background, it does so in a thread of its own", async () => {
	const bar = await bar_of("lazyfreeFreeObject");
	ok(bar, "it is not drawn");
	const main = sql("fixed.db", "SELECT thread FROM calls WHERE function = 'serverCron' LIMIT 1")[0].thread, s = await state();
	ok(s.tracks.find(t => t.track === bar.track).id !== main, "it is in the main thread");
	const cron = sql("fixed.db", "SELECT max(duration) AS d FROM calls WHERE function = 'activeExpireCycle'")[0].d;
	ok(cron < worst.duration / 4, `activeExpireCycle took ${cron}, before ${worst.duration}`);
	await keep("stall-fixed");
});

await open("pg.db");
// some have only waited, at a fork or for a library
const threads = sql("pg.db", "SELECT thread, process FROM threads WHERE thread IN (SELECT DISTINCT thread FROM records)");

await test("PostgreSQL: each process that did something has its track and colour, each probe its dots", async () => {
	const s = await state();
	is(s.tracks.filter(t => t.kind === "thread").map(t => t.id).sort().join(), threads.map(t => t.thread).sort().join(), "threads");
	const busy = sql("pg.db", "SELECT DISTINCT thread FROM calls").length;
	ok(busy >= 3, "backends: " + busy);
	const drawn = s.tracks.filter(t => /event|point/.test(t.kind) && /query__start$/.test(t.name));
	is(drawn.length, 1, "query__start");
	const { tracks } = await ask("stats", {from: 0, to: s.length});
	is(tracks.find(t => t.track === drawn[0].track).count, sql("pg.db", "SELECT count(*) AS n FROM events WHERE event = 'postgresql:query__start' AND kind = 'point'")[0].n, "how many");
	await keep("postgresql-all");
});

await test("PostgreSQL: queries and their stages are activities", async () => {
	const names = (await state()).tracks.filter(t => t.kind === "activity").map(t => t.name);
	// those whose both ends have been recorded
	const seen = sql("pg.db", "SELECT DISTINCT substr(event, 12) AS probe FROM events WHERE kind = 'point' AND event LIKE 'postgresql:query%'").map(r => r.probe);
	const stages = seen.filter(p => p.endsWith("__done") && seen.includes(p.replace("__done", "__start"))).map(p => p.replace("__done", "").replace("query__", ""));
	ok(stages.includes("query") && stages.includes("execute"), "stages: " + stages);
	is(names.sort().join(), stages.sort().join(), "activities");
});

await test("PostgreSQL: one backend alone, in picture, list and tables alike", async () => {
	const pid = sql("pg.db", "SELECT process FROM calls GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")[0].process;
	await filter(`process:${pid}`);
	const s = await state();
	is(s.tracks.filter(t => t.kind === "thread").map(t => t.id).join(), threads.filter(t => t.process === pid).map(t => t.thread).join(), "threads");
	const { functions } = await ask("stats", {from: 0, to: s.length});
	is(functions.reduce((a, f) => a + f.calls, 0), sql("pg.db", `SELECT count(*) AS n FROM calls WHERE process = ${pid} AND begin IS NOT NULL`)[0].n, "calls");
	// its activities, too
	const drawn = () => page.evaluate(async () => {
		const { state: s } = await import("./main.js"), t = s.tracks.find(t => t.kind === "activity" && t.name === "query");
		return [...s.bars.get(t.track).count].reduce((a, n) => a + n, 0);
	});
	is(await drawn(), sql("pg.db", `SELECT count(*) AS n FROM activities WHERE name = 'query' AND thread = ${pid}`)[0].n, "queries");
	await filter(`process:${pid} time>200us`);
	is(await drawn(), sql("pg.db", `SELECT count(*) AS n FROM activities WHERE name = 'query' AND thread = ${pid} AND duration > 200000`)[0].n, "long queries");
	await filter("");
	is(await drawn(), sql("pg.db", "SELECT count(*) AS n FROM activities WHERE name = 'query'")[0].n, "queries of all");
});

await test("PostgreSQL: a search goes from one execution to the next", async () => {
	await page.keyboard.press("/");
	await page.keyboard.type("standard_ExecutorRun");
	await page.waitForFunction(() => /function/.test(document.getElementById("found").textContent));
	const picked = other => page.waitForFunction(async other => { const p = (await import("./main.js")).state.picked; return p && p.begin !== other; }, other, {timeout: 20000});
	const at = /; at /, says = () => page.waitForFunction(at => new RegExp(at).test(document.getElementById("found").textContent), at.source);
	await page.keyboard.press("Enter");
	await picked(undefined);
	await says();	// until then another Enter does nothing
	const first = (await state()).picked;
	await page.keyboard.press("Enter");
	await picked(first.begin);
	await page.keyboard.press("Escape");
});

await test("PostgreSQL: what the picture says of a call is what calls prints", async () => {
	const s = await state();
	const call = sql("pg.db", "SELECT thread, begin_ticks, end_ticks, text FROM calls WHERE function = 'standard_ExecutorRun' AND ended = 'returned' AND NOT EXISTS (SELECT 1 FROM held WHERE held.thread = calls.thread AND held.begin < calls.end + 1000 AND held.end > calls.begin - 1000) ORDER BY begin LIMIT 1 OFFSET 20")[0];
	const base = Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", `${folder}/pg.db`, "SELECT min(min_ticks) FROM chunk"]));
	await page.evaluate(async ([from, to]) => (await import("./main.js")).show(from, to), [call.begin_ticks - base - 200, call.end_ticks - base + 200]);
	await settle();
	const told = await point(page, () => bar_of("standard_ExecutorRun"), "standard_ExecutorRun(");
	is(told.replace(/ *\/\*.*/, ""), call.text.replace(/ *\/\*.*/, ""), "text");
	ok(s.length > 0, "length");
	await keep("postgresql");
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));
await close();
await browser.close();
end();
