/* SPDX-License-Identifier: MIT */
/* The files of modules: finding, noting and freeing them, and what is read of each once. */
#include "hook/module.h"
#include "arch/arch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/search.h"
#include "symbols/nameless.h"
#include "symbols/passes.h"
#include "symbols/prototype.h"

static bool same_file(const char *path, const struct dt_mapping *m)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == m->inode && major(st.st_dev) == m->dev_major &&
	       minor(st.st_dev) == m->dev_minor;
}

/*
 * Returns a path by which the controller can open the mapped file, for the caller to free: its own
 * path, its path in the process's root, or, for a file that has been removed or replaced, the
 * kernel's link to it. NULL: there is none.
 */
static char *readable_path(pid_t pid, const struct dt_mapping *m)
{
	char path[4200];

	if (same_file(m->path, m))
		return strdup(m->path);
	dt_format(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	if (same_file(path, m))
		return strdup(path);
	dt_format(path, sizeof(path), "/proc/%d/exe", pid);
	if (same_file(path, m))
		return strdup(path);
	dt_format(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, (unsigned long)m->low,
		  (unsigned long)m->high);
	if (same_file(path, m))
		return strdup(path);
	/* overlay file systems show other device numbers in maps than in stat */
	return m->deleted ? NULL : strdup(m->path);
}

/* Adds a name to f->called, unless it is there already or is the last part of its path. */
static void add_name(struct dt_file *f, const char *name)
{
	const char *called = f->called ? f->called : f->path;
	size_t n = strlen(called), m = strlen(name);
	char *more;

	for (const char *p = called; (p = strstr(p, name)); p++)
		if ((p[m] == '\n' || !p[m]) && p > called && (p[-1] == '\n' || p[-1] == '/'))
			return;
	more = malloc(n + m + 2);
	if (!more)
		return;
	dt_format(more, n + m + 2, "%s\n%s", called, name);
	free(f->called);
	f->called = more;
}

bool dt_file_is_of(const struct dt_file *f, const struct dt_mapping *m)
{
	return f->inode == m->inode && f->dev_major == m->dev_major &&
	       f->dev_minor == m->dev_minor && strcmp(f->path, m->path) == 0;
}

/* Notes size and time of the file, for has_changed(). */
static void note_content(struct dt_file *f)
{
	struct stat st;

	if (!f->readable || stat(f->readable, &st) < 0)
		return;
	f->changed = st.st_mtim;
	f->size = st.st_size;
}

/* Looks whether the file has changed since it was noted: a plugin may have been rebuilt, into the
 * same file or into a new one that got the same inode number. */
static bool has_changed(const struct dt_file *f)
{
	struct stat st;

	return f->readable && stat(f->readable, &st) == 0 &&
	       (st.st_size != f->size || st.st_mtim.tv_sec != f->changed.tv_sec ||
		st.st_mtim.tv_nsec != f->changed.tv_nsec);
}

struct dt_file *dt_file_noted(struct dt_files *files, pid_t pid, const struct dt_mapping *m)
{
	struct dt_file *f;

	for (f = files->first; f; f = f->next)
		if (dt_file_is_of(f, m) && !has_changed(f))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->inode = m->inode;
	f->dev_major = m->dev_major;
	f->dev_minor = m->dev_minor;
	f->path = strdup(m->path);
	if (!f->path) {
		free(f);
		return NULL;
	}
	f->readable = readable_path(pid, m);
	note_content(f);
	f->next = files->first;
	files->first = f;
	return f;
}

struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m)
{
	struct dt_file *f = dt_file_noted(files, pid, m);

	if (!f || f->opened)
		return f;
	f->opened = true;
	if (f->readable)
		f->elf = dt_elf_open(f->readable, NULL);
	if (f->elf && f->elf->soname[0])
		add_name(f, f->elf->soname);
	return f;
}

/* Looks whether name is a link to the file in the same directory. */
static bool is_link(const struct dt_file *f, const char *name)
{
	const char *slash = strrchr(f->path, '/');
	char path[4200];
	struct stat st;

	if (!slash || strpbrk(name, "/*?["))
		return false;
	dt_format(path, sizeof(path), "%.*s/%s", (int)(slash - f->path), f->path, name);
	return stat(path, &st) == 0 && st.st_ino == f->inode && major(st.st_dev) == f->dev_major &&
	       minor(st.st_dev) == f->dev_minor;
}

