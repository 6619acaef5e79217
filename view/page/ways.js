// SPDX-License-Identifier: MIT
// The ways by which calls of the range were reached: as a flame, from the outermost calls down, and from each function up to its callers.
import { state } from "./main.js";
import { name, named } from "./data.js";
import { colour_index, palette } from "./draw.js";
import { element, fetch_range, takers } from "./tables.js";
import { count, duration } from "./text.js";

const row = 18, ticks = v => duration(v * state.ns_per_tick), other = 1;	// other: the node of ways that are too many
const share = (v, of) => (of ? 100 * v / of : 0).toFixed(1) + " %";
const title = n => n.id === other ? "further ways" : name(n.function, () => {}) || "?";

// Returns the tree: node 0 is all of it. Each node has total, the time in which its way was open.
export function tree_of(ways) {
	const nodes = new Map([[0, {id: 0, function: 0, calls: 0, self: 0, total: 0, children: [], depth: 0}]]);
	for (const [id, parent, func, calls, self] of ways) {
		const up = nodes.get(parent), node = {id, up, function: func, calls, self, total: 0, children: [], depth: up.depth + 1};
		nodes.set(id, node);
		up.children.push(node);
	}
	for (const n of [...nodes.values()].reverse()) {
		n.total += n.self;
		if (n.up) n.up.total += n.total;
		n.children.sort((a, b) => b.total - a.total);
	}
	return nodes.get(0);
}

const all = (n, out = []) => { out.push(n); for (const c of n.children) all(c, out); return out; };
const way = n => n.up && n.up.id >= 0 && n.up.depth > 0 ? way(n.up) + ";" + title(n) : title(n);

// ---- the flame

