/* SPDX-License-Identifier: MIT */
/* Reads the device: gives commands and comments that, written back, restore it. */
#include "core/device.h"
#include "core/device-words.h"
#include "core/words.h"

struct reading {
	void (*line)(void *ctx, const char *text, size_t n);
	void *ctx;
};

static void say(const struct reading *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct reading *r, const char *format, ...)
{
	char line[4096];
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = dt_vformat(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	r->line(r->ctx, line, n);
}

/* Writes the line of a set, whose patterns can be of any length. */
static void set_line(const struct reading *to, struct dt_device *d, const struct dt_range *r,
		     const char *name, const char *options)
{
	size_t size = 2 * dt_word_length(r->what) + 512, n;
	char *line = d->ops->resize(d->ctx, NULL, 2 * size);

	if (!line)
		return;
	n = dt_format(line, size, "trace %s new %s%s\n",
		      dt_word_written(line + size, size, r->what), name, options);
	to->line(to->ctx, line, n);
	d->ops->resize(d->ctx, line, 0);
}

static void new_line(const struct reading *to, struct dt_device *d, const struct dt_range *r)
{
	char name[2 * DT_NAME_MAX + 4], what[1100], options[256];
	const char *capture, *space;

	dt_format_action(options, sizeof(options), &r->action,
			 r->kind == DT_RANGE_POINT ? DT_DO_ENTRY : DT_DO_ENTRY | DT_DO_EXIT);
	capture = r->capture ? r->capture : "";
	space = r->capture ? " " : "";
	if (r->kind == DT_RANGE_POINT && dt_word_is(r->name, r->what)) {
		say(to, "trace %s%s%s%s", dt_word_written(what, sizeof(what), r->what), options,
		    space, capture);
	} else if (r->kind == DT_RANGE_POINT) {
		/*
		 * by its address, because what it was named after may by then be the name of
		 * another
		 */
		say(to, "trace %016lx%s%s%s", (unsigned long)r->start, options, space, capture);
		say(to, "trace %016lx rename %s", (unsigned long)r->start,
		    dt_word_written(name, sizeof(name), r->name));
	} else if (r->kind == DT_RANGE_SET) {
		set_line(to, d, r, dt_word_written(name, sizeof(name), r->name), options);
	} else {
		say(to, "trace %016lx %016lx new %s%s", (unsigned long)r->start,
		    (unsigned long)r->end, dt_word_written(name, sizeof(name), r->name), options);
	}
}

/* Writes whether a range is on, if it is not as when made: a point is made on, a range off. */
static void state_line(const struct reading *to, const struct dt_range *r)
{
	char name[2 * DT_NAME_MAX + 4];

	if (r->on != (r->kind == DT_RANGE_POINT))
		say(to, "trace %s %s", dt_word_written(name, sizeof(name), r->name),
		    r->on ? "on" : "off");
}

static void event(char *out, size_t size, bool has, uint64_t body)
{
	if (has)
		dt_format(out, size, "%016lx", (unsigned long)body);
	else
		dt_format(out, size, "-");
}

/*
 * Writes what the original devices had no line for, and only what differs from the initial state.
 */
static void more_lines(const struct reading *to, struct dt_device *d, const struct dt_counters *n)
{
	char start[24], stop[24];

	if (n->out)
		say(to, "#traceouthits %lu", (unsigned long)n->out);
	if (d->policy)
		say(to, "policy %s", dt_policy_name[d->policy]);
	if (d->mask_off)
		say(to, "subsystem all off");
	for (size_t i = 0; i < d->masks; i++)
		if (d->mask[i].on == d->mask_off)
			say(to, "subsystem %u %s", d->mask[i].number, d->mask[i].on ? "on" : "off");
	if (d->uniform)
		say(to, "uniform on");
	if (d->events)
		say(to, "events %lu", (unsigned long)d->events);
	if (d->arm.set) {
		event(start, sizeof(start), d->arm.has_start, d->arm.start);
		event(stop, sizeof(stop), d->arm.has_stop, d->arm.stop);
		say(to, "arm %s %s %luns", start, stop, (unsigned long)d->arm.duration);
	}
	if (d->ops->state)
		d->ops->state(d->ctx, to->line, to->ctx);
	if (d->active)
		say(to, d->all ? "all" : "start");
	if (n->frozen)
		say(to, "freeze");
	if (d->error[0])
		say(to, "#error %s", d->error);
}

void dt_device_read(struct dt_device *d, void (*line)(void *ctx, const char *text, size_t n),
		    void *ctx)
{
	const struct reading to = {line, ctx};
	struct dt_counters n = {0};

	d->ops->counters(d->ctx, &n);
	say(&to, "logsize %lu", (unsigned long)d->logsize);
	for (size_t i = 0; i < d->n; i++)
		new_line(&to, d, &d->range[i]);
	for (size_t i = 0; i < d->n; i++) {
		const struct dt_range *r = &d->range[i];

		d->lookups += r->on;
		if (r->kind == DT_RANGE_ADDRESS)
			say(&to, "#trace %016lx traced? %016x", (unsigned long)r->start, r->on);
	}
	for (size_t i = 0; i < d->n; i++)
		state_line(&to, &d->range[i]);
	say(&to, "#tracehits %lu, in queue %lu", (unsigned long)n.hits, (unsigned long)n.queued);
	say(&to, "#tracelog %016lx", (unsigned long)n.log);
	say(&to, "#newplfail %lu", (unsigned long)n.lost);
	say(&to, "#traceactive %d", d->active);
	say(&to, "#slothits %lu", (unsigned long)(n.in + n.out + d->lookups));
	say(&to, "#traceinhits %lu", (unsigned long)n.in);
	for (size_t i = 0; i < d->watches; i++)
		say(&to, "watch %u", d->watch[i]);
	if (!d->watches)
		say(&to, "watch 0");
	more_lines(&to, d, &n);
}
