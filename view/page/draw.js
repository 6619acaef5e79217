// SPDX-License-Identifier: MIT
// The picture: tracks below each other, bars in them.
import { draw_host } from "./hosts.js";
import { held, lost, pauses } from "./gaps.js";
import { shade } from "./beside.js";
import { name } from "./data.js";
import { words } from "./activities.js";
import { arrows, unmatched } from "./arrows.js";
import { draw_marks } from "./measure.js";
import { draw_plot } from "./plots.js";
import { is_question, words as answer_words } from "./sql.js";
import { draw_head, draw_runs, strip } from "./tracks.js";
import { draw_path } from "./path.js";
import { draw_wakes } from "./wakes.js";
import { time, duration } from "./text.js";

export const left = 190;	// pixels: width of the names
export const top = 26;		// pixels: height of the scale
export const row = 17;		// pixels: height of one depth
const gap = 5;			// pixels between tracks
const rows_folded = 40;		// rows of all folded tracks together; each has 3 to 12 of them

// Okabe and Ito's colours, which colour-blind people can tell apart, each in three strengths.
const hues = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [240, 228, 66], [120, 120, 140]];
const colours = {};

function mix(hue, with_, share) {
	return "rgb(" + hue.map((v, i) => Math.round(v * (1 - share) + with_[i] * share)).join(",") + ")";
}

export function palette(dark) {
	const key = dark ? "dark" : "light";
	if (!colours[key]) {
		const back = dark ? [20, 24, 29] : [255, 255, 255];
		colours[key] = {fill: [], text: [], back};
		for (const share of [0.35, 0.5, 0.2])
			for (const hue of hues) {
				const c = hue.map((v, i) => v * (1 - share) + back[i] * share);
				colours[key].fill.push(mix(hue, back, share));
				colours[key].text.push(0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] > 130 ? "#111" : "#fff");
			}
	}
	return colours[key];
}

export function colour_index(id) {
	return (Math.imul(id, 0x9e3779b1) >>> 8) % 24;
}

// Sets each track's y from the top of all tracks, its height, and how many depths are shown; returns the height of all. Pinned tracks come first, and do not scroll.
export function layout(state) {
	const threads = state.tracks.filter(t => t.kind === "thread" && !t.tucked).length;
	const folded = Math.max(3, Math.min(12, Math.floor(rows_folded / Math.max(1, threads))));
	let y = top + gap;
	state.pinned = top;
	for (const t of state.tracks) {
		t.hidden = (state.hidden.has(t.kind) && !t.pinned) || t.gone || t.tucked || (t.kind === "process" && state.hidden.has("thread"));
		if (t.hidden) { t.y = t.tucked && t.head ? t.head.y : y; t.height = t.shown = 0; continue; }
		t.folds = t.kind === "thread" && t.depths > folded;
		if (t.kind === "thread") t.shown = t.open ? t.depths : Math.min(t.depths, folded);
		else t.shown = t.kind === "activity" || t.kind === "answer" || t.kind === "pack" ? state.bars.get(t.track)?.depths ?? 1 : 1;
		t.y = y;
		t.height = t.kind === "plot" || t.kind === "values" ? 5 * row : t.kind === "event" || t.kind === "point" ? 2 * row : Math.max(1, t.shown) * row;
		if (t.kind === "thread" && state.switches) t.height += strip;
		y += t.height + gap;
		if (t.pinned) state.pinned = y - gap / 2;
	}
	return y;
}

// Returns where a track is in the picture.
export const y_in = (t, scroll) => t.pinned ? t.y : t.y - scroll;

function step_for(per_pixel) {
	const least = 90 * per_pixel, power = 10 ** Math.floor(Math.log10(least));
	for (const m of [1, 2, 5, 10]) if (m * power >= least) return m * power;
	return 10 * power;
}