// Black or white, whichever can be read better on a colour.
function ink(colour) {
	const [r, g, b] = colour.match(/\d+/g).map(v => (v = v / 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

function flame(into, root) {
	const box = element("div", "", {className: "flame"}), told = element("p"), shades = palette(document.documentElement.dataset.theme === "dark");
	let zoomed = root;
	const say = n => { told.textContent = (n.depth ? title(n) : "all") + ": " + ticks(n.total) + ", " + share(n.total, root.total) + "; itself " + ticks(n.self) + "; " + count(n.calls) + " calls ended"; };
	const fill = focus => {
		const width = Math.max(200, into.clientWidth - 24), boxes = new Map();
		let deepest = 0;
		box.replaceChildren();
		const put = (n, x, w, depth) => {
			const b = element("button", n.depth ? title(n) : "all", {type: "button", tabIndex: -1, title: (n.depth ? title(n) : "all") + "\n" + ticks(n.total) + ", " + share(n.total, root.total) + "; itself " + ticks(n.self)});
			const colour = n.depth ? shades.fill[colour_index(n.function)] : "rgb(128,128,128)";
			Object.assign(b.style, {left: x + "px", top: depth * row + "px", width: Math.max(1, w - 1) + "px", background: colour, color: ink(colour)});
			b.setAttribute("aria-label", b.textContent + ", " + ticks(n.total) + ", " + share(n.total, root.total) + ", itself " + ticks(n.self));
			b.onclick = () => { zoomed = n; fill(n); };
			b.onfocus = b.onpointerenter = () => say(n);
			boxes.set(n, b);
			box.append(b);
			deepest = Math.max(deepest, depth);
		};
		// the callers of what is widened are as wide as it is
		const above = [];
		for (let n = zoomed.up; n; n = n.up) above.unshift(n);
		above.forEach((n, i) => put(n, 0, width, i));
		let thin = 0;
		const below = (n, x, w, depth) => {
			put(n, x, w, depth);
			for (const c of n.children) {
				const wide = n.total ? w * c.total / n.total : 0;
				if (wide < 2) { thin++; continue; }
				below(c, x, wide, depth + 1);
				x += wide;
			}
		};
		below(zoomed, 0, width, above.length);
		box.style.height = (deepest + 1) * row + "px";
		box.dataset.thin = thin;
		const at = boxes.get(focus ?? zoomed);
		at.tabIndex = 0;
		if (focus) at.focus();
		say(zoomed);
		box.onkeydown = e => {
			const n = [...boxes].find(([, b]) => b === document.activeElement)?.[0];
			if (!n) return;
			const beside = n.up ? n.up.children.filter(c => boxes.has(c)) : [n], i = beside.indexOf(n);
			const to = {ArrowUp: n.up, ArrowDown: n.children.find(c => boxes.has(c)), ArrowLeft: beside[i - 1], ArrowRight: beside[i + 1], Home: root, Backspace: zoomed.up}[e.key];
			if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "Backspace"].includes(e.key)) return;
			e.preventDefault();
			e.stopPropagation();
			if (!to) return;
			if (e.key === "Home" || e.key === "Backspace") { zoomed = to; fill(to); return; }
			boxes.get(n).tabIndex = -1;
			boxes.get(to).tabIndex = 0;
			boxes.get(to).focus();
		};
	};
	told.setAttribute("role", "status");
	into.append(told, box);
	fill();
}

// ---- trees with rows that unfold

// Draws a tree. roots and below() give items {name, total, self, calls}; below() those under one.
function unfolding(into, titles, roots, below, whole) {
	const t = element("table"), head = t.createTHead().insertRow(), body = t.createTBody(), most = 200;
	for (const text of titles) { const th = element("th", text, {scope: "col"}); head.append(th); }
	const add = (items, depth, after) => {
		for (const item of items.slice(0, most)) {
			const tr = body.insertRow(after ? after.sectionRowIndex + 1 : -1), b = element("button", item.name, {type: "button"}), td = tr.insertCell();
			const under = below(item);
			td.style.paddingLeft = 8 + 14 * depth + "px";
			b.disabled = !under.length;
			const mark = open => { b.textContent = (under.length ? (open ? "▾ " : "▸ ") : "") + item.name; if (under.length) b.setAttribute("aria-expanded", String(open)); };
			mark(false);
			td.append(b);
			for (const text of [ticks(item.total), share(item.total, whole), ...(titles.length > 4 ? [ticks(item.self)] : []), count(item.calls)]) tr.insertCell().textContent = text;
			tr.dataset.depth = depth;
			const unfold = () => {
				if (b.getAttribute("aria-expanded") === "true") {
					while (tr.nextSibling && Number(tr.nextSibling.dataset.depth) > depth) tr.nextSibling.remove();
					mark(false);
				} else {
					add(under, depth + 1, tr);
					mark(true);
				}
			};
			b.onclick = unfold;
			b.onkeydown = e => {
				const open = b.getAttribute("aria-expanded") === "true";
				if ((e.key === "ArrowRight" && under.length && !open) || (e.key === "ArrowLeft" && open)) unfold();
				else if (e.key === "ArrowDown" || e.key === "ArrowUp") (e.key === "ArrowDown" ? tr.nextSibling : tr.previousSibling)?.querySelector("button")?.focus();
				else if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
				e.preventDefault();
				e.stopPropagation();
			};
			after = after && tr;
			if (depth < 40 && under.length && item.total > whole / 2) { unfold(); after = after && last_below(tr, depth); }
		}
		if (items.length > most) {
			const tr = body.insertRow(after ? after.sectionRowIndex + 1 : -1);
			tr.insertCell().textContent = "and " + count(items.length - most) + " more";
			tr.dataset.depth = depth;
		}
	};
	const last_below = (tr, depth) => { while (tr.nextSibling && Number(tr.nextSibling.dataset.depth) > depth) tr = tr.nextSibling; return tr; };
	add(roots, 0, null);
	into.append(t);
}

const as_item = n => ({name: title(n), total: n.total, self: n.self, calls: n.calls, node: n});

// Puts nodes together by function; each of them stands for the time of one node further down: [node, ticks, calls].
export function by_function(list) {
	const groups = new Map();
	for (const [n, time, calls] of list) {
		const key = n.id === other ? -1 : n.function;
		if (!groups.has(key)) groups.set(key, {name: title(n), total: 0, calls: 0, list: []});
		const g = groups.get(key);
		g.total += time;
		g.calls += calls;
		g.list.push([n, time, calls]);
	}
	return [...groups.values()].sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
}

const callers = g => by_function(g.list.filter(([n]) => n.up && n.up.depth).map(([n, time, calls]) => [n.up, time, calls]));

export async function show_ways(into, tab) {
	const got = await fetch_range({ways: 1});
	if (!got || state.tab !== tab) return;
	const root = tree_of(got.ways), list = all(root).slice(1), bar = element("p");
	for (const n of list) title(n);
	await named();
	if (state.tab !== tab) return;
	bar.append(takers("ways", () => [["way", "calls", "self_ns", "total_ns"], ...list.map(n => [way(n), n.calls, Math.round(n.self * state.ns_per_tick), Math.round(n.total * state.ns_per_tick)])]));
	if (got.ways_left) bar.append(" left out: " + count(got.ways_left) + " ways with " + ticks(got.ways_left_ticks) + " together");
	into.replaceChildren(bar);
	if (!list.length) { into.append("no time in calls in this range"); return; }
	if (tab === "flame") flame(into, root);
	else if (tab === "down") unfolding(into, ["called", "total", "of all", "self", "calls ended"], root.children.map(as_item), item => item.node.children.map(as_item), root.total);
	else unfolding(into, ["function, and its callers", "self", "of all", "calls ended"], by_function(list.filter(n => n.self).map(n => [n, n.self, n.calls])), callers, root.total);
}
