/* SPDX-License-Identifier: MIT */
/* Histograms as pictures. */
#include "analyse/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyse/svg.h"

#define WIDTH	  960
#define HEIGHT	  420
#define TOP	  58
#define BOTTOM	  52
#define RIGHT	  24
#define NARROWEST 2   /* fewest pixels of a bar */
#define DIGIT	  6.7 /* pixels of a digit of the axes */

struct drawing {
	const struct dt_histogram *h;
	FILE *f;
	size_t first, last; /* buckets that are drawn */
	size_t step;	    /* buckets in a bar */
	uint64_t most;	    /* the highest count of a bar */
	double left, bar;   /* pixels: left edge of the first bar; width of a bar */
};

static const char style[] =
	"<style>svg{--back:#fff;--ink:#1c2127;--soft:#5c6672;--line:#e2e6ea;--bar:#2f6db3;--on:#"
	"c25a00}\n"
	"@media(prefers-color-scheme:dark){svg{--back:#15191e;--ink:#e7eaee;--soft:#9ba6b2;--line:#"
	"2b323a;"
	"--bar:#6ba8e8;--on:#ffab5c}}\n"
	".back{fill:var(--back)}text{font:12px system-ui,sans-serif;fill:var(--soft)}"
	".title{font-size:15px;font-weight:600;fill:var(--ink)}.line{stroke:var(--line)}"
	".axis{stroke:var(--soft)}.bar rect{fill:var(--bar)}.bar:hover rect{fill:var(--on)}"
	".bar .all{fill:transparent}.bar:hover .all{fill:var(--line)}</style>\n";

size_t dt_histogram_bucket(uint64_t width, uint64_t v)
{
	if (width)
		return (size_t)(v / width);
	return v ? 64 - (size_t)__builtin_clzll(v) : 0;
}

uint64_t dt_histogram_lowest(uint64_t width, size_t bucket)
{
	if (width)
		return width * bucket;
	return bucket ? 1ull << (bucket - 1) : 0;
}

static double x_of(const struct drawing *d, size_t bucket)
{
	return d->left + (double)(bucket - d->first) / (double)d->step * d->bar;
}

/* Returns the height of a count in the picture. On a logarithmic scale the axis is at a half, so
 * that 1 has a height. */
static double y_of(const struct drawing *d, uint64_t n, double most)
{
	if (d->h->log)
		return HEIGHT - BOTTOM -
		       log2(n ? 2 * (double)n : 1) / log2(2 * most) * (HEIGHT - BOTTOM - TOP);
	return HEIGHT - BOTTOM - (double)n / most * (HEIGHT - BOTTOM - TOP);
}

/* Returns the least of 1, 2, 5, 10, 20... of which at most `lines' steps make n. */
static uint64_t nice(uint64_t n, uint64_t lines)
{
	uint64_t step = 1;

	for (unsigned i = 0; n / step > lines && step < UINT64_MAX / 10; i++)
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	return step;
}

/* Writes a value as the axis shows it: durations with three digits and a unit. */
static void put_value(const struct drawing *d, uint64_t v, char *out, size_t size)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	double ns = (double)v;
	unsigned i = 0;

	if (!d->h->ns) {
		snprintf(out, size, "%" PRIu64, v);
		return;
	}
	for (; ns >= 1000 && i < 3; i++)
		ns /= 1000;
	snprintf(out, size, ns >= 1000 ? "%.0f %s" : "%.3g %s", ns, unit[i]);
}

static uint64_t count_of(const struct drawing *d, size_t from)
{
	uint64_t n = 0;

	for (size_t i = from; i < from + d->step && i <= d->last; i++)
		n += d->h->bucket[i];
	return n;
}

/* Prints the values of a bar and their exact number: "8: 34 of 56 (60.7 %)". */
static void print_what(const struct drawing *d, size_t from, uint64_t n)
{
	const struct dt_histogram *h = d->h;
	size_t behind = from + d->step <= d->last + 1 ? from + d->step : d->last + 1;
	uint64_t low = dt_histogram_lowest(h->width, from);
	uint64_t high =
		!h->width && behind > 64 ? UINT64_MAX : dt_histogram_lowest(h->width, behind) - 1;

	if (h->above && behind == h->buckets)
		fprintf(d->f, "%" PRIu64 " and more", low);
	else if (low == high)
		fprintf(d->f, "%" PRIu64, low);
	else
		fprintf(d->f, "%" PRIu64 " to %" PRIu64, low, high);
	fprintf(d->f, "%s: %" PRIu64 " of %" PRIu64 " (%.2f %%)", h->ns ? " ns" : "", n,
		h->values - h->bad, 100 * (double)n / (double)(h->values - h->bad));
}

static void print_bars(const struct drawing *d, double most)
{
	double gap = d->bar >= 6 ? 1 : 0;

	for (size_t i = d->first; i <= d->last; i += d->step) {
		uint64_t n = count_of(d, i);
		double y = y_of(d, n, most), bottom = HEIGHT - BOTTOM;

		if (!n)
			continue;
		if (bottom - y < 1)
			y = bottom - 1; /* a bar is visible however low it is */
		/* the pointer may be anywhere in the height of the picture */
		fprintf(d->f,
			"<g class=\"bar\" data-from=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\"><title>",
			dt_histogram_lowest(d->h->width, i), n);
		print_what(d, i, n);
		fprintf(d->f,
			"</title><rect class=\"all\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
			"height=\"%.2f\"/>"
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/></g>\n",
			x_of(d, i), TOP, d->bar, y - TOP, x_of(d, i) + gap / 2, y, d->bar - gap,
			bottom - y);
	}
}

