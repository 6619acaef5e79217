// SPDX-License-Identifier: MIT
// The panel below the picture: tables of the selected range, the list, bookmarks; and the search.
import { state, show, redraw, keep, filter_by } from "./main.js";
import { words as beside } from "./beside.js";
import { change_note, json } from "./data.js";
import { search as find, show_found, step } from "./find.js";
import { show_heat } from "./heat.js";
import { list } from "./list.js";
import { show_path } from "./path.js";
import { show_plots } from "./plots.js";
import { is_question, notes_changed, show_sql } from "./sql.js";
import { show_table } from "./tables.js";
import { show_ways } from "./ways.js";
import { show_tracks } from "./tracks.js";
import { why } from "./why.js";
import { count, duration, time } from "./text.js";

const by_id = id => document.getElementById(id);
const most = 500;	// rows in a table

// The tabs, and their titles; those that show_ways() draws.
const tabs = {functions: "functions", beside: "A and B", threads: "threads", processes: "processes", cores: "cores", modules: "modules", events: "events", flame: "flame", down: "top-down", up: "bottom-up", heat: "heat map", plots: "plots", tracks: "tracks", sql: "SQL",
	list: "list", found: "found", call: "call", path: "path", marks: "bookmarks", unhooked: "not hooked"};
const ways = new Set(["flame", "down", "up"]);

let asked = 0;

// ---- bookmarks, in the address, and notes, in the file

const button = (text, what, title) => Object.assign(document.createElement("button"), {type: "button", textContent: text, onclick: what, title});

// Changes a note, and shows what the file has then; what is wrong is told.
async function change(args, then = () => {}) {
	try {
		const got = await change_note(args);
		then();
		take_notes(got);
	} catch (e) {
		by_id("range").textContent = e.message;
	}
}

// Takes the notes that the server has told.
export function take_notes(list) {
	state.notes = list.map(n => ({id: n.id, from: n.begin, to: n.end, name: n.text}));
	if (state.tab === "marks") marks();
	notes_changed();
	redraw();
}

function mark_row(body, mark) {
	const tr = body.insertRow(), field = document.createElement("input"), kept = mark.id !== undefined, gone = () => { state.marks = state.marks.filter(m => m !== mark); };
	field.value = mark.name;
	field.maxLength = 250;
	field.setAttribute("aria-label", kept ? "Text of the note" : "Name of the bookmark");
	if (kept) field.onchange = () => change({id: mark.id, from: mark.from, to: mark.to, text: field.value});
	else field.oninput = () => { mark.name = field.value; redraw(); keep(); };
	tr.insertCell().append(button(time(mark.from * state.ns_per_tick, 1) + " to " + time(mark.to * state.ns_per_tick, 1), () => show(mark.from, mark.to), "show it"));
	tr.insertCell().append(field);
	tr.insertCell().append(button("remove", () => { if (kept) { change({id: mark.id}); return; } gone(); marks(); redraw(); keep(); }));
	if (kept) tr.insertCell().textContent = "in the file";
	else tr.insertCell().append(button("keep in the file", () => change({from: mark.from, to: mark.to, text: mark.name}, () => { gone(); keep(); }), "a note in the trace, for everybody who has it"));
}

function marks() {
	const t = document.createElement("table"), body = t.createTBody();
	for (const mark of [...state.notes.filter(n => !is_question(n)), ...state.marks]) mark_row(body, mark);
	by_id("range").textContent = "";
	by_id("table").replaceChildren(body.rows.length ? t : "B keeps what is shown, or selected");
}

function bookmark() {
	// an address holds only times inside the trace
	const [from, to] = (state.selection || [state.from, state.to]).map(t => Math.max(0, Math.min(state.length, t)));
	state.marks.push({from: Math.round(from), to: Math.round(to), name: "mark " + (state.marks.length + 1)});
	open("marks");
	redraw();
	keep();
}

// ---- what was chosen and could not be hooked

let left_out = null;	// {rows: [name, module, reason, callers], all}

async function left_out_rows() {
	if (!state.unhooked) return {rows: [], all: 0};
	if (!left_out || left_out.all !== state.unhooked) left_out = await json("unhooked");
	return left_out;
}

async function unhooked() {
	by_id("range").textContent = "chosen, and could not be hooked: their time is their callers' own";
	try {
		const {rows, all} = await left_out_rows();
		if (state.tab !== "unhooked") return;
		const t = document.createElement("table"), head = t.createTHead().insertRow(), body = t.createTBody();
		for (const title of ["function", "module", "why", "called by"]) {
			const th = document.createElement("th");
			th.textContent = title;
			th.className = "left";
			head.append(th);
		}
		for (const row of rows.slice(0, most)) {
			const tr = body.insertRow();
			for (const text of row) { const td = tr.insertCell(); td.textContent = text; td.className = "left text"; }
		}
		by_id("table").replaceChildren(t);
		if (all > Math.min(rows.length, most)) by_id("table").append("and " + count(all - Math.min(rows.length, most)) + " more");
	} catch (e) {
		by_id("table").textContent = e.message;
	}
}

