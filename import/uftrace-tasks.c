/* SPDX-License-Identifier: MIT */
/* uftrace's threads, and the names of its functions. */
#include "import/uftrace-work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LATEST ((uint64_t)1 << 61)

/* ---- symbols ---- */

static int add_symbol(struct uftrace *u, struct symbols *s, uint64_t address, const char *name)
{
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 256;
		struct symbol *p = realloc(s->symbol, size * sizeof(*p));

		if (!p)
			return dt_fail(u->e, "out of memory");
		s->symbol = p;
		s->size = size;
	}
	s->symbol[s->n] = (struct symbol){.address = address, .name = name ? strdup(name) : NULL};
	if (name && !s->symbol[s->n].name)
		return dt_fail(u->e, "out of memory");
	s->n++;
	return 0;
}

static int by_address(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	return (a->address > b->address) - (a->address < b->address);
}

/* A line is "ADDRESS [SIZE] TYPE NAME"; of type '?' is what ends a part. */
static int take_symbol(struct uftrace *u, struct symbols *s, char *line)
{
	char *end, *type;
	uint64_t address = strtoull(line, &end, 16);

	if (*line == '#' || end == line || *end != ' ')
		return 0;
	type = end + 1;
	if (u->sizes) {
		strtoull(type, &end, 16);
		if (end == type || *end != ' ')
			return 0;
		type = end + 1;
	}
	if (!type[0] || type[1] != ' ' || !type[2])
		return 0;
	return add_symbol(u, s, address, *type == '?' ? NULL : type + 2);
}

/* Reads the symbols of a file at a path, once; there may be none of them. */
static int64_t read_symbols(struct uftrace *u, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	uint32_t before = u->symbol_files.n;
	int64_t number = dt_name_number(&u->symbol_files, base, u->e);
	struct symbols *s =
		number < 0 ? NULL
			   : dt_key_room(u->symbols, &u->symbols_size, number, sizeof(*s), u->e);
	char name[300], *line = NULL;
	size_t size = 0;
	bool failed;
	ssize_t n;
	FILE *f;
	int rc = 0;

	if (!s)
		return -1;
	u->symbols = s;
	if (u->symbol_files.n == before)
		return number;
	dt_format(name, sizeof(name), "%s.sym", base);
	f = dt_folder_open(&u->folder, name, &failed);
	if (!f)
		return failed ? -1 : number;
	while (!rc && (n = getline(&line, &size, f)) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		rc = take_symbol(u, &s[number], line);
	}
	if (s[number].n)
		qsort(s[number].symbol, s[number].n, sizeof(*s[number].symbol), by_address);
	free(line);
	fclose(f);
	return rc ? -1 : number;
}

/* Finds what is at an address; NULL: nothing is known. */
static const char *symbol_at(const struct symbols *s, uint64_t address)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* of several at one address, one with a name */
	for (size_t i = low; i-- > 0 && s->symbol[i].address == s->symbol[low - 1].address;)
		if (s->symbol[i].name)
			return s->symbol[i].name;
	return NULL;
}

int64_t dt_uftrace_function(struct uftrace *u, int64_t map, uint64_t address)
{
	int64_t number = dt_key_number(&u->known, (uint64_t)map, address, u->e), function;
	const struct map *s = map < 0 ? NULL : &u->map[map];
	const char *name = NULL, *path = "";
	uint32_t *p =
		number < 0 ? NULL
			   : dt_key_room(u->function, &u->function_size, number, sizeof(*p), u->e);
	char text[40];

	if (!p)
		return -1;
	u->function = p;
	if (p[number])
		return p[number] - 1;
	for (size_t i = 0; s && i < s->n; i++) {
		const struct mapping *x = &s->mapping[i];

		if (address < x->low || address >= x->high)
			continue;
		path = x->path;
		name = symbol_at(&u->symbols[x->symbols], u->relative ? address - x->low : address);
	}
	if (!name) {
		u->m->left[DT_LEFT_NO_NAME]++;
		dt_format(text, sizeof(text), "0x%lx", (unsigned long)address);
		name = text;
	}
	function = dt_name_pair(&u->m->functions, path, name, u->e);
	p[number] = (uint32_t)(function + 1);
	return function;
}

/* ---- maps ---- */

static int add_mapping(struct uftrace *u, struct map *s, uint64_t low, uint64_t high,
		       const char *path)
{
	int64_t symbols = read_symbols(u, path);

	if (symbols < 0)
		return -1;
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 32;
		struct mapping *p = realloc(s->mapping, size * sizeof(*p));

		if (!p)
			return dt_fail(u->e, "out of memory");
		s->mapping = p;
		s->size = size;
	}
	s->mapping[s->n] = (struct mapping){
		.low = low, .high = high, .path = strdup(path), .symbols = symbols};
	if (!s->mapping[s->n].path)
		return dt_fail(u->e, "out of memory");
	s->n++;
	return 0;
}

