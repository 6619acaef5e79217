// SPDX-License-Identifier: MIT
// Which tracks are drawn in which order: processes as groups that fold, sorted, pinned, moved, hidden; many or short-lived processes packed into rows. And the tab that has them all.
import { state, keep, redraw, rearrange, reveal, take_process } from "./main.js";
import { json } from "./data.js";
import { Rows } from "./rows.js";
import { element } from "./tables.js";
import { count, duration } from "./text.js";
import { by_host, host_track } from "./hosts.js";

const heads = 0x60000000, packs = 0x70000000;	// numbers of tracks that the server has not
const unfolded_most = 60;	// threads: with more, processes are folded at first
const pins_most = 8, listed = 300;
const by_kind = {core: 0, activity: 0.5, answer: 0.6, values: 0.65, plot: 0.7, thread: 1, message: 2, event: 3, point: 4};
const sorts = {number: "number", name: "name", activity: "number of calls", own: "as they were moved"};

// sort; pinned tracks, and hidden ones, by their keys, in order; processes that are folded or not by a click; the order of those that were moved; processes that are drawn though the server would pack them.
export const order = {sort: "number", pins: [], gone: new Set(), folds: new Map(), moved: [], take: new Set()};

export const key_of = t => t.kind + t.id;
export const is_server = t => t.track < 0x40000000;
const pid_of = t => t.pid || t.id;
export const is_folded = (pid, threads) => order.folds.get(pid) ?? threads > unfolded_most;

// ---- the address

export function words(q) {
	if (order.sort !== "number") q.set("sort", order.sort);
	if (order.pins.length) q.set("pin", order.pins.join("."));
	if (order.gone.size) q.set("gone", [...order.gone].join("."));
	if (order.folds.size) q.set("folds", [...order.folds].map(([pid, f]) => (f ? "" : "-") + pid).join("."));
	if (order.sort === "own") q.set("moved", order.moved.join("."));
	if (order.take.size) q.set("take", [...order.take].join("."));
}

export function recall(q) {
	const list = key => (q.get(key) || "").split(".").filter(Boolean), key = w => /^(core|thread|event|point|message|process)\d+$/.test(w), before = [...order.take].join(".");
	order.sort = q.get("sort") in sorts ? q.get("sort") : "number";
	order.pins = list("pin").filter(key).slice(0, pins_most);
	order.gone = new Set(list("gone").filter(key));
	order.folds = new Map(list("folds").filter(w => /^-?\d+$/.test(w)).map(w => [Math.abs(Number(w)), w[0] !== "-"]));
	order.moved = list("moved").map(Number).filter(Number.isSafeInteger);
	order.take = new Set(list("take").map(Number).filter(Number.isSafeInteger).slice(0, 200));
	return before !== [...order.take].join(".");
}

// ---- the order

function groups_of(tracks) {
	const groups = new Map();
	for (const t of tracks) {
		if (t.kind !== "thread") continue;
		const pid = pid_of(t);
		if (!groups.has(pid)) groups.set(pid, {pid, threads: [], count: 0});
		const g = groups.get(pid);
		g.threads.push(t);
		g.count += t.count;
	}
	return groups;
}

function sorted_groups(groups) {
	const list = [...groups.values()], place = new Map(order.moved.map((pid, i) => [pid, i])), by = order.sort;
	const names = new Map(list.map(g => [g.pid, state.process_name(g.pid)]));
	return list.sort((a, b) => by_host(a.pid, b.pid) || (by === "name" ? names.get(a.pid).localeCompare(names.get(b.pid), undefined, {numeric: true}) : by === "activity" ? b.count - a.count
		: by === "own" ? (place.get(a.pid) ?? Infinity) - (place.get(b.pid) ?? Infinity) || 0 : 0) || a.pid - b.pid);
}

const head_track = g => ({track: heads + g.pid, kind: "process", id: g.pid, pid: g.pid, depths: 1, count: g.count, threads: g.threads.length, begin: 0, end: state.length, name: state.process_name(g.pid)});

