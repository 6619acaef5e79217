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

// all bars of these kinds (bits as in analyse/feed.h): the list goes on at `next', also where it found none in time
const THREAD = 1 << 0, MESSAGE = 1 << 4;
const listed = async wanted => {
	const rows = [], to = (await ask("trace")).length;
	for (let from = 0; from !== undefined && from <= to;) {
		const part = await ask("list", {from, to, kinds: wanted, rows: 1000});
		rows.push(...part.rows);
		from = part.next;
	}
	return rows;
};

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
	// what is drawn is in the middle of what is possible: as much to either side, and together what merge says
	const middle = b.bars[b.bars.length >> 1];
	ok(Math.min(middle[2], middle[3]) > said * 0.9 && Math.max(middle[2], middle[3]) < said * 1.1, middle + " and " + said);
	const t = tracks.find(t => t.kind === "thread" && t.id >= b.first && t.id < b.end), serves = beta.filter(r => r[0] === "E");
	// the list goes on at `next' when a turn of it was too short to find any
	const drawn = (await listed(THREAD)).filter(r => r.track === t.track).map(r => r.begin);
	is(drawn.length, serves.length, "calls of beta that are drawn");
	let compared = 0, off = 0;
	for (let i = 0; i < serves.length; i++) {
		const want = beta_true(serves[i][1]), bar = b.bars.find(x => want >= x[0] && want < x[1]) ?? b.bars[0];
		ok(drawn[i] - want <= bar[2] + 3 && want - drawn[i] <= bar[3] + 3, `${drawn[i]} for ${want}, bar ${bar}`);
		off = Math.max(off, Math.abs(drawn[i] - want));
		compared++;
	}
	ok(compared > 300, "compared " + compared);
	ok(off > 3, "nothing is off by more than a tick: is this the truth itself?");
});

await test("an arrow for each message, across machines, none backward", async () => {
	const trace = await ask("trace"), t = trace.tracks.filter(t => t.kind === "message");
	is(t.map(t => t.count), [alpha.concat(beta).filter(r => r[0] === "M").length], "messages");
	const arrows = await listed(MESSAGE);
	is(arrows.length, t[0].count, "arrows");
	// one for each number that was sent: when, by the truth, and received; sent on the other machine than received
	const when = (host, kind) => (host === "alpha" ? alpha : beta).filter(r => r[0] === kind).map(r => [host === "alpha" ? r[1] - origin : beta_true(r[1]), host, BigInt(r[2]) & 0xffffffffffffffn]);
	const sent = [...when("alpha", "M"), ...when("beta", "M")].sort((a, b) => a[0] - b[0]);
	const received = new Map([...when("alpha", "N"), ...when("beta", "N")].map(r => [r[2], r]));
	const worst = Math.max(...trace.hosts[1].bars.map(x => Math.max(x[2], x[3]))) + 3;
	for (let i = 0; i < arrows.length; i++) {
		const r = received.get(sent[i][2]), a = arrows[i];
		ok(r && r[1] !== sent[i][1], "sent and received: " + r);
		ok(a.end > a.begin, `an arrow goes from ${a.begin} to ${a.end}`);
		ok(Math.abs(a.begin - sent[i][0]) <= worst && Math.abs(a.end - r[0]) <= worst, `${a.begin} to ${a.end} for ${sent[i][0]} to ${r[0]}`);
		ok(a.receiver >= trace.hosts[r[1] === "alpha" ? 0 : 1].first && a.receiver < trace.hosts[r[1] === "alpha" ? 0 : 1].end, "receiver " + a.receiver);
	}
});

await test("what is told of a machine's track says the error in words", async () => {
	const lines = await page.evaluate(async () => { const { state } = await import("./main.js"), { describe_host } = await import("./hosts.js"); return state.tracks.filter(t => t.kind === "host").map(t => describe_host(t, state.length / 2).join(" ")); });
	ok(/clock's/.test(lines[0]) && /up to [\d.]+ .s earlier, or [\d.]+ .s later/.test(lines[1]), lines.join("\n"));
	is(errors, [], "errors");
});

await page.screenshot({path: `${folder}/hosts.png`});
await browser.close();
end();
