// SPDX-License-Identifier: MIT
// Drives the heat map of durations in Chromium: TAP. usage: node heat.mjs DEVTRACE TRACE FOLDER LONG_TRACE
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { asked, origin_of, served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, trace, folder, long] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});

const view = async file => (await served(devtrace, file)).url;
// the calls of the function that has most, as `devtrace sql' has them, by ticks from the first record
function calls_of(file) {
	const origin = origin_of(file), sql = q => asked(devtrace, file, q);
	const [{function: name}] = sql("SELECT function, count(*) AS n FROM calls GROUP BY function ORDER BY n DESC LIMIT 1");
	const all = sql(`SELECT begin_ticks AS begin, end_ticks AS end, timed FROM calls WHERE function = '${name}' AND id`).map(c => ({end: c.end - origin, took: c.end - c.begin, timed: c.timed}));
	return {name, all, id: Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", file, `SELECT min(id) FROM function WHERE name = '${name}'`]).toString())};
}

const url = await view(trace), {name, all, id} = calls_of(trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1400, height: 900}, hasTouch: true});
const page = watch(await context.newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
const ready = p => p.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
const ask = args => page.evaluate(async args => { const r = await fetch("get/heat?" + new URLSearchParams(args)); return [r.status, await r.json()]; }, args);
const state = () => page.evaluate(async () => { const { state: s } = await import("./main.js"); return {length: s.length, selection: s.selection, filter: s.filter, ns: s.ns_per_tick}; });

await page.goto(url);
await ready(page);
const L = (await state()).length;

// Says whether the cells are the calls that ended in the columns' times and took what is said of their buckets.
function compare(got, calls, from, to) {
	const inside = calls.filter(c => c.end >= from && c.end <= to), timed = inside.filter(c => c.timed);
	is([got.calls, got.untimed], [inside.length, inside.length - timed.length], "calls");
	let sum = 0;
	const edges = Object.entries(got.lowest).map(([b, v]) => [Number(b), v]).sort((a, b) => a[0] - b[0]);
	for (const [i, [begin, end, ...cells]] of got.columns.entries()) {
		if (i) ok(begin > got.columns[i - 1][1] || !cells.length, "columns overlap");
		for (const [b, n] of cells) {
			const low = got.lowest[b], up = got.lowest[b + 1];
			is(timed.filter(c => c.end >= begin && c.end <= end && c.took >= low && c.took < up).length, n, `column ${i}, bucket ${b}`);
			sum += n;
		}
	}
	is(sum, timed.length, "calls in cells");
}

await test("each cell has the calls that ended then and took so long", async () => {
	for (const [from, to, columns] of [[0, L, 10], [0, L, 150], [Math.round(L / 3), Math.round(L / 2), 40], [5, 5, 3], [L, L + 9, 2], [0, L, 1]]) {
		const [status, got] = await ask({function: id, from, to, columns});
		is(status, 200, "status");
		is(got.even, true, "even");
		compare(got, all, from, to);
	}
});

await test("requests that make no sense are refused in a line", async () => {
	for (const args of [{}, {function: id}, {function: id, from: 0, to: 9}, {function: id, from: 9, to: 0, columns: 3}, {function: id, from: 0, to: 9, columns: 0}, {function: id, from: 0, to: 9, columns: 1001}, {function: 0, from: 0, to: 9, columns: 3}]) {
		const [status, {error}] = await ask(args);
		is(status, 400, JSON.stringify(args));
		ok(error && !error.includes("\n"), error);
	}
	is((await ask({function: 4000000000, from: 0, to: 9, columns: 3}))[0], 404, "no such function");
});

const open = async () => {
	if (!await page.locator("#tabs [data-tab=heat][aria-selected=true]").count()) await page.click("#tabs [data-tab=heat]");
	await page.waitForSelector("#table input");
	await page.fill("#table input", name);
	await page.press("#table input", "Enter");
	await page.waitForFunction(id => document.querySelector("svg.heat")?.getAttribute("aria-label").startsWith("Durations of " + id + " "), name);
	await settle(page);
};
// What the picked area left: the selected range, and the calls that the server shows there.
async function left_over(what) {
	const s = await state(), [a, b] = s.selection;
	const of = (s.filter.match(/time>([\d.]+)ns time<([\d.]+)ns$/) ?? []).slice(1).map(Number), want = all.filter(c => c.timed && c.end > a && c.end <= b && c.took * s.ns > of[0] && c.took * s.ns < of[1]);
	ok(s.filter.startsWith("function:" + name), s.filter);
	let got;
	for (let i = 0; !got || got.partly && i < 200; i++) { got = await page.evaluate(async ([from, to]) => (await import("./data.js")).json("range", {from, to}), [Math.round(a), Math.round(b)]); await page.waitForTimeout(30); }
	is(got.functions.reduce((n, f) => n + f.timed, 0), want.length, what + ": calls in the table");
	return want.length;
}

await test("an area that is picked by mouse selects its time, and shows only its calls", async () => {
	await open();
	const box = await page.locator("svg.heat").boundingBox(), at = (x, y) => [box.x + box.width * x, box.y + box.height * y];
	await page.mouse.move(...at(0.3, 0.2));
	await page.mouse.down();
	await page.mouse.move(...at(0.6, 0.6), {steps: 5});
	const said = Number((await page.textContent("#table p[role=status]")).split(" calls")[0].replace(/\D/g, ""));
	await page.mouse.up();
	await ready(page);
	await settle(page);
	ok(said > 0, "an empty area");
	is(await left_over("mouse"), said, "as was told");
});

await test("by keyboard: arrows move, Shift widens, Enter picks; a name that there is not is told", async () => {
	await page.evaluate(async () => { await (await import("./main.js")).filter_by(""); });
	await page.keyboard.press("Escape");
	await open();
	await page.focus("svg.heat");
	await page.keyboard.press("ArrowRight");
	for (let i = 0; i < 60; i++) await page.keyboard.press("Shift+ArrowRight");
	for (let i = 0; i < 40; i++) await page.keyboard.press("Shift+ArrowUp");
	const said = Number((await page.textContent("#table p[role=status]")).split(" calls")[0].replace(/\D/g, ""));
	await page.keyboard.press("Enter");
	await ready(page);
	await settle(page);
	ok(said > 0, "an empty area");
	is(await left_over("keyboard"), said, "as was told");
	await page.fill("#table input", "nobody");
	await page.press("#table input", "Enter");
	await page.waitForSelector("#table span[role=status]:text('no function is named so')");
});

await test("a long range is drawn from whole parts of the trace, with as many calls", async () => {
	const of = calls_of(long);
	await page.goto("about:blank");
	await page.goto(await view(long));
	await ready(page);
	const l = (await state()).length;
	for (const [from, to] of [[0, l], [Math.round(l / 30), l - Math.round(l / 30)]]) {
		const [, got] = await ask({function: of.id, from, to, columns: 12});
		is(got.even, false, "even");
		compare(got, of.all, from, to);
	}
});

await test("the page said no error", async () => is(errors.filter(e => !/40[04]/.test(e)).join("; "), "", "errors"));

await browser.close();
end();
