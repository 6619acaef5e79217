/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes options of ranges and points (Kitrace's Table II), and reads events and
 * durations.
 */
#include "core/device-words.h"
#include "core/words.h"

static const struct {
	const char *name;
	uint32_t bit;
	char value; /* its number: 0: none, d: decimal, n: as in C */
} option[] = {
	{"ENTRY", DT_DO_ENTRY, 0},	 {"EXIT", DT_DO_EXIT, 0},
	{"COUNT", DT_DO_COUNT, 0},	 {"PID", DT_DO_PID, 0},
	{"CONST", DT_DO_CONST, 'n'},	 {"FREEZE", DT_DO_FREEZE, 0},
	{"UNFREEZE", DT_DO_UNFREEZE, 0}, {"LATEFREEZE", DT_DO_LATEFREEZE, 'd'},
	{"ONLYPID", DT_DO_ONLYPID, 'd'}, {"BASE", DT_DO_BASE, 0},
	{"ADJACENT", DT_DO_ADJACENT, 0}, {"ARGS", DT_DO_ARGS, 0},
};

#define OPTIONS (sizeof(option) / sizeof(*option))

/*
 * Options that capture something at an instruction. The provider knows what the words after them
 * mean. All but the last two are Kitrace's.
 */
static const struct {
	const char *name, *needs; /* needs: the word that follows; NULL: none does */
} at_instructions[] = {
	{"PSR", NULL},		 {"ALLREGS", NULL},	 {"REG", "a register's name"},
	{"STACK", "an offset"},	 {"FRAME", "an offset"}, {"LOC", "an address"},
	{"VALUE", "a variable"}, {"TEXT", "a variable"},
};

#define CAPTURES (sizeof(at_instructions) / sizeof(*at_instructions))

static int value_of(const char *name, const char *word, char how, uint64_t *v, struct dt_error *e)
{
	if (!word)
		return dt_fail(e, "devtrace: %s needs a number behind it", name);
	if (how == 'd' ? !dt_word_decimal(word, v) : !dt_word_number(word, v))
		return dt_fail(e, "devtrace: %s needs a number behind it, not '%s'", name, word);
	return 0;
}

static int take(struct dt_action *a, unsigned i, uint64_t v, struct dt_error *e)
{
	switch (option[i].bit) {
	case DT_DO_CONST:
		a->constant = v;
		break;
	case DT_DO_LATEFREEZE:
		if (v > 1ull << 40)
			return dt_fail(e, "devtrace: LATEFREEZE %lu: at most 2^40",
				       (unsigned long)v);
		a->late = v;
		break;
	case DT_DO_ONLYPID:
		if (v == 0 || v > 0x7fffffff)
			return dt_fail(e, "devtrace: ONLYPID %lu: no process has that id",
				       (unsigned long)v);
		a->pid = (uint32_t)v;
		break;
	}
	a->what |= option[i].bit;
	return 0;
}

const char *dt_word_written(char *out, size_t size, const char *text)
{
	size_t n = 0;

	if (!dt_word_quoted(text))
		return text;
	out[n++] = '\'';
	for (; *text && n + 3 < size; text++) {
		if (*text == '\'')
			out[n++] = '\'';
		out[n++] = *text;
	}
	out[n++] = '\'';
	out[n] = '\0';
	return out;
}

/* Appends an option to capture, with the word that follows it (NULL: none does). */
static int add_capture(char *capture, const char *name, const char *behind, struct dt_error *e)
{
	char quoted[DT_CAPTURE_MAX + 1];
	size_t n = dt_word_length(capture), more;

	if (!behind) {
		more = dt_format(capture + n, DT_CAPTURE_MAX + 1 - n, "%s%s", n ? " " : "", name);
	} else if (dt_word_length(behind) > DT_CAPTURE_MAX / 2) {
		more = DT_CAPTURE_MAX + 1;
	} else {
		more = dt_format(capture + n, DT_CAPTURE_MAX + 1 - n, "%s%s %s", n ? " " : "", name,
				 dt_word_written(quoted, sizeof(quoted), behind));
	}
	if (n + more <= DT_CAPTURE_MAX)
		return 0;
	capture[n] = '\0';
	return dt_fail(e, "devtrace: what is captured at one place may take %d bytes at most",
		       DT_CAPTURE_MAX);
}

/* Takes an option that captures. Returns 1 if the word is one, 0 if it is not, -1 with an error. */
static int take_capture(char *const *word, unsigned n, char *capture, unsigned *used,
			struct dt_error *e)
{
	const char *w = word[*used];
	const char *needs, *behind;
	unsigned i = 0;

	while (i < CAPTURES && !dt_word_is(w, at_instructions[i].name))
		i++;
	if (i == CAPTURES)
		return 0;
	if (!capture)
		return dt_fail(e,
			       "devtrace: %s is for tracepoints (trace ADDRESS %s ...), not for a "
			       "range: it has many instructions",
			       w, w);
	needs = at_instructions[i].needs;
	++*used;
	behind = needs && *used < n ? word[*used] : NULL;
	if (needs && !behind)
		return dt_fail(e, "devtrace: %s needs %s behind it", w, needs);
	*used += needs != NULL;
	return add_capture(capture, w, behind, e) < 0 ? -1 : 1;
}

int dt_parse_action(char *const *word, unsigned n, struct dt_action *a, char *capture,
		    unsigned *used, struct dt_error *e)
{
	*used = 0;
	if (capture)
		capture[0] = '\0';
	while (*used < n) {
		const char *w = word[*used];
		uint64_t v = 0;
		unsigned i = 0;
		int rc = take_capture(word, n, capture, used, e);

		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		while (i < OPTIONS && !dt_word_is(w, option[i].name))
			i++;
		if (i == OPTIONS)
			break;
		++*used;
		if (option[i].value) {
			if (value_of(w, *used < n ? word[*used] : NULL, option[i].value, &v, e) < 0)
				return -1;
			++*used;
		}
		if (take(a, i, v, e) < 0)
			return -1;
	}
	if ((a->what & DT_DO_BASE) && (a->what & DT_DO_ADJACENT))
		return dt_fail(e, "devtrace: BASE and ADJACENT contradict each other");
	if ((a->what & DT_DO_FREEZE) && (a->what & DT_DO_LATEFREEZE))
		return dt_fail(e, "devtrace: FREEZE and LATEFREEZE contradict each other");
	return 0;
}

void dt_format_action(char *out, size_t size, const struct dt_action *a, uint32_t usual)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < OPTIONS && n < size; i++) {
		uint64_t v = option[i].bit == DT_DO_CONST     ? a->constant
			     : option[i].bit == DT_DO_ONLYPID ? a->pid
							      : a->late;

		if (!(a->what & option[i].bit))
			continue;
		if ((option[i].bit & usual) &&
		    (a->what & (DT_DO_ENTRY | DT_DO_EXIT)) == (usual & (DT_DO_ENTRY | DT_DO_EXIT)))
			continue;
		n += dt_format(out + n, size - n, " %s", option[i].name);
		if (n < size && option[i].value)
			n += dt_format(out + n, size - n,
				       option[i].value == 'd' ? " %lu" : " 0x%lx",
				       (unsigned long)v);
	}
}

