/* SPDX-License-Identifier: MIT */
/* What the device language means for a session of processes. */
#include "session/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/words.h"
#include "process/memory.h"

/* What the provider knows of a range: range->host. */
struct place_of_range {
	struct dt_selection select; /* of a set */
	struct dt_file *file;	    /* of the others: the range in the file's own addresses */
	uint64_t low, high;
};

/* Bytes from a site's address to what the hook records as pc, by enum dt_elf_kind: doc/sleds.md */
static const uint64_t pc_offset[] = {0, 5, 6, 10};

static uint64_t site_pc(const struct dt_elf_site *s)
{
	return s->address + (s->kind < 4 ? pc_offset[s->kind] : 0);
}

static void *host_resize(void *ctx, void *p, size_t bytes)
{
	if (bytes)
		return realloc(p, bytes);
	free(p);
	return NULL;
}

/* ---- addresses ---- */

/* The process that addresses are read in: the one that has been there longest. */
static struct dt_target *reference(struct dt_session *s)
{
	struct dt_target *first = NULL;

	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended && t->n)
			first = t;
	return first;
}

struct names {
	const char *want;
	struct dt_target *t;
	struct dt_module *module;
	const struct dt_function *found[8];
	struct dt_module *found_in[8];
	size_t n;
};

static void note_name(struct names *n, const struct dt_function *f)
{
	for (size_t i = 0; i < n->n && i < 8; i++)
		if (n->found[i] == f)
			return;
	if (n->n < 8) {
		n->found[n->n] = f;
		n->found_in[n->n] = n->module;
	}
	n->n++;
}

static void on_alias(void *ctx, uint64_t address, const char *name)
{
	struct names *n = ctx;

	if (strcmp(name, n->want) == 0) {
		const struct dt_function *f = dt_symtab_find(n->module->file->symtab, address);

		if (f)
			note_name(n, f);
	}
}

static void names_in(struct names *n)
{
	struct dt_symtab *tab = dt_file_symtab(n->module->file);
	const struct dt_function *f;
	size_t count;

	if (!tab || !dt_symtab_may_have(tab, n->want))
		return;
	f = dt_symtab_functions(tab, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(f[i].name, n->want) == 0 || strcmp(f[i].linkage, n->want) == 0)
			note_name(n, &f[i]);
	dt_symtab_aliases(tab, on_alias, n);
}

/* MODULE:NAME: the module's file name, with or without what follows its first ".so". */
static bool is_module(const struct dt_module *m, const char *name, size_t n)
{
	const char *slash = strrchr(m->file->path, '/');
	const char *base = slash ? slash + 1 : m->file->path;
	const char *so = strstr(base, ".so");

	return (strlen(base) == n && strncmp(base, name, n) == 0) ||
	       (so && (size_t)(so - base) == n && strncmp(base, name, n) == 0);
}

static int several(const struct names *n, struct dt_error *e)
{
	size_t at;

	dt_fail(e, "devtrace: '%s' names %zu functions:", n->want, n->n);
	for (size_t i = 0; e && i < n->n && i < 8; i++) {
		const struct dt_module *m = n->found_in[i];
		const char *slash = strrchr(m->file->path, '/');

		at = strlen(e->text);
		dt_format(e->text + at, sizeof(e->text) - at, "%s %s:%lx", i ? "," : "",
			  slash ? slash + 1 : m->file->path,
			  (unsigned long)(m->bias + n->found[i]->address));
	}
	at = e ? strlen(e->text) : 0;
	if (e)
		dt_format(e->text + at, sizeof(e->text) - at, "; write MODULE:NAME or the address");
	return -1;
}

static int host_line(struct dt_session *s, const char *text, const char *colon,
		     struct dt_place *place, struct dt_error *e);

