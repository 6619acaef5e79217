// SPDX-License-Identifier: MIT
// Requests to the server, and its answers. Times are ticks from the first record.

const bytes_of_bar = 48;

let filter = "";	// added to all requests

export function use_filter(text) { filter = text; }

async function get(what, args = {}) {
	const query = new URLSearchParams(filter ? {filter, ...args} : args).toString();
	const answer = await fetch("get/" + what + (query ? "?" + query : ""));
	if (!answer.ok) {
		const text = await answer.text();
		let why = text;
		try { why = JSON.parse(text).error; } catch { /* it is plain text */ }
		throw Object.assign(new Error(why || answer.statusText), {status: answer.status});
	}
	return answer;
}

export const json = async (what, args) => (await get(what, args)).json();

// Asks the server to change a note of the file; returns all notes.
export async function change_note(args) {
	const answer = await fetch("note?" + new URLSearchParams(args), {method: "POST"}), text = await answer.text();
	let got;
	try { got = JSON.parse(text); } catch { got = {error: text}; }
	if (!answer.ok) throw new Error(got.error || answer.statusText);
	return got;
}

// The bars of one track, in columns; sorted by depth, then begin. first[d]: index of the first bar of depth d.
let serial = 0;

class Bars {
	constructor(view, at, n) {
		this.n = n;
		this.serial = ++serial;
		this.begin = new Float64Array(n); this.end = new Float64Array(n);
		this.busy = new Float64Array(n); this.high = new Float64Array(n);
		this.count = new Uint32Array(n); this.what = new Uint32Array(n);
		this.flags = new Uint32Array(n); this.depth = new Uint32Array(n);
		for (let i = 0; i < n; i++, at += bytes_of_bar) {
			this.begin[i] = view.getFloat64(at, true); this.end[i] = view.getFloat64(at + 8, true);
			this.busy[i] = view.getFloat64(at + 16, true); this.high[i] = view.getFloat64(at + 24, true);
			this.count[i] = view.getUint32(at + 32, true); this.what[i] = view.getUint32(at + 36, true);
			this.flags[i] = view.getUint32(at + 40, true); this.depth[i] = view.getUint32(at + 44, true);
		}
		const depths = n ? this.depth[n - 1] + 1 : 0;
		this.first = new Uint32Array(depths + 1).fill(n);
		for (let i = n - 1; i >= 0; i--) this.first[this.depth[i]] = i;
		for (let d = depths - 1; d >= 0; d--) if (this.first[d] === n) this.first[d] = this.first[d + 1];
	}
	// Returns the index of the bar of this depth that contains a time, or is nearest to it within `near'; -1: none.
	at(depth, time, near) {
		if (depth + 1 >= this.first.length) return -1;
		let low = this.first[depth], high = this.first[depth + 1], best = -1, distance = near;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.begin[mid] <= time + near) low = mid + 1; else high = mid;
		}
		for (let i = low - 1; i >= this.first[depth] && i > low - 64; i--) {
			const d = time < this.begin[i] ? this.begin[i] - time : time > this.end[i] ? time - this.end[i] : 0;
			if (d < distance || (d === 0 && best < 0)) { best = i; distance = d; if (d === 0) break; }
		}
		return best;
	}
}

// Fetches the bars of some tracks in a window that is divided into `cells'; returns a Map of track to Bars.
export async function bars(from, to, cells, tracks, depths = 0) {
	const answer = await get("window", {from: Math.floor(from), to: Math.ceil(to), cells, tracks: tracks.join(","), depths});
	const buffer = await answer.arrayBuffer(), view = new DataView(buffer), found = new Map();
	for (let at = 0; at < buffer.byteLength;) {
		const track = view.getUint32(at, true), n = view.getUint32(at + 4, true);
		found.set(track, new Bars(view, at + 8, n));
		at += 8 + n * bytes_of_bar;
	}
	return found;
}

// Names of functions: each is asked for once. changed() is called when some have come.
const names = new Map();
let wanted = new Set(), asking = false;

export function name(id, changed) {
	const known = names.get(id);
	if (known) return known[0];
	if (known === undefined) { names.set(id, null); wanted.add(id); ask(changed); }
	return "";
}

// Resolves when all names that were asked for have come, or will not come.
export async function named() {
	while (asking) await new Promise(resolve => setTimeout(resolve, 20));
}

export const place = id => names.get(id) || ["?", "", "", 0, ""];

async function ask(changed) {
	if (asking) return;
	asking = true;
	await new Promise(resolve => setTimeout(resolve, 10));
	while (wanted.size) {
		const some = [...wanted].slice(0, 300);
		for (const id of some) wanted.delete(id);
		try {
			const got = await json("names", {ids: some.join(",")});
			for (const id in got) names.set(+id, got[id]);
		} catch { for (const id of some) names.delete(id); break; }
		if (changed) changed();
	}
	asking = false;
}
