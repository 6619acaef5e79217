/* SPDX-License-Identifier: MIT */
/* The device: its state, and the commands that change it. Reading it is in device-read.c. */
#include "core/device.h"
#include "core/address.h"
#include "core/device-words.h"
#include "core/ring.h"
#include "core/words.h"

static void *resize(struct dt_device *d, void *p, size_t bytes)
{
	return d->ops->resize(d->ctx, p, bytes);
}

void dt_device_init(struct dt_device *d, const struct dt_device_ops *ops, void *ctx)
{
	*d = (struct dt_device){.ops = ops, .ctx = ctx, .logsize = DT_LOG_DEFAULT};
}

static void free_range(struct dt_device *d, struct dt_range *r)
{
	if (d->ops->forget)
		d->ops->forget(d->ctx, r);
	resize(d, r->what, 0);
}

void dt_device_free(struct dt_device *d)
{
	for (size_t i = 0; i < d->n; i++)
		free_range(d, &d->range[i]);
	resize(d, d->range, 0);
	resize(d, d->hash, 0);
	resize(d, d->by_start, 0);
	resize(d, d->watch, 0);
	resize(d, d->mask, 0);
}

/* ---- finding ranges ---- */

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h ^ h >> 32;
}

struct dt_range *dt_device_find(struct dt_device *d, const char *name)
{
	uint32_t i = d->buckets ? d->hash[hash_of(name) & (d->buckets - 1)] : 0;

	for (; i; i = d->range[i - 1].chain)
		if (dt_word_is(d->range[i - 1].name, name))
			return &d->range[i - 1];
	return NULL;
}

static void hash_one(struct dt_device *d, uint32_t i)
{
	uint32_t *head = &d->hash[hash_of(d->range[i].name) & (d->buckets - 1)];

	d->range[i].chain = *head;
	*head = i + 1;
}

static void hash_all(struct dt_device *d)
{
	for (size_t i = 0; i < d->buckets; i++)
		d->hash[i] = 0;
	for (uint32_t i = 0; i < d->n; i++)
		hash_one(d, i);
}