function scale(c, state, width, style) {
	const ns = state.ns_per_tick, per = (state.to - state.from) / (width - left) * ns, step = step_for(per);
	c.fillStyle = style.face;
	c.fillRect(0, 0, width, top);
	c.fillStyle = c.strokeStyle = style.dim;
	c.textBaseline = "middle";
	c.textAlign = "left";
	for (let t = Math.ceil(state.from * ns / step) * step; t < state.to * ns; t += step) {
		const x = Math.round(left + (t - state.from * ns) / per) + 0.5;
		if (x < left) continue;
		c.fillText(time(t, step), x + 4, top / 2);
		c.beginPath(); c.moveTo(x, 4); c.lineTo(x, top); c.stroke();
	}
	c.fillText(duration((state.to - state.from) * ns), 8, top / 2);
}

// Draws the mark of a message without its other end.
function diamond(c, x, y, style) {
	const fill = c.fillStyle;
	c.fillStyle = style.alone;
	c.beginPath(); c.moveTo(x - 4, y); c.lineTo(x, y - 4); c.lineTo(x + 4, y); c.lineTo(x, y + 4); c.fill();
	c.fillStyle = fill;
}

function dots(c, state, track, bars, x_of, y, style, shades) {
	let low = Infinity, high = -Infinity;
	for (let i = 0; i < bars.n; i++) { low = Math.min(low, bars.busy[i]); high = Math.max(high, bars.high[i]); }
	const h = track.height - 4, v_of = v => y + track.height - 3 - (high > low ? (v - low) / (high - low) : 0.5) * (h - 3);
	c.fillStyle = shades.fill[colour_index(track.id * 7 + 3)];
	const alone = track.kind === "event" && unmatched(state, track, bars);
	for (let i = 0; i < bars.n; i++) {
		if (alone && alone.has(i)) { diamond(c, x_of(bars.begin[i]), v_of(bars.high[i]), style); continue; }
		const x = x_of(bars.begin[i]), a = v_of(bars.high[i]), b = v_of(bars.busy[i]);
		c.fillRect(x - 1, a - 1.5, Math.max(2.5, x_of(bars.end[i]) - x), Math.max(3, b - a + 3));
	}
	if (high > low) {
		// inside the picture: left of it are the tracks' names
		c.fillStyle = style.dim;
		c.textAlign = "left";
		c.fillText(String(high), left + 3, y + 7);
		c.fillText(String(low), left + 3, y + track.height - 7);
	}
}

function rows(c, state, track, bars, x_of, y, width, shades, style, changed) {
	const core = track.kind === "core", message = track.kind === "message", activity = track.kind === "activity", pack = track.kind === "pack", answer = track.kind === "answer";
	for (let d = 0; d < Math.min(track.shown, bars.first.length - 1); d++) {
		const at = y + d * row;
		let drawn = -Infinity;
		for (let i = bars.first[d]; i < bars.first[d + 1]; i++) {
			let a = x_of(bars.begin[i]), b = x_of(bars.end[i]);
			if (b < left || a > width) continue;
			a = Math.max(a, left);
			b = Math.min(b, width);
			let w = b - a;
			const ends = x_of(bars.end[i]) <= width;	// marks of the end are drawn only if the end is in the picture
			if (w < 1) { w = 1; if (a + w <= drawn) continue; }
			const what = bars.what[i], k = message ? track.id : colour_index(core ? state.pid_of(what) : activity || answer ? track.id * 5 + 2 : pack ? bars.list[i].pid : what);
			const beside = track.kind === "thread" ? shade(what, shades.back) : null;
			const lit = !state.found.size || (track.kind === "thread" && state.found.has(what));
			c.globalAlpha = (lit ? 1 : 0.18) * (bars.count[i] > 1 ? 0.35 + 0.65 * Math.min(1, bars.busy[i] / Math.max(1, bars.end[i] - bars.begin[i])) : 1);
			c.fillStyle = message ? (track.id ? style.backward : style.arrow) : beside?.fill ?? shades.fill[k];
			c.fillRect(a, message && bars.count[i] === 1 ? at + 6 : at, w, message && bars.count[i] === 1 ? 4 : row - 1);
			drawn = a + w;
			if (bars.count[i] === 1 && bars.flags[i] & 2 && track.kind === "thread" && ends && w > 3) {	// a tail call: a pointed end
				c.fillStyle = style.back;
				c.beginPath(); c.moveTo(b, at); c.lineTo(b - Math.min(5, w), at + row - 1); c.lineTo(b, at + row - 1); c.fill();
			}
			if (bars.count[i] === 1 && bars.flags[i] & 1 && track.kind === "thread" && ends && w > 3) {	// unwound: a cut corner
				c.fillStyle = style.back;
				c.beginPath(); c.moveTo(b, at); c.lineTo(b - Math.min(6, w), at); c.lineTo(b, at + 6); c.fill();
			}
			if (track.kind === "thread" && bars.flags[i] & (64 | 8192) && w > 1) { c.fillStyle = style.dim; c.fillRect(a, at + row - 4, w, 3); }
			if (w > 22) {
				const text = core ? state.thread_name(what) : message ? "" : activity ? words(bars, i) : answer ? answer_words(bars, i) : pack ? bars.list[i].name : name(what, changed) + (beside?.more ?? ""), more = bars.count[i] > 1 ? bars.count[i] + " × " : "";
				c.globalAlpha = lit ? 1 : 0.4;
				c.fillStyle = bars.count[i] > 1 ? style.fore : beside?.text ?? shades.text[k];
				c.textAlign = "left";
				const room = Math.floor((w - 6) / 6.4), full = more + text;
				if (room > 1) c.fillText(full.length > room ? full.slice(0, room - 1) + "…" : full, a + 3, at + row / 2);
			}
		}
	}
	c.globalAlpha = 1;
}

