/* SPDX-License-Identifier: MIT */
/* Flame graphs. */
#include "analyse/flame.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/svg.h"

#define ROW   17u
#define TOP   34u
#define SIDE  8u
#define LEAST 0.3 /* pixels: boxes that are narrower are drawn together with their neighbours */

struct drawing {
	const struct dt_stacks *s;
	struct dt_reader *r;
	FILE *f;
	uint64_t *time;	  /* ticks by node: its own and those of all nodes below it */
	uint32_t *sorted; /* holds the children of each node that is being drawn */
	double scale, ns;
	unsigned deepest;
};

static void name_of(const struct drawing *d, uint32_t i, char *out, size_t size)
{
	const struct dt_stack_node *n = &d->s->node[i];
	const struct dt_thread_info *t = n->thread ? dt_reader_thread(d->r, n->function) : NULL;

	if (!n->thread)
		snprintf(out, size, "%s", dt_reader_function_name(d->r, n->function));
	else if (n->function == DT_NO_TID)
		snprintf(out, size, "interrupts");
	else
		snprintf(out, size, "%s %u", t && *t->name ? t->name : "thread",
			 dt_reader_number(d->r, n->function));
}

/* The hues of Okabe and Ito, lightened; chosen by the function, so that it has the same in every
 * picture. */
static const char *colour(uint32_t function)
{
	static const char *const c[] = {"#f0c05a", "#7fc6ee", "#66c7a8", "#f5ec8e",
					"#73aed6", "#e69a5e", "#dea6c5", "#c9cbd6"};

	return c[(function * 0x9e3779b1u >> 16) % (sizeof(c) / sizeof(*c))];
}

static void box(struct drawing *d, uint32_t i, double x, double w, unsigned depth)
{
	const struct dt_stack_node *n = &d->s->node[i];
	double ms = (double)d->time[i] * d->ns / 1e6, own = (double)n->self * d->ns / 1e6;
	unsigned room = (unsigned)(w / 6.6), length;
	char name[1024];

	name_of(d, i, name, sizeof(name));
	fprintf(d->f, "<g data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%u\" data-n=\"", x, w, depth);
	dt_svg_text(d->f, name);
	fputs("\"><title>", d->f);
	dt_svg_text(d->f, name);
	fprintf(d->f, ": %.3f ms", ms);
	if (!n->thread)
		fprintf(d->f, ", itself %.3f ms, %lu calls", own, (unsigned long)n->calls);
	fprintf(d->f,
		"</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"%s\"/>", x,
		TOP + depth * ROW, w, ROW - 1, n->thread ? "#d5dae0" : colour(n->function));
	length = (unsigned)strlen(name);
	fprintf(d->f, "<text x=\"%.2f\" y=\"%u\">", x + 3, TOP + depth * ROW + 12);
	if (room > 3) {
		if (length > room) {
			/* not in the middle of a character */
			length = room - 1;
			while (length && (name[length] & 0xc0) == 0x80)
				length--;
			name[length] = '\0';
			dt_svg_text(d->f, name);
			fputs("…", d->f);
		} else {
			dt_svg_text(d->f, name);
		}
	}
	fputs("</text></g>\n", d->f);
}

/* Draws one box for several that are too narrow for their own. */
static void rest(struct drawing *d, unsigned n, uint64_t time, double x, double w, unsigned depth)
{
	if (w <= 0)
		return;
	fprintf(d->f,
		"<g data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%u\" data-n=\"\"><title>%u more: %.3f ms</title>"
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"#9aa3ad\"/></g>\n",
		x, w, depth, n, (double)time * d->ns / 1e6, x, TOP + depth * ROW, w, ROW - 1);
}