// Puts tracks into the order in which they are drawn, with a head for each process if there are several; tracks that are not drawn are marked.
export function arrange(tracks) {
	const plain = tracks.filter(t => t.kind !== "process" && t.kind !== "pack" && t.kind !== "host"), groups = groups_of(plain), out = [];
	const threads = plain.filter(t => t.kind === "thread").length, several = groups.size > 1 || state.packed > 0;
	const rank = t => by_kind[t.kind] * 4, rest = plain.filter(t => t.kind !== "thread").sort((a, b) => rank(a) - rank(b) || a.id - b.id);
	out.push(...rest.filter(t => by_kind[t.kind] < 1));
	let host = null, last = -1;
	for (const g of sorted_groups(groups)) {
		[host, last] = host_track(g.pid, last, state.length);
		if (host) out.push(host);
		const folded = several && is_folded(g.pid, threads), head = several ? head_track(g) : null;
		const inside = g.threads.sort((a, b) => order.sort === "activity" ? b.count - a.count || a.id - b.id : order.sort === "name" ? a.name.localeCompare(b.name, undefined, {numeric: true}) : a.id - b.id);
		if (head) out.push(Object.assign(head, {folded, inside}));
		for (const t of inside) { t.head = head; t.tucked = folded || order.gone.has("process" + g.pid); out.push(t); }
	}
	if (state.packed) out.push({track: packs, kind: "pack", id: 0, pid: 0, depths: 12, count: state.packed, begin: 0, end: state.length, name: count(state.packed) + " processes packed"});
	out.push(...rest.filter(t => by_kind[t.kind] > 1));
	for (const t of out) { t.gone = order.gone.has(key_of(t)); t.pinned = !t.gone && order.pins.includes(key_of(t)); if (t.pinned) t.tucked = false; }
	const pinned = order.pins.map(k => out.find(t => t.pinned && key_of(t) === k)).filter(Boolean);
	return [...pinned, ...out.filter(t => !t.pinned)];
}

// ---- what the server knows of groups

let asked = "";

// Packed processes as bars.
const packed_bars = list => new Rows(list.map(([row, begin, end, count, pid, number, name]) => ({row, begin, end, count, pid, name: (name.split(" ")[0].split("/").pop() || "process") + " " + number})));

// Fetches how busy the processes on the screen were, and the packed ones; true: rows have changed.
export async function fetch_groups(from, to, cells, seen) {
	const pids = seen.filter(t => t.kind === "process").map(t => t.id).slice(0, 200), pack = seen.some(t => t.kind === "pack");
	const key = JSON.stringify([pids, pack, from, to, cells, state.filter, state.records, [...order.take]]), take = order.take.size ? {take: [...order.take].join(",")} : {};
	if (key === asked || (!pids.length && !pack)) return false;
	const range = {from: Math.floor(from), to: Math.ceil(to)};
	if (pids.length) {
		const got = await json("groups", {...range, cells: Math.min(4096, Math.ceil(cells / 2)), pids: pids.join(",")});
		for (const [pid, values] of got.groups) state.bars.set(heads + pid, {begin: got.begin, cell: got.cell, values, n: 0, at: () => -1});
	}
	if (pack) {
		const before = state.bars.get(packs)?.depths, got = await json("packed", {...range, cells: Math.min(4096, Math.ceil(cells / 4)), ...take}), rows = packed_bars(got.bars);
		state.bars.set(packs, rows);
		asked = key;
		return before !== rows.depths;
	}
	asked = key;
	return false;
}

// ---- drawing

// Draws how many of a process's threads were in calls.
export function draw_head(c, s, t, b, x_of, y, width, left, fill, style) {
	const most = Math.max(1000, t.threads * 1000), h = t.height - 2;
	c.fillStyle = fill;
	let drawn = -1;
	for (let i = 0; i < b.values.length; i++) {
		const a = Math.max(left, x_of(b.begin + i * b.cell)), e = Math.min(width, x_of(b.begin + (i + 1) * b.cell)), v = b.values[i];
		if (!v || e < left || a > width || e <= drawn) continue;
		const high = Math.max(1, Math.min(1, v / most) * h);
		c.fillRect(a, y + h - high, Math.max(1, e - a), high);
		drawn = e;
	}
	c.fillStyle = style.dim;
	if (t.folded) { c.textAlign = "left"; c.fillText(count(t.threads) + (t.threads === 1 ? " thread" : " threads"), left + 4, y + h / 2); }
}

// Returns the share of a process's threads that were in calls at a time, as words.
export function describe_head(t, time) {
	const b = state.bars.get(t.track), i = b ? Math.floor((time - b.begin) / b.cell) : -1, v = b?.values[i];
	return [t.name, count(t.threads) + (t.threads === 1 ? " thread, " : " threads, ") + count(t.count) + " calls", ...(v === undefined ? [] : [(v / 1000).toFixed(2) + " of them in calls, in " + duration(b.cell * state.ns_per_tick)])];
}

