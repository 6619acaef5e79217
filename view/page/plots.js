// SPDX-License-Identifier: MIT
// Values over time: how long calls of a function took, an argument, a result, an event's value, how many there were, what a process used. Each is a track with an axis.
import { state, keep, redraw, fetch_bars, retrack } from "./main.js";
import { json, name } from "./data.js";
import { element } from "./tables.js";
import { bytes, count, duration } from "./text.js";

const first = 0x50000000;	// their tracks are numbered from here
const most = 12;		// plots at a time
const whats = {duration: "duration", rate: "number per second", result: "result", arg1: "argument 1", arg2: "argument 2", arg3: "argument 3", arg4: "argument 4", value: "value", memory: "memory", processors: "processors"};

// A plot is {what, function: row of the function}, {what, event: "event123"} or {what, process: its id}, and log: its scale.
let asked = "", waiting = 0;

const of_process = what => what === "memory" || what === "processors";
// what a process used is a value of each time, not of so many calls
const counted = (p, n) => p.process ? "" : ", " + count(n) + (p.event ? " events" : " calls");
const event_of = p => state.tracks.find(t => t.kind + t.id === p.event);
const title = p => whats[p.what] + " of " + (p.process ? state.process_name(p.process) : p.event ? event_of(p)?.name ?? "an event that is not here" : name(p.function, redraw) || "…");

export const tracks = () => state.plots.map((p, i) => ({track: first + i, kind: "plot", id: i, pid: 0, depths: 1, count: 1, begin: 0, end: state.length, get name() { return title(p); }}));

// ---- the address

export const words = () => state.plots.map(p => [p.what, p.event ?? (p.process ? "process" + p.process : p.function), p.log ? 1 : 0].join("-"));

export function recall(list) {
	state.plots = list.map(w => w.match(/^(\w+)-(?:(\d+)|((?:event|point)\d+)|process(\d+))-([01])$/)).filter(m => m && m[1] in whats && of_process(m[1]) === !!m[4]).slice(0, most)
		.map(m => ({what: m[1], log: m[5] === "1", ...(m[4] ? {process: Number(m[4])} : m[3] ? {event: m[3]} : {function: Number(m[2])})}));
	asked = "";
}

// ---- what the server answers, as bars have it

class Columns {
	constructor(p, got) {
		const ns = state.ns_per_tick, rate = p.what === "rate", scale = got.ticks && !rate ? ns : 1;
		this.done = got.done;
		this.ns = got.ticks && !rate;
		this.bytes = p.what === "memory";
		this.held = of_process(p.what);
		this.list = got.columns.filter(c => rate || c[3]).map(([begin, end, calls, n, min, max, mean]) => {
			const each = calls / ((end - begin + 1) * ns * 1e-9);
			return rate ? {begin, end: end + 1, n: calls, min: each, max: each, mean: each} : {begin, end: end + 1, n, min: min * scale, max: max * scale, mean: mean === undefined ? undefined : mean * scale};
		});
		this.calls = got.columns.reduce((sum, c) => sum + c[2], 0);
		this.n = this.list.length;
		this.begin = Float64Array.from(this.list, c => c.begin);
		this.end = Float64Array.from(this.list, c => c.end);
		this.depths = 1;
		this.busy = this.high = this.what = this.count = this.flags = new Float64Array(this.n);
	}
	at(depth, t, near) {
		let best = -1, distance = near;
		for (let i = 0; i < this.n; i++) {
			const d = t < this.begin[i] ? this.begin[i] - t : t > this.end[i] ? t - this.end[i] : 0;
			if (d < distance || (!d && best < 0)) { best = i; distance = d; if (!d) break; }
		}
		return best;
	}
	// Returns the least, the greatest and the mean of what is in the window; null: nothing.
	range(from, to) {
		const seen = this.list.filter(c => c.end >= from && c.begin <= to), weight = c => this.held ? c.end - c.begin : c.n, n = seen.reduce((sum, c) => sum + weight(c), 0);
		if (!n) return null;
		return {n, min: Math.min(...seen.map(c => c.min)), max: Math.max(...seen.map(c => c.max)), mean: seen.every(c => c.mean !== undefined) ? seen.reduce((sum, c) => sum + c.mean * weight(c), 0) / n : undefined,
			least: Math.min(...seen.map(c => c.min).filter(v => v > 0))};
	}
}

