// SPDX-License-Identifier: MIT
// A range of the trace as one HTML file, which opens anywhere: this page's own code, and what the server says of the range.
import { state } from "./main.js";
import { count } from "./text.js";

const bytes_of_bar = 48, most_bars = 100000, most_rows = 10000, slices = 400;

async function ask(what, args = {}) {
	const answer = await fetch("get/" + what + "?" + new URLSearchParams(state.filter ? {filter: state.filter, ...args} : args));
	if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? answer.statusText);
	return answer;
}
const json = async (what, args) => (await ask(what, args)).json();

// Fetches all bars of a range one by one: from a track to its bars' bytes, in the order of depth and begin.
async function all_bars(from, to, tracks) {
	const found = new Map(tracks.map(t => [t, new Map()])), rest = [[from, to]];
	let bars = 0;
	for (let n = 0; rest.length; n++) {
		const [a, b] = rest.pop();
		if (n === slices || bars > most_bars) throw new Error("there is too much in it for one file: select less time (some " + count(most_bars) + " bars are the most)");
		const buffer = await (await ask("window", {from: a, to: b, cells: 8192, tracks: tracks.join(","), depths: 100000})).arrayBuffer(), view = new DataView(buffer), some = [];
		for (let at = 0; at < buffer.byteLength;) {
			const track = view.getUint32(at, true), end = at + 8 + view.getUint32(at + 4, true) * bytes_of_bar;
			for (at += 8; at < end; at += bytes_of_bar) some.push([track, at]);
		}
		// of several that are one bar, the halves are asked about
		if (b - a > 1 && some.some(([, at]) => view.getUint32(at + 32, true) > 1)) { const half = Math.floor((a + b) / 2); rest.push([a, half], [half, b]); continue; }
		for (const [track, at] of some) {
			const bar = new Uint8Array(buffer, at, bytes_of_bar), key = [view.getUint32(at + 44, true), view.getFloat64(at, true), view.getFloat64(at + 8, true), view.getUint32(at + 36, true)].join();
			if (!found.get(track).has(key)) bars++;
			found.get(track).set(key, bar);
		}
	}
	const number = key => key.split(",").map(Number), before = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
	return new Map([...found].map(([track, of]) => [track, [...of.keys()].sort((a, b) => before(number(a), number(b))).map(k => of.get(k))]));
}

const base64 = parts => btoa(parts.map(p => String.fromCharCode(...p)).join(""));

async function list_of(from, to) {
	const rows = [];
	let at = from;
	while (at !== undefined && at <= to && rows.length < most_rows) {
		const got = await json("list", {from: at, to, rows: 1000, kinds: 31});
		rows.push(...got.rows);
		at = got.next;
	}
	return {rows, next: at !== undefined && at <= to ? at : undefined};
}

// Answers in place of the server. It runs in the file, before the page's code, of which it knows nothing.
function from_file(saved) {
	const only = "this file has a part of a trace, and of that not this: ask the trace itself, by devtrace view";
	const bars = new Map(saved.bars.map(([track, text]) => [track, Uint8Array.from(atob(text), c => c.charCodeAt(0))]));
	const answer = what => new Response(JSON.stringify(what)), refuse = (status = 404) => new Response(JSON.stringify({error: only}), {status});
	const window_of = q => {
		const from = +q.get("from"), to = +q.get("to"), depths = +q.get("depths") || Infinity, parts = [];
		for (const track of q.get("tracks").split(",").filter(Boolean).map(Number)) {
			const all = bars.get(track) ?? new Uint8Array(0), view = new DataView(all.buffer), kept = [];
			for (let at = 0; at < all.length; at += 48)
				if (view.getFloat64(at, true) <= to && view.getFloat64(at + 8, true) >= from && view.getUint32(at + 44, true) < depths) kept.push(all.subarray(at, at + 48));
			parts.push(new Uint8Array(new Uint32Array([track, kept.length]).buffer), ...kept);
		}
		return new Response(new Blob(parts));
	};
	const rows_of = q => {
		const from = +q.get("from"), rows = +q.get("rows"), some = saved.list.rows.filter(r => r.begin >= from), kinds = +q.get("kinds"), bit = {thread: 1, core: 2, event: 4, point: 8, message: 16};
		const kind = new Map(saved.trace.tracks.map(t => [t.track, bit[t.kind]])), wanted = some.filter(r => kind.get(r.track) & kinds), next = wanted[rows]?.begin ?? saved.list.next;
		return answer({rows: wanted.slice(0, rows), ...(next === undefined ? {} : {next})});
	};
	const pick = (of, ids) => Object.fromEntries(ids.split(",").filter(id => of[id]).map(id => [id, of[id]]));
	window.fetch = async url => {
		const at = new URL(url, "http://file/"), what = at.pathname.slice(5), q = at.searchParams;
		if ((q.get("filter") ?? saved.filter) !== saved.filter) return refuse(400);
		if (what === "window") return window_of(q);
		if (what === "list") return rows_of(q);
		if (what === "names") return answer(pick(saved.names, q.get("ids")));
		if (what === "who") return answer({});
		if (what === "wakes") return answer({...saved.wakes, wakes: saved.wakes.wakes.filter(w => w[0] >= +q.get("from") && w[0] <= +q.get("to"))});
		if (what === "search") return answer(Object.entries(saved.names).filter(([, n]) => n[0].includes(q.get("text"))).map(([id, n]) => [+id, n[0]]));
		if (what === "call") { const row = saved.list.rows.find(r => r.track === +q.get("track") && r.begin === +q.get("begin") && r.depth === +q.get("depth")); return row ? answer({text: row.text}) : refuse(); }
		if (what === "range") return q.get("all") || (+q.get("from") === saved.from && +q.get("to") === saved.to) ? answer(q.get("ways") ? saved.ways : saved.range) : refuse();
		return what in saved ? answer(saved[what]) : refuse();
	};
	if (!location.hash) history.replaceState(null, "", "#from=" + saved.from + "&to=" + saved.to);
}