export function describe_packed(b, i) {
	const x = b.list[i];
	return x.count > 1 ? [count(x.count) + " processes, the longest " + x.name, "from the first to the last: " + duration((x.end - x.begin) * state.ns_per_tick), "zoom in to see them"]
		: [x.name, "in calls for at most " + duration((x.end - x.begin) * state.ns_per_tick), "a click draws its calls"];
}

// ---- what a click, or a button, does

function done() { rearrange(); keep(); fill(); }

export function toggle(t) {
	order.folds.set(t.id, !t.folded);
	done();
}

// Shows a track that is folded away, or hidden.
export function unhide(t) {
	let changed = order.gone.delete(key_of(t));
	if (t.head) {
		changed = order.gone.delete(key_of(t.head)) || changed;
		if (t.head.folded) { order.folds.set(t.head.id, false); changed = true; }
	}
	if (changed) rearrange();
}

export const take = pid => { order.take.add(pid); while (order.take.size > 200) order.take.delete(order.take.values().next().value); };

function pin(t) {
	const key = key_of(t);
	if (order.pins.includes(key)) order.pins = order.pins.filter(k => k !== key);
	else order.pins = [...order.pins, key].slice(-pins_most);
	done();
}

function hide(t) {
	const key = key_of(t);
	if (!order.gone.delete(key)) order.gone.add(key);
	done();
}

// Moves a pinned track, or a process, by one place.
function move(t, by) {
	const key = key_of(t), list = t.pinned ? order.pins : state.tracks.filter(x => x.kind === "process").map(x => x.id), i = list.indexOf(t.pinned ? key : t.id), j = i + by;
	if (i < 0 || j < 0 || j >= list.length) return;
	[list[i], list[j]] = [list[j], list[i]];
	if (!t.pinned) { order.sort = "own"; order.moved = list.slice(0, 200); }
	done();
}

// ---- the tab

let body = null, rest = null, text = "", select = null;

const button = (what, label, title, onclick) => Object.assign(element("button", what, {type: "button", title, onclick}), {ariaLabel: label});

function row_of(t) {
	const tr = body.insertRow(), name = tr.insertCell(), tools = tr.insertCell(), key = key_of(t);
	const act = (what, title, run) => { const b = button(what, what + " " + t.name, title, run); b.dataset.of = what + key; tools.append(b, " "); return b; };
	name.append(element("button", t.name, {type: "button", title: "go there", onclick: () => { unhide(t); reveal(t.track, 0); }}));
	if (t.kind === "thread" && t.head) name.style.paddingLeft = "24px";
	act(t.pinned ? "unpin" : "pin", "keep it at the top", () => pin(t));
	act(t.gone ? "show" : "hide", t.gone ? "draw it again" : "draw it no more", () => hide(t));
	if (t.kind === "process") act(t.folded ? "unfold" : "fold", "its threads", () => toggle(t));
	if (t.kind === "process" || t.pinned) { act("up", "earlier", () => move(t, -1)); act("down", "later", () => move(t, 1)); }
	if (order.take.has(t.id) && t.kind === "process") act("pack", "draw it among the packed ones again", () => { order.take.delete(t.id); take_process(null); });
	tr.insertCell().textContent = t.kind;
	tr.insertCell().textContent = t.count > 1 || t.kind === "thread" ? count(t.count) : "";
}

async function packed_rows(me) {
	if (!state.packed || !text) return;
	const got = await json("packed", {from: 0, to: state.length, cells: 1, name: text, ...(order.take.size ? {take: [...order.take].join(",")} : {})});
	if (me !== asked_rows || !body?.isConnected) return;
	for (const [, , , , pid, number, name] of got.bars) {
		const tr = body.insertRow(), show = (name.split(" ")[0].split("/").pop() || "process") + " " + number;
		tr.insertCell().append(element("button", show, {type: "button", title: "draw its calls", onclick: () => take_process(pid)}));
		tr.insertCell().textContent = "packed";
	}
	if (got.found > got.bars.length) rest.textContent += "; and " + count(got.found - got.bars.length) + " more packed processes";
}

let asked_rows = 0;

function fill() {
	if (!body?.isConnected || state.tab !== "tracks") return;
	const focus = document.activeElement?.dataset?.of, me = ++asked_rows, low = text.toLowerCase();
	const list = state.tracks.filter(t => t.kind !== "pack" && t.kind !== "plot" && t.kind !== "activity" && t.kind !== "answer" && t.kind !== "values" && (t.name.toLowerCase().includes(low) && (text || !t.tucked || t.gone)));
	body.replaceChildren();
	for (const t of list.slice(0, listed)) row_of(t);
	select.value = order.sort;
	rest.textContent = list.length > listed ? "and " + count(list.length - listed) + " more: type a part of a name" : list.length ? "" : "no track has that in its name";
	packed_rows(me).catch(e => { rest.textContent = e.message; });
	if (focus) body.querySelector(`[data-of="${focus.replace(/^(un)?pin/, "pin")}"], [data-of="${focus}"], [data-of="un${focus}"]`)?.focus();
}

