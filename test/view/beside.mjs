// SPDX-License-Identifier: MIT
// Drives the page of two traces in Chromium: TAP. usage: node beside.mjs DEVTRACE FOLDER (with a.db, b.db, a.txt, b.txt)
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { served, asked } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
let now = null;
async function open(...args) {
	await now?.stop();
	now = await served(devtrace, ...args, `${folder}/a.db`, `${folder}/b.db`);
	await page.goto(now.url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 20000});
	await page.waitForFunction(async () => (await import("./main.js")).state.complete);
	await settle(page);
}
const ask = (what, args = {}) => page.evaluate(async ([what, args]) => (await fetch("get/" + what + "?" + new URLSearchParams(args))).json(), [what, args]);

// what was made: [kind, function, ns]; a tick of A is half a ns, one of B a third
const records = (file, per, zero) => readFileSync(`${folder}/${file}.txt`, "utf8").split("\n").map(l => l.split(" ")).filter(w => /^[EXV]$/.test(w[0])).map(w => [w[0], w[1], (Number(w[3]) - zero) / per * 1000, Number(w[4])]);
const a = records("a", 2000, 1000000000), b = records("b", 3000, 77000000);
const begins = (of, name, which = () => true) => of.filter(r => r[0] === "E" && r[1] === name && which(r)).map(r => r[2]);

// begins of a function's calls that the page has of each trace, in ns from the first record of all
async function drawn(name) {
	const { hosts, tracks, length, ns_per_tick } = await ask("trace"), got = [];
	for (const h of hosts) {
		const t = tracks.find(t => t.kind === "thread" && t.id >= h.first && t.id < h.end), rows = (await ask("list", {from: 0, to: length, kinds: 1, rows: 1000})).rows;
		const names = await ask("names", {ids: [...new Set(rows.map(r => r.what))].join(",")});
		got.push(rows.filter(r => r.track === t.track && names[r.what][0] === name).map(r => r.begin * ns_per_tick));
	}
	return got;
}

// whether both have all calls of it, and the time between `at' ns in A and in B is 0
async function together(at) {
	for (const name of ["step", "fast", "parse"]) {
		const got = await drawn(name);
		[a, b].forEach((of, i) => {
			const want = begins(of, name).map(t => t - at[i]), zero = got[0][0] - (begins(a, name)[0] - at[0]);
			is(got[i].length, want.length, name);
			got[i].forEach((t, k) => ok(Math.abs(t - zero - want[k]) <= 1, `${name} ${i} ${k}: ${t - zero}, not ${want[k]}`));
		});
	}
}

await open();
const first_bytes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter(e => !e.name.includes("/get/"))].reduce((n, e) => n + e.decodedBodySize, 0));

await test("main begins at the same time in both, and everything is as long as it was, whatever the clocks", async () => {
	await together([begins(a, "main")[0], begins(b, "main")[0]]);
	const names = await page.evaluate(async () => (await import("./main.js")).state.tracks.filter(t => t.kind === "host" || t.kind === "thread").map(t => t.name.replace(/ \d+$/, "")));
	is(names.map(n => n.replace(/\bworker.*/, "worker")), ["A (the first trace)", "A: worker", "B (the same time: main)", "B: worker"], "tracks");
	is(await page.evaluate(() => document.title), "a.db and b.db – devtrace", "title");
});

await test("what became slower has another colour, and says by how much; so has what is called in one only", async () => {
	const seen = await page.evaluate(async () => {
		const { shade } = await import("./beside.js"), got = {}, names = await (await fetch("get/names?ids=" + [...Array(12).keys()].map(i => i + 1).join(","))).json();
		for (const what in names) {
			const of = shade(Number(what), [255, 255, 255]);
			got[names[what][0]] = [of.more, of.fill];
		}
		return got;
	});
	// a call of step: 13 us and 3 us more than it calls; of main: 50 of them
	is([seen.parse[0], seen.fast[0], seen.odd[0], seen.lone[0]], [" ×4.0", "", " (only B)", ""], "what is written");
	const step = begins(b, "step"), mean = of => { const x = of.filter(r => r[1] === "step"); return x.reduce((s, r) => s + (r[0] === "X" ? r[2] : -r[2]), 0) / 50; };
	is(seen.step[0], " ×" + (mean(b) / mean(a)).toPrecision(2), "step");
	ok(step.length === 50 && new Set([seen.parse[1], seen.fast[1], seen.odd[1]]).size === 3, JSON.stringify(seen));
	ok(seen.step[1] !== seen.fast[1] && seen.parse[1] !== seen.step[1], "more is darker");
});