const char *dt_file_called(struct dt_file *f, const char *name)
{
	char so[256];

	if (name && is_link(f, name))
		add_name(f, name);
	else if (name && dt_format(so, sizeof(so), "%s.so", name) < sizeof(so) && is_link(f, so))
		add_name(f, so);
	return f->called ? f->called : f->path;
}

void dt_files_free(struct dt_files *files)
{
	struct dt_file *f, *next;

	for (f = files->first; f; f = next) {
		next = f->next;
		if (f->elf)
			dt_elf_close(f->elf);
		dt_points_free(&f->points);
		free(f->usdt_point);
		if (f->usdt)
			dt_usdt_free(f->usdt);
		free(f->usdt);
		if (f->code)
			dt_code_close(f->code);
		dt_names_free(f->names);
		if (f->symtab)
			dt_symtab_close(f->symtab);
		free(f->path);
		free(f->called);
		free(f->readable);
		if (f->vdso && f->image >= 0)
			close(f->image);
		free(f->chosen);
		free(f->once);
		free(f->wanted);
		free(f->hooked);
		free(f->refused);
		free(f->picked);
		free(f->type);
		free(f->by_function);
		free(f->masked);
		free(f->crossing);
		dt_imports_free(f->imports);
		dt_passes_free(f->passes);
		free(f);
	}
	files->first = NULL;
}

static int by_function(const void *a, const void *b, void *file)
{
	const struct dt_elf *elf = file;
	const uint32_t *x = a, *y = b;
	uint64_t of = elf->site[*x].function, to = elf->site[*y].function;

	return of != to ? (of > to) - (of < to) : (*x > *y) - (*x < *y);
}

static bool index_sites(struct dt_file *f)
{
	uint32_t *all;

	if (f->by_function && f->indexed == f->elf->sites)
		return true;
	free(f->by_function);
	f->by_function = all = malloc((f->elf->sites + 1) * sizeof(*all));
	if (!all)
		return false;
	for (size_t i = 0; i < f->elf->sites; i++)
		all[i] = (uint32_t)i;
	qsort_r(all, f->elf->sites, sizeof(*all), by_function, f->elf);
	f->indexed = f->elf->sites;
	return true;
}

const uint32_t *dt_file_sites_of(struct dt_file *f, uint64_t function, size_t *n)
{
	size_t low, high;

	*n = 0;
	if (!index_sites(f))
		return NULL;
	low = dt_count_before(f->indexed, i, f->elf->site[f->by_function[i]].function < function);
	for (high = low;
	     high < f->indexed && f->elf->site[f->by_function[high]].function == function; high++)
		;
	*n = high - low;
	return *n ? f->by_function + low : NULL;
}

const struct dt_usdt *dt_file_usdt(struct dt_file *f)
{
	/* what devtrace's own header has put there is recorded as events */
	if (!f->elf || f->elf->events)
		return NULL;
	if (f->usdt)
		return f->usdt->n ? f->usdt : NULL;
	f->usdt = calloc(1, sizeof(*f->usdt));
	if (!f->usdt)
		return NULL;
	if (dt_usdt_read(f->elf, f->usdt, NULL) == 0)
		f->usdt_point = calloc(f->usdt->n + 1, sizeof(*f->usdt_point));
	if (!f->usdt_point)
		f->usdt->n = 0;
	return f->usdt->n ? f->usdt : NULL;
}

struct dt_symtab *dt_file_symtab(struct dt_file *f)
{
	if (!f->symtab && !f->no_symtab && f->readable) {
		f->symtab = dt_symtab_open(f->readable, NULL, NULL);
		f->no_symtab = f->symtab == NULL;
	}
	return f->symtab;
}

const struct dt_names *dt_file_names(struct dt_file *f)
{
	struct dt_symtab *t = dt_file_symtab(f);

	if (!f->names && t)
		f->names = dt_names_make(t);
	return f->names;
}

