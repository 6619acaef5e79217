// SPDX-License-Identifier: MIT
// Questions in SQL about the trace: rows lead to the picture, an answer becomes a track or a plot, and a question can be kept in the file.
import { state, show, keep, redraw, reveal, retrack } from "./main.js";
import { change_note, json } from "./data.js";
import { Rows } from "./rows.js";
import { go } from "./find.js";
import { take_notes } from "./panel.js";
import { element, takers } from "./tables.js";
import { count, duration, time } from "./text.js";

const first = 0x48000000;	// tracks of answers are numbered from here
const shown = 500;		// rows in the table
const kept = "sql: ";		// what a note begins with that is a question
const example = "SELECT function, thread, begin, duration FROM calls ORDER BY duration DESC LIMIT 20";

let text = "", got = null, asking = 0, running = false, tracks_of = [];	// got: the last answer; tracks_of: {name, bars} of answers

export const question = () => text;
export const recall = q => { text = q; };
// Notes that are questions.
export const is_question = note => note.name.startsWith(kept);

// ---- asking

async function post(args) {
	const answer = await fetch("ask?" + new URLSearchParams(args), {method: "POST"}), said = JSON.parse(await answer.text().catch(() => "{}"));
	if (!answer.ok) throw new Error(said.error || answer.statusText);
	return said.number;
}

// Asks, and waits for the answer; told(seconds) is called meanwhile. null: another question has been asked.
async function ask(sql, told) {
	const me = ++asking, number = await post({sql});
	for (let wait = 20; ; wait = Math.min(500, wait * 1.5)) {
		const answer = await json("asked", {number});
		if (me !== asking) return null;
		if (answer.done) return answer;
		told(answer.seconds);
		await new Promise(resolve => setTimeout(resolve, wait));
	}
}

// ---- what rows mean

const ticks = ns => Math.round(ns / state.ns_per_tick);
const column = name => got.columns.findIndex(c => c.toLowerCase() === name);
const number = v => typeof v === "number" ? v : null;

// Returns the times of a row, in ticks; null: it has none.
function span(row) {
	const at = name => { const i = column(name); return i < 0 ? null : number(row[i]); };
	let begin = at("begin") ?? at("time"), end = at("end");
	if (begin === null) return null;
	if (end === null) end = begin + (at("duration") ?? 0);
	return [ticks(begin), ticks(Math.max(begin, end))];
}

const thread_of = row => { const i = column("thread"), tid = i < 0 ? null : number(row[i]); return tid === null ? null : state.tracks.find(t => t.kind === "thread" && (t.id === tid || t.name.endsWith(" " + tid))) ?? null; };

// Goes to what a row tells of: a call if there is one of its thread that begins then, otherwise its time, or its thread.
async function follow(row, say) {
	const times = span(row), t = thread_of(row), depth = column("depth");
	try {
		if (times && t) {
			const answer = await json("list", {from: Math.max(0, times[0] - 1), to: times[0] + 1, rows: 1000, kinds: 1}), mine = answer.rows.filter(r => r.track === t.track);
			const length = r => Math.abs(r.end - times[1]), call = mine.filter(r => depth < 0 || row[depth] === r.depth).sort((a, b) => length(a) - length(b))[0];
			if (call) { await go(call); return; }
		}
		if (t) reveal(t.track, 0);
		if (times) { const margin = Math.max(20, (times[1] - times[0]) * 0.2); show(times[0] - margin, times[1] + margin); }
		say(times || t ? "" : "this row has no time (begin) and no thread");
	} catch (e) {
		say(e.message);
	}
}

// ---- answers as tracks

const bars_of = (rows, name_of) => rows.map(r => ({times: span(r), name: name_of(r)})).filter(x => x.times).map(x => ({begin: x.times[0], end: x.times[1], name: x.name})).sort((a, b) => a.begin - b.begin);

