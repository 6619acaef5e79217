/* SPDX-License-Identifier: MIT */
/* Writing a trace: the records, in chunks, and the losses. */
#include "store/store-work.h"

#include <stdlib.h>
#include <string.h>

#include "store/text-piece.h"

static struct core *core_of(struct dt_store *s, unsigned core)
{
	struct core *c = s->core[core];

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->slots = 1024;
	c->generation = 1;
	c->tid = DT_NO_TID;
	c->slot = calloc(c->slots, sizeof(*c->slot));
	c->chunk = dt_encoder_new();
	if (!c->slot || !c->chunk) {
		dt_encoder_free(c->chunk);
		free(c->slot);
		free(c);
		return NULL;
	}
	s->core[core] = c;
	if (core >= s->cores)
		s->cores = core + 1;
	return c;
}

/* Empties the look-up table, when a new chunk begins or sites are forgotten. */
static void clear_slots(struct core *c)
{
	c->used = 0;
	if (++c->generation == 0) {
		memset(c->slot, 0, c->slots * sizeof(*c->slot));
		c->generation = 1;
	}
}

/* Returns the process of a record's site: the kernel is the same in all, 0. */
static inline uint32_t site_pid(uint32_t pid, uint64_t pc)
{
	return pc >> 63 ? 0 : pid;
}

static inline struct slot *find_slot(const struct core *c, uint64_t pc, uint64_t target,
				     uint32_t pid, uint32_t tag)
{
	size_t i = dt_hash(pc + target);

	for (;; i++) {
		struct slot *k = &c->slot[i & (c->slots - 1)];

		if (k->generation != c->generation ||
		    (k->pc == pc && k->target == target && k->tag == tag && k->pid == pid))
			return k;
	}
}

static int grow_slots(struct core *c)
{
	struct slot *old = c->slot;
	uint32_t n = c->slots;

	c->slot = calloc(2 * (size_t)n, sizeof(*old));
	if (!c->slot) {
		c->slot = old;
		return -1;
	}
	c->slots = 2 * n;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].generation == c->generation)
			*find_slot(c, old[i].pc, old[i].target, old[i].pid, old[i].tag) = old[i];
	free(old);
	return 0;
}

static int set_slot(struct core *c, uint64_t pc, uint64_t target, uint32_t tag, uint32_t local)
{
	struct slot *k;

	if (2 * c->used >= c->slots && grow_slots(c))
		return -1;
	k = find_slot(c, pc, target, site_pid(c->pid, pc), tag);
	c->used += k->generation != c->generation;
	*k = (struct slot){pc, target, site_pid(c->pid, pc), tag, c->generation, local};
	return 0;
}

/* Returns what the slot of a record that tells where its jump leads has as its target: never 0. */
static inline uint64_t target_of(const struct dt_record *r)
{
	return r->value[0] ? r->value[0] : 1;
}

/* Describes the site of a record and writes its row. *k is its entry; if the callback sets
 * by_target, it becomes the entry of the target. */
static int new_site(struct dt_store *s, struct dt_site_entry **k, const struct dt_record *r,
		    struct dt_error *e)
{
	struct dt_site_row row = {.pc = r->pc, .kind = DT_SITE_UNKNOWN, .values = 0xf};
	sqlite3_stmt *t = s->statement[SITE];
	uint32_t pid = (*k)->pid;
	char text[2] = {0};

	if (dt_store_begin(s, e))
		return -1;
	s->describe(s->ctx, r, &row);
	/* the callback may have put a thread's process, but no site: *k is still valid */
	if (row.by_target && !(*k)->target) {
		(*k)->by_target = true;
		if (r->value[0] && s->targets < DT_STORE_TARGETS)
			*k = dt_sites_find(&s->sites, pid, r->pc, r->value[0], r->kind);
		else
			row.target = 0;
		if (!*k)
			return dt_store_no_memory(s, e);
		if ((*k)->row)
			return 0;
	}
	s->targets += (*k)->target != 0;
	(*k)->mask = row.values & 0xf;
	(*k)->function = (uint32_t)row.function;
	(*k)->place = row.kind;
	(*k)->crossing = row.crossing;
	sqlite3_bind_int64(t, 1, pid);
	dt_store_bind_u64(t, 2, row.pc);
	text[0] = (char)r->kind;
	if (r->kind > ' ' && r->kind <= '~')
		sqlite3_bind_text(t, 3, text, 1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_int(t, 3, r->kind);
	sqlite3_bind_int64(t, 4, row.function);
	text[0] = (char)(row.entered	? dt_site_letter_entered(row.kind)
			 : row.crossing ? dt_site_letter_crossing(row.kind)
					: row.kind);
	sqlite3_bind_text(t, 5, text, 1, SQLITE_TRANSIENT);
	sqlite3_bind_int(t, 6, (*k)->mask);
	dt_store_bind_u64(t, 7, row.target);
	if (s->failed || dt_store_run(s, SITE, e))
		return dt_store_fail(s, e);
	(*k)->row = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return 0;
}

/* Returns the entry of a record's site, which is described first if it has not been met yet. NULL
 * on error. */
static struct dt_site_entry *site_of(struct dt_store *s, uint32_t pid, const struct dt_record *r,
				     struct dt_error *e)
{
	struct dt_site_entry *k;

