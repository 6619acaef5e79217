// SPDX-License-Identifier: MIT
// Drives groups of tracks in Chromium: TAP. usage: node tracks.mjs DEVTRACE FOLDER (with some.db, many.db, threads.db)
import { createRequire } from "node:module";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const view = async file => (await served(devtrace, file)).url;
// the processes, by ticks from the first record, as `devtrace sql' has their calls
function processes_of(file) {
	const origin = origin_of(file);
	return asked(devtrace, file, "SELECT process, count(*) AS calls, min(begin_ticks) AS begin, max(end_ticks) AS end, sum(CASE WHEN depth = 0 THEN end_ticks - begin_ticks ELSE 0 END) AS busy, count(DISTINCT thread) AS threads FROM calls GROUP BY process").map(p => ({...p, begin: p.begin - origin, end: p.end - origin}));
}

const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const open = async file => { await page.goto("about:blank"); await page.goto(await view(`${folder}/${file}`)); await ready(); await page.waitForFunction(async () => (await import("./main.js")).state.complete); await settle(page); };
const ask = (what, args = {}) => page.evaluate(async ([what, args]) => { const r = await fetch("get/" + what + "?" + new URLSearchParams(args)), text = await r.text(); return [r.status, JSON.parse(text), text.length]; }, [what, args]);
const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, from: s.from, to: s.to, packed: s.packed, picked: s.picked, pinned: s.pinned, tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, pid: t.pid || t.id, name: t.name, y: t.y, height: t.height, hidden: t.hidden, folded: t.folded, is_pinned: t.pinned}))}; });
const heads = s => s.tracks.filter(t => t.kind === "process");
const button = (name, what) => page.locator("#table tbody tr", {has: page.locator(`td:first-child button:text-is("${name}")`)}).locator(`button:text-is("${what}")`);

await open("some.db");
const some = processes_of(`${folder}/some.db`);

await test("each process is a group with its threads; its summary has the time of their calls", async () => {
	const s = await state();
	is(heads(s).map(t => t.id), some.map(p => p.process), "heads");
	for (const p of some) is(s.tracks.filter(t => t.kind === "thread" && t.pid === p.process).length, p.threads, "threads of " + p.process);
	const [, got] = await ask("groups", {from: 0, to: s.length, cells: 500, pids: some.map(p => p.process).join(",")});
	for (const [pid, values] of got.groups) {
		const want = some.find(p => p.process === pid).busy, sum = values.reduce((a, b) => a + b, 0) * got.cell / 1000;
		ok(Math.abs(sum - want) <= want * 0.01 + values.length * got.cell / 2000, `${pid}: ${sum}, not ${want}`);
	}
});

await test("requests that make no sense are refused in a line", async () => {
	const list = Array.from({length: 201}, (x, i) => i).join(",");
	for (const [what, args] of [["groups", {}], ["groups", {from: 0, to: 9, cells: 0, pids: "1"}], ["groups", {from: 0, to: 9, cells: 9, pids: "x"}], ["groups", {from: 0, to: 9, cells: 9, pids: list}], ["packed", {from: 0, to: 9}], ["packed", {from: 0, to: 9, cells: 5000}], ["packed", {from: 0, to: 9, cells: 5, take: ",1"}], ["trace", {take: list}], ["who", {ids: list}], ["who", {ids: "-1"}]]) {
		const [status, {error}] = await ask(what, args);
		is(status, 400, what + JSON.stringify(args).slice(0, 60));
		ok(error && !error.includes("\n"), error);
	}
});

await test("a click on a process's name folds it and unfolds it", async () => {
	const t = heads(await state())[0], box = await page.locator("#line").boundingBox(), scroll = await page.evaluate(() => document.getElementById("scroll").scrollTop);
	await page.mouse.click(box.x + 60, box.y + t.y - scroll + 8);
	await settle(page);
	let s = await state();
	is([heads(s)[0].folded, s.tracks.filter(x => x.kind === "thread" && x.pid === t.id && !x.hidden).length], [true, 0], "folded");
	ok(new URL(page.url()).hash.includes("folds=" + t.id), page.url());
	await page.mouse.click(box.x + 60, box.y + t.y - scroll + 8);
	await settle(page);
	s = await state();
	is(s.tracks.filter(x => x.kind === "thread" && x.pid === t.id && !x.hidden).length, some[0].threads, "unfolded");
});