// Fetches the plots of a window; of what takes long, what is known so far, and the rest a little later.
export async function fetch_plots(from, to, cells) {
	const key = JSON.stringify([state.plots.map(p => [p.what, p.function, p.event, p.process]), from, to, cells, state.filter, state.records]);
	if (key === asked) return;
	let all = true;
	for (const [i, p] of [...state.plots].entries()) {
		const t = p.event && event_of(p), range = {from: Math.floor(from), to: Math.ceil(to), columns: Math.min(4000, cells)};
		if (p.event && !t) { state.bars.delete(first + i); continue; }
		try {
			const got = await json("plot", p.process ? {...range, process: p.process, what: p.what} : p.event ? {...range, track: t.track} : {...range, function: p.function, what: p.what === "rate" ? "duration" : p.what});
			if (state.plots[i] !== p) return;
			p.wrong = "";
			state.bars.set(first + i, new Columns(p, got));
			all = all && got.done === 1;
		} catch (e) {
			p.wrong = e.message;
			state.bars.delete(first + i);
		}
	}
	clearTimeout(waiting);
	if (all) asked = key; else waiting = setTimeout(() => { fetch_plots(from, to, cells).then(redraw); }, 30);
	if (state.tab === "plots") fill();
}

// ---- drawing

const text_of = (b, v) => b.ns ? duration(v) : b.bytes ? bytes(v) : Math.abs(v) >= 1e7 || (v && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(Number(v.toPrecision(6)));

// Returns the values at which the axis has lines.
function steps(low, high, log) {
	const out = [];
	if (log) {
		const every = Math.ceil((Math.log10(high) - Math.log10(low)) / 4) || 1;
		for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high) + 1e-9; e += every) out.push(10 ** e);
		return out.length ? out : [low, high];
	}
	const least = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(least)), step = [1, 2, 5, 10].find(m => m * power >= least) * power;
	for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step / 1e6 ? 0 : v);
	return out;
}

export function draw_plot(c, s, track, b, x_of, y, width, left, style, fill_style) {
	const p = track.kind === "values" ? {what: "value"} : s.plots[track.id], r = p && b.range(s.from, s.to), h = track.height - 6, foot = y + track.height - 3;
	c.textAlign = "left";
	c.fillStyle = style.dim;
	if (!r) { c.fillText(p?.wrong || (b.done < 1 ? "reading…" : "no value here"), left + 6, y + track.height / 2); return; }
	const log = p.log && Number.isFinite(r.least) && r.max > 0, low = log ? r.least : p.what === "rate" || p.what === "processors" ? 0 : r.min, high = r.max > low ? r.max : low + (log ? low : Math.abs(low) || 1);
	const y_of = v => log ? (v > 0 ? foot - (Math.log10(v) - Math.log10(low)) / (Math.log10(high) - Math.log10(low)) * h : foot) : foot - (v - low) / (high - low) * h;
	c.strokeStyle = style.line;
	for (const v of steps(low, high, log)) { const at = Math.round(y_of(v)) + 0.5; c.beginPath(); c.moveTo(left, at); c.lineTo(width, at); c.stroke(); }
	let drawn = -Infinity, before = null;
	for (const x of b.list) {
		const a = Math.max(left, x_of(x.begin)), e = Math.min(width, x_of(x.end));
		if (e < left || a > width) continue;
		const w = Math.max(1, e - a), top = y_of(x.max), bottom = p.what === "rate" ? foot : y_of(x.min);
		c.fillStyle = fill_style;
		c.globalAlpha = 0.4;
		if (a + w > drawn || w > 1) c.fillRect(a, top - 0.5, w, Math.max(1, bottom - top + 1));
		c.globalAlpha = 1;
		drawn = a + w;
		const m = x.mean === undefined ? null : [a + w / 2, y_of(x.mean)];
		if (m) {
			c.strokeStyle = style.fore;
			c.beginPath();
			if (before && a - before[2] < 6) c.moveTo(before[0], before[1]); else c.moveTo(a, m[1]);
			c.lineTo(m[0], m[1]);
			c.lineTo(a + w, m[1]);
			c.stroke();
			before = [a + w, m[1], a + w];
		}
	}
	c.fillStyle = style.fore;
	for (const v of steps(low, high, log)) c.fillText(text_of(b, v), left + 3, Math.max(y + 6, Math.min(foot - 5, y_of(v) - 6)));
	if (b.done < 1) c.fillText("reading: " + Math.floor(100 * b.done) + " %", width - 110, y + 8);
}

