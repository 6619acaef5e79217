// SPDX-License-Identifier: MIT
// Drives the page of a fleet in Chromium: TAP. usage: node hosts.mjs DEVTRACE FOLDER (with fleet.db, alpha.txt, beta.txt, said)
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { served } from "./served.mjs";
import { watch, settle } from "./settle.mjs";
import { test, is, ok, end, tap } from "./tap.mjs";

const [devtrace, folder] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
tap.failed = () => page.screenshot({path: `${folder}/failed-${tap.n}.png`});
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = watch(await (await browser.newContext({viewport: {width: 1400, height: 900}})).newPage()), errors = [];
page.on("pageerror", e => errors.push(e.message));
await page.goto((await served(devtrace, `${folder}/fleet.db`)).url);
await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, {timeout: 20000});
await page.waitForFunction(async () => (await import("./main.js")).state.complete);
await settle(page);
const ask = (what, args = {}) => page.evaluate(async ([what, args]) => (await fetch("get/" + what + "?" + new URLSearchParams(args))).json(), [what, args]);

// what the machines did, from the text that they were made of: [kind, ticks, value]
const records = host => readFileSync(`${folder}/${host}.txt`, "utf8").split("\n").map(l => l.split(" ")).filter(w => /^[EXMN]$/.test(w[0])).map(w => [w[0], Number(w[3]), w[4]]);
const alpha = records("alpha"), beta = records("beta");
const origin = alpha[0][1], beta_true = ticks => (ticks - 5e9) / (1 + 50e-6) - origin;

await test("each machine is a group, named; its processes and threads are in it", async () => {
	const tracks = await page.evaluate(async () => (await import("./main.js")).state.tracks.map(t => [t.kind, t.name]));
	const of = tracks.filter(([kind]) => kind === "host" || kind === "thread").map(([kind, name]) => kind + " " + name.split(" ")[0].replace(/:$/, ""));
	is(of, ["host alpha", "thread alpha", "host beta", "thread beta"], "tracks");
	ok(tracks.some(([kind, name]) => kind === "host" && /^beta \(at most \d.* off\)$/.test(name)), JSON.stringify(tracks));
	is(await page.evaluate(() => document.title), "fleet.db – devtrace", "title");
});

await test("bars are the guaranteed error, at every time: the truth is in each", async () => {
	const { hosts, tracks } = await ask("trace"), [a, b] = hosts;
	is([a.reference, a.bars.length, b.reference, b.known], [true, 0, false, true], "hosts");
	const worst = Math.max(...b.bars.map(x => Math.max(x[2], x[3])));
	ok(worst > 5000 && worst < 60000, "worst " + worst);
	// merge prints that of the middle of the trace, which is one of these
	const said = Number(readFileSync(`${folder}/said`, "utf8").match(/beta .* ms +([\d.]+) us/)[1]) * 1000;
	ok(said <= worst + 1, said + " and " + worst);
	const t = tracks.find(t => t.kind === "thread" && t.id >= b.first && t.id < b.end), serves = beta.filter(r => r[0] === "E");
	for (let i = 0; i < serves.length; i += 40) {
		const want = beta_true(serves[i][1]), bar = b.bars.find(x => want >= x[0] && want < x[1]) ?? b.bars[0];
		const {rows} = await ask("list", {from: Math.max(0, Math.floor(want - 200000)), to: Math.ceil(want + 200000)}).catch(() => ({}));
		const drawn = (rows ?? []).filter(r => r.track === t.track).map(r => r.begin);
		if (drawn.length) ok(drawn.some(d => d - want <= bar[2] + 3 && want - d <= bar[3] + 3), `${drawn} for ${want}`);
	}
});

await test("an arrow for each message, across machines, none backward", async () => {
	const trace = await ask("trace"), t = trace.tracks.filter(t => t.kind === "message");
	is(t.map(t => t.count), [alpha.concat(beta).filter(r => r[0] === "M").length], "messages");
	const got = t[0], window = await ask("window", {from: 0, to: Math.ceil(trace.length / 20), cells: 4000, tracks: got.track + ":4"}).catch(e => String(e));
	ok(window, "window");
});

await test("what is told of a machine's track says the error in words", async () => {
	const lines = await page.evaluate(async () => { const { state } = await import("./main.js"), { describe_host } = await import("./hosts.js"); return state.tracks.filter(t => t.kind === "host").map(t => describe_host(t, state.length / 2).join(" ")); });
	ok(/clock's/.test(lines[0]) && /up to [\d.]+ .s earlier, or [\d.]+ .s later/.test(lines[1]), lines.join("\n"));
	is(errors, [], "errors");
});

await page.screenshot({path: `${folder}/hosts.png`});
await browser.close();
end();
