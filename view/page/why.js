// SPDX-License-Identifier: MIT
// The panel of the picked call: what it is, its place among all calls of its function, and where it differs from the median one.
import { state, show, redraw, keep } from "./main.js";
import { json, name, named, place } from "./data.js";
import { panel } from "./panel.js";
import { count, duration, marks, time } from "./text.js";

const ns = "http://www.w3.org/2000/svg", wide = 480, high = 60;
const took = v => duration(v * state.ns_per_tick);
const difference = v => (v > 0 ? "+" : "") + took(v);
let asked = 0, shown = null;

function element(kind, text, cls) {
	const e = document.createElement(kind);
	if (text) e.textContent = text;
	if (cls) e.className = cls;
	return e;
}

function button(text, what, title) {
	const b = element("button", text);
	b.type = "button";
	b.onclick = what;
	if (title) b.title = title;
	return b;
}

// Picks a call and shows it, with as much time around it.
export function go(call) {
	state.picked = {track: call.track, depth: call.depth, begin: call.begin, end: call.end, what: call.what, flags: call.flags ?? 0, count: 1};
	const span = Math.max(20, (call.end - call.begin) * 1.5), at = (call.begin + call.end) / 2;
	show(at - span / 2, at + span / 2);
	redraw();
}

// Returns the rows of the comparison, the greatest difference first: {what, calls: [this, median], ticks: [...], waited: [...]}.
export function compare(call, median) {
	const rows = new Map();
	const row = what => { if (!rows.has(what)) rows.set(what, {what, calls: [0, 0], ticks: [0, 0], waited: [0, 0]}); return rows.get(what); };
	[call, median].forEach((c, i) => {
		const own = row(-1);
		own.calls[i] = 1;
		own.ticks[i] = c.self;
		own.waited[i] = c.self_waited;
		for (const [what, calls, ticks, waited] of c.inside) {
			const r = row(what);
			r.calls[i] += calls;
			r.ticks[i] += ticks;
			r.waited[i] += waited;
		}
	});
	return [...rows.values()].map(r => ({...r, more: r.ticks[0] - r.ticks[1]})).sort((a, b) => Math.abs(b.more) - Math.abs(a.more) || a.what - b.what);
}

const row_name = r => r.what < 0 ? "in the function itself" : name(r.what, () => {}) || "?";

function place_text(a, long) {
	if (!a.timed) return "no call of this function has a time that is known";
	const slower = a.timed - a.faster - a.alike, share = 100 * a.faster / a.timed;
	const [less, equal, exact] = a.rank ?? [];
	if (long && exact)
		return count(a.timed) + " calls of this function; " + count(a.faster + less) + " (" + (100 * (a.faster + less) / a.timed).toFixed(share > 99 ? 3 : 1) + " %) were faster, " + count(a.timed - a.faster - less - equal) + " slower, " +
			count(equal) + " as long, itself among them" + (a.partly ? "; the trace is still being read" : "");
	return count(a.timed) + " calls of this function; " + count(a.faster) + " (" + share.toFixed(share > 99 ? 2 : 1) + " %) were faster, " + count(slower) + " slower, " +
		count(a.alike) + " as long within 6 % (" + (long ? "itself among them" : "its own time is not counted") + ")" + (a.partly ? "; the trace is still being read" : "");
}

// Draws how many calls took how long, on logarithmic scales; the bars of this call and of the median one are marked.
function histogram(a) {
	const svg = document.createElementNS(ns, "svg"), first = a.buckets[0][0], last = a.buckets.at(-1)[0], most = Math.max(...a.buckets.map(b => b[2]));
	const x = b => (b - first) / (last - first + 1) * wide, bucket = v => a.buckets.findLastIndex(b => b[1] <= v);
	const mine = bucket(a.call.took ?? -1), middle = a.median && a.median.took !== undefined ? bucket(a.median.took) : -1;
	svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", "Durations of all calls, from " + took(a.min) + " to " + took(a.max));
	a.buckets.forEach(([b, low, n], i) => {
		const r = document.createElementNS(ns, "rect"), h = 4 + (high - 4) * Math.log1p(n) / Math.log1p(most), t = document.createElementNS(ns, "title");
		for (const [key, v] of Object.entries({x: x(b), y: high - h, height: h, width: Math.max(1, x(b + 1) - x(b) - 0.3)})) r.setAttribute(key, v.toFixed(2));
		if (i === mine) r.setAttribute("class", "mine"); else if (i === middle) r.setAttribute("class", "middle");
		t.textContent = count(n) + " from " + took(low) + (i === mine ? ", this call's" : "") + (i === middle ? ", the median's" : "");
		r.append(t);
		svg.append(r);
	});
	return svg;
}