	pid = site_pid(pid, r->pc);
	k = dt_sites_find(&s->sites, pid, r->pc, 0, r->kind);
	if (k && k->by_target && r->value[0]) {
		/* when there are too many targets, one row stands for all the others */
		struct dt_site_entry *to =
			s->targets < DT_STORE_TARGETS
				? dt_sites_find(&s->sites, pid, r->pc, r->value[0], r->kind)
				: dt_sites_known(&s->sites, pid, r->pc, r->value[0], r->kind);

		k = to || s->targets < DT_STORE_TARGETS ? to : k;
	}
	if (!k) {
		dt_store_no_memory(s, e);
		return NULL;
	}
	return k->row || new_site(s, &k, r, e) == 0 ? k : NULL;
}

int dt_store_place(struct dt_store *s, const struct dt_record *r, struct dt_store_place *place,
		   struct dt_error *e)
{
	const struct dt_site_entry *k = site_of(s, dt_pids_get(&s->pids, r->tid), r, e);

	if (s->failed || !k)
		return s->failed ? dt_store_fail(s, e) : -1;
	*place = (struct dt_store_place){k->function, k->place, k->crossing};
	return 0;
}

/* The slow half of the look-up, when the record's entry is not in the open chunk's dictionary: adds
 * it and returns its index. */
static int new_local(struct dt_store *s, struct core *c, const struct dt_record *r, uint32_t tag,
		     struct dt_error *e)
{
	struct dt_site_entry *site = site_of(s, c->pid, r, e);
	uint64_t target = 0;
	int l;

	if (!site)
		return -1;
	l = dt_encoder_local(c->chunk, site->row, dt_text_mask(site->place, site->mask), r->flags);
	if (l < 0)
		return dt_store_no_memory(s, e);
	if (site->target || site->by_target) {
		target = target_of(r);
		if (set_slot(c, r->pc, 0, tag, BY_TARGET))
			return dt_store_no_memory(s, e);
	}
	return set_slot(c, r->pc, target, tag, (uint32_t)l) ? dt_store_no_memory(s, e) : l;
}

/* Writes how many of a loss are context switches; 0: that is not known. */
static int write_lost_switches(struct dt_store *s, unsigned core, struct core *c,
			       struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[LOST_SWITCHES];

	if (!c->lost_switches && !c->lost_unknown)
		return 0;
	sqlite3_bind_int(t, 1, (int)core);
	dt_store_bind_u64(t, 2, c->lost_after);
	dt_store_bind_u64(t, 3, c->lost_unknown ? 0 : c->lost_switches);
	return dt_store_run(s, LOST_SWITCHES, e);
}

static int write_loss(struct dt_store *s, unsigned core, struct core *c, uint64_t end_ticks,
		      struct dt_error *e)
{
	sqlite3_stmt *t;

	s->losses = true;
	if (c->lost) {
		if (dt_store_begin(s, e))
			return -1;
		t = s->statement[LOSS];
		sqlite3_bind_int(t, 1, (int)core);
		dt_store_bind_u64(t, 2, c->lost_after);
		dt_store_bind_u64(t, 3, c->lost);
		dt_store_bind_u64(t, 4, c->lost_begin);
		dt_store_bind_u64(t, 5, end_ticks);
		if (dt_store_run(s, LOSS, e) || write_lost_switches(s, core, c, e))
			return -1;
	} else if (c->loss_open && end_ticks) {
		if (dt_store_begin(s, e))
			return -1;
		t = s->statement[LOSS_END];
		dt_store_bind_u64(t, 1, end_ticks);
		sqlite3_bind_int(t, 2, (int)core);
		dt_store_bind_u64(t, 3, c->lost_after);
		if (dt_store_run(s, LOSS_END, e))
			return -1;
	}
	c->loss_open = !end_ticks && (c->lost || c->loss_open);
	c->lost = c->lost_switches = 0;
	c->lost_unknown = false;
	return 0;
}

/* Writes the row of a compressed chunk. */
static int insert_chunk(struct dt_store *s, const struct dt_packed *p, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CHUNK];
	int rc;

