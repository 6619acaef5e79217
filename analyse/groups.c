/* SPDX-License-Identifier: MIT */
#include "analyse/groups.h"

#include "analyse/chosen.h"

#define NESTED (1u << (DT_CHOSEN_SHIFT - 1)) /* in a call's note: in another one of its group */
#define NUMBER (NESTED - 1)		     /* its group */

/* The open calls of a group in a thread, the outermost first. */
struct dt_group_open {
	uint32_t tid, group, n, room;
	/* of each: ticks in calls of the group within it, each counted once, as dt_call.inner and
	 * .inner_waited are of its function */
	struct inner {
		uint64_t ticks, waited;
	} * inner;
};

/* ---- groups ---- */

static bool is_group(const void *ctx, uint32_t id, const void *key)
{
	const struct dt_groups *g = ctx;

	return !memcmp(&g->group[id], key, sizeof(struct dt_group));
}

/* Returns the number of a group; DT_GROUPS_MOST: that of the calls without one of their own; 0: out
 * of memory. */
static uint32_t number_of(struct dt_groups *g, const struct dt_group *like)
{
	uint32_t hash = dt_first_hash(0, (const char *)like, sizeof(*like));
	struct dt_first_entry *x;

	if (g->n + 1 >= g->room) {
		struct dt_group *more = realloc(g->group, (2 * g->n + 64) * sizeof(*more));

		if (!more)
			goto fail;
		g->group = more;
		g->room = 2 * g->n + 64;
	}
	if (dt_first_room(&g->first))
		goto fail;
	x = dt_first_find(&g->first, hash, is_group, g, like);
	if (x->id)
		return x->id;
	if (g->n + 1 >= DT_GROUPS_MOST) {
		g->crowded++;
		return DT_GROUPS_MOST;
	}
	g->group[++g->n] = *like;
	dt_first_put(&g->first, x, g->n, hash);
	return g->n;
fail:
	g->no_memory = true;
	return 0;
}

static bool is_path(const void *ctx, uint32_t id, const void *key)
{
	const struct dt_module_info *m = dt_reader_module(ctx, id);

	return m && !strcmp(m->path, key);
}

/* Returns the first module that has the path of this one: each process has its own. */
static uint32_t first_module(struct dt_groups *g, uint32_t module)
{
	while (module >= g->modules) {
		uint32_t n = g->modules ? 2 * g->modules : 256;
		uint32_t *more = realloc(g->module, n * sizeof(*more));

		if (!more) {
			g->no_memory = true;
			return 0;
		}
		memset(more + g->modules, 0, (n - g->modules) * sizeof(*more));
		g->module = more;
		g->modules = n;
	}
	if (!g->module[module]) {
		const struct dt_module_info *m = dt_reader_module(g->reader, module);
		struct dt_first_entry *x;
		uint32_t hash;

		if (!m || dt_first_room(&g->paths))
			return 0;
		hash = dt_first_hash(0, m->path, strlen(m->path));
		x = dt_first_find(&g->paths, hash, is_path, g->reader, m->path);
		if (!x->id)
			dt_first_put(&g->paths, x, module, hash);
		g->module[module] = x->id;
	}
	return g->module[module];
}

static bool take_caller(void *ctx, const struct dt_call *c)
{
	*(uint32_t *)ctx = c->function;
	return false;
}

static uint32_t part_of(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c,
			enum dt_group_key key)
{
	const struct dt_function_info *f;
	const struct dt_thread_info *t;
	const struct dt_host *host;
	uint32_t caller = 0;

	switch (key) {
	case DT_GROUP_FUNCTION:
		return c->function;
	case DT_GROUP_CALLER:
		dt_pair_callers(p, take_caller, &caller);
		return caller;
	case DT_GROUP_THREAD:
		return c->tid;
	case DT_GROUP_PROCESS:
		t = dt_reader_thread(g->reader, c->tid);
		return t ? t->pid : 0;
	case DT_GROUP_MODULE:
		f = dt_reader_function(g->reader, c->function);
		return f && f->module ? first_module(g, f->module) : 0;
	default:
		host = g->hosts ? dt_hosts_of(g->hosts, c->tid) : NULL;
		return host ? (uint32_t)(host - g->hosts->host) + 1 : 0;
	}
}