/* The code must stand in the file exactly once. */
uint64_t dt_file_clone3(struct dt_file *f)
{
	uint64_t at;

	if (f->looked_for_clone3 || !f->elf)
		return f->clone3;
	f->looked_for_clone3 = true;
	at = dt_elf_only(f->elf, ".text", dt_clone3_code, dt_clone3_size);
	f->clone3 = at ? at + DT_CLONE3_NUMBER : 0;
	return f->clone3;
}

uint64_t dt_file_execve(struct dt_file *f)
{
	const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;

	if (!DT_EXEC_CALLS || f->looked_for_execve || !f->elf || !f->probed)
		return f->execve;
	f->looked_for_execve = true;
	/* musl's has another beginning */
	if ((strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "libc-2", 6) == 0) &&
	    dt_elf_symbol(f->elf, "execve", &f->execve, NULL) < 0)
		f->execve = 0;
	return f->execve;
}

int64_t dt_file_execve_site(struct dt_file *f)
{
	uint64_t address = dt_file_execve(f);
	size_t n = 0;
	const uint32_t *site = address ? dt_file_sites_of(f, address, &n) : NULL;

	for (size_t i = 0; i < n; i++)
		if (f->elf->site[site[i]].kind == DT_ELF_PROBE_ENTRY)
			return site[i];
	return -1;
}

size_t dt_file_go_sites(const struct dt_file *f, bool chosen)
{
	size_t n = 0;

	if (!f->probed || !f->code || !f->code->go_high || (chosen && !f->chosen))
		return 0;
	for (size_t i = 0; i < f->elf->sites; i++)
		n += f->elf->site[i].address >= f->code->go_low &&
		     f->elf->site[i].address < f->code->go_high && (!chosen || f->chosen[i]);
	return n;
}

void dt_file_nameless(struct dt_file *f, uint64_t address, char *out, size_t size)
{
	if (!f->passes && f->code && f->elf)
		f->passes = dt_passes_read(f->code, f->elf);
	dt_nameless(out, size, f->path, address, dt_passes_name(f->passes, address));
}

bool dt_file_imports(struct dt_file *f, const char *name)
{
	if (!f->elf)
		return false;
	if (!f->imports)
		f->imports = dt_imports_read(f->elf);
	/* without memory for the names, what each call's caller is decides */
	return !f->imports || dt_imports_has(f->imports, name);
}

bool dt_file_sets_errno(struct dt_file *f)
{
	const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;

	if (!f->errno_read) {
		f->errno_read = true;
		/* libm-2.31.so is what libm.so.6 leads to before glibc 2.34 */
		f->sets_errno = !f->vdso && dt_prototype_file(f->path) &&
				strncmp(name, "libm.", 5) != 0 && strncmp(name, "libm-", 5) != 0;
	}
	return f->probed && f->sets_errno;
}

bool dt_file_has_toggles(const struct dt_file *f)
{
	return f->elf && f->elf->toggles;
}

/* Looks whether an event of that subsystem is chosen. */
static bool any_chosen(const struct dt_file *f, uint16_t subsystem)
{
	for (size_t i = 0; i < f->elf->sites; i++) {
		const struct dt_elf_site *s = &f->elf->site[i];
		const struct dt_elf_event *v = &f->elf->event[s->event];

		if (f->chosen[i] && s->kind == DT_ELF_EVENT && v->kind &&
		    !(v->flags & DT_EVENT_FREE) && v->subsystem == subsystem)
			return true;
	}
	return false;
}

void dt_file_choose_askers(struct dt_file *f)
{
	for (size_t i = 0; f->chosen && i < f->elf->sites; i++) {
		const struct dt_elf_site *s = &f->elf->site[i];
		const struct dt_elf_event *v = &f->elf->event[s->event];

		if (s->kind != DT_ELF_EVENT || v->kind)
			continue;
		f->chosen_sites -= f->chosen[i];
		f->chosen[i] = v->flags & DT_EVENT_CONTROL || any_chosen(f, v->subsystem);
		f->chosen_sites += f->chosen[i];
	}
}
