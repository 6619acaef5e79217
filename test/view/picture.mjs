// SPDX-License-Identifier: MIT
// Opens pictures in Chromium, light and dark: TAP.
// usage: node picture.mjs PICTURE...   (playwright-core is found from the current folder)
import { createRequire } from "node:module";

const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
let n = 0, bad = 0;
function check(ok, what, why) {
	console.log(`${ok ? "ok" : "not ok"} ${++n} - ${what}`);
	if (!ok) { bad = 1; console.log("# " + why); }
}
for (const file of process.argv.slice(2)) {
	const name = file.split("/").pop(), backs = [];
	for (const colorScheme of ["light", "dark"]) {
		const page = await browser.newPage({colorScheme, viewport: {width: 1000, height: 460}});
		await page.goto("file://" + file);
		const seen = await page.evaluate(() => {
			const svg = document.documentElement, box = e => e.getBoundingClientRect();
			const all = box(svg), inside = r => r.left >= all.left - 0.5 && r.right <= all.right + 0.5 && r.top >= all.top - 0.5 && r.bottom <= all.bottom + 0.5;
			const texts = [...svg.querySelectorAll("text")], rects = texts.map(box);
			const over = [];
			for (let i = 0; i < rects.length; i++)
				for (let j = i + 1; j < rects.length; j++)
					if (rects[i].left < rects[j].right && rects[j].left < rects[i].right && rects[i].top + 2 < rects[j].bottom && rects[j].top + 2 < rects[i].bottom)
						over.push(texts[i].textContent + " / " + texts[j].textContent);
			const fill = e => getComputedStyle(e).fill;
			const bars = [...svg.querySelectorAll(".bar rect:not(.all)")];
			return {over, out: texts.filter(t => !inside(box(t))).map(t => t.textContent), bars: bars.length,
				small: bars.filter(b => box(b).height < 0.99).length, back: fill(svg.querySelector(".back")),
				ink: fill(texts[0]), marks: svg.querySelectorAll(".value").length};
		});
		backs.push(seen.back);
		check(seen.over.length === 0 && seen.out.length === 0, `${name}, ${colorScheme}: every text is in the picture and can be read`, JSON.stringify(seen));
		check(seen.bars > 0 && seen.small === 0 && seen.marks > 1, `${name}, ${colorScheme}: bars are seen, and values at the axis`, JSON.stringify(seen));
		// pointed at, a bar says what it is
		const pointed = await page.evaluate(() => {
			const bars = [...document.querySelectorAll(".bar")], r = bars.at(-1).querySelector(".all").getBoundingClientRect();
			return document.elementFromPoint(r.left + r.width / 2, r.top + Math.min(5, r.height / 2))?.closest(".bar") === bars.at(-1);
		});
		check(pointed, `${name}, ${colorScheme}: a bar is found above it, too`, "");
		await page.close();
	}
	check(backs[0] !== backs[1], `${name}: it is light or dark`, backs.join(" "));
}
await browser.close();
console.log("1.." + n);
process.exit(bad);
