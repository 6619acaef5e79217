// SPDX-License-Identifier: MIT
// Tables of what ran in the selected range, or in the whole trace: by function, thread, process, core, module, event. Sorted, filtered, exported.
import { state, filter_by } from "./main.js";
import { rows as beside_rows, words as beside } from "./beside.js";
import { json } from "./data.js";
import { count, duration } from "./text.js";

const most = 500;	// rows that are shown
const ticks = v => duration(v * state.ns_per_tick), share = v => (100 * v).toFixed(1) + " %", some = v => v ? ticks(v) : "";

// For each table: by which column it is sorted at first, and its columns (key, title, function that makes the text).
export const tables = {
	functions: {by: "total", columns: [["name", "function"], ["calls", "calls", count], ["cut", "cut", count], ["total", "total", ticks], ["self", "self", ticks],
		["mean", "mean", ticks], ["min", "min", ticks], ["p50", "p50", ticks], ["p99", "p99", ticks], ["max", "max", ticks], ["unwound", "unwound", count]]},
	threads: {by: "busy", columns: [["name", "thread"], ["count", "calls", count], ["busy", "in calls", ticks], ["share", "of the range", share]]},
	processes: {by: "busy", columns: [["name", "process"], ["threads", "threads", count], ["count", "calls", count], ["busy", "in calls", ticks], ["share", "of the range", share]]},
	cores: {by: "busy", columns: [["name", "core"], ["count", "runs", count], ["busy", "busy", ticks], ["share", "of the range", share]]},
	modules: {by: "self", columns: [["name", "module"], ["functions", "functions", count], ["calls", "calls", count], ["self", "self", ticks], ["share", "of all self", share]]},
	beside: {by: "more", columns: [["name", "function"], ["calls_a", "calls in A", count], ["calls_b", "in B", count], ["mean_a", "a call in A", some], ["mean_b", "in B", some], ["times", "×", v => v ? v.toPrecision(3) : ""],
		["self_a", "self in A", some], ["self_b", "in B", some], ["more", "more in B", ticks]]},
	events: {by: "count", columns: [["name", "event"], ["count", "count", count], ["rate", "per second", v => v.toPrecision(4)], ["low", "least", String], ["high", "greatest", String]]},
};

