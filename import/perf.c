/* SPDX-License-Identifier: MIT */
#include "import/perf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/keys.h"

#define LATEST	((int64_t)1 << 61)
#define LARGEST (1 << 30) /* numbers of threads are below it */

/* A line that begins an event. */
struct head {
	const char *name; /* of the program, length bytes */
	size_t length;
	int32_t pid, tid; /* pid -1: not told */
	int core;	  /* -1: not told */
	int64_t ns;
	const char *event; /* event_length bytes */
	size_t event_length;
	const char *rest; /* behind the event's ':' */
};

struct known {
	int32_t tid, pid; /* pid 0: not told */
};

struct perf {
	struct dt_imported *m;
	struct dt_error *e;
	struct dt_key_list tids;
	struct known *known; /* of each of `tids' */
	uint32_t known_size;
	bool open; /* a sample whose stack may follow */
	struct dt_import_item sample;
	char *event; /* of that sample */
};

static const char *blanks(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

/* Reads digits; false: there are none, or the number is too large. */
static bool number(const char **s, int64_t *v)
{
	const char *begin = *s;

	for (*v = 0; isdigit((unsigned char)**s); (*s)++) {
		if (*v > LATEST / 10)
			return false;
		*v = *v * 10 + (**s - '0');
	}
	return *s > begin;
}

/* Reads "SECONDS.DECIMALS:", with up to nine of these. */
static bool time_at(const char **s, int64_t *ns)
{
	int64_t seconds, part = 0;
	int decimals = 0;

	if (!number(s, &seconds) || *(*s)++ != '.' || seconds > LATEST / 1000000000)
		return false;
	for (; isdigit((unsigned char)**s) && decimals < 9; (*s)++, decimals++)
		part = part * 10 + (**s - '0');
	if (!decimals || **s != ':')
		return false;
	for (; decimals < 9; decimals++)
		part *= 10;
	(*s)++;
	*ns = seconds * 1000000000 + part;
	return true;
}

/* Reads the number of a process or thread; of one that has ended meanwhile it is -1. */
static bool id(const char **s, int32_t *v)
{
	int64_t n = -1;

	if (!strncmp(*s, "-1", 2))
		*s += 2;
	else if (!number(s, &n) || n >= LARGEST)
		return false;
	*v = (int32_t)n;
	return true;
}

/* Reads what follows a program's name: "[PID/]TID [[CORE]] [FLAGS] TIME: [PERIOD] EVENT:". */
static bool fields(const char *s, struct head *h)
{
	int64_t v, core = -1;

	if (!id(&s, &h->tid))
		return false;
	h->pid = -1;
	if (*s == '/') {
		h->pid = h->tid;
		s++;
		if (!id(&s, &h->tid))
			return false;
	}
	s = blanks(s);
	if (*s == '[') {
		s++;
		if (!number(&s, &core) || *s != ']' || core >= LARGEST)
			return false;
		s = blanks(s + 1);
	}
	h->core = (int)core;
	/* flags of interrupts and preemption have no space and end before the time */
	if (!isdigit((unsigned char)*s) || s[strcspn(s, " :")] != ':')
		s = blanks(s + strcspn(s, " "));
	if (!time_at(&s, &h->ns))
		return false;
	s = blanks(s);
	h->event = s;
	if (number(&s, &v) && *s == ' ')
		h->event = blanks(s);
	/* a name may have ':' in it, but the last one is followed by a blank */
	s = h->event;
	do
		s += strcspn(s, ": ") + 1;
	while (s[-1] == ':' && *s && *s != ' ');
	if (s[-1] != ':')
		return false;
	h->event_length = (size_t)(s - h->event - 1);
	h->rest = blanks(s);
	return h->event_length > 0;
}

/* A program's name may have blanks and numbers in it: the first number behind which all is right
 * ends it. */
static bool head_of(const char *line, struct head *h)
{
	const char *s = blanks(line);

	h->name = s;
	while (*(s += strcspn(s, " "))) {
		h->length = (size_t)(s - h->name);
		s = blanks(s);
		if (h->length && (isdigit((unsigned char)*s) || *s == '-') && fields(s, h))
			return true;
	}
	return false;
}

static bool is_stack(const char *line)
{
	return *line == '\t';
}

bool dt_perf_is(const char *text)
{
	char line[512];
	struct head h;

	if (!strncmp(text, "# ========\n# captured on", 24))
		return true;
	while (*text == '\n' || *text == '#')
		text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
	dt_format(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return head_of(line, &h);
}

/* Returns the number of a thread in `tids'. */
static int64_t known_of(struct perf *k, int32_t tid)
{
	int64_t i = dt_key_number(&k->tids, (uint64_t)tid, 0, k->e);
	struct known *p = i < 0 ? NULL : dt_key_room(k->known, &k->known_size, i, sizeof(*p), k->e);

	if (!p)
		return -1;
	k->known = p;
	p[i].tid = tid;
	return i;
}

/* A thread whose process is not told is taken for one of its own. */
static int64_t thread_of(struct perf *k, int64_t known)
{
	const struct known *t = &k->known[known];

	return dt_imported_thread_of(k->m, t->pid ? t->pid : t->tid, t->tid, k->e);
}

static int name_thread(struct perf *k, int64_t thread, const char *name, size_t n)
{
	char text[64];

	dt_format(text, sizeof(text), "%.*s", (int)(n < 63 ? n : 63), name);
	return thread < 0 ? -1 : dt_imported_name_thread(k->m, (uint32_t)thread, text, k->e);
}

/* ---- switches ---- */

/* Finds "WORD=NUMBER". */
static bool value_of(const char *s, const char *word, int64_t *v)
{
	s = strstr(s, word);
	if (!s)
		return false;
	s += strlen(word);
	return number(&s, v) && *v < LARGEST;
}

/* Of "NAME:NUMBER [PRIORITY]" in [s, end); false: it is none. *behind: what follows it. */
static bool short_thread(const char *s, const char *end, int64_t *tid, const char **behind)
{
	const char *open = end;

	while (open > s && *open != '[')
		open--;
	if (open - 1 <= s)
		return false;
	*behind = open;
	for (open--; open > s && isdigit((unsigned char)open[-1]); open--)
		;
	if (open <= s || open[-1] != ':')
		return false;
	return number(&open, tid) && *tid < LARGEST;
}

/* Reads who leaves and who comes, in either of the forms that perf writes. */
static bool switched(const char *s, int64_t *from, int64_t *to, bool *preempted)
{
	const char *arrow = strstr(s, " ==> "), *state;

	if (!arrow)
		arrow = strstr(s, " next_comm=");
	if (value_of(s, "prev_pid=", from) && value_of(s, "next_pid=", to)) {
		state = strstr(s, "prev_state=");
		*preempted = state && state[11] == 'R';
		return true;
	}
	if (!arrow || !short_thread(s, arrow, from, &state) ||
	    !short_thread(arrow + 5, arrow + 5 + strlen(arrow + 5), to, &arrow))
		return false;
	state += strcspn(state, "]");
	*preempted = *state && state[1] == ' ' && state[2] == 'R';
	return true;
}

/* Notes a switch, for now with numbers of `tids' + 1 as its threads. */
static int take_switch(struct perf *k, const struct head *h)
{
	struct dt_import_switch x = {.ns = h->ns};
	int64_t from, to;

	if (h->core < 0 || h->core >= (int)DT_IMPORT_CORES ||
	    !switched(h->rest, &from, &to, &x.preempted)) {
		k->m->left[DT_LEFT_SWITCHES]++;
		return 0;
	}
	x.core = (uint16_t)h->core;
	x.preempted &= from != 0;
	from = from ? known_of(k, (int32_t)from) : -1;
	to = to ? known_of(k, (int32_t)to) : -1;
	if ((x.from = (uint32_t)(from + 1)) > k->tids.n || (x.to = (uint32_t)(to + 1)) > k->tids.n)
		return -1;
	return dt_imported_switch(k->m, &x, k->e);
}

static int place_switches(struct perf *k)
{
	for (size_t i = 0; i < k->m->changes; i++) {
		struct dt_import_switch *x = &k->m->change[i];
		int64_t from = x->from ? thread_of(k, x->from - 1) + 1 : 0;
		int64_t to = x->to ? thread_of(k, x->to - 1) + 1 : 0;

		/* 0 of one that is: it has failed */
		if ((x->from && !from) || (x->to && !to))
			return -1;
		x->from = (uint32_t)from;
		x->to = (uint32_t)to;
	}
	return 0;
}

/* ---- samples and other events ---- */

/* Adds the sample whose stack is over, or has begun: its innermost function is known by then. */
static int end_sample(struct perf *k, const char *function)
{
	int64_t name;

	if (!k->open)
		return 0;
	k->open = false;
	name = dt_name_pair(&k->m->events, k->event, function, k->e);
	k->sample.name = (uint32_t)name;
	return name < 0 ? -1 : dt_imported_add(k->m, &k->sample, k->e);
}

/* Of "ADDRESS NAME+0xOFFSET (FILE)" the name. */
static int take_frame(struct perf *k, char *line)
{
	char *s = line + strspn(line, " \t"), *end;

	if (!k->open) {
		k->m->left[DT_LEFT_FRAMES]++;
		return 0;
	}
	s += strspn(s, "0123456789abcdef");
	s += strspn(s, " ");
	end = strstr(s, " (");
	if (end)
		*end = '\0';
	end = strrchr(s, '+');
	if (end && !strncmp(end, "+0x", 3))
		*end = '\0';
	return end_sample(k, *s ? s : "(not known)");
}

static int take_event(struct perf *k, const struct head *h, int64_t thread)
{
	char *colon;

	free(k->event);
	k->event = strndup(h->event, h->event_length);
	if (!k->event)
		return dt_fail(k->e, "out of memory");
	k->sample = (struct dt_import_item){
		.kind = DT_IMPORT_EVENT, .ns = h->ns, .end = h->ns, .thread = (uint32_t)thread};
	k->open = true;
	if (isxdigit((unsigned char)*h->rest) && strstr(h->rest, " (")) {
		/* the place is on the line itself */
		char *copy = strdup(h->rest);
		int rc = copy ? take_frame(k, copy) : dt_fail(k->e, "out of memory");

		free(copy);
		return rc;
	}
	colon = strchr(k->event, ':');
	if (!*h->rest || !colon)
		return 0;
	/* a tracepoint: its name is known, what it says is not kept */
	k->m->left[DT_LEFT_ARGUMENTS]++;
	*colon = '\0';
	return end_sample(k, colon + 1);
}

static int take_line(struct perf *k, char *line)
{
	struct head h;
	int64_t known, thread;

	if (is_stack(line))
		return take_frame(k, line);
	if (!*line || *line == '#')
		return 0;
	if (!head_of(line, &h)) {
		k->m->left[DT_LEFT_LINES]++;
		return 0;
	}
	if (end_sample(k, "(no stack)"))
		return -1;
	known = h.tid > 0 ? known_of(k, h.tid) : 0;
	if (known < 0)
		return -1;
	if (h.tid > 0 && h.pid > 0)
		k->known[known].pid = h.pid;
	if (h.event_length == 18 && !strncmp(h.event, "sched:sched_switch", 18))
		return take_switch(k, &h);
	thread = h.tid > 0 ? thread_of(k, known)
			   : dt_imported_thread_of(k->m, h.pid > 0 ? h.pid : 0, h.tid, k->e);
	return thread < 0 || name_thread(k, thread, h.name, h.length) || take_event(k, &h, thread)
		       ? -1
		       : 0;
}

int dt_perf_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e)
{
	struct perf k = {.m = m, .e = e};
	char *line = NULL;
	size_t size = 0;
	int rc = 0;

	while (!rc && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		rc = take_line(&k, line);
	}
	if (!rc && ferror(f))
		rc = dt_fail(e, "%s: %s", path, strerror(errno));
	if (!rc)
		rc = end_sample(&k, "(no stack)") || place_switches(&k) ? -1 : 0;
	dt_key_list_free(&k.tids);
	free(k.known);
	free(k.event);
	free(line);
	return rc;
}
