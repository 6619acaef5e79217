// SPDX-License-Identifier: MIT
// How long the calls of a function took, over time: the darker, the more calls. An area that is picked selects its range, and shows only calls that took so long.
import { state, filter_by, show } from "./main.js";
import { json, name, named } from "./data.js";
import { element, fetch_range, range } from "./tables.js";
import { panel } from "./panel.js";
import { count, duration, time } from "./text.js";

const svg_ns = "http://www.w3.org/2000/svg", wide = 900, high = 220, left = 70, bottom = 18, columns = 150;
const ticks = v => duration(v * state.ns_per_tick);
let asked = 0, chosen = null;	// chosen: [id, name] of the function; null: that of the picked call, or the one with the most time

function shape(kind, attributes, text) {
	const e = document.createElementNS(svg_ns, kind);
	for (const key in attributes) e.setAttribute(key, attributes[key]);
	if (text) e.textContent = text;
	return e;
}

// Returns the words of the filter without those of an area that was picked before.
const plain = () => (state.filter.match(/(?:[^ "]|"[^"]*")+/g) || []).filter(w => !/^time[<>]/.test(w));

// Shows only what is in an area: columns a to b, buckets low to high.
function pick(got, id, a, b, low, high_) {
	const ns = v => ((v - 0.5) * state.ns_per_tick).toFixed(4), word = "function:" + name(id, () => {}).replace(/[*?[\]\\]/g, "\\$&"), words = plain().filter(w => w !== word && w !== '"' + word + '"');
	state.selection = [Math.max(0, got.columns[a][0] - 1), got.columns[b][1]];
	const margin = Math.max(20, (state.selection[1] - state.selection[0]) * 0.1);
	show(state.selection[0] - margin, state.selection[1] + margin);
	panel.selected();
	filter_by([...words, /[\s"]/.test(word) ? '"' + word.replaceAll('"', "?") + '"' : word, "time>" + ns(got.lowest[low]) + "ns", "time<" + ns(got.next(high_)) + "ns"].join(" "));
}

function draw(into, got, id) {
	const used = Object.keys(got.lowest).map(Number), filled = got.columns.flatMap(c => c.slice(2).map(([b]) => b)), first = Math.min(...filled), last = Math.max(...filled), rows = last - first + 1;
	// the lowest duration of a bucket: what the server has left out, because no call is in it, lies 1/16 of a power of two apart
	const lowest = b => got.lowest[b] ?? (b < 32 ? b : (16 + b % 16) * 2 ** (Math.floor(b / 16) - 1));
	got.next = b => lowest(b + 1);
	for (let b = first; b <= last; b++) got.lowest[b] = lowest(b);
	const [from, to] = [got.columns[0][0], got.columns.at(-1)[1] + 1], most = Math.max(...got.columns.flatMap(c => c.slice(2).map(([, n]) => n)));
	const x = t => left + (t - from) / (to - from) * wide, y = b => (last - b) / rows * high;
	const svg = shape("svg", {viewBox: `0 0 ${left + wide + 4} ${high + bottom}`, role: "application", tabindex: 0, class: "heat", "aria-label": "Durations of " + name(id, () => {}) + " over time; arrows move, Shift and arrows widen the area, Enter shows only what is in it"});
	for (const c of got.columns)
		for (const [b, n] of c.slice(2)) {
			const r = shape("rect", {x: x(c[0]).toFixed(2), y: y(b).toFixed(2), width: Math.max(1, x(c[1] + 1) - x(c[0])).toFixed(2), height: Math.max(1.2, high / rows).toFixed(2), "fill-opacity": (0.25 + 0.75 * Math.log1p(n) / Math.log1p(most)).toFixed(3)});
			r.append(shape("title", {}, count(n) + " from " + ticks(got.lowest[b]) + " to " + ticks(got.next(b))));
			svg.append(r);
		}
	for (let i = 0; i <= 4; i++) {
		const b = Math.round(first + (last + 1 - first) * i / 4), t = from + (to - from) * i / 4;
		svg.append(shape("text", {x: left - 4, y: Math.min(high, Math.max(9, y(b - 1))), "text-anchor": "end"}, ticks(lowest(b))));
		svg.append(shape("text", {x: left + wide * i / 4, y: high + 13, "text-anchor": i === 4 ? "end" : i ? "middle" : "start"}, time(t * state.ns_per_tick, Math.max(1, (to - from) * state.ns_per_tick / 100))));
	}
	const told = element("p", "drag over an area, or use the arrows, to see only these calls"), box = shape("rect", {class: "area", visibility: "hidden"});
	told.setAttribute("role", "status");
	svg.append(box);
	let area = null;	// [column, bucket, column, bucket]: from where, to where
	const ordered = () => [Math.min(area[0], area[2]), Math.max(area[0], area[2]), Math.min(area[1], area[3]), Math.max(area[1], area[3])];
	const mark = () => {
		const [a, b, low, up] = ordered(), all = got.columns.slice(a, b + 1).reduce((n, c) => n + c.slice(2).reduce((m, [k, v]) => m + (k >= low && k <= up ? v : 0), 0), 0);
		for (const [key, v] of Object.entries({x: x(got.columns[a][0]), y: y(up), width: x(got.columns[b][1] + 1) - x(got.columns[a][0]), height: y(low) + high / rows - y(up), visibility: "visible"})) box.setAttribute(key, v);
		told.textContent = count(all) + " calls, from " + ticks(got.lowest[low]) + " to " + ticks(got.next(up)) + ", ended from " + time(got.columns[a][0] * state.ns_per_tick, 1) + " to " + time((got.columns[b][1] + 1) * state.ns_per_tick, 1);
		return [a, b, low, up];
	};
	const clamp = (v, low, up) => Math.max(low, Math.min(up, v));
	const at = e => {
		const r = svg.getBoundingClientRect(), k = (left + wide + 4) / r.width, t = from + ((e.clientX - r.left) * k - left) / wide * (to - from);
		const c = got.columns.findIndex(c => c[1] >= t);
		return [c < 0 ? got.columns.length - 1 : c, clamp(last - Math.floor((e.clientY - r.top) * k / high * rows), first, last)];
	};
	svg.onpointerdown = e => { svg.setPointerCapture(e.pointerId); svg.focus(); area = [...at(e), ...at(e)]; svg.dataset.drag = "yes"; mark(); };
	svg.onpointermove = e => { if (svg.dataset.drag) { area.splice(2, 2, ...at(e)); mark(); } };
	svg.onpointercancel = () => { delete svg.dataset.drag; };
	svg.onpointerup = () => { if (!svg.dataset.drag) return; delete svg.dataset.drag; pick(got, id, ...mark()); };
	svg.onkeydown = e => {
		const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
		if (!step && !(e.key === "Enter" && area)) return;
		e.preventDefault();
		e.stopPropagation();
		if (!step) { pick(got, id, ...mark()); return; }
		const [c, b] = area ? [area[2], area[3]] : [0, first], moved = area ? [clamp(c + step[0], 0, got.columns.length - 1), clamp(b + step[1], first, last)] : [c, b];
		area = e.shiftKey && area ? [area[0], area[1], ...moved] : [...moved, ...moved];
		mark();
	};
	into.append(svg, told);
	if (!got.even) into.append(element("p", "the range is long: columns are of different widths, each of whole parts of the trace"));
}

// Shows the field for the function, and its picture.
export async function show_heat(into) {
	const me = ++asked, p = state.picked, of = p && state.tracks.find(t => t.track === p.track)?.kind === "thread" && p.count === 1 ? p.what : null;
	let id = chosen?.[0] ?? of;
	if (id === null) id = [...(await fetch_range())?.functions ?? []].sort((a, b) => b.total - a.total)[0]?.function ?? null;
	if (id !== null) name(id, () => {});
	await named();
	if (me !== asked || state.tab !== "heat") return;
	const bar = element("p"), field = element("input", "", {type: "search", value: id === null ? "" : name(id, () => {}), placeholder: "function; Enter"}), told = element("span");
	field.setAttribute("aria-label", "Function whose durations are shown");
	field.onkeydown = async e => {
		if (e.key !== "Enter") return;
		const text = field.value.trim(), found = text ? (await json("search", {text})).find(([, n]) => n === text) : null;
		if (text && !found) { told.textContent = "no function is named so"; return; }
		chosen = found;
		show_heat(into);
	};
	told.setAttribute("role", "status");
	bar.append(field, " ", told);
	into.replaceChildren(bar);
	if (id === null) { into.append("no calls in this range"); return; }
	const [from, to] = range(), got = await json("heat", {function: id, from, to, columns});
	if (me !== asked || state.tab !== "heat") return;
	told.textContent = count(got.calls) + " calls ended in the range" + (got.untimed ? ", of " + count(got.untimed) + " the time is not known" : "") + (got.partly ? "; the trace is still being read" : "");
	if (got.calls > got.untimed) draw(into, got, id);
}
