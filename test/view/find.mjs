// SPDX-License-Identifier: MIT
// Drives the search in Chromium: TAP. usage: node find.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const {url} = await served(devtrace, trace);

// all calls, as `devtrace sql' has them, by ticks from the first record
const origin = origin_of(trace);
const all = asked(devtrace, trace, "SELECT function, thread, depth, begin_ticks AS begin, end_ticks AS end, ended FROM calls WHERE id").map(c => ({...c, begin: c.begin - origin, end: c.end - origin}));
const calls_of = text => all.filter(c => c.function.includes(text)).sort((a, b) => a.begin - b.begin);
const by_function = new Map();
for (const c of all) by_function.set(c.function, (by_function.get(c.function) ?? 0) + 1);
const counts = [...by_function].sort((a, b) => b[1] - a[1]), [often] = counts[0], seldom = counts.findLast(([name, n]) => n >= 3 && !counts.some(([other]) => other !== name && other.includes(name)))[0];
const outer = all.filter(c => c.ended === "open" || c.end - c.begin > 1e6)[0].function;

const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const ask = (what, args) => page.evaluate(async ([what, args]) => { const r = await fetch("get/" + what + "?" + new URLSearchParams(args ?? {})); return [r.status, await r.json()]; }, [what, args]);
const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, from: s.from, to: s.to, picked: s.picked, filter: s.filter, tracks: s.tracks.map(t => ({track: t.track, kind: t.kind, id: t.id, name: t.name, y: t.y, shown: t.shown}))}; });
const told = () => page.evaluate(() => document.getElementById("found").textContent.replaceAll("\u202f", ""));
const says = re => page.waitForFunction(re => new RegExp(re).test(document.getElementById("found").textContent.replaceAll("\u202f", "")), re.source, {timeout: 20000});

await page.goto(url);
await ready();
await page.waitForFunction(async () => (await import("./main.js")).state.complete);
// Compares lists, and tells only where they begin to differ.
function same(got, want, what) {
	const i = [...got, null].findIndex((x, i) => JSON.stringify(x) !== JSON.stringify(want[i]));
	if (got.length === want.length && i === got.length) return;
	throw new Error(`${what}: ${got.length} of ${want.length}; the ${i}th: got ${JSON.stringify(got[i])}, not ${JSON.stringify(want[i])}`);
}
const L = (await state()).length, short = rows => rows.map(r => [r.begin, r.end, r.depth]);
const in_order = (list, tracks) => list.map(c => ({...c, track: tracks.find(t => t.kind === "thread" && t.id === c.thread).track})).sort((a, b) => a.begin - b.begin || a.track - b.track || a.depth - b.depth);

await test("the number of hits is that of the calls, for each function", async () => {
	for (const text of ["function", often, "function1", outer, "FUNCTION20"]) {
		const [status, got] = await ask("hits", {text}), want = calls_of(text.toLowerCase());
		is(status, 200, "status");
		is(got.calls, want.length, text);
		for (const [, n, name] of got.functions) is(n, by_function.get(name) ?? 0, name);
	}
	is((await ask("hits", {text: "nobody"}))[1], {calls: 0, matching: 0, partly: false, functions: []}, "nobody");
});

// Fetches all hits of a text, in pieces.
async function walk(text, rows, back, from, filter, most = Infinity, ms = 250) {
	const got = [];
	for (let at = from, n = 0; at !== undefined && n < 5000 && got.length < most; n++) {
		const [status, answer] = await ask("find", {text, from: at, rows, back, ms, ...(filter ? {filter} : {})});
		is(status, 200, JSON.stringify(answer));
		if (answer.next !== undefined) ok(back ? answer.next < at : answer.next > at, "it goes on: " + at + ", " + answer.next);
		got.push(...answer.rows);
		at = answer.next;
	}
	return got;
}

