// SPDX-License-Identifier: MIT
// The parts of the page one by one, with made-up input: TAP. usage: node parts.mjs DEVTRACE TRACE ROOT
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end } from "./tap.mjs";

const [devtrace, trace, root] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");

const child = spawn(devtrace, ["view", "-n", trace], {stdio: ["ignore", "pipe", "inherit"]});
process.on("exit", () => child.kill());
const url = await new Promise((resolve, reject) => {
	child.stdout.once("data", d => resolve(String(d).trim()));
	child.once("exit", status => reject(new Error("devtrace view ended with status " + status)));
});
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage());
await page.goto(url);
await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
await settle(page);

// What the server answers is made up while this runs: answer(path, arguments), of numbers of bytes or of JSON.
await page.evaluate(() => {
	window.with_answers = async (answer, run) => {
		const real = window.fetch, asked = [];
		window.fetch = async path => {
			const at = new URL(path, location.href), args = Object.fromEntries(at.searchParams);
			asked.push({what: at.pathname.replace(/.*\/get\//, ""), ...args});
			const got = answer(asked.at(-1));
			return new Response(got instanceof ArrayBuffer ? got : JSON.stringify(got));
		};
		try { return await run(asked); } finally { window.fetch = real; }
	};
	// as view/bars.c writes them
	window.bytes_of = (track, list) => {
		const buffer = new ArrayBuffer(8 + 48 * list.length), view = new DataView(buffer);
		view.setUint32(0, track, true);
		view.setUint32(4, list.length, true);
		list.forEach((x, i) => {
			const at = 8 + 48 * i;
			[x.begin, x.end, x.busy ?? x.end - x.begin, x.high ?? 0].forEach((v, k) => view.setFloat64(at + 8 * k, v, true));
			[x.count ?? 1, x.what ?? 0, x.flags ?? 0, x.depth ?? 0].forEach((v, k) => view.setUint32(at + 32 + 4 * k, v, true));
		});
		return buffer;
	};
	window.made = async (track, list) => (await window.with_answers(() => window.bytes_of(track, list), async () => (await import("./data.js")).bars(0, 1, 1, [track]))).get(track);
});

await test("each mark of a call has its own words, by the bits that the program has for them", async () => {
	const bits = Object.fromEntries([...readFileSync(root + "/filter/call.h", "utf8").matchAll(/DT_CALL_([A-Z_]+)\s*=\s*(\d+)/g)].map(([, name, bit]) => [name, Number(bit)]));
	const words = {UNWOUND: "unwound", TAIL: "ended in a tail call", INFERRED: "", OPEN: "not finished", NO_ENTRY: "entry not recorded", TAILED: "tail-called",
		LOSS: "records lost meanwhile", RECURSIVE: "", OTHER_STACK: "on another stack", LEFT: "its time is that to its jump", DOUBTFUL: "perhaps called from the tail call before it",
		NO_EXIT: "exits are not recorded", BACKWARD: "ends before it begins: records out of order", PAUSED: "recording paused meanwhile", WAITED: "", UNSEEN: "context switches lost meanwhile", FOLDS: "what it jumped to is a part of it", FOLDED: ""};
	is(Object.keys(bits).sort(), Object.keys(words).sort(), "the marks that there are");
	const said = await page.evaluate(async bits => { const { marks } = await import("./text.js"); return bits.map(b => marks(b)); }, Object.values(bits));
	Object.keys(bits).forEach((name, i) => is(said[i], words[name], name));
	is(await page.evaluate(async b => (await import("./text.js")).marks(b), bits.UNWOUND | bits.TAILED), "unwound, tail-called", "two");
});

await test("what is missing is told in words: one and several, lost, frozen, stopped", async () => {
	const got = await page.evaluate(async () => {
		const { gap_at } = await import("./gaps.js"), core = {kind: "core", id: 2}, thread = {kind: "thread", id: 7};
		const state = {ns_per_tick: 2, losses: [[2, 100, 200, 1], [2, 300, 400, 2], [2, 500, 600, 1234], [3, 700, 800, 5]],
			pauses: [[1000, 1100, false, 1, 0], [1200, 1300, false, 1, 1], [1400, 1500, false, 3, 12345], [1600, 1700, true, 1, null], [1800, 1900, true, 2, null]],
			held: [[7, 2000, 2400, 300, 1], [7, 2500, 2900, 300, 4], [7, 3000, 3400, 100, 1], [8, 3500, 3900, 400, 1]]};
		const say = (track, t, near = 0, bar) => { const g = gap_at(state, track, bar, t, near); return g && g.lines.map(l => l.replaceAll("\u202f", " ")).join("; "); };
		return {
			losses: [150, 350, 550, 750].map(t => say(core, t)), edges: [100, 200, 99, 201].map(t => say(core, t) !== null), near: [98, 202, 97, 203].map(t => say(core, t, 2) !== null),
			pauses: [1050, 1250, 1450, 1650, 1850].map(t => say(null, t)), behind: say(null, 1050, 0, {begin: 0}),
			held: [2100, 2600, 3100, 3600].map(t => say(thread, t)), elsewhere: [say(thread, 150), say(core, 2100)]};
	});
	is(got.losses, ["1 record lost; for 200 ns; from 200 ns to 400 ns", "2 records lost; for 200 ns; from 600 ns to 800 ns", "1 234 records lost; for 200 ns; from 1.000 µs to 1.200 µs", null], "losses");
	is(got.edges, [true, true, false, false], "edges");
	is(got.near, [true, true, false, false], "near");
	is(got.pauses.map(p => p.split(";")[0]), ["frozen: 0 events not recorded", "frozen: 1 event not recorded", "frozen 3 times: 12 345 events not recorded", "stopped", "stopped 2 times"], "pauses");
	is(got.behind, null, "a bar in front of a pause");
	is(got.held.map(p => p && p.split(";")[0]), ["waiting for devtrace: of no call's time", "waiting for devtrace 4 times: of no call's time", null, null], "waits");
	is(got.elsewhere, [null, null], "on other tracks");
});

await test("the bar at a place is the one that is there, or the nearest", async () => {
	const wrong = await page.evaluate(async () => {
		const out = [];
		let seed = 1;
		const random = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
		for (let round = 0; round < 40; round++) {
			const list = [];
			for (let depth = 0; depth < 3; depth++)
				for (let t = random(20), i = 0; i < 12; i++) { const begin = t, end = begin + random(15); list.push({begin, end, depth, what: list.length}); t = end + 1 + random(25); }
			const b = await window.made(5, list);
			for (let k = 0; k < 300; k++) {
				const depth = random(4), time = random(500), near = random(8), i = b.at(depth, time, near);
				const far = x => Math.max(0, x.begin - time, time - x.end), there = list.filter(x => x.depth === depth && (far(x) === 0 || far(x) < near));
				const least = there.length ? Math.min(...there.map(far)) : null, got = i < 0 ? null : b.depth[i] === depth ? far({begin: b.begin[i], end: b.end[i]}) : "another depth";
				if (got !== least) out.push(`depth ${depth} at ${time} within ${near}: ${got}, not ${least}`);
			}
		}
		return out;
	});
	is(wrong.slice(0, 3), [], wrong.length + " of 12000");
});

await test("a filter goes with everything that is asked, and only while there is one", async () => {
	const asked = await page.evaluate(() => window.with_answers(a => a.what === "window" ? new ArrayBuffer(0) : {}, async asked => {
		const data = await import("./data.js");
		for (const filter of ["", "core:0 time>1us", ""]) {
			data.use_filter(filter);
			await data.json("stats", {from: 1, to: 2});
			await data.json("trace");
			await data.bars(1.5, 2.5, 7, [3, 4], 2);
			await data.json("list", {from: 0, to: 9, rows: 5, kinds: 31, tracks: "1"});
		}
		return asked;
	}));
	is(asked.map(a => a.what), Array(3).fill(["stats", "trace", "window", "list"]).flat(), "asked");
	is(asked.map(a => a.filter ?? "none"), [...Array(4).fill("none"), ...Array(4).fill("core:0 time>1us"), ...Array(4).fill("none")], "filters");
	is(asked[2], {what: "window", from: "1", to: "3", cells: "7", tracks: "3,4", depths: "2"}, "a window");
});

await test("activities that are at once are below each other, those that touch are not", async () => {
	const rows = async list => page.evaluate(list => window.with_answers(() => ({names: [["a", list.length]], activities: list.map(([begin, end]) => ({name: "a", begin, end, busy: end - begin, count: 1, thread: -1, key: "", text: ""}))}), async () => {
		const { fetch_activities, tracks } = await import("./activities.js"), { state } = await import("./main.js");
		const before = state.live, track = 0x40000000;
		state.live = true;
		await fetch_activities(Math.random(), 1, 1);
		state.live = before;
		const b = state.bars.get(track);
		state.bars.delete(track);
		return [tracks().length, b.depths, [...b.begin].map((t, i) => [Math.round(t * state.ns_per_tick), b.depth[i]])];
	}), list);
	is(await rows([[0, 10], [10, 20], [20, 30]]), [1, 1, [[0, 0], [10, 0], [20, 0]]], "they touch");
	is(await rows([[0, 11], [10, 20], [20, 30]]), [1, 2, [[0, 0], [20, 0], [10, 1]]], "they overlap");
	is(await rows([[0, 100], [1, 50], [2, 40], [60, 70]]), [1, 3, [[0, 0], [1, 1], [60, 1], [2, 2]]], "the first row that is free");
	is((await rows([0, 1, 2, 3, 4, 5, 6, 7].map(t => [t, 100])))[1], 6, "six rows at most");
});

// Messages from one thread to another: one forward, one that was received before it was sent.
const messages = [{kind: "thread", id: 11, track: 0, y: 40}, {kind: "thread", id: 12, track: 1, y: 140}, {kind: "message", id: 0, track: 2, y: 0}, {kind: "message", id: 1, track: 3, y: 0}];

await test("an arrow goes from where a message was sent, in the colour of its kind, and is found all along", async () => {
	const got = await page.evaluate(async tracks => {
		const { arrows, arrow_at } = await import("./arrows.js"), drawn = [];
		const state = {tracks, hidden: new Set(), bars: new Map([
			[2, await window.made(2, [{begin: 300, end: 700, busy: 5, high: 0, what: 11, flags: 12}])],
			[3, await window.made(3, [{begin: 800, end: 900, busy: 6, high: 0, what: 11, flags: 12}])]])};
		const c = {beginPath() { this.path = []; }, moveTo(...at) { this.path.push(at); }, lineTo(...at) { this.path.push(at); }, stroke() { drawn.push([this.strokeStyle, ...this.path.flat()]); }, fill() { drawn.push([this.fillStyle]); }};
		arrows(c, state, t => t, 0, 1400, 900, {arrow: "forth", backward: "back"});
		const [a, b] = [state.arrows[0], state.arrows[1]], key = (x, y) => arrow_at(state, x, y)?.key ?? null, on = (a, t) => [a.x0 + t * (a.x1 - a.x0), a.y0 + t * (a.y1 - a.y0)];
		return {drawn: drawn.map(d => d.join(" ")), along: [0, 0.1, 0.5, 0.9, 1].map(t => [key(...on(a, t)), key(...on(b, t))]),
			beside: [key(a.x0 - 5, a.y0), key(a.x1 + 5, a.y1), key(500, a.y0 + 4), key(850, 2)]};
	}, messages);
	is(got.drawn, ["forth 300 48.5 700 148.5", "forth", "back 900 48.5 800 148.5", "back"], "drawn");
	is(got.along, Array(5).fill([5, 6]), "along them");
	is(got.beside, [null, null, null, null], "beside them");
});

await test("what ends a call, and what is not known of it, is seen at its bar", async () => {
	const got = await page.evaluate(async () => {
		const { paint, style_of, left, row } = await import("./draw.js"), { Svg } = await import("./svg.js"), style = style_of();
		const of = async (flags, kind = "thread", count = 1, end = 600) => {
			const track = {kind, id: 7, track: 1, name: "t", y: 100, height: row, shown: 1, depths: 1};
			const state = {from: 0, to: 1000, length: 1000, ns_per_tick: 1, tracks: [track], losses: [], pauses: [], held: [], found: new Set(), hidden: new Set(), marks: [], arrows: [],
				bars: new Map([[1, await window.made(1, [{begin: 400, end, flags, what: 3, count}])]]), pid_of: x => x, thread_name: () => ""};
			const svg = new Svg(left + 1000, 300);
			paint(svg, left + 1000, 300, state, 0, () => {});
			const doc = new DOMParser().parseFromString(svg.text(), "image/svg+xml"), near = e => Number(e.getAttribute("y")) > 100 && Number(e.getAttribute("y")) < 100 + row;
			const foot = [...doc.querySelectorAll("rect")].filter(near).map(e => ["x", "y", "width", "height"].map(k => e.getAttribute(k)).join(" ") + (e.getAttribute("fill") === style.dim ? " dim" : ""));
			const corners = [...doc.querySelectorAll("path")].filter(e => e.getAttribute("fill") === style.back).map(e => e.getAttribute("d"));
			return [foot, corners].map(x => x.join()).join(";");
		};
		const foot = `${left + 400} ${100 + row - 4} 200 3 dim`, x = left + 600;
		return {left, plain: await of(0), want: foot, loss: await of(64), paused: await of(8192), both: await of(64 | 8192), other: await of(4096 | 128 | 32 | 16 | 8 | 4), core: await of(64, "core"),
			tail: [await of(2), `;M${x} 100L${x - 5} ${100 + row - 1}L${x} ${100 + row - 1}z`], unwound: [await of(1), `;M${x} 100L${x - 6} 100L${x} 106z`], many: await of(3, "thread", 5),
			edge: await of(1, "thread", 1, 1000), beyond: [await of(1, "thread", 1, 1001), await of(2, "thread", 1, 1500)]};
	});
	is([got.plain, got.other, got.core, got.many], [";", ";", ";", ";"], "bars without marks");
	is([got.loss, got.paused, got.both], Array(3).fill(got.want + ";"), "a foot");
	is(got.tail[0], got.tail[1], "a tail call");
	is(got.unwound[0], got.unwound[1], "an unwound one");
	is(got.edge, `;M${got.left + 1000} 100L${got.left + 994} 100L${got.left + 1000} 106z`, "one that ends at the right edge");
	is(got.beyond, [";", ";"], "of what goes on at the right edge the end is not drawn");
});

await test("a time in which a thread waited for devtrace is a grey span on its track, by its share", async () => {
	const got = await page.evaluate(async () => {
		const { paint, style_of, left, row } = await import("./draw.js"), { Svg } = await import("./svg.js"), style = style_of();
		const of = async (held, end = 1000) => {
			const track = {kind: "thread", id: 7, track: 1, name: "t", y: 100, height: 2 * row, shown: 2, depths: 2};
			const state = {from: 0, to: end, length: 1000, ns_per_tick: 1, tracks: [track], losses: [], pauses: [], held, found: new Set(), hidden: new Set(), marks: [], arrows: [],
				bars: new Map([[1, await window.made(1, [])]]), pid_of: x => x, thread_name: () => ""};
			const svg = new Svg(left + 1000, 300);
			paint(svg, left + 1000, 300, state, 0, () => {});
			const doc = new DOMParser().parseFromString(svg.text(), "image/svg+xml");
			const spans = [...doc.querySelectorAll("rect")].filter(e => e.getAttribute("y") === "100").map(e => ["x", "width", "height", "opacity"].map(k => e.getAttribute(k)).join(" ") + (e.getAttribute("fill") === style.dim ? "" : " not grey"));
			return spans.join("; ") + ";" + [...doc.querySelectorAll("text")].filter(e => /waiting/.test(e.textContent)).map(e => " " + e.textContent + " at " + e.getAttribute("x")).join();
		};
		return {left, high: 2 * row, whole: await of([[7, 100, 300, 200, 1]]), half: await of([[7, 100, 300, 100, 3]]), part: await of([[7, 600, 900, 300, 1]], 500), cut: await of([[7, 450, 900, 450, 1]], 500), other: await of([[8, 100, 300, 200, 1]]),
			two: await of([[7, 10, 20, 10, 1], [7, 30, 32, 2, 1]])};
	});
	const span = (x, width, opacity) => `${got.left + x} ${width} ${got.high} ${opacity}`;
	is(got.whole, span(100, 200, 0.55) + "; waiting for devtrace at " + (got.left + 104), "all of the time");
	is(got.half, span(100, 200, 0.28) + "; waiting for devtrace at " + (got.left + 104), "half of it");
	is(got.cut, span(900, 100, 0.55) + ";", "one that goes on at the right edge");
	is(got.two, span(10, 10, 0.55) + "; " + span(30, 2, 0.55) + ";", "two");
	is([got.part, got.other], [";", ";"], "out of the picture, and of another thread");
});

await test("the scale of an event's values is drawn where its track is, not over the names", async () => {
	const got = await page.evaluate(async () => {
		const { paint, left, row, top } = await import("./draw.js"), { Svg } = await import("./svg.js");
		const of = async (y, pinned) => {
			const track = {kind: "event", id: 7, track: 1, name: "the name", y, height: 2 * row, shown: 1, depths: 1};
			const state = {from: 0, to: 1000, length: 1000, ns_per_tick: 1, tracks: [track], losses: [], pauses: [], held: [], found: new Set(), hidden: new Set(), marks: [], arrows: [], pinned,
				bars: new Map([[1, await window.made(1, [{begin: 10, end: 10, busy: 123, high: 123, what: 1}, {begin: 500, end: 500, busy: 98765, high: 98765, what: 1}])]]), pid_of: x => x, thread_name: () => ""};
			const svg = new Svg(left + 1000, 300);
			paint(svg, left + 1000, 300, state, 0, () => {});
			const doc = new DOMParser().parseFromString(svg.text(), "image/svg+xml"), out = [];
			for (const e of doc.querySelectorAll("text")) {
				if (!/^(123|98765|the name)$/.test(e.textContent)) continue;
				// the rectangle that it is cut to: "Mx yhWvHh-Wz"
				const id = e.closest("g[clip-path]").getAttribute("clip-path").slice(5, -1), [, x, y, w, h] = doc.getElementById(id).firstChild.getAttribute("d").match(/^M(\S+) (\S+)h(\S+)v(\S+)h/).map(Number);
				const at = Number(e.getAttribute("x"));
				out.push([e.textContent, at >= x && at + 6.4 * e.textContent.length <= x + w, [x, y, w, h].join(" ")]);
			}
			return out;
		};
		return {left, top, plain: await of(100), below: await of(60, 80)};
	});
	const area = upper => `${got.left} ${upper} 1000 ${300 - upper}`;
	is(got.plain, [["98765", true, area(got.top)], ["123", true, area(got.top)], ["the name", true, `0 ${got.top} ${got.left - 6} 300`]], "inside what they are cut to");
	is(got.below.map(x => x[2]), [area(80), area(80), `0 80 ${got.left - 6} 300`], "below what is pinned");
});

await test("a name with spaces shows only that one, and again all", async () => {
	const name = 'ns::f<a, b>(char const*, int*) "x" [1]';
	await page.evaluate(name => {
		window.real_fetch = window.fetch;
		// the table is made up, all else is the trace's
		window.fetch = async path => /get\/range/.test(path) ? new Response(JSON.stringify({functions: [{name, module: "m", calls: 3, total: 9, self: 9, mean: 3, min: 3, p50: 3, p99: 3, max: 3}], tracks: []})) : window.real_fetch(path);
	}, name);
	const press = async () => {
		await page.evaluate(async () => { const { panel } = await import("./panel.js"), { state } = await import("./main.js"); state.selection = [1, 2]; state.tab = ""; await panel.open("functions"); });
		await page.waitForFunction(name => [...document.querySelectorAll("#table tbody button")].some(b => b.textContent === name), name);
		await page.evaluate(name => [...document.querySelectorAll("#table tbody button")].find(b => b.textContent === name).click(), name);
		await settle(page);
		return page.evaluate(async () => (await import("./main.js")).state.filter);
	};
	const first = await press(), again = await press();
	await page.evaluate(async () => { const { filter_by } = await import("./main.js"); await filter_by("core:0"); });
	await settle(page);
	const beside = await press(), left = await press();
	await page.evaluate(async () => { window.fetch = window.real_fetch; const { filter_by, state } = await import("./main.js"); state.selection = null; await filter_by(""); });
	await settle(page);
	is(first, '"function:ns::f<a, b>(char const\\*, int\\*) ?x? \\[1\\]"', "only that");
	is([again, beside, left], ["", "core:0 " + first, "core:0"], "and again");
});

await test("the search steps to the next call and to the one before, none passed over", async () => {
	const calls = () => page.evaluate(async () => {
		const { state: s } = await import("./main.js"), out = new Set();
		for (const [track, b] of s.bars) if (s.tracks.find(t => t.track === track)?.kind === "thread") for (let i = 0; i < b.n; i++) if (s.found.has(b.what[i])) out.add(b.begin[i]);
		return {begins: [...out].sort((a, b) => a - b), picked: s.picked?.begin ?? null, from: s.from, to: s.to, tracks: s.tracks.length};
	});
	await page.fill("#search", "function");
	await page.waitForFunction(() => /function/.test(document.getElementById("found").textContent));
	let { begins } = await calls();
	ok(begins.length > 6, "calls: " + begins.length);
	let at = 0;
	for (const [button, by] of [["next", 0], ["next", 1], ["next", 1], ["previous", -1], ["previous", -1]]) {
		await page.click("#" + button);
		await settle(page);
		at += by;
		is((await calls()).picked, begins[at], `${button} to ${at} of ${begins.length}`);
	}
	await page.fill("#search", "");
	await page.keyboard.press("Escape");
	await page.waitForFunction(() => document.getElementById("found").textContent === "");
});

await test("the list asks for each kind of track that is shown", async () => {
	const header = readFileSync(root + "/analyse/feed.h", "utf8").match(/enum dt_track_kind \{([^}]*)\}/)[1];
	const names = [...header.replace(/\/\*.*?\*\//gs, "").matchAll(/DT_TRACK_(\w+)/g)].map(m => m[1].toLowerCase()).filter(k => k !== "kinds");
	is(names.length, 5, "kinds: " + names);
	const asked = await page.evaluate(kinds => window.with_answers(() => ({rows: []}), async asked => {
		const { list } = await import("./list.js"), { state } = await import("./main.js"), place = document.createElement("div");
		state.tab = "list";
		for (const kind of ["none", ...kinds]) { state.hidden.add(kind); await list.load(place, place, 0); state.hidden.delete(kind); }
		state.tab = "functions";
		return asked.filter(a => a.what === "list").map(a => Number(a.kinds));
	}), names);
	is(asked, [31, ...names.map((_, i) => 31 & ~(1 << i))], "kinds asked for");
});

await test("what could not be hooked is asked for again when there is more of it, and only then", async () => {
	const got = await page.evaluate(() => window.with_answers(a => a.what === "unhooked" ? {rows: window.left.map(f => [f, "m", "no room", ""]), all: window.left.length} : {functions: [], tracks: []}, async asked => {
		const { panel } = await import("./panel.js"), { state } = await import("./main.js"), out = [], before = state.unhooked;
		for (const left of [["a"], ["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"]]) {
			window.left = left;
			state.unhooked = left.length;
			panel.open("unhooked");
			await new Promise(resolve => setTimeout(resolve, 50));
			out.push([asked.filter(a => a.what === "unhooked").length, [...document.querySelectorAll("#table tbody tr")].map(r => r.cells[0].textContent).join()]);
		}
		state.unhooked = before;
		panel.open("functions");
		await new Promise(resolve => setTimeout(resolve, 50));
		return out;
	}));
	is(got, [[1, "a"], [1, "a"], [2, "a,b"], [2, "a,b"], [3, "a,b,c"]], "asked, and shown");
});

child.removeAllListeners("exit");
child.kill("SIGINT");
await browser.close();
end();
