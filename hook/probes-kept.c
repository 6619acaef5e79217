/* SPDX-License-Identifier: MIT */
/*
 * Keeping a planting from one run of devtrace to the next. Where very many functions are hooked,
 * planning and making their trampolines takes longest of all. What was made can be moved
 * (probes-alike.c), so it is written beside the memos of symbols (symbols/memo-file.h), whose rules
 * hold for it: only the user's own files are read, and only what this very devtrace has written for
 * this very state of the ELF file. The name of a plan's file has a sum of all that planning is
 * told: the map of the code, the sites, and which functions are wanted.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "hook/probes-job.h"
#include "symbols/memo-file.h"

#define WORTH	500	     /* functions: fewer are planned in some milliseconds */
#define LEVEL	1	     /* of zstd */
#define LARGEST (1ull << 30) /* bytes of a part */
#define REASONS 65535u	     /* most reasons why functions are refused */

/* What is known of a file's plans. */
struct dt_plans_kept {
	char *path;		    /* the file's name; NULL: plans for it can not be kept */
	struct dt_memo_identity is; /* the file as it was when it was first planted */
	struct texts *texts;	    /* those of dt_file.refused that came with plans */
};

struct texts {
	struct texts *next;
	char *text;
};

/* The head of a plan's file, behind that of a memo. How many of each there are; parts follow. */
struct head_of_plan {
	uint64_t functions, file_sites;
	uint64_t bias, low, high; /* of the module */
	uint64_t address, size, code;
	uint64_t regions, fars, fixes, far_fixes, patches, windows, moved;
	uint64_t sites, plan_windows, retargets, taken, reasons;
};

/* A part: an array. */
struct part {
	void **array;
	uint64_t n, size; /* elements, and bytes of each */
};

enum { PARTS = 17 };

/* What a plan's file holds, beside its head. */
struct content {
	struct head_of_plan n;
	struct dt_probes *p;
	uint8_t *taken;	  /* the bits of all of the plan's regions */
	uint16_t *reason; /* by function: which reason, from 1 on; 0: it is not refused */
	char *reasons;	  /* the texts, each ended by a byte 0 */
};

static void list_parts(struct content *c, struct part part[PARTS])
{
	const struct head_of_plan *n = &c->n;
	struct dt_probes *p = c->p;
	const struct part all[PARTS] = {
		{(void **)&p->made.near.bytes, n->code, 1},
		{(void **)&p->made.far, n->fars, sizeof(*p->made.far)},
		{(void **)&p->made.far_bytes, n->fars, sizeof(*p->made.far_bytes)},
		{(void **)&p->made.fixes.fix, n->fixes, sizeof(*p->made.fixes.fix)},
		{(void **)&p->made.far_fixes.fix, n->far_fixes, sizeof(*p->made.far_fixes.fix)},
		{(void **)&p->region, n->regions, sizeof(*p->region)},
		{(void **)&p->toggle, n->file_sites, sizeof(*p->toggle)},
		{(void **)&p->state, n->functions, 1},
		{(void **)&p->patch, n->patches, sizeof(*p->patch)},
		{(void **)&p->window, n->windows, sizeof(*p->window)},
		{(void **)&p->moved, n->moved, sizeof(*p->moved)},
		{(void **)&p->plan.site, n->sites, sizeof(*p->plan.site)},
		{(void **)&p->plan.window, n->plan_windows, sizeof(*p->plan.window)},
		{(void **)&p->plan.retarget, n->retargets, sizeof(*p->plan.retarget)},
		{(void **)&c->taken, n->taken, 1},
		{(void **)&c->reason, n->functions, sizeof(*c->reason)},
		{(void **)&c->reasons, n->reasons, 1},
	};

	memcpy(part, all, sizeof(all));
}

/* Returns the bytes of a region's bits in dt_plan.taken; 0 where plans have none. */
static size_t taken_size(const struct dt_code_region *r)
{
	return DT_PLAN_TAKES ? (r->high - r->low) / 8 + 1 : 0;
}

static uint64_t all_taken(const struct dt_code *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->regions; i++)
		n += taken_size(&c->region[i]);
	return n;
}

/* ---- what a plan was made for */

static uint64_t add(uint64_t sum, uint64_t x)
{
	return dt_memo_sum(&x, sizeof(x), sum);
}

