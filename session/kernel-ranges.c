/* SPDX-License-Identifier: MIT */
/* Ranges and tracepoints of a session in the kernel. */
#include "session/kernel-ranges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/capture.h"
#include "core/device-words.h"
#include "include/devtrace-ioctl.h"
#include "session/kernel-points.h"

struct dt_kernel_range {
	struct dt_kernel *k;
	struct dt_point *point; /* of a tracepoint; owned by the list. NULL: functions */
	uint8_t serial;		/* of a tracepoint: include/devtrace-ioctl.h */
	char *set;	 /* of functions: the patterns or addresses for the kernel's device */
	unsigned number; /* of functions: the range's name in the kernel's device is sNUMBER */
};

/* ---- what is meant ---- */

static bool has_prefix(const char *word)
{
	word += *word == '+' || *word == '!';
	return strncmp(word, DT_KERNEL_PREFIX, strlen(DT_KERNEL_PREFIX)) == 0;
}

int dt_kernel_range(const struct dt_range *r, struct dt_error *e)
{
	bool with = false, without = false;

	if (r->kind != DT_RANGE_SET)
		return dt_kernel_address(r->start);
	for (const char *p = r->what; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (*p && has_prefix(p))
			with = true;
		else if (*p)
			without = true;
	}
	if (with && without)
		return dt_fail(e,
			       "devtrace: '%s': functions of the kernel make a range of their own",
			       r->what);
	return with;
}

int dt_kernel_place(struct dt_kernel *k, const char *name, struct dt_place *place,
		    struct dt_error *e)
{
	struct dt_kernel_symbol s;

	if (!k)
		return dt_fail(e, "devtrace: this session does not record the kernel: 'record -k' "
				  "and 'attach -k' do");
	if (!dt_kernel_named(k, name, &s))
		return dt_fail(e, "devtrace: the kernel has no function '%s'", name);
	*place = (struct dt_place){.start = s.address, .end = s.end - 1};
	return 1;
}

/* For parsing what a point captures. Only its names and types are needed here: the kernel finds out
 * the addresses itself. */
static bool on_symbol(void *ctx, const char *name, uint64_t *address)
{
	(void)ctx, (void)name;
	*address = 0;
	return true;
}

static int on_item(void *ctx, const struct dt_capture_asked *c, struct dt_error *e)
{
	struct dt_item item = {0};

	if (c->variable)
		return dt_fail(e,
			       "devtrace: %s %s: variables of the kernel's source are not known; "
			       "REG, STACK, FRAME and LOC can be asked for",
			       c->text ? "TEXT" : "VALUE", c->variable);
	return dt_point_item(ctx, &item, c->label, c->type, e);
}

static int make_point(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	static const struct dt_capture_ops ops = {.symbol = on_symbol, .item = on_item};
	struct dt_kernel_points *all = dt_kernel_points(x->k);
	struct dt_point point = {.site.address = r->start};
	char words[DT_CAPTURE_MAX + 1];
	size_t n = dt_format(words, sizeof(words), "%s", r->capture ? r->capture : "");

	if (dt_capture_words(words, n, &ops, &point, e) < 0) {
		dt_point_release(&point);
		return -1;
	}
	point.what = strdup(r->capture ? r->capture : "");
	pthread_mutex_lock(&all->lock);
	x->point = dt_points_add(&all->all, &point);
	pthread_mutex_unlock(&all->lock);
	return x->point ? 0 : dt_fail(e, "out of memory");
}

/* Translates patterns for the kernel's device: "kernel:vfs_* !kernel:vfs_read" is "'vfs_*
 * !vfs_read'" there. */
static int patterns(struct dt_kernel_range *x, const char *what, struct dt_error *e)
{
	size_t prefix = strlen(DT_KERNEL_PREFIX);
	char *to;

	if (strpbrk(what, "'\n"))
		return dt_fail(e, "devtrace: '%s' is no pattern of the kernel's functions", what);
	x->set = to = calloc(1, strlen(what) + 3);
	if (!to)
		return dt_fail(e, "out of memory");
	*to++ = '\'';
	for (const char *p = what; *p;)
		if ((p == what || strchr(" +!", p[-1])) &&
		    strncmp(p, DT_KERNEL_PREFIX, prefix) == 0)
			p += prefix;
		else
			*to++ = *p++;
	*to = '\'';
	return 0;
}

/* Makes a range of functions. It is made in the kernel's device once and deleted again, so that a
 * name that is no function is reported before anything is on. */
static int make_functions(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	static unsigned number;
	char range[64];

	if (r->kind == DT_RANGE_SET) {
		if (patterns(x, r->what, e) < 0)
			return -1;
	} else {
		dt_format(range, sizeof(range), "%lx %lx", (unsigned long)r->start,
			  (unsigned long)r->end);
		x->set = strdup(range);
		if (!x->set)
			return dt_fail(e, "out of memory");
	}
	if (dt_kernel_functions(x->k, e) < 0)
		return -1;
	x->number = number++;
	if (dt_kernel_tell(x->k, e, "trace %s new s%u\n", x->set, x->number) < 0)
		return -1;
	return dt_kernel_tell(x->k, e, "delete s%u\n", x->number);
}

struct dt_kernel_range *dt_kernel_range_make(struct dt_kernel *k, const struct dt_range *r,
					     struct dt_error *e)
{
	struct dt_kernel_range *x = calloc(1, sizeof(*x));
	int rc;

