// SPDX-License-Identifier: MIT OR GPL-2.0
/* Finds functions by name and by address. */
#include "kernel/symbol.h"

#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "core/choice.h"
#include "core/device-ranges.h"
#include "core/search.h"
#include "core/words.h"
#include "kernel/compat.h"

int dt_symbol_place(const char *text, struct dt_place *place)
{
	unsigned long size = 0, offset = 0, at;

	/* not a name: before 6.2 the kernel searches all its symbols for one */
	if (isdigit(text[0]) || strchr(text, '+'))
		return 0;
	at = static_call(dt_kallsyms_lookup_name)(text);
	if (!at)
		return 0;
	if (!static_call(dt_kallsyms_lookup_size_offset)(at, &size, &offset) || size <= offset)
		size = offset + 1;
	*place = (struct dt_place){.start = at, .end = at + size - offset - 1};
	return 1;
}

void dt_symbol_text(u64 *base, u64 *end)
{
	static unsigned long text;

	if (!text)
		text = static_call(dt_kallsyms_lookup_name)("_stext");
	*base = text;
	*end = MODULES_END - 1;
}

/* ---- patterns: words of a set ---- */

#define PATTERNS 64

struct pattern {
	const char *module, *name; /* module NULL: any, including the kernel itself, which is called
				      "vmlinux" */
	bool remove;
};

struct set {
	struct dt_words words;
	char *word[PATTERNS];
	struct pattern pattern[PATTERNS];
	char *text;
	struct found *found;
};

static int parse_set(struct set *s, const struct dt_range *r, struct dt_error *e)
{
	size_t n = dt_word_length(r->what);

	s->text = kvmalloc(n + 1, GFP_KERNEL);
	if (!s->text)
		return dt_fail(e, "out of memory");
	memcpy(s->text, r->what, n + 1);
	s->words = (struct dt_words){.word = s->word, .room = PATTERNS};
	if (dt_words_split(&s->words, s->text, n, e) < 0)
		return -1;
	for (unsigned int i = 0; i < s->words.n; i++) {
		char *w = s->word[i], *colon;

		s->pattern[i] = (struct pattern){.remove = *w == '!'};
		w += *w == '!' || *w == '+';
		colon = strchr(w, ':');
		if (colon) {
			*colon = '\0';
			s->pattern[i].module = w;
			w = colon + 1;
		}
		if (!*w)
			return dt_fail(
				e,
				"devtrace: a pattern names no function: for all of them write *");
		s->pattern[i].name = w;
	}
	return 0;
}

static bool matches(const struct set *s, const char *module, const char *name)
{
	struct dt_choice c = {0};

	if (!s->words.n)
		return false;
	for (unsigned int i = 0; i < s->words.n; i++) {
		const struct pattern *p = &s->pattern[i];

		dt_choice_note(&c, p->remove,
			       (!p->module || glob_match(p->module, module ? module : "vmlinux")) &&
				       glob_match(p->name, name));
	}
	return dt_choice_made(&c);
}

/* ---- collecting ---- */

struct hit {
	unsigned long ip;
	const struct dt_action *action;
};

/*
 * The functions of a range, remembered in range->host, because a search of all symbols takes longer
 * than to hook a thousand functions. They are looked for again if modules have come or gone since.
 */
struct functions {
	long generation;
	size_t n;
	unsigned long ip[];
};

static atomic_long_t generation;

/* A range whose functions are being looked for. */
struct found {
	struct dt_range *r;
	struct functions *f;
	size_t room;
};

struct collecting {
	struct found *found;
	size_t founds;
	struct set *set;
	size_t sets;
	struct found **range; /* those of addresses, sorted by start */
	size_t ranges;
	long generation;
	struct hit *hit;
	size_t n, room;
	bool every; /* `uniform': all other functions are collected, too */
	bool failed;
	const char *module; /* the module whose symbols are being read */
};

static void add_hit(struct collecting *c, unsigned long ip, const struct dt_action *action)
{
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 1024;
		struct hit *more = kvmalloc_array(room, sizeof(*more), GFP_KERNEL);

		if (!more) {
			c->failed = true;
			return;
		}
		if (c->n)
			memcpy(more, c->hit, c->n * sizeof(*more));
		kvfree(c->hit);
		c->hit = more;
		c->room = room;
	}
	c->hit[c->n++] = (struct hit){ip, action};
}