	if (dt_store_begin(s, e))
		return -1;
	if (p->failed)
		return dt_store_no_memory(s, e);
	sqlite3_bind_int(t, 1, (int)p->core);
	dt_store_bind_u64(t, 2, p->first);
	sqlite3_bind_int64(t, 3, p->chunk->n);
	dt_store_bind_u64(t, 4, p->chunk->min_ticks);
	dt_store_bind_u64(t, 5, p->chunk->max_ticks);
	sqlite3_bind_blob64(t, 6, p->events.p, p->events.n, SQLITE_STATIC);
	sqlite3_bind_blob64(t, 7, p->vals.p, p->vals.n, SQLITE_STATIC);
	rc = dt_store_run(s, CHUNK, e);
	sqlite3_clear_bindings(t);
	return rc;
}

/* Writes the chunks that the pool has compressed, in the order in which they were handed over, as
 * far as they are ready; all: waits for all of them. */
static int collect(struct dt_store *s, bool all, struct dt_error *e)
{
	const struct dt_packed *p;

	while (s->pool && (p = dt_pool_oldest(s->pool, all))) {
		if (insert_chunk(s, p, e))
			return -1;
		dt_pool_retire(s->pool);
	}
	return 0;
}

/* Hands the open chunk of a core over to the pool, which has room or is waited for. */
static int hand_over(struct dt_store *s, unsigned core, struct core *c, struct dt_error *e)
{
	if (collect(s, false, e))
		return -1;
	if (!dt_pool_has_room(s->pool)) {
		const struct dt_packed *p = dt_pool_oldest(s->pool, true);

		if (insert_chunk(s, p, e))
			return -1;
		dt_pool_retire(s->pool);
	}
	return dt_pool_hand(s->pool, &c->chunk, core, c->written) ? dt_store_no_memory(s, e) : 0;
}

/* Compresses the open chunk of a core and writes it, or has this done by the pool. */
static int write_chunk(struct dt_store *s, unsigned core, struct core *c, struct dt_error *e)
{
	uint32_t n = c->chunk->n;

	if (!n)
		return 0;
	if (dt_store_begin(s, e))
		return -1;
	if (s->pool) {
		if (hand_over(s, core, c, e))
			return -1;
	} else {
		struct dt_packed p = {c->chunk, core, c->written, s->events, s->vals, false};
		int rc;

		p.failed = dt_encoder_finish(p.chunk, core, s->cctx, &p.events, &p.vals, NULL);
		s->events = p.events;
		s->vals = p.vals;
		rc = insert_chunk(s, &p, e);
		if (rc)
			return -1;
		dt_encoder_reset(c->chunk);
	}
	c->written += n;
	clear_slots(c);
	return 0;
}

/* Encodes as many records as the open chunk has room for, and returns how many; -1 on error. */
static ssize_t put_some(struct dt_store *s, unsigned core, struct core *c,
			const struct dt_record *r, size_t n, struct dt_error *e)
{
	struct dt_encoder *k = c->chunk;
	size_t room = DT_CHUNK_MAX - k->n;

	if (n > room)
		n = room;
	for (size_t i = 0; i < n; i++) {
		uint32_t tag = r[i].kind | (uint32_t)r[i].flags << 8;
		struct slot *slot;
		uint32_t pid;
		unsigned l;

		if (__builtin_expect(r[i].tid != c->tid || c->pids_version != s->pids_version, 0)) {
			c->tid = r[i].tid;
			c->pid = dt_pids_get(&s->pids, c->tid);
			c->pids_version = s->pids_version;
		}
		pid = site_pid(c->pid, r[i].pc);
		slot = find_slot(c, r[i].pc, 0, pid, tag);
		if (__builtin_expect(slot->local == BY_TARGET, 0) &&
		    slot->generation == c->generation)
			slot = find_slot(c, r[i].pc, target_of(&r[i]), pid, tag);
		if (__builtin_expect(slot->generation == c->generation, 1)) {
			l = slot->local;
		} else {
			int new = new_local(s, c, &r[i], tag, e);

			if (new < 0)
				return -1;
			l = (unsigned)new;
		}
		dt_encoder_put(k, &r[i], l, core);
	}
	return (ssize_t)n;
}