static int host_place(void *ctx, const char *text, struct dt_place *place, struct dt_error *e)
{
	struct dt_session *s = ctx;
	const char *colon = strchr(text, ':');
	bool qualified = colon && colon[1] && colon[1] != ':' && !strchr(colon + 1, ':');
	struct names n = {.want = qualified ? colon + 1 : text, .t = reference(s)};
	uint64_t number;

	if (!n.t)
		return 0;
	if (qualified && dt_word_decimal(colon + 1, &number))
		return host_line(s, text, colon, place, e);
	/* a name in the program goes before one in its libraries */
	for (size_t i = 0; i < n.t->n && (n.n == 0 || qualified); i++) {
		n.module = &n.t->module[i];
		if (!qualified || is_module(n.module, text, (size_t)(colon - text)))
			names_in(&n);
	}
	if (n.n > 1)
		return several(&n, e);
	if (n.n == 0)
		return 0;
	place->start = n.found_in[0]->bias + n.found[0]->address;
	place->end = place->start + (n.found[0]->size ? n.found[0]->size - 1 : 0);
	return 1;
}

/* The function in which a line of a source file is. */
static int host_line(struct dt_session *s, const char *text, const char *colon,
		     struct dt_place *place, struct dt_error *e)
{
	struct dt_target *t = reference(s);
	uint64_t want = strtoull(colon + 1, NULL, 10);
	size_t length = (size_t)(colon - text);
	unsigned best = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct dt_symtab *tab = dt_file_symtab(t->module[i].file);
		const struct dt_function *f;
		size_t n;

		if (!tab)
			continue;
		f = dt_symtab_functions(tab, &n);
		for (size_t k = 0; k < n; k++) {
			const char *file, *base;
			unsigned line;

			if (!dt_symtab_line(tab, f[k].address, &file, &line) || line > want)
				continue;
			base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
			if ((strlen(base) != length || strncmp(base, text, length) != 0) &&
			    (strlen(file) != length || strncmp(file, text, length) != 0))
				continue;
			if (line <= best)
				continue;
			best = line;
			place->start = t->module[i].bias + f[k].address;
			place->end = place->start + (f[k].size ? f[k].size - 1 : 0);
		}
	}
	if (best)
		return 1;
	return dt_fail(e,
		       "devtrace: no function is known to be at %s; are there line numbers (-g)?",
		       text);
}

static void host_text(void *ctx, uint64_t *base, uint64_t *end)
{
	struct dt_target *t = reference(ctx);

	*base = t ? t->module[0].bias : 0;
	if (t && t->module[0].file->elf && t->module[0].file->elf->type == 2 /* ET_EXEC */)
		*base = t->module[0].file->elf->low;
	*end = ~0ull;
}

static int no_process(struct dt_error *e)
{
	return dt_fail(e,
		       "devtrace: no process is traced, so no address means anything; attach one");
}

/* The entry site that an address means: of the function that begins there, or the site itself. */
static const struct dt_elf_site *entry_site(const struct dt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *x = &elf->site[i];

		if (x->address == address || site_pc(x) == address ||
		    (x->kind == DT_ELF_ENTRY && x->function == address))
			return x;
	}
	return NULL;
}

static int check_point(struct dt_target *t, struct dt_module *m, struct dt_range *r,
		       struct dt_error *e)
{
	const struct dt_elf_site *site =
		m->file->elf ? entry_site(m->file->elf, r->start - m->bias) : NULL;
	struct dt_symtab *tab = dt_file_symtab(m->file);
	const struct dt_function *f;

	if (!site) {
		f = tab ? dt_symtab_find(tab, r->start - m->bias) : NULL;
		return dt_fail(e,
			       "devtrace: there is no site at %lx; a process built with sleds has "
			       "them at entries and exits%s%s",
			       (unsigned long)r->start, f ? ", the nearest is " : "",
			       f ? f->name : "");
	}
	r->start = r->end = m->bias + site_pc(site);
	(void)t;
	return 0;
}

/* Patterns, separated by blanks; one with '!' in front removes. */
static int parse_set(const char *what, struct dt_selection *select, struct dt_error *e)
{
	char *text = strdup(what), *save, *word;
	bool any = false;
	int rc = text ? 0 : dt_fail(e, "out of memory");

	for (word = text ? strtok_r(text, " ", &save) : NULL; word && rc == 0;
	     word = strtok_r(NULL, " ", &save)) {
		bool sign = word[0] == '!' || word[0] == '+';

		rc = dt_selection_add(select, word + sign, word[0] == '!', e);
		any = true;
	}
	free(text);
	return rc == 0 && !any ? dt_fail(e, "devtrace: an empty pattern") : rc;
}