/* Returns a sum of all that planning looks at, except for the bytes of the file. Never 0. */
static uint64_t sum_of(struct dt_file *f, const bool *wanted)
{
	const struct dt_code *c = f->code;
	const struct dt_elf *elf = f->elf;
	uint64_t sum = dt_memo_sum(wanted, c->functions, c->functions);

	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *x = &c->function[i];
		const uint64_t is[8] = {
			x->start,
			x->end,
			(uint64_t)x->whole << 32 | x->next_part,
			(uint64_t)x->first_exit << 32 | x->exits,
			x->trouble,
			x->trouble_at,
			(uint64_t)x->found << 8 | (uint64_t)x->jumped << 7 | x->part << 6 |
				x->falls << 5 | x->anywhere << 4 | x->taken << 3 | x->table << 2 |
				x->points << 1 | x->stays,
			dt_probe_is_ours(f, i),
		};

		sum = dt_memo_sum(is, sizeof(is), sum);
	}
	for (size_t i = 0; i < c->exits; i++) {
		const struct dt_exit *x = &c->exit[i];
		const uint64_t is[4] = {x->address, x->target, (uint64_t)x->length << 8 | x->kind,
					x->into};

		sum = dt_memo_sum(is, sizeof(is), sum);
	}
	for (size_t i = 0; i < c->regions; i++)
		if (!c->region[i].plt && c->region[i].mark)
			sum = dt_memo_sum(c->region[i].mark, c->region[i].high - c->region[i].low,
					  add(sum, c->region[i].low));
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *x = &elf->site[i];
		const uint64_t is[2] = {x->address,
					(uint64_t)x->kind << 8 |
						dt_probe_way(f, i, dt_probe_is_entry(x), false)};

		sum = dt_memo_sum(is, sizeof(is), sum);
	}
	return sum ? sum : 1;
}

/* Returns what is known of the file's plans, with the file as it is now if nothing was known yet;
 * NULL: no plans can be kept. */
static struct dt_plans_kept *kept_of(struct dt_file *f)
{
	char real[PATH_MAX];
	struct stat st;
	int in;

