// SPDX-License-Identifier: MIT
// Drives the panel of the picked call in Chromium: TAP. usage: node why.mjs DEVTRACE TRACE FOLDER
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const {url} = await served(devtrace, trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}, permissions: ["clipboard-read", "clipboard-write"]});
const page = watch(await context.newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = p => p.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});

// the calls as `devtrace sql' has them: by ticks, with their callers
const rows = asked(devtrace, trace, "SELECT id, parent, depth, thread, function, begin_ticks AS begin, end_ticks AS end, timed FROM calls");
const origin = origin_of(trace);
const by_id = new Map(rows.map(r => [r.id, r])), took = r => r.end - r.begin;

// Asks the server, as the page does.
const why = (thread, r, what) => page.evaluate(async ([thread, r, what, origin]) => {
	const { json } = await import("./data.js");
	return json("why", {thread, begin: r.begin - origin, end: r.end - origin, depth: r.depth, what});
}, [thread, r, what, origin]);
const name = what => page.evaluate(async what => { const d = await import("./data.js"); d.name(what, () => {}); await d.named(); return d.name(what, () => {}); }, what);
const id_of = f => Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", trace, `SELECT min(id) FROM function WHERE name = '${f}'`]).toString());

// What a call did in calls of its own, by function: [calls, ticks].
function inside(r) {
	const sums = {};
	for (const c of rows.filter(c => c.parent === r.id && r.id)) { const s = sums[c.function] ??= [0, 0]; s[0]++; s[1] += took(c); }
	return sums;
}
async function named(list) {
	const out = {};
	for (const [what, calls, ticks] of list) out[await name(what)] = [calls, ticks];
	return out;
}
const sorted = o => Object.entries(o).sort(([a], [b]) => a < b ? -1 : 1);

await page.goto(url);
await ready(page);
await settle(page);

// the slowest call that makes calls, of a function with many
const callers = new Set(rows.map(r => r.parent).filter(Boolean));
const of = new Map();
for (const r of rows) if (r.timed) of.set(r.function, (of.get(r.function) ?? 0) + 1);
const slow = rows.filter(r => r.timed && r.id && callers.has(r.id) && r.thread !== null && of.get(r.function) > 1000).sort((a, b) => took(b) - took(a))[0];
const siblings = rows.filter(r => r.function === slow.function && r.timed).map(took).sort((a, b) => a - b);
const answer = await why(slow.thread, slow, id_of(slow.function));

await test("the siblings of a call, and its place among them, are what SQL has", async () => {
	is(answer.timed, siblings.length, "timed calls");
	is([answer.min, answer.max], [siblings[0], siblings.at(-1)], "shortest and longest");
	is(answer.buckets.reduce((sum, b) => sum + b[2], 0), siblings.length, "calls in buckets");
	// each bucket has the calls from its lowest duration to the next one's
	for (const [i, [b, low, n]] of answer.buckets.entries()) {
		const next = answer.buckets[i + 1]?.[1] ?? Infinity;
		is(siblings.filter(v => v >= low && v < next).length, n, `bucket ${b} from ${low}`);
	}
	const faster = siblings.filter(v => v < took(slow)).length, slower = siblings.filter(v => v > took(slow)).length;
	ok(answer.faster <= faster && faster < answer.faster + answer.alike, `${answer.faster} faster, ${answer.alike} alike: ${faster}`);
	ok(slower >= answer.timed - answer.faster - answer.alike, `slower: ${slower}`);
});

await test("the median call is one that took as long as the middle of all, and both insides are what SQL has", async () => {
	const m = answer.median;
	is(answer.exact, true, "exact");
	is(m.end - m.begin, siblings[Math.floor((siblings.length - 1) / 2)], "its duration");
	is(m.took, m.end - m.begin, "as it is said");
	const thread = await page.evaluate(async track => (await import("./main.js")).state.tracks.find(t => t.track === track).id, m.track);
	const there = rows.find(r => r.thread === thread && r.depth === m.depth && r.begin === m.begin + origin && r.end === m.end + origin);
	is(there?.function, slow.function, "its function");
	for (const [c, r] of [[answer.call, slow], [m, there]]) {
		is(sorted(await named(c.inside)), sorted(inside(r)), "its calls");
		is(c.self, took(r) - Object.values(inside(r)).reduce((sum, [, ticks]) => sum + ticks, 0), "its self time");
	}
	ok(Object.keys(inside(slow)).length > 0, "the slow call makes no calls");
});

await test("its callers are those of SQL, from the outermost on, and each can be shown", async () => {
	const chain = [];
	for (let r = by_id.get(slow.parent); r && slow.parent; r = by_id.get(r.parent)) chain.unshift([r.function, r.begin - origin, r.end - origin]);
	ok(chain.length > 0, "the slow call has no caller");
	const got = [];
	for (const c of answer.callers) got.push([await name(c.what), c.begin, c.end]);
	is(got, chain, "callers");
});