static uint32_t group_of(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c)
{
	struct dt_group like = {{0}};

	for (unsigned i = 0; i < g->keys; i++)
		like.part[g->key[i]] = part_of(g, p, c, g->key[i]);
	return number_of(g, &like);
}

/* ---- open calls ---- */

static bool is_open(const void *ctx, uint32_t id, const void *key)
{
	const struct dt_groups *g = ctx;
	const struct dt_group_open *x = &g->open[id], *like = key;

	return x->tid == like->tid && x->group == like->group;
}

/* Returns the open calls of a group in a thread. NULL: out of memory. */
static struct dt_group_open *open_of(struct dt_groups *g, uint32_t tid, uint32_t group)
{
	struct dt_group_open like = {.tid = tid, .group = group};
	uint32_t words[] = {tid, group};
	uint32_t hash = dt_first_hash(0, (const char *)words, sizeof(words));
	struct dt_first_entry *x;

	if (g->open_n + 1 >= g->open_room) {
		uint32_t room = 2 * g->open_n + 64;
		struct dt_group_open *more = realloc(g->open, room * sizeof(*more));

		if (!more)
			return NULL;
		g->open = more;
		g->open_room = room;
	}
	if (dt_first_room(&g->opens))
		return NULL;
	x = dt_first_find(&g->opens, hash, is_open, g, &like);
	if (!x->id) {
		g->open[++g->open_n] = like;
		dt_first_put(&g->opens, x, g->open_n, hash);
	}
	return &g->open[x->id];
}

static bool push(struct dt_group_open *o)
{
	if (o->n == o->room) {
		uint32_t room = o->room ? 2 * o->room : 4;
		struct inner *more = realloc(o->inner, room * sizeof(*more));

		if (!more)
			return false;
		o->inner = more;
		o->room = room;
	}
	o->inner[o->n++] = (struct inner){0, 0};
	return true;
}

void dt_groups_begin(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c)
{
	uint32_t group = group_of(g, p, c);
	struct dt_group_open *o = group ? open_of(g, c->tid, group) : NULL;

	if (!o || !push(o)) {
		g->no_memory = true;
		return;
	}
	*c->note |= group | (o->n > 1 ? NESTED : 0);
}

struct dt_call dt_groups_end(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c)
{
	uint32_t note = c->note ? *c->note : 0;
	bool timed = !(c->flags & DT_CALL_UNTIMED);
	struct dt_call sum = *c;
	struct dt_group_open *o;

	sum.function = note & NUMBER ? note & NUMBER : group_of(g, p, c);
	if (!(note & NUMBER))
		return sum;
	o = open_of(g, c->tid, sum.function);
	if (!o || !o->n) {
		g->no_memory = true;
		return sum;
	}
	o->n--;
	sum.inner = o->inner[o->n].ticks;
	sum.inner_waited = o->inner[o->n].waited;
	sum.flags &= ~(uint32_t)DT_CALL_RECURSIVE;
	if (note & NESTED)
		sum.flags |= DT_CALL_RECURSIVE;
	if (note & NESTED && o->n) {
		o->inner[o->n - 1].ticks += timed ? dt_call_ticks(c) : sum.inner;
		o->inner[o->n - 1].waited += timed ? c->waited : sum.inner_waited;
	}
	return sum;
}

void dt_groups_free(struct dt_groups *g)
{
	for (uint32_t i = 1; i <= g->open_n; i++)
		free(g->open[i].inner);
	free(g->open);
	free(g->group);
	free(g->module);
	free(g->first.entry);
	free(g->paths.entry);
	free(g->opens.entry);
	*g = (struct dt_groups){.keys = 0};
}
