// SPDX-License-Identifier: MIT
// Bars in rows, in columns like those of Bars in data.js: of activities, packed processes, answers.

const most = 6;	// rows: further bars share the last one

export class Rows {
	// list: {begin, end, ...}; those without a row of their own, sorted by begin, get the first one that is free.
	constructor(list) {
		const ends = new Array(most).fill(-Infinity);
		this.list = list.map(x => {
			if (x.row !== undefined) return x;
			let row = ends.findIndex(end => end <= x.begin);
			if (row < 0) row = most - 1;
			ends[row] = Math.max(ends[row], x.end);
			return {...x, row};
		}).sort((a, b) => a.row - b.row || a.begin - b.begin);
		this.n = this.list.length;
		const of = f => Float64Array.from(this.list, f);
		this.begin = of(x => x.begin); this.end = of(x => x.end); this.busy = this.high = of(x => x.busy ?? x.end - x.begin);
		this.count = of(x => x.count ?? 1); this.depth = of(x => x.row); this.flags = of(() => 0); this.what = of((x, i) => i);
		this.depths = this.n ? this.list[this.n - 1].row + 1 : 1;
		this.first = new Array(this.depths + 1).fill(this.n);
		for (let i = this.n - 1; i >= 0; i--) this.first[this.list[i].row] = i;
		for (let d = this.depths - 1; d >= 0; d--) if (this.first[d] === this.n) this.first[d] = this.first[d + 1];
	}
	// Returns the last bar of a row that is at a time, or near it; -1: there is none.
	at(depth, time, near) {
		for (let i = (this.first[depth + 1] ?? 0) - 1; i >= this.first[depth]; i--)
			if (this.begin[i] <= time + near && this.end[i] >= time - near) return i;
		return -1;
	}
}