// A number of each row over time, as plots.js draws it.
class Values {
	constructor(rows, of) {
		this.list = rows.map(r => ({times: span(r), v: number(r[of])})).filter(x => x.times && x.v !== null).sort((a, b) => a.times[0] - b.times[0]).map(x => ({begin: x.times[0], end: Math.max(x.times[0] + 1, x.times[1]), n: 1, min: x.v, max: x.v, mean: x.v}));
		this.n = this.list.length;
		this.depths = this.done = 1;
		this.ns = /^(duration|self|waited|end|begin)$/i.test(got.columns[of]);
		this.begin = Float64Array.from(this.list, x => x.begin);
		this.end = Float64Array.from(this.list, x => x.end);
		this.busy = this.high = this.what = this.count = this.flags = new Float64Array(this.n);
	}
	at(depth, t, near) { return this.list.findIndex(x => x.begin <= t + near && x.end >= t - near); }
	range(from, to) {
		const seen = this.list.filter(c => c.end >= from && c.begin <= to), values = seen.map(c => c.min);
		if (!seen.length) return null;
		const extreme = (f, list) => list.reduce((a, b) => f(a, b), list[0] ?? Infinity);
		return {n: seen.length, min: extreme(Math.min, values), max: extreme(Math.max, values), mean: values.reduce((a, b) => a + b, 0) / seen.length, least: extreme(Math.min, values.filter(v => v > 0))};
	}
}

export const tracks = () => tracks_of.map((x, i) => ({track: first + i, kind: x.plot ? "values" : "answer", id: i, pid: 0, depths: 1, count: x.bars.n, begin: 0, end: state.length, name: x.name}));

// Returns what is written in a bar.
export const words = (bars, i) => bars.list[i].name;

// Returns the lines of the tooltip.
export function describe(track, i) {
	const x = state.bars.get(track.track).list[i], {begin, end} = x, value = x.mean;
	return [track.name, ...(x.name ? [x.name] : []), ...(value === undefined ? [] : [String(value)]), "from " + time(begin * state.ns_per_tick, 1) + ", " + duration((end - begin) * state.ns_per_tick)];
}

function add_track(made) {
	if (tracks_of.length === 8) tracks_of.shift();
	tracks_of.push(made);
	tracks_of.forEach((x, i) => state.bars.set(first + i, x.bars));
	retrack();
}

// The bars of a filter's picture are forgotten when it changes: those of answers stay.
export const restore = () => tracks_of.forEach((x, i) => state.bars.set(first + i, x.bars));

// ---- the tab

const button = (what, title, onclick) => element("button", what, {type: "button", title, onclick});

function cell(row, i) {
	const v = row[i], name = got.columns[i].toLowerCase();
	if (v === null) return "";
	if (typeof v === "number" && /^(begin|end|time|duration|self|waited)$/.test(name)) return /begin|end|time/.test(name) ? time(v, 1) : duration(v);
	return String(v);
}

function answer_rows(into, say) {
	const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody(), timed = column("begin") >= 0 || column("time") >= 0 || column("thread") >= 0;
	for (const c of got.columns) head.append(element("th", c));
	for (const row of got.rows.slice(0, shown)) {
		const tr = body.insertRow();
		got.columns.forEach((c, i) => {
			const td = tr.insertCell(), t = cell(row, i);
			if (timed && !i) td.append(element("button", t || "(nothing)", {type: "button", title: "show it in the picture", onclick: () => follow(row, say)}));
			else td.textContent = t;
		});
	}
	const more = got.rows.length > shown ? "and " + count(got.rows.length - shown) + " more rows in the answer" : "";
	into.replaceChildren(table, more);
}

