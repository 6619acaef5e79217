/* SPDX-License-Identifier: MIT */
/*
 * The device language. Whatever is written, a write that fails at its first line
 * changes nothing, and what ctl then says can be written to a new device, which says the same.
 */
#include "core/device.h"
#include "test/fuzz/fuzz.h"

#define BASE 0x555555554000ull

static void *host_resize(void *ctx, void *p, size_t bytes)
{
	if (bytes)
		return realloc(p, bytes);
	free(p);
	return NULL;
}

static int host_place(void *ctx, const char *text, struct dt_place *place, struct dt_error *e)
{
	if (strcmp(text, "twice") == 0)
		return dt_fail(e, "'twice' names two");
	if (text[0] != 's' || text[1])
		return 0;
	place->start = BASE + 0x100;
	place->end = BASE + 0x1ff;
	return 1;
}

static void host_text(void *ctx, uint64_t *base, uint64_t *end)
{
	*base = BASE;
	*end = BASE + 0xffffff;
}

static int host_apply(void *ctx, struct dt_range *r, struct dt_error *e)
{
	return 0;
}

static int host_start(void *ctx, bool active, bool all, struct dt_error *e)
{
	return 0;
}

static int host_freeze(void *ctx, bool frozen, struct dt_error *e)
{
	*(bool *)ctx = frozen;
	return 0;
}

static int host_size(void *ctx, uint64_t records, struct dt_error *e)
{
	return 0;
}

static int host_reset(void *ctx, struct dt_error *e)
{
	return 0;
}

static int host_inject(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t v[4],
		       struct dt_error *e)
{
	return 0;
}

static void host_counters(void *ctx, struct dt_counters *n)
{
	n->frozen = *(bool *)ctx;
}

static const struct dt_device_ops ops = {
	.resize = host_resize,
	.place = host_place,
	.text = host_text,
	.apply = host_apply,
	.start = host_start,
	.freeze = host_freeze,
	.size = host_size,
	.reset = host_reset,
	.inject = host_inject,
	.counters = host_counters,
};

struct text {
	char *p;
	size_t n;
};

static void take(void *ctx, const char *line, size_t n)
{
	struct text *t = ctx;

	if (line[0] == '#')
		return;
	t->p = realloc(t->p, t->n + n + 1);
	memcpy(t->p + t->n, line, n);
	t->n += n;
	t->p[t->n] = '\0';
}

static char *commands(struct dt_device *d)
{
	struct text t = {0};

	dt_device_read(d, take, &t);
	return t.p;
}

static void answer(void *ctx, const char *line, size_t n)
{
	if (!n || line[n - 1] != '\n')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_asker who = {.pid = 1, .answer = answer};
	bool frozen = false, other_frozen = false;
	struct dt_device d, other;
	struct dt_error e;
	char *before, *after;

	fuzz_begin();
	dt_device_init(&d, &ops, &frozen);
	/* line by line, so that what failed is one command */
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) + 1 : size;

		before = commands(&d);
		if (dt_device_write(&d, &who, (const char *)data, n, &e) < 0) {
			after = commands(&d);
			if (strcmp(before, after) != 0 || !e.text[0] || strchr(e.text, '\n'))
				abort();
			free(after);
		}
		free(before);
		data += n;
		size -= n;
	}
	before = commands(&d);
	dt_device_init(&other, &ops, &other_frozen);
	if (dt_device_write(&other, NULL, before, strlen(before), &e) < 0) {
		fprintf(stderr, "%s\n%s", e.text, before);
		abort();
	}
	after = commands(&other);
	if (strcmp(before, after) != 0) {
		fprintf(stderr, "%s---\n%s", before, after);
		abort();
	}
	free(before);
	free(after);
	dt_device_free(&other);
	dt_device_free(&d);
	return 0;
}
