/* SPDX-License-Identifier: MIT */
#include "store/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"

int dt_hosts_put(struct dt_store *s, uint32_t n, const struct dt_host *h, struct dt_error *e)
{
	char key[40], value[400], *bars = NULL;
	size_t size;
	FILE *f;
	int rc;

	dt_format(value, sizeof(value), "%u %u %u %u %d %d %s", h->core, h->cores, h->first, h->end,
		  h->reference, h->known, h->name);
	dt_format(key, sizeof(key), "host.%u", n);
	if (dt_store_meta(s, key, value, e))
		return -1;
	f = open_memstream(&bars, &size);
	for (uint32_t i = 0; f && i < h->bars; i++) {
		const struct dt_host_bar *b = &h->bar[i];

		fprintf(f, "%lu %lu %lu %lu %d\n", (unsigned long)b->begin, (unsigned long)b->end,
			(unsigned long)b->early, (unsigned long)b->late, b->unknown);
	}
	rc = f && fclose(f) == 0 ? 0 : dt_fail(e, "out of memory");
	dt_format(key, sizeof(key), "host_bars.%u", n);
	if (!rc)
		rc = dt_store_meta(s, key, bars, e);
	free(bars);
	dt_format(value, sizeof(value), "%u", n + 1);
	return rc ? rc : dt_store_meta(s, "hosts", value, e);
}

/* Reads the bars of a host; false: they are damaged. */
static bool read_bars(struct dt_host *h, const char *p)
{
	for (int n = 0; *p && h->bars < DT_HOST_BARS; p += n) {
		struct dt_host_bar *b = &h->bar[h->bars++];
		int unknown;

		if (sscanf(p, "%lu %lu %lu %lu %d %n", &b->begin, &b->end, &b->early, &b->late,
			   &unknown, &n) != 5 ||
		    b->end < b->begin)
			return false;
		b->unknown = unknown;
	}
	return true;
}

static bool read_host(struct dt_hosts *to, const struct dt_reader *r, uint32_t n)
{
	struct dt_host *h = &to->host[n];
	const char *text, *bars;
	int reference, known, at = 0;
	char key[40];

	dt_format(key, sizeof(key), "host.%u", n);
	text = dt_reader_meta(r, key);
	dt_format(key, sizeof(key), "host_bars.%u", n);
	bars = dt_reader_meta(r, key);
	if (!text || !bars ||
	    sscanf(text, "%u %u %u %u %d %d %n", &h->core, &h->cores, &h->first, &h->end,
		   &reference, &known, &at) != 6)
		return false;
	h->name = text + at;
	h->reference = reference;
	h->known = known;
	return *h->name && strlen(h->name) < 256 && h->end >= h->first && read_bars(h, bars);
}

int dt_hosts_load(struct dt_hosts *h, const struct dt_reader *r)
{
	const char *text = dt_reader_meta(r, "hosts");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;
	struct dt_host_bar *bar;

	*h = (struct dt_hosts){0};
	if (!n || n > DT_HOSTS_MOST)
		return 0;
	h->host = calloc(n, sizeof(*h->host));
	bar = calloc(n * DT_HOST_BARS, sizeof(*bar));
	h->bars = bar;
	if (!h->host || !bar) {
		dt_hosts_free(h);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		h->host[i].bar = bar + (size_t)i * DT_HOST_BARS;
		if (!read_host(h, r, i)) {
			dt_hosts_free(h);
			return 0;
		}
	}
	h->n = (uint32_t)n;
	return 0;
}

void dt_hosts_free(struct dt_hosts *h)
{
	free(h->bars);
	free(h->host);
	*h = (struct dt_hosts){0};
}

const struct dt_host *dt_hosts_of(const struct dt_hosts *h, uint32_t id)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (id >= h->host[i].first && id < h->host[i].end)
			return &h->host[i];
	return NULL;
}

const struct dt_host *dt_hosts_of_core(const struct dt_hosts *h, uint32_t core)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (core >= h->host[i].core && core - h->host[i].core < h->host[i].cores)
			return &h->host[i];
	return NULL;
}