export function style_of() {
	const css = getComputedStyle(document.documentElement), style = {};
	for (const key of ["back", "fore", "dim", "line", "face", "mark", "arrow", "backward", "alone"]) style[key] = css.getPropertyValue("--" + key);
	return style;
}

export function draw(canvas, state, scroll, changed) {
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const c = canvas.getContext("2d");
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	paint(c, width, height, state, scroll, changed);
}

// Draws on anything that has a canvas context's functions (svg.js).
export function paint(c, width, height, state, scroll, changed) {
	const style = style_of();
	const shades = palette(document.documentElement.dataset.theme === "dark");
	const per = (state.to - state.from) / (width - left), x_of = t => left + (t - state.from) / per;
	c.font = "11.5px system-ui, sans-serif";
	c.textBaseline = "middle";
	c.fillStyle = style.back;
	c.fillRect(0, 0, width, height);
	pauses(c, state, x_of, width, height, style);
	for (const t of state.tracks) {
		const y = y_in(t, scroll), upper = t.pinned ? top : state.pinned ?? top;
		if (t.hidden || y > height || y + t.height < upper) continue;
		const bars = state.bars.get(t.track);
		c.save();
		c.beginPath(); c.rect(left, upper, width - left, height - upper); c.clip();
		if (bars && (t.kind === "event" || t.kind === "point")) dots(c, state, t, bars, x_of, y, style, shades);
		else if (t.kind === "plot" || t.kind === "values") { if (bars) draw_plot(c, state, t, bars, x_of, y, width, left, style, shades.fill[colour_index(t.id * 11 + 5)]); }
		else if (t.kind === "host") draw_host(c, state, t, x_of, y, width, left, style);
		else if (t.kind === "process") { if (bars) draw_head(c, state, t, bars, x_of, y, width, left, shades.fill[colour_index(t.id)], style); }
		else if (bars) rows(c, state, t, bars, x_of, y, width, shades, style, changed);
		if (t.kind === "core") lost(c, state, t, x_of, y, width, style);
		if (t.kind === "thread") held(c, state, t, x_of, y, width, style);
		if (t.kind === "thread" && state.switches) draw_runs(c, t, x_of, y, width, left, style);
		c.restore();
		c.fillStyle = style.fore;
		c.textAlign = "left";
		const fold = t.kind === "process" ? (t.folded ? "▸ " : "▾ ") : t.folds ? (t.open ? "▾ " : "▸ ") : "";
		c.save();
		c.beginPath(); c.rect(0, upper, left - 6, height); c.clip();
		c.fillText((t.pinned ? "• " : "") + fold + t.name, t.kind === "thread" && t.head && !t.pinned ? 18 : 8, Math.max(y, upper - 6) + row / 2);
		c.restore();
		c.strokeStyle = style.line;
		c.beginPath(); c.moveTo(0, y + t.height + gap / 2 + 0.5); c.lineTo(width, y + t.height + gap / 2 + 0.5); c.stroke();
	}
	c.save();
	c.beginPath(); c.rect(left, top, width - left, height - top); c.clip();
	arrows(c, state, x_of, scroll, width, height, style);
	draw_wakes(c, x_of, scroll, width, height, style);
	draw_path(c, x_of, scroll, width, height, style);
	c.restore();
	for (const mark of [...state.marks, ...(state.notes ?? []).filter(n => !is_question(n))]) {
		const x = Math.round(x_of(mark.from)) + 0.5;
		if (x < left || x > width) continue;
		c.strokeStyle = c.fillStyle = style.mark;
		c.beginPath(); c.moveTo(x, top - 8); c.lineTo(x, height); c.stroke();
		c.textAlign = "left";
		c.fillText(mark.name, x + 3, height - 8);
	}
	draw_marks(c, state, x_of, left, top, width, height, style);
	if (state.selection) {
		const a = Math.max(left, x_of(state.selection[0])), b = Math.min(width, x_of(state.selection[1]));
		c.fillStyle = style.mark;
		c.globalAlpha = 0.12;
		if (b > a) c.fillRect(a, 0, b - a, height);
		c.globalAlpha = 1;
	}
	if (state.picked) {
		const p = state.picked, t = state.tracks.find(t => t.track === p.track);
		if (t && p.depth < t.shown) {
			const a = Math.max(left, x_of(p.begin)), b = Math.min(width, x_of(p.end));
			c.strokeStyle = style.fore;
			c.lineWidth = 2;
			if (b >= left && a <= width && (t.pinned || t.y - scroll + p.depth * row >= (state.pinned ?? top) - row)) c.strokeRect(a, y_in(t, scroll) + p.depth * row, Math.max(2, b - a), row - 1);
			c.lineWidth = 1;
		}
	}
	scale(c, state, width, style);
}

