// SPDX-License-Identifier: MIT
// Search: functions by a part of their names, their calls in the whole trace one after the other, and tracks of that name.
import { state, show, redraw, keep, filter_by, reveal, take_process } from "./main.js";
import { json } from "./data.js";
import { rows_table } from "./list.js";
import { element, pattern, quote } from "./tables.js";
import { count, time } from "./text.js";

const by_id = id => document.getElementById(id);
const step_rows = 100, most = 200;	// calls that are fetched at once; functions, tracks that are listed

let hits = null;	// the last answer: {text, filter, calls, matching, functions, others, left}
let left_out_rows = null;	// fetches the functions that were chosen and not hooked

const text_of = () => by_id("search").value.trim();
const say = text => { by_id("found").textContent = text; };
const some = (n, what) => count(n) + " " + what + (n === 1 ? "" : "s");

// What has the text in its name, and is no function.
function others(text) {
	const has = name => name.toLowerCase().includes(text.toLowerCase()), seen = new Set(), out = [];
	for (const t of state.tracks) {
		if (has(t.name)) out.push({kind: t.kind === "point" ? "tracepoint" : t.kind, name: t.name, track: t.track});
		const pid = t.kind === "thread" ? t.pid : 0;
		if (pid && !seen.has(pid) && seen.add(pid) && has(state.process_name(pid))) out.push({kind: "process", name: state.process_name(pid), track: t.track});
	}
	for (const m of [...state.notes, ...state.marks]) if (has(m.name)) out.push({kind: "note", name: m.name, from: m.from, to: m.to});
	return out;
}

// Says what there is of the text.
function summary(h) {
	const parts = [];
	if (h.matching) parts.push(some(h.calls, "call") + " of " + some(h.matching, "function") + (h.partly ? " so far" : ""));
	if (h.others.length) parts.push(some(h.others.length, "other name"));
	if (h.left) parts.push(count(h.left) + " not hooked");
	return parts.join(", ") || "nothing has that in its name";
}

// Fetches the functions and how many calls of them there are; null: another text has been typed meanwhile.
async function fetch_hits() {
	const text = text_of(), filter = state.filter;
	if (hits && hits.text === text && hits.filter === filter && hits.records === state.records) return hits;
	const got = await json("hits", {text}), {rows} = await left_out_rows();
	if (text !== text_of() || filter !== state.filter) return null;
	return hits = {...got, text, filter, records: state.records, others: others(text), left: rows.filter(([name]) => name.toLowerCase().includes(text.toLowerCase())).length};
}

// Marks what was found in the picture, and tells how much it is.
export async function search(left_out, refresh) {
	left_out_rows = left_out;
	const text = text_of();
	if (!text) {
		state.found = new Set();
		hits = null;
		say("");
		redraw();
		refresh();
		return;
	}
	try {
		const h = await fetch_hits();
		if (!h) return;
		state.found = new Set(h.functions.map(([id]) => id));
		if (!state.found.size) state.found.add(-1);	// nothing was found: everything is dimmed
		say(summary(h));
		refresh();
	} catch (e) {
		say(e.message);
	}
	redraw();
}

// ---- one after the other

const place = p => [p.begin, p.track, p.depth];
const order = (a, b) => { const [x, y] = [place(a), place(b)]; for (let i = 0; i < 3; i++) if (x[i] !== y[i]) return x[i] - y[i]; return 0; };

// Fetches the first call found after (before) a place; null: there is none.
async function fetch_next(text, from, back) {
	let at = from ? from.begin : back ? state.length : 0;
	while (at !== undefined && text === text_of()) {
		const answer = await json("find", {text, from: Math.round(at), rows: 2, back: back ? 1 : 0});
		const row = answer.rows.find(r => !from || (back ? order(r, from) < 0 : order(r, from) > 0));
		if (row) return row;
		at = answer.next;
		if (at !== undefined) say("looking: " + time(at * state.ns_per_tick, 1000));
	}
	return null;
}

// Picks a call, and moves the picture so that it is seen: nearer if it would be a speck, further away if it does not fit.
export async function go(row) {
	if (!state.tracks.some(t => t.track === row.track)) await take_process(row.pid);
	state.picked = {track: row.track, depth: row.depth, begin: row.begin, end: row.end, what: row.what, flags: row.flags, count: 1};
	reveal(row.track, row.depth);
	const length = Math.max(1, row.end - row.begin), at = (row.begin + row.end) / 2;
	let span = state.to - state.from;
	if (length < span / 40 || length > span) span = Math.max(40, 4 * length);
	if (span !== state.to - state.from || row.begin < state.from || row.end > state.to) show(at - span / 2, at + span / 2); else redraw();
	keep();
}

