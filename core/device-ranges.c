/* SPDX-License-Identifier: MIT */
/* Makes, changes and names ranges and points, as commands say. */
#include "core/device-ranges.h"
#include "core/address.h"
#include "core/device-words.h"
#include "core/words.h"

static char *copy_text(struct dt_device *d, const char *text)
{
	size_t n = dt_word_length(text) + 1;
	char *copy = dt_device_resize(d, NULL, n);

	for (size_t i = 0; copy && i < n; i++)
		copy[i] = text[i];
	return copy;
}

/* Switches a range on or off, and has the provider apply that. */
int dt_range_switch(struct dt_device *d, struct dt_range *r, bool on, struct dt_error *e)
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

int dt_range_unknown(const char *name, struct dt_error *e)
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

	for (; i < DT_NAME_MAX && name[i]; i++)
		r->name[i] = name[i];
	r->name[i] = '\0';
}

static int add(struct dt_device *d, struct dt_range *r, struct dt_range **added, struct dt_error *e)
{
	r->host = NULL;
	if (dt_device_room(d, e) < 0)
		return -1;
	if (d->ops->check && d->ops->check(d->ctx, r, e) < 0)
		return -1;
	*added = dt_device_insert(d, r);
	return 0;
}

/* ---- trace ... new ---- */