	if (f->kept)
		return f->kept->path ? f->kept : NULL;
	f->kept = calloc(1, sizeof(*f->kept));
	in = f->kept && f->readable ? open(f->readable, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (in < 0)
		return NULL;
	/* the file that was read is meant, and no other one that has taken its place */
	if (fstat(in, &st) == 0 && st.st_ino == f->inode && st.st_size == f->size &&
	    st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec &&
	    dt_memo_identify(in, f->readable, real, &f->kept->is))
		f->kept->path = strdup(real);
	close(in);
	return f->kept->path ? f->kept : NULL;
}

bool dt_kept_is_wanted(const struct dt_file *f)
{
	return f->kept && f->kept->path;
}

void dt_kept_free(struct dt_plans_kept *kept)
{
	if (!kept)
		return;
	for (struct texts *x = kept->texts, *next; x; x = next) {
		next = x->next;
		free(x->text);
		free(x);
	}
	free(kept->path);
	free(kept);
}

static size_t count(const bool *wanted, size_t n)
{
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		some += wanted[i];
	return some;
}

/* ---- reading */

/* Takes a part and unpacks it. False: it is damaged, or there is no memory. */
static bool take_part(struct dt_memo_rest *rest, const struct part *x)
{
	const uint64_t *stored = dt_memo_take(rest, sizeof(*stored));
	const char *bytes;
	uint64_t size = x->n * x->size;

	if (!stored || x->n > LARGEST / x->size)
		return false;
	bytes = dt_memo_take_bytes(rest, *stored);
	if (!bytes)
		return false;
	*x->array = malloc(size + 1);
	return *x->array && ZSTD_decompress(*x->array, size, bytes, *stored) == size;
}

/* Looks whether a fix changes nothing behind so many bytes. */
static bool is_inside(const struct dt_fix *f, uint64_t size)
{
	return f->at + (f->kind == DT_FIX_DISTANCE  ? 4ull
			: f->kind == DT_FIX_ADDRESS ? 8
						    : 12) <=
	       size;
}

/* Looks whether all that leads from one table to another leads to something there. */
static bool is_sound(const struct content *c)
{
	const struct dt_probes *p = c->p;
	bool sound = c->n.size >= c->n.code && c->n.regions > 0 &&
		     (!c->n.reasons || !c->reasons[c->n.reasons - 1]);

	for (size_t i = 0; i < c->n.fixes; i++)
		sound &= is_inside(&p->made.fixes.fix[i], c->n.code);
	for (size_t i = 0; i < c->n.far_fixes; i++)
		sound &= is_inside(&p->made.far_fixes.fix[i], c->n.fars * LONGEST);
	for (size_t i = 0; i < c->n.fars; i++)
		sound &= p->made.far[i].high - p->made.far[i].low <= LONGEST;
	for (size_t i = 0; i < c->n.patches; i++)
		sound &= p->patch[i].length <= 8 && p->patch[i].window < c->n.plan_windows &&
			 (!p->patch[i].leads || p->patch[i].length >= 4);
	for (size_t i = 0; i < c->n.windows; i++)
		sound &= p->window[i].index < c->n.plan_windows &&
			 (uint64_t)p->window[i].first_moved + p->window[i].moved < c->n.moved;
	for (size_t i = 0; i < c->n.sites; i++)
		sound &= p->plan.site[i].function < c->n.functions;
	for (size_t i = 0; i < c->n.plan_windows; i++) {
		const struct dt_plan_window *w = &p->plan.window[i];

		sound &= (uint64_t)w->first_site + w->sites <= c->n.sites &&
			 (uint64_t)w->first_retarget + w->retargets <= c->n.retargets;
	}
	return sound;
}

/* Makes a plan of what was read. */
static bool fill_plan(struct content *c, const struct dt_file *f)
{
	struct dt_plan *read = &c->p->plan, plan;
	const uint8_t *from = c->taken;
	struct dt_error e;

	if (dt_job_plan_begin(&plan, f, &e) < 0)
		return false;
	plan.site = read->site;
	plan.window = read->window;
	plan.retarget = read->retarget;
	plan.sites = plan.site_room = c->n.sites;
	plan.windows = plan.window_room = c->n.plan_windows;
	plan.retargets = plan.retarget_room = c->n.retargets;
	for (size_t i = 0; plan.taken && i < f->code->regions; i++) {
		size_t n = taken_size(&f->code->region[i]);

		memcpy(plan.taken[i], from, n);
		from += n;
	}
	*read = plan;
	return true;
}

/* Notes why functions were refused, in texts that stay as long as the file. */
static bool note_reasons(struct content *c, struct dt_file *f)
{
	const char **text = calloc(REASONS + 1, sizeof(*text)), *at = c->reasons;
	struct texts *x = malloc(sizeof(*x));
	size_t n = 0;

	if (!f->refused)
		f->refused = calloc(f->code->functions + 1, sizeof(*f->refused));
	if (!text || !x || !f->refused) {
		free(text);
		free(x);
		return false;
	}
	for (; at < c->reasons + c->n.reasons && n < REASONS; at += strlen(at) + 1)
		text[++n] = at;
	for (size_t i = 0; i < c->n.functions; i++)
		if (c->reason[i] && c->reason[i] <= n)
			f->refused[i] = text[c->reason[i]];
	*x = (struct texts){f->kept->texts, c->reasons};
	f->kept->texts = x;
	c->reasons = NULL;
	free(text);
	return true;
}

/* Reads all parts. */
static bool read_parts(struct content *c, struct dt_memo_rest *rest, struct dt_file *f)
{
	struct dt_probes *p = c->p;
	struct part part[PARTS];
	const struct head_of_plan *n = dt_memo_take(rest, sizeof(*n));

	if (!n || n->functions != f->code->functions || n->file_sites != f->elf->sites ||
	    n->taken != all_taken(f->code))
		return false;
	c->n = *n;
	list_parts(c, part);
	for (size_t i = 0; i < PARTS; i++)
		if (!take_part(rest, &part[i]))
			return false;
	if (!is_sound(c) || !fill_plan(c, f))
		return false;
	p->made.near.address = n->address;
	p->made.size = n->size;
	p->made.code = n->code;
	p->made.fars = n->fars;
	p->made.fixes.n = p->made.fixes.room = n->fixes;
	p->made.far_fixes.n = p->made.far_fixes.room = n->far_fixes;
	p->regions = n->regions;
	p->patches = p->patch_room = n->patches;
	p->windows = p->window_room = n->windows;
	p->n_moved = p->moved_room = n->moved;
	return note_reasons(c, f);
}

/* Frees probes of which not all may have been read. */
static void drop(struct dt_probes *p)
{
	if (!p->plan.code) {
		free(p->plan.site);
		free(p->plan.window);
		free(p->plan.retarget);
	}
	dt_probes_free(p);
}

struct dt_probes *dt_job_recall(struct job *j, const bool *wanted, uint64_t *bias)
{
	struct dt_file *f = j->m->file;
	struct dt_plans_kept *kept = NULL;
	struct content c = {.p = NULL};
	struct dt_memo_rest rest;
	const char *bytes = NULL;
	uint64_t sum = 0;
	size_t n;

