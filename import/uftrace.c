/* SPDX-License-Identifier: MIT */
/* uftrace's records of threads, and perf's of switches beside them. */
#include "import/uftrace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/uftrace-work.h"

#define LATEST ((uint64_t)1 << 61)
#define MAGIC  5u    /* of a record */
#define DEPTHS 1024u /* of calls: a record has 10 bits for it */
#define FAR                                                                                        \
	3600000000000ull /* ns: no record is so long behind the one before it, when its place is   \
			    looked for */

enum { PLACES_RELATIVE = 1 << 5, SYMBOLS_HAVE_SIZES = 1 << 12 }; /* features */
enum { ENTRY, EXIT, LOST, EVENT };				 /* types of records */

/* A record has 16 bytes: a time, and a word. */
struct record {
	uint64_t ns, word;
};

static unsigned type_of(const struct record *r)
{
	return r->word & 3;
}

static unsigned depth_of(const struct record *r)
{
	return r->word >> 6 & 0x3ff;
}

static uint64_t address_of(const struct record *r)
{
	return r->word >> 16;
}

static bool is_record(const struct record *r)
{
	return (r->word >> 3 & 7) == MAGIC && r->ns <= LATEST;
}

static uint64_t little(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* ---- a thread's records ---- */

struct thread {
	struct uftrace *u;
	FILE *f;
	const char *name; /* of the file */
	uint32_t thread, pid;
	int64_t last;	    /* ns */
	unsigned depth;	    /* calls that are open */
	bool open[DEPTHS];  /* the call there began in the file */
	int64_t map, until; /* its address space, and to what time it is that */
	uint64_t at;
};

/* 1: read; 0: the file has ended; -1: error, or it ends within a record. */
static int read_word(struct thread *t, uint64_t *v)
{
	uint8_t b[8];
	size_t n = fread(b, 1, sizeof(b), t->f);

	if (n < sizeof(b) && ferror(t->f))
		return dt_fail(t->u->e, "%s/%s: %s", t->u->folder.path, t->name, strerror(errno));
	if (n && n < sizeof(b))
		return dt_fail(t->u->e, "%s/%s: the file ends within a record, at byte %lu",
			       t->u->folder.path, t->name, (unsigned long)t->at);
	t->at += n;
	*v = little(b, sizeof(b));
	return n ? 1 : 0;
}

static int read_record(struct thread *t, struct record *r)
{
	int rc = read_word(t, &r->ns);

	if (rc <= 0)
		return rc;
	rc = read_word(t, &r->word);
	return rc ? rc
		  : dt_fail(t->u->e, "%s/%s: the file ends within a record, at byte %lu",
			    t->u->folder.path, t->name, (unsigned long)t->at);
}

/*
 * Finds the record behind arguments, whose length is that of a specification which only uftrace
 * understands: the first two words that can be one.
 */
static int skip_arguments(struct thread *t, struct record *r, bool *have)
{
	struct record next = {.ns = 0};
	uint64_t v;
	int rc = read_word(t, &next.ns);

	while (rc > 0) {
		rc = read_word(t, &v);
		if (rc <= 0)
			break;
		next.word = v;
		if (is_record(&next) && next.ns >= r->ns && next.ns - r->ns < FAR) {
			*r = next;
			*have = true;
			return 0;
		}
		next.ns = v;
	}
	return rc;
}

static int add(struct thread *t, enum dt_import_kind kind, int64_t name)
{
	return name < 0 ? -1
			: dt_imported_add(t->u->m,
					  &(struct dt_import_item){.kind = (uint8_t)kind,
								   .ns = t->last,
								   .end = t->last,
								   .thread = t->thread,
								   .name = (uint32_t)name},
					  t->u->e);
}

/* Ends calls whose end is not in the file, as after longjmp: there are at most `depth' open. */
static int end_calls(struct thread *t, unsigned depth)
{
	while (t->depth > depth) {
		if (!t->open[--t->depth])
			continue;
		t->u->m->left[DT_LEFT_NO_END]++;
		if (add(t, DT_IMPORT_END, 0))
			return -1;
	}
	return 0;
}

static int begin_call(struct thread *t, const struct record *r)
{
	unsigned depth = depth_of(r);

	if (end_calls(t, depth))
		return -1;
	/* of calls between them nothing is in the file */
	while (t->depth < depth)
		t->open[t->depth++] = false;
	t->open[t->depth++] = true;
	if (t->last >= t->until)
		t->map = dt_uftrace_map(t->u, t->pid, t->last, &t->until);
	return add(t, DT_IMPORT_BEGIN, dt_uftrace_function(t->u, t->map, address_of(r)));
}

static int end_call(struct thread *t, const struct record *r)
{
	unsigned depth = depth_of(r);

	if (end_calls(t, depth + 1))
		return -1;
	if (t->depth <= depth || !t->open[depth]) {
		t->u->m->left[DT_LEFT_ENDS]++;
		t->depth = t->depth < depth ? t->depth : depth;
		return 0;
	}
	t->depth = depth;
	return add(t, DT_IMPORT_END, 0);
}

static int take_record(struct thread *t, const struct record *r)
{
	char text[32];

	/* time does not go back but for what has lost its way */
	t->u->m->left[DT_LEFT_BACK] += (int64_t)r->ns < t->last;
	t->last = (int64_t)r->ns < t->last ? t->last : (int64_t)r->ns;
	switch (type_of(r)) {
	case ENTRY:
		return begin_call(t, r);
	case EXIT:
		return end_call(t, r);
	case LOST:
		t->u->m->left[DT_LEFT_LOST]++;
		return 0;
	default:
		dt_format(text, sizeof(text), "event %lu", (unsigned long)address_of(r));
		return add(t, DT_IMPORT_EVENT,
			   dt_name_pair(&t->u->m->events, "uftrace", text, t->u->e));
	}
}

static int read_records(struct thread *t)
{
	struct record r;
	int rc;

	while ((rc = read_record(t, &r)) > 0) {
		bool have = true;

		while (have) {
			if (!is_record(&r))
				return dt_fail(t->u->e,
					       "%s/%s: no record ends at byte %lu, where one must",
					       t->u->folder.path, t->name, (unsigned long)t->at);
			if (take_record(t, &r))
				return -1;
			have = false;
			if (!(r.word & 4))
				break;
			t->u->m->left[DT_LEFT_ARGUMENTS]++;
			rc = skip_arguments(t, &r, &have);
			if (rc < 0)
				return -1;
		}
	}
	return rc;
}

static int read_thread(struct uftrace *u, const char *name, uint32_t tid)
{
	struct thread t = {.u = u,
			   .name = name,
			   .pid = dt_uftrace_process(u, tid),
			   .last = INT64_MIN,
			   .until = INT64_MIN};
	int64_t thread = dt_imported_thread_of(u->m, (int32_t)t.pid, (int32_t)tid, u->e);
	bool failed;
	int rc;

	if (thread < 0)
		return -1;
	t.thread = (uint32_t)thread;
	t.f = dt_folder_open(&u->folder, name, &failed);
	if (!t.f)
		return failed ? -1 : 0;
	rc = read_records(&t);
	fclose(t.f);
	return rc < 0 ? -1 : 0;
}

/* ---- perf's records: switches ---- */

enum { PERF_COMM = 3, PERF_SWITCH = 14, PERF_OUT = 1 << 13, PERF_PREEMPTED = 1 << 14 };

static int take_switch(struct uftrace *u, uint16_t core, const uint8_t *b, unsigned misc)
{
	uint32_t tid = (uint32_t)little(b + 4, 4);
	struct dt_import_switch x = {.ns = (int64_t)little(b + 8, 8), .core = core};
	int64_t thread;

	if (x.ns < 0 || x.ns > (int64_t)LATEST) {
		u->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	thread = dt_imported_thread_of(u->m, (int32_t)dt_uftrace_process(u, tid), (int32_t)tid,
				       u->e);
	if (thread < 0)
		return -1;
	if (misc & PERF_OUT) {
		x.from = (uint32_t)thread + 1;
		x.preempted = misc & PERF_PREEMPTED;
	} else {
		x.to = (uint32_t)thread + 1;
	}
	return dt_imported_switch(u->m, &x, u->e);
}

static int take_perf(struct uftrace *u, uint16_t core, const uint8_t *b, size_t n, uint32_t type,
		     unsigned misc)
{
	char name[17];
	int64_t thread;

	if (type == PERF_SWITCH && n >= 16)
		return take_switch(u, core, b, misc);
	if (type == PERF_COMM && n > 8) {
		dt_format(name, sizeof(name), "%.*s", (int)(n - 8 < 16 ? n - 8 : 16),
			  (const char *)b + 8);
		thread = dt_imported_thread_of(u->m, (int32_t)little(b, 4),
					       (int32_t)little(b + 4, 4), u->e);
		return thread < 0 || dt_imported_name_thread(u->m, (uint32_t)thread, name, u->e)
			       ? -1
			       : 0;
	}
	u->m->left[DT_LEFT_KERNEL]++;
	return 0;
}

static int read_perf(struct uftrace *u, const char *name, uint16_t core)
{
	bool failed;
	FILE *f = dt_folder_open(&u->folder, name, &failed);
	uint8_t head[8], body[65536];
	size_t n;
	int rc = 0;

	if (!f)
		return failed ? -1 : 0;
	while (!rc && (n = fread(head, 1, sizeof(head), f)) == sizeof(head)) {
		size_t size = little(head + 6, 2);

		if (size < sizeof(head) ||
		    fread(body, 1, size - sizeof(head), f) < size - sizeof(head)) {
			rc = dt_fail(u->e, "%s/%s: it is damaged", u->folder.path, name);
			break;
		}
		rc = take_perf(u, core, body, size - sizeof(head), (uint32_t)little(head, 4),
			       (unsigned)little(head + 4, 2));
	}
	if (!rc && n)
		rc = dt_fail(u->e, "%s/%s: it is damaged", u->folder.path, name);
	fclose(f);
	return rc;
}

/* ---- the folder ---- */

static int read_head(struct uftrace *u)
{
	bool failed;
	FILE *f = dt_folder_open(&u->folder, "info", &failed);
	uint8_t b[40];
	size_t n;
	uint64_t features;

	if (!f)
		return failed ? -1
			      : dt_fail(u->e, "%s: it has no info: it is no data of uftrace",
					u->folder.path);
	n = fread(b, 1, sizeof(b), f);
	fclose(f);
	if (n < sizeof(b) || memcmp(b, "Ftrace!", 8) != 0)
		return dt_fail(u->e, "%s/info: it is not of uftrace", u->folder.path);
	if (b[14] != 1 || b[15] != 2 || little(b + 8, 4) != 4)
		return dt_fail(
			u->e,
			"%s/info: only version 4 of 64 bits, with the lowest byte first, can "
			"be imported",
			u->folder.path);
	features = little(b + 16, 8);
	u->relative = features & PLACES_RELATIVE;
	u->sizes = features & SYMBOLS_HAVE_SIZES;
	return 0;
}

/* Reads a file of the folder, by its name. */
static int read_part(struct uftrace *u, const char *name)
{
	const char *digits = name + strspn(name, "0123456789");
	unsigned long number;

	if (digits > name && digits - name < 10 && !strcmp(digits, ".dat"))
		return read_thread(u, name, (uint32_t)strtoul(name, NULL, 10));
	if (!strncmp(name, "perf-cpu", 8) && strspn(name + 8, "0123456789") - 1 < 4) {
		number = strtoul(name + 8, NULL, 10);
		return number < DT_IMPORT_CORES ? read_perf(u, name, (uint16_t)number) : 0;
	}
	u->m->left[DT_LEFT_KERNEL_FILES] +=
		!strncmp(name, "kernel-cpu", 10) || !strncmp(name, "extern", 6);
	return 0;
}

/* Reads the files in the order of their names, which does not depend on the file system. */
static int read_parts(struct uftrace *u)
{
	struct dirent **entry = NULL;
	int n = scandirat(u->folder.fd, ".", &entry, NULL, alphasort), rc = 0;

	if (n < 0)
		return dt_fail(u->e, "%s: %s", u->folder.path, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = read_part(u, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

int dt_uftrace_read(struct dt_imported *m, int fd, const char *path, struct dt_error *e)
{
	struct uftrace u = {.m = m, .e = e, .folder = {.fd = fd, .path = path, .e = e}};
	int rc = read_head(&u) || dt_uftrace_tasks(&u) || read_parts(&u) ? -1 : 0;

	dt_uftrace_tasks_free(&u);
	return rc;
}