static void make_room(struct collecting *c, struct found *x, size_t room)
{
	struct functions *more = kvzalloc(struct_size(more, ip, room), GFP_KERNEL);

	if (!more) {
		c->failed = true;
		return;
	}
	if (x->f)
		memcpy(more, x->f, struct_size(more, ip, x->f->n));
	more->generation = c->generation;
	kvfree(x->f);
	x->f = more;
	x->room = room;
}

static void add_found(struct collecting *c, struct found *x, unsigned long ip)
{
	if (x->f->n == x->room)
		make_room(c, x, 4 * x->room);
	if (c->failed)
		return;
	x->f->ip[x->f->n++] = ip;
	add_hit(c, ip, &x->r->action);
}

static struct found *range_at(const struct collecting *c, unsigned long address)
{
	size_t low = dt_count_before(c->ranges, i, c->range[i]->r->start <= address);

	return low && c->range[low - 1]->r->end >= address ? c->range[low - 1] : NULL;
}

static int collect(struct collecting *c, const char *module, const char *name,
		   unsigned long address)
{
	struct found *r = NULL;
	unsigned long ip = 0;
	bool tried = false;

	if (within_module(address, THIS_MODULE) || c->failed)
		return 0;
	for (size_t i = 0; i < c->sets; i++) {
		if (!matches(&c->set[i], module, name))
			continue;
		if (!tried)
			ip = static_call(dt_ftrace_location)(address);
		tried = true;
		if (ip)
			add_found(c, c->set[i].found, ip);
	}
	/* a hook is at most some bytes after the symbol, because of endbr64 */
	r = c->ranges ? range_at(c, address + 8) : NULL;
	if (!r && c->ranges)
		r = range_at(c, address);
	if ((r || c->every) && !tried)
		ip = static_call(dt_ftrace_location)(address);
	if (r && ip && ip >= r->r->start && ip <= r->r->end)
		add_found(c, r, ip);
	if (c->every && ip)
		add_hit(c, ip, NULL);
	return c->failed ? -ENOMEM : 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static int on_symbol(void *ctx, const char *name, struct module *m, unsigned long address)
{
	return collect(ctx, m ? m->name : NULL, name, address);
}

static void each_symbol(struct collecting *c)
{
	static_call(dt_kallsyms_on_each_symbol)(on_symbol, c);
	static_call(dt_module_kallsyms_on_each_symbol)(on_symbol, c);
}
#else
static int on_symbol(void *ctx, const char *name, unsigned long address)
{
	return collect(ctx, NULL, name, address);
}

static int on_module_symbol(void *ctx, const char *name, unsigned long address)
{
	struct module *m;
	char module[MODULE_NAME_LEN] = "";

	preempt_disable();
	m = static_call(dt___module_address)(address);
	if (m)
		strscpy(module, m->name, sizeof(module));
	preempt_enable();
	return collect(ctx, module, name, address);
}

static void each_symbol(struct collecting *c)
{
	static_call(dt_kallsyms_on_each_symbol)(on_symbol, c);
	static_call(dt_module_kallsyms_on_each_symbol)(NULL, on_module_symbol, c);
}
#endif

static int by_start(const void *a, const void *b)
{
	const struct dt_range *x = (*(const struct found *const *)a)->r;
	const struct dt_range *y = (*(const struct found *const *)b)->r;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_ip(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static void stop_collecting(struct collecting *c)
{
	for (size_t i = 0; i < c->sets; i++)
		kvfree(c->set[i].text);
	for (size_t i = 0; i < c->founds; i++)
		kvfree(c->found[i].f);
	kvfree(c->found);
	kvfree(c->set);
	kvfree(c->range);
	kvfree(c->hit);
}

/* Hands what has been found over to the ranges, which own it from here on. */
static void hand_over(struct collecting *c)
{
	for (size_t i = 0; i < c->founds; i++) {
		kvfree(c->found[i].r->host);
		c->found[i].r->host = c->found[i].f;
		c->found[i].f = NULL;
	}
}

/* Takes the functions of r if they are known; else notes that r's are to be looked for. */
static int take_range(struct collecting *c, struct dt_range *r, struct dt_error *e)
{
	const struct functions *known = r->host;
	struct found *x = &c->found[c->founds];

	if (known && known->generation == c->generation) {
		for (size_t i = 0; i < known->n; i++)
			add_hit(c, known->ip[i], &r->action);
		return 0;
	}
	x->r = r;
	c->founds++;
	make_room(c, x, 8);
	if (r->kind == DT_RANGE_ADDRESS) {
		c->range[c->ranges++] = x;
		return 0;
	}
	c->set[c->sets].found = x;
	return parse_set(&c->set[c->sets++], r, e);
}

/*
 * Fills c->hit, sorted, for all ranges that are on; with d NULL for the one range only, whether it
 * is on or not.
 */
static int collect_all(struct collecting *c, const struct dt_device *d, struct dt_range *one,
		       struct dt_error *e)
{
	size_t n = d ? d->n : 1;

	*c = (struct collecting){.every = d && d->uniform,
				 .generation = atomic_long_read(&generation)};
	c->found = kvcalloc(n, sizeof(*c->found), GFP_KERNEL);
	c->set = kvcalloc(n, sizeof(*c->set), GFP_KERNEL);
	c->range = kvcalloc(n, sizeof(*c->range), GFP_KERNEL);
	if (!c->found || !c->set || !c->range)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		struct dt_range *r = d ? &d->range[i] : one;

		if ((!d || r->on) && r->kind != DT_RANGE_POINT && take_range(c, r, e) < 0)
			goto fail;
	}
	sort(c->range, c->ranges, sizeof(*c->range), by_start, NULL);
	if (!c->failed && (c->sets || c->ranges || c->every))
		each_symbol(c);
	if (c->failed)
		goto no_memory;
	hand_over(c);
	sort(c->hit, c->n, sizeof(*c->hit), by_ip, NULL);
	return 0;
no_memory:
	dt_fail(e, "out of memory");
fail:
	stop_collecting(c);
	return -1;
}

long dt_functions_find(struct dt_range *r, struct dt_error *e)
{
	struct collecting c;
	long n;

	if (collect_all(&c, NULL, r, e) < 0)
		return -1;
	n = (long)c.n;
	stop_collecting(&c);
	return n;
}

void dt_functions_forget(struct dt_range *r)
{
	kvfree(r->host);
	r->host = NULL;
}

void dt_functions_changed(void)
{
	atomic_long_inc(&generation);
}

/* Merges what several ranges want at the same function. */
static void merge(struct dt_action *to, const struct dt_action *from)
{
	to->what |= from->what;
	if (from->what & DT_DO_ONLYPID)
		to->pid = from->pid;
	if (from->what & DT_DO_LATEFREEZE)
		to->late = from->late;
	if (from->what & DT_DO_CONST)
		to->constant = from->constant;
}

int dt_chosen_make(struct dt_chosen *p, const struct dt_device *d, struct dt_error *e)
{
	struct collecting c;
	bool looks = d->uniform || d->events || d->arm.set;
	size_t n = 0;

	*p = (struct dt_chosen){0};
	for (size_t i = 0; i < d->n; i++)
		looks = looks || (d->range[i].on && d->range[i].kind == DT_RANGE_POINT &&
				  (d->range[i].action.what & DT_DO_CAREFUL));
	if (collect_all(&c, d, NULL, e) < 0)
		return -1;
	p->both = kvmalloc_array(c.n + 1, sizeof(*p->both), GFP_KERNEL);
	p->entry = kvmalloc_array(c.n + 1, sizeof(*p->entry), GFP_KERNEL);
	p->actions = kvzalloc(struct_size(p->actions, act, c.n + 1), GFP_KERNEL);
	if (!p->both || !p->entry || !p->actions) {
		stop_collecting(&c);
		dt_chosen_free(p);
		return dt_fail(e, "out of memory");
	}
	for (size_t i = 0; i < c.n; n++) {
		struct dt_action a = {0};
		unsigned long ip = c.hit[i].ip;

		for (; i < c.n && c.hit[i].ip == ip; i++)
			if (c.hit[i].action)
				merge(&a, c.hit[i].action);
		if (a.what || d->uniform)
			p->actions->act[p->actions->n++] = (struct dt_act){ip, a};
		looks = looks || (a.what & DT_DO_CAREFUL) || !(a.what & DT_DO_ENTRY);
		if (a.what && !(a.what & DT_DO_EXIT))
			p->entry[p->entries++] = ip;
		else
			p->both[p->boths++] = ip;
	}
	stop_collecting(&c);
	if (!looks) {
		kvfree(p->actions);
		p->actions = NULL;
	}
	return 0;
}

void dt_chosen_free(struct dt_chosen *p)
{
	kvfree(p->both);
	kvfree(p->entry);
	kvfree(p->actions);
}