/* Prints horizontal lines with their counts. */
static void print_counts(const struct drawing *d, uint64_t step, uint64_t most)
{
	for (uint64_t n = d->h->log; n <= most; n = d->h->log ? n * step : n + step) {
		double y = y_of(d, n, (double)most);

		fprintf(d->f,
			"<line class=\"line\" x1=\"%.1f\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>"
			"<text x=\"%.1f\" y=\"%.2f\" text-anchor=\"end\">%" PRIu64 "</text>\n",
			d->left, WIDTH - RIGHT, y, y, d->left - 8, y + 4, n);
		if (n > (d->h->log ? UINT64_MAX / step : UINT64_MAX - step))
			break;
	}
}

static void print_mark(const struct drawing *d, double x, uint64_t v)
{
	char text[48];

	put_value(d, v, text, sizeof(text));
	fprintf(d->f,
		"<line class=\"axis\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%d\"/>"
		"<text class=\"value\" x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		x, x, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5, x, HEIGHT - BOTTOM + 19, text);
}

/* Returns how many marks fit along the axis. */
static uint64_t marks(const struct drawing *d)
{
	char text[48];
	double room;

	put_value(d, dt_histogram_lowest(d->h->width, d->last), text, sizeof(text));
	room = (double)(strlen(text) + 3) * DIGIT;
	return (uint64_t)((WIDTH - RIGHT - d->left) / (room < 40 ? 40 : room));
}

/* Prints the marks of the axis. With powers of two, a mark is where its bucket begins; otherwise it
 * is in the middle of a value's bar, or where the value begins. */
static void print_values(const struct drawing *d)
{
	size_t count = d->last - d->first + 1, every;
	uint64_t low, high, step;

	if (!d->h->width) {
		every = (count + (size_t)marks(d) - 1) / (size_t)marks(d);
		for (size_t i = d->first; i <= d->last; i += every)
			print_mark(d, x_of(d, i), dt_histogram_lowest(0, i));
		return;
	}
	low = dt_histogram_lowest(d->h->width, d->first);
	high = dt_histogram_lowest(d->h->width, d->last);
	step = nice(high - low ? high - low : 1, marks(d));
	for (uint64_t v = (low + step - 1) / step * step; v <= high; v += step) {
		double x = x_of(d, d->first) +
			   (double)(v - low) / (double)d->h->width / (double)d->step * d->bar;

		print_mark(d, d->h->width == 1 && d->step == 1 ? x + d->bar / 2 : x, v);
		if (v > UINT64_MAX - step)
			break;
	}
}

static void print_words(const struct drawing *d)
{
	const struct dt_histogram *h = d->h;

	fputs("<text class=\"title\" x=\"16\" y=\"24\">", d->f);
	dt_svg_text(d->f, h->title);
	fprintf(d->f, "</text>\n<text x=\"16\" y=\"42\">%" PRIu64 " values", h->values);
	if (h->bad)
		fprintf(d->f, ", %" PRIu64 " of them negative: not drawn", h->bad);
	if (h->above)
		fprintf(d->f, ", %" PRIu64 " of them above the maximum: in the last bar", h->above);
	fprintf(d->f, "</text>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
		(d->left + WIDTH - RIGHT) / 2, HEIGHT - 12);
	dt_svg_text(d->f, h->about);
	fputs("</text>\n", d->f);
}

/* Decides which buckets are drawn, how many are in a bar, and how wide a bar is. */
static void lay_out(struct drawing *d)
{
	const struct dt_histogram *h = d->h;
	size_t bars, fit;
	char text[24];

	d->last = h->buckets - 1;
	while (d->last && !h->bucket[d->last])
		d->last--;
	while (d->first < d->last && !h->bucket[d->first])
		d->first++;
	/* if they begin near 0, begin at 0 */
	if (h->width && d->first < d->last / 4)
		d->first = 0;
	d->left = 0;
	fit = (WIDTH - RIGHT - 80) / NARROWEST;
	d->step = (d->last - d->first + fit) / fit;
	for (size_t i = d->first; i <= d->last; i += d->step)
		if (count_of(d, i) > d->most)
			d->most = count_of(d, i);
	snprintf(text, sizeof(text), "%" PRIu64, d->most);
	d->left = 24 + DIGIT * (double)(strlen(text) + 1);
	bars = (d->last - d->first) / d->step + 1;
	d->bar = (WIDTH - RIGHT - d->left) / (double)bars;
	if (d->bar > 80)
		d->bar = 80;
}

void dt_histogram_draw(const struct dt_histogram *h, FILE *f)
{
	struct drawing d = {.h = h, .f = f};
	uint64_t step, most;

	lay_out(&d);
	step = nice(d.most, 6);
	most = d.most % step ? d.most - d.most % step + step : d.most;
	if (h->log)
		for (step = 10, most = 10; most < d.most && most < UINT64_MAX / 10;)
			most *= 10;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\" "
		"role=\"img\">\n<title>",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	dt_svg_text(f, h->title);
	fprintf(f, "</title>\n%s<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n", style);
	print_words(&d);
	print_counts(&d, step, most);
	print_bars(&d, (double)most);
	fprintf(f, "<line class=\"axis\" x1=\"%.1f\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", d.left,
		WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	print_values(&d);
	fputs("</svg>\n", f);
}
