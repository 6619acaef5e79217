// SPDX-License-Identifier: MIT
// The time line: the state of what is shown, and keeping it in the address.
import { core_name, take_hosts, with_host } from "./hosts.js";
import { fetch_activities, tracks as activity_tracks } from "./activities.js";
import { ends } from "./arrows.js";
import { take_twins } from "./beside.js";
import { bars, json, use_filter } from "./data.js";
import { draw, draw_map, layout, left, row, top } from "./draw.js";
import { input } from "./input.js";
import { key } from "./key.js";
import { live } from "./live.js";
import { measured } from "./measure.js";
import { panel, take_notes } from "./panel.js";
import { fetch_plots, recall as recall_plots, tracks as plot_tracks, words as plot_words } from "./plots.js";
import { question, recall as recall_sql, restore, tracks as sql_tracks } from "./sql.js";
import { count } from "./text.js";
import { all as all_wakes, fetch_wakes } from "./wakes.js";
import { arrange, fetch_groups, is_server, order, recall as recall_tracks, strip, take as take_pid, unhide, words as track_words } from "./tracks.js";

const by_id = id => document.getElementById(id);
const canvas = by_id("line"), map = by_id("map"), scroll = by_id("scroll");

export const state = {
	ns_per_tick: 1, length: 1, from: 0, to: 1, records: 0,
	tracks: [], losses: [], pauses: [], held: [], bars: new Map(), map: new Map(),
	selection: null,	// [from, to] in ticks
	picked: null,		// the call that was clicked on
	found: new Set(),	// functions that the search has found
	filter: "",		// the filter's words, which say what is shown; "": everything
	unfolded: new Set(),	// ids of threads that are to be unfolded when they come
	hidden: new Set(),	// kinds of tracks that are not shown, and "arrow"
	a: null, b: null,	// marks to measure between, in ticks
	plots: [],		// values over time: plots.js
	marks: [],		// bookmarks: {from, to, name}
	notes: [],		// the same of the file, each with its id
	arrows: [],		// the arrows that were drawn last
	ends: {sent: new Set(), received: new Set(), together: []},	// of messages: arrows.js
	tab: "functions",	// the tab of the panel
	opened: false,		// it is open also when nothing is selected
	pid_of: tid => state.pids.get(tid) ?? (ask_who(tid), tid), pids: new Map(),
	process_name: pid => state.processes.has(pid) ? with_host(state.processes.get(pid), pid) : state.threads.get(pid) || with_host("process " + pid, pid), processes: new Map(), numbers: new Map(),
	thread_name: tid => state.threads.get(tid) ?? (ask_who(tid), "thread " + tid), threads: new Map(),
};

// ---- threads that the server has not told of, because there are so many

const who = {wanted: new Set(), known: new Set(), asking: false};

function ask_who(tid) {
	if (!state.packed || who.known.has(tid) || tid >= 0xffff0000) return;
	who.known.add(tid);
	who.wanted.add(tid);
	if (who.asking) return;
	who.asking = true;
	setTimeout(fetch_who, 20);
}

async function fetch_who() {
	while (who.wanted.size) {
		const some = [...who.wanted].slice(0, 200);
		for (const tid of some) who.wanted.delete(tid);
		try {
			const got = await json("who", {ids: some.join(",")});
			for (const tid in got) {
				const [thread, pid, number, command] = got[tid];
				state.threads.set(+tid, with_host(thread, +tid));
				state.pids.set(+tid, pid);
				state.numbers.set(pid, number);
				if (!state.processes.has(pid)) state.processes.set(pid, (command.split(" ")[0].split("/").pop() || "process") + " " + number);
			}
		} catch { for (const tid of some) who.known.delete(tid); break; }
		redraw();
	}
	who.asking = false;
}

// ---- drawing: at most once a frame

let drawing = false, drawn = () => {};

export function redraw() {
	if (drawing) return;
	drawing = true;
	requestAnimationFrame(() => {
		drawing = false;
		draw(canvas, state, scroll.scrollTop, redraw);
		draw_map(map, state, state.map);
		drawn();
	});
}