await test("by keyboard: tracks are sorted, pinned, moved, hidden and shown; the address has it", async () => {
	await page.click("#tabs [data-tab=tracks]");
	await page.waitForSelector("#sort");
	await page.selectOption("#sort", "activity");
	await settle(page);
	is(heads(await state()).map(t => t.id), [...some].sort((a, b) => b.calls - a.calls || a.process - b.process).map(p => p.process), "by activity");
	await page.selectOption("#sort", "name");
	const by_name = heads(await state()).map(t => t.name);
	is(by_name, [...by_name].sort((a, b) => a.localeCompare(b, undefined, {numeric: true})), "by name");
	await page.selectOption("#sort", "number");
	await settle(page);
	const order = heads(await state()), last = order.at(-1), third = order[2];
	await button(third.name, "down").focus();
	await page.keyboard.press("Enter");
	await page.keyboard.press("Enter");	// the focus stays on it
	await settle(page);
	is(heads(await state()).findIndex(t => t.id === third.id), 4, "moved down twice");
	await button(last.name, "pin").focus();
	await page.keyboard.press("Enter");
	await settle(page);
	let s = await state();
	is([s.tracks[0].id, s.tracks[0].is_pinned], [last.id, true], "pinned");
	await button(order[1].name, "hide").focus();
	await page.keyboard.press("Enter");
	await settle(page);
	s = await state();
	is(s.tracks.filter(t => !t.hidden && t.pid === order[1].id && t.kind !== "core").length, 0, "hidden with its threads");
	await page.evaluate(() => { document.getElementById("scroll").scrollTop = 400; });
	await settle(page);
	const pixel = () => page.evaluate(y => [...document.getElementById("line").getContext("2d").getImageData(12, y, 100, 12).data].filter((v, i) => i % 4 < 3 && v < 120).length, s.tracks[0].y + 2);
	ok(await pixel() > 20, "its name is still at the top");
	await page.waitForTimeout(400);
	await page.reload();
	await ready();
	await settle(page);
	const after = await state();
	is(after.tracks.map(t => [t.kind, t.id, t.hidden, t.is_pinned]), s.tracks.map(t => [t.kind, t.id, t.hidden, t.is_pinned]), "after a reload");
	await page.waitForSelector("#sort");
	await page.fill("#table input[type=search]", order[1].name);
	await button(order[1].name, "show").click();
	await page.fill("#table input[type=search]", "nobody");
	await page.waitForSelector("#table div:text('no track has that in its name')");
	await page.fill("#table input[type=search]", "");
	s = await state();
	ok(!heads(s).find(t => t.id === order[1].id).hidden, "shown again");
});

await open("many.db");
const many = processes_of(`${folder}/many.db`);

await test("many short-lived processes are packed, none is left out, and answers are bounded", async () => {
	const s = await state(), [, trace, bytes] = await ask("trace");
	ok(many.length > 2000, "too few: " + many.length);
	is(trace.packed + heads(s).length, many.length, "processes");
	ok(bytes < 200000, "bytes: " + bytes);
	const drawn = new Set(heads(s).map(t => t.id)), packed = many.filter(p => !drawn.has(p.process));
	for (const [from, to, cells] of [[0, s.length, 400], [0, s.length, 1], [Math.round(s.length / 3), Math.round(s.length / 3) + 60000, 400], [Math.round(s.length / 2), Math.round(s.length / 2) + 5000, 4000]]) {
		const [, got, size] = await ask("packed", {from, to, cells}), want = packed.filter(p => p.end >= from && p.begin <= to);
		is(got.bars.reduce((n, b) => n + b[3], 0), want.length, `processes from ${from} to ${to}`);
		ok(size < 12 * cells * 80 + 1000, "bytes: " + size);
		for (const [row, begin, end, n, pid] of got.bars) {
			ok(row < 12, "row");
			if (n === 1) { const p = packed.find(p => p.process === pid); is([begin, end], [p.begin, p.end], "process " + pid); }
		}
	}
	const rows = new Map(), [, all] = await ask("packed", {from: 0, to: 40000, cells: 4000});
	for (const [row, begin, end, n] of all.bars) { if (n > 1) continue; ok((rows.get(row) ?? -1) < begin, "bars of a row do not overlap"); rows.set(row, end); }
});

