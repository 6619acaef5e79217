// SPDX-License-Identifier: MIT
// devtrace for tests of its page: `view' on a trace, until the test ends; and what `sql' says of it.
import { spawn, execFileSync } from "node:child_process";

const children = new Set();
process.on("exit", () => { for (const c of children) c.kill(); });

// Starts `devtrace view' with these arguments: {url, said() (what it has written to standard error), stop()}.
export async function served(devtrace, ...args) {
	const child = spawn(devtrace, ["view", "-n", ...args], {stdio: ["ignore", "pipe", "pipe"]});
	let said = "";
	child.stderr.on("data", d => { said += d; process.stderr.write(d); });
	children.add(child);
	return {
		url: await new Promise((resolve, reject) => {
			child.stdout.once("data", d => resolve(String(d).trim()));
			child.once("exit", status => reject(new Error("devtrace view ended with status " + status)));
		}),
		said: () => said,
		stop: () => new Promise(resolve => { child.once("exit", resolve); child.kill("SIGINT"); }),
	};
}

// The tick of a trace's first record, from which the page counts.
export const origin_of = file => Number(execFileSync("sqlite3", ["-cmd", ".timeout 20000", "-readonly", file, "SELECT min(min_ticks) FROM chunk"]).toString());

// Asks a trace: an object for each row.
export function asked(devtrace, file, query) {
	return execFileSync(devtrace, ["sql", "-j", file, query], {maxBuffer: 1 << 29}).toString().trim().split("\n").filter(Boolean).map(l => JSON.parse(l));
}
