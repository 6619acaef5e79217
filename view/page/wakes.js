// SPDX-License-Identifier: MIT
// Arrows from who woke a thread to that thread, where a trace has that (record --wakers).
import { state } from "./main.js";
import { head, nearest } from "./arrows.js";
import { json } from "./data.js";
import { row, top, y_in } from "./draw.js";
import { time } from "./text.js";

let list = [], asked = "", drawn = [];
export let all = true;	// those of the window are all there

// Fetches those of a window.
export async function fetch_wakes(from, to) {
	const key = [from, to, state.records].join();
	if (!state.wakers || state.hidden.has("wake") || key === asked) return;
	const got = await json("wakes", {from: Math.max(0, Math.floor(from)), to: Math.max(0, Math.ceil(to))});
	list = got.wakes;
	all = got.all;
	asked = key;
}

// Draws them: dashed, from the waker's thread; a short one from above where no thread did it, or none that is drawn.
export function draw_wakes(c, x_of, scroll, width, height, style) {
	drawn = [];
	if (!state.wakers || state.hidden.has("wake") || !list.length) return;
	const of = new Map(state.tracks.filter(t => t.kind === "thread" && (!t.hidden || (t.tucked && t.head && !t.head.hidden))).map(t => [t.id, t])), middle = t => y_in(t, scroll) + row / 2;
	c.save();
	c.strokeStyle = c.fillStyle = style.fore;
	for (const [at, woken, waker, text] of list) {
		const to = of.get(woken), from = of.get(waker), x = x_of(at);
		if (!to || x < 0 || x > width) continue;
		const y1 = middle(to), y0 = from && from !== to ? middle(from) : y1 - 1.5 * row;
		if (Math.max(y0, y1) < top || Math.min(y0, y1) > height) continue;
		c.setLineDash([4, 3]);
		c.beginPath(); c.moveTo(x, y0); c.lineTo(x, y1); c.stroke();
		c.setLineDash([]);
		head(c, x, y0, x, y1);
		drawn.push({x0: x, y0, x1: x, y1, m: {key: "wake" + at + ":" + woken, lines: [state.thread_name(woken) + " is woken", "by " + text, "at " + time(at * state.ns_per_tick, 1)]}});
	}
	c.restore();
}

// Returns what is told of the arrow at a point; null: there is none.
export const wake_at = (x, y) => nearest(drawn, x, y);