await test("the table of both: calls, times and what is more in B, as they were made", async () => {
	await page.click("#tabs button[data-tab=beside]");
	await page.waitForSelector("#table tbody tr");
	const rows = await page.evaluate(() => [...document.querySelectorAll("#table tbody tr")].map(r => [...r.cells].map(c => c.textContent)));
	const row = name => rows.find(r => r[0] === name);
	is(row("parse"), ["parse", "50", "50", "10.00 µs", "40.00 µs", "4.00", "500.0 µs", "2.000 ms", "1.500 ms"], "parse");
	is(row("odd"), ["odd", "0", "1", "", "4.000 µs", "", "", "4.000 µs", "4.000 µs"], "odd");
	is(rows[0][0], "parse", "the greatest change first");
	// of a part: 10 steps of A and what B does in that time
	await page.evaluate(async () => { const { state } = await import("./main.js"), { panel } = await import("./panel.js"); state.selection = [0, Math.round(state.length / 4)]; panel.select(); });
	await settle(page);
	const part = await page.evaluate(() => [...document.querySelectorAll("#table tbody tr")].map(r => [...r.cells].map(c => c.textContent)).find(r => r[0] === "parse"));
	ok(Number(part[1]) > Number(part[2]) && Number(part[2]) > 0 && Number(part[1]) < 50.5, part.join());
	await page.keyboard.press("Escape");
});

await test("the first difference is a note at its time, of both", async () => {
	const [note, ...more] = await ask("notes"), { ns_per_tick } = await ask("trace"), [, first] = await drawn("odd");
	is(more.length, 0, "notes");
	is(note.text.replace(/after \d+ calls/, "after N calls"), "first difference of thread worker, after N calls: A calls fast, B calls odd", "text");
	ok(Math.abs(note.end * ns_per_tick - first[0]) <= 1, note.end * ns_per_tick + " " + first[0]);
	// it is in the bookmarks, and leads there
	await page.click("#tabs button[data-tab=marks]");
	await page.waitForSelector("#table input");
	ok((await page.inputValue("#table input")).startsWith("first difference"), "bookmark");
});

await test("colours as ever, when asked for", async () => {
	await page.click("#legend");
	await page.click("#keybox label:has-text('slower in B') input");
	is(await page.evaluate(async () => (await import("./beside.js")).shade(1, [0, 0, 0])), null, "no colour");
	ok(await page.evaluate(() => /a call takes longer in B/.test(document.querySelector("#keybox").textContent)) === false, "no legend");
	await page.click("#keybox label:has-text('slower in B') input");
	ok(await page.evaluate(() => /a call takes longer in B/.test(document.querySelector("#keybox").textContent)), "legend");
});

await test("a call, an event, a note can be brought to the same time", async () => {
	await open("--align", "fast arg1=40");
	const of = x => begins(x, "fast", r => r[3] === 40)[0];
	await together([of(a), of(b)]);
	await open("--align", "event:chips:*");
	await together([a, b].map(x => x.find(r => r[0] === "V")[2]));
	await open("--align", "note:here");
	await together([a, b].map(x => begins(x, "fast")[7]));
});

await test("the page and its scripts are below 200 KB, and nothing went wrong in it", async () => {
	ok(first_bytes > 100000 && first_bytes < 200000, "bytes " + first_bytes);
	is(errors, [], "errors");
	is(asked(devtrace, `${folder}/a.db`, "SELECT count(*) AS n FROM calls")[0].n, 152, "A is as it was");
});
end();