// Returns all of the page's modules, with names in place of their paths: from a name to its text.
async function modules(name = "main.js", all = new Map()) {
	if (all.has(name)) return all;
	all.set(name, "");
	const text = await (await fetch(name)).text(), found = [...text.matchAll(/ from "\.\/([\w-]+\.js)"/g)].map(m => m[1]);
	all.set(name, text.replaceAll(' from "./', ' from "devtrace/'));
	for (const other of found) await modules(other, all);
	return all;
}

// Returns the file's text for the range that is selected, or shown.
export async function page_of_range() {
	if (document.querySelector("script[type=importmap]")) throw new Error("this is one already");
	const [from, to] = (state.selection ?? [state.from, state.to]).map(t => Math.max(0, Math.min(state.length, Math.round(t)))), range = {from, to};
	const trace = await json("trace", {take: [...new Set(state.tracks.map(t => t.pid).filter(Boolean))].join(",")}), tracks = trace.tracks.map(t => t.track), bars = await all_bars(from, to, tracks);
	const list = await list_of(from, to), ranges = await json("range", range), ids = new Set(ranges.functions.map(f => f.function)), names = {};
	for (const parts of bars.values()) for (const p of parts) ids.add(new DataView(p.buffer, p.byteOffset).getUint32(36, true));
	for (const some = [...ids]; some.length;) Object.assign(names, await json("names", {ids: some.splice(0, 300).join(",")}));
	trace.pauses.push([0, from, "not in this file", 1, null], [to, state.length, "not in this file", 1, null]);
	trace.name += " (a part)";
	const pids = [...new Set(trace.tracks.filter(t => t.kind === "thread").map(t => t.pid || t.id))], wakes = state.wakers ? await json("wakes", range) : {wakes: [], all: true};
	const saved = {...range, filter: state.filter, trace, bars: [...bars].filter(([, parts]) => parts.length).map(([track, parts]) => [track, base64(parts)]), list, names, range: ranges, ways: await json("range", {...range, ways: 1}), wakes, notes: await json("notes"),
		unhooked: state.unhooked ? await json("unhooked") : {rows: [], all: 0}, activities: await json("activities", {...range, cells: 8192}), groups: await json("groups", {...range, cells: 4096, pids: pids.join(",")}), packed: {bars: []}};
	const plain = value => JSON.stringify(value).replaceAll("<", "\\u003c"), code = await modules(), imports = Object.fromEntries([...code].map(([name, text]) => ["devtrace/" + name, "data:text/javascript;charset=utf-8," + encodeURIComponent(text)]));
	const scripts = `<script type="importmap">${plain({imports})}</script>\n<script>(${from_file})(${plain(saved)})</script>\n<script type="module">import "devtrace/main.js"</script>`;
	const style = await (await fetch("style.css")).text();
	return (await (await fetch("./")).text()).replace(/<link rel="stylesheet"[^>]*>/, () => "<style>" + style + "</style>").replace(/<script type="module"[^>]*><\/script>/, () => scripts);
}
