// SPDX-License-Identifier: MIT
// Activities: times that users define by events, with devtrace sql. Each name has a track; activities that overlap are drawn below each other.
import { state } from "./main.js";
import { json } from "./data.js";

const first = 0x40000000;	// their tracks are numbered from here, above those of the server
const most = 6;			// rows in a track: further activities share the last one

let names = [], asked = "";

// The activities of a track, in columns like those of Bars in data.js.
class Rows {
	constructor(list) {
		const ends = new Array(most).fill(-Infinity);
		this.n = list.length;
		this.list = list.map(x => {
			let row = ends.findIndex(end => end <= x.begin);
			if (row < 0) row = most - 1;
			ends[row] = Math.max(ends[row], x.end);
			return {...x, row};
		}).sort((a, b) => a.row - b.row || a.begin - b.begin);
		const of = f => Float64Array.from(this.list, f);
		this.begin = of(x => x.begin); this.end = of(x => x.end); this.busy = of(x => x.busy); this.high = of(x => x.busy);
		this.count = of(x => x.count); this.depth = of(x => x.row); this.flags = of(() => 0); this.what = of((x, i) => i);
		this.depths = this.n ? this.list[this.n - 1].row + 1 : 1;
		this.first = new Array(this.depths + 1).fill(this.n);
		for (let i = this.n - 1; i >= 0; i--) this.first[this.list[i].row] = i;
		for (let d = this.depths - 1; d >= 0; d--) if (this.first[d] === this.n) this.first[d] = this.first[d + 1];
	}
	at(depth, time, near) {
		for (let i = this.n - 1; i >= 0; i--)
			if (this.list[i].row === depth && this.begin[i] <= time + near && this.end[i] >= time - near) return i;
		return -1;
	}
}

// Returns what is written in a bar: the activity's key and text, or else its thread.
export function words(bars, i) {
	const x = bars.list[i];
	return [x.key, x.text].filter(Boolean).join(" ") || (x.thread >= 0 ? state.thread_name(x.thread) : "");
}

export const tracks = () => names.map(([name, count], i) => ({track: first + i, kind: "activity", id: i, pid: 0, depths: 1, count, begin: 0, end: state.length, name}));

// Fetches the activities of a window; returns true if the tracks, or the rows in them, are others.
export async function fetch_activities(from, to, cells) {
	const key = [from, to, cells, state.filter].join();
	if (key === asked || (asked && !names.length && !state.live)) return false;
	const got = await json("activities", {from: Math.floor(from), to: Math.ceil(to), cells}), by = new Map(got.names.map(([name]) => [name, []]));
	asked = key;
	for (const x of got.activities) by.get(x.name)?.push({...x, begin: x.begin / state.ns_per_tick, end: x.end / state.ns_per_tick, busy: x.busy / state.ns_per_tick});
	const shape = () => names.map(([name], i) => name + "\0" + state.bars.get(first + i)?.depths).join("\0"), before = shape();
	names = got.names;
	got.names.forEach(([name], i) => state.bars.set(first + i, new Rows(by.get(name))));
	return shape() !== before;
}