await test("a packed process is drawn by a click on its bar, by its name in the list, and by a call of it that is found", async () => {
	let s = await state();
	const drawn = new Set(heads(s).map(t => t.id)), packed = many.filter(p => !drawn.has(p.process)), p = packed[Math.floor(packed.length / 2)], margin = 3 * (p.end - p.begin);
	await page.evaluate(async ([a, b]) => (await import("./main.js")).show(a, b), [p.begin - margin, p.end + margin]);
	await settle(page);
	const at = await page.evaluate(async pid => {
		const { state: s } = await import("./main.js"), t = s.tracks.find(t => t.kind === "pack"), scroll = document.getElementById("scroll");
		scroll.scrollTop = t.y - 200;
		const b = s.bars.get(t.track), i = b.list.findIndex(x => x.pid === pid && x.count === 1), line = document.getElementById("line"), box = line.getBoundingClientRect();
		return {x: box.x + 190 + ((b.begin[i] + b.end[i]) / 2 - s.from) / (s.to - s.from) * (line.clientWidth - 190), y: box.y + t.y - scroll.scrollTop + b.depth[i] * 17 + 8, name: b.list[i].name};
	}, p.process);
	await settle(page);
	await page.mouse.move(at.x, at.y);
	await page.waitForFunction(name => document.querySelector("#tip div, #tip b")?.textContent === name, at.name);
	await page.mouse.click(at.x, at.y);
	await page.waitForFunction(async pid => (await import("./main.js")).state.tracks.some(t => t.kind === "process" && t.id === pid), p.process);
	await ready();
	await settle(page);
	s = await state();
	ok(s.tracks.some(t => t.kind === "thread" && t.pid === p.process && !t.hidden), "its thread is drawn");
	is(s.packed, packed.length - 1, "one fewer is packed");
	ok(new URL(page.url()).hash.includes("take=" + p.process), page.url());
	// by name
	const q = packed[5], name = "short " + (q.process - 1000);
	await page.click("#tabs [data-tab=tracks]");
	await page.fill("#table input[type=search]", name);
	await page.waitForSelector("#table tbody tr td:text-is('packed')");
	await page.locator("#table tbody tr", {has: page.locator("td:text-is('packed')")}).first().locator("button").click();
	await page.waitForFunction(async pid => (await import("./main.js")).state.tracks.some(t => t.kind === "process" && t.id === pid), q.process);
	// a call
	const r = packed.at(-20);
	const row = await page.evaluate(async at => (await (await fetch("get/find?" + new URLSearchParams({text: "function", from: at, rows: 1000}))).json()).rows, r.begin), hit = row.find(x => x.pid === r.process);
	ok(hit, "a call of " + r.process);
	await page.evaluate(async hit => (await import("./find.js")).go(hit), hit);
	await settle(page);
	s = await state();
	const t = s.tracks.find(t => t.track === s.picked.track);
	is([t.pid, t.hidden], [r.process, false], "the picked call's thread");
});

await test("what the table has not as tracks, it says", async () => {
	await page.click("#tabs [data-tab=threads]");
	await page.waitForSelector("#table td");
	const text = (await page.textContent("#table tbody")).replaceAll("\u202f", "");
	ok(/threads of packed processes: \d+/.test(text), text.slice(0, 300));
});

// Moves the picture for a while, and returns what a frame took.
const frames = () => page.evaluate(async () => {
	const { state: s, pan, redraw } = await import("./main.js"), { draw } = await import("./draw.js"), canvas = document.getElementById("line"), took = [];
	for (let i = 0; i < 40; i++) {
		pan(i % 2 ? 0.1 : -0.1);
		const begun = performance.now();
		draw(canvas, s, document.getElementById("scroll").scrollTop, redraw);
		took.push(performance.now() - begun);
		await new Promise(resolve => requestAnimationFrame(resolve));
	}
	return took.sort((a, b) => a - b);
});

await test("2,000 threads and thousands of processes are drawn fast", async () => {
	for (const file of ["many.db", "threads.db"]) {
		await open(file);
		await page.evaluate(async () => { const m = await import("./main.js"); m.show(m.state.length / 3, m.state.length / 2); });
		await settle(page);
		if (file === "threads.db") {
			await page.click("#tabs [data-tab=tracks]");
			await page.click("#table button:text-is('unfold all')");
			await settle(page);
		}
		const folded = await frames();
		if (file === "threads.db") is((await state()).tracks.filter(t => t.kind === "thread" && !t.hidden).length, 2000, "threads");
		console.log(`# ${file}: drawing takes ${folded[20].toFixed(1)} ms, the 38th of 40 ${folded[37].toFixed(1)} ms`);
		ok(folded[20] < 50, "too slow");
	}
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
