// SPDX-License-Identifier: MIT
// Activities: times that users define by events, with devtrace sql. Each name has a track; activities that overlap are drawn below each other.
import { state } from "./main.js";
import { json } from "./data.js";
import { Rows } from "./rows.js";

const first = 0x40000000;	// their tracks are numbered from here, above those of the server

let names = [], asked = "";

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