#define DURATION_MAX (1ull << 62) /* ns: 146 years */

/* ---- events ---- */

/* Reads one part of subsystem:event:argument, up to ':' or the end. */
static bool part(const char **p, uint64_t max, uint64_t *v)
{
	const char *s = *p;

	*v = 0;
	for (; *s >= '0' && *s <= '9'; s++) {
		*v = *v * 10 + (uint64_t)(*s - '0');
		if (*v > max)
			return false;
	}
	if (s == *p || (*s && *s != ':'))
		return false;
	*p = *s ? s + 1 : s;
	return true;
}

static bool named_subsystem(struct dt_device *d, const char **p, uint64_t *v)
{
	char name[64];
	uint16_t number;
	size_t n = 0;

	while ((*p)[n] && (*p)[n] != ':')
		n++;
	if (!n || n >= sizeof(name) || !d->ops->subsystem)
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = (*p)[i];
	name[n] = '\0';
	if (d->ops->subsystem(d->ctx, name, &number) != 1)
		return false;
	*v = number;
	*p += n + ((*p)[n] == ':');
	return true;
}

int dt_parse_event(struct dt_device *d, const char *word, bool *has, uint64_t *body,
		   struct dt_error *e)
{
	uint64_t subsystem, event, argument;
	const char *p = word;

	*has = false;
	if (dt_word_is(word, "-"))
		return 0;
	*has = true;
	if (dt_word_hex(word, body))
		return 0;
	if ((part(&p, 0xffff, &subsystem) || named_subsystem(d, &p, &subsystem)) &&
	    part(&p, 0xffff, &event) && part(&p, 0xffffffff, &argument) && !*p) {
		*body = subsystem << 48 | event << 32 | argument;
		return 0;
	}
	return dt_fail(e,
		       "devtrace: '%s' is no event: a hexadecimal body, or "
		       "subsystem:event:argument (16, 16 and 32 bits)",
		       word);
}

int dt_parse_duration(const char *word, uint64_t *ns, struct dt_error *e)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} unit[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"", 0}};
	uint64_t v = 0;
	const char *p = word;

	for (; *p >= '0' && *p <= '9' && v < DURATION_MAX / 10; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	for (unsigned i = 0; p > word && i < 5; i++) {
		if (!dt_word_is(p, unit[i].name) || (!unit[i].ns && v) ||
		    (v && v > DURATION_MAX / unit[i].ns))
			continue;
		*ns = v * unit[i].ns;
		return 0;
	}
	return dt_fail(e, "devtrace: '%s' is no duration: 300ns, 10us, 1500ms, 2s; 0: no end",
		       word);
}