/* A line is that of /proc/PID/maps, with a build id behind the path. A file's first mapping says
 * where it is; others of it widen that. */
static int take_mapping(struct uftrace *u, struct map *s, char *line)
{
	char *end, *path = strchr(line, '/'), *id;
	uint64_t low = strtoull(line, &end, 16), high;
	struct mapping *last = s->n ? &s->mapping[s->n - 1] : NULL;

	if (!path || *end != '-')
		return 0;
	high = strtoull(end + 1, NULL, 16);
	id = strstr(path, " build-id:");
	if (id)
		*id = '\0';
	if (last && !strcmp(last->path, path) && low >= last->low) {
		last->high = high > last->high ? high : last->high;
		return 0;
	}
	return add_mapping(u, s, low, high, path);
}

/* Reads the map of a session, once. Returns its number. */
static int64_t read_map(struct uftrace *u, const char *sid)
{
	uint32_t before = u->sessions.n;
	int64_t number = dt_name_number(&u->sessions, sid, u->e);
	struct map *p =
		number < 0 ? NULL : dt_key_room(u->map, &u->map_size, number, sizeof(*p), u->e);
	char name[64], *line = NULL;
	size_t size = 0;
	bool failed;
	FILE *f;
	int rc = 0;

	if (!p)
		return -1;
	u->map = p;
	if (u->sessions.n == before)
		return number;
	dt_format(name, sizeof(name), "sid-%s.map", sid);
	f = dt_folder_open(&u->folder, name, &failed);
	if (!f)
		return failed ? -1 : number;
	while (!rc && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		rc = take_mapping(u, &p[number], line);
	}
	free(line);
	fclose(f);
	return rc ? -1 : number;
}

/* ---- processes and threads ---- */

/* Finds " WORD=" in a line; NULL: it is not there. */
static const char *value_of(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = line; (s = strstr(s, word)); s += n)
		if (s > line && s[-1] == ' ' && s[n] == '=')
			return s + n + 1;
	return NULL;
}

static uint32_t number_of(const char *line, const char *word)
{
	const char *s = value_of(line, word);
	unsigned long v = s ? strtoul(s, NULL, 10) : 0;

	return v < 1u << 30 ? (uint32_t)v : 0;
}

/* A time is "SECONDS.NANOSECONDS". */
static int64_t time_of(const char *line)
{
	const char *s = value_of(line, "timestamp");
	char *end = NULL;
	uint64_t seconds = s ? strtoull(s, &end, 10) : 0;
	uint64_t ns = end && *end == '.' ? strtoull(end + 1, NULL, 10) : 0;

	return seconds < LATEST / 1000000000 && ns < 1000000000
		       ? (int64_t)(seconds * 1000000000 + ns)
		       : 0;
}

static int take_session(struct uftrace *u, const char *line)
{
	const char *sid = value_of(line, "sid"), *exe = value_of(line, "exename"), *slash;
	struct space *p = dt_key_room(u->space, &u->space_size, u->spaces, sizeof(*p), u->e);
	uint32_t pid = number_of(line, "pid");
	char number[16], name[256];
	int64_t map;

	if (!p)
		return -1;
	u->space = p;
	dt_format(name, sizeof(name), "%.*s", sid ? (int)strspn(sid, "0123456789abcdef") : 0,
		  sid ? sid : "");
	name[32] = '\0';
	map = read_map(u, name);
	if (map < 0)
		return -1;
	p[u->spaces++] = (struct space){.pid = pid, .map = (uint32_t)map, .ns = time_of(line)};
	if (!exe || *exe != '"')
		return 0;
	dt_format(name, sizeof(name), "%.*s", (int)strcspn(exe + 1, "\""), exe + 1);
	slash = strrchr(name, '/');
	dt_format(number, sizeof(number), "%u", (unsigned)pid);
	return dt_imported_name_process(u->m, number, slash ? slash + 1 : name, u->e);
}

static int take_task(struct uftrace *u, const char *line, bool fork)
{
	int64_t number = dt_key_number(&u->tids, number_of(line, fork ? "pid" : "tid"), 0, u->e);
	struct task *p =
		number < 0 ? NULL : dt_key_room(u->task, &u->task_size, number, sizeof(*p), u->e);

	if (!p)
		return -1;
	u->task = p;
	p[number].pid = number_of(line, "pid");
	if (fork)
		p[number].parent = number_of(line, "ppid");
	return 0;
}