static int host_check(void *ctx, struct dt_range *r, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_target *t = reference(s);
	struct place_of_range *p = calloc(1, sizeof(*p));
	struct dt_module *m;
	int rc = 0;

	if (!p)
		return dt_fail(e, "out of memory");
	if (r->kind == DT_RANGE_SET) {
		rc = parse_set(r->what, &p->select, e);
		goto out;
	}
	m = t ? dt_target_module(t, r->start) : NULL;
	if (!t)
		rc = no_process(e);
	else if (!m || r->end >= m->high)
		rc = dt_fail(
			e, "devtrace: invalid address range: %lx to %lx is not code of one module",
			(unsigned long)r->start, (unsigned long)r->end);
	else if (r->kind == DT_RANGE_POINT)
		rc = check_point(t, m, r, e);
	if (rc == 0) {
		p->file = m->file;
		p->low = r->start - m->bias;
		p->high = r->end - m->bias;
	}
out:
	if (rc < 0) {
		dt_selection_clear(&p->select);
		free(p);
		return -1;
	}
	r->host = p;
	return 0;
}

static void host_forget(void *ctx, struct dt_range *r)
{
	struct place_of_range *p = r->host;

	if (p)
		dt_selection_clear(&p->select);
	free(p);
	r->host = NULL;
}

/* ---- ranges to sites ---- */

static bool kind_wanted(const struct dt_elf_site *site, const struct dt_action *a)
{
	return site->kind == DT_ELF_ENTRY ? a->what & DT_DO_ENTRY : a->what & DT_DO_EXIT;
}

static size_t function_index(const struct dt_function *f, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : n;
}

/* Calls fn for every site of f that r means. */
static int each_site(struct dt_file *f, struct dt_range *r,
		     void (*fn)(struct dt_file *f, size_t site, const struct dt_range *r, int add),
		     int add, struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_elf *elf = f->elf;
	const struct dt_function *functions = NULL;
	struct dt_symtab *tab = NULL;
	bool *chosen = NULL;
	size_t n = 0;

	if (!elf || !elf->sites)
		return 0;
	if (r->kind != DT_RANGE_SET) {
		for (size_t i = 0; p->file == f && i < elf->sites; i++)
			if (site_pc(&elf->site[i]) >= p->low && site_pc(&elf->site[i]) <= p->high &&
			    kind_wanted(&elf->site[i], &r->action))
				fn(f, i, r, add);
		return 0;
	}
	/* everything, also where no name is known */
	if (!(p->select.n == 1 && !p->select.pattern[0].remove &&
	      strcmp(p->select.pattern[0].text, "*") == 0)) {
		tab = dt_file_symtab(f);
		if (!tab)
			return 0;
		functions = dt_symtab_functions(tab, &n);
		chosen = calloc(n + 1, sizeof(*chosen));
		if (!chosen || dt_selection_symtab(&p->select, f->path, tab, chosen) < 0) {
			free(chosen);
			return dt_fail(e, "out of memory");
		}
	} else {
		p->select.pattern[0].hits += elf->sites;
	}
	for (size_t i = 0; i < elf->sites; i++) {
		size_t k = chosen ? function_index(functions, n, elf->site[i].function) : 0;

		if ((!chosen || (k < n && chosen[k])) && kind_wanted(&elf->site[i], &r->action))
			fn(f, i, r, add);
	}
	free(chosen);
	return 0;
}

static void count_site(struct dt_file *f, size_t site, const struct dt_range *r, int add)
{
	(void)r;
	f->wanted[site] = (uint16_t)(f->wanted[site] + add);
	if (f->chosen[site] != (f->wanted[site] != 0)) {
		f->chosen[site] = f->wanted[site] != 0;
		f->chosen_sites += f->chosen[site] ? 1 : (size_t)-1;
	}
}

/* The DWARF index is built now, while nobody waits for a record to be taken. */
static void warm(struct dt_symtab *t)
{
	const struct dt_function *f;
	char text[16];
	size_t n;

	f = dt_symtab_functions(t, &n);
	if (n)
		dt_symtab_signature(t, &f[n / 2], text, sizeof(text));
}