const whole_only = new Set(["mean", "min", "p50", "p99", "max"]);	// are known only of calls that end in the range
const times = new Set(["total", "self", "busy", "mean_a", "mean_b", "self_a", "self_b", "more", ...whole_only]);
export const pattern = text => text.replace(/[*?[\]\\]/g, "\\$&");
export const quote = text => /[\s"]/.test(text) ? '"' + text.replaceAll('"', "?") + '"' : text;

let got = null, order = {}, asked = 0, words = "";

// Returns the ticks that are asked about: those selected, or all.
export const range = () => (state.selection || [0, state.length]).map(Math.round);
// Returns what to ask the server for them.
export const query = () => state.selection ? {from: range()[0], to: range()[1]} : {all: 1};

// Puts rows together by a key; sum: which columns are added up.
function grouped(rows, key, sum, first) {
	const groups = new Map();
	for (const r of rows) {
		const k = key(r);
		if (!groups.has(k)) groups.set(k, {...first(r), ...Object.fromEntries(sum.map(c => [c, 0]))});
		for (const c of sum) groups.get(k)[c] += r[c];
	}
	return [...groups.values()];
}

const makers = {
	functions: () => got.functions.map(r => ({...r, word: "function:" + pattern(r.name)})),
	beside: () => beside === null ? [] : beside_rows(got.functions).map(r => ({...r, word: "function:" + pattern(r.name)})),
	threads: of => of("thread").map(r => ({...r, word: "thread:" + r.t.id})),
	processes: of => grouped(of("thread").map(r => ({...r, threads: 1})), r => state.pid_of(r.t.id), ["threads", "count", "busy", "share"],
		r => { const pid = state.pid_of(r.t.id); return {name: state.process_name(pid), word: "process:" + (state.numbers.get(pid) ?? pid)}; }),
	cores: of => of("core").map(r => ({...r, word: "core:" + r.t.id})),
	modules() {
		const all = got.functions.reduce((sum, r) => sum + r.self, 0) || 1;
		return grouped(got.functions.map(r => ({...r, functions: 1})), r => r.module, ["functions", "calls", "self"], r => ({name: r.module || "not known", word: r.module ? "function:" + pattern(r.module) + ":*" : ""})).map(r => ({...r, share: r.self / all}));
	},
	events: (of, span) => ["event", "point", "message"].flatMap(of).map(r => ({...r, low: r.t.kind === "message" ? "" : r.low, high: r.t.kind === "message" ? "" : r.high,
		rate: r.count / (span * state.ns_per_tick * 1e-9), word: r.t.kind === "event" ? "event:" + r.name.replace(".", ":").replace(/^messages /, "message:") : ""})),
};

// Returns the rows of a table as they are sorted and filtered.
function rows_of(tab) {
	const [from, to] = range(), span = Math.max(1, to - from), by = order[tab] ??= {key: tables[tab].by, up: false}, number = v => typeof v === "string" ? Number(v) || 0 : v;
	const tracks = new Map(state.tracks.map(t => [t.track, t]));
	const of = kind => got.tracks.map(r => ({...r, t: tracks.get(r.track), share: r.busy / span})).filter(r => r.t?.kind === kind).map(r => ({...r, name: r.t.name}));
	const rows = makers[tab](of, span), packed = got.tracks.filter(r => !tracks.has(r.track));
	// threads of processes that are packed have no tracks here
	if ((tab === "threads" || tab === "processes") && packed.length) rows.push({name: "threads of packed processes: " + count(packed.length), threads: packed.length, word: "", count: packed.reduce((n, r) => n + r.count, 0), busy: packed.reduce((n, r) => n + r.busy, 0), share: packed.reduce((n, r) => n + r.busy, 0) / span});
	const text = words.toLowerCase();
	return rows.filter(r => r.name.toLowerCase().includes(text))
		.sort((a, b) => (by.up ? 1 : -1) * (by.key === "name" ? a.name.localeCompare(b.name) : number(a[by.key]) - number(b[by.key])) || a.name.localeCompare(b.name));
}

function text_of(row, [key, , form]) {
	if (key === "name") return row.name;
	return whole_only.has(key) && row.timed === 0 ? "" : form(row[key]);
}

// Returns rows of cells as CSV.
export const csv = rows => rows.map(r => r.map(v => /[",\n\r]/.test(v) ? '"' + String(v).replaceAll('"', '""') + '"' : v).join(",")).join("\n") + "\n";

// Returns what the table has, all rows of it, times in ns.
function cells(tab) {
	const columns = tables[tab].columns, ns = v => Math.round(v * state.ns_per_tick);
	return [columns.map(([key, title]) => title + (times.has(key) ? "_ns" : "")), ...rows_of(tab).map(r => columns.map(([key]) => whole_only.has(key) && r.timed === 0 ? "" : times.has(key) ? ns(r[key]) : key === "share" ? r[key].toFixed(6) : r[key]))];
}

export function element(kind, text, attributes = {}) {
	const e = document.createElement(kind);
	if (text) e.textContent = text;
	for (const key in attributes) e[key] = attributes[key];
	return e;
}

export function save(text, name, type) {
	const a = element("a", "", {href: URL.createObjectURL(new Blob([text], {type})), download: document.title.replace(/ – devtrace$/, "") + "-" + name});
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

// Returns the buttons that take a table with them: made() returns its cells.
export function takers(name, made) {
	const told = element("span"), bar = document.createDocumentFragment();
	told.setAttribute("role", "status");
	bar.append(element("button", "CSV", {type: "button", title: "save all rows, times in ns", onclick: () => save(csv(made()), name + ".csv", "text/csv")}),
		element("button", "copy", {type: "button", title: "copy all rows, for a spreadsheet", async onclick() {
			try { await navigator.clipboard.writeText(made().map(r => r.join("\t")).join("\n") + "\n"); told.textContent = "copied"; } catch (e) { told.textContent = "not copied: " + e.message; }
		}}), told);
	return bar;
}

function body_of(tab) {
	const rows = rows_of(tab), body = document.createElement("tbody");
	for (const row of rows.slice(0, most)) {
		const tr = body.insertRow();
		for (const column of tables[tab].columns) {
			const td = tr.insertCell();
			if (column[0] !== "name" || !row.word) { td.textContent = text_of(row, column); continue; }
			td.append(element("button", row.name, {title: "show only this", onclick() {
				// split into words as the filter does it: a space between quotes is part of a word
				const list = state.filter.match(/(?:[^ "]|"[^"]*")+/g) || [], word = quote(row.word);
				filter_by((list.includes(word) ? list.filter(w => w !== word) : [...list, word]).join(" "));
			}}));
		}
	}
	return {body, rows};
}

function draw(into, tab) {
	const t = document.createElement("table"), head = t.createTHead().insertRow(), by = order[tab] ??= {key: tables[tab].by, up: false}, rest = element("div");
	const fill = () => {
		const {body, rows} = body_of(tab);
		t.tBodies[0]?.remove();
		t.append(body);
		rest.textContent = rows.length > most ? "and " + count(rows.length - most) + " more" : rows.length ? "" : words ? "nothing has that in its name" : "none in this range";
		for (const b of head.querySelectorAll("button")) {
			const mine = b.dataset.column === by.key;
			b.textContent = b.dataset.title + (mine ? (by.up ? " ▴" : " ▾") : "");
			b.parentNode.setAttribute("aria-sort", mine ? (by.up ? "ascending" : "descending") : "none");
		}
	};
	for (const [key, title] of tables[tab].columns) {
		const th = document.createElement("th"), b = element("button", title, {onclick() { by.up = key === by.key ? !by.up : key === "name"; by.key = key; fill(); }});
		b.dataset.column = key;
		b.dataset.title = title;
		th.append(b);
		head.append(th);
	}
	const bar = element("p"), field = element("input", "", {type: "search", value: words, placeholder: "rows with…", oninput() { words = field.value; fill(); }});
	field.setAttribute("aria-label", "Show only rows that have this in their name");
	bar.append(field, takers(tab, () => cells(tab)));
	fill();
	into.replaceChildren(bar, t, rest);
}

// Fetches what ran in the range; null: another request has begun meanwhile.
export async function fetch_range(more = {}) {
	const me = ++asked, key = JSON.stringify([query(), more, state.filter]);
	if (got && got.key === key) return got;
	const answer = await json("range", {...query(), ...more});
	if (me !== asked) return null;
	// of a trace that still grows nothing is kept
	return got = {...answer, key: state.complete ? key : ""};
}

export async function show_table(into, tab) {
	if (!await fetch_range() || state.tab !== tab) return;
	draw(into, tab);
}