// Hides the tab of functions that were not hooked if there are none.
function changed() {
	const tab = name => [...by_id("tabs").children].find(b => b.dataset.tab === name), b = tab("unhooked");
	tab("beside").hidden = beside === null;
	tab("path").hidden = !state.switches;
	b.hidden = !state.unhooked;
	b.textContent = tabs.unhooked + (state.unhooked ? " (" + count(state.unhooked) + ")" : "");
}

// ---- tabs

// Opens a tab. opened: it stays open when nothing is selected, and then is about the whole trace.
function open(tab, opened = tab !== "functions") {
	if (!tabs[tab] || (tab === "path" && !state.switches) || (tab === "unhooked" && !state.unhooked) || (tab === "beside" && beside === null)) { tab = "functions"; opened = false; }
	state.tab = tab;
	state.opened = opened;
	by_click = false;
	for (const b of by_id("tabs").children) b.setAttribute("aria-selected", String(b.dataset.tab === tab));
	select();
	keep();
}

async function select() {
	const range = state.selection, into = by_id("table"), me = ++asked;
	if (into.dataset.of !== state.tab) into.replaceChildren();
	into.dataset.of = state.tab;
	if (state.tab === "marks") return marks();
	if (state.tab === "unhooked") return unhooked();
	if (state.tab === "call") {
		by_id("range").textContent = "";
		return why.load(by_id("table"), () => state.tab === "call");
	}
	if (state.tab === "path") return show_path(into, by_id("range"), () => state.tab === "path");
	if (state.tab === "sql") return show_sql(into, by_id("range"));
	if (state.tab === "tracks") return show_tracks(into, by_id("range"));
	if (state.tab === "plots") return show_plots(into, by_id("range"));
	if (state.tab === "found") return show_found(into, by_id("range"), left_out_rows).catch(e => { into.textContent = e.message; });
	if (state.tab === "list") return list.load(by_id("table"), by_id("range"), state.picked ? state.picked.begin : range ? range[0] : Math.max(0, state.from));
	if (!range && !state.opened) {
		by_id("range").textContent = "";
		by_id("table").replaceChildren();
		return;
	}
	const ns = state.ns_per_tick, [from, to] = range || [0, state.length];
	by_id("range").replaceChildren((range ? duration((to - from) * ns, 6) + ", from " + time(from * ns, 1) + " to " + time(to * ns, 1) + ": what runs across its edges counts by its part (cut); mean to max are of whole calls that end in it"
		: "the whole trace, " + duration(to * ns, 6)) + (state.complete ? "" : "; the trace is still being read"));
	try {
		await (state.tab === "heat" ? show_heat(into) : ways.has(state.tab) ? show_ways(into, state.tab) : show_table(into, state.tab));
	} catch (e) {
		if (me === asked) into.textContent = e.message;
	}
}

// Called when a call was picked in the picture. The panel is opened a little later: a second click may follow, at the same place.
let waiting_call = 0, by_click = false;	// by_click: a click has opened it, not the user

function picked(bar) {
	if (bar) moved(bar);
	keep();
	clearTimeout(waiting_call);
	if (state.tab === "path") return select();
	if (state.tab === "call" || (bar && bar.count === 1 && !state.selection && state.tab === "functions" && state.tracks.find(t => t.track === bar.track)?.kind === "thread"))
		waiting_call = setTimeout(() => {
			if (!state.picked || (state.tab !== "call" && state.tab !== "functions")) return;
			const was = by_click || state.tab === "functions";
			open("call");
			by_click = was;
		}, 400);
}

// Called when a range was selected, or nothing is any more: the panel that a click has opened gives way to the table.
function selected() {
	clearTimeout(waiting_call);
	if (state.tab === "call" && by_click) open("functions"); else select();
}

// Called when the picture has moved, or something was picked in it: reloads the list, a little later.
let waiting_list = 0;

function moved(picked) {
	if (state.tab !== "list") return;
	clearTimeout(waiting_list);
	waiting_list = setTimeout(() => {
		if (state.tab === "list") list.load(by_id("table"), by_id("range"), picked ? picked.begin : Math.max(0, state.from));
	}, 200);
}

// ---- search

let waiting = 0;

const search = () => find(left_out_rows, () => { if (state.tab === "found") select(); });

function begin() {
	const field = by_id("search");
	field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });
	field.addEventListener("keydown", e => {
		if (e.key === "Enter") { clearTimeout(waiting); search().then(() => step(!e.shiftKey)); }
		if (e.key === "Escape") { field.value = ""; search(); field.blur(); }
	});
	by_id("next").onclick = () => step(true);
	by_id("previous").onclick = () => step(false);
	const only = by_id("filter");
	only.addEventListener("keydown", e => {
		if (e.key === "Enter") filter_by(only.value.trim());
		if (e.key === "Escape") { only.value = ""; filter_by(""); only.blur(); }
	});
	only.addEventListener("search", () => { if (!only.value) filter_by(""); });
	for (const tab in tabs) {
		const b = document.createElement("button");
		b.textContent = tabs[tab];
		b.dataset.tab = tab;
		b.setAttribute("role", "tab");
		b.setAttribute("aria-selected", String(tab === state.tab));
		b.onclick = () => { const shut = state.tab === tab && state.opened && !state.selection; open(shut ? "functions" : tab, !shut); };
		by_id("tabs").append(b);
	}
}

export const panel = {begin, changed, select, search, open, moved, picked, selected, bookmark};
