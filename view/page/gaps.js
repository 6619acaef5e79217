// SPDX-License-Identifier: MIT
// Gaps: records that were lost on a core, times in which nothing was recorded, and times in which the tracer held a thread.
import { left, row, top } from "./draw.js";
import { count, duration, time } from "./text.js";

const times = n => n > 1 ? " " + count(n) + " times" : "";

function lost_words([, , , n]) {
	return count(n) + (n > 1 ? " records lost" : " record lost");
}

function pause_words([, , stopped, n, missed]) {
	return typeof stopped === "string" ? stopped : (stopped ? "stopped" : "frozen") + times(n) + (missed === null ? "" : ": " + count(missed) + (missed === 1 ? " event" : " events") + " not recorded");
}

// Draws the losses on a core's track.
export function lost(c, state, track, x_of, y, width, style) {
	c.fillStyle = style.dim;
	c.globalAlpha = 0.55;
	for (const loss of state.losses) {
		const [core, begin, end, n] = loss;
		if (core !== track.id) continue;
		const a = Math.max(left, x_of(begin)), b = Math.min(width, x_of(end));
		if (b < left || a > width) continue;
		c.fillRect(a, y, Math.max(2, b - a), track.height);
		if (b - a > 60) { c.fillStyle = style.back; c.fillText(n + " lost", a + 4, y + row / 2); c.fillStyle = style.dim; }
	}
	c.globalAlpha = 1;
}

// Draws on a thread's track the times in which it waited for the tracer: the darker, the greater their share of a pixel's time.
export function held(c, state, track, x_of, y, width, style) {
	const text = "waiting for devtrace", shares = new Float64Array(Math.max(0, Math.ceil(width - left)));
	const wide = [];
	for (const [thread, begin, end, ticks] of state.held) {
		if (thread !== track.id) continue;
		const a = Math.max(0, x_of(begin) - left), b = Math.min(shares.length, x_of(end) - left), share = ticks / (end - begin);
		for (let x = Math.floor(a); x < b; x++) shares[x] += share * (Math.min(b, x + 1) - Math.max(a, x));
		if (b - a > text.length * 6.4 + 8 && share >= 0.5) wide.push(a);
	}
	c.fillStyle = style.dim;
	for (let x = 0, to; x < shares.length; x = to) {
		for (to = x + 1; to < shares.length && shares[to] === shares[x]; to++);
		if (!shares[x]) continue;
		c.globalAlpha = Math.max(0.08, 0.55 * Math.min(1, shares[x]));
		c.fillRect(left + x, y, to - x, track.height);
	}
	c.globalAlpha = 1;
	c.fillStyle = style.back;
	for (const x of wide) c.fillText(text, left + x + 4, y + row / 2);
}

// Draws the pauses below all tracks: a bar that began before a pause is drawn over it.
export function pauses(c, state, x_of, width, height, style) {
	for (const pause of state.pauses) {
		const a = Math.max(left, x_of(pause[0])), b = Math.min(width, x_of(pause[1]));
		if (b < left || a > width) continue;
		c.fillStyle = style.dim;
		c.globalAlpha = 0.25;
		c.fillRect(a, top, Math.max(1, b - a), height - top);
		c.globalAlpha = 1;
		const text = pause_words(pause);
		if (b - a < text.length * 6.4 + 8) continue;
		c.textAlign = "left";
		c.fillText(text, a + 4, height - 22);
	}
	c.globalAlpha = 1;
}

// Returns what is missing on a track at time t, as lines of text, or null. near: ticks of a pixel or two. A loss is told even where there is a bar, a pause only where there is none.
export function gap_at(state, track, bar, t, near) {
	const there = (begin, end) => begin - near <= t && t <= end + near;
	const loss = track && track.kind === "core" && state.losses.find(l => l[0] === track.id && there(l[1], l[2]));
	const wait = track && track.kind === "thread" && state.held.find(h => h[0] === track.id && h[2] - h[1] > 4 * near && 2 * h[3] >= h[2] - h[1] && h[1] <= t && t <= h[2]);
	if (wait) {
		const [, begin, end, ticks, n] = wait, ns = state.ns_per_tick;
		return {key: "held:" + begin + ":" + end, lines: ["waiting for devtrace" + times(n) + ": of no call's time", "for " + duration(ticks * ns, 6), "from " + time(begin * ns, 1) + " to " + time(end * ns, 1)]};
	}
	const found = loss || (!bar && state.pauses.find(p => there(p[0], p[1])));
	if (!found) return null;
	const [begin, end] = loss ? [found[1], found[2]] : found, ns = state.ns_per_tick;
	return {key: (loss ? "lost:" : "pause:") + begin + ":" + end,
		lines: [loss ? lost_words(found) : pause_words(found), "for " + duration((end - begin) * ns, 6), "from " + time(begin * ns, 1) + " to " + time(end * ns, 1)]};
}
