/* SPDX-License-Identifier: MIT */
/* Finds the kernel's own tracepoints, and reads what fields they have. */
#include "session/kernel-tracepoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/choice.h"
#include "session/kernel-constants.h"
#include "session/kernel-words.h"
#include "session/options.h"
#include "symbols/pattern.h"

#define FORMAT_MOST (256 << 10)

/* ---- tracefs ---- */

/* Mounts tracefs where nobody else sees it; returns its descriptor, or -1. */
static int mount_apart(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd = -1;

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	close(fs);
	return fd;
}

/* Opens the folder of tracepoints; -1 and errno. */
static int open_events(void)
{
	static const char *const where[] = {"/sys/kernel/tracing/events",
					    "/sys/kernel/debug/tracing/events"};
	int fd = -1, root;

	for (size_t i = 0; fd < 0 && i < sizeof(where) / sizeof(*where); i++)
		fd = open(where[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	root = mount_apart();
	if (root < 0)
		return -1;
	fd = openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(root);
	return fd;
}

/* Reads a file, as text that has to be freed; NULL: it can not be read, or is too long. */
static char *read_text(int folder, const char *path)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(FORMAT_MOST);
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < FORMAT_MOST && (got = read(fd, text + n, FORMAT_MOST - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (text && got == 0 && n < FORMAT_MOST) {
		text[n] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

/* ---- fields ---- */

/* What a line says: "field:char prev_comm[16];	offset:8;	size:16;	signed:0;" */
struct line {
	char type[128], name[48];
	unsigned offset, size;
	int is_signed;
	bool array;
};

static const char *number(const char *p, const char *name, unsigned *out)
{
	char *end;

	p += strspn(p, "; \t");
	if (strncmp(p, name, strlen(name)) != 0)
		return NULL;
	p += strlen(name);
	*out = (unsigned)strtoul(p, &end, 10);
	return end == p ? NULL : end;
}

static bool read_line(const char *p, struct line *l)
{
	size_t n = strcspn(p, ";\n"), name, type, brackets;
	unsigned is_signed;

	if (p[n] != ';')
		return false;
	/* the last word, without what is in brackets behind it */
	for (brackets = n; brackets && p[n - 1] == ']' && p[brackets - 1] != '[';)
		brackets--;
	if (!brackets)
		return false;
	l->array = brackets != n;
	name = l->array ? brackets - 1 : n;
	type = name;
	while (type && p[type - 1] != ' ' && p[type - 1] != '*')
		type--;
	if (type == name || name - type >= sizeof(l->name) || type >= sizeof(l->type))
		return false;
	dt_format(l->name, sizeof(l->name), "%.*s", (int)(name - type), p + type);
	dt_format(l->type, sizeof(l->type), "%.*s", (int)type, p);
	l->array = l->array || strncmp(p, "__", 2) == 0;
	p = number(p + n, "offset:", &l->offset);
	p = p ? number(p, "size:", &l->size) : NULL;
	p = p ? number(p, "signed:", &is_signed) : NULL;
	l->is_signed = p && is_signed;
	return p && l->offset < 8192 && l->size < 8192;
}

/* Does the type mean characters? */
static bool is_text(const char *type)
{
	return strstr(type, "char") && !strstr(type, "unsigned") && !strchr(type, '*');
}

/* Adds a field; the values are in front of the texts, which are taken afterwards. */
static bool add(struct dt_kernel_tracepoint *p, const struct line *l, uint8_t at)
{
	unsigned i = p->values + p->texts;
	struct dt_kernel_field *f = &p->field[i];
	bool wide = l->array && at == DT_BPF_FIELD_HERE;

	if (i == DT_BPF_FIELDS || (at != DT_BPF_FIELD_HERE && l->size != 4))
		return false;
	*f = (struct dt_kernel_field){
		.address = strchr(l->type, '*'),
		.order = (uint8_t)i,
		.how = {.offset = (uint16_t)l->offset, .size = (uint16_t)l->size, .at = at}};
	strcpy(f->name, l->name);
	f->how.is = wide || at != DT_BPF_FIELD_HERE
			    ? (is_text(l->type) ? DT_BPF_FIELD_TEXT : DT_BPF_FIELD_BYTES)
		    : l->is_signed ? DT_BPF_FIELD_SIGNED
				   : DT_BPF_FIELD_UNSIGNED;
	if (f->how.is < DT_BPF_FIELD_TEXT)
		p->values++;
	else
		p->texts++;
	if (p->bytes < l->offset + l->size)
		p->bytes = l->offset + l->size;
	return true;
}

/* An array of a few numbers is as many values: "args0", "args1". */
static bool add_numbers(struct dt_kernel_tracepoint *p, const struct line *l)
{
	struct line one = *l;
	unsigned n = l->size / 8;

	one.array = false;
	one.size = 8;
	for (unsigned i = 0; i < n; i++, one.offset += 8) {
		dt_format(one.name, sizeof(one.name), "%.40s%u", l->name, i);
		if (!add(p, &one, DT_BPF_FIELD_HERE))
			return false;
	}
	return true;
}

static bool add_line(struct dt_kernel_tracepoint *p, const struct line *l)
{
	bool words = l->array && strstr(l->type, "long") && l->size % 8 == 0 && l->size <= 64;

	if (strncmp(l->type, "__data_loc", 10) == 0)
		return add(p, l, DT_BPF_FIELD_THERE);
	if (strncmp(l->type, "__rel_loc", 9) == 0)
		return add(p, l, DT_BPF_FIELD_BEHIND);
	if (words)
		return add_numbers(p, l);
	return add(p, l, DT_BPF_FIELD_HERE);
}

/* Puts the values before the texts. */
static void sort_fields(struct dt_kernel_tracepoint *p)
{
	struct dt_kernel_tracepoint was = *p;
	unsigned value = 0, text = p->values;

	for (unsigned i = 0; i < was.values + was.texts; i++) {
		unsigned to = was.field[i].how.is < DT_BPF_FIELD_TEXT ? value++ : text++;

		p->field[to] = was.field[i];
	}
}

bool dt_kernel_tracepoint_read(struct dt_kernel_tracepoint *p, const char *format)
{
	p->values = p->texts = 0;
	p->bytes = 8;
	for (const char *at = format; (at = strstr(at, "\tfield:")) != NULL;) {
		struct line l;

		at += 7;
		if (!read_line(at, &l))
			return false;
		/* that all have: the record says it itself */
		if (strncmp(l.name, "common_", 7) == 0)
			continue;
		/* an array that ends the record, of no size of its own, or a structure */
		if (!l.size)
			continue;
		if (l.size != 1 && l.size != 2 && l.size != 4 && l.size != 8)
			l.array = true;
		if (!add_line(p, &l))
			return false;
	}
	sort_fields(p);
	return p->bytes <= DT_BPF_TRACEPOINT_MOST;
}

/* ---- signatures ---- */

/* Writes a field's part of a signature. at: which of the record's values it is; "-": it is in
 * another record. */
static size_t put_field(const struct dt_kernel_field *f, const char *at, uint32_t type, char *out,
			size_t size)
{
	char row[16] = "";

	if (f->how.is >= DT_BPF_FIELD_TEXT)
		return dt_format(out, size, "%s:s@%s", f->name, at);
	if (f->address)
		return dt_format(out, size, "%s:p@%s", f->name, at);
	if (type)
		dt_format(row, sizeof(row), "#%u", type);
	return dt_format(out, size, "%s:%c%u%s@%s", f->name,
			 f->how.is == DT_BPF_FIELD_SIGNED ? 'i' : 'u', f->how.size, row, at);
}

static const char *const places[] = {"0", "1", "2", "3"};

void dt_kernel_tracepoint_values(const struct dt_kernel_tracepoint *p, unsigned first,
				 const uint32_t *type, char *out, size_t size)
{
	size_t n = 0;

	for (unsigned i = 0; i < 4 && first + i < p->values && n + 96 < size; i++) {
		if (i)
			out[n++] = ',';
		n += put_field(&p->field[first + i], places[i], type ? type[first + i] : 0, out + n,
			       size - n);
	}
	memcpy(out + n, ";v", 3);
}

void dt_kernel_tracepoint_hit(const struct dt_kernel_tracepoint *p, const uint32_t *type, char *out,
			      size_t size)
{
	unsigned fields = p->values + p->texts, at[DT_BPF_FIELDS] = {0};
	size_t n = 0;

	for (unsigned i = 0; i < fields; i++)
		at[p->field[i].order] = i;
	for (unsigned i = 0; i < fields && n + 96 < size; i++) {
		bool here = at[i] < p->values && at[i] < 4;

		if (i)
			out[n++] = ',';
		n += put_field(&p->field[at[i]], here ? places[at[i]] : "-", type ? type[at[i]] : 0,
			       out + n, size - n);
	}
	memcpy(out + n, ";v", 3);
}

void dt_kernel_tracepoint_text(const struct dt_kernel_tracepoint *p, unsigned text, char *out,
			       size_t size)
{
	dt_format(out, size, "%s:s@0;v", text < p->texts ? p->field[p->values + text].name : "?");
}

/* ---- choosing ---- */

/* Gives the next word of tracepoints at *p, without its prefix, and moves *p behind it. False:
 * there are no more. */
static bool next_word(const char **p, char word[256], bool *removes)
{
	while (**p) {
		const char *at = *p + strspn(*p, " ");
		size_t n = strcspn(at, " "), sign = *at == '!' || *at == '+',
		       prefix = strlen(DT_KERNEL_TRACEPOINTS);

		*p = at + n;
		if (n > sign + prefix && n - sign - prefix < 256 &&
		    strncmp(at + sign, DT_KERNEL_TRACEPOINTS, prefix) == 0) {
			*removes = *at == '!';
			dt_format(word, 256, "%.*s", (int)(n - sign - prefix), at + sign + prefix);
			return true;
		}
	}
	return false;
}

/* Is the tracepoint of that name, "sched:sched_switch", chosen? */
static bool is_chosen(const char *const *pattern, size_t n, const char *name)
{
	struct dt_choice choice = {0};
	char word[256];
	bool removes;

	for (size_t i = 0; i < n; i++)
		for (const char *p = pattern[i]; next_word(&p, word, &removes);)
			dt_choice_note(&choice, removes, fnmatch(word, name, 0) == 0);
	return dt_choice_made(&choice);
}

typedef int name_fn(void *ctx, int events, const char *system, const char *name,
		    struct dt_error *e);

/* Calls fn for each tracepoint, until it returns another number than 0. */
static int each(int events, name_fn *fn, void *ctx, struct dt_error *e)
{
	int top = openat(events, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *systems = top < 0 ? NULL : fdopendir(top), *names;
	struct dirent *s, *d;

	while (systems && rc == 0 && (s = readdir(systems)) != NULL) {
		int fd = s->d_name[0] == '.'
				 ? -1
				 : openat(events, s->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		names = fd < 0 ? NULL : fdopendir(fd);
		while (names && rc == 0 && (d = readdir(names)) != NULL)
			if (d->d_name[0] != '.' && d->d_type == DT_DIR)
				rc = fn(ctx, events, s->d_name, d->d_name, e);
		if (names)
			closedir(names);
		else if (fd >= 0)
			close(fd);
	}
	if (systems)
		closedir(systems);
	else if (top >= 0)
		close(top);
	return rc;
}

struct choosing {
	struct dt_kernel_tracepoints *to;
	const char *const *pattern;
	size_t n;
	struct dt_kernel_constants constants; /* asked for words */
};

static bool constant(void *ctx, const char *name, size_t n, uint64_t *value)
{
	return dt_kernel_constant_value(ctx, name, n, value);
}

/* Notes the words for the values of its fields. */
static bool note_words(struct dt_kernel_tracepoint *p, const char *format,
		       struct dt_kernel_constants *constants)
{
	char *words = malloc(DT_KERNEL_WORDS);
	bool kept = words != NULL;

	/* the constants of a module are in its own BTF: most groups are named as their module is */
	dt_kernel_constants_of(constants, p->system);
	for (unsigned i = 0; kept && i < p->values; i++) {
		struct dt_kernel_field *f = &p->field[i];

		if (!f->address && dt_kernel_words(format, f->name, constant, constants, words))
			kept = (f->words = strdup(words)) != NULL;
	}
	free(words);
	return kept;
}

/* Adds one, of which `format' says the words. */
static int add_tracepoint(struct dt_kernel_tracepoints *t, const struct dt_kernel_tracepoint *p,
			  const char *format, struct dt_kernel_constants *constants,
			  struct dt_error *e)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 16;
		struct dt_kernel_tracepoint *more = realloc(t->all, room * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		t->all = more;
		t->room = room;
	}
	t->all[t->n++] = *p;
	return note_words(&t->all[t->n - 1], format, constants) ? 0 : dt_fail(e, "out of memory");
}

static int take(void *ctx, int events, const char *system, const char *name, struct dt_error *e)
{
	struct choosing *c = ctx;
	struct dt_kernel_tracepoint p = {.id = 0};
	char path[256], *text;
	int rc;

	if (strlen(system) >= sizeof(p.system) || strlen(name) >= sizeof(p.name))
		return 0;
	strcpy(p.system, system);
	strcpy(p.name, name);
	dt_format(path, sizeof(path), "%s:%s", system, name);
	/* those of ftrace itself are not there for others */
	if (!is_chosen(c->pattern, c->n, path) || strcmp(system, "ftrace") == 0)
		return 0;
	dt_format(path, sizeof(path), "%s/%s/id", system, name);
	text = read_text(events, path);
	p.id = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	dt_format(path, sizeof(path), "%s/%s/format", system, name);
	text = read_text(events, path);
	if (!p.id || !text || !dt_kernel_tracepoint_read(&p, text)) {
		free(text);
		return dt_fail(e,
			       "the kernel's tracepoint %s:%s has more fields than can be "
			       "recorded, or they are not understood: leave it out "
			       "('!" DT_KERNEL_TRACEPOINTS "%s:%s')",
			       system, name, system, name);
	}
	rc = add_tracepoint(c->to, &p, text, &c->constants, e);
	free(text);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct dt_kernel_tracepoint *x = a, *y = b;
	int rc = strcmp(x->system, y->system);

	return rc ? rc : strcmp(x->name, y->name);
}

struct looking {
	const char *word;
	struct dt_near near;
};

static int look(void *ctx, int events, const char *system, const char *name, struct dt_error *e)
{
	struct looking *l = ctx;
	char full[256];

	(void)events, (void)e;
	dt_format(full, sizeof(full), "%s:%s", system, name);
	if (strcmp(system, "ftrace") != 0 && fnmatch(l->word, full, 0) == 0)
		return 1;
	/* by what is behind the colon, or by all if there is none */
	dt_near_offer(&l->near, name);
	return 0;
}

/* Fails if a word means no tracepoint. */
static int check_word(int events, const char *word, struct dt_error *e)
{
	struct looking l = {.word = word};
	const char *colon = strchr(word, ':');
	char names[DT_NEAR_TEXT];

	dt_near_start(&l.near, colon ? colon + 1 : word);
	if (each(events, look, &l, e) == 1)
		return 0;
	dt_near_text(&l.near, names);
	return dt_fail(e, "this kernel has no tracepoint '%s' (SYSTEM:NAME)%s", word, names);
}

int dt_kernel_tracepoints_choose(struct dt_kernel_tracepoints *t, const char *const *pattern,
				 size_t n, struct dt_error *e)
{
	struct choosing c = {.to = t, .pattern = pattern, .n = n};
	int events = -1, rc = 0;
	char word[256];
	bool removes;

	for (size_t i = 0; rc == 0 && i < n; i++)
		for (const char *p = pattern[i]; rc == 0 && next_word(&p, word, &removes);) {
			if (events < 0 && (events = open_events()) < 0)
				return dt_fail(e,
					       "the kernel's tracepoints are in tracefs, which "
					       "can not be opened: /sys/kernel/tracing: %s",
					       strerror(errno));
			rc = removes ? 0 : check_word(events, word, e);
		}
	if (events < 0)
		return rc;
	if (rc == 0)
		rc = each(events, take, &c, e);
	dt_kernel_constants_free(&c.constants);
	close(events);
	if (rc == 0 && t->n > DT_BPF_TRACEPOINTS)
		rc = dt_fail(e, "%zu of the kernel's tracepoints are too many: at most %u", t->n,
			     DT_BPF_TRACEPOINTS);
	if (t->n)
		qsort(t->all, t->n, sizeof(*t->all), by_name);
	return rc;
}

void dt_kernel_tracepoints_free(struct dt_kernel_tracepoints *t)
{
	for (size_t i = 0; i < t->n; i++)
		for (unsigned f = 0; f < t->all[i].values; f++)
			free(t->all[i].field[f].words);
	free(t->all);
	*t = (struct dt_kernel_tracepoints){0};
}