/* What is on of a file that is new: dt_choose_fn. */
static int choose(void *ctx, struct dt_file *f, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_symtab *tab = dt_file_symtab(f);

	f->wanted = calloc(f->elf->sites, sizeof(*f->wanted));
	if (!f->wanted)
		return dt_fail(e, "out of memory");
	if (tab)
		warm(tab);
	for (size_t i = 0; i < s->device.n; i++)
		if (s->device.range[i].on &&
		    each_site(f, &s->device.range[i], count_site, 1, e) < 0)
			return -1;
	if (s->uniform)
		for (size_t i = 0; i < f->elf->sites; i++)
			count_site(f, i, NULL, 1);
	return 0;
}

/* ---- the table of the slow path ---- */

struct actions {
	const struct dt_range **of; /* by site: the range that decides */
};

static struct actions *building;

static void note_action(struct dt_file *f, size_t site, const struct dt_range *r, int add)
{
	const struct dt_range *old = building->of[site];

	/* points before ranges, those with options before those without */
	(void)f, (void)add;
	if (!old || (r->kind == DT_RANGE_POINT && old->kind != DT_RANGE_POINT) ||
	    (old->kind != DT_RANGE_POINT && (r->action.what & DT_DO_CAREFUL) &&
	     !(old->action.what & DT_DO_CAREFUL)))
		building->of[site] = r;
}

struct table {
	struct dt_table_entry *entry;
	size_t n, room;
};

static int add_entry(struct table *t, const struct dt_table_entry *x, struct dt_error *e)
{
	struct dt_table_entry *more;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		more = realloc(t->entry, t->room * sizeof(*more));
		if (!more)
			return dt_fail(e, "out of memory");
		t->entry = more;
	}
	t->entry[t->n++] = *x;
	return 0;
}

static bool same_action(const struct dt_table_entry *x, const struct dt_action *a)
{
	return x->what == a->what && x->pid == a->pid && x->late == a->late &&
	       x->constant == a->constant;
}

