// SPDX-License-Identifier: MIT
// TAP of tests that drive a page. failed(why), where it is set, is called for each test that fails.
export const tap = {n: 0, bad: 0, failed: null};

export async function test(name, run) {
	let why = null;
	try { await run(); } catch (e) { why = e; }
	console.log(`${why ? "not ok" : "ok"} ${++tap.n} - ${name}`);
	if (!why) return;
	tap.bad = 1;
	if (tap.failed) await tap.failed(why);
	console.log("# " + String(why.stack || why).split("\n").slice(0, 12).join("\n# "));
}

export function is(got, want, what = "") {
	const [a, b] = [got, want].map(v => JSON.stringify(v));
	if (a !== b) throw new Error(`${what}: got ${a}, not ${b}`);
}

export const ok = (v, what) => { if (!v) throw new Error(what); };

// what is printed last; does not return
export function end() {
	console.log("1.." + tap.n);
	process.exit(tap.bad);
}