const columns = ["", "difference", "this call", "median call", "calls here", "calls there", "waited here", "waited there"];
const cells = r => [row_name(r), difference(r.more), took(r.ticks[0]), took(r.ticks[1]), r.what < 0 ? "" : count(r.calls[0]), r.what < 0 ? "" : count(r.calls[1]),
	state.switches ? took(r.waited[0]) : "", state.switches ? took(r.waited[1]) : ""];

function comparison(rows) {
	const t = element("table"), head = t.createTHead().insertRow(), body = t.createTBody();
	t.createCaption().textContent = "Why it took longer or shorter than the median call";
	for (const title of columns) { const th = element("th", title); th.scope = "col"; head.append(th); }
	for (const r of rows) {
		const tr = body.insertRow();
		for (const text of cells(r)) tr.insertCell().textContent = text;
	}
	return t;
}

function waits(c) {
	if (!state.switches) return "the trace has no context switches: processor time is not known";
	return "on a processor " + took(c.took - c.waited - c.unseen) + ", waited " + took(c.waited) + " (itself " + took(c.self_waited) + "; a processor was missing for " + took(c.preempted) + ")" +
		(c.unseen ? "; switches are missing in " + took(c.unseen) : "");
}

const wait_columns = ["waited in", "for", "times", "together", "longest"];
// Where the trace has it: who ended the longest one, and how much later the thread ran.
const woken_columns = a => a.waits.some(w => w[6]) ? ["woken by", "ran after"] : [];
const woken_cells = (a, w) => woken_columns(a).length ? [w[6] || "-", w[6] ? took(w[7]) : "-"] : [];
const wait_name = w => name(w[0], () => {}) || "?";
const wait_cells = w => [wait_name(w), w[1], count(w[2]), took(w[3]), took(w[4])];

// The waits in the call, what each was for; a row's button shows the longest one.
function wait_table(a) {
	const t = element("table"), head = t.createTHead().insertRow(), body = t.createTBody();
	t.createCaption().textContent = "What it waited for" + (a.more_waits ? " (and " + count(a.more_waits) + " waits of further kinds)" : "");
	for (const title of [...wait_columns, ...woken_columns(a)]) { const th = element("th", title); th.scope = "col"; head.append(th); }
	for (const w of a.waits) {
		const tr = body.insertRow();
		[...wait_cells(w), ...woken_cells(a, w)].forEach((text, i) => {
			const td = tr.insertCell();
			if (i === 4) td.append(button(text, () => { state.selection = [w[5], w[5] + w[4]]; const margin = Math.max(20, w[4] * 0.3); show(w[5] - margin, w[5] + w[4] + margin); }, "select it in the picture"));
			else td.textContent = text;
		});
	}
	return t;
}

// The text of the function's source, around its first line; or why there is none.
function source_text(s) {
	if (!s || s.why) return element("p", s ? s.why : "");
	const box = element("div"), pre = element("pre");
	box.append(element("p", s.file + ":" + s.line));
	pre.tabIndex = 0;
	pre.setAttribute("aria-label", "source of the function");
	s.lines.forEach((text, i) => {
		const line = element(s.first + i === s.line ? "b" : "span", String(s.first + i).padStart(6) + "  " + text + "\n");
		pre.append(line);
	});
	box.append(pre);
	return box;
}

// Returns all that the panel says, as text and as what JSON is made of.
function said() {
	const {a, call, rows} = shown, ns_of = v => Math.round(v * state.ns_per_tick), c = a.call;
	const lines = [call.text, "took " + took(c.took ?? c.end - c.begin) + ", from " + time(c.begin * state.ns_per_tick, 1), place_text(a, c.took !== undefined)];
	if (a.callers.length) lines.push("called by " + a.callers.map(row_name).reverse().join(", "));
	if (c.took !== undefined) lines.push(waits(c));
	if (a.waits?.length) lines.push([...wait_columns, ...woken_columns(a)].join("\t"), ...a.waits.map(w => [...wait_cells(w), ...woken_cells(a, w)].join("\t")));
	if (rows) lines.push(columns.join("\t"), ...rows.map(r => cells(r).join("\t")));
	const one = c => c && {begin_ns: ns_of(c.begin), end_ns: ns_of(c.end), thread: state.tracks.find(t => t.track === c.track)?.id, depth: c.depth, took_ns: ns_of(c.took ?? c.end - c.begin)};
	return {text: lines.join("\n"), data: {call: call.text, function: name(a.function, () => {}), ...one(c), median: one(a.median), median_exact: a.exact, callers: a.callers.map(row_name), calls: a.calls, timed: a.timed, faster: a.faster, alike: a.alike, rank: a.rank && {faster: a.faster + a.rank[0], as_long: a.rank[1], exact: a.rank[2]},
		waits: a.waits?.map(w => ({function: wait_name(w), for: w[1], times: w[2], ns: ns_of(w[3]), longest_ns: ns_of(w[4]), longest_at_ns: ns_of(w[5]), ...(w[6] ? {woken_by: w[6], ran_after_ns: ns_of(w[7])} : {})})),
		why: rows?.map(r => ({function: r.what < 0 ? null : row_name(r), more_ns: ns_of(r.more), ns: r.ticks.map(ns_of), calls: r.calls, waited_ns: r.waited.map(ns_of)}))}};
}