/* How many address ranges begin at or below address. */
static size_t begun(const struct dt_device *d, uint64_t address)
{
	size_t low = 0, high = d->addresses;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->range[d->by_start[mid]].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Ranges are closed and never overlap, so only the last one that begins below `end' can. */
static struct dt_range *overlapping(struct dt_device *d, uint64_t start, uint64_t end)
{
	size_t i = begun(d, end);
	struct dt_range *r = i ? &d->range[d->by_start[i - 1]] : NULL;

	return r && r->end >= start ? r : NULL;
}

struct dt_range *dt_device_at(struct dt_device *d, uint64_t address)
{
	struct dt_range *r;

	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].kind == DT_RANGE_POINT && d->range[i].on &&
		    d->range[i].start == address)
			return &d->range[i];
	r = overlapping(d, address, address);
	return r && r->on ? r : NULL;
}

static struct dt_range *point_at(struct dt_device *d, uint64_t address)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].kind == DT_RANGE_POINT && d->range[i].start == address)
			return &d->range[i];
	return NULL;
}

/* ---- adding and removing ---- */

/* Room for one more range everywhere: what follows can not fail. */
static int make_room(struct dt_device *d, struct dt_error *e)
{
	size_t room = d->room ? 2 * d->room : 16, buckets = 2 * room;
	struct dt_range *range;
	uint32_t *p;

	if (d->n < d->room)
		return 0;
	range = resize(d, d->range, room * sizeof(*range));
	if (!range)
		goto fail;
	d->range = range;
	p = resize(d, d->by_start, room * sizeof(*p));
	if (!p)
		goto fail;
	d->by_start = p;
	p = resize(d, d->hash, buckets * sizeof(*p));
	if (!p)
		goto fail;
	d->hash = p;
	d->room = room;
	d->buckets = buckets;
	hash_all(d);
	return 0;
fail:
	return dt_fail(e, "out of memory");
}

static char *copy_text(struct dt_device *d, const char *text)
{
	size_t n = dt_word_length(text) + 1;
	char *copy = resize(d, NULL, n);

	for (size_t i = 0; copy && i < n; i++)
		copy[i] = text[i];
	return copy;
}

static struct dt_range *insert(struct dt_device *d, const struct dt_range *r)
{
	uint32_t i = (uint32_t)d->n++;

	d->range[i] = *r;
	hash_one(d, i);
	if (r->kind == DT_RANGE_ADDRESS) {
		size_t at = begun(d, r->start);

		for (size_t k = d->addresses; k > at; k--)
			d->by_start[k] = d->by_start[k - 1];
		d->by_start[at] = i;
		d->addresses++;
	}
	return &d->range[i];
}

static void remove_range(struct dt_device *d, struct dt_range *r)
{
	uint32_t gone = (uint32_t)(r - d->range);
	size_t n = 0;

	free_range(d, r);
	d->n--;
	for (size_t i = gone; i < d->n; i++)
		d->range[i] = d->range[i + 1];
	for (size_t i = 0; i < d->addresses; i++)
		if (d->by_start[i] != gone)
			d->by_start[n++] = d->by_start[i] - (d->by_start[i] > gone);
	d->addresses = n;
	hash_all(d);
}

/* Switches a range and has the provider follow. */
static int switch_range(struct dt_device *d, struct dt_range *r, bool on, struct dt_error *e)
{
	if (r->on == on)
		return 0;
	r->on = on;
	if (d->ops->apply(d->ctx, r, e) < 0) {
		r->on = !on;
		return -1;
	}
	return 0;
}

static int not_found(const char *name, struct dt_error *e)
{
	return dt_fail(e, "devtrace: trace not found: '%s'; reading ctl shows those there are",
		       name);
}

static int check_name(struct dt_device *d, const char *name, struct dt_error *e)
{
	if (!*name)
		return dt_fail(e, "devtrace: a trace needs a name");
	if (dt_word_length(name) > DT_NAME_MAX)
		return dt_fail(e, "devtrace: the name '%.20s...' has %zu bytes; at most %d", name,
			       dt_word_length(name), DT_NAME_MAX);
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return dt_fail(e, "devtrace: there is a control character in the name");
	if (dt_device_find(d, name))
		return dt_fail(e, "devtrace: trace with that name already exists: '%s'", name);
	return 0;
}

static void set_name(struct dt_range *r, const char *name)
{
	size_t i = 0;

	for (; name[i] && i < DT_NAME_MAX; i++)
		r->name[i] = name[i];
	r->name[i] = '\0';
}

static int add(struct dt_device *d, struct dt_range *r, struct dt_range **added, struct dt_error *e)
{
	r->host = NULL;
	if (make_room(d, e) < 0)
		return -1;
	if (d->ops->check && d->ops->check(d->ctx, r, e) < 0)
		return -1;
	*added = insert(d, r);
	return 0;
}

/* ---- trace ... new ---- */

/* It lies in the text, and in no other range's way. */
static int check_range(struct dt_device *d, const struct dt_range *r, struct dt_error *e)
{
	struct dt_range *other;
	uint64_t base, end;

	d->ops->text(d->ctx, &base, &end);
	if (r->start < base || r->end > end)
		return dt_fail(e, "devtrace: invalid address range: the text is from %lx to %lx",
			       (unsigned long)base, (unsigned long)end);
	other = overlapping(d, r->start, r->end);
	if (other)
		return dt_fail(
			e, "devtrace: given range overlaps with existing trace '%s', %lx to %lx",
			other->name, (unsigned long)other->start, (unsigned long)other->end);
	return 0;
}

static int two_addresses(struct dt_device *d, char *const *word, struct dt_range *r,
			 struct dt_error *e)
{
	struct dt_place place;

	if (dt_address(d, word[0], &place, "start", e) < 0)
		return -1;
	r->start = place.start;
	if (dt_address(d, word[1], &place, "end", e) < 0)
		return -1;
	r->end = place.start;
	if (r->start > r->end)
		return dt_fail(e, "devtrace: invalid address range: %lx is above %lx",
			       (unsigned long)r->start, (unsigned long)r->end);
	return check_range(d, r, e);
}

/* Patterns; "+name" is one that has no wildcard, "!name" one that takes away. */
static bool is_set(const char *word)
{
	if (word[0] == '+' || word[0] == '!' || dt_word_is_pattern(word))
		return true;
	for (; *word; word++)
		if (*word == ' ')
			return true;
	return false;
}

/* A function by name, a place in a file, or what a pattern means. */
static int one_word(struct dt_device *d, const char *word, struct dt_range *r, struct dt_error *e)
{
	struct dt_place place;

	if (is_set(word)) {
		r->kind = DT_RANGE_SET;
		return 0;
	}
	if (dt_address(d, word, &place, "start", e) < 0)
		return -1;
	r->start = place.start;
	r->end = place.end;
	return check_range(d, r, e);
}

/* word: what is traced (one or two words), "new", the name, options. */
static int new_range(struct dt_device *d, char *const *word, unsigned n, unsigned what,
		     struct dt_error *e)
{
	struct dt_range r = {.kind = DT_RANGE_ADDRESS}, *added;
	unsigned used;
	int rc;

	if (n < what + 2)
		return dt_fail(e, "devtrace: usage: trace <ktextstart> <ktextend> new <name>");
	if (dt_parse_action(&word[what + 2], n - what - 2, &r.action, &used, e) < 0)
		return -1;
	if (what + 2 + used != n)
		return dt_fail(e,
			       "devtrace: '%s' is no option of a trace; ENTRY, EXIT, COUNT, "
			       "FREEZE, UNFREEZE, LATEFREEZE n, ONLYPID pid, BASE, ADJACENT, "
			       "CONST value and PID are",
			       word[what + 2 + used]);
	if (!(r.action.what & (DT_DO_ENTRY | DT_DO_EXIT)))
		r.action.what |= DT_DO_ENTRY | DT_DO_EXIT;
	if (dt_device_find(d, word[0]) && what == 2)
		return dt_fail(e, "devtrace: trace already exists: '%s'", word[0]);
	if (check_name(d, word[what + 1], e) < 0)
		return -1;
	rc = what == 2 ? two_addresses(d, word, &r, e) : one_word(d, word[0], &r, e);
	if (rc < 0)
		return -1;
	if (r.kind == DT_RANGE_SET) {
		r.what = copy_text(d, word[0]);
		if (!r.what)
			return dt_fail(e, "out of memory");
	}
	set_name(&r, word[what + 1]);
	if (add(d, &r, &added, e) < 0) {
		resize(d, r.what, 0);
		return -1;
	}
	return 0;
}

/* ---- Kitrace's trace ---- */

static int answer(const struct dt_asker *who, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int answer(const struct dt_asker *who, const char *format, ...)
{
	char line[512];
	va_list ap;
	size_t n;

	if (!who || !who->answer)
		return 0;
	va_start(ap, format);
	n = dt_vformat(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	who->answer(who->ctx, line, n);
	return 0;
}

/* A point is called as its address was written; with +0 behind when a range has that name. */
static bool point_name(struct dt_device *d, const char *text, struct dt_range *r)
{
	set_name(r, text);
	if (dt_device_find(d, r->name) && dt_word_length(text) + 2 <= DT_NAME_MAX)
		dt_format(r->name, sizeof(r->name), "%s+0", text);
	return !dt_device_find(d, r->name);
}

/* One group: an address and its options. Makes the point in *r, not added yet. */
static int parse_point(struct dt_device *d, char *const *word, unsigned n, struct dt_range *r,
		       unsigned *used, struct dt_error *e)
{
	struct dt_place place;

	*r = (struct dt_range){.kind = DT_RANGE_POINT};
	if (dt_parse_action(word + 1, n - 1, &r->action, used, e) < 0 ||
	    dt_address(d, word[0], &place, "start", e) < 0)
		return -1;
	if (!(r->action.what & DT_DO_EXIT))
		r->action.what |= DT_DO_ENTRY;
	if (dt_word_length(word[0]) > DT_NAME_MAX)
		return dt_fail(e, "devtrace: '%.20s...' is too long for a name; at most %d bytes",
			       word[0], DT_NAME_MAX);
	++*used;
	r->start = r->end = place.start;
	if (make_room(d, e) < 0 || (d->ops->check && d->ops->check(d->ctx, r, e) < 0))
		return -1;
	if (point_at(d, r->start) || point_name(d, word[0], r))
		return 0;
	if (d->ops->forget)
		d->ops->forget(d->ctx, r);
	return dt_fail(e, "devtrace: trace with that name already exists: '%s'", word[0]);
}

static int set_point(struct dt_device *d, const struct dt_asker *who, struct dt_range *r,
		     struct dt_error *e)
{
	struct dt_range *old = point_at(d, r->start), *added;

	if (old) {
		struct dt_action before = old->action;

		old->action = r->action;
		if (d->ops->forget)
			d->ops->forget(d->ctx, r);
		if (d->ops->apply(d->ctx, NULL, e) < 0) {
			old->action = before;
			return -1;
		}
		answer(who, "kitrace: Tracepoint at %s already exists, updating", old->name);
		return switch_range(d, old, true, e);
	}
	r->what = copy_text(d, r->name);
	if (!r->what)
		return dt_fail(e, "out of memory");
	added = insert(d, r);
	if (switch_range(d, added, true, e) < 0) {
		remove_range(d, added);
		return -1;
	}
	return 0;
}

/* Every group is looked at before the first is set. */
static int points(struct dt_device *d, const struct dt_asker *who, char *const *word, unsigned n,
		  struct dt_error *e)
{
	struct dt_range r;
	unsigned used;

	for (unsigned i = 0; i < n; i += used) {
		if (parse_point(d, word + i, n - i, &r, &used, e) < 0)
			return -1;
		if (d->ops->forget)
			d->ops->forget(d->ctx, &r);
	}
	for (unsigned i = 0; i < n; i += used)
		if (parse_point(d, word + i, n - i, &r, &used, e) < 0 ||
		    set_point(d, who, &r, e) < 0)
			return -1;
	return 0;
}

/* A point by its name, or by any way to write its address. */
static struct dt_range *named(struct dt_device *d, const char *word)
{
	struct dt_range *r = dt_device_find(d, word);
	struct dt_place place;
	struct dt_range p = {.kind = DT_RANGE_POINT};

	if (r || dt_address(d, word, &place, "", NULL) < 0)
		return r;
	p.start = p.end = place.start;
	if (d->ops->check && d->ops->check(d->ctx, &p, NULL) < 0)
		return NULL;
	if (d->ops->forget)
		d->ops->forget(d->ctx, &p);
	return point_at(d, p.start);
}

/* ---- commands ---- */

struct command {
	struct dt_device *d;
	const struct dt_asker *who;
	char *const *word; /* behind the command itself */
	unsigned n;
	struct dt_error *e;
};

static int remove_one(struct dt_device *d, struct dt_range *r, struct dt_error *e)
{
	if (switch_range(d, r, false, e) < 0)
		return -1;
	remove_range(d, r);
	return 0;
}

static int rename_range(struct dt_device *d, struct dt_range *r, const char *name,
			struct dt_error *e)
{
	if (check_name(d, name, e) < 0)
		return -1;
	set_name(r, name);
	hash_all(d);
	return 0;
}

static int cmd_trace(struct command *c)
{
	struct dt_device *d = c->d;
	struct dt_range *r;

	if (c->n == 0)
		return dt_fail(c->e, "devtrace: usage: trace <start> <end> new <name>, "
				     "trace <pattern> new <name>, trace <name> on|off|remove, "
				     "trace <name> rename <new>, or trace <address> [OPTION]...");
	for (unsigned what = 1; what <= 2; what++)
		if (c->n > what && dt_word_is(c->word[what], "new"))
			return new_range(d, c->word, c->n, what, c->e);
	if (c->n >= 2 && (dt_word_is(c->word[1], "on") || dt_word_is(c->word[1], "off") ||
			  dt_word_is(c->word[1], "remove"))) {
		if (c->n > 2)
			return dt_fail(c->e, "devtrace: usage: trace <name> %s", c->word[1]);
		r = dt_device_find(d, c->word[0]);
		if (!r)
			return not_found(c->word[0], c->e);
		if (dt_word_is(c->word[1], "remove"))
			return remove_one(d, r, c->e);
		d->lookups += r->on;
		return switch_range(d, r, dt_word_is(c->word[1], "on"), c->e);
	}
	if (c->n >= 2 && (dt_word_is(c->word[1], "rename") || dt_word_is(c->word[1], "mv"))) {
		if (c->n != 3)
			return dt_fail(c->e, "devtrace: usage: trace <name> rename <new name>");
		r = dt_device_find(d, c->word[0]);
		return r ? rename_range(d, r, c->word[2], c->e) : not_found(c->word[0], c->e);
	}
	return points(d, c->who, c->word, c->n, c->e);
}

static int cmd_delete(struct command *c)
{
	if (c->n == 0)
		return dt_fail(c->e, "usage: delete <name or address>...");
	for (unsigned i = 0; i < c->n; i++)
		if (!named(c->d, c->word[i]))
			return not_found(c->word[i], c->e);
	for (unsigned i = 0; i < c->n; i++) {
		struct dt_range *r = named(c->d, c->word[i]);

		/* named twice in one command */
		if (r && remove_one(c->d, r, c->e) < 0)
			return -1;
	}
	return 0;
}

static int set_size(struct dt_device *d, uint64_t records, struct dt_error *e)
{
	if (d->ops->size(d->ctx, records, e) < 0)
		return -1;
	d->logsize = records;
	return 0;
}

static int cmd_size(struct command *c)
{
	uint64_t n;

	if (c->n != 1)
		return dt_fail(c->e, "devtrace: usage: size <exponent>");
	if (!dt_word_number(c->word[0], &n))
		return dt_fail(c->e,
			       "devtrace: size not in recognized format: '%s'; 13 means 2^13 "
			       "records",
			       c->word[0]);
	if (n > DT_LOG_MAX_EXPONENT)
		return dt_fail(c->e,
			       "devtrace:  can't allocate that much: 2^%lu records; at most 2^%u",
			       (unsigned long)n, DT_LOG_MAX_EXPONENT);
	return set_size(c->d, 1ull << n, c->e);
}

/* As ctl prints it: what is so already stays as it is, with its records. */
static int cmd_logsize(struct command *c)
{
	uint64_t n;

	if (c->n != 1 || !dt_word_decimal(c->word[0], &n))
		return dt_fail(c->e, "devtrace: usage: logsize <records>");
	if (!n || (n & (n - 1)) || n > 1ull << DT_LOG_MAX_EXPONENT)
		return dt_fail(c->e, "devtrace: logsize %s is no power of two from 1 to 2^%u",
			       c->word[0], DT_LOG_MAX_EXPONENT);
	return n == c->d->logsize ? 0 : set_size(c->d, n, c->e);
}

static int cmd_query(struct command *c)
{
	struct dt_place place;
	uint64_t base, end;
	bool on;

	if (c->n != 1)
		return dt_fail(c->e, "devtrace: usage: query <addr>");
	if (dt_address(c->d, c->word[0], &place, "query", c->e) < 0)
		return -1;
	c->d->ops->text(c->d->ctx, &base, &end);
	if (place.start < base || place.start > end)
		answer(c->who, "Invalid PC %lx", (unsigned long)place.start);
	on = dt_device_at(c->d, place.start) != NULL;
	c->d->lookups += on;
	return answer(c->who, on ? "Probing is enabled" : "Probing is disabled");
}

static bool watched(const struct dt_device *d, uint32_t pid)
{
	for (size_t i = 0; i < d->watches; i++)
		if (d->watch[i] == pid)
			return true;
	return !d->watches;
}

static int cmd_testtracein(struct command *c)
{
	uint64_t v[5];

	if (c->n != 5)
		return dt_fail(c->e,
			       "devtrace: usage: testtracein <pc> <arg1> <arg2> <arg3> <arg4>");
	for (unsigned i = 0; i < 5; i++) {
		struct dt_place place;

		if (i == 0) {
			if (dt_address(c->d, c->word[0], &place, "pc", c->e) < 0)
				return -1;
			v[0] = place.start;
		} else if (!dt_word_hex(c->word[i], &v[i])) {
			return dt_fail(c->e, "devtrace: '%s' is no hexadecimal number", c->word[i]);
		}
	}
	if (!dt_device_at(c->d, v[0]) || (!c->d->all && c->who && !watched(c->d, c->who->pid)))
		return 0;
	return c->d->ops->inject(c->d->ctx, c->who, v[0], v + 1, c->e);
}

static int add_watch(struct dt_device *d, uint32_t id, struct dt_error *e)
{
	size_t i = 0;

	while (i < d->watches && d->watch[i] < id)
		i++;
	if (i < d->watches && d->watch[i] == id)
		return 0;
	if (d->watches == d->watch_room) {
		size_t room = d->watch_room ? 2 * d->watch_room : 32;
		uint32_t *p = resize(d, d->watch, room * sizeof(*p));

		if (!p)
			return dt_fail(e, "out of memory");
		d->watch = p;
		d->watch_room = room;
	}
	for (size_t k = d->watches++; k > i; k--)
		d->watch[k] = d->watch[k - 1];
	d->watch[i] = id;
	return 0;
}

static void drop_watch(struct dt_device *d, uint32_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < d->watches; i++)
		if (d->watch[i] != id)
			d->watch[n++] = d->watch[i];
	d->watches = n;
}

static int cmd_watch(struct command *c)
{
	struct dt_device *d = c->d;
	size_t before = d->watches;
	uint64_t id;

	if (c->n == 0)
		return dt_fail(c->e, "devtrace: usage: watch [0|<PID>]");
	for (unsigned i = 0; i < c->n; i++) {
		if (c->word[i][0] == '-')
			return dt_fail(c->e, "PID must be greater than zero.");
		if (!dt_word_decimal(c->word[i], &id) || id > 0x7fffffff)
			return dt_fail(c->e, "devtrace: '%s' is no process or thread id",
				       c->word[i]);
		if (id == 0 && c->n > 1)
			return dt_fail(c->e,
				       "devtrace: watch 0 stands alone: it watches all again");
	}
	if (dt_word_decimal(c->word[0], &id) && id == 0) {
		d->watches = 0;
		if (d->ops->apply(d->ctx, NULL, c->e) == 0)
			return 0;
		d->watches = before;
		return -1;
	}
	for (unsigned i = 0; i < c->n; i++) {
		dt_word_decimal(c->word[i], &id);
		if (add_watch(d, (uint32_t)id, c->e) < 0)
			return -1;
	}
	if (d->watches == before || d->ops->apply(d->ctx, NULL, c->e) == 0)
		return 0;
	for (unsigned i = 0; i < c->n; i++)
		if (dt_word_decimal(c->word[i], &id))
			drop_watch(d, (uint32_t)id);
	return -1;
}

static int set_active(struct command *c, const char *name, bool active, bool all)
{
	if (c->n)
		return dt_fail(c->e, "devtrace: usage: %s", name);
	if (c->d->ops->start(c->d->ctx, active, all, c->e) < 0)
		return -1;
	c->d->active = active;
	c->d->all = all;
	return 0;
}

static int cmd_start(struct command *c)
{
	return set_active(c, "start", true, c->d->all);
}

static int cmd_stop(struct command *c)
{
	return set_active(c, "stop", false, false);
}

static int cmd_all(struct command *c)
{
	return set_active(c, "all", true, true);
}

static int cmd_freeze(struct command *c)
{
	if (c->n)
		return dt_fail(c->e, "usage: freeze");
	return c->d->ops->freeze(c->d->ctx, true, c->e);
}

static int cmd_unfreeze(struct command *c)
{
	if (c->n)
		return dt_fail(c->e, "usage: unfreeze");
	return c->d->ops->freeze(c->d->ctx, false, c->e);
}

static int cmd_reset(struct command *c)
{
	if (c->n)
		return dt_fail(c->e, "usage: reset");
	return c->d->ops->reset(c->d->ctx, c->e);
}

static bool on_or_off(const char *word, bool *on)
{
	*on = dt_word_is(word, "on");
	return *on || dt_word_is(word, "off");
}

static int cmd_uniform(struct command *c)
{
	bool on, before = c->d->uniform;

	if (c->n != 1 || !on_or_off(c->word[0], &on))
		return dt_fail(c->e, "usage: uniform on|off");
	c->d->uniform = on;
	if (on == before || c->d->ops->apply(c->d->ctx, NULL, c->e) == 0)
		return 0;
	c->d->uniform = before;
	return -1;
}

const char *const dt_policy_name[] = {"overwrite", "drop", "wait"};

static int cmd_policy(struct command *c)
{
	uint8_t before = c->d->policy, i = 0;

	while (c->n == 1 && i < 3 && !dt_word_is(c->word[0], dt_policy_name[i]))
		i++;
	if (c->n != 1 || i == 3)
		return dt_fail(c->e,
			       "usage: policy overwrite|drop|wait: what happens when the log is "
			       "full");
	c->d->policy = i;
	if (i == before || c->d->ops->apply(c->d->ctx, NULL, c->e) == 0)
		return 0;
	c->d->policy = before;
	return -1;
}

static int cmd_events(struct command *c)
{
	uint64_t n, before = c->d->events;

	if (c->n != 1 || !dt_word_decimal(c->word[0], &n))
		return dt_fail(c->e, "usage: events <n>: stop behind so many records; 0: never");
	c->d->events = n;
	if (c->d->ops->apply(c->d->ctx, NULL, c->e) == 0)
		return 0;
	c->d->events = before;
	return -1;
}

static int cmd_arm(struct command *c)
{
	struct dt_arm a = {.set = true}, before = c->d->arm;

	if (c->n < 2 || c->n > 3)
		return dt_fail(c->e,
			       "usage: arm <start event>|- <stop event>|- [<duration>]; an event "
			       "is a 64-bit hexadecimal body or subsystem:event:argument");
	if (dt_parse_event(c->d, c->word[0], &a.has_start, &a.start, c->e) < 0 ||
	    dt_parse_event(c->d, c->word[1], &a.has_stop, &a.stop, c->e) < 0 ||
	    (c->n == 3 && dt_parse_duration(c->word[2], &a.duration, c->e) < 0))
		return -1;
	c->d->arm = a;
	if (c->d->ops->apply(c->d->ctx, NULL, c->e) == 0)
		return 0;
	c->d->arm = before;
	return -1;
}

static int cmd_disarm(struct command *c)
{
	struct dt_arm before = c->d->arm;

	if (c->n)
		return dt_fail(c->e, "usage: disarm");
	c->d->arm = (struct dt_arm){0};
	if (c->d->ops->apply(c->d->ctx, NULL, c->e) == 0)
		return 0;
	c->d->arm = before;
	return -1;
}

/* ---- subsystems ---- */

bool dt_device_subsystem(const struct dt_device *d, uint16_t number)
{
	for (size_t i = 0; i < d->masks; i++)
		if (d->mask[i].number == number)
			return d->mask[i].on;
	return !d->mask_off;
}

static int set_mask(struct dt_device *d, uint16_t number, bool on, struct dt_error *e)
{
	size_t i = 0;
	void *p;

	while (i < d->masks && d->mask[i].number < number)
		i++;
	if (i < d->masks && d->mask[i].number == number) {
		d->mask[i].on = on;
		return 0;
	}
	p = resize(d, d->mask, (d->masks + 1) * sizeof(*d->mask));
	if (!p)
		return dt_fail(e, "out of memory");
	d->mask = p;
	for (size_t k = d->masks++; k > i; k--)
		d->mask[k] = d->mask[k - 1];
	d->mask[i].number = number;
	d->mask[i].on = on;
	return 0;
}

static int cmd_subsystem(struct command *c)
{
	uint64_t number = 0;
	uint16_t found;
	bool on;

	if (c->n != 2 || !on_or_off(c->word[1], &on))
		return dt_fail(c->e, "usage: subsystem <name>|<number>|all on|off");
	if (dt_word_is(c->word[0], "all")) {
		c->d->mask_off = !on;
		c->d->masks = 0;
	} else {
		if (dt_word_number(c->word[0], &number)) {
			if (number > 0xffff)
				return dt_fail(c->e, "subsystem %s: there are 65536, from 0",
					       c->word[0]);
		} else if (c->d->ops->subsystem &&
			   c->d->ops->subsystem(c->d->ctx, c->word[0], &found) == 1) {
			number = found;
		} else {
			return dt_fail(c->e,
				       "subsystem '%s': there is none of that name; 'devtrace "
				       "list' shows them",
				       c->word[0]);
		}
		if (set_mask(c->d, (uint16_t)number, on, c->e) < 0)
			return -1;
	}
	return c->d->ops->apply(c->d->ctx, NULL, c->e);
}

/* ---- answers ---- */

static int cmd_list(struct command *c)
{
	if (c->n)
		return dt_fail(c->e, "usage: list");
	for (size_t i = 0; i < c->d->n; i++) {
		const struct dt_range *r = &c->d->range[i];
		char options[256];

		if (r->kind != DT_RANGE_POINT)
			continue;
		dt_format_action(options, sizeof(options), &r->action, DT_DO_ENTRY);
		answer(c->who, options[0] ? "%-24s%s" : "%s%s", r->name, options);
	}
	return 0;
}

static int cmd_status(struct command *c)
{
	struct dt_counters n = {0};
	size_t on = 0;

	if (c->n)
		return dt_fail(c->e, "usage: status");
	c->d->ops->counters(c->d->ctx, &n);
	for (size_t i = 0; i < c->d->n; i++)
		on += c->d->range[i].on;
	answer(c->who, "%s%s%s",
	       !c->d->active ? "stopped"
	       : n.frozen    ? "frozen"
			     : "recording",
	       n.armed ? ", armed" : "", c->d->all ? ", all contexts" : "");
	answer(c->who, "%zu ranges and points, %zu of them on", c->d->n, on);
	return answer(c->who, "%lu records, %lu not read, %lu lost; the log holds %lu",
		      (unsigned long)n.hits, (unsigned long)n.queued, (unsigned long)n.lost,
		      (unsigned long)c->d->logsize);
}

static int cmd_help(struct command *c);

static const struct {
	const char *name;
	int (*run)(struct command *c);
	const char *help;
} command[] = {
	{"trace", cmd_trace,
	 "trace <start> <end> new <name> [OPTION]...; <function>, <pattern>, "
	 "<file>:<line> instead of addresses"},
	{"trace", cmd_trace, "trace <name> on|off|remove; trace <name> rename <new>"},
	{"trace", cmd_trace, "trace <address> [OPTION]... [<address> [OPTION]...]...: tracepoints"},
	{"delete", cmd_delete, "delete <name or address>..."},
	{"list", cmd_list, "the tracepoints with their options"},
	{"status", cmd_status, "how it stands"},
	{"query", cmd_query, "query <address>: is it traced?"},
	{"start", cmd_start, "begin recording"},
	{"stop", cmd_stop, "stop it"},
	{"all", cmd_all, "begin recording in every context, whatever is watched"},
	{"freeze", cmd_freeze, "stop all recording, leave everything else"},
	{"unfreeze", cmd_unfreeze, "go on"},
	{"watch", cmd_watch, "watch <process or thread>...: only these; watch 0: all"},
	{"size", cmd_size, "size <n>: the log holds 2^n records; those in it are dropped"},
	{"logsize", cmd_logsize, "logsize <records>: as ctl shows it"},
	{"policy", cmd_policy, "policy overwrite|drop|wait: when the log is full"},
	{"reset", cmd_reset, "forget all records and counts"},
	{"arm", cmd_arm, "arm <start event>|- <stop event>|- [<duration>]"},
	{"disarm", cmd_disarm, "forget the triggers"},
	{"events", cmd_events, "events <n>: stop behind n records"},
	{"subsystem", cmd_subsystem, "subsystem <name>|<number>|all on|off"},
	{"uniform", cmd_uniform, "uniform on|off: every site is on, traced or not"},
	{"testtracein", cmd_testtracein,
	 "testtracein <pc> <arg1> <arg2> <arg3> <arg4>: an entry by "
	 "hand"},
	{"help", cmd_help, "this"},
};

#define COMMANDS (sizeof(command) / sizeof(*command))

static int cmd_help(struct command *c)
{
	for (size_t i = 0; i < COMMANDS; i++)
		answer(c->who, "%-12s%s", command[i].name, command[i].help);
	if (c->d->ops->other_help && c->who && c->who->answer)
		c->who->answer(c->who->ctx, c->d->ops->other_help,
			       dt_word_length(c->d->ops->other_help));
	return 0;
}

static int obey(struct dt_device *d, const struct dt_asker *who, char *line, size_t n,
		struct dt_error *e)
{
	char *word[DT_WORDS_MAX];
	struct dt_words w = {.word = word, .room = DT_WORDS_MAX};
	struct command c;
	int rc;

	if (dt_words_split(&w, line, n, e) < 0)
		return -1;
	if (w.n == 0 || w.word[0][0] == '#')
		return 0;
	c = (struct command){d, who, w.word + 1, w.n - 1, e};
	for (size_t i = 0; i < COMMANDS; i++)
		if (dt_word_is(w.word[0], command[i].name))
			return command[i].run(&c);
	rc = d->ops->other ? d->ops->other(d->ctx, who, w.word, w.n, e) : 1;
	if (rc <= 0)
		return rc;
	return dt_fail(e, "devtrace: unknown command '%.40s'; help lists them", w.word[0]);
}

int dt_device_write(struct dt_device *d, const struct dt_asker *who, const char *text, size_t n,
		    struct dt_error *e)
{
	size_t lines = 0, at = 0;
	struct dt_error own;
	char *line = NULL;
	int rc = 0;

	if (!e)
		e = &own;
	while (n && !text[n - 1]) /* as programs write strings */
		n--;
	if (!n)
		rc = dt_fail(e, "devtrace: an empty command; help lists those there are");
	for (size_t i = 0; i + 1 < n; i++)
		lines += text[i] == '\n';
	line = rc == 0 ? resize(d, NULL, n + 1) : NULL;
	if (rc == 0 && !line)
		rc = dt_fail(e, "out of memory");
	for (size_t number = 1; rc == 0 && at < n; number++) {
		size_t length = 0;

		for (; at + length < n && text[at + length] != '\n'; length++)
			line[length] = text[at + length];
		rc = obey(d, who, line, length, e);
		if (rc < 0 && lines) {
			char why[sizeof(e->text)];

			dt_format(why, sizeof(why), "%s", e->text);
			dt_fail(e, "line %zu: %s", number, why);
		}
		at += length + 1;
	}
	resize(d, line, 0);
	dt_format(d->error, sizeof(d->error), "%s", rc < 0 ? e->text : "");
	return rc;
}

bool dt_device_careful(const struct dt_device *d)
{
	if (d->uniform || d->arm.set || d->events)
		return true;
	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].on && (d->range[i].action.what & DT_DO_CAREFUL))
			return true;
	return false;
}
