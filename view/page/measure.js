// SPDX-License-Identifier: MIT
// Two marks, A and B, and the time between them.
import { state, redraw, keep, show } from "./main.js";
import { panel } from "./panel.js";
import { duration, time } from "./text.js";

const pointer = {at: null};	// ticks under the pointer; null: it is not over the picture

export const point_at = t => { pointer.at = t; };

// Sets a mark where the pointer is; or where the picked call begins (A) or ends (B); or in the middle of the picture. clicked: a button was, so that there is no pointer.
export function set_mark(which, clicked) {
	const p = state.picked, at = !clicked && pointer.at !== null ? pointer.at : p ? (which === "a" ? p.begin : p.end) : (state.from + state.to) / 2;
	state[which] = Math.round(Math.max(0, Math.min(state.length, at)));
	redraw();
	keep();
	measured();
}

function button(text, title, what) {
	const b = document.createElement("button");
	b.type = "button";
	b.textContent = text;
	b.title = title;
	b.onclick = what;
	return b;
}

// Tells of the marks beside the tabs.
export function measured() {
	const out = [], {a, b} = state, ns = state.ns_per_tick;
	for (const m of ["a", "b"]) out.push(button("set " + m.toUpperCase(), "a mark where the picked call " + (m === "a" ? "begins" : "ends") + ", or in the middle of the picture; key " + (m === "a" ? "[" : "]"), () => set_mark(m, true)));
	const text = document.createElement("span");
	text.setAttribute("role", "status");
	text.textContent = [a !== null && "A at " + time(a * ns, 1), b !== null && "B at " + time(b * ns, 1), a !== null && b !== null && "A to B: " + duration((b - a) * ns, 6)].filter(Boolean).join("; ");
	out.push(text);
	if (a !== null && b !== null && a !== b) out.push(button("select A to B", "select what is between the marks", () => {
		state.selection = [Math.min(a, b), Math.max(a, b)];
		show(state.from, state.to);
		panel.selected();
	}));
	if (a !== null || b !== null) out.push(button("remove", "remove the marks", () => { state.a = state.b = null; redraw(); keep(); measured(); }));
	document.getElementById("measured").replaceChildren(...out);
}

// Draws the marks, and the time between them on the scale.
export function draw_marks(c, s, x_of, left, top, width, height, style) {
	const ns = s.ns_per_tick;
	c.strokeStyle = c.fillStyle = style.fore;
	c.textAlign = "left";
	for (const which of ["a", "b"]) {
		if (s[which] === null || s[which] === undefined) continue;
		const x = Math.round(x_of(s[which])) + 0.5;
		if (x < left || x > width) continue;
		c.beginPath(); c.moveTo(x, 0); c.lineTo(x, height); c.stroke();
		c.fillText(which.toUpperCase(), x + 3, top - 6);
	}
	if (s.a === null || s.b === null || s.a === undefined || s.b === undefined) return;
	const x = Math.max(left, x_of(Math.min(s.a, s.b))), end = Math.min(width, x_of(Math.max(s.a, s.b))), text = duration(Math.abs(s.b - s.a) * ns, 6);
	if (end <= x) return;
	c.fillRect(x, top - 2, end - x, 2);
	if (end - x > text.length * 6.4 + 30) c.fillText(text, x + 16, top - 8);
}
