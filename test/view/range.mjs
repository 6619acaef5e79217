// SPDX-License-Identifier: MIT
// Drives the tables, flame and trees of a range in Chromium: TAP. usage: node range.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const {url} = await served(devtrace, trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}, permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true});
const page = watch(await context.newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = p => p.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});

// the calls as `devtrace sql' has them, one by one
const rows = asked(devtrace, trace, "SELECT id, parent, depth, thread, function, begin_ticks AS begin, end_ticks AS end, ended, timed FROM calls");
const origin = origin_of(trace);
const by_id = new Map(rows.filter(r => r.id).map(r => [r.id, r]));
for (const r of rows) {
	r.good = r.timed || r.ended === "open";
	r.way = [];
	for (let q = r; q; q = by_id.get(q.parent)) r.way.unshift(q.function);
	r.again = r.way.slice(0, -1).includes(r.function);
	// a function stands on a way only once
	r.folded = r.way.reduce((way, f) => way.includes(f) ? way.slice(0, way.indexOf(f) + 1) : [...way, f], []).join(";");
}

// Computes what ran from tick a to tick b, counted from the first: by function [calls, cut, total, self], by way self, by thread ticks.
function clipped(a, b) {
	const from = a + origin, to = b + origin, functions = {}, ways = {}, threads = {};
	for (const r of rows) {
		if (!r.id || r.begin > to || (a ? r.end <= from : false)) continue;
		const f = functions[r.function] ??= [0, 0, 0, 0], part = r.good ? Math.min(r.end, to) - Math.max(r.begin, from) : 0, up = by_id.get(r.parent);
		f[0]++;
		f[1] += (a > 0 && r.begin <= from) || r.end > to ? 1 : 0;
		f[2] += r.again ? 0 : part;
		f[3] += part;
		ways[r.folded] = (ways[r.folded] ?? 0) + part;
		if (up?.good) {
			(functions[up.function] ??= [0, 0, 0, 0])[3] -= part;
			ways[up.folded] = (ways[up.folded] ?? 0) - part;
		} else {
			threads[r.thread] = (threads[r.thread] ?? 0) + part;
		}
	}
	return {functions, ways, threads};
}
const sorted = o => Object.entries(o).sort(([a], [b]) => a < b ? -1 : 1);
const ask = (what, args) => page.evaluate(async ([what, args]) => (await import("./data.js")).json(what, args), [what, args]);
const status = args => page.evaluate(async args => { const r = await fetch("get/range?" + args); return [r.status, (await r.text()).slice(0, 200)]; }, args);
const names = ids => page.evaluate(async ids => { const d = await import("./data.js"); for (const id of ids) d.name(id, () => {}); await d.named(); return Object.fromEntries(ids.map(id => [id, d.name(id, () => {})])); }, ids);

await page.goto(url);
await ready(page);
await settle(page);
const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, from: s.from, to: s.to, ns: s.ns_per_tick, selection: s.selection, tab: s.tab, a: s.a, b: s.b, opened: s.opened, filter: s.filter,
	tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, name: t.name}))}; });
const whole = await state();

// what the server says, in the form of clipped()
async function said(a, b) {
	const got = await ask("range", {from: a, to: b, ways: 1}), functions = {}, ways = {}, threads = {};
	for (const f of got.functions) { const x = functions[f.name] ??= [0, 0, 0, 0]; [f.calls, f.cut, f.total, f.self].forEach((v, i) => { x[i] += v; }); }
	const of = await names([...new Set(got.ways.map(w => w[2]))]), path = new Map([[0, ""]]);
	for (const [id, up, f, , self] of got.ways) { path.set(id, (path.get(up) ? path.get(up) + ";" : "") + of[f]); ways[path.get(id)] = (ways[path.get(id)] ?? 0) + self; }
	for (const t of got.tracks) { const track = whole.tracks.find(x => x.track === t.track); if (track.kind === "thread") threads[track.id] = t.busy; }
	return {functions, ways, threads};
}
const nonzero = o => Object.fromEntries(Object.entries(o).filter(([, v]) => v));

let seed = 7;
const random = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return seed % Math.max(1, Math.round(n)); };
const L = whole.length, ranges = [[0, L], [1, L - 1], [0, Math.round(L / 2)], [Math.round(L / 3), L]];
for (let i = 0; i < 16; i++) { const a = random(L), b = i % 2 ? random(L) : Math.min(L, a + random(L / 500)); ranges.push([Math.min(a, b), Math.max(a, b)]); }

