// SPDX-License-Identifier: MIT
// The list of what begins from a time on, one by one. Picking a row moves the picture, and moving the picture reloads the list.
import { state, show, redraw, keep, take_process } from "./main.js";
import { json } from "./data.js";
import { duration, time } from "./text.js";

const step = 200;
let rows = [], next = null, start = 0, asked = 0, shown = null, note = "";

const by_kind = {core: 2, thread: 1, event: 4, point: 8, message: 16};

function kinds() {
	let bits = 0;
	for (const kind in by_kind) if (!state.hidden.has(kind)) bits |= by_kind[kind];
	return bits;
}

const track_of = row => state.tracks.find(t => t.track === row.track) ?? (row.thread === undefined ? undefined : {kind: "thread", track: row.track, name: state.thread_name(row.thread)});
const same = (row, p) => p && row.track === p.track && row.begin === p.begin && row.end === p.end && row.depth === p.depth;

function where(t, row) {
	return t.kind === "message" ? state.thread_name(row.what) + " → " + state.thread_name(row.receiver)
		: t.kind === "event" || t.kind === "point" || t.kind === "core" ? state.thread_name(row.what) : t.name;
}

async function pick(row, tr) {
	if (row.pid !== undefined && !state.tracks.some(t => t.track === row.track)) await take_process(row.pid);
	state.picked = {track: row.track, depth: row.depth, begin: row.begin, end: row.end, what: row.what, flags: row.flags, count: 1};
	for (const e of shown.querySelectorAll("[aria-selected]")) e.removeAttribute("aria-selected");
	tr.setAttribute("aria-selected", "true");
	const span = Math.max(state.to - state.from, (row.end - row.begin) * 1.1);
	if (row.begin < state.from || row.end > state.to) { const at = (row.begin + row.end) / 2; list.still = true; show(at - span / 2, at + span / 2); }
	redraw();
	keep();
}

function add(tbody, some, picks = pick) {
	for (const row of some) {
		const tr = tbody.insertRow(), t = track_of(row);
		if (!t) continue;
		const cells = [time(row.begin * state.ns_per_tick, 1), row.end > row.begin ? duration((row.busy ?? row.end - row.begin) * state.ns_per_tick) : "",
			t.kind === "core" ? t.name : where(t, row), t.kind === "core" ? where(t, row) + " runs" : row.text + (row.value !== undefined ? " " + row.value : "")];
		cells.forEach((text, i) => { const td = tr.insertCell(); td.textContent = text; if (i > 1) td.className = i === 3 ? "left text" : "left"; });
		tr.tabIndex = 0;
		tr.dataset.begin = row.begin;
		if (same(row, state.picked)) tr.setAttribute("aria-selected", "true");
		tr.onclick = () => picks(row, tr);
		tr.onkeydown = e => { if (e.key === "Enter") picks(row, tr); };
	}
}

function empty() {
	const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
	for (const [i, title] of ["begins at", "takes", "where", "what"].entries()) {
		const th = document.createElement("th");
		th.textContent = title;
		if (i > 1) th.className = "left";
		head.append(th);
	}
	return {table, body};
}

// Returns a table of rows that others have fetched, to which more can be added; picks(row): what a click does.
export function rows_table(some, picks) {
	const {table, body} = empty(), mine = (row, tr) => {
		for (const e of body.querySelectorAll("[aria-selected]")) e.removeAttribute("aria-selected");
		tr.setAttribute("aria-selected", "true");
		picks(row);
	};
	add(body, some, mine);
	return {table, add: more => add(body, more, mine), get length() { return body.rows.length; }};
}

function draw(where_to) {
	const {table, body} = empty();
	add(body, rows);
	shown = body;
	const more = document.createElement("button");
	more.id = "more";
	more.textContent = "more";
	more.hidden = next === null;
	more.onclick = () => fetch_more(body, more);
	where_to.replaceChildren(table, note, more);
	const chosen = body.querySelector("[aria-selected]");
	if (chosen) chosen.scrollIntoView({block: "nearest"});
}

// Fetches at least half of `step' rows, or all up to the end, however long it takes to find them; null: another request has begun meanwhile.
async function fetch_some(from, me) {
	const got = [];
	let at = from;
	while (at !== null && at <= state.length && got.length < step / 2) {
		const answer = await json("list", {from: Math.max(0, Math.floor(at)), to: Math.ceil(state.length), rows: step, kinds: kinds()});
		if (me !== asked) return null;
		got.push(...answer.rows);
		at = answer.next ?? null;
		if (!got.length && at !== null) document.getElementById("range").textContent = "looking: " + time(at * state.ns_per_tick, 1000);
	}
	return {got, at};
}

async function fetch_more(body, more) {
	const answer = await fetch_some(next, ++asked);
	if (!answer) return;
	rows.push(...answer.got);
	next = answer.at;
	add(body, answer.got);
	more.hidden = next === null;
}

export const list = {
	still: false,	// the next movement of the picture comes from the list, and does not reload it
	// Loads the list from a time on, after the picture has moved or a call was picked in it.
	async load(place, head, from) {
		if (list.still) { list.still = false; return; }
		const me = ++asked;
		start = from;
		try {
			const answer = await fetch_some(start, me);
			if (!answer || state.tab !== "list") return;
			rows = answer.got;
			next = answer.at;
			note = rows.length ? "" : "nothing begins here or later";
			head.textContent = rows.length ? "what begins at " + time(start * state.ns_per_tick, 1) + " or later" : "";
			draw(place);
		} catch (e) {
			place.textContent = e.message;
		}
	},
};
