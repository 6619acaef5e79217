// SPDX-License-Identifier: MIT
// Two traces beside each other: which functions are the same, and how much longer a call of one takes in B than in A.
import { state, redraw } from "./main.js";
import { json } from "./data.js";
import { count, duration } from "./text.js";

const near = 0.05;	// shares by which times may differ and count as the same
const hues = {slower: [213, 94, 0], faster: [0, 114, 178], same: [150, 150, 160], alone: [204, 121, 167]};
const titles = {slower: "a call takes longer in B", faster: "a call takes less time in B", same: "takes as long in both", alone: "called in one of them only"};

const twins = new Map();	// from a function to [its number in both traces, 0: of A, 1: of B]
let sums = new Map();	// of the whole traces: fold()
let known = -1, asking = false;	// of how many records the sums are
export let words = null;	// what is at the same time in both; null: there is only one trace
export let coloured = true;	// calls are coloured by this

// Puts rows of functions together by what is the same: from a number to [sums in A, sums in B], null: not called.
export function fold(rows) {
	const all = new Map();
	for (const r of rows) {
		const [number, side] = twins.get(r.function) ?? [0, 0];
		if (!number) continue;
		if (!all.has(number)) all.set(number, {name: r.name, module: r.module, in: [null, null]});
		const x = all.get(number).in[side] ??= {calls: 0, timed: 0, took: 0, self: 0};
		x.calls += r.calls; x.timed += r.timed; x.took += r.mean * r.timed; x.self += r.self;
	}
	return all;
}

const mean = x => x?.timed ? x.took / x.timed : null;

// Returns how many times as long a call takes in B as in A; null: that is not known.
export const times = of => mean(of[0]) && mean(of[1]) !== null ? mean(of[1]) / mean(of[0]) : null;

// Takes what the server tells of the trace.
export function take_twins(trace) {
	words = trace.beside ?? null;
	twins.clear();
	for (let i = 2; words !== null && i < trace.twins.length; i += 2) twins.set(trace.twins[i], [trace.twins[i + 1], Number(trace.twins[i] >= trace.second)]);
	if (words === null || asking || !trace.complete || known === trace.records) return;
	asking = true;
	json("range", {all: 1}).then(got => { sums = fold(got.functions); known = trace.records; asking = false; redraw(); }, () => { asking = false; });
}

const about = what => sums.get(twins.get(what)?.[0]);

function verdict(x) {
	if (!x.in[0] || !x.in[1]) return ["alone", 1];
	const t = times(x.in);
	return t === null ? ["same", 1] : t > 1 + near ? ["slower", t] : t < 1 / (1 + near) ? ["faster", t] : ["same", t];
}

const shown = t => t >= 10 ? count(t) : t.toPrecision(2);

// Returns the colours of a function's calls and what is written behind its name; null: the usual ones.
export function shade(what, back) {
	const x = words !== null && coloured && about(what);
	if (!x) return null;
	const [kind, t] = verdict(x), paler = kind === "slower" || kind === "faster" ? 0.6 - 0.55 * Math.min(1, Math.abs(Math.log2(t)) / 2) : 0.35;
	const c = hues[kind].map((v, i) => Math.round(v * (1 - paler) + back[i] * paler));
	return {fill: "rgb(" + c.join(",") + ")", text: 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] > 130 ? "#111" : "#fff", more: kind === "alone" ? " (only " + (x.in[0] ? "A" : "B") + ")" : kind === "same" ? "" : " ×" + shown(t)};
}

// Returns what is told of a function whose call is pointed at; "": nothing.
export function beside_text(what) {
	const x = words !== null && about(what), of = i => x.in[i] ? count(x.in[i].calls) + " × " + (mean(x.in[i]) === null ? "?" : duration(mean(x.in[i]) * state.ns_per_tick)) : "none";
	return x ? "in A " + of(0) + ", in B " + of(1) + (verdict(x)[0] === "same" ? ": the same" : verdict(x)[0] === "alone" ? "" : ": ×" + shown(times(x.in))) : "";
}

// Returns the rows of the table, of what ran in a range.
export const rows = functions => [...fold(functions).values()].map(x => ({name: x.name, module: x.module, calls_a: x.in[0]?.calls ?? 0, calls_b: x.in[1]?.calls ?? 0, mean_a: mean(x.in[0]) ?? 0, mean_b: mean(x.in[1]) ?? 0,
	times: times(x.in) ?? 0, self_a: x.in[0]?.self ?? 0, self_b: x.in[1]?.self ?? 0, more: (x.in[1]?.self ?? 0) - (x.in[0]?.self ?? 0)}));

// Returns the legend's lines: [colour, text].
export const legend = () => words === null ? [] : Object.keys(hues).map(k => ["rgb(" + hues[k].join(",") + ")", titles[k]]);
export function use_colours(on) { coloured = on; redraw(); }