await test("in any range, functions, ways and threads have what the calls have that run in it, by their part", async () => {
	for (const [a, b] of ranges) {
		const want = clipped(a, b), got = await said(a, b);
		is(sorted(got.functions), sorted(want.functions), `functions of ${a} to ${b}`);
		is(sorted(nonzero(got.ways)), sorted(nonzero(want.ways)), `ways of ${a} to ${b}`);
		is(sorted(nonzero(got.threads)), sorted(nonzero(want.threads)), `threads of ${a} to ${b}`);
	}
});

await test("two ranges that touch have together what both have", async () => {
	for (const [a, b] of ranges.filter(([a, b]) => b - a > 10)) {
		const c = a + random(b - a), [x, y, all] = [await said(a, c), await said(c, b), await said(a, b)];
		for (const key of ["ways", "threads"]) {
			const sum = {...x[key]};
			for (const k in y[key]) sum[k] = (sum[k] ?? 0) + y[key][k];
			is(sorted(nonzero(sum)), sorted(nonzero(all[key])), `${key} of ${a}, ${c}, ${b}`);
		}
	}
});

await test("with a filter, there are only the calls that it shows", async () => {
	const name = Object.entries(clipped(0, L).functions).sort(([, a], [, b]) => b[0] - a[0])[0][0];
	for (const [a, b] of ranges.slice(0, 8)) {
		let got = await ask("range", {from: a, to: b, filter: "function:" + name});
		for (let i = 0; got.partly && i < 200; i++) { await page.waitForTimeout(50); got = await ask("range", {from: a, to: b, filter: "function:" + name}); }
		const want = clipped(a, b).functions[name];
		is(got.functions.map(f => [f.name, f.calls, f.cut, f.total, f.self]), want ? [[name, ...want]] : [], `${name} in ${a} to ${b}`);
	}
});

