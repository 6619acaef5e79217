// SPDX-License-Identifier: MIT
// The critical path of the picked call, or of the selected time: drawn over the threads, and as a list.
import { state, show, redraw } from "./main.js";
import { json } from "./data.js";
import { row, top, y_in } from "./draw.js";
import { element, takers } from "./tables.js";
import { count, duration, time } from "./text.js";

const most = 500;	// rows in a table
const links = {waits: "then waits for ", woke: "wakes ", made: "makes ", sent: "sends a message to ", stream: "sends data to ", lock: "lets go the lock for ", pipe: "reads or writes the pipe for ", ended: "ends, for "};
let got = null, asked = "";

// Returns what the path is wanted of: {from, to} in ticks, [thread]; null: nothing is picked or selected.
export function wanted() {
	const p = state.picked, t = p && state.tracks.find(t => t.track === p.track && t.kind === "thread");
	if (state.selection) return {from: Math.round(state.selection[0]), to: Math.round(state.selection[1]), ...(t ? {thread: t.id} : {})};
	return t && p.count === 1 ? {from: p.begin, to: p.end, thread: t.id} : null;
}

// Returns the stays: pieces of one thread that follow one another, as {from, to, thread, level, then, what: Map of words to ticks}.
export function stays(pieces) {
	const out = [];
	for (const [begin, end, thread, , level, then, words] of pieces) {
		let s = out.at(-1);
		if (!s || s.thread !== thread || s.level !== level) out.push(s = {from: begin, to: end, thread, level, then, what: new Map()});
		s.to = end;
		s.then = then;
		s.what.set(words, (s.what.get(words) ?? 0) + end - begin);
	}
	return out;
}

const ticks = v => duration(v * state.ns_per_tick);
const stay_words = s => [...s.what].sort((a, b) => b[1] - a[1]).map(([what, t]) => s.what.size > 1 ? what + " " + ticks(t) : what).join(", ");

function table(caption, columns, rows) {
	const t = element("table"), head = t.createTHead().insertRow(), body = t.createTBody();
	t.createCaption().textContent = caption;
	for (const title of columns) { head.append(element("th", title, {scope: "col", className: "left"})); }
	for (const cells of rows.slice(0, most)) {
		const tr = body.insertRow();
		for (const cell of cells) {
			const td = tr.insertCell();
			if (typeof cell === "string") { td.textContent = cell; td.className = "left text"; } else td.append(cell);
		}
	}
	return t;
}

// Shows a stay; the path stays as it is.
function look(s) {
	const margin = Math.max(20, (s.to - s.from) * 0.3);
	show(s.from - margin, s.to + margin);
}

function fill(into, said) {
	const list = stays(got.pieces), all = got.to - got.from, cut = got.all - got.pieces.length;
	said.replaceChildren("the critical path of " + state.thread_name(got.thread) + ", " + ticks(all) + " from " + time(got.from * state.ns_per_tick, 1) + " on: what it did, and what those did meanwhile that it waited for" +
		(cut ? "; the last " + count(cut) + " pieces are not here: devtrace path has them" : "") + (got.streams ? "" : "; connections were not looked at, since the trace is long: devtrace path does") + " ",
	takers("path", () => [["from_ns", "time_ns", "thread", "kind", "level", "then", "what"], ...got.pieces.map(([b, e, t, kind, level, then, what]) => [Math.round(b * state.ns_per_tick), Math.round((e - b) * state.ns_per_tick), t, kind, level, then, what])]));
	const where = s => element("button", ticks(s.from - got.from), {type: "button", title: "show it in the picture", onclick: () => look(s)});
	const rows = list.map((s, i) => [where(s), ticks(s.to - s.from), "\u00a0".repeat(4 * Math.min(s.level, 10)) + state.thread_name(s.thread), stay_words(s), list[i + 1] && links[s.then] ? links[s.then] + state.thread_name(list[i + 1].thread) : ""]);
	const sums = got.sums.map(([who, what, t]) => [ticks(t), (100 * t / Math.max(1, all)).toFixed(1) + " %", who, what]);
	into.replaceChildren(table("Where the time went", ["time", "share", "thread", "what"], sums), table("The path", ["after", "time", "thread", "what", "then"], rows));
	for (const [n, what] of [[sums.length, "sums"], [rows.length, "stays"]])
		if (n > most) into.append(element("p", "and " + count(n - most) + " more " + what));
}

// Loads the path, and shows it. still() returns whether it is still wanted.
export async function show_path(into, said, still) {
	const what = wanted();
	said.textContent = "";
	if (!what) {
		got = null;
		asked = "";
		into.replaceChildren("click on a call, or select a time: its critical path is shown, where the time went over all threads");
		return redraw();
	}
	const key = JSON.stringify([what, state.records]);
	try {
		if (key !== asked || !got) {
			const answer = await json("path", what);
			if (!still() || JSON.stringify([wanted(), state.records]) !== key) return;
			got = answer;
			asked = key;
		}
		fill(into, said);
	} catch (e) {
		got = null;
		if (still()) into.textContent = e.message;
	}
	redraw();
}

// Draws it over the threads while its tab is open: a line along each thread, thick where it ran, and lines from one to the other.
export let drawn = [];
export function draw_path(c, x_of, scroll, width, height, style) {
	drawn = [];
	if (state.tab !== "path" || !got) return;
	const of = new Map(state.tracks.filter(t => t.kind === "thread" && (!t.hidden || (t.tucked && t.head && !t.head.hidden))).map(t => [t.id, t]));
	let last = null;
	c.save();
	for (const [begin, end, thread, kind] of got.pieces) {
		const t = of.get(thread), a = x_of(begin), b = x_of(end), y = t && y_in(t, scroll) + row - 3;
		if (b < 0) { last = t ? y : null; continue; }
		if (a > width) break;
		c.strokeStyle = c.fillStyle = kind === "ran" ? style.mark : style.fore;
		if (t && last !== null && last !== y) { c.lineWidth = 2; c.strokeStyle = style.mark; c.beginPath(); c.moveTo(a, last); c.lineTo(a, y); c.stroke(); }
		last = t ? y : null;
		if (!t || y < top || y > height) continue;
		c.fillRect(Math.max(a, 0), kind === "ran" ? y - 2 : y - 0.5, Math.max(1, Math.min(b, width) - Math.max(a, 0)), kind === "ran" ? 4 : 1);
		drawn.push([thread, kind, a, b, y]);
	}
	c.restore();
}