function resize() {
	canvas.style.height = scroll.clientHeight + "px";
	by_id("height").style.height = Math.max(0, layout(state) - scroll.clientHeight) + "px";
	redraw();
}

// ---- fetching what is on the screen, and a window's width on either side

let asked = "", asking = false, again = false;


// Puts the tracks into their order anew.
export function rearrange() {
	state.tracks = arrange(state.tracks);
	relayout();
}

// Draws a process that the server has packed; null: as `take' says now.
export async function take_process(pid) {
	if (pid !== null) { take_pid(pid); order.folds.set(pid, false); }
	await load(false);
	const t = state.tracks.find(t => t.kind === "thread" && (t.pid || t.id) === pid);
	if (t) reveal(t.track, 0);
	if (state.tab === "tracks") panel.select();
	keep();
}

// Makes the tracks anew that are not the server's.
export function retrack() {
	state.tracks = arrange([...state.tracks.filter(is_server), ...activity_tracks(), ...plot_tracks(), ...sql_tracks()]);
	relayout();
}

function on_screen() {
	const height = scroll.clientHeight, at = scroll.scrollTop;
	return state.tracks.filter(t => !t.hidden && (t.pinned || t.kind === "message" || t.kind === "event" || (t.kind === "core" && state.switches)
		|| t.y + t.height >= at - height / 2 && t.y <= at + height * 1.5));
}

function asked_window() {
	const span = state.to - state.from, from = Math.max(0, state.from - span), to = Math.min(state.length, state.to + span);
	const pixels = Math.max(100, canvas.clientWidth - left);
	return {from, to, cells: Math.min(8192, Math.max(1, Math.ceil(pixels * (to - from) / span)))};
}

// Returns the state with the bars of all tracks, not only of those on the screen.
export async function whole() {
	const { from, to, cells } = asked_window(), found = new Map(state.bars);
	const list = state.tracks.filter(t => !t.hidden && is_server(t));
	for (let i = 0; i < list.length; i += 64) {
		const some = list.slice(i, i + 64), depths = Math.max(1, ...some.map(t => t.shown));
		for (const [track, b] of await bars(from, to, cells, some.map(t => t.track), depths)) found.set(track, b);
	}
	return {...state, bars: found};
}

export async function fetch_bars() {
	const { from, to, cells } = asked_window();
	const list = on_screen().filter(is_server).slice(0, 1000), wanted = [from, to, cells, plot_words(), on_screen().filter(t => t.kind === "process" || t.kind === "pack").map(t => t.id), list.map(t => t.track + ":" + t.shown), state.records, state.filter].join();
	// asked first: an answer that is still to come, for another window, replaces the bars that are there
	if (asking) { again = true; return; }
	if (wanted === asked) return;
	asking = true;
	try {
		const depths = Math.max(1, ...list.map(t => t.shown));
		const turn = turns, got = await bars(from, to, cells, list.map(t => t.track), depths);
		if (turn === turns) {
			for (const [track, b] of got) state.bars.set(track, b);
			state.ends = ends(state);
			if (await fetch_activities(from, to, cells)) {
				state.tracks = arrange([...state.tracks.filter(t => t.kind !== "activity"), ...activity_tracks()]);
				resize();
			}
			await fetch_plots(from, to, cells);
			await fetch_wakes(state.from, state.to);
			if (await fetch_groups(from, to, cells, on_screen())) resize();
			asked = wanted;
			say(all_wakes ? "" : "more wake-ups than are drawn as arrows: show less time");
			key.update();
		}
	} catch (e) {
		say("no answer: " + e.message + " — is devtrace view still running?");
		setTimeout(() => { asked = ""; fetch_bars(); }, 2000);
	}
	asking = false;
	redraw();
	if (again) { again = false; fetch_bars(); }
}

function say(text) {
	by_id("progress").textContent = text || (state.complete ? count(state.records) + " records" : state.failed || progress());
}

const progress = () => state.live ? count(state.records) + " records" : "reading: " + (state.total ? Math.floor(100 * state.records / state.total) : 0) + " % of " + count(state.total || 0) + " records";

// ---- moving

let timer = 0;

