// SPDX-License-Identifier: MIT
// Opens exported traces in speedscope, its npm package, in Chromium: TAP.
// usage: node readers.mjs SPEEDSCOPE-FOLDER FILE...   (playwright-core is found from the current folder)
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { join, extname } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
const types = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2", ".json": "application/json"};

const server = createServer((request, answer) => {
	const name = decodeURIComponent(new URL(request.url, "http://x").pathname).slice(1) || "index.html";
	try {
		const bytes = readFileSync(join(folder, name));
		answer.writeHead(200, {"Content-Type": types[extname(name)] || "application/octet-stream"});
		answer.end(bytes);
	} catch {
		answer.writeHead(404);
		answer.end();
	}
});
await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
let n = 0, bad = 0;
for (const file of files) {
	const page = await browser.newPage(), said = [];
	page.on("dialog", d => { said.push(d.message()); d.dismiss(); });
	page.on("pageerror", e => said.push(e.message));
	let why = "";
	try {
		await page.goto(`http://127.0.0.1:${server.address().port}/`);
		await page.setInputFiles("input[type=file]", file);
		// its views stand above the picture once a profile is open
		await page.waitForFunction(() => /Time Order/.test(document.body.innerText) && /Sandwich/.test(document.body.innerText), null, {timeout: 60000});
		await page.getByText("Sandwich").first().click();
		// the table of its functions
		await page.waitForFunction(() => /function\d+/.test(document.body.innerText), null, {timeout: 60000});
	} catch (e) {
		why = e.message.split("\n")[0];
	}
	if (said.length) why += " " + said.join("; ");
	console.log(`${why ? "not ok" : "ok"} ${++n} - speedscope opens ${file.split("/").pop()}`);
	if (why) { bad = 1; console.log("# " + why); }
	await page.close();
}
await browser.close();
server.close();
console.log("1.." + n);
process.exit(bad);
