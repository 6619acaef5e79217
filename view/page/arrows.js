// SPDX-License-Identifier: MIT
// Arrows of messages, from where they are sent to where they are received; and messages that lack one end.
import { row, top, y_in } from "./draw.js";

const SENT = 0xea000000, RECEIVED = 0xeb000000;

// Returns what a message's bar says: sender, receiver, cores, times.
export function message(track, bars, i) {
	const back = track.id === 1, high = bars.high[i];
	return {track: track.track, backward: back, sender: bars.what[i], receiver: bars.flags[i], key: bars.busy[i] + Math.floor(high / 2 ** 32) * 2 ** 48,
		from_core: high % 65536, to_core: Math.floor(high / 65536) % 65536,
		sent: back ? bars.end[i] : bars.begin[i], received: back ? bars.begin[i] : bars.end[i], begin: bars.begin[i], end: bars.end[i]};
}

// Returns the ends (time and thread) of the messages that have both ends, among the bars that the server has sent.
// together: times of bars that stand for several messages, whose ends are not known one by one.
export function ends(state) {
	const all = {sent: new Set(), received: new Set(), together: []};
	for (const track of state.tracks) {
		const bars = track.kind === "message" && state.bars.get(track.track);
		for (let i = 0; bars && i < bars.n; i++) {
			if (bars.count[i] > 1) { all.together.push([bars.begin[i], bars.end[i]]); continue; }
			const m = message(track, bars, i);
			all.sent.add(m.sent + ":" + m.sender);
			all.received.add(m.received + ":" + m.receiver);
		}
	}
	all.together.sort((a, b) => a[0] - b[0]);
	return all;
}

function is_together(list, t) {
	let low = 0, high = list.length;
	while (low < high) { const mid = (low + high) >> 1; if (list[mid][0] <= t) low = mid + 1; else high = mid; }
	for (let i = low - 1; i >= 0 && i > low - 8; i--) if (list[i][1] >= t) return true;
	return false;
}

// Returns which dots of an event track are messages without the other end, as a set; null: it is no track of messages.
export function unmatched(state, track, bars) {
	const id = track.id >>> 0;
	if (id !== SENT && id !== RECEIVED) return null;
	if (bars.alone && bars.alone.of === state.ends) return bars.alone.set;
	const mine = id === SENT ? state.ends.sent : state.ends.received, set = new Set();
	for (let i = 0; i < bars.n; i++)
		if (bars.count[i] === 1 && !mine.has(bars.begin[i] + ":" + bars.what[i]) && !is_together(state.ends.together, bars.begin[i])) set.add(i);
	bars.alone = {of: state.ends, set};
	return set;
}

export function head(c, x0, y0, x1, y1) {
	const length = Math.hypot(x1 - x0, y1 - y0);
	if (length < 8) return;
	const ux = (x1 - x0) / length, uy = (y1 - y0) / length;
	c.beginPath();
	c.moveTo(x1, y1);
	c.lineTo(x1 - 6 * ux + 3 * uy, y1 - 6 * uy - 3 * ux);
	c.lineTo(x1 - 6 * ux - 3 * uy, y1 - 6 * uy + 3 * ux);
	c.fill();
}

const most = 5000;	// arrows in a picture

// Draws arrows between the threads and between the cores. They are noted in state.arrows, for the pointer.
export function arrows(c, state, x_of, scroll, width, height, style) {
	state.arrows = [];
	if (state.hidden.has("arrow")) return;
	const of = new Map(state.tracks.filter(t => (!t.hidden || (t.tucked && t.head && !t.head.hidden)) && (t.kind === "core" || t.kind === "thread")).map(t => [t.kind + t.id, t]));
	for (const track of state.tracks) {
		const bars = track.kind === "message" && state.bars.get(track.track);
		if (!bars) continue;
		c.strokeStyle = c.fillStyle = track.id ? style.backward : style.arrow;
		for (let i = 0; i < bars.n && state.arrows.length < most; i++) {
			if (bars.count[i] > 1) continue;
			const m = message(track, bars, i), x0 = x_of(m.sent), x1 = x_of(m.received);
			if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) continue;
			for (const [a, b] of [[of.get("thread" + m.sender), of.get("thread" + m.receiver)], [of.get("core" + m.from_core), of.get("core" + m.to_core)]]) {
				if (!a || !b) continue;
				const y0 = y_in(a, scroll) + row / 2, y1 = y_in(b, scroll) + row / 2;
				if (Math.max(y0, y1) < top || Math.min(y0, y1) > height) continue;
				c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
				head(c, x0, y0, x1, y1);
				state.arrows.push({x0, y0, x1, y1, m});
			}
		}
	}
}

// Returns the message whose arrow is within 4 pixels of a point, or null.
export const arrow_at = (state, x, y) => nearest(state.arrows, x, y);

// The same of any list of arrows: what it stands for.
export function nearest(list, x, y) {
	let best = null, distance = 4;
	for (const a of list) {
		const dx = a.x1 - a.x0, dy = a.y1 - a.y0, length = dx * dx + dy * dy;
		const t = length ? Math.max(0, Math.min(1, ((x - a.x0) * dx + (y - a.y0) * dy) / length)) : 0;
		const d = Math.hypot(x - a.x0 - t * dx, y - a.y0 - t * dy);
		if (d < distance) { best = a.m; distance = d; }
	}
	return best;
}