await test("hits come one after the other, forwards and backwards, from any time, each once", async () => {
	const { tracks } = await state();
	for (const text of [seldom, outer, often]) {
		const want = in_order(calls_of(text), tracks);
		same(short(await walk(text, 1000, 0, 0)), short(want), text);
		same(short(await walk(text, 1000, 1, L)), short([...want].reverse()), text + " backwards");
		for (const share of [0.1, 0.37, 0.62, 0.93]) {
			const at = Math.round(L * share), later = want.filter(c => c.begin >= at), earlier = want.filter(c => c.begin <= at).reverse();
			same(short(await walk(text, 7, 0, at, "", 7)).slice(0, 7), short(later).slice(0, 7), text + " from " + at);
			same(short(await walk(text, 7, 1, at, "", 7)).slice(0, 7), short(earlier).slice(0, 7), text + " back from " + at);
		}
	}
	// with no time, each answer ends behind one part of the trace
	for (const back of [0, 1]) same(short(await walk(often, 1000, back, back ? L : 0, "", Infinity, 0)), short(back ? in_order(calls_of(often), tracks).reverse() : in_order(calls_of(often), tracks)), "in pieces, back: " + back);
	same(short(await walk(seldom, 1, 0, 0)), short(in_order(calls_of(seldom), tracks)), "one by one");
});

await test("with a filter only what it shows is found", async () => {
	const mine = calls_of(often), thread = mine[0].thread, [, { ns_per_tick }] = await ask("trace"), least = Math.round(mine.map(c => c.end - c.begin).sort((a, b) => b - a)[mine.length >> 2] * ns_per_tick);
	const filter = `time>${least}ns thread:${thread}`;
	for (let i = 0; !(await ask("trace", {filter}))[1].complete && i < 300; i++) await page.waitForTimeout(50);
	const [, { tracks }] = await ask("trace", {filter});
	const want = in_order(calls_of(often).filter(c => c.thread === thread && (c.end - c.begin) * ns_per_tick > least), tracks);
	ok(want.length > 3, "too few to tell");
	is((await ask("hits", {text: often, filter}))[1].calls, want.length, "calls");
	same(short(await walk(often, 1000, 0, 0, filter)), short(want), "calls, one after the other");
	same(short(await walk(often, 1000, 1, L, filter)), short([...want].reverse()), "backwards");
});

await test("requests that make no sense are refused in a line", async () => {
	for (const [what, args] of [["hits", {}], ["hits", {text: ""}], ["find", {text: "f"}], ["find", {from: 0}], ["find", {text: "f", from: -1}], ["find", {text: "f", from: 0, rows: 0}], ["find", {text: "f", from: 0, rows: 1001}], ["find", {text: "f", from: 0, back: 2}]]) {
		const [status, {error}] = await ask(what, args);
		is(status, 400, JSON.stringify(args));
		ok(error && !error.includes("\n"), error);
	}
});

await test("Enter goes to the next call and comes near; Shift-Enter and the buttons go on and back; past the last one it begins again", async () => {
	const { tracks } = await state(), want = in_order(calls_of(seldom), tracks);
	await page.keyboard.press("/");
	await page.keyboard.type(seldom);
	await says(new RegExp("^" + want.length + " calls? of 1 function"));
	const seen = [];
	const expect = async (i, how) => {
		await page.waitForFunction(async b => (await import("./main.js")).state.picked?.begin === b, want[i].begin, {timeout: 10000});
		await settle(page);
		const s = await state(), t = s.tracks.find(t => t.track === s.picked.track), scroll = await page.evaluate(() => [document.getElementById("scroll").scrollTop, document.getElementById("scroll").clientHeight]);
		is([s.picked.track, s.picked.depth, s.picked.end], [want[i].track, want[i].depth, want[i].end], how);
		ok(s.from <= want[i].begin && s.to >= want[i].end, how + ": it is in the window");
		ok((want[i].end - want[i].begin) / (s.to - s.from) > 0.02 || s.to - s.from < 60, how + ": it is near: " + (want[i].end - want[i].begin) + " of " + (s.to - s.from));
		ok(s.picked.depth < t.shown, how + ": its depth is shown");
		const y = t.y + s.picked.depth * 17 - scroll[0];
		ok(y >= 0 && y < scroll[1], how + ": it is on the screen: " + y);
		seen.push(await told());
	};
	await page.keyboard.press("Enter");
	await expect(0, "Enter");
	await page.keyboard.press("Enter");
	await expect(1, "Enter again");
	await page.click("#next");
	await expect(2, "the button");
	await page.click("#previous");
	await expect(1, "the other button");
	await page.focus("#search");
	await page.keyboard.press("Shift+Enter");
	await expect(0, "Shift-Enter");
	await page.keyboard.press("Shift+Enter");
	await says(/^no earlier one; once more: from the end/);
	await page.keyboard.press("Shift+Enter");
	await expect(want.length - 1, "round");
});