	if (!x) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	x->k = k;
	if (!k)
		rc = dt_kernel_place(NULL, "", NULL, e);
	else if (r->kind == DT_RANGE_POINT)
		rc = make_point(x, r, e);
	else
		rc = make_functions(x, r, e);
	if (rc == 0)
		return x;
	free(x->set);
	free(x);
	return NULL;
}

void dt_kernel_range_forget(struct dt_kernel_range *x)
{
	if (x->point)
		x->point->idle = true;
	free(x->set);
	free(x);
}

/* ---- switching ---- */

/* Notes that records at the point's address are this point's from now on. With the list's lock. */
static int begin_stay(struct dt_kernel_points *all, const struct dt_point *p, uint8_t serial)
{
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : 16;
		struct dt_kernel_stay *more = realloc(all->stay, room * sizeof(*more));

		if (!more)
			return -1;
		all->stay = more;
		all->room = room;
	}
	all->stay[all->n++] =
		(struct dt_kernel_stay){p->site.address, dt_ticks(), ~0ull, p->id, serial};
	return 0;
}

static void end_stay(struct dt_kernel_points *all, const struct dt_point *p)
{
	pthread_mutex_lock(&all->lock);
	for (size_t i = all->n; i-- > 0;)
		if (all->stay[i].id == p->id && all->stay[i].end == ~0ull)
			all->stay[i].end = dt_ticks();
	pthread_mutex_unlock(&all->lock);
}

static int tell_new(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	char options[256];

	if (!x->point) {
		dt_format_action(options, sizeof(options), &r->action, DT_DO_ENTRY | DT_DO_EXIT);
		return dt_kernel_tell(x->k, e, "trace %s new s%u%s\ntrace s%u on\n", x->set,
				      x->number, options, x->number);
	}
	dt_format_action(options, sizeof(options), &r->action, DT_DO_ENTRY);
	return dt_kernel_tell(x->k, e, "trace 0x%lx%s%s%s\n", (unsigned long)r->start, options,
			      r->capture ? " " : "", r->capture ? r->capture : "");
}

static int set_point(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	struct dt_kernel_points *all = dt_kernel_points(x->k);
	int rc;

	pthread_mutex_lock(&all->lock);
	x->point->used = true;
	rc = begin_stay(all, x->point, x->serial);
	pthread_mutex_unlock(&all->lock);
	if (rc < 0)
		return dt_fail(e, "out of memory");
	rc = tell_new(x, r, e);
	if (rc < 0)
		end_stay(all, x->point);
	return rc;
}

static int delete_point(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	int rc = dt_kernel_tell(x->k, e, "delete 0x%lx\n", (unsigned long)r->start);

	end_stay(dt_kernel_points(x->k), x->point);
	return rc;
}

int dt_kernel_range_switch(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e)
{
	if (x->point)
		return r->on ? set_point(x, r, e) : delete_point(x, r, e);
	if (!r->on)
		return dt_kernel_tell(x->k, e, "delete s%u\n", x->number);
	if (tell_new(x, r, e) == 0)
		return 0;
	dt_kernel_tell(x->k, NULL, "delete s%u\n", x->number);
	return -1;
}

int dt_kernel_range_change(struct dt_kernel_range *old, struct dt_kernel_range *x,
			   const struct dt_range *r, struct dt_error *e)
{
	x->serial = (uint8_t)(old->serial + 1);
	if (set_point(x, r, e) < 0)
		return -1;
	end_stay(dt_kernel_points(x->k), old->point);
	return 0;
}

/* ---- records ---- */

/* the top bit, the point's number plus 1, and in the low byte which record of a hit it is: no
 * kernel address */
#define POINT_PC(id, part) (1ull << 63 | (uint64_t)((id) + 1) << 8 | (part))

uint64_t dt_kernel_point_pc(struct dt_kernel *k, const struct dt_record *r)
{
	struct dt_kernel_points *all = dt_kernel_points(k);
	uint64_t pc = r->pc;

	if ((r->kind != DT_POINT && r->kind != DT_MORE) ||
	    !__atomic_load_n(&all->n, __ATOMIC_ACQUIRE))
		return pc;
	pthread_mutex_lock(&all->lock);
	for (size_t i = all->n; i-- > 0;) {
		const struct dt_kernel_stay *s = &all->stay[i];

		if (s->address == r->pc && s->serial == r->core >> 8 && s->begin <= r->ticks &&
		    r->ticks <= s->end) {
			pc = POINT_PC(s->id, r->core & 0xff);
			break;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return pc;
}

const struct dt_point *dt_kernel_point(struct dt_kernel *k, uint64_t pc, unsigned *first)
{
	struct dt_kernel_points *all = dt_kernel_points(k);
	const struct dt_point *p = NULL;
	uint64_t id = (pc & ~(1ull << 63)) >> 8;

	if (!(pc >> 63) || !id || id > UINT32_MAX)
		return NULL;
	pthread_mutex_lock(&all->lock);
	if (id <= all->all.n)
		p = all->all.point[id - 1];
	pthread_mutex_unlock(&all->lock);
	*first = (pc & 0xff) == DEVTRACE_CONST ? DT_KERNEL_CONST : 4 * (pc & 0xff);
	return p;
}