export function show_tracks(into, head) {
	head.textContent = state.packed ? count(state.packed) + " processes with " + count(state.packed_threads) + " threads are packed: they are short-lived, or too many" : "";
	if (into.querySelector("#sort") && body?.isConnected) { fill(); return; }
	const field = element("input", "", {type: "search", value: text, placeholder: "tracks with…", oninput() { text = field.value; fill(); }}), label = element("label", "processes by "), bar = element("p");
	select = element("select", "", {id: "sort", onchange() { order.sort = select.value; if (order.sort === "own" && !order.moved.length) order.moved = state.tracks.filter(t => t.kind === "process").map(t => t.id).slice(0, 200); done(); }});
	for (const s in sorts) select.append(element("option", sorts[s], {value: s}));
	field.setAttribute("aria-label", "Show only tracks that have this in their name");
	label.append(select);
	bar.append(field, " ", label, " ", button("show all", "show all", "draw all that were hidden", () => { order.gone.clear(); done(); }), " ", button("fold all", "fold all processes", "", () => fold_all(true)), " ", button("unfold all", "unfold all processes", "", () => fold_all(false)));
	const t = element("table");
	body = t.createTBody();
	rest = element("div");
	into.replaceChildren(bar, t, rest);
	fill();
}

function fold_all(folded) {
	order.folds = new Map(state.tracks.filter(t => t.kind === "process").slice(0, 500).map(t => [t.id, folded]));
	done();
}

// ---- on and off the processor

const cpu = {made: "", runs: new Map(), mixed: []};	// mixed: [begin, end] of bars of the cores that stand for several runs

// Returns the times in which a thread ran, from the bars of the cores: {begin, end, core, share}.
export function runs_of(tid) {
	const cores = state.tracks.filter(t => t.kind === "core" && state.bars.has(t.track)), key = cores.map(t => t.track + ":" + state.bars.get(t.track).serial).join();
	if (key !== cpu.made) {
		cpu.made = key;
		cpu.runs = new Map();
		cpu.mixed = [];
		for (const t of cores) {
			const b = state.bars.get(t.track);
			for (let i = 0; i < b.n; i++) {
				if (b.count[i] > 1) { cpu.mixed.push([b.begin[i], b.end[i]]); continue; }
				if (!cpu.runs.has(b.what[i])) cpu.runs.set(b.what[i], []);
				cpu.runs.get(b.what[i]).push({begin: b.begin[i], end: b.end[i], core: t.id});
			}
		}
		cpu.mixed.sort((a, b) => a[0] - b[0]);
	}
	return cpu.runs.get(tid) ?? [];
}

export const strip = 4;	// pixels: height of the row

// Draws when a thread was on a processor, at the foot of its track.
export function draw_runs(c, t, x_of, y, width, left, style) {
	const foot = y + t.height - strip;
	let drawn = -Infinity;
	c.fillStyle = style.line;
	c.fillRect(Math.max(left, x_of(t.begin)), foot, Math.max(0, Math.min(width, x_of(t.end)) - Math.max(left, x_of(t.begin))), strip - 1);
	const runs = runs_of(t.id), paint = (begin, end, high) => {
		const a = Math.max(left, x_of(begin)), e = Math.min(width, x_of(end));
		if (e < left || a > width || (e <= drawn && e - a < 1)) return;
		c.fillRect(a, foot + strip - 1 - high, Math.max(1, e - a), high);
		drawn = e;
	};
	c.fillStyle = style.dim;
	for (const [begin, end] of cpu.mixed) paint(Math.max(begin, t.begin), Math.min(end, t.end), 1);
	drawn = -Infinity;
	c.fillStyle = style.alone;
	for (const r of runs) paint(r.begin, r.end, strip - 1);
}

// Returns what a thread did at a time, as words.
export function describe_run(t, time) {
	const r = runs_of(t.id).find(r => r.begin <= time && r.end >= time);
	if (r) return [t.name, "on core " + r.core + " for " + duration((r.end - r.begin) * state.ns_per_tick)];
	if (cpu.mixed.some(([begin, end]) => begin <= time && end >= time)) return [t.name, "threads took turns here: zoom in to see when it ran"];
	return [t.name, time >= t.begin && time <= t.end ? "on no processor" : "makes no calls here"];
}