export function show(from, to) {
	const span = Math.max(20, Math.min(to - from, state.length * 1.1)), middle = (from + to) / 2;
	from = Math.max(-0.05 * state.length, Math.min(middle - span / 2, state.length * 1.05 - span));
	state.from = from;
	state.to = from + span;
	redraw();
	fetch_bars();
	panel.moved();
	clearTimeout(timer);
	timer = setTimeout(keep, 300);
}

export function zoom(factor, x = (canvas.clientWidth + left) / 2) {
	const span = state.to - state.from, at = state.from + (x - left) / (canvas.clientWidth - left) * span;
	show(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

export const pan = share => show(state.from + share * (state.to - state.from), state.to + share * (state.to - state.from));

export function fit() {
	if (state.selection && (state.from !== state.selection[0] || state.to !== state.selection[1])) show(...state.selection);
	else show(0, state.length);
}

// Scrolls to a depth of a track, and unfolds it and shows its kind if need be.
export function reveal(track, depth) {
	const t = state.tracks.find(t => t.track === track);
	if (!t) return;
	state.hidden.delete(t.kind);
	unhide(t);
	layout(state);
	if (depth >= t.shown && t.kind === "thread") t.open = true;
	relayout();
	const y = t.y + depth * row, high = scroll.clientHeight;
	if (t.pinned) return;
	if (y < scroll.scrollTop + top || y + 2 * row > scroll.scrollTop + high) scroll.scrollTop = Math.max(0, y - high / 3);
	redraw();
}

export function relayout() {
	resize();
	asked = "";
	fetch_bars();
	keep();
}

// ---- the address holds the view, and the browser's history the ones before it

// What the address said last, without what moves; when that was; until when a view is being taken back, which makes no new one.
const said = {still: null, at: 0, until: 0};
const pause = 1000;	// ms: movements that follow each other sooner are one

// Puts the view into the address: in place of the last one if only the picture has moved since, and not long ago, or while a name is typed.
export function keep() {
	const q = new URLSearchParams({from: Math.round(state.from), to: Math.round(state.to)});
	if (state.selection) q.set("selection", state.selection.map(Math.round).join("-"));
	const open = [...state.tracks.filter(t => t.open).map(t => t.id), ...state.unfolded].sort((a, b) => a - b);
	if (open.length) q.set("open", open.join("."));
	if (by_id("search").value) q.set("search", by_id("search").value);
	if (state.filter) q.set("only", state.filter);
	if (state.hidden.size) q.set("hidden", [...state.hidden].join("."));
	if (state.tab !== "functions" || state.opened) q.set("tab", state.tab);
	for (const m of ["a", "b"]) if (state[m] !== null) q.set(m, state[m]);
	const p = state.picked, of = p && p.count === 1 && (state.tracks.find(t => t.track === p.track) ?? (p.key?.startsWith("thread") ? {kind: "thread", id: Number(p.key.slice(6))} : null));
	if (of && of.kind === "thread") q.set("call", [of.id, p.depth, p.begin, p.end, p.what, p.flags ?? 0].join("-"));
	track_words(q);
	if (question()) q.set("ask", question());
	for (const w of plot_words()) q.append("plot", w);
	for (const m of state.marks) q.append("mark", m.from + "-" + m.to + "-" + m.name);
	const hash = "#" + q, now = performance.now();
	if (hash === location.hash) return;
	for (const key of ["from", "to", "search", "mark"]) q.delete(key);
	const still = q + " " + state.marks.length, moved = still === said.still;
	if (said.still === null || now < said.until || (moved && now - said.at < pause) || document.activeElement?.closest("#table input") || (state.live && live.following())) history.replaceState(null, "", hash);
	else history.pushState(null, "", hash);
	Object.assign(said, {still, at: now});
}

let first_recall = true;

function recall() {
	const q = new URLSearchParams(location.hash.slice(1));
	const from = Number(q.get("from") ?? 0), to = Number(q.get("to") ?? state.length);
	const selection = (q.get("selection") || "").split("-").map(Number);
	const open = (q.get("open") || "").split(".").filter(Boolean).map(Number);
	for (const t of state.tracks) t.open = t.kind === "thread" && open.includes(t.id);
	state.unfolded = new Set(open.filter(id => !state.tracks.some(t => t.kind === "thread" && t.id === id)));
	const call = (q.get("call") || "").split("-").map(Number), of = call.length === 6 && call.every(Number.isSafeInteger);
	// its thread may come later, while the trace is read, or a filter's part of it
	state.picked = of ? {key: "thread" + call[0], track: state.tracks.find(t => t.kind === "thread" && t.id === call[0])?.track ?? -1, depth: call[1], begin: call[2], end: call[3], what: call[4], flags: call[5], count: 1} : null;
	for (const m of ["a", "b"]) state[m] = /^\d+$/.test(q.get(m) ?? "") ? Math.min(state.length, Number(q.get(m))) : null;
	state.selection = selection.length === 2 && selection[1] > selection[0] ? selection : null;
	by_id("search").value = q.get("search") || "";
	if (recall_tracks(q) && !first_recall) load(false);
	first_recall = false;
	recall_plots(q.getAll("plot"));
	recall_sql(q.get("ask") || "");
	state.tracks = arrange([...state.tracks.filter(t => t.kind !== "plot"), ...plot_tracks()]);
	state.hidden = new Set((q.get("hidden") || "").split(".").filter(Boolean));
	state.marks = q.getAll("mark").map(m => m.match(/^(\d+)-(\d+)-(.*)$/)).filter(Boolean).map(m => ({from: +m[1], to: +m[2], name: m[3]}));
	resize();
	if (Number.isFinite(from) && Number.isFinite(to) && to > from) show(from, to); else show(0, state.length);
}

window.addEventListener("hashchange", () => {
	const q = new URLSearchParams(location.hash.slice(1)), only = q.get("only") || "";
	// what is set now is no new step, also when the filter takes a while
	said.until = performance.now() + pause;
	recall();
	measured();
	panel.search();
	panel.open(q.get("tab") || "functions", q.has("tab"));
	redraw();
	if (only !== state.filter) filter_by(only);
});

// ---- the trace

const asked_tracks = () => order.take.size ? {take: [...order.take].join(",")} : {};

function take(trace) {
	take_twins(trace);
	// with another filter, tracks have other numbers
	const key_of = t => t.kind + t.id, held = state.picked && state.tracks.find(t => t.track === state.picked.track);
	if (held) state.picked.key = key_of(held);
	// the threads themselves may not be there yet, or be filtered out, and come back
	for (const t of state.tracks) if (t.open) state.unfolded.add(t.id);
	Object.assign(state, {packed: trace.packed ?? 0, packed_threads: trace.packed_threads ?? 0, ns_per_tick: trace.ns_per_tick, records: trace.live ? trace.total : trace.records, total: trace.total,
		complete: trace.complete, failed: trace.error, live: trace.live, losses: trace.losses, pauses: trace.pauses, held: trace.held || [], unhooked: trace.unhooked || 0, switches: trace.switches, wakers: trace.wakers});
	panel.changed();
	const whole = state.from === 0 && state.to === state.length && (!trace.live || live.following());
	state.length = Math.max(1, trace.length);
	if (whole) state.to = state.length;
	take_hosts(trace.hosts);
	for (const t of trace.tracks) t.name = t.kind === "thread" ? with_host(t.name, t.id) : t.kind === "core" ? core_name(t.name, t.id) : t.name;
	for (const t of trace.threads) t.name = with_host(t.name, t.tid);
	state.tracks = arrange(trace.error ? [] : [...trace.tracks.map(t => ({...t, open: t.kind === "thread" && state.unfolded.delete(t.id)})), ...activity_tracks(), ...plot_tracks(), ...sql_tracks()]);
	// the picked call's thread may be filtered out, and come back
	if (state.picked?.key) state.picked.track = state.tracks.find(t => key_of(t) === state.picked.key)?.track ?? -1;
	for (const p of trace.processes) state.numbers.set(p.pid, p.number);
	for (const p of trace.processes) state.processes.set(p.pid, (p.name.split(" ")[0].split("/").pop() || "process") + " " + p.number);
	for (const t of state.tracks) if (t.kind === "thread") { state.pids.set(t.id, t.pid || t.id); state.threads.set(t.id, t.name); }
	for (const t of trace.threads) { state.pids.set(t.tid, t.pid || t.tid); state.threads.set(t.tid, t.name); }
	state.tracks = arrange(state.tracks);
	by_id("title").textContent = trace.name;
	document.title = trace.name + " – devtrace";
	if (trace.not_kept) by_id("progress").title = "the summary is not kept: " + trace.not_kept;
	say("");
}

async function fetch_map() {
	const cores = state.tracks.filter(t => t.kind === "core"), some = cores.length ? cores : state.tracks.filter(t => t.kind === "thread");
	state.map = await bars(0, state.length, 1000, some.slice(0, 256).map(t => t.track), 1);
	redraw();
}

// ---- what is shown: everything, or what a filter chooses

let turns = 0;	// counts loadings: when the filter is changed, a new one ends the one before
let unopened = false;	// the page was opened with a wrong filter: the first loading is still to come

async function load(first) {
	const turn = ++turns;
	first = first || unopened;
	unopened = false;
	delete document.documentElement.dataset.ready;
	for (;;) {
		try {
			const trace = await json("trace", asked_tracks());
			if (turn !== turns) return;
			wrong("");
			if (trace.error) wrong("nothing is drawn: " + trace.error);
			else doubt(trace);
			take(trace);
			if (first) { json("notes").then(take_notes, () => {}); recall(); measured(); panel.open(state.tab, state.opened || state.tab !== "functions"); panel.search(); }
			else if (state.selection || state.opened || state.tab === "list") panel.select();
			first = false;
			relayout();
			await fetch_map();
		} catch (e) {
			if (turn !== turns) return;
			// a wrong filter in a link: to show everything would mislead, so nothing is shown
			if (e.status === 400 && state.filter) {
				wrong(e.message + "; nothing is shown until the filter is right, or taken away");
				unopened = first;
				state.tracks = [];
				relayout();
				break;
			}
			say("no answer: " + e.message);
		}
		if (state.live) { live.begin(); break; }
		if (state.complete || state.failed) break;
		await new Promise(resolve => setTimeout(resolve, 400));
		if (turn !== turns) return;
	}
	document.documentElement.dataset.ready = "yes";
}

// Called when records have come in a trace that is being recorded.
let fetching = false, more = false;

export async function news() {
	if (fetching) { more = true; return; }
	fetching = true;
	do {
		more = false;
		try {
			take(await json("trace", asked_tracks()));
			resize();
			await fetch_bars();
			await fetch_map();
		} catch (e) {
			say("no answer: " + e.message);
		}
	} while (more);
	fetching = false;
	if (!state.live && !state.complete) load(false);
}

function wrong(text) {
	by_id("wrong").textContent = text;
	by_id("wrong").hidden = !text;
}

// Says what the filter names that there is not, and whether it leaves nothing.
function doubt(trace) {
	if (!state.filter) return;
	const none = of => trace.complete && !trace.tracks.some(t => t.count && (!of || t.kind === of)), what = none() ? "nothing" : trace.calls && none("thread") ? "no call" : "";
	wrong([what && what + " in the trace matches “" + state.filter + "”", ...trace.unmet].filter(Boolean).join("; "));
}

// Sets the filter; a wrong one is reported, and changes nothing.
export async function filter_by(text) {
	by_id("filter").value = text;
	delete document.documentElement.dataset.ready;
	try {
		await json("trace", {filter: text});
	} catch (e) {
		if (e.status === 400) { wrong(e.message); document.documentElement.dataset.ready = "yes"; return; }
	}
	state.filter = text;
	use_filter(text);
	state.bars.clear();
	restore();
	asked = "";
	keep();
	await load(false);
}

document.documentElement.dataset.theme = localStorage.getItem("devtrace.theme") ||
	(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
new ResizeObserver(() => { resize(); asked = ""; fetch_bars(); }).observe(scroll);
scroll.addEventListener("scroll", () => { redraw(); fetch_bars(); });
drawn = input(canvas, map, scroll);
const address = new URLSearchParams(location.hash.slice(1));
state.tab = address.get("tab") || "functions";
state.opened = address.has("tab");
state.filter = address.get("only") || "";
by_id("filter").value = state.filter;
use_filter(state.filter);
panel.begin();
key.begin();
load(true);
