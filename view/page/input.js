// SPDX-License-Identifier: MIT
// Mouse, touch and keys.
import { beside_text } from "./beside.js";
import { page_of_range } from "./save.js";
import { describe_host } from "./hosts.js";
import { state, show, zoom, pan, fit, redraw, relayout, take_process, whole } from "./main.js";
import { json, name, named, place } from "./data.js";
import { words } from "./activities.js";
import { arrow_at } from "./arrows.js";
import { wake_at } from "./wakes.js";
import { gap_at } from "./gaps.js";
import { left, paint, row, top, y_in } from "./draw.js";
import { describe as describe_answer } from "./sql.js";
import { Svg } from "./svg.js";
import { live } from "./live.js";
import { point_at, set_mark } from "./measure.js";
import { panel } from "./panel.js";
import { describe as describe_plot } from "./plots.js";
import { count, duration, marks, time } from "./text.js";
import { describe_head, describe_packed, describe_run, strip, toggle } from "./tracks.js";

const by_id = id => document.getElementById(id);
const tip = by_id("tip");

// Returns what to call when the tracks have been drawn: what is under a pointer that has not moved may be another thing.
export function input(canvas, map, scroll) {
	const time_at = x => state.from + (x - left) / (canvas.clientWidth - left) * (state.to - state.from);
	const track_at = y => state.tracks.find(t => !t.hidden && (t.pinned || y >= state.pinned) && y >= y_in(t, scroll.scrollTop) && y < y_in(t, scroll.scrollTop) + t.height);

	// Returns what is at a point: the track, and the bar if there is one.
	function under(x, y) {
		const track = y > top ? track_at(y) : null, bars = track && state.bars.get(track.track);
		const arrow = x >= left && y > top && arrow_at(state, x, y);
		if (arrow) return {track: state.tracks.find(t => t.track === arrow.track), bar: {...arrow, depth: 0, count: 1, arrow: true}};
		if (!bars || x < left) return {track};
		if (track.kind === "plot" || track.kind === "values") {
			const i = bars.at(0, time_at(x), 3 * (state.to - state.from) / (canvas.clientWidth - left));
			return i < 0 ? {track} : {track, bar: {track: track.track, depth: 0, begin: bars.begin[i], end: bars.end[i], count: 2, plot: i}};
		}
		const dots = track.kind === "event" || track.kind === "point";
		const depth = dots ? 0 : Math.floor((y - y_in(track, scroll.scrollTop)) / row);
		const i = bars.at(depth, time_at(x), (dots ? 4 : 2) * (state.to - state.from) / (canvas.clientWidth - left));
		if (i < 0 || depth >= track.shown) return {track};
		return {track, bar: {track: track.track, depth, begin: bars.begin[i], end: bars.end[i], busy: bars.busy[i], high: bars.high[i],
			count: bars.count[i], what: bars.what[i], flags: bars.flags[i]}};
	}

	// ---- the tooltip

	let asked = 0, over = "";

	function line(text, strong) {
		const e = document.createElement(strong ? "b" : "div");
		e.textContent = text;
		return e;
	}

	function times(bar) {
		const ns = state.ns_per_tick, out = [];
		const whole = bar.end - bar.begin, took = bar.took ?? whole;
		out.push(duration(took * ns, 6) + (took < whole ? ", without " + duration((whole - took) * ns, 6) + " of waiting for devtrace" : "") + (bar.self === undefined ? "" : ", itself " + duration(bar.self * ns, 6)));
		out.push("from " + time(bar.begin * ns, 1) + " to " + time(bar.end * ns, 1));
		if (state.selection) out.push("from the selection's begin: " + time((bar.begin - state.selection[0]) * ns, 1));
		return out;
	}

	function of_message(m) {
		const ns = state.ns_per_tick, at = t => time(t * ns, 1) + (state.selection ? " (" + time((t - state.selection[0]) * ns, 1) + " from the selection's begin)" : "");
		return [line("message 0x" + m.key.toString(16), true),
			line("sent at " + at(m.sent) + " by " + state.thread_name(m.sender) + ", core " + m.from_core),
			line("received at " + at(m.received) + " by " + state.thread_name(m.receiver) + ", core " + m.to_core),
			line(m.backward ? "received " + duration((m.sent - m.received) * ns) + " before it was sent: the cores' clocks differ" : "took " + duration((m.received - m.sent) * ns))];
	}

	function describe(track, bar, call) {
		const core = track.kind === "core", lines = [];
		if (bar.arrow) return of_message(bar);
		if (track.kind === "pack") return describe_packed(state.bars.get(track.track), bar.what).map((text, i) => line(text, !i));
		if (track.kind === "values" || track.kind === "answer") return describe_answer(track, bar.plot ?? bar.what).map((text, i) => line(text, !i));
		if (track.kind === "plot") return describe_plot(track, bar.plot).map((text, i) => line(text, !i));
		if (track.kind === "activity") {
			const bars = state.bars.get(track.track), i = bar.what;
			if (bar.count > 1) return [line(count(bar.count) + " × " + track.name, true), line(duration(bar.busy * state.ns_per_tick) + " together, in " + duration((bar.end - bar.begin) * state.ns_per_tick))];
			return [line((track.name + " " + words(bars, i)).trim(), true), ...times(bar).map(text => line(text)), ...(bars.list[i].thread >= 0 ? [line(state.thread_name(bars.list[i].thread))] : [])];
		}
		if (track.kind === "message") {
			lines.push(line(count(bar.count) + (track.id ? " messages received before they were sent" : bar.count > 1 ? " messages" : " message"), true));
			lines.push(line("in " + duration((bar.end - bar.begin) * state.ns_per_tick) + (bar.count > 1 ? "; zoom in to see them" : "")));
			return lines;
		}
		if (track.kind === "event" || track.kind === "point") {
			lines.push(line(track.name, true));
			lines.push(line(bar.count > 1 ? count(bar.count) + " of them, values " + bar.busy + " to " + bar.high : "value " + bar.busy + " (0x" + bar.busy.toString(16) + ")"));
			lines.push(line((bar.count > 1 ? "mostly " : "") + state.thread_name(bar.what)));
			lines.push(line("at " + time(bar.begin * state.ns_per_tick, 1)));
			return lines;
		}
		const what = core ? state.thread_name(bar.what) : name(bar.what, redraw);
		if (bar.count > 1) {
			lines.push(line(count(bar.count) + (core ? " times a thread ran, most " : " short calls, most of the time in ") + what, true));
			lines.push(line(duration(bar.busy * state.ns_per_tick) + " together, in " + duration((bar.end - bar.begin) * state.ns_per_tick)));
			lines.push(line("zoom in to see them"));
			return lines;
		}
		lines.push(line(call ? call.text : what, true));
		for (const text of times({...bar, self: call && call.self, took: track.kind === "thread" ? bar.busy : undefined})) lines.push(line(text));
		if (!core) {
			const [, module, file, number, unhooked] = place(bar.what), special = marks(bar.flags);
			if (special) lines.push(line(special));
			const told = beside_text(bar.what);
			if (told) lines.push(line(told));
			if (unhooked) lines.push(line("its own time includes what is not hooked: " + unhooked));
			lines.push(line(track.name + (module ? " · " + module : "") + (file ? " · " + file + ":" + number : "")));
		} else if (bar.flags & 1) {
			lines.push(line("told from the records there, not from switches"));
		}
		return lines;
	}

	// Shows the tooltip at the pointer; false: it already shows what `key' stands for.
	function put(x, y, key) {
		tip.hidden = false;
		const w = canvas.clientWidth;
		tip.style.left = x < w / 2 ? x + 14 + "px" : "";
		tip.style.right = x < w / 2 ? "" : w - x + 14 + "px";
		tip.style.top = y < canvas.clientHeight / 2 ? y + 14 + "px" : "";
		tip.style.bottom = y < canvas.clientHeight / 2 ? "" : canvas.clientHeight - y + 14 + "px";
		if (key === over) return false;
		over = key;
		clearTimeout(asked);
		return true;
	}

	function tell_gap(x, y, gap) {
		if (put(x, y, gap.key)) tip.replaceChildren(...gap.lines.map((text, i) => line(text, !i)));
	}

	function tell(x, y, track, bar) {
		const key = track.track + ":" + bar.depth + ":" + bar.begin + ":" + bar.end;
		if (!put(x, y, key)) return;
		tip.replaceChildren(...describe(track, bar));
		if (track.kind !== "thread" || bar.count > 1) return;
		asked = setTimeout(async () => {
			try {
				const call = await json("call", {track: track.track, begin: bar.begin, end: bar.end, depth: bar.depth, what: bar.what});
				if (over === key) tip.replaceChildren(...describe(track, bar, call));
			} catch { /* the tooltip stays without the call's values */ }
		}, 60);
	}

	function hush() {
		tip.hidden = true;
		over = "";
		clearTimeout(asked);
	}

	// ---- pointers

	const fingers = new Map();
	let drag = null, still = null;	// still: where the pointer is, when it drags nothing

	// Tells of what is at a point.
	function point(x, y) {
		const {track, bar} = under(x, y);
		canvas.style.cursor = x < left && track && (track.kind === "thread" || track.kind === "process") ? "pointer" : "default";
		const wake = x >= left && y > top ? wake_at(x, y) : null, gap = wake ?? (x >= left && y > top && gap_at(state, track, bar, time_at(x), 2 * (state.to - state.from) / (canvas.clientWidth - left)));
		const lines = x >= left && track && !gap && (track.kind === "host" ? describe_host(track, time_at(x)) : track.kind === "process" ? describe_head(track, time_at(x)) : track.kind === "thread" && state.switches && y >= y_in(track, scroll.scrollTop) + track.height - strip ? describe_run(track, time_at(x)) : null);
		if (gap) tell_gap(x, y, gap); else if (lines) tell_gap(x, y, {key: lines.join("\0"), lines}); else if (bar) tell(x, y, track, bar); else hush();
	}

	const spot = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };

	canvas.addEventListener("pointerdown", e => {
		const [x, y] = spot(e);
		canvas.setPointerCapture(e.pointerId);
		fingers.set(e.pointerId, [x, y]);
		canvas.focus({preventScroll: true});
		if (x < left && y > top) {
			const t = track_at(y);
			if (t && t.kind === "process") toggle(t);
			if (t && t.kind === "thread") { t.open = !t.open; relayout(); }
			return;
		}
		drag = {x, y, from: state.from, to: state.to, scroll: scroll.scrollTop, select: e.shiftKey || y < top, moved: false};
	});
	canvas.addEventListener("pointermove", e => {
		const [x, y] = spot(e), before = fingers.get(e.pointerId);
		if (fingers.size === 2 && before) {
			const other = [...fingers.entries()].find(([id]) => id !== e.pointerId)[1];
			const was = Math.abs(before[0] - other[0]), is = Math.abs(x - other[0]);
			if (was > 5 && is > 5) zoom(was / is, (x + other[0]) / 2);
			fingers.set(e.pointerId, [x, y]);
			drag = null;
			return;
		}
		if (before) fingers.set(e.pointerId, [x, y]);
		if (!drag) {
			still = [x, y];
			point_at(x >= left ? time_at(x) : null);
			point(x, y);
			return;
		}
		if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
		drag.moved = true;
		hush();
		if (drag.select) {
			const a = time_at(Math.max(left, drag.x)), b = time_at(Math.max(left, x));
			state.selection = [Math.max(0, Math.min(a, b)), Math.min(state.length, Math.max(a, b))];
			redraw();
		} else {
			const per = (drag.to - drag.from) / (canvas.clientWidth - left);
			live.moved();
			scroll.scrollTop = drag.scroll - (y - drag.y);
			show(drag.from - (x - drag.x) * per, drag.to - (x - drag.x) * per);
		}
	});
	function up(e) {
		const [x, y] = spot(e), was = drag;
		fingers.delete(e.pointerId);
		drag = null;
		if (!was) return;
		if (was.moved) {
			if (was.select) { show(state.from, state.to); panel.selected(); }
			return;
		}
		const {track, bar} = under(x, y);
		if (bar && track.kind === "pack") { if (bar.count === 1) take_process(state.bars.get(track.track).list[bar.what].pid); return; }
		state.picked = bar || null;
		panel.picked(bar);
		redraw();
	}
	canvas.addEventListener("pointerup", up);
	canvas.addEventListener("pointercancel", e => { fingers.delete(e.pointerId); drag = null; });
	canvas.addEventListener("pointerleave", () => { still = null; point_at(null); hush(); });
	canvas.addEventListener("dblclick", e => {
		const {bar} = under(...spot(e));
		if (!bar) return;
		const margin = Math.max(5, (bar.end - bar.begin) * 0.05);
		show(bar.begin - margin, bar.end + margin);
	});
	canvas.addEventListener("wheel", e => {
		const [x] = spot(e);
		if (e.ctrlKey || e.metaKey) zoom(Math.exp(Math.max(-100, Math.min(100, e.deltaY)) * 0.004), Math.max(left, x));
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) live.moved(), pan((e.deltaX || e.deltaY) / canvas.clientWidth);
		else return;	// the tracks scroll
		e.preventDefault();
		hush();
	}, {passive: false});

	// ---- the map

	const to_map = e => {
		live.moved();
		const r = map.getBoundingClientRect(), t = (e.clientX - r.left) / r.width * state.length, span = state.to - state.from;
		show(t - span / 2, t + span / 2);
	};
	map.addEventListener("pointerdown", e => { map.setPointerCapture(e.pointerId); to_map(e); });
	map.addEventListener("pointermove", e => { if (e.buttons) to_map(e); });

	// ---- keys

	const keys = {
		w: () => zoom(0.7), "+": () => zoom(0.7), "=": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
		a: () => { live.moved(); pan(-0.2); }, d: () => { live.moved(); pan(0.2); },
		arrowleft: () => { live.moved(); pan(-0.2); }, arrowright: () => { live.moved(); pan(0.2); }, f: fit,
		arrowup: () => { scroll.scrollTop -= 60; }, arrowdown: () => { scroll.scrollTop += 60; },
		"/": () => by_id("search").focus(), "\\": () => by_id("filter").focus(),
		"[": () => set_mark("a"), "]": () => set_mark("b"),
		p: () => panel.open("plots"), q: () => panel.open("sql"), b: panel.bookmark, l: () => panel.open("list"), c: () => panel.open("call"), t: () => panel.open("path"), "?": () => by_id("keys").showModal(),
		escape: () => { state.selection = state.picked = null; panel.selected(); still = null; hush(); show(state.from, state.to); },
	};
	document.addEventListener("keydown", e => {
		if ((e.target.tagName === "INPUT" && e.target.type !== "checkbox") || /SELECT|TEXTAREA/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey || by_id("keys").open) return;
		const key = keys[e.key.toLowerCase()];
		if (!key) return;
		e.preventDefault();
		key();
	});

	// ---- buttons

	by_id("in").onclick = () => zoom(0.7);
	by_id("out").onclick = () => zoom(1 / 0.7);
	by_id("fit").onclick = fit;
	by_id("help").onclick = () => by_id("keys").showModal();
	by_id("theme").onclick = () => {
		const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
		document.documentElement.dataset.theme = theme;
		localStorage.setItem("devtrace.theme", theme);
		redraw();
	};
	function save(blob, kind) {
		const a = document.createElement("a");
		a.href = URL.createObjectURL(blob);
		a.download = document.title.replace(/ – devtrace$/, "") + kind;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	}
	by_id("picture").onclick = () => canvas.toBlob(blob => save(blob, ".png"));
	by_id("html").onclick = async () => {
		const said = by_id("progress");
		said.textContent = "making the file…";
		try { save(new Blob([await page_of_range()], {type: "text/html"}), ".html"); said.textContent = "saved: what is selected, or shown, as one file"; } catch (e) { said.textContent = "no file: " + e.message; }
	};
	// the SVG picture has all tracks, not only those in the window
	by_id("vector").onclick = async () => {
		let all;
		try { all = await whole(); } catch (e) { by_id("progress").textContent = "no picture: " + e.message; return; }
		const height = Math.max(canvas.clientHeight, ...state.tracks.map(t => t.y + t.height + 4));
		const draw_it = () => { const svg = new Svg(canvas.clientWidth, height); paint(svg, canvas.clientWidth, height, all, 0, () => {}); return svg; };
		draw_it();	// asks for the names
		await named();
		const svg = draw_it();
		save(new Blob([svg.text()], {type: "image/svg+xml"}), ".svg");
	};
	return () => { if (still && !drag) point(...still); };
}