/* A library that was loaded later. */
static int take_library(struct uftrace *u, const char *line)
{
	const char *base = value_of(line, "base"), *path = value_of(line, "libname"),
		   *sid = value_of(line, "sid");
	uint64_t low = base ? strtoull(base, NULL, 16) : 0;
	const struct symbols *s;
	char name[4096];
	struct map *map;
	int64_t number;

	if (!low || !sid || !path || *path != '"')
		return 0;
	dt_format(name, sizeof(name), "%.*s", (int)strspn(sid, "0123456789abcdef"), sid);
	name[32] = '\0';
	number = read_map(u, name);
	if (number < 0)
		return -1;
	map = &u->map[number];
	dt_format(name, sizeof(name), "%.*s", (int)strcspn(path + 1, "\""), path + 1);
	if (add_mapping(u, map, low, low, name))
		return -1;
	/* how long it is only its symbols say */
	s = &u->symbols[map->mapping[map->n - 1].symbols];
	map->mapping[map->n - 1].high = low + (s->n ? s->symbol[s->n - 1].address + 4096 : 0);
	return 0;
}

static int by_process(const void *pa, const void *pb)
{
	const struct space *a = pa, *b = pb;

	if (a->pid != b->pid)
		return (a->pid > b->pid) - (a->pid < b->pid);
	return (a->ns > b->ns) - (a->ns < b->ns);
}

int dt_uftrace_tasks(struct uftrace *u)
{
	char *line = NULL;
	size_t size = 0;
	bool failed;
	int rc = 0;
	FILE *f = dt_folder_open(&u->folder, "task.txt", &failed);

	if (!f)
		return failed ? -1
			      : dt_fail(u->e, "%s: it has no task.txt: it is damaged",
					u->folder.path);
	while (!rc && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!strncmp(line, "SESS ", 5))
			rc = take_session(u, line);
		else if (!strncmp(line, "TASK ", 5) || !strncmp(line, "FORK ", 5))
			rc = take_task(u, line, *line == 'F');
		else if (!strncmp(line, "DLOP ", 5))
			rc = take_library(u, line);
	}
	if (!rc && ferror(f))
		rc = dt_fail(u->e, "%s/task.txt: %s", u->folder.path, strerror(errno));
	if (u->spaces)
		qsort(u->space, u->spaces, sizeof(*u->space), by_process);
	free(line);
	fclose(f);
	return rc;
}

uint32_t dt_uftrace_process(const struct uftrace *u, uint32_t tid)
{
	int64_t number = dt_key_find(&u->tids, tid, 0);

	return number >= 0 && u->task[number].pid ? u->task[number].pid : tid;
}

int64_t dt_uftrace_map(const struct uftrace *u, uint32_t pid, int64_t ns, int64_t *until)
{
	*until = INT64_MAX;
	/* a child has its parent's until it executes another program */
	for (unsigned generation = 0; pid && generation < 64; generation++) {
		uint32_t low = 0, high = u->spaces;
		int64_t task = dt_key_find(&u->tids, pid, 0);

		while (low < high) {
			uint32_t middle = (low + high) / 2;
			const struct space *s = &u->space[middle];

			if (s->pid < pid || (s->pid == pid && s->ns <= ns))
				low = middle + 1;
			else
				high = middle;
		}
		if (low < u->spaces && u->space[low].pid == pid && u->space[low].ns < *until)
			*until = u->space[low].ns;
		if (low && u->space[low - 1].pid == pid)
			return u->space[low - 1].map;
		pid = task < 0 ? 0 : u->task[task].parent;
	}
	return -1;
}

void dt_uftrace_tasks_free(struct uftrace *u)
{
	for (uint32_t i = 0; i < u->sessions.n && i < u->map_size; i++) {
		for (size_t j = 0; j < u->map[i].n; j++)
			free(u->map[i].mapping[j].path);
		free(u->map[i].mapping);
	}
	for (uint32_t i = 0; i < u->symbol_files.n && i < u->symbols_size; i++) {
		for (size_t j = 0; j < u->symbols[i].n; j++)
			free(u->symbols[i].symbol[j].name);
		free(u->symbols[i].symbol);
	}
	dt_name_list_free(&u->symbol_files);
	dt_name_list_free(&u->sessions);
	dt_key_list_free(&u->known);
	dt_key_list_free(&u->tids);
	free(u->map);
	free(u->symbols);
	free(u->function);
	free(u->space);
	free(u->task);
}
