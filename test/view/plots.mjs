// SPDX-License-Identifier: MIT
// Drives values over time in Chromium: TAP. usage: node plots.mjs DEVTRACE TRACE FOLDER LONG_TRACE
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder, long] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const view = async file => (await served(devtrace, file)).url;
const sql = (file, q) => asked(devtrace, file, q);
// the calls of the function with two arguments that has most, by ticks from the first record
function calls_of(file) {
	const origin = origin_of(file);
	const [{function: name}] = sql(file, "SELECT function, count(arg1) AS n FROM calls GROUP BY function ORDER BY n DESC LIMIT 1");
	const all = sql(file, `SELECT begin_ticks AS begin, end_ticks AS end, timed, arg0, arg1, result FROM calls WHERE function = '${name}' AND id`).map(c => ({end: c.end - origin, arg1: c.arg0, arg2: c.arg1, result: c.result, duration: c.timed ? c.end - c.begin : null}));
	return {name, all, id: Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", file, `SELECT min(id) FROM function WHERE name = '${name}'`]).toString())};
}

const {name, all, id} = calls_of(trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const ask = args => page.evaluate(async args => { const r = await fetch("get/plot?" + new URLSearchParams(args)); return [r.status, await r.json()]; }, args);
const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, from: s.from, to: s.to, ns: s.ns_per_tick, plots: s.plots, tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, name: t.name, y: t.y, height: t.height}))}; });

await page.goto(await view(trace));
await ready();
await page.waitForFunction(async () => (await import("./main.js")).state.complete);
const L = (await state()).length;
const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

// Says whether the columns have the calls that ended in them, and the least, greatest and mean of what they have; until all has been read.
async function compare(args, calls, even) {
	let got, n = 0;
	for (let status; !got || got.done < 1; n++) {
		[status, got] = await ask(args);
		is(status, 200, JSON.stringify(got));
		ok(n < 400, "it does not end");
	}
	const key = args.what, from = args.from, inside = calls.filter(c => c.end >= from && c.end <= args.to);
	is(got.even, even, "even");
	let sum = 0;
	for (const [i, [begin, end, count, valued, min, max, mean]] of got.columns.entries()) {
		if (i) ok(begin > got.columns[i - 1][1], "columns overlap");
		const mine = inside.filter(c => c.end >= begin && c.end <= end), values = mine.map(c => c[key]).filter(v => v !== null);
		is([count, valued], [mine.length, values.length], `${key}, column ${i}`);
		sum += count;
		if (valued) ok(min === Math.min(...values) && max === Math.max(...values) && near(mean, values.reduce((a, b) => a + b, 0) / values.length), `${key}, column ${i}: ${[min, max, mean]}`);
	}
	is(sum, inside.length, key + ": calls");
	return n;
}

await test("each column has the calls that ended in it, and the least, greatest and mean of their values", async () => {
	for (const what of ["duration", "arg1", "arg2", "result"])
		for (const [from, to, columns] of [[0, L, 10], [0, L, 700], [Math.round(L / 3), Math.round(L / 2), 40], [5, 5, 3], [0, L, 1]])
			await compare({function: id, what, from, to, columns}, all, true);
});

await test("an event's values are the pyramid's", async () => {
	const t = (await state()).tracks.find(t => t.kind === "event" && /queued/.test(t.name)), values = sql(trace, "SELECT argument FROM events WHERE event = 'queued'").map(e => e.argument);
	const [, got] = await ask({track: t.track, from: 0, to: L, columns: 50});
	is([got.columns.reduce((n, c) => n + c[2], 0), Math.min(...got.columns.map(c => c[4])), Math.max(...got.columns.map(c => c[5]))], [values.length, Math.min(...values), Math.max(...values)], "values");
});

const origin = origin_of(trace), used = pid => sql(trace, `SELECT ticks, memory, cpu_ns FROM used WHERE pid = ${pid} ORDER BY ticks`).map(r => ({...r, ticks: r.ticks - origin}));
const first_process = sql(trace, "SELECT min(pid) AS pid FROM process")[0].pid;

