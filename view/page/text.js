// SPDX-License-Identifier: MIT
// Numbers and times as text.

const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// Returns a length of time as text, with so many significant digits.
export function duration(ns, digits = 4) {
	const sign = ns < 0 ? "−" : "";
	ns = Math.abs(ns);
	for (const [unit, name] of units)
		if (ns >= unit || unit === 1) {
			const v = ns / unit;
			const whole = Math.max(1, Math.floor(Math.log10(Math.max(v, 1))) + 1);
			return sign + v.toFixed(unit === 1 ? Math.min(1, digits - whole > 0 && v < 100 ? 1 : 0) : Math.max(0, digits - whole)) + " " + name;
		}
	return "0 ns";
}

// Returns a point in time as text, with enough digits to show steps of so many ns.
export function time(ns, step) {
	for (const [unit, name] of units)
		if (Math.abs(ns) >= unit || unit === 1) {
			const digits = Math.max(0, Math.ceil(Math.log10(unit / Math.max(step, 1e-3))));
			return (ns / unit).toFixed(Math.min(digits, 12)) + " " + name;
		}
	return "0";
}

export function count(n) {
	return Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
}

const sizes = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

// Returns a number of bytes as text.
export function bytes(n) {
	const [unit, name] = sizes.find(([unit]) => n >= unit) ?? [1, "B"];
	return Number((n / unit).toPrecision(4)) + " " + name;
}

const kind = [[1, "unwound"], [2, "ended in a tail call"], [8, "not finished"], [16, "entry not recorded"],
	[32, "tail-called"], [65536, "what it jumped to is a part of it"], [512, "its time is that to its jump"],
	[1024, "perhaps called from the tail call before it"], [2048, "exits are not recorded"], [64, "records lost meanwhile"], [4096, "ends before it begins: records out of order"], [8192, "recording paused meanwhile"], [32768, "context switches lost meanwhile"], [256, "on another stack"]];

// Returns what is special about a call, by its flags.
export function marks(flags) {
	return kind.filter(([bit]) => flags & bit).map(([, name]) => name).join(", ");
}