static int by_time(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct drawing *d = ctx;

	if (d->time[x] != d->time[y])
		return d->time[x] > d->time[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Draws the children of a node, the widest first. They stay in `sorted' until their own children
 * are drawn. */
static void children(struct drawing *d, uint32_t parent, double x, unsigned depth, uint32_t *room)
{
	uint32_t n = 0, narrow = 0;
	uint64_t left = 0;

	for (uint32_t i = d->s->node[parent].child; i; i = d->s->node[i].next)
		if (d->time[i])
			room[n++] = i;
	qsort_r(room, n, sizeof(*room), by_time, d);
	for (uint32_t i = 0; i < n; i++) {
		double w = (double)d->time[room[i]] * d->scale;

		if (w < LEAST) {
			narrow++;
			left += d->time[room[i]];
			continue;
		}
		box(d, room[i], x, w, depth);
		children(d, room[i], x, depth + 1, room + n);
		x += w;
	}
	if (narrow)
		rest(d, narrow, left, x, (double)left * d->scale, depth);
}

/* Returns how deep the boxes that are drawn reach. */
static unsigned deepest(const struct drawing *d)
{
	unsigned most = 0;

	for (uint32_t i = 1; i < d->s->n; i++) {
		unsigned depth = 0;

		if ((double)d->time[i] * d->scale < LEAST)
			continue;
		for (uint32_t k = i; k; k = d->s->node[k].parent)
			depth++;
		most = depth > most ? depth : most;
	}
	return most;
}

static const char style[] =
	"<style>text{font:11px system-ui,sans-serif;fill:#111;pointer-events:none}"
	"rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:#000}.dim{opacity:.25}"
	"#say{font-size:12px}#title{font-size:13px;font-weight:600}</style>\n";

/* A click makes that box as wide as the picture; / searches. */
static const char script[] =
	"<script><![CDATA[\n"
	"const svg=document.documentElement,all=[...svg.querySelectorAll('g[data-x]')],width=+svg.dataset.width,say=svg.getElementById('say');\n"
	"function place(from,w){for(const g of all){const x=(+g.dataset.x-from)*width/w+8,k=+g.dataset.w*width/w,r=g.querySelector('rect'),t=g.querySelector('text');\n"
	"const a=Math.max(8,x),b=Math.min(width+8,x+k);g.style.display=b-a>0.05?'':'none';r.setAttribute('x',a);r.setAttribute('width',Math.max(0,b-a));\n"
	"if(t){t.setAttribute('x',a+3);const n=g.dataset.n,room=Math.floor((b-a)/6.6);t.textContent=room>3?(n.length>room?n.slice(0,room-1)+'…':n):'';}}}\n"
	"svg.addEventListener('click',e=>{const g=e.target.closest('g[data-x]');if(g)place(+g.dataset.x,+g.dataset.w);else place(8,width);});\n"
	"function find(s){let sum=0,end=-1;for(const g of all){const hit=s&&g.dataset.n.includes(s);g.classList.toggle('dim',!!s&&!hit);}\n"
	"for(const g of all.filter(g=>s&&g.dataset.n.includes(s)).sort((a,b)=>a.dataset.x-b.dataset.x||b.dataset.w-a.dataset.w)){const x=+g.dataset.x,w=+g.dataset.w;\n"
	"if(x>=end-1e-6){sum+=w;end=x+w;}}say.textContent=s?s+': '+(100*sum/width).toFixed(2)+' %':say.dataset.help;}\n"
	"svg.addEventListener('keydown',e=>{if(e.key==='/'){e.preventDefault();find(prompt('functions with this in their name')||'');}if(e.key==='Escape'){find('');place(8,width);}});\n"
	"svg.setAttribute('tabindex','0');svg.focus();svg.find=find;\n"
	"]]></script>\n";

int dt_flame_write(const struct dt_stacks *s, struct dt_reader *r, FILE *f, unsigned width,
		   const char *title, struct dt_error *e)
{
	struct drawing d = {.s = s, .r = r, .f = f, .ns = dt_reader_ns_per_tick(r)};
	static const char help[] = "click: widen; / search; Escape: as at first";

	d.time = calloc(s->n + 1, sizeof(*d.time));
	d.sorted = calloc((size_t)s->n + 1, sizeof(*d.sorted));
	if (!d.time || !d.sorted) {
		free(d.time);
		free(d.sorted);
		return dt_fail(e, "out of memory");
	}
	/* callees come after their callers */
	for (uint32_t i = s->n; i-- > 1;) {
		d.time[i] += s->node[i].self;
		d.time[s->node[i].parent] += d.time[i];
	}
	d.scale = s->n && d.time[0] ? (double)width / (double)d.time[0] : 0;
	d.deepest = deepest(&d);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" data-width=\"%u\">\n%s"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text id=\"title\" x=\"%u\" y=\"20\">",
		width + 2 * SIDE, TOP + d.deepest * ROW + SIDE, width, style, SIDE);
	dt_svg_text(f, title);
	fprintf(f,
		"</text>\n<text id=\"say\" x=\"%u\" y=\"20\" text-anchor=\"end\" data-help=\"%s\">%s</text>\n",
		width + SIDE, help, help);
	if (d.scale > 0)
		children(&d, 0, SIDE, 0, d.sorted);
	fprintf(f, "%s</svg>\n", script);
	free(d.time);
	free(d.sorted);
	return 0;
}