static void note_loss(struct core *c, uint64_t lost, uint64_t begin)
{
	uint64_t after = c->written + c->chunk->n;

	if (!c->lost || begin < c->lost_begin)
		c->lost_begin = begin;
	c->lost += lost;
	c->lost_after = after;
}

/* Returns the state of a core, which may be a new one; NULL: it cannot be written to. */
static struct core *usable(struct dt_store *s, unsigned core, struct dt_error *e)
{
	struct core *c;

	if (s->failed) {
		dt_store_fail(s, e);
		return NULL;
	}
	if (core > DT_SHARED_CORE) {
		dt_fail(e, "%s: core %u: there are at most 65536", s->path, core);
		return NULL;
	}
	c = core_of(s, core);
	if (!c)
		dt_store_no_memory(s, e);
	return c;
}

int dt_store_lose(struct dt_store *s, unsigned core, uint64_t lost, uint64_t switches,
		  uint64_t begin_ticks, struct dt_error *e)
{
	struct core *c = usable(s, core, e);

	if (!c)
		return -1;
	s->has_records |= lost != 0;
	if (lost)
		note_loss(c, lost, begin_ticks);
	if (switches == DT_NOT_KNOWN)
		c->lost_unknown |= lost != 0;
	else
		c->lost_switches += switches;
	return 0;
}

/*
 * Commits what a full chunk was added to. A loss must not be in the file before the records that
 * precede it, which another core holds: then everything is written; or, where that would have to
 * wait for the pool, nothing before the next flush.
 */
static int commit_chunk(struct dt_store *s, struct dt_error *e)
{
	if (!s->losses)
		return dt_store_commit(s, e);
	return s->pool ? 0 : dt_store_flush(s, e);
}

int dt_store_put(struct dt_store *s, unsigned core, const struct dt_record *r, size_t n,
		 uint64_t lost, struct dt_error *e)
{
	struct core *c = usable(s, core, e);

	if (!c)
		return -1;
	s->has_records |= n || lost;
	if (lost)
		note_loss(c, lost, c->last_ticks);
	c->lost_unknown |= lost != 0;
	if (!n)
		return 0;
	if ((c->lost || c->loss_open) && write_loss(s, core, c, r[0].ticks, e))
		return -1;
	while (n) {
		ssize_t done = put_some(s, core, c, r, n, e);

		if (done < 0)
			return -1;
		r += done;
		n -= (size_t)done;
		if (c->chunk->n == DT_CHUNK_MAX &&
		    (write_chunk(s, core, c, e) || commit_chunk(s, e)))
			return -1;
	}
	c->last_ticks = r[-1].ticks;
	return 0;
}

void dt_store_forget(struct dt_store *s, uint32_t pid, uint64_t low, uint64_t high)
{
	dt_sites_forget(&s->sites, pid, low, high);
	/* those of modules stay true: a row of a module is of one file at one place */
	dt_sites_forget(&s->functions, 0, low, high);
	for (unsigned i = 0; i < s->cores; i++)
		if (s->core[i])
			clear_slots(s->core[i]);
}

void dt_store_leave(struct dt_store *s, uint32_t pid)
{
	dt_sites_leave(&s->sites, pid); /* without memory they stay, which costs some */
}

int dt_store_flush(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return dt_store_fail(s, e);
	for (unsigned i = 0; i < s->cores; i++) {
		struct core *c = s->core[i];

		if (c && (write_chunk(s, i, c, e) || write_loss(s, i, c, 0, e)))
			return -1;
	}
	return collect(s, true, e) ? -1 : dt_store_commit(s, e);
}

int dt_store_threads(struct dt_store *s, unsigned threads, struct dt_error *e)
{
	if (threads < 2)
		return 0;
	s->pool = dt_pool_new(threads);
	return s->pool ? 0 : dt_store_no_memory(s, e);
}

void dt_store_help(struct dt_store *s)
{
	if (s->pool)
		dt_pool_help(s->pool, 2);
}

bool dt_store_begin_flush(struct dt_store *s)
{
	for (unsigned i = 0; s->pool && i < s->cores; i++) {
		struct core *c = s->core[i];

		if (!c || !c->chunk->n)
			continue;
		if (s->failed || collect(s, false, NULL))
			return false;
		if (!dt_pool_has_room(s->pool))
			return true;
		if (write_chunk(s, i, c, NULL))
			return false;
	}
	return false;
}

void dt_store_finish(struct dt_store *s)
{
	if (s->pool)
		dt_pool_finish(s->pool);
}

struct dt_pool_counts dt_store_pool_counts(struct dt_store *s)
{
	return s->pool ? dt_pool_count(s->pool) : (struct dt_pool_counts){0};
}