await test("what a process used: each time between two readings has the first one's memory, and its rate", async () => {
	const ns = (await state()).ns;
	for (const process of [first_process, 4000000]) for (const what of ["memory", "processors"]) for (const [from, to, columns] of [[0, L, 10], [0, L, 700], [0, L, 4000], [Math.round(L / 3), Math.round(L / 2), 40], [0, L, 1], [Math.round(L * 0.95), L, 9]]) {
		const rows = used(process), pieces = rows.slice(1).map((r, i) => ({begin: rows[i].ticks, end: r.ticks, value: what === "memory" ? rows[i].memory : (r.cpu_ns - rows[i].cpu_ns) / ((r.ticks - rows[i].ticks) * ns)})).filter(p => p.end >= from && p.begin <= to);
		const [status, got] = await ask({process, what, from, to, columns}), name = [process, what, from, to, columns].join();
		is(status, 200, name);
		is([got.done, got.even], [1, pieces.length > columns], name);
		if (!got.even) {
			is(got.columns.map(c => [c[0], c[1] + 1, c[4]]), pieces.map(p => [Math.max(0, p.begin), p.end, p.value]).map(([a, b, v]) => [a, b, got.columns.find(c => c[0] === a && near(c[4], v))?.[4] ?? v]), name);
			continue;
		}
		let seen = 0;
		for (const [begin, end, , n, min, max, mean] of got.columns) {
			const mine = pieces.map(p => ({...p, part: Math.min(end, p.end, to) - Math.max(begin, p.begin, from)})).filter(p => p.part > 0), whole = mine.reduce((s, p) => s + p.part, 0);
			is(n, mine.length, name + ": pieces at " + begin);
			seen += n;
			if (n) ok(near(min, Math.min(...mine.map(p => p.value))) && near(max, Math.max(...mine.map(p => p.value))) && near(mean, mine.reduce((s, p) => s + p.part * p.value, 0) / whole), `${name}, at ${begin}: ${[min, max, mean]}`);
		}
		ok(seen >= pieces.length - 2, name + ": all pieces are in some column");
	}
	is((await ask({process: 77, what: "memory", from: 0, to: L, columns: 5}))[1].columns, [], "a process of which nothing is known");
	for (const bad of [{what: "duration"}, {what: ""}, {process: 0}, {process: "x"}]) is((await ask({process: first_process, what: "memory", from: 0, to: 9, columns: 3, ...bad}))[0], 400, JSON.stringify(bad));
});

await test("requests that make no sense are refused in a line", async () => {
	const good = {function: id, what: "duration", from: 0, to: 9, columns: 3};
	for (const bad of [{function: ""}, {what: ""}, {what: "arg0"}, {what: "arg12"}, {what: "arguments"}, {from: ""}, {to: -1}, {from: 10}, {columns: 0}, {columns: 4001}, {function: 0}, {track: "x"}]) {
		const [status, {error}] = await ask({...good, ...bad});
		is(status, 400, JSON.stringify(bad));
		ok(error && !error.includes("\n"), error);
	}
	for (const bad of [{function: 4000000000}, {track: 0}, {track: 4000000000}]) is((await ask({...good, ...bad}))[0], 404, JSON.stringify(bad));
});

const add = async (text, what) => {
	await page.fill("#table form input", text);
	await page.selectOption("#table form select", what);
	await page.press("#table form input", "Enter");
};
const rows = () => page.evaluate(() => [...document.querySelectorAll("#table tbody tr")].map(tr => [...tr.cells].slice(0, 2).map(td => td.textContent.replaceAll("\u202f", ""))));

