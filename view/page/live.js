// SPDX-License-Identifier: MIT
// A trace that is being recorded: following what comes, and buttons that control the session.
import { state, news, show } from "./main.js";
import { count } from "./text.js";

const bar = document.getElementById("live");
let following = true, source = null, single = 0;
let stopped = false, frozen = false;	// the session's state by the commands from this page

const does = () => stopped ? "stopped" : frozen ? "frozen" : "recording";

function button(id, text, label, click) {
	const b = document.createElement("button");
	b.id = id;
	b.textContent = text;
	b.setAttribute("aria-label", label);
	b.onclick = click;
	bar.append(b);
	return b;
}

const word = document.createElement("span");
word.id = "state";
word.setAttribute("role", "status");

function say(text) { word.textContent = text; }

async function tell(command) {
	try {
		const answer = await fetch("tell?" + new URLSearchParams({command}), {method: "POST"});
		const { error, note } = await answer.json();
		if (!error && /^(start|stop)$/.test(command)) stopped = command === "stop";
		if (!error && /^(un)?freeze$/.test(command)) frozen = command === "freeze";
		say(error || (state.live ? does() + (note ? "; " + note : "") : "ended"));
		return !error;
	} catch (e) {
		say("no answer: " + e.message);
		return false;
	}
}

function follow(on) {
	following = on;
	const b = document.getElementById("follow");
	b.textContent = on ? "pause" : "follow";
	b.setAttribute("aria-label", on ? "Stop following what comes" : "Follow what comes");
	if (on) to_end();
}

// Shows the end of the trace, with the same width in time, but at most ten seconds; or all of a short trace.
function to_end() {
	const span = Math.min(state.to - state.from, 1e10 / state.ns_per_tick);
	if (state.to - state.from >= state.length * 0.9 && state.length * state.ns_per_tick < 1e10) show(0, state.length);
	else show(state.length - span, state.length);
}

async function once() {
	clearTimeout(single);
	follow(false);
	const from = state.length;
	if (!await tell("start")) return;
	say("recording for a second");
	single = setTimeout(async () => {
		if (!await tell("stop")) return;
		setTimeout(() => show(Math.min(from, state.length - 1), state.length), 800);
	}, 1000);
}

function build() {
	button("follow", "pause", "Stop following what comes", () => follow(!following));
	button("start", "start", "Have the session record", () => tell("start"));
	button("stop", "stop", "Have the session record no more", () => tell("stop"));
	button("freeze", "freeze", "Freeze what the session has", () => tell("freeze"));
	button("unfreeze", "unfreeze", "Have it go on behind a freeze", () => tell("unfreeze"));
	button("once", "single", "Record for a second, and stop", once);
	const pattern = document.createElement("input");
	pattern.id = "pattern";
	pattern.placeholder = "pattern";
	pattern.setAttribute("aria-label", "Pattern of functions to switch on or off");
	bar.append(pattern);
	const all = new Set();
	const name = () => pattern.value.trim();
	button("on", "on", "Switch on the functions of this pattern", async () => {
		const p = name();
		if (!p) return;
		if (!all.has(p) && await tell(`trace '${p.replaceAll("'", "")}' new '${p.replaceAll("'", "")}'`)) all.add(p);
		await tell(`trace '${p.replaceAll("'", "")}' on`);
	});
	button("off", "off", "Switch off the functions of this pattern", () => name() && tell(`trace '${name().replaceAll("'", "")}' off`));
	bar.append(word);
}

// Subscribes to the news. All tabs share one connection (news.js), because a browser has only six for a host; without shared workers, each tab has its own.
function subscribe(came, failed) {
	if (!window.SharedWorker) {
		const own = new EventSource("get/news");
		own.onmessage = e => came(JSON.parse(e.data));
		own.onerror = failed;
		return own;
	}
	const port = new SharedWorker("news.js").port, close = () => port.postMessage("gone");
	port.onmessage = e => e.data ? came(e.data) : failed();
	addEventListener("pagehide", close);
	return {close};
}

function listen() {
	let ended = false;
	source = subscribe(async what => {
		await news(); // this may find that the trace has ended before `what' says so
		if (following && what.live) to_end();
		if (!what.live && !ended) {
			ended = true;
			end();
		}
		else if (what.live && /answer|waiting/.test(word.textContent)) say(does());
	}, () => { if (state.live) say("no answer: waiting for devtrace view"); });
	addEventListener("pageshow", e => { if (e.persisted) location.reload(); });
}

function end() {
	source.close();
	for (const b of bar.querySelectorAll("button, input")) b.disabled = true;
	say("the session has ended: " + count(state.records) + " records");
}

export const live = {
	begin() {
		if (source || !state.live) return;
		bar.hidden = false;
		build();
		say("recording");
		listen();
	},
	// Called when the user moves the picture: it no longer follows what comes.
	moved() { if (source && following && state.live) follow(false); },
	following: () => following,
};