// Draws the map of the whole trace: for each pixel, how much of its time was in calls, or on cores.
export function draw_map(canvas, state, bars) {
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	const c = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
	const x_of = t => t / Math.max(1, state.length) * width, sums = new Float64Array(width + 1);
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.fillStyle = css.getPropertyValue("--back");
	c.fillRect(0, 0, width, height);
	for (const b of bars.values())
		for (let i = 0; i < b.n; i++) {
			const from = x_of(b.begin[i]), to = Math.max(x_of(b.end[i]), from + 1e-9), busy = Math.min(1, b.busy[i] / Math.max(1, b.end[i] - b.begin[i]));
			for (let x = Math.floor(from); x <= Math.min(width, Math.floor(to)); x++)
				sums[x] += busy * (Math.min(x + 1, to) - Math.max(x, from));
		}
	const most = Math.max(...sums, 1e-9);
	c.fillStyle = palette(document.documentElement.dataset.theme === "dark").fill[0];
	for (let x = 0; x < width; x++) c.fillRect(x, height - sums[x] / most * (height - 4), 1, height);
	c.fillStyle = css.getPropertyValue("--mark");
	c.globalAlpha = 0.25;
	const a = x_of(state.from), b = x_of(state.to);
	c.fillRect(a, 0, Math.max(2, b - a), height);
	c.globalAlpha = 1;
	c.strokeStyle = css.getPropertyValue("--mark");
	c.strokeRect(a + 0.5, 0.5, Math.max(2, b - a) - 1, height - 1);
}
