// SPDX-License-Identifier: MIT
// Drives the page of a session that is recording: TAP. usage: node live.mjs DEVTRACE FOLDER PID
import { createRequire } from "node:module";
import { spawn, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { test, is, ok, end } from "./tap.mjs";

const [devtrace, folder, pid] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
const file = folder + "/live.db", temporary = process.env.TMPDIR = folder + "/temporary";
mkdirSync(temporary);

function serve(...args) {
	const child = spawn(devtrace, ["view", "-n", ...args], {stdio: ["ignore", "pipe", "inherit"]});
	process.on("exit", () => child.kill());
	return new Promise((resolve, reject) => {
		child.stdout.once("data", d => resolve({url: String(d).trim(), child}));
		child.once("exit", status => reject(new Error("devtrace view ended with status " + status)));
	});
}

const ctl = (...words) => execFileSync(devtrace, ["ctl", "-s", "live", ...words]).toString();

execFileSync(devtrace, ["attach", "-d", "-s", "live", "-o", file, "-F", "step", "-F", "work", pid], {stdio: ["ignore", "ignore", "inherit"]});
let served = await serve("-s", "live");
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
const page = await (await browser.newContext({viewport: {width: 1300, height: 700}})).newPage();
const state = () => page.evaluate(async () => {
	const { state: s } = await import("./main.js");
	return {from: s.from, to: s.to, length: s.length, records: s.records, live: s.live, complete: s.complete, ns: s.ns_per_tick,
		drawn: [...s.bars.values()].reduce((n, b) => { for (let i = 0; i < b.n; i++) n += b.count[i]; return n; }, 0)};
});
// A condition in the page, which may have to wait for something itself.
async function until(condition, arg) {
	for (const end = Date.now() + 20000; !await page.evaluate(condition, arg);) {
		if (Date.now() > end) throw new Error("never: " + condition);
		await page.waitForTimeout(30);
	}
}
const records = more => until(async least => (await import("./main.js")).state.records > least, more);

await test("what the session records is drawn as it comes", async () => {
	await page.goto(served.url);
	await records(0);
	const a = await state();
	ok(a.live, "it is not live");
	await records(a.records + 2000);
	await until(async least => { const { state: s } = await import("./main.js"); let n = 0; for (const b of s.bars.values()) for (let i = 0; i < b.n; i++) n += b.count[i]; return n > least; }, a.drawn);
	await until(async () => { const { state: s } = await import("./main.js"); return s.to === s.length; });
	ok((await state()).length > a.length, "no longer");
});

await test("the news say how many records there are, and how long they are, as the trace does", async () => {
	const answer = await fetch(served.url + "get/news"), reader = answer.body.getReader();
	let text = "";
	for (let i = 0; i < 4; i++) {
		while (text.split("\n\n").length < 2) text += new TextDecoder().decode((await reader.read()).value);
		const before = JSON.parse(text.match(/^data: *(\{.*\})$/m)[1]);
		text = text.slice(text.indexOf("\n\n") + 2);
		const now = await (await fetch(served.url + "get/trace")).json();
		is(Object.keys(before).join(), "records,length,live", "what is told");
		ok(before.live === true && before.records > 0 && before.length > 0, JSON.stringify(before));
		ok(before.records <= now.total && before.length <= now.length, JSON.stringify(before) + " before " + now.total + ", " + now.length);
		// no clock reading: of the trace's own length
		ok(now.length - before.length < 60e9 / now.ns_per_tick && before.length > 0.02 * now.length, before.length + " of " + now.length);
	}
	await reader.cancel();
});

await test("nine tabs: each is told what comes, and can tell the session", async () => {
	const tabs = [];
	for (let i = 0; i < 8; i++) {
		const p = await page.context().newPage();
		tabs.push(p);
		await p.goto(served.url, {timeout: 20000});
	}
	for (const p of tabs) {
		const records = () => p.evaluate(async () => (await import("./main.js")).state.records);
		const before = await records();
		for (const end = Date.now() + 15000; await records() < before + 1000;) {
			if (Date.now() > end) throw new Error("nothing has come to tab " + tabs.indexOf(p));
			await p.waitForTimeout(50);
		}
	}
	await tabs[7].click("#freeze");
	await tabs[7].waitForFunction(() => document.getElementById("state")?.textContent === "frozen");
	await tabs[0].click("#unfreeze");
	await tabs[0].waitForFunction(() => document.getElementById("state")?.textContent === "recording");
	for (const p of tabs) await p.close();
	const { records: n } = await state();
	await records(n + 1000);
});

await test("pause keeps the picture where it is, what comes goes on behind; follow goes to the end", async () => {
	await page.click("#follow");
	const a = await state();
	await records(a.records + 2000);
	const b = await state();
	is([b.from, b.to].join(), [a.from, a.to].join(), "moved");
	ok(b.length > a.length, "nothing came: " + JSON.stringify([a, b]));
	await page.click("#follow");
	await until(async () => { const { state: s } = await import("./main.js"); return Math.abs(s.to - s.length) < 0.05 * (s.to - s.from) + 1000; });
});

await test("who moves is not moved away by what comes, until it is followed again", async () => {
	const follow = () => page.textContent("#follow"), box = await page.locator("#line").boundingBox();
	const ways = {
		a: () => page.keyboard.press("a"), d: () => page.keyboard.press("d"), ArrowLeft: () => page.keyboard.press("ArrowLeft"),
		wheel: async () => { await page.mouse.move(box.x + 600, box.y + 200); await page.keyboard.down("Shift"); await page.mouse.wheel(0, 60); await page.keyboard.up("Shift"); },
		drag: async () => { await page.mouse.move(box.x + 600, box.y + 200); await page.mouse.down(); await page.mouse.move(box.x + 700, box.y + 200, {steps: 3}); await page.mouse.up(); },
		map: () => page.click("#map", {position: {x: 300, y: 10}})};
	// not all of it is shown: else it stays whole
	await page.keyboard.press("w");
	for (const way in ways) {
		is(await follow(), "pause", "before " + way);
		await page.evaluate(() => document.activeElement.blur());
		await ways[way]();
		is(await follow(), "follow", way);
		const a = await state();
		await records(a.records + 1000);
		const b = await state();
		is([b.from, b.to].join(), [a.from, a.to].join(), way + ": moved");
		await page.click("#follow");
		await until(async () => { const { state: s } = await import("./main.js"); return Math.abs(s.to - s.length) < 0.05 * (s.to - s.from) + 1000; });
	}
	// one that is there already is not switched by it
	await page.click("#follow");
	await page.keyboard.press("a");
	is(await follow(), "follow", "moved while it is not followed");
	await page.click("#follow");
	await page.keyboard.press("f");
});

await test("stop and start from the page", async () => {
	await page.click("#stop");
	await until(() => document.getElementById("state")?.textContent === "stopped");
	// what was under way still comes
	let last = -1;
	for (let same = 0; same < 6;) { const { records: r } = await state(); same = r === last ? same + 1 : 0; last = r; await page.waitForTimeout(150); }
	ok(!/^start/m.test(ctl()), "it still records");
	await page.click("#start");
	await until(() => document.getElementById("state")?.textContent === "recording");
	await records(last + 1000);
	// frozen, and no more so: as the session says it
	await page.click("#freeze");
	await until(() => document.getElementById("state")?.textContent === "frozen");
	ok(/frozen|^freeze/m.test(ctl()), "it is not frozen: " + ctl());
	await page.click("#unfreeze");
	await until(() => document.getElementById("state")?.textContent === "recording");
	await records((await state()).records + 1000);
});

await test("a pattern on and off from the page", async () => {
	const seen = async () => (await page.evaluate(() => import("./data.js").then(d => d.json("search", {text: "rare"})))).length;
	is(await seen(), 0, "rare is there before");
	await page.fill("#pattern", "rare");
	await page.click("#on");
	for (let i = 0; i < 900 && !await seen(); i++) await page.waitForTimeout(100);
	is(await seen(), 1, "rare");
	await page.click("#off");
	await until(() => document.getElementById("state")?.textContent === "recording");
	// the state was "recording" before, too
	for (let i = 0; i < 300 && /^trace rare on/m.test(ctl()); i++) await page.waitForTimeout(100);
	ok(!/^trace rare on/m.test(ctl()), "it is still on");
	await page.fill("#pattern", "nosuch*");
	await page.click("#on");
	await until(() => document.getElementById("state")?.textContent === "recording; no function matches yet");
	await page.click("#off");
	await until(() => document.getElementById("state")?.textContent === "recording");
	await page.fill("#pattern", "rar*");
	await page.click("#on");
	await until(() => document.getElementById("state")?.textContent === "recording");
	ok(/^#trace nosuch/m.test(ctl()) === false, "it is off, and told of");
	await page.click("#off");
});

await test("single records for a second, and shows it", async () => {
	await page.click("#stop");
	await page.waitForTimeout(300);
	const a = await state();
	await page.click("#once");
	await until(() => document.getElementById("state")?.textContent === "stopped");
	await until(async from => { const { state: s } = await import("./main.js"); return s.from >= from * 0.9 && s.length > from; }, a.length);
	const s = await state();
	ok((s.length - a.length) * s.ns > 0.5e9, "it took " + (s.length - a.length) * s.ns);
	await page.click("#follow");
	await page.click("#start");
	await records(s.records + 100);
});

await test("a server that dies is told, and found again", async () => {
	const port = new URL(served.url).port;
	served.child.removeAllListeners("exit");
	const ended = new Promise(resolve => served.child.once("exit", resolve));
	served.child.kill("SIGKILL");
	await ended;
	await until(() => /no answer/.test(document.getElementById("state")?.textContent));
	served = await serve("-s", "live");
	await page.goto(served.url);
	const a = await state();
	await records(a.records + 1000);
});

await test("the session ends: it is said, and the summary is in the file", async () => {
	ctl("quit");
	await until(() => /the session has ended/.test(document.getElementById("state")?.textContent));
	await until(async () => (await import("./main.js")).state.complete);
	const total = execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", file, "SELECT sum(records) FROM chunk"]).toString().trim();
	is(String((await state()).records), total, "records");
	for (let i = 0; i < 100; i++) {
		try { if (Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", file, "SELECT count(*) FROM pyramid"], {stdio: ["ignore", "pipe", "ignore"]})) > 0) return; } catch { /* it is being written */ }
		await page.waitForTimeout(100);
	}
	throw new Error("no summary in the file");
});

await test("check-116: the same bytes from the file give the same picture", async () => {
	const other = await serve(file), of = async (base, path) => Buffer.from(await (await fetch(base + path)).arrayBuffer()).toString("base64");
	const trace = async base => (await fetch(base + "get/trace")).json();
	let a = await trace(served.url), b = await trace(other.url);
	for (let i = 0; i < 900 && !b.complete; i++) { await page.waitForTimeout(100); b = await trace(other.url); }
	is(a.length, b.length, "length");
	is(a.tracks.map(t => [t.kind, t.id, t.depths].join()).sort().join(" "), b.tracks.map(t => [t.kind, t.id, t.depths].join()).sort().join(" "), "tracks");
	for (let i = 0; i < 40; i++) {
		const from = Math.floor(a.length * (i % 8) / 8), to = Math.min(a.length, from + Math.floor(a.length / 4 ** (i % 7)));
		for (const t of a.tracks) {
			const same = b.tracks.find(x => x.kind === t.kind && x.id === t.id), ask = n => `get/window?from=${from}&to=${to}&cells=700&tracks=${n}`;
			// the track's number stands in front
			is((await of(served.url, ask(t.track))).slice(6), (await of(other.url, ask(same.track))).slice(6), `window ${from} to ${to} of ${t.name}`);
		}
	}
	other.child.removeAllListeners("exit");
	other.child.kill("SIGINT");
});

await test("a session that keeps a log only is drawn as it comes, too, until it ends; and nothing is left of that", async () => {
	execFileSync(devtrace, ["attach", "-d", "-s", "log", "-F", "rare", pid], {stdio: ["ignore", "ignore", "inherit"]});
	const say = (...words) => execFileSync(devtrace, ["ctl", "-s", "log", ...words]).toString();
	say("size", "20");
	say("start");
	// the other server has one
	const folders = () => readdirSync(temporary).filter(name => name.startsWith("devtrace")), before = folders();
	const other = await serve("-s", "log");
	await page.goto(other.url);
	await records(200);
	const a = await state();
	ok(a.live, "it is not live");
	await records(a.records + 1000);
	await until(async length => { const { state: s } = await import("./main.js"); return s.to === s.length && s.length > length && [...s.bars.values()].some(b => b.n); }, a.length);
	const got = await page.evaluate(async () => { const { state: s } = await import("./main.js"), { json } = await import("./data.js"); return {tracks: s.tracks.filter(t => t.kind === "thread").map(t => t.name + " of " + t.pid), names: [(await json("search", {text: "rare"})).length], processes: [...s.processes.values()]}; });
	is(got.tracks.join(), `ticker ${pid} of ${pid}`, "tracks");
	is(got.names.join(), "1", "functions");
	is(got.processes.join(), "ticker " + pid, "processes");
	// who takes records from the log has all of them, as without us
	await page.click("#stop");
	await until(() => document.getElementById("state")?.textContent === "stopped");
	let last = -1;
	for (let same = 0; same < 6;) { const { records: r } = await state(); same = r === last ? same + 1 : 0; last = r; await page.waitForTimeout(150); }
	const log = Number(/in queue (\d+)/.exec(say())[1]);
	is(last, log, "records of the page, of the log");
	is((await page.evaluate(() => import("./main.js").then(m => m.state.losses.length))), 0, "lost");
	say("quit");
	await until(() => /the session has ended/.test(document.getElementById("state")?.textContent));
	await until(async () => (await import("./main.js")).state.complete);
	is((await state()).records, log, "records at the end");
	is(folders().filter(name => name.startsWith("devtrace-view.")).length, 1, "its folder");
	other.child.removeAllListeners("exit");
	const ended = new Promise(resolve => other.child.once("exit", resolve));
	other.child.kill("SIGINT");
	is(await ended, 0, "status");
	is(folders().join(), before.join(), "left");
});

served.child.removeAllListeners("exit");
served.child.kill("SIGINT");
await browser.close();
end();
