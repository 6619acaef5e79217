/* SPDX-License-Identifier: MIT */
/* The files behind a process's modules. */
#include "process/module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool same_file(const char *path, const struct dt_mapping *m)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == m->inode && major(st.st_dev) == m->dev_major &&
	       minor(st.st_dev) == m->dev_minor;
}

/*
 * Where the controller finds the mapped file: by its path, by its path in the process's own root,
 * or, for a file that has been removed or replaced, through the kernel's link to it.
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

struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m)
{
	struct dt_file *f;

	for (f = files->first; f; f = f->next)
		if (f->inode == m->inode && f->dev_major == m->dev_major &&
		    f->dev_minor == m->dev_minor && strcmp(f->path, m->path) == 0)
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->inode = m->inode;
	f->dev_major = m->dev_major;
	f->dev_minor = m->dev_minor;
	f->path = strdup(m->path);
	f->readable = readable_path(pid, m);
	if (f->readable)
		f->elf = dt_elf_open(f->readable, NULL);
	f->next = files->first;
	files->first = f;
	return f;
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
		free(f->readable);
		free(f->chosen);
		free(f->wanted);
		free(f->hooked);
		free(f->type);
		free(f->masked);
		free(f);
	}
	files->first = NULL;
}

const struct dt_usdt *dt_file_usdt(struct dt_file *f)
{
	/* what devtrace's own header makes is recorded as events */
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

bool dt_file_has_toggles(const struct dt_file *f)
{
	return f->elf && f->elf->toggles;
}

/* Is an event of that subsystem chosen? */
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