// Returns the lines of the tooltip.
export function describe(track, i) {
	const b = state.bars.get(track.track), x = b.list[i], p = state.plots[track.id];
	const what = p.what === "rate" ? [text_of(b, x.max) + " per second"] : x.n === 1 || x.min === x.max ? [text_of(b, x.min)] : [text_of(b, x.min) + " to " + text_of(b, x.max) + (x.mean === undefined ? "" : ", mean " + text_of(b, x.mean))];
	const wide = duration((x.end - x.begin) * state.ns_per_tick);
	return [title(p), ...what, p.process ? "for " + wide : counted(p, x.n).slice(2) + " in " + wide];
}

// ---- the tab

let body = null, head = null;

function changed() {
	asked = "";
	retrack();
	keep();
	fill();
}

// Adds a plot; says what is wrong with it, or "".
function add(p) {
	if (state.plots.length === most) return "no more than " + most + " plots: remove one";
	if (state.plots.some(x => x.what === p.what && x.function === p.function && x.event === p.event && x.process === p.process)) return "it is there already";
	state.plots.push(p);
	changed();
	return "";
}

// Adds a plot of a process: by its name, its number, or both; without one, of the only process.
function add_process(text, what) {
	const all = [...state.processes], found = all.filter(([pid, name]) => !text || name === text || name.split(" ")[0] === text || String(state.numbers.get(pid) ?? pid) === text);
	if (found.length === 1) return add({what, process: found[0][0], log: false});
	return (found.length ? "more than one: " : "no process is named so: ") + (found.length ? found : all).slice(0, 5).map(([, name]) => name).join(", ");
}

async function add_named(text, what) {
	if (of_process(what)) return add_process(text, what);
	const t = state.tracks.find(t => (t.kind === "event" || t.kind === "point") && t.name === text);
	if (t) return add({what: what === "rate" ? "rate" : "value", event: t.kind + t.id, log: false});
	const list = (await json("search", {text})).filter(([, n]) => n === text);
	if (!list.length) return "no function or event is named so";
	return add({what: what === "value" ? "duration" : what, function: list[0][0], log: false});
}

const button = (text, title, onclick) => element("button", text, {type: "button", title, onclick});

function fill() {
	if (!body || state.tab !== "plots") return;
	const focus = document.activeElement?.dataset?.of;
	body.replaceChildren();
	for (const [i, p] of state.plots.entries()) {
		const tr = body.insertRow(), b = state.bars.get(first + i), r = b?.range(state.from, state.to), check = element("input", "", {type: "checkbox", checked: p.log, onchange() { p.log = check.checked; keep(); redraw(); }}), label = element("label");
		check.dataset.of = "log" + i;
		label.append(check, " logarithmic");
		tr.insertCell().textContent = title(p);
		tr.insertCell().textContent = p.wrong || (!b ? "" : !r ? "no value in the window" : p.what === "rate" ? "at most " + text_of(b, r.max) + " per second" : text_of(b, r.min) + " to " + text_of(b, r.max) + (r.mean === undefined ? "" : ", mean " + text_of(b, r.mean)) + counted(p, r.n));
		tr.insertCell().append(label);
		const up = button("up", "draw it above the one before", () => { state.plots.splice(i - 1, 2, state.plots[i], state.plots[i - 1]); changed(); });
		up.disabled = !i;
		tr.insertCell().append(up, button("remove", "draw it no more", () => { state.plots.splice(i, 1); changed(); }));
	}
	head.hidden = !state.plots.length;
	if (focus) body.querySelector(`[data-of=${focus}]`)?.focus();
}

export function show_plots(into, range) {
	range.textContent = state.plots.length ? "in the window:" : "values over time, above the threads";
	if (into.querySelector("form") && body?.isConnected) { fill(); return; }
	const form = element("form"), field = element("input", "", {type: "search", placeholder: "function, event or process", autocomplete: "off"}), what = element("select"), told = element("span");
	field.setAttribute("aria-label", "Function, event or process of which values are plotted");
	what.setAttribute("aria-label", "What is plotted");
	told.setAttribute("role", "status");
	const p = state.picked, of = p && state.tracks.find(t => t.track === p.track);
	field.value = !of ? "" : of.kind === "thread" ? name(p.what) : of.kind === "event" || of.kind === "point" ? of.name : "";
	for (const key in whats) what.append(element("option", whats[key], {value: key}));
	form.append(field, what, element("button", "plot"), " ", told);
	form.onsubmit = async e => {
		e.preventDefault();
		try { told.textContent = await add_named(field.value.trim(), what.value); } catch (e) { told.textContent = e.message; }
	};
	head = element("table");
	body = head.createTBody();
	into.replaceChildren(form, head);
	fill();
}