/* Neighbouring sites with the same action share an entry. */
static int module_table(struct dt_session *s, struct dt_module *m, struct table *t,
			struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	struct actions a = {.of = calloc(elf->sites, sizeof(*a.of))};
	bool joined = false;
	int rc = a.of ? 0 : dt_fail(e, "out of memory");

	building = &a;
	for (size_t i = 0; rc == 0 && i < s->device.n; i++)
		if (s->device.range[i].on)
			rc = each_site(m->file, &s->device.range[i], note_action, 0, e);
	building = NULL;
	for (size_t i = 0; rc == 0 && i < elf->sites; i++) {
		const struct dt_range *r = a.of[i];
		uint64_t pc = m->bias + site_pc(&elf->site[i]);
		struct dt_table_entry x;

		if (!r || (!s->device.uniform && !(r->action.what & DT_DO_CAREFUL))) {
			joined = false;
			continue;
		}
		if (joined && same_action(&t->entry[t->n - 1], &r->action)) {
			t->entry[t->n - 1].end = pc;
			continue;
		}
		x = (struct dt_table_entry){
			pc, pc, r->action.what, r->action.pid, r->action.late, r->action.constant};
		rc = add_entry(t, &x, e);
		joined = true;
	}
	free(a.of);
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct dt_table_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int write_table(struct dt_session *s, struct dt_target *target, struct dt_error *e)
{
	struct table t = {0};
	int rc = 0;

	if (!target->area || target->ended)
		return 0;
	for (size_t i = 0; rc == 0 && i < target->n; i++)
		if (target->module[i].file->elf && target->module[i].file->chosen_sites)
			rc = module_table(s, &target->module[i], &t, e);
	if (t.n)
		qsort(t.entry, t.n, sizeof(*t.entry), by_start);
	if (rc == 0)
		rc = dt_area_table(target->mem, target->area, t.entry, t.n, e);
	free(t.entry);
	return rc < 0 && dt_target_gone(target) ? 0 : rc;
}

/* ---- applying ---- */

static bool is_watched(const struct dt_session *s, const struct dt_target *t)
{
	const struct dt_device *d = &s->device;

	if (!d->watches || d->all || d->uniform || s->watch_threads)
		return true;
	for (size_t i = 0; i < d->watches; i++)
		if (d->watch[i] == (uint32_t)t->pid)
			return true;
	return false;
}

/* Sites of one file (NULL: all) follow what is chosen, in every process. */
static int sync_sites(struct dt_session *s, const struct dt_file *f, uint64_t low, uint64_t high,
		      struct dt_error *e)
{
	int rc = 0;

	for (struct dt_target *t = s->first; t && rc == 0; t = t->next)
		if (!t->ended && t->area)
			rc = dt_target_sync(t, f, low, high, is_watched(s, t), e);
	return rc;
}

/* Is one of the watched ids a thread that is not its process's first? */
static bool watches_threads(struct dt_session *s)
{
	for (size_t i = 0; i < s->device.watches; i++) {
		bool process = false;
		char path[64];

		for (struct dt_target *t = s->first; t; t = t->next) {
			process = process || s->device.watch[i] == (uint32_t)t->pid;
			dt_format(path, sizeof(path), "/proc/%d/task/%u", t->pid,
				  s->device.watch[i]);
			if (!process && !t->ended && access(path, F_OK) == 0)
				return true;
		}
	}
	return false;
}

static void set_watch(struct dt_session *s)
{
	struct dt_control *c = s->targets.shared.control;
	size_t n = s->device.watches < DT_WATCH_MAX ? s->device.watches : DT_WATCH_MAX;

	/* nobody is let through, then the list, then it counts */
	__atomic_store_n(&c->watches, 0, __ATOMIC_SEQ_CST);
	memcpy(c->watch, s->device.watch, n * sizeof(*c->watch));
	__atomic_store_n(&c->watches, (uint32_t)n, __ATOMIC_SEQ_CST);
}

static uint64_t ticks_of(const struct dt_session *s, uint64_t ns)
{
	return (uint64_t)((double)ns * s->ticks_per_ns);
}

static void set_arm(struct dt_session *s)
{
	struct dt_control *c = s->targets.shared.control;
	const struct dt_arm *a = &s->device.arm;

	c->arm_has = (a->has_start ? 1u : 0) | (a->has_stop ? 2u : 0);
	c->arm_start = a->start;
	c->arm_stop = a->stop;
	c->arm_duration = ticks_of(s, a->duration);
	s->armed = *a;
	if (!a->set) {
		__atomic_store_n(&c->arm_state, DT_ARM_NONE, __ATOMIC_SEQ_CST);
		return;
	}
	if (a->has_start) {
		dt_rings_freeze(c, true);
		__atomic_store_n(&c->arm_state, DT_ARM_ARMED, __ATOMIC_SEQ_CST);
	} else {
		c->arm_begin = __builtin_ia32_rdtsc();
		__atomic_store_n(&c->arm_state, DT_ARM_RUNNING, __ATOMIC_SEQ_CST);
	}
}

static int count_uniform(struct dt_session *s, bool uniform)
{
	if (uniform == s->uniform)
		return 0;
	s->uniform = uniform;
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		for (size_t i = 0; f->wanted && i < f->elf->sites; i++)
			count_site(f, i, NULL, uniform ? 1 : -1);
	return 0;
}

/* Everything but the switching of one range. */
static int apply_all(struct dt_session *s, struct dt_error *e)
{
	struct dt_control *c = s->targets.shared.control;
	struct dt_device *d = &s->device;
	bool careful;
	int rc = 0;

	if (d->watches > DT_WATCH_MAX)
		return dt_fail(e, "devtrace: pidwatch array full: at most %u ids", DT_WATCH_MAX);
	s->watch_threads = watches_threads(s);
	careful = dt_device_careful(d) || s->frozen || s->watch_threads;
	/* what events are looked up in, before they are; sites that were off, when they can be */
	if (careful)
		for (struct dt_target *t = s->first; t && rc == 0; t = t->next)
			rc = write_table(s, t, e);
	if (rc < 0)
		return rc;
	set_watch(s);
	c->all = d->all;
	c->uniform = d->uniform;
	if (d->policy != s->log.policy) {
		pthread_mutex_lock(&s->log.lock);
		s->log.policy = d->policy;
		pthread_cond_broadcast(&s->log.changed);
		pthread_mutex_unlock(&s->log.lock);
		if (!s->store && c->policy != DT_OVERWRITE)
			c->policy = d->policy == DT_WAIT ? DT_WAIT : DT_DROP;
	}
	dt_rings_careful(c, careful);
	if (memcmp(&s->armed, &d->arm, sizeof(s->armed)) != 0)
		set_arm(s);
	if (d->events != s->events) {
		s->events = d->events;
		dt_rings_freeze_after(c, d->events);
	}
	count_uniform(s, d->uniform);
	return sync_sites(s, NULL, 0, ~0ull, e);
}

static int host_apply(void *ctx, struct dt_range *r, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct place_of_range *p;
	int rc = 0;

	if (!r)
		return apply_all(s, e);
	p = r->host;
	for (struct dt_file *f = s->targets.files.first; f && rc == 0; f = f->next)
		if (f->wanted && (!p->file || p->file == f))
			rc = each_site(f, r, count_site, r->on ? 1 : -1, e);
	if (rc < 0)
		return rc;
	if (dt_device_careful(&s->device) || s->targets.shared.control->careful)
		return apply_all(s, e);
	return p->file ? sync_sites(s, p->file, p->low < 16 ? 0 : p->low - 16, p->high, e)
		       : sync_sites(s, NULL, 0, ~0ull, e);
}

static int host_start(void *ctx, bool active, bool all, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_control *c = s->targets.shared.control;

	c->all = all;
	if (active)
		dt_rings_start(c);
	else
		dt_rings_pause(c);
	if (all != s->device.all && s->device.watches) {
		bool before = s->device.all;
		int rc;

		s->device.all = all;
		rc = sync_sites(s, NULL, 0, ~0ull, e);
		s->device.all = before;
		return rc;
	}
	return 0;
}

static int host_freeze(void *ctx, bool frozen, struct dt_error *e)
{
	struct dt_session *s = ctx;

	s->frozen = frozen;
	if (frozen) {
		if (apply_all(s, e) < 0)
			return -1;
		dt_rings_freeze(s->targets.shared.control, true);
		return 0;
	}
	dt_rings_freeze(s->targets.shared.control, false);
	return apply_all(s, e);
}

static int host_size(void *ctx, uint64_t records, struct dt_error *e)
{
	struct dt_session *s = ctx;

	return dt_log_resize(&s->log, records, e);
}

static int host_reset(void *ctx, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_control *c = s->targets.shared.control;

	dt_log_reset(&s->log);
	s->device.lookups = 0;
	s->filtered_in_seen = __atomic_load_n(&c->filtered_in, __ATOMIC_RELAXED);
	s->filtered_out_seen = __atomic_load_n(&c->filtered_out, __ATOMIC_RELAXED);
	s->ring_lost_in = s->ring_lost_out = 0;
	for (unsigned i = 0; i <= c->cores; i++) {
		s->ring_lost_in -= dt_ring_at(c, i)->lost_in;
		s->ring_lost_out -= dt_ring_at(c, i)->lost_out;
	}
	return 0;
}

static int host_inject(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t value[4],
		       struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_record r = {.ticks = __builtin_ia32_rdtsc(),
			      .pc = pc,
			      .tid = who ? who->pid : DT_NO_TID,
			      .kind = DT_ENTRY,
			      .flags = 4};

	(void)e;
	memcpy(r.value, value, sizeof(r.value));
	dt_log_put(&s->log, &r, 1, 0);
	return 0;
}

static void host_counters(void *ctx, struct dt_counters *n)
{
	struct dt_session *s = ctx;
	struct dt_control *c = s->targets.shared.control;
	struct dt_log *l = &s->log;
	uint64_t in = s->ring_lost_in, out = s->ring_lost_out;

	for (unsigned i = 0; i <= c->cores; i++) {
		in += __atomic_load_n(&dt_ring_at(c, i)->lost_in, __ATOMIC_RELAXED);
		out += __atomic_load_n(&dt_ring_at(c, i)->lost_out, __ATOMIC_RELAXED);
	}
	in += __atomic_load_n(&c->filtered_in, __ATOMIC_RELAXED) - s->filtered_in_seen;
	out += __atomic_load_n(&c->filtered_out, __ATOMIC_RELAXED) - s->filtered_out_seen;
	pthread_mutex_lock(&l->lock);
	n->hits = l->head + l->dropped;
	n->queued = l->head - l->tail;
	n->lost = l->dropped + l->overwritten;
	n->in = in + l->in;
	n->out = out + l->out;
	pthread_mutex_unlock(&l->lock);
	n->log = s->first && reference(s) ? reference(s)->area + DT_AREA_SESSION : 0;
	n->frozen = s->frozen;
	n->armed = s->device.arm.set;
}

/* ---- commands that only sessions have ---- */

static int pid_of(char *const *word, unsigned n, pid_t *pid, struct dt_error *e)
{
	uint64_t v;

	if (n != 2 || !dt_word_decimal(word[1], &v) || !v || v > 0x7fffffff)
		return dt_fail(e, "usage: %s <PID>", word[0]);
	*pid = (pid_t)v;
	return 0;
}

/* The owner thread does it; the lock is given to it meanwhile. */
static int ask_owner(struct dt_session *s, enum dt_ask what, pid_t pid, struct dt_error *e)
{
	int rc;

	while (s->ask != DT_ASK_NONE)
		pthread_cond_wait(&s->asked, &s->lock);
	s->ask = what;
	s->ask_pid = pid;
	dt_rings_bell(s->targets.shared.control);
	while (s->ask == what && !s->ending)
		pthread_cond_wait(&s->asked, &s->lock);
	if (s->ending)
		return dt_fail(e, "the session is ending");
	rc = s->ask_result;
	if (rc < 0 && e)
		*e = s->ask_error;
	s->ask = DT_ASK_NONE;
	pthread_cond_broadcast(&s->asked);
	return rc;
}

static int host_other(void *ctx, const struct dt_asker *who, char *const *word, unsigned n,
		      struct dt_error *e)
{
	struct dt_session *s = ctx;
	pid_t pid = 0;

	(void)who;
	if (dt_word_is(word[0], "attach"))
		return pid_of(word, n, &pid, e) < 0 ? -1 : ask_owner(s, DT_ASK_ATTACH, pid, e);
	if (dt_word_is(word[0], "detach"))
		return pid_of(word, n, &pid, e) < 0 ? -1 : ask_owner(s, DT_ASK_DETACH, pid, e);
	if (dt_word_is(word[0], "quit")) {
		if (n != 1)
			return dt_fail(e, "usage: quit");
		atomic_store(&s->quit, true);
		dt_rings_bell(s->targets.shared.control);
		return 0;
	}
	return 1;
}

static const struct dt_device_ops ops = {
	.resize = host_resize,
	.place = host_place,
	.text = host_text,
	.check = host_check,
	.forget = host_forget,
	.apply = host_apply,
	.start = host_start,
	.freeze = host_freeze,
	.size = host_size,
	.reset = host_reset,
	.inject = host_inject,
	.counters = host_counters,
	.other = host_other,
	.other_help = "attach      attach <PID>: trace this process too\n"
		      "detach      detach <PID>: no longer\n"
		      "quit        end the session\n",
};

/* ---- for the rest of the session ---- */

int dt_session_device_init(struct dt_session *s, struct dt_error *e)
{
	dt_device_init(&s->device, &ops, s);
	pthread_cond_init(&s->asked, NULL);
	s->targets.choose = choose;
	s->targets.choose_ctx = s;
	return dt_log_init(&s->log, DT_LOG_DEFAULT, e);
}

void dt_session_device_free(struct dt_session *s)
{
	dt_device_free(&s->device);
	dt_log_free(&s->log);
	pthread_cond_destroy(&s->asked);
}

int dt_session_device_select(struct dt_session *s, const struct dt_selection *select,
			     struct dt_error *e)
{
	size_t size = 128, n;
	char *command;
	int rc;

	for (size_t i = 0; i < select->n; i++) {
		if (strpbrk(select->pattern[i].text, "' \n"))
			return dt_fail(e,
				       "the pattern '%s' has a quote or a blank in it: put ? there",
				       select->pattern[i].text);
		size += strlen(select->pattern[i].text) + 2;
	}
	command = malloc(size);
	if (!command)
		return dt_fail(e, "out of memory");
	n = dt_format(command, size, "trace '%s", select->n ? "" : "*");
	for (size_t i = 0; i < select->n; i++)
		n += dt_format(command + n, size - n, "%s%s%s", i ? " " : "",
			       select->pattern[i].remove ? "!" : "+", select->pattern[i].text);
	dt_format(command + n, size - n, "' new selection\ntrace selection on");
	rc = dt_device_write(&s->device, NULL, command, strlen(command), e);
	free(command);
	return rc;
}

void dt_session_device_hits(struct dt_session *s, struct dt_selection *select)
{
	struct dt_range *r = dt_device_find(&s->device, "selection");
	const struct place_of_range *p = r ? r->host : NULL;

	for (size_t i = 0; p && i < select->n && i < p->select.n; i++)
		select->pattern[i].hits = p->select.pattern[i].hits;
}

void dt_session_device_follow(struct dt_session *s, struct dt_target *t)
{
	if (!t->area || t->ended)
		return;
	if (s->targets.shared.control->careful)
		write_table(s, t, NULL);
	dt_target_sync(t, NULL, 0, ~0ull, is_watched(s, t), NULL);
}

void dt_session_device_tick(struct dt_session *s)
{
	struct dt_control *c = s->targets.shared.control;
	uint64_t begin;

	if (c->arm_duration && __atomic_load_n(&c->arm_state, __ATOMIC_ACQUIRE) == DT_ARM_RUNNING) {
		begin = __atomic_load_n(&c->arm_begin, __ATOMIC_ACQUIRE);
		if (begin && __builtin_ia32_rdtsc() - begin >= c->arm_duration)
			dt_rings_freeze(c, true);
	}
	if (dt_rings_frozen(c)) {
		uint32_t running = DT_ARM_RUNNING;

		__atomic_compare_exchange_n(&c->arm_state, &running, DT_ARM_DONE, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	pthread_mutex_lock(&s->lock);
	s->frozen = c->careful && dt_rings_frozen(c);
	pthread_mutex_unlock(&s->lock);
}

int dt_session_write(struct dt_session *s, const struct dt_asker *who, const char *text, size_t n,
		     struct dt_error *e)
{
	int rc;

	dt_session_drained(s);
	pthread_mutex_lock(&s->lock);
	s->frozen =
		s->targets.shared.control->careful && dt_rings_frozen(s->targets.shared.control);
	rc = dt_device_write(&s->device, who, text, n, e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void dt_session_read(struct dt_session *s, void (*line)(void *ctx, const char *text, size_t n),
		     void *ctx)
{
	dt_session_drained(s);
	pthread_mutex_lock(&s->lock);
	s->frozen =
		s->targets.shared.control->careful && dt_rings_frozen(s->targets.shared.control);
	dt_device_read(&s->device, line, ctx);
	pthread_mutex_unlock(&s->lock);
}

void dt_session_name(struct dt_session *s, uint32_t tid, uint64_t pc, bool offset, char *out,
		     size_t size)
{
	const struct dt_function *f = NULL;
	struct dt_module *m = NULL;

	(void)tid;
	dt_format(out, size, "%lx", (unsigned long)pc);
	pthread_mutex_lock(&s->lock);
	for (struct dt_target *t = s->first; t && !m; t = t->next)
		m = dt_target_module(t, pc);
	if (m && dt_file_symtab(m->file))
		f = dt_symtab_find(m->file->symtab, pc - m->bias);
	if (f && offset && pc - m->bias > f->address)
		dt_format(out, size, "%s+%lx", f->name,
			  (unsigned long)(pc - m->bias - f->address));
	else if (f)
		dt_format(out, size, "%s", f->name);
	pthread_mutex_unlock(&s->lock);
}

void dt_session_symbols(struct dt_session *s, const char *prefix, size_t max,
			void (*fn)(void *ctx, const char *name), void *ctx)
{
	size_t length = strlen(prefix), n = 0;
	struct dt_target *t;

	pthread_mutex_lock(&s->lock);
	t = reference(s);
	for (size_t i = 0; t && i < t->n; i++) {
		const struct dt_elf *elf = t->module[i].file->elf;
		struct dt_symtab *tab = elf && elf->sites ? dt_file_symtab(t->module[i].file) : NULL;
		uint64_t last = 0;

		for (size_t k = 0; tab && k < elf->sites && n < max; k++) {
			const struct dt_function *f = dt_symtab_find(tab, elf->site[k].function);

			if (elf->site[k].kind != DT_ELF_ENTRY || !f || f->address == last ||
			    strncmp(f->name, prefix, length) != 0)
				continue;
			last = f->address;
			fn(ctx, f->name);
			n++;
		}
	}
	pthread_mutex_unlock(&s->lock);
}