function tools(bar, say) {
	const words_at = got.columns.map((c, i) => i).filter(i => !/^(begin|end|time|duration|thread|id|parent|depth)$/i.test(got.columns[i])), numbers = got.columns.map((c, i) => i).filter(i => !/^(begin|end|time|thread|process|core|id|parent)$/i.test(got.columns[i]) && got.rows.some(r => typeof r[i] === "number"));
	const has_time = got.rows.some(span), title = text.length > 40 ? text.slice(0, 39) + "…" : text, of = element("select");
	bar.replaceChildren(takers("answer", () => [got.columns, ...got.rows]));
	if (!has_time) { bar.append(" rows with a column begin (in ns) can be drawn"); return; }
	bar.append(" ", button("as a track", "draw the rows as bars", () => { add_track({name: title, bars: new Rows(bars_of(got.rows, r => words_at.map(i => r[i]).filter(v => v !== null).join(" ")))}); say("drawn above the threads"); }));
	if (!numbers.length) return;
	of.setAttribute("aria-label", "Column that is plotted");
	for (const i of numbers) of.append(element("option", got.columns[i], {value: i}));
	bar.append(" ", of, button("as a plot", "draw this column over time", () => { const i = Number(of.value); add_track({name: got.columns[i] + ": " + title, plot: true, bars: new Values(got.rows, i)}); say("drawn above the threads"); }));
}

function kept_rows(into, field, say, run) {
	const t = element("table"), body = t.createTBody();
	for (const note of state.notes.filter(is_question)) {
		const tr = body.insertRow(), sql = note.name.slice(kept.length);
		tr.insertCell().append(button(sql, "ask it", () => { field.value = sql; run(); }));
		tr.insertCell().append(button("remove", "take it out of the file", () => change_note({id: note.id}).then(take_notes, e => say(e.message))));
	}
	into.replaceChildren(...(body.rows.length ? [element("b", "kept in the file"), t] : []));
}

// Called when the file's notes have changed.
let refresh = () => {};
export const notes_changed = () => refresh();

export function show_sql(into, head) {
	head.textContent = "";
	if (into.querySelector("#question")) return;
	const form = element("form"), field = element("textarea", "", {id: "question", rows: 3, value: text || example, spellcheck: false}), told = element("span"), bar = element("p"), rows = element("div"), list = element("div"), say = t => { told.textContent = t; };
	const stop = button("stop", "answer it no further", () => { asking++; running = false; stop.hidden = true; say("ended"); post({sql: ""}).catch(() => {}); });
	field.setAttribute("aria-label", "Question in SQL; Ctrl and Enter asks it");
	told.setAttribute("role", "status");
	stop.hidden = !running;
	const run = async () => {
		text = field.value.trim();
		keep();
		running = true;
		stop.hidden = false;
		say("looking");
		try {
			const answer = await ask(text, s => say("looking: " + s.toFixed(1) + " s"));
			if (!answer) return;
			running = false;
			stop.hidden = true;
			if (!answer.columns) { say(answer.error); return; }
			got = answer;
			say((answer.error ? answer.error + "; " : "") + count(answer.rows.length) + (answer.rows.length === 1 ? " row" : " rows") + (answer.more ? ", and more that are not fetched: add a LIMIT, or use devtrace sql" : ""));
			tools(bar, say);
			answer_rows(rows, say);
		} catch (e) {
			running = false;
			stop.hidden = true;
			say(e.message);
		}
	};
	form.onsubmit = e => { e.preventDefault(); run(); };
	field.onkeydown = e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } };
	form.append(field, element("br"), element("button", "ask", {title: "Ctrl and Enter"}), " ", stop, " ", button("keep in the file", "a note in the trace, for everybody who has it", async () => {
		try { take_notes(await change_note({from: 0, to: 0, text: kept + field.value.trim().replace(/\s+/g, " ")})); say("kept"); } catch (e) { say(e.message); }
	}), " ", told);
	into.replaceChildren(form, bar, rows, list);
	refresh = () => kept_rows(list, field, say, run);
	refresh();
	if (got) { tools(bar, say); answer_rows(rows, say); }
	else if (text) run();
}