await test("the tab lists functions, other names and calls; a click on a call goes to it, Enter too", async () => {
	await page.fill("#search", seldom);
	await page.keyboard.press("f");
	await page.evaluate(async () => (await import("./main.js")).show(0, (await import("./main.js")).state.length));
	await page.fill("#search", seldom);
	await page.click("#tabs [data-tab=found]");
	await page.waitForSelector("#table tr[data-begin]");
	const { tracks } = await state(), want = in_order(calls_of(seldom), tracks);
	is(await page.evaluate(() => [...document.querySelectorAll("#table tr[data-begin]")].map(tr => Number(tr.dataset.begin))), want.slice(0, 100).map(c => c.begin), "rows");
	await page.click("#table tr[data-begin] >> nth=1");
	await page.waitForFunction(async b => (await import("./main.js")).state.picked?.begin === b, want[1].begin);
	await page.focus("#table tr[data-begin] >> nth=2");
	await page.keyboard.press("Enter");
	await page.waitForFunction(async b => (await import("./main.js")).state.picked?.begin === b, want[2].begin);
	const name = tracks.findLast(t => t.kind === "thread").name;
	await page.fill("#search", name);
	await says(/1 other name/);
	await page.waitForSelector(`#table button:text-is("${name}")`);
	await page.click(`#table button:text-is("${name}")`);
	await settle(page);
	const s = await state(), y = s.tracks.find(t => t.name === name).y - await page.evaluate(() => document.getElementById("scroll").scrollTop);
	ok(y >= 0 && y < 900, "the track is on the screen: " + y);
	// the address has the tab and the text
	await page.reload();
	await ready();
	await page.waitForSelector(`#table button:text-is("${name}")`);
	await page.fill("#search", "nobody");
	await says(/^nothing has that in its name$/);
	await page.press("#search", "Enter");
	await says(/^nothing has that in its name$/);
});

await test("a filter that matches nothing says so, and a name that there is not, with near ones", async () => {
	const wrong = () => page.evaluate(() => document.getElementById("wrong").hidden ? "" : document.getElementById("wrong").textContent);
	for (const [words, re] of [["time>1000000s", /^(nothing|no call) in the trace matches/], ["functoin7", /^no call in the trace matches.*functoin7.*function7/], ["functoin7 function7", /^.*functoin7.*near/], ["core:99", /^(nothing|no call) in the trace matches/], ["function7", /^$/]]) {
		await page.fill("#filter", words);
		await page.press("#filter", "Enter");
		await ready();
		await page.waitForFunction(re => new RegExp(re).test(document.getElementById("wrong").hidden ? "" : document.getElementById("wrong").textContent), re.source, {timeout: 10000}).catch(async () => { throw new Error(words + ": " + await wrong()); });
	}
	await page.fill("#search", seldom);
	await says(/^0 calls of 1 function$/);
	await page.press("#search", "Enter");
	await says(/^no call of 1 function is shown$/);
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