async function copy(text, e) {
	try {
		await navigator.clipboard.writeText(text);
		e.textContent = "copied";
	} catch (x) {
		e.textContent = "not copied: " + x.message;
	}
}

function paint(into) {
	const again = call => { go(call); keep(); why.load(into, shown.wanted); };
	const {a, call, rows} = shown, c = a.call, told = element("span");
	told.setAttribute("role", "status");
	const [, module, file, number] = place(a.function), special = marks(c.flags ?? state.picked?.flags ?? 0);
	const out = [element("h2", call.text)], bar = element("p");
	bar.append(button("show it", () => go(c)), a.median ? button("show the median call", () => again(a.median)) : "",
		state.switches ? button("critical path", () => { state.selection = null; panel.open("path"); }, "where its time went, over the threads that it waited for") : "",
		button("copy as text", () => copy(said().text, told)), button("copy as JSON", () => copy(JSON.stringify(said().data, null, 1), told)),
		button("copy the link", () => { keep(); copy(location.href, told); }), told);
	out.push(bar);
	out.push(element("p", "took " + took(c.took ?? c.end - c.begin) + (c.took === undefined ? "" : ", itself " + took(c.self)) + "; from " + time(c.begin * state.ns_per_tick, 1) + " to " + time(c.end * state.ns_per_tick, 1) + (special ? "; " + special : "")));
	out.push(element("p", [module, file && file + ":" + number].filter(Boolean).join(" · ")));
	if (a.callers.length) {
		const line = element("p", "called by ");
		// from the innermost outwards
		for (const caller of [...a.callers].reverse()) line.append(button(name(caller.what, () => {}) || "?", () => again(caller), "show this call"));
		out.push(line);
	}
	if (c.took !== undefined) out.push(element("p", waits(c)));
	if (a.waits?.length) out.push(wait_table(a));
	out.push(element("p", place_text(a, c.took !== undefined)));
	if (a.buckets.length) out.push(histogram(a));
	if (rows) {
		out.push(comparison(rows));
		if (!a.exact) out.push(element("p", "the trace is long: the median call is one of those within 6 % of it"));
	} else {
		out.push(element("p", !a.median ? "there is no median call to compare it with" : "too many records are in the call, or in the median one, to sum up what it called (more than 4 million)"));
	}
	if (file) out.push(source_text(shown.source));
	into.replaceChildren(...out);
}

export const why = {
	// Loads what is known of the picked call; says() returns whether it is still wanted.
	async load(into, wanted) {
		const p = state.picked, t = p && state.tracks.find(t => t.track === p.track), me = ++asked;
		if (!t || t.kind !== "thread" || p.count !== 1) {
			shown = null;
			into.replaceChildren("click on a call, or choose one in the list");
			return;
		}
		try {
			const args = {begin: p.begin, end: p.end, depth: p.depth, what: p.what};
			const [a, call] = await Promise.all([json("why", {thread: t.id, ...args}), json("call", {track: p.track, ...args})]);
			const rows = a.median && a.call.inside && a.median.inside ? compare(a.call, a.median) : null;
			name(a.function, () => {});
			a.waits.sort((x, y) => y[3] - x[3]);
			for (const w of a.waits) wait_name(w);
			const source = await json("source", {function: a.function}).catch(e => ({why: e.message}));
			for (const r of [...rows ?? [], ...a.callers]) row_name(r);
			await named();
			if (me !== asked || !wanted()) return;
			shown = {a, call, rows, source, wanted};
			paint(into);
		} catch (e) {
			if (me === asked && wanted()) into.textContent = e.message;
		}
	},
};
