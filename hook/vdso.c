/* SPDX-License-Identifier: MIT */
#include "hook/vdso.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/memory.h"

#define MOST 65536 /* bytes; it has 8192 in Linux 6.18 */

/* Returns the controller's own image, and its size; NULL: there is none that is understood. */
static const char *own_image(size_t *size)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;

	if (!image)
		return NULL;
	memcpy(&h, image, sizeof(h));
	*size = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	return memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_shoff < MOST && *size < MOST ? image
											   : NULL;
}

/* Writes the image into a file without a name, which others of our processes are given open. */
static void make_file(struct dt_file *f)
{
	size_t size;
	const char *image = own_image(&size);
	char path[32];

	f->image = image ? memfd_create("devtrace-vdso", MFD_CLOEXEC) : -1;
	if (f->image < 0 || write(f->image, image, size) != (ssize_t)size)
		return;
	dt_format(path, sizeof(path), "/proc/self/fd/%d", f->image);
	f->readable = strdup(path);
	f->elf = f->readable ? dt_elf_open(f->readable, NULL) : NULL;
}

static struct dt_file *noted(struct dt_files *files)
{
	struct dt_file *f;

	for (f = files->first; f; f = f->next)
		if (f->vdso)
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->vdso = true;
	f->opened = true;
	f->path = strdup(DT_VDSO);
	if (!f->path) {
		free(f);
		return NULL;
	}
	make_file(f);
	f->next = files->first;
	files->first = f;
	return f;
}

/* Looks whether a process has our image at an address, by all that lies before its code: in the
 * code there may be jumps of ours. */
static bool is_ours(const struct dt_file *f, int mem, const struct dt_mapping *m)
{
	uint64_t bytes, text;
	size_t size;
	const char *image = own_image(&size);
	char *code = dt_elf_section(f->elf, ".text", &bytes, &text), theirs[512];
	bool same = image && code && text < size && text < m->high - m->low;

	free(code);
	for (uint64_t at = 0, n; same && at < text; at += n) {
		n = text - at < sizeof(theirs) ? text - at : sizeof(theirs);
		same = dt_memory_read(mem, m->low + at, theirs, n) == 0 &&
		       memcmp(theirs, image + at, n) == 0;
	}
	return same;
}

struct dt_file *dt_file_of_vdso(struct dt_files *files, int mem, const struct dt_mapping *m)
{
	struct dt_file *f = noted(files);

	if (f && f->elf && is_ours(f, mem, m))
		return f;
	files->other_vdso = true;
	return NULL;
}
