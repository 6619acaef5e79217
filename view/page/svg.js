// SPDX-License-Identifier: MIT
// The picture as SVG: an object with the functions of a canvas context that draw.js uses, which writes them as SVG.
const escape = text => text.replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));
const n = v => String(Math.round(v * 100) / 100);

export class Svg {
	constructor(width, height) {
		this.width = width; this.height = height; this.out = []; this.path = []; this.clips = 0; this.stack = [];
		this.fillStyle = this.strokeStyle = "#000"; this.globalAlpha = 1; this.lineWidth = 1; this.dash = "";
		this.font = ""; this.textAlign = "left"; this.textBaseline = "middle"; this.groups = 0;
	}
	save() { this.stack.push([this.fillStyle, this.strokeStyle, this.globalAlpha, this.lineWidth, this.textAlign, this.groups]); this.groups = 0; }
	restore() {
		for (; this.groups; this.groups--) this.out.push("</g>");
		[this.fillStyle, this.strokeStyle, this.globalAlpha, this.lineWidth, this.textAlign, this.groups] = this.stack.pop();
	}
	alpha() { return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : ""; }
	fillRect(x, y, w, h) { this.out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${this.fillStyle}"${this.alpha()}/>`); }
	strokeRect(x, y, w, h) { this.out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.alpha()}/>`); }
	fillText(text, x, y) {
		const anchor = this.textAlign === "right" ? ' text-anchor="end"' : "";
		this.out.push(`<text x="${n(x)}" y="${n(y + 4)}" fill="${this.fillStyle}"${anchor}${this.alpha()}>${escape(String(text))}</text>`);
	}
	setLineDash(d) { this.dash = d.length ? ` stroke-dasharray="${d.join(" ")}"` : ""; }
	beginPath() { this.path = []; }
	moveTo(x, y) { this.path.push(`M${n(x)} ${n(y)}`); }
	lineTo(x, y) { this.path.push(`L${n(x)} ${n(y)}`); }
	rect(x, y, w, h) { this.path.push(`M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`); }
	stroke() { this.out.push(`<path d="${this.path.join("")}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.dash}${this.alpha()}/>`); }
	fill() { this.out.push(`<path d="${this.path.join("")}z" fill="${this.fillStyle}"${this.alpha()}/>`); }
	clip() {
		const id = "c" + ++this.clips;
		this.out.push(`<clipPath id="${id}"><path d="${this.path.join("")}"/></clipPath><g clip-path="url(#${id})">`);
		this.groups++;
	}
	text() {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="system-ui, sans-serif" font-size="11.5">\n${this.out.join("\n")}\n</svg>\n`;
	}
}
