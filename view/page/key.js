// SPDX-License-Identifier: MIT
// The legend: the colours of what is on the screen, and switches for the kinds of tracks.
import { state, relayout, redraw } from "./main.js";
import { coloured, legend, use_colours, words } from "./beside.js";
import { name } from "./data.js";
import { colour_index, palette, style_of } from "./draw.js";

const box = document.getElementById("keybox"), button = document.getElementById("legend");

const classes = [["core", "cores"], ["activity", "activities"], ["plot", "values over time"], ["answer", "answers"], ["thread", "threads and their calls"], ["event", "events"], ["pack", "packed processes"], ["point", "tracepoints"],
	["message", "messages summed up"], ["arrow", "arrows"], ["wake", "who woke a thread"]];

function line(colour, text) {
	const e = document.createElement("div"), i = document.createElement("i");
	i.style.background = colour;
	e.append(i, text);
	return e;
}

// Returns what is on the screen: functions and processes (of what runs on cores), those with most time first, and tracks of events.
function on_screen() {
	const functions = new Map(), processes = new Map(), events = [];
	for (const t of state.tracks) {
		const b = state.bars.get(t.track);
		if (!b || t.hidden || t.kind === "process") continue;
		if (t.kind === "event" || t.kind === "point") { if (b.n) events.push(t); continue; }
		for (let i = 0; i < b.n; i++) {
			const seen = Math.min(b.end[i], state.to) - Math.max(b.begin[i], state.from);
			if (seen < 0 || t.kind === "message" || t.kind === "activity" || t.kind === "plot" || t.kind === "pack" || t.kind === "answer" || t.kind === "values") continue;
			const [map, id] = t.kind === "core" ? [processes, state.pid_of(b.what[i])] : [functions, b.what[i]];
			map.set(id, (map.get(id) || 0) + seen);
		}
	}
	const sorted = map => [...map].sort((a, b) => b[1] - a[1]).slice(0, 20).map(([id]) => id);
	return {functions: sorted(functions), processes: sorted(processes), events};
}

function fill() {
	const fills = palette(document.documentElement.dataset.theme === "dark").fill, style = style_of(), seen = on_screen(), parts = [];
	for (const [kind, text] of classes) {
		if (kind !== "arrow" && kind !== "wake" && !state.tracks.some(t => t.kind === kind)) continue;
		if (kind === "wake" && !state.wakers) continue;
		if (kind === "arrow" && !state.tracks.some(t => t.kind === "message")) continue;
		const label = document.createElement("label"), check = document.createElement("input");
		check.type = "checkbox";
		check.dataset.kind = kind;
		check.checked = !state.hidden.has(kind);
		check.onchange = () => { if (check.checked) state.hidden.delete(kind); else state.hidden.add(kind); relayout(); };
		label.append(check, text);
		parts.push(label);
	}
	if (words !== null) {
		const label = document.createElement("label"), check = document.createElement("input");
		check.type = "checkbox";
		check.checked = coloured;
		check.onchange = () => { use_colours(check.checked); fill(); };
		label.append(check, "calls coloured by what is slower in B");
		parts.push(label, ...(coloured ? legend().map(l => line(...l)) : []));
	}
	const head = text => { const e = document.createElement("b"); e.textContent = text; return e; };
	if (seen.processes.length) parts.push(head("processes"), ...seen.processes.map(pid => line(fills[colour_index(pid)], state.process_name(pid))));
	if (seen.functions.length && (words === null || !coloured)) parts.push(head("functions"), ...seen.functions.map(id => line(fills[colour_index(id)], name(id, fill) || "?")));
	if (seen.events.length) parts.push(head("events"), ...seen.events.map(t => line(fills[colour_index(t.id * 7 + 3)], t.name)));
	if (state.tracks.some(t => t.kind === "message"))
		parts.push(head("messages"), line(style.arrow, "sent, then received"), line(style.backward, "received before it was sent: clocks differ"), line(style.alone, "its other end is not there"));
	parts.push(head("marks"), line(style.dim, "records lost; a grey foot: lost meanwhile"), ...(state.pauses.length ? [line(style.dim, "behind the tracks: frozen or stopped")] : []), ...(state.held.length ? [line(style.dim, "on a thread: waiting for devtrace, of no call's time")] : []), line(style.mark, "selection, bookmarks"));
	box.replaceChildren(...parts);
}

export const key = {
	begin() {
		button.onclick = () => { box.hidden = !box.hidden; button.setAttribute("aria-expanded", String(!box.hidden)); if (!box.hidden) fill(); redraw(); };
	},
	update() { if (!box.hidden) fill(); },
};