await test("a range that makes no sense is refused in a line", async () => {
	for (const args of ["", "from=1", "from=5&to=4", "from=-1&to=4", "from=0&to=x", "from=0&to=4&ways=2", "all=1&ways=x"]) {
		const [code, text] = await status(args);
		is(code, 400, args);
		ok(/^\{"error":"[^"\n]+"\}$/.test(text), `${args}: ${text}`);
	}
	is((await status("from=9&to=9"))[0], 200, "an empty one");
	is((await status("from=1152921504606846975&to=1152921504606846975"))[0], 200, "one behind the end");
});

const cells = () => page.$$eval("#table tbody tr", all => all.map(r => [...r.cells].map(c => c.textContent)));
async function download(what) {
	const [file] = await Promise.all([page.waitForEvent("download"), what()]);
	return {name: file.suggestedFilename(), rows: readFileSync(await file.path(), "utf8").trimEnd().split("\n").map(l => l.split(","))};
}

await test("with nothing selected, a tab that is opened is about the whole trace; a second click closes it", async () => {
	is(await page.textContent("#table"), "", "at first");
	await page.click("#tabs [data-tab=functions]");
	await page.waitForSelector("#table tbody tr");
	ok((await page.textContent("#range")).startsWith("the whole trace"), await page.textContent("#range"));
	const file = await download(() => page.click("#table button:text-is('CSV')")), want = clipped(0, L).functions;
	ok(file.name.endsWith("-functions.csv"), file.name);
	is(file.rows[0].slice(0, 5), ["function", "calls", "cut", "total_ns", "self_ns"], "head");
	is(sorted(Object.fromEntries(file.rows.slice(1).map(r => [r[0], r.slice(1, 5).map(Number)]))), sorted(Object.fromEntries(Object.entries(want).map(([k, v]) => [k, [v[0], v[1], Math.round(v[2] * whole.ns), Math.round(v[3] * whole.ns)]]))), "rows");
	is(await page.evaluate(() => location.hash.includes("tab=functions")), true, "the address");
	await page.click("#tabs [data-tab=functions]");
	await page.waitForFunction(() => !document.querySelector("#table").textContent);
});

await test("of a selected range: threads never have more than all of it, and processes and modules are the sums of theirs", async () => {
	const box = await page.locator("#line").boundingBox();
	await page.mouse.move(box.x + 500, box.y + 6);
	await page.mouse.down();
	await page.mouse.move(box.x + 760, box.y + 6, {steps: 4});
	await page.mouse.up();
	await page.waitForSelector("#table tbody tr");
	const [a, b] = (await state()).selection.map(Math.round), want = clipped(a, b);
	const csv = async tab => { await page.click(`#tabs [data-tab=${tab}]`); await page.waitForFunction(tab => document.querySelector("#table").dataset.of === tab && document.querySelector("#table tbody tr"), tab); return (await download(() => page.click("#table button:text-is('CSV')"))).rows.slice(1); };
	const threads = await csv("threads");
	is(threads.map(r => Number(r[2])).sort().join(), Object.values(nonzero(want.threads)).map(v => Math.round(v * whole.ns)).sort().join(), "ticks in calls");
	ok(threads.every(r => Number(r[3]) <= 1), "a share above 1");
	const processes = await csv("processes"), sum = (rows, i) => rows.reduce((n, r) => n + Number(r[i]), 0);
	is([sum(processes, 1), sum(processes, 2)], [threads.length, sum(threads, 1)], "threads and calls of processes");
	const modules = await csv("modules");
	is([sum(modules, 1), sum(modules, 2)], [Object.keys(want.functions).length, Object.values(want.functions).reduce((n, f) => n + f[0], 0)], "functions and calls of modules");
	ok(Math.abs(sum(modules, 4) - 1) < 1e-3, "shares");
});

await test("rows are filtered by name and sorted by keyboard, and copied as they are shown", async () => {
	await page.click("#tabs [data-tab=functions]");
	await page.waitForSelector("#table [data-column=self]");
	await page.fill("#table input[type=search]", "function1");
	ok((await cells()).every(r => r[0].includes("function1")), "names");
	await page.focus("#table [data-column=self]");
	await page.keyboard.press("Enter");
	is(await page.evaluate(() => document.activeElement.dataset.column), "self", "the focus stays");
	await page.click("#table button:text-is('copy')");
	await page.waitForSelector("#table [role=status]:text('copied')");
	const copied = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\n").map(l => l.split("\t"));
	is(copied.slice(1).map(r => r[0]), (await cells()).map(r => r[0]), "the same rows");
	const self = copied.slice(1).map(r => Number(r[4]));
	is(self, [...self].sort((a, b) => b - a), "the order");
	await page.fill("#table input[type=search]", "nowhere");
	ok((await page.textContent("#table")).includes("nothing has that in its name"), "none");
	await page.fill("#table input[type=search]", "");
});

await test("the flame has the ways of the selection; arrows, Enter and Backspace go through it", async () => {
	const [a, b] = (await state()).selection.map(Math.round), want = clipped(a, b);
	await page.click("#tabs [data-tab=flame]");
	await page.waitForSelector(".flame button");
	const file = await download(() => page.click("#table button:text-is('CSV')"));
	is(sorted(nonzero(Object.fromEntries(file.rows.slice(1).map(r => [r[0], Number(r[2])])))), sorted(nonzero(Object.fromEntries(Object.entries(want.ways).map(([k, v]) => [k, Math.round(v * whole.ns)])))), "ways");
	const box = i => page.$eval(`.flame button:nth-child(${i})`, e => [e.textContent, parseFloat(e.style.width), parseFloat(e.style.top)]);
	const all = Object.values(want.ways).reduce((n, v) => n + v, 0), first = await box(2), [, wide] = await box(1);
	const under = Object.entries(want.ways).filter(([k]) => (k + ";").startsWith(first[0] + ";")).reduce((n, [, v]) => n + v, 0);
	ok(Math.abs(first[1] / wide - under / all) < 0.01, `${first}: ${under} of ${all}`);
	await page.focus(".flame button");
	await page.keyboard.press("ArrowDown");
	is(await page.evaluate(() => document.activeElement.textContent), first[0], "the one below");
	await page.keyboard.press("Enter");
	is((await box(2))[1], wide, "widened");
	ok((await page.textContent("#table p[role=status]")).startsWith(first[0] + ": "), "told");
	await page.keyboard.press("Backspace");
	is(await box(2), first, "back");
	const contrast = await page.$$eval(".flame button", all => Math.min(...all.map(e => {
		const light = text => { const [r, g, b] = text.match(/[\d.]+/g).map(Number).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		const s = getComputedStyle(e), [x, y] = [light(s.color), light(s.backgroundColor)];
		return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
	})));
	ok(contrast >= 4.5, "contrast " + contrast);
});

await test("top-down and bottom-up unfold by keyboard, and have the sums of the calls", async () => {
	const [a, b] = (await state()).selection.map(Math.round), want = clipped(a, b), all = Object.values(want.ways).reduce((n, v) => n + v, 0);
	await page.click("#tabs [data-tab=down]");
	await page.waitForSelector("#table tbody tr");
	const roots = {};
	for (const k in want.ways) { const f = k.split(";")[0]; roots[f] = (roots[f] ?? 0) + want.ways[k]; }
	const share = v => (100 * v / all).toFixed(1) + " %";
	const tops = await page.$$eval("#table tr[data-depth='0']", all => all.map(r => [r.cells[0].textContent.replace(/^[▸▾] /, ""), r.cells[2].textContent]));
	is(sorted(Object.fromEntries(tops)), sorted(Object.fromEntries(Object.entries(roots).map(([k, v]) => [k, share(v)]))), "the outermost");
	await page.click("#tabs [data-tab=up]");
	await page.waitForFunction(() => document.querySelector("#table th")?.textContent.startsWith("function, and"));
	const rows = await page.$$eval("#table tr[data-depth='0']", all => all.map(r => [r.cells[0].textContent.replace(/^[▸▾] /, ""), r.cells[2].textContent]));
	is(sorted(Object.fromEntries(rows)), sorted(Object.fromEntries(Object.entries(want.functions).filter(([, f]) => f[3]).map(([k, f]) => [k, share(f[3])]))), "self time");
	const row = page.locator("#table tr[data-depth='0'] button[aria-expanded=false]").first();
	await row.focus();
	const name = (await row.textContent()).replace(/^[▸▾] /, "");
	await page.keyboard.press("ArrowRight");
	const callers = {};
	for (const k in want.ways) { const w = k.split(";"); if (w.at(-1) === name && w.length > 1) callers[w.at(-2)] = (callers[w.at(-2)] ?? 0) + want.ways[k]; }
	const got = await page.evaluate(() => { const out = []; for (let r = document.activeElement.closest("tr").nextSibling; r && r.dataset.depth === "1"; r = r.nextSibling) out.push([r.cells[0].textContent.replace(/^[▸▾] /, ""), r.cells[2].textContent]); return out; });
	is(sorted(Object.fromEntries(got)), sorted(Object.fromEntries(Object.entries(nonzero(callers)).map(([k, v]) => [k, share(v)]))), "callers of " + name);
	await page.keyboard.press("ArrowLeft");
	is(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "false", "folded");
});

await test("two marks: the time between them is told, kept in the address, and can be selected; by key, by button and by touch", async () => {
	await page.keyboard.press("Escape");
	const box = await page.locator("#line").boundingBox();
	await page.mouse.move(box.x + 600, box.y + 60);
	await page.keyboard.press("[");
	await page.mouse.move(box.x + 900, box.y + 60);
	await page.keyboard.press("]");
	const s = await state(), per = (s.to - s.from) / (box.width - 190), at = x => Math.round(s.from + (x - 190) * per);
	ok(Math.abs(s.a - at(600)) <= per && Math.abs(s.b - at(900)) <= per, `marks at ${s.a} and ${s.b}, not ${at(600)} and ${at(900)}`);
	const text = await page.textContent("#measured [role=status]");
	const between = (s.b - s.a) * s.ns, unit = between >= 1e6 ? 1e6 : 1e3;
	ok(Math.abs(parseFloat(text.match(/A to B: ([\d.]+)/)[1]) - between / unit) < between / unit * 1e-4, text);
	await page.click("#measured button:text('select A to B')");
	await page.waitForFunction(() => location.hash.includes("selection="));
	is((await state()).selection, [s.a, s.b], "selected");
	await page.reload();
	await ready(page);
	is([(await state()).a, (await state()).b], [s.a, s.b], "after a reload");
	await page.click("#measured button:text('remove')");
	is([(await state()).a, (await state()).b], [null, null], "removed");
	const touch = await (await browser.newContext({viewport: {width: 1000, height: 700}, hasTouch: true})).newPage();
	await touch.goto(url);
	await ready(touch);
	await touch.tap("#measured button:text('set A')");
	is(await touch.evaluate(async () => (await import("./main.js")).state.a), Math.round((0 + L) / 2), "the middle, by touch");
	await touch.close();
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