await test("requests that make no sense are refused", async () => {
	const status = args => page.evaluate(async args => (await fetch("get/why?" + args)).status, args);
	const b = slow.begin - origin, e = slow.end - origin;
	is((await why(slow.thread, rows.find(r => r.depth === 0 && r.thread === slow.thread && r.id), 1)).callers, [], "callers of the outermost, which has not ended");
	is(await status(""), 400, "nothing");
	is(await status(`thread=-1&begin=${b}&end=${e}&depth=0&what=1`), 400, "a thread below 0");
	is(await status(`thread=99999999&begin=${b}&end=${e}&depth=0&what=1`), 404, "a thread that there is not");
	is(await status(`thread=${slow.thread}&begin=${b}&end=${e}&depth=4294967294&what=1`), 404, "a depth that there is not");
	is(await status(`thread=${slow.thread}&begin=${e + 1}&end=${b}&depth=0&what=1`), 404, "an end before the begin");
	is(await status(`thread=${slow.thread}&begin=${b}&end=1152921504606846976&depth=${slow.depth}&what=4294967295`), 404, "no such end");
});

const link = `#from=0&to=${rows.reduce((last, r) => Math.max(last, r.end), 0) - origin}&tab=call&call=${[slow.thread, slow.depth, slow.begin - origin, slow.end - origin, id_of(slow.function), 0].join("-")}`;

await test("a link to a call opens its panel, which is the same after a reload", async () => {
	await page.goto("about:blank");
	await page.goto(url + link);
	await ready(page);
	await page.waitForSelector("#table caption", {timeout: 60000});
	const text = await page.textContent("#table");
	is(await page.locator("#table p:nth-of-type(4) button").count(), answer.callers.length, "callers");
	ok((await page.textContent("#table h2")).startsWith(slow.function), await page.textContent("#table h2"));
	await page.reload();
	await ready(page);
	await page.waitForSelector("#table caption", {timeout: 60000});
	is(await page.textContent("#table"), text, "the panel");
	ok((await page.evaluate(() => location.hash)).includes("call=" + slow.thread + "-"), "the address");
});

await test("the greatest difference is at the top, and copying gives it as text and as JSON", async () => {
	await page.click("#table button:text('copy as JSON')");
	await page.waitForSelector("#table [role=status]:text('copied')");
	const data = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), more = data.why.map(r => Math.abs(r.more_ns));
	is(more, [...more].sort((a, b) => b - a), "the order");
	is([data.timed, data.thread, data.depth], [siblings.length, slow.thread, slow.depth], "which call");
	for (const r of data.why.filter(r => r.function)) is(r.calls[0], inside(slow)[r.function]?.[0] ?? 0, r.function);
	await page.click("#table button:text('copy as text')");
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("difference\t"));
	const lines = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
	is(lines.filter(l => l.includes("\t")).length, data.why.length + 1, "lines");
});

await test("by keyboard: C opens the panel, Tab goes through its buttons, Enter shows the median call", async () => {
	await page.click("#tabs [data-tab=functions]");
	await page.keyboard.press("c");
	await page.waitForSelector("#table caption");
	await page.focus("#table button:text('show it')");
	await page.keyboard.press("Tab");
	is(await page.evaluate(() => document.activeElement.textContent), "show the median call", "the second button");
	await page.keyboard.press("Enter");
	await page.waitForFunction(b => location.hash.includes("-" + b + "-") && document.querySelector("#table p:nth-of-type(2)")?.textContent, answer.median.begin);
	is(await page.evaluate(async () => { const p = (await import("./main.js")).state.picked; return [p.begin, p.end]; }), [answer.median.begin, answer.median.end], "what is picked");
});

await test("a click on a call opens its panel; a range that is selected, and Escape, close it again", async () => {
	await page.goto("about:blank");
	await page.goto(url);
	await ready(page);
	await settle(page);
	const tab = () => page.evaluate(async () => (await import("./main.js")).state.tab);
	const where = () => page.evaluate(async () => {
		const { state: s } = await import("./main.js"), { left, row } = await import("./draw.js");
		const box = document.getElementById("line").getBoundingClientRect(), per = (s.to - s.from) / (box.width - left);
		for (const t of s.tracks.filter(t => t.kind === "thread")) {
			const b = s.bars.get(t.track);
			for (let i = 0; b && i < b.n; i++) {
				const x0 = left + (b.begin[i] - s.from) / per, x1 = left + (b.end[i] - s.from) / per;
				if (b.count[i] === 1 && b.depth[i] < t.shown && x0 >= left && x1 - x0 > 12) return {x: box.x + (x0 + x1) / 2, y: box.y + t.y + b.depth[i] * row + 8, begin: b.begin[i]};
			}
		}
		return null;
	});
	for (let i = 0; i < 12 && !(await where()); i++) { await page.keyboard.press("w"); await settle(page); }
	const at = await where();
	await page.mouse.click(at.x, at.y);
	await page.waitForSelector("#table h2");
	is(await tab(), "call", "the tab");
	is(await page.evaluate(async () => (await import("./main.js")).state.picked.begin), at.begin, "what is picked");
	const box = await page.locator("#line").boundingBox();
	await page.mouse.move(box.x + 500, box.y + 6);
	await page.mouse.down();
	await page.mouse.move(box.x + 900, box.y + 6, {steps: 4});
	await page.mouse.up();
	await page.waitForSelector("#table table tr:nth-child(1) td button");
	is(await tab(), "functions", "the tab after a selection");
	await page.keyboard.press("c");
	await page.waitForSelector("#table h2");
	await page.keyboard.press("Escape");
	await settle(page);
	is(await tab(), "call", "the tab that the user has opened stays");
	is(await page.textContent("#table"), "click on a call, or choose one in the list", "with nothing picked");
});

await test("the page said no error", async () => is(errors.join("; "), "", "errors"));

await browser.close();
end();
