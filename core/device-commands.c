/* SPDX-License-Identifier: MIT */
/* Obeys the commands of the device language. */
#include "core/address.h"
#include "core/device-ranges.h"
#include "core/device-words.h"
#include "core/ring.h"
#include "core/words.h"

/* ---- commands ---- */

struct command {
	struct dt_device *d;
	const struct dt_asker *who;
	char *const *word; /* the words after the command itself */
	unsigned n;
	struct dt_error *e;
};

static int remove_one(struct dt_device *d, struct dt_range *r, struct dt_error *e)
{
	if (dt_range_switch(d, r, false, e) < 0)
		return -1;
	dt_device_remove(d, r);
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
			return dt_range_new(d, c->word, c->n, what, c->e);
	if (c->n >= 2 && (dt_word_is(c->word[1], "on") || dt_word_is(c->word[1], "off") ||
			  dt_word_is(c->word[1], "remove"))) {
		if (c->n > 2)
			return dt_fail(c->e, "devtrace: usage: trace <name> %s", c->word[1]);
		r = dt_device_find(d, c->word[0]);
		if (!r)
			return dt_range_unknown(c->word[0], c->e);
		if (dt_word_is(c->word[1], "remove"))
			return remove_one(d, r, c->e);
		d->lookups += r->on;
		return dt_range_switch(d, r, dt_word_is(c->word[1], "on"), c->e);
	}
	if (c->n >= 2 && (dt_word_is(c->word[1], "rename") || dt_word_is(c->word[1], "mv"))) {
		if (c->n != 3)
			return dt_fail(c->e, "devtrace: usage: trace <name> rename <new name>");
		r = dt_device_find(d, c->word[0]);
		return r ? dt_range_rename(d, r, c->word[2], c->e)
			 : dt_range_unknown(c->word[0], c->e);
	}
	return dt_range_points(d, c->who, c->word, c->n, c->e);
}

static int cmd_delete(struct command *c)
{
	if (c->n == 0)
		return dt_fail(c->e, "usage: delete <name or address>...");
	for (unsigned i = 0; i < c->n; i++)
		if (!dt_range_named(c->d, c->word[i]))
			return dt_range_unknown(c->word[i], c->e);
	for (unsigned i = 0; i < c->n; i++) {
		struct dt_range *r = dt_range_named(c->d, c->word[i]);

		/* it is gone if the command names it twice */
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

/* Obeys the line that ctl prints. If the size is the present one, the log keeps its records. */
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
		dt_device_answer(c->who, "Invalid PC %lx", (unsigned long)place.start);
	on = dt_device_at(c->d, place.start) != NULL;
	c->d->lookups += on;
	return dt_device_answer(c->who, on ? "Probing is enabled" : "Probing is disabled");
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

/* Returns 1 if it was not watched before, 0 if it was. */
static int add_watch(struct dt_device *d, uint32_t id, struct dt_error *e)
{
	size_t i = 0;

	while (i < d->watches && d->watch[i] < id)
		i++;
	if (i < d->watches && d->watch[i] == id)
		return 0;
	if (d->watches == d->watch_room) {
		size_t room = d->watch_room ? 2 * d->watch_room : 32;
		uint32_t *p = dt_device_resize(d, d->watch, room * sizeof(*p));

		if (!p)
			return dt_fail(e, "out of memory");
		d->watch = p;
		d->watch_room = room;
	}
	for (size_t k = d->watches++; k > i; k--)
		d->watch[k] = d->watch[k - 1];
	d->watch[i] = id;
	return 1;
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
	bool added[DT_WORDS_MAX] = {false};
	int rc = 0;
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
	for (unsigned i = 0; i < c->n && rc >= 0; i++) {
		dt_word_decimal(c->word[i], &id);
		rc = add_watch(d, (uint32_t)id, c->e);
		added[i] = rc > 0;
	}
	if (rc >= 0 && (d->watches == before || d->ops->apply(d->ctx, NULL, c->e) == 0))
		return 0;
	/* those that were watched before still are */
	for (unsigned i = 0; i < c->n; i++)
		if (added[i] && dt_word_decimal(c->word[i], &id))
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
	p = dt_device_resize(d, d->mask, (d->masks + 1) * sizeof(*d->mask));
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
		dt_device_answer(c->who, options[0] || r->capture ? "%-24s%s%s%s" : "%s%s%s%s",
				 r->name, options, r->capture ? " " : "",
				 r->capture ? r->capture : "");
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
	dt_device_answer(c->who, "%s%s%s",
			 !c->d->active ? "stopped"
			 : n.frozen    ? "frozen"
				       : "recording",
			 n.armed ? ", armed" : "", c->d->all ? ", all contexts" : "");
	dt_device_answer(c->who, "%zu ranges and points, %zu of them on", c->d->n, on);
	return dt_device_answer(c->who, "%lu records, %lu not read, %lu lost; the log holds %lu",
				(unsigned long)n.hits, (unsigned long)n.queued,
				(unsigned long)n.lost, (unsigned long)c->d->logsize);
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
		dt_device_answer(c->who, "%-12s%s", command[i].name, command[i].help);
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
	while (n && !text[n - 1]) /* programs write strings with their NUL */
		n--;
	if (!n)
		rc = dt_fail(e, "devtrace: an empty command; help lists those there are");
	for (size_t i = 0; i + 1 < n; i++)
		lines += text[i] == '\n';
	line = rc == 0 ? dt_device_resize(d, NULL, n + 1) : NULL;
	if (rc == 0 && !line)
		rc = dt_fail(e, "out of memory");
	for (size_t number = 1; rc == 0 && at < n; number++) {
		size_t length = 0;

		if (d->ops->interrupted && d->ops->interrupted(d->ctx)) {
			rc = dt_fail(e, "devtrace: interrupted before line %zu", number);
			break;
		}
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
	dt_device_resize(d, line, 0);
	dt_format(d->error, sizeof(d->error), "%s", rc < 0 ? e->text : "");
	return rc;
}