await test("a process's memory is a track, in the address, and told in bytes", async () => {
	await page.keyboard.press("p");
	await page.waitForSelector("#table form");
	await add("nobody", "memory");
	await page.waitForSelector("#table form span:text('no process is named so')");
	const label = await page.evaluate(async pid => (await import("./main.js")).state.process_name(pid), first_process);
	await add(label, "memory");
	await page.waitForSelector("#table tbody tr");
	await settle(page);
	const [[title, told]] = await rows(), most = Math.max(...used(first_process).slice(0, -1).map(r => r.memory));
	is(title, "memory of " + label, "its title");
	ok(/ to [\d.]+ MiB, mean [\d.]+ MiB$/.test(told) && told.includes(` to ${Number((most / 2 ** 20).toPrecision(4))} MiB,`), told);
	await page.waitForTimeout(400);
	await page.reload();
	await ready();
	await settle(page);
	is((await state()).plots.map(p => [p.what, p.process]), [["memory", first_process]], "after a reload");
	await page.click("#table tbody tr button:text('remove')");
	await settle(page);
});

await test("by keyboard: a plot is added, is a track with its values told, is in the address, and is removed", async () => {
	await page.keyboard.press("p");
	await page.waitForSelector("#table form");
	await add("nobody", "duration");
	await page.waitForSelector("#table form span:text('no function or event is named so')");
	await add(name, "arg2");
	await page.waitForSelector("#table tbody tr");
	await add("load.queued", "value");
	await page.waitForSelector("#table tbody tr >> nth=1");
	await add(name, "rate");
	await page.waitForSelector("#table tbody tr >> nth=2");
	await add(name, "rate");
	await page.waitForSelector("#table form span:text('it is there already')");
	await settle(page);
	const values = all.map(c => c.arg2), told = await rows();
	is(told[0], [`argument 2 of ${name}`, `${Math.min(...values)} to ${Math.max(...values)}, mean ${Number((values.reduce((a, b) => a + b, 0) / values.length).toPrecision(6))}, ${values.length} calls`], "the first");
	is(told[1][0], "value of load.queued", "the second");
	ok(/^at most .* per second$/.test(told[2][1]), told[2][1]);
	let s = await state();
	is(s.tracks.filter(t => t.kind === "plot").map(t => t.name), told.map(r => r[0]), "tracks");
	const order = s.tracks.map(t => t.kind);
	ok(order.lastIndexOf("plot") < order.indexOf("thread") && order.indexOf("plot") > order.lastIndexOf("core"), "they are between the cores and the threads");
	// by keyboard: the switch, and the buttons
	await page.focus("#table tbody tr:nth-child(1) input");
	await page.keyboard.press("Space");
	await page.focus("#table tbody tr:nth-child(2) button:text('up')");
	await page.keyboard.press("Enter");
	await settle(page);
	is((await rows()).map(r => r[0])[0], "value of load.queued", "it is above");
	await page.waitForTimeout(400);
	await page.reload();
	await ready();
	await settle(page);
	s = await state();
	is(s.plots.map(p => [p.what, p.log]), [["value", false], ["arg2", true], ["rate", false]], "after a reload");
	is((await rows()).map(r => r[1])[1], told[0][1], "after a reload, the same values");
	await page.click("#table tbody tr:nth-child(1) button:text('remove')");
	await page.click("#table tbody tr:nth-child(2) button:text('remove')");
	await settle(page);
	is((await state()).tracks.filter(t => t.kind === "plot").length, 1, "left");
});

// Returns the heights, from the foot of its track, at which a plot's colour is at some x of the canvas.
const painted = (track, share) => page.evaluate(([y, height, share]) => {
	const canvas = document.getElementById("line"), ratio = devicePixelRatio || 1, c = canvas.getContext("2d"), x = Math.round((190 + (canvas.clientWidth - 190) * share) * ratio);
	const data = c.getImageData(x, Math.round(y * ratio), 1, Math.round(height * ratio)).data, out = [];
	for (let i = 0; i < height * ratio; i++) { const [r, g, b] = data.subarray(4 * i, 4 * i + 3); if (Math.max(r, g, b) - Math.min(r, g, b) > 25) out.push(height - i / ratio); }
	return out;
}, [track.y, track.height, share]);