	if (!j->p->points && count(wanted, f->code->functions) >= WORTH)
		kept = kept_of(f);
	if (kept) {
		sum = sum_of(f, wanted);
		bytes = dt_memo_file_map(kept->path, &kept->is, sum, &n);
	}
	if (!bytes)
		return NULL;
	rest = (struct dt_memo_rest){bytes, n};
	c.p = calloc(1, sizeof(*c.p));
	if (c.p && n > sizeof(struct dt_memo_head) &&
	    dt_memo_is_head(dt_memo_take(&rest, sizeof(struct dt_memo_head)), bytes, n,
			    &kept->is) &&
	    read_parts(&c, &rest, f)) {
		*bias = c.n.bias;
		c.p->made.kept = sum;
	} else if (c.p) {
		drop(c.p);
		c.p = NULL;
	}
	munmap((void *)(uintptr_t)bytes, n);
	free(c.taken);
	free(c.reason);
	free(c.reasons);
	return c.p;
}

/* ---- writing */

/* Packs a part, and puts it. */
static void put_part(struct dt_memo_out *o, const struct part *x)
{
	size_t size = x->n * x->size, room = ZSTD_compressBound(size), n = 0;
	char *packed = malloc(room);
	uint64_t stored;

	if (packed)
		n = ZSTD_compress(packed, room, *x->array, size, LEVEL);
	if (!packed || ZSTD_isError(n)) {
		o->failed = true;
	} else {
		stored = n;
		dt_memo_put(o, &stored, sizeof(stored));
		dt_memo_put_text(o, packed, n);
	}
	free(packed);
}

/* Collects the reasons why functions are refused. False: no memory, or there are too many. */
static bool collect_reasons(struct content *c, const struct dt_file *f)
{
	struct dt_memo_out o = {NULL, 0, 0, false};
	const char **seen = calloc(REASONS + 1, sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; seen && f->refused && i < c->n.functions; i++) {
		size_t k = n;

		if (!f->refused[i])
			continue;
		while (k && strcmp(seen[k], f->refused[i]) != 0)
			k--;
		if (!k && n < REASONS) {
			seen[k = ++n] = f->refused[i];
			dt_memo_put(&o, seen[k], strlen(seen[k]) + 1);
		}
		c->reason[i] = (uint16_t)k;
	}
	free(seen);
	c->reasons = o.bytes;
	c->n.reasons = o.n;
	return seen && !o.failed;
}

/* Fills in what is in no table of the probes. False: no memory. */
static bool collect(struct content *c, const struct dt_module *m)
{
	const struct dt_code *code = m->file->code;
	struct dt_probes *p = m->probes;
	uint8_t *to;

	c->p = p;
	c->n = (struct head_of_plan){
		.functions = code->functions,
		.file_sites = m->file->elf->sites,
		.bias = m->bias,
		.low = m->low,
		.high = m->high,
		.address = p->made.near.address,
		.size = p->made.size,
		.code = p->made.code,
		.regions = p->regions,
		.fars = p->made.fars,
		.fixes = p->made.fixes.n,
		.far_fixes = p->made.far_fixes.n,
		.patches = p->patches,
		.windows = p->windows,
		.moved = p->n_moved,
		.sites = p->plan.sites,
		.plan_windows = p->plan.windows,
		.retargets = p->plan.retargets,
		.taken = all_taken(code),
	};
	c->taken = to = malloc(c->n.taken + 1);
	c->reason = calloc(code->functions + 1, sizeof(*c->reason));
	if (!to || !c->reason)
		return false;
	for (size_t i = 0; p->plan.taken && i < code->regions; i++) {
		memcpy(to, p->plan.taken[i], taken_size(&code->region[i]));
		to += taken_size(&code->region[i]);
	}
	return collect_reasons(c, m->file);
}

/* Writes a plan's file. */
static void write_plan(const struct dt_module *m, uint64_t sum)
{
	struct dt_plans_kept *kept = m->file->kept;
	const struct dt_memo_head h = {.file = kept->is};
	struct dt_memo_out out = {NULL, 0, 0, false};
	struct content c = {.p = NULL};
	struct part part[PARTS];

	out.failed = !collect(&c, m);
	dt_memo_put(&out, &h, sizeof(h));
	dt_memo_put(&out, &c.n, sizeof(c.n));
	list_parts(&c, part);
	for (size_t i = 0; i < PARTS && !out.failed; i++)
		put_part(&out, &part[i]);
	if (!out.failed)
		dt_memo_file_write(kept->path, &kept->is, sum, &out);
	free(out.bytes);
	free(c.taken);
	free(c.reason);
	free(c.reasons);
}

void dt_probes_keep(const struct dt_module *m)
{
	struct dt_file *f = m->file;
	struct dt_probes *p = m->probes;
	bool *wanted;

	if (!p || !p->made.near.bytes || !p->plan.code || p->plan.failed || p->points ||
	    p->made.kept || p->made.fixes.pinned || p->made.far_fixes.pinned || !f->kept ||
	    !f->kept->path)
		return;
	wanted = calloc(f->code->functions + 1, sizeof(*wanted));
	for (size_t i = 0; wanted && i < f->code->functions; i++)
		wanted[i] = p->state[i] != UNTRIED;
	if (wanted && count(wanted, f->code->functions) >= WORTH) {
		p->made.kept = sum_of(f, wanted);
		write_plan(m, p->made.kept);
	}
	free(wanted);
}
