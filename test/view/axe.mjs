// SPDX-License-Identifier: MIT
// axe-core in the page, in each of its tabs and in what opens: TAP. usage: node axe.mjs DEVTRACE TRACE
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, tap } from "./tap.mjs";

const [devtrace, trace] = process.argv.slice(2);
const require = createRequire(process.cwd() + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const server = await served(devtrace, trace);
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});

const pick = page => page.evaluate(async () => {
	const m = await import("./main.js"), t = m.state.tracks.find(t => t.kind === "thread"), b = m.state.bars.get(t.track), i = [...b.count].indexOf(1);
	m.state.picked = {track: t.track, depth: b.depth[i], begin: b.begin[i], end: b.end[i], what: b.what[i], flags: b.flags[i], count: 1};
	(await import("./panel.js")).panel.open("call");
});

async function findings(page) {
	return page.evaluate(async () => {
		const r = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]});
		return r.violations.map(v => `${v.id} (${v.impact}): ${v.help}: ` + v.nodes.slice(0, 4).map(n => n.target.join(" ") + " " + n.any.map(a => a.message).join("; ").slice(0, 200)).join(" | "));
	});
}

for (const [colorScheme, width] of [["light", 1400], ["dark", 1400], ["light", 360]]) {
	const page = watch(await (await browser.newContext({viewport: {width, height: 900}, colorScheme})).newPage());
	await page.goto(server.url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 60000});
	await settle(page);
	await page.evaluate(axe);
	const tabs = await page.$$eval("#tabs [data-tab]", all => all.map(x => x.dataset.tab));
	const states = {
		"as it opens": async () => {},
		...Object.fromEntries(tabs.map(t => ["tab " + t, () => page.evaluate(async t => (await import("./panel.js")).panel.open(t), t)])),
		"a call is picked": () => pick(page),
		"a filter that is wrong": async () => { await page.fill("#filter", "time>>"); await page.press("#filter", "Enter"); },
		"the keys": () => page.keyboard.press("Escape").then(() => page.evaluate(() => document.activeElement.blur())).then(() => page.keyboard.press("?")),
	};
	await test(`axe-core finds nothing: ${colorScheme}, ${width} pixels wide, ${Object.keys(states).length} states`, async () => {
		const bad = new Map();	// what was found: where
		for (const [name, go] of Object.entries(states)) {
			await go();
			await settle(page);
			for (const f of await findings(page)) bad.set(f, [...bad.get(f) ?? [], name]);
		}
		if (bad.size) throw new Error([...bad].map(([f, where]) => `${f} [${where.join(", ")}]`).join("\n"));
	});
	await page.close();
}
await browser.close();
await server.stop?.();
console.log("1.." + tap.n);
process.exit(tap.bad);