await test("what is drawn is as high as the values say, on a linear scale and on a logarithmic one; the tooltip tells them", async () => {
	await page.evaluate(async () => { const m = await import("./main.js"); m.state.plots.length = 0; m.retrack(); m.show(0, m.state.length); });
	await settle(page);
	await add(name, "duration");
	await page.waitForSelector("#table tbody tr");
	await settle(page);
	const { length, ns } = await state(), timed = all.filter(c => c.duration !== null), top = Math.max(...timed.map(c => c.duration)), low = Math.min(...timed.map(c => c.duration)), most = timed.find(c => c.duration === top);
	for (const log of [false, true]) {
		if (log) { await page.check("#table tbody input[type=checkbox]"); await settle(page); }
		const s = await state(), track = s.tracks.find(t => t.kind === "plot"), scroll = await page.evaluate(() => { document.getElementById("scroll").scrollTop = 0; });
		await settle(page);
		const high = await painted(track, most.end / length);
		ok(Math.max(...high) > track.height - 9, `log ${log}: the greatest is at the top: ${Math.max(...high)} of ${track.height}`);
		// a column without a great one
		const width = await page.evaluate(() => document.getElementById("line").clientWidth - 190), pixel = length / width;
		const of = i => timed.filter(c => c.end >= (i - 3) * pixel && c.end < (i + 4) * pixel).map(c => c.duration);
		let best = null;
		for (let i = 10; i < width - 10; i++) { const v = of(i); if (v.length > 2 && (!best || Math.max(...v) < best.max)) best = {i, max: Math.max(...v)}; }
		const y = v => log ? (Math.log10(v) - Math.log10(low)) / (Math.log10(top) - Math.log10(low)) : (v - low) / (top - low), got = await painted(track, best.i / width);
		ok(!got.length || Math.max(...got) - 3 <= y(best.max) * (track.height - 6) + 3, `log ${log}: ${Math.max(...got)} for ${best.max}, at most ${y(best.max) * (track.height - 6) + 3}`);
	}
	const track = (await state()).tracks.find(t => t.kind === "plot"), box = await page.locator("#line").boundingBox();
	await page.mouse.move(box.x + 190 + (box.width - 190) * most.end / length, box.y + track.y + 40);
	await page.waitForFunction(n => document.querySelector("#tip b")?.textContent === "duration of " + n, name);
	const words = await page.textContent("#tip");
	ok(/calls in/.test(words) && /mean/.test(words), words);
});

await test("a long range is drawn from parts of the trace, exactly; arguments are read once", async () => {
	const of = calls_of(long);
	await page.goto("about:blank");
	await page.goto(await view(long));
	await ready();
	await page.waitForFunction(async () => (await import("./main.js")).state.complete);
	const l = (await state()).length;
	for (const what of ["duration", "arg1", "arg2", "result"])
		for (const [from, to] of [[0, l], [Math.round(l / 30), l - Math.round(l / 30)]]) {
			const asked = await compare({function: of.id, what, from, to, columns: 100}, of.all, false);
			if (from) is(asked, 1, what + ": what is known is not read again");
		}
	// with a filter, only what it shows
	const least = of.all.map(c => c.duration).filter(Boolean).sort((a, b) => b - a)[of.all.length >> 2], { ns } = await state(), filter = `time>${Math.round(least * ns)}ns`;
	for (let i = 0, done; !done && i < 300; i++) { done = await page.evaluate(async filter => (await (await fetch("get/trace?" + new URLSearchParams({filter}))).json()).complete, filter); await page.waitForTimeout(50); }
	await compare({function: of.id, what: "arg1", from: 0, to: l, columns: 100, filter}, of.all.filter(c => c.duration * ns > Math.round(least * ns)), false);
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