let stepping = false, ended = null;	// ended: the direction in which there was no more

// Goes to the next call that was found, or the one before; behind the last one, once more begins again.
export async function step(forward) {
	const text = text_of();
	if (!text || stepping) return;
	stepping = true;
	try {
		const h = await fetch_hits();
		if (!h) return;
		if (!h.calls) {
			const t = h.others.find(t => t.track !== undefined);
			if (t) reveal(t.track, 0);
			say(h.others.length || h.left ? summary(h) : h.matching ? "no call of " + some(h.matching, "function") + (state.filter ? " is shown" : " is in the trace") : "nothing has that in its name");
			return;
		}
		const p = state.picked && state.picked.track >= 0 ? state.picked : {begin: Math.max(0, Math.min(state.length, forward ? state.from : state.to)), track: forward ? -1 : Infinity, depth: -1};
		const row = await fetch_next(text, ended === forward ? null : p, !forward);
		if (text !== text_of()) return;
		if (!row) { ended = forward; say("no " + (forward ? "later" : "earlier") + " one; once more: from the " + (forward ? "begin" : "end")); return; }
		ended = null;
		await go(row);
		say(summary(h) + "; at " + time(row.begin * state.ns_per_tick, 1));
	} catch (e) {
		say(e.message);
	} finally {
		stepping = false;
	}
}

// ---- the list of all

function function_rows(h) {
	const t = element("table"), body = t.createTBody(), head = t.createTHead().insertRow();
	for (const title of ["function", "calls"]) head.append(element("th", title));
	for (const [, calls, name] of h.functions.slice(0, most)) {
		const tr = body.insertRow();
		tr.insertCell().append(element("button", name, {type: "button", title: "show only this", onclick: () => filter_by(quote("function:" + pattern(name)))}));
		tr.insertCell().textContent = count(calls);
	}
	return [t, h.matching > Math.min(most, h.functions.length) ? "and " + count(h.matching - Math.min(most, h.functions.length)) + " more functions" : ""];
}

function other_rows(h) {
	if (!h.others.length) return [];
	const t = element("table"), body = t.createTBody();
	for (const o of h.others.slice(0, most)) {
		const tr = body.insertRow();
		tr.insertCell().append(element("button", o.name, {type: "button", title: "show it", onclick: () => { if (o.track === undefined) show(o.from, o.to); else reveal(o.track, 0); }}));
		tr.insertCell().textContent = o.kind;
	}
	return [t, h.others.length > most ? "and " + count(h.others.length - most) + " more" : ""];
}

let asked = 0;

// Shows what was found: functions, other names, and the calls from the picture's begin on.
export async function show_found(into, head, left_out) {
	left_out_rows = left_out;
	const me = ++asked, text = text_of();
	if (!text) { head.textContent = ""; into.replaceChildren("type a part of a name into the field at the top ( / )"); return; }
	const h = await fetch_hits();
	if (!h || me !== asked || state.tab !== "found") return;
	head.textContent = "“" + text + "”: " + summary(h);
	const calls = element("div"), lists = [...function_rows(h), ...other_rows(h)];
	into.replaceChildren(...lists, calls);
	if (!h.calls) { if (h.matching) calls.append(state.filter ? "no call of them is shown: the filter leaves them out" : "none of them was called in the trace"); return; }
	let next = state.from <= 0 ? 0 : Math.floor(state.from), rows = null;
	const more = element("button", "more", {type: "button", id: "more"}), from = next;
	const first = element("button", "from the begin of the trace", {type: "button", hidden: !from, onclick: () => { next = 0; fill(true); first.hidden = true; }});
	const fill = async anew => {
		try {
			const answer = await json("find", {text, from: next, rows: step_rows});
			if (me !== asked || state.tab !== "found") return;
			next = answer.next ?? null;
			more.hidden = next === null;
			if (anew || !rows) { rows = rows_table(answer.rows, go); calls.replaceChildren(first, rows.table, more); } else rows.add(answer.rows);
			if (!rows.length) calls.prepend("no later one; ");
			if (!answer.rows.length && next !== null) await fill(false);
		} catch (e) {
			calls.append(e.message);
		}
	};
	more.onclick = () => fill(false);
	await fill(true);
}
