// SPDX-License-Identifier: MIT
// The machines of a trace that was made of several: a track for each, with how far its times may be wrong.
import { words } from "./beside.js";
import { duration } from "./text.js";

const hosts = 0x68000000;	// numbers of tracks that the server has not
const widest = 9;	// a band as high as the track: 10^9 ns

export let all = [];
export const take_hosts = list => { all = list ?? []; };
const of = id => all.findIndex(h => id >= h.first && id < h.end);
const of_core = core => all.findIndex(h => core >= h.core && core < h.core + h.cores);

// Returns a name with the machine's before it, if there are several.
export const with_host = (name, id) => { const h = all[of(id)]; return h ? h.name + ": " + name : name; };
export const core_name = (name, core) => { const i = of_core(core), h = all[i]; return h ? h.name + ": core " + (core - h.core) : name; };

// Compares two processes by their machines.
export const by_host = (a, b) => of(a) - of(b);

const worst = h => Math.max(0, ...h.bars.filter(b => !b[4]).map(b => Math.max(b[2], b[3])));
const bar_at = (h, time) => h.bars.find(b => time >= b[0] && time < b[1]) ?? (h.bars.length && time >= h.bars.at(-1)[1] ? h.bars.at(-1) : h.bars[0]);

// Returns how far a machine's times may be wrong, in words.
export function error_of(h) {
	if (words !== null) return h.reference ? "the first trace" : words ? "the same time: " + words : "the same time: the first record";
	return h.reference ? "reference" : !h.known ? "how far it is off is not known" : "at most " + duration(worst(h)) + " off" + (h.bars.some(b => b[4]) ? ", at times not known" : "");
}

// Returns the track that stands before a machine's processes; last: the machine of the track before; null: none is needed.
export function host_track(id, last, length) {
	const i = of(id);
	return i < 0 || i === last ? [null, last] : [{track: hosts + i, kind: "host", id: i, pid: 0, depths: 1, count: 0, begin: 0, end: length, name: all[i].name + " (" + error_of(all[i]) + ")"}, i];
}

// Draws a machine's error over time as a band, on a scale from 1 ns to 1 s, and in the middle of the picture as it is on the scale of the picture.
export function draw_host(c, state, t, x_of, y, width, left, style) {
	const h = all[t.id], middle = y + t.height / 2, high = e => Math.min(1, Math.log10(Math.max(1, e)) / widest) * (t.height / 2 - 1);
	if (!h) return;
	c.fillStyle = c.strokeStyle = style.mark;
	for (const [begin, end, early, late, unknown] of h.bars) {
		const a = Math.max(left, x_of(begin)), b = Math.min(width, x_of(end));
		if (b <= a) continue;
		c.globalAlpha = unknown ? 0.12 : 0.35;
		const up = unknown ? t.height / 2 - 1 : high(early), down = unknown ? t.height / 2 - 1 : high(late);
		c.fillRect(a, middle - up, b - a, up + down);
	}
	c.globalAlpha = 1;
	const now = (state.from + state.to) / 2, bar = bar_at(h, now);
	if (!bar || bar[4]) return;
	const a = x_of(now - bar[2] / state.ns_per_tick), b = x_of(now + bar[3] / state.ns_per_tick);
	if (b - a < 3) return;
	c.beginPath();
	c.moveTo(Math.max(left, a), middle); c.lineTo(Math.min(width, b), middle);
	for (const x of [a, b]) if (x >= left && x <= width) { c.moveTo(x, middle - 5); c.lineTo(x, middle + 5); }
	c.stroke();
}

// Returns what is told of a machine's track at a time.
export function describe_host(t, time) {
	const h = all[t.id], bar = h && bar_at(h, time);
	if (!h) return null;
	if (words !== null) return [h.name, error_of(h), "what is longer here than in the other trace moves all that follows"];
	if (h.reference) return [h.name, "the times are this machine's clock's"];
	if (!bar || bar[4]) return [h.name, "how far its times are off here is not known: nothing in the traces says so"];
	return [h.name, "what is drawn here may have been up to " + duration(bar[2]) + " earlier, or " + duration(bar[3]) + " later", "of what other machines did within that, it is not known which was first, unless messages say so"];
}