/* Checks that the range lies in the text and overlaps no other range. */
static int check_range(struct dt_device *d, const struct dt_range *r, struct dt_error *e)
{
	struct dt_range *other;
	uint64_t base, end;

	d->ops->text(d->ctx, &base, &end);
	if (r->start < base || r->end > end)
		return dt_fail(e, "devtrace: invalid address range: the text is from %lx to %lx",
			       (unsigned long)base, (unsigned long)end);
	other = dt_device_overlapping(d, r->start, r->end);
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

/*
 * Is the word a list of patterns? "+name" is a pattern without a wildcard, "!name" one that takes
 * away.
 */
static bool is_set(const char *word)
{
	if (word[0] == '+' || word[0] == '!' || dt_word_is_pattern(word))
		return true;
	for (; *word; word++)
		if (*word == ' ')
			return true;
	return false;
}

/* Takes one word for a function's name, a place in a source file, or a list of patterns. */
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

/* Obeys "trace ... new ...". word: what is traced (one or two words), "new", the name, options. */
int dt_range_new(struct dt_device *d, char *const *word, unsigned n, unsigned what,
		 struct dt_error *e)
{
	struct dt_range r = {.kind = DT_RANGE_ADDRESS}, *added;
	unsigned used;
	int rc;

	if (n < what + 2)
		return dt_fail(e, "devtrace: usage: trace <ktextstart> <ktextend> new <name>");
	if (dt_parse_action(&word[what + 2], n - what - 2, &r.action, NULL, &used, e) < 0)
		return -1;
	if (what + 2 + used != n)
		return dt_fail(e,
			       "devtrace: '%s' is no option of a trace; ENTRY, EXIT, COUNT, "
			       "FREEZE, UNFREEZE, LATEFREEZE n, ONLYPID pid, BASE, ADJACENT, "
			       "CONST value, PID and ARGS are",
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
		dt_device_resize(d, r.what, 0);
		return -1;
	}
	return 0;
}

/* ---- Kitrace's trace ---- */

int dt_device_answer(const struct dt_asker *who, const char *format, ...)
{
	char line[2048];
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

/*
 * Names a point after its address as it was written, with +0 appended if a range has that name.
 * Returns false if that name is taken, too.
 */
static bool point_name(struct dt_device *d, const char *text, struct dt_range *r)
{
	set_name(r, text);
	if (dt_device_find(d, r->name) && dt_word_length(text) + 2 <= DT_NAME_MAX)
		dt_format(r->name, sizeof(r->name), "%s+0", text);
	return !dt_device_find(d, r->name);
}

static void forget_point(struct dt_device *d, struct dt_range *r)
{
	if (d->ops->forget)
		d->ops->forget(d->ctx, r);
	dt_device_resize(d, r->capture, 0);
	r->capture = NULL;
}

/* Reads one group, an address and its options, and makes the point in *r without adding it. */
static int parse_point(struct dt_device *d, char *const *word, unsigned n, struct dt_range *r,
		       unsigned *used, struct dt_error *e)
{
	char capture[DT_CAPTURE_MAX + 1];
	struct dt_place place;

	*r = (struct dt_range){.kind = DT_RANGE_POINT};
	if (dt_parse_action(word + 1, n - 1, &r->action, capture, used, e) < 0 ||
	    dt_address(d, word[0], &place, "start", e) < 0)
		return -1;
	if (!(r->action.what & DT_DO_EXIT))
		r->action.what |= DT_DO_ENTRY;
	if (dt_word_length(word[0]) > DT_NAME_MAX)
		return dt_fail(e, "devtrace: '%.20s...' is too long for a name; at most %d bytes",
			       word[0], DT_NAME_MAX);
	++*used;
	r->start = r->end = place.at ? place.at : place.start;
	if (capture[0] && !(r->capture = copy_text(d, capture)))
		return dt_fail(e, "out of memory");
	if (dt_device_room(d, e) < 0 || (d->ops->check && d->ops->check(d->ctx, r, e) < 0)) {
		dt_device_resize(d, r->capture, 0);
		return -1;
	}
	if (dt_device_point(d, r->start) || point_name(d, word[0], r))
		return 0;
	forget_point(d, r);
	return dt_fail(e, "devtrace: trace with that name already exists: '%s'", word[0]);
}

/*
 * Replaces the point old by r, which is at the same address, and switches it on even if old was
 * off.
 */
static int update_point(struct dt_device *d, const struct dt_asker *who, struct dt_range *old,
			struct dt_range *r, struct dt_error *e)
{
	struct dt_range before = *old;
	int rc;

	old->action = r->action;
	old->capture = r->capture;
	old->host = r->host;
	rc = d->ops->update ? d->ops->update(d->ctx, &before, old, e)
			    : d->ops->apply(d->ctx, NULL, e);
	if (rc < 0) {
		*old = before;
		forget_point(d, r);
		return -1;
	}
	forget_point(d, &before);
	dt_device_answer(who, "kitrace: Tracepoint at %s already exists, updating", old->name);
	return dt_range_switch(d, old, true, e);
}

static int set_point(struct dt_device *d, const struct dt_asker *who, struct dt_range *r,
		     struct dt_error *e)
{
	struct dt_range *old = dt_device_point(d, r->start), *added;

	if (old)
		return update_point(d, who, old, r, e);
	r->what = copy_text(d, r->name);
	if (!r->what) {
		forget_point(d, r);
		return dt_fail(e, "out of memory");
	}
	added = dt_device_insert(d, r);
	if (dt_range_switch(d, added, true, e) < 0) {
		dt_device_remove(d, added);
		return -1;
	}
	return 0;
}

/* Checks every group before it sets the first point. */
int dt_range_points(struct dt_device *d, const struct dt_asker *who, char *const *word, unsigned n,
		    struct dt_error *e)
{
	struct dt_range r;
	unsigned used;

	for (unsigned i = 0; i < n; i += used) {
		if (parse_point(d, word + i, n - i, &r, &used, e) < 0)
			return -1;
		forget_point(d, &r);
	}
	for (unsigned i = 0; i < n; i += used)
		if (parse_point(d, word + i, n - i, &r, &used, e) < 0 ||
		    set_point(d, who, &r, e) < 0)
			return -1;
	return 0;
}

/* Finds a range or point by its name, or a point by any way to write its address. */
struct dt_range *dt_range_named(struct dt_device *d, const char *word)
{
	struct dt_range *r = dt_device_find(d, word);
	struct dt_place place;
	struct dt_range p = {.kind = DT_RANGE_POINT};

	if (r || dt_address(d, word, &place, "", NULL) < 0)
		return r;
	p.start = p.end = place.at ? place.at : place.start;
	if (d->ops->check && d->ops->check(d->ctx, &p, NULL) < 0)
		return NULL;
	if (d->ops->forget)
		d->ops->forget(d->ctx, &p);
	return dt_device_point(d, p.start);
}

int dt_range_rename(struct dt_device *d, struct dt_range *r, const char *name, struct dt_error *e)
{
	if (check_name(d, name, e) < 0)
		return -1;
	set_name(r, name);
	dt_device_hash(d);
	return 0;
}
