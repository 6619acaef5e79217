/* SPDX-License-Identifier: MIT */
/* Finds where the symbols of a stripped program are: see symtab-file.h. */
#include "elf/symtab-file.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/debug-cache.h"
#include "elf/elf.h"

static void hex(char *out, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dt_format(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool note_build_id(struct dt_symfile *f, Elf_Data *d)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while (d && (at = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		const uint8_t *bytes = d->d_buf;

		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp(bytes + name, "GNU", 4) || n.n_descsz > sizeof(f->build_id) / 2)
			continue;
		hex(f->build_id, bytes + desc, n.n_descsz);
		return true;
	}
	return false;
}

/* Reads the build id from the program headers, which a stripped file keeps, or from the sections,
 * as a debug file may have only these. */
static void read_build_id(struct dt_symfile *f)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t n;

	while ((s = elf_nextscn(f->elf, s)))
		if (gelf_getshdr(s, &sh) && sh.sh_type == SHT_NOTE &&
		    note_build_id(f, elf_getdata(s, NULL)))
			return;
	if (elf_getphdrnum(f->elf, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_NOTE &&
		    note_build_id(f,
				  elf_getdata_rawchunk(f->elf, (int64_t)ph.p_offset, ph.p_filesz,
						       ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
			return;
}

int dt_symfile_open(struct dt_symfile *f, const char *path, struct dt_error *e)
{
	int file = dt_elf_file(path, true, e);

	*f = (struct dt_symfile){.fd = -1};
	return file < 0 ? -1 : dt_symfile_begin(f, file, path, e);
}

int dt_symfile_begin(struct dt_symfile *f, int file, const char *path, struct dt_error *e)
{
	*f = (struct dt_symfile){.fd = file};
	elf_version(EV_CURRENT);
	f->path = strdup(path);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->path || !f->elf || elf_kind(f->elf) != ELF_K_ELF) {
		dt_fail(e, "%s cannot be read as an ELF file: %s", path, elf_errmsg(-1));
		dt_symfile_close(f);
		return -1;
	}
	read_build_id(f);
	return 0;
}

void dt_symfile_close(struct dt_symfile *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	free(f->image);
	free(f->path);
	*f = (struct dt_symfile){.fd = -1};
}

Elf_Scn *dt_symfile_section(const struct dt_symfile *f, const char *name)
{
	Elf_Scn *s = NULL;
	size_t strings;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(f->elf, &strings))
		return NULL;
	while ((s = elf_nextscn(f->elf, s))) {
		const char *is =
			gelf_getshdr(s, &sh) ? elf_strptr(f->elf, strings, sh.sh_name) : NULL;

		if (is && !strcmp(is, name))
			return s;
	}
	return NULL;
}

/* Computes the CRC-32 of .gnu_debuglink, which is that of zlib. */
static bool crc_of(int fd, uint32_t *crc)
{
	uint32_t table[256], c = ~0u;
	uint8_t buf[1 << 14];
	off_t at = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = (table[i] & 1 ? 0xedb88320u : 0) ^ table[i] >> 1;
	}
	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			c = table[(c ^ buf[i]) & 0xff] ^ c >> 8;
		at += n;
	}
	*crc = ~c;
	return n == 0;
}

int dt_symfile_handed[DT_SYMFILE_HANDED] = {-1, -1, -1, -1};

/* Is it the wanted file, with the same build id or, if main has none, the same CRC? If not, it is
 * closed. */
static bool is_wanted(struct dt_symfile *f, const char *build_id, const uint32_t *crc)
{
	uint32_t is;

	if (build_id[0] ? !strcmp(f->build_id, build_id) : crc && crc_of(f->fd, &is) && is == *crc)
		return true;
	dt_symfile_close(f);
	return false;
}

_Thread_local struct dt_symfile_tried *dt_symfile_tries;

void dt_symfile_tried_free(struct dt_symfile_tried *t)
{
	while (t->n)
		free(t->path[--t->n]);
}

/* Notes that a file is looked for at path. */
static void note(const char *path)
{
	struct dt_symfile_tried *t = dt_symfile_tries;

	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->path[i], path))
			return;
	if (t->n == DT_TRIED_MOST || !(t->path[t->n] = strdup(path))) {
		t->spoiled = true;
		return;
	}
	t->there[t->n++] = access(path, F_OK) == 0;
}

void dt_symfile_note_link(int file, const char *path, const char *dir)
{
	char name[256], real[PATH_MAX], where[2 * PATH_MAX];
	int n;

	if (!dt_symfile_tries || !dt_elf_debuglink(file, name, sizeof(name)))
		return;
	if (!realpath(path, real)) {
		dt_symfile_tries->spoiled = true;
		return;
	}
	n = (int)(strrchr(real, '/') + 1 - real);
	snprintf(where, sizeof(where), "%.*s%s", n, real, name);
	note(where);
	snprintf(where, sizeof(where), "%.*s.debug/%s", n, real, name);
	note(where);
	snprintf(where, sizeof(where), "%s%.*s%s", dir, n, real, name);
	note(where);
}

static bool try_file(struct dt_symfile *f, const char *path, const char *build_id,
		     const uint32_t *crc)
{
	note(path);
	if (access(path, R_OK) == 0 && dt_symfile_open(f, path, NULL) == 0)
		return is_wanted(f, build_id, crc);
	if (dt_symfile_tries && access(path, F_OK) == 0)
		dt_symfile_tries->spoiled = true;
	return false;
}

/* Tries the files that were handed over. */
static bool try_handed(struct dt_symfile *f, const char *path, const char *build_id,
		       const uint32_t *crc)
{
	for (size_t i = 0; i < DT_SYMFILE_HANDED; i++) {
		int file = dt_symfile_handed[i] < 0 ? -1 : dup(dt_symfile_handed[i]);

		if (file >= 0 && dt_symfile_begin(f, file, path, NULL) == 0 &&
		    is_wanted(f, build_id, crc))
			return true;
	}
	return false;
}

/* Tries what has been downloaded: files that were handed over, and those in debuginfod's cache. */
static bool try_downloaded(struct dt_symfile *f, const char *path, const char *build_id)
{
	int file;

	if (build_id[0] && try_handed(f, path, build_id, NULL))
		return true;
	file = dt_debug_cache_open(build_id);
	/* it may be gone the next time, or another folder be used */
	if (file >= 0 && dt_symfile_tries)
		dt_symfile_tries->spoiled = true;
	return file >= 0 && dt_symfile_begin(f, file, path, NULL) == 0 &&
	       is_wanted(f, build_id, NULL);
}

/* Tries DIR/AB in each of the folders dirs. */
static bool try_dirs(struct dt_symfile *f, const char *dirs, const char *a, const char *b,
		     const char *build_id, const uint32_t *crc)
{
	while (*dirs) {
		size_t n = strcspn(dirs, ":");
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%.*s/%s%s", (int)n, dirs, a, b);

		if (n && len > 0 && (size_t)len < sizeof(path) && try_file(f, path, build_id, crc))
			return true;
		dirs += n + (dirs[n] == ':');
	}
	return false;
}

static bool by_build_id(struct dt_symfile *f, const char *build_id, const char *dirs)
{
	char name[96];

	if (strlen(build_id) < 3)
		return false;
	snprintf(name, sizeof(name), "%.2s/%s.debug", build_id, build_id + 2);
	return try_dirs(f, dirs, ".build-id/", name, build_id, NULL);
}

static bool by_debuglink(struct dt_symfile *f, const struct dt_symfile *main, const char *dirs)
{
	Elf_Scn *s = dt_symfile_section(main, ".gnu_debuglink");
	Elf_Data *d = s ? elf_rawdata(s, NULL) : NULL;
	char real[PATH_MAX], path[2 * PATH_MAX], *base;
	const char *name;
	uint32_t crc;
	size_t n;

	if (!d || !d->d_buf || d->d_size < 6)
		return false;
	name = d->d_buf;
	n = strnlen(name, d->d_size);
	if (!n || strchr(name, '/') || (n + 4) / 4 * 4 + 4 > d->d_size)
		return false;
	memcpy(&crc, name + (n + 4) / 4 * 4, sizeof(crc));
	if (try_handed(f, main->path, main->build_id, &crc))
		return true;
	if (!realpath(main->path, real))
		return false;
	base = strrchr(real, '/') + 1;
	/* a file that names itself has no separate debug file */
	if (strcmp(base, name)) {
		snprintf(path, sizeof(path), "%.*s%s", (int)(base - real), real, name);
		if (try_file(f, path, main->build_id, &crc))
			return true;
	}
	snprintf(path, sizeof(path), "%.*s.debug/%s", (int)(base - real), real, name);
	if (try_file(f, path, main->build_id, &crc))
		return true;
	*base = '\0';
	return try_dirs(f, dirs, real + 1, name, main->build_id, &crc);
}

bool dt_symfile_debug(struct dt_symfile *debug, const struct dt_symfile *main, const char *dirs)
{
	return by_build_id(debug, main->build_id, dirs) || by_debuglink(debug, main, dirs) ||
	       try_downloaded(debug, main->path, main->build_id);
}

/* Reads .gnu_debugaltlink: returns the path in it, and the build id. NULL: there is none. */
static const char *read_altlink(const struct dt_symfile *f, char id[DT_BUILD_ID])
{
	Elf_Scn *s = dt_symfile_section(f, ".gnu_debugaltlink");
	Elf_Data *d = s ? elf_rawdata(s, NULL) : NULL;
	const char *name;
	size_t n;

	if (!d || !d->d_buf)
		return NULL;
	name = d->d_buf;
	n = strnlen(name, d->d_size);
	if (!n || n + 1 >= d->d_size || d->d_size - n - 1 > DT_BUILD_ID / 2)
		return NULL;
	hex(id, (const uint8_t *)name + n + 1, d->d_size - n - 1);
	return name;
}

bool dt_symfile_alt_id(const struct dt_symfile *f, char id[DT_BUILD_ID])
{
	return read_altlink(f, id) != NULL;
}

bool dt_symfile_alt(struct dt_symfile *alt, const struct dt_symfile *f, const char *dirs)
{
	char id[DT_BUILD_ID], path[PATH_MAX];
	const char *name = read_altlink(f, id), *slash;

	if (!name)
		return false;
	if (by_build_id(alt, id, dirs))
		return true;
	slash = strrchr(f->path, '/');
	snprintf(path, sizeof(path), "%.*s%s",
		 slash && name[0] != '/' ? (int)(slash - f->path + 1) : 0, f->path, name);
	return try_file(alt, path, id, NULL) ||
	       (name[0] != '/' && try_dirs(alt, dirs, ".dwz/", name, id, NULL)) ||
	       try_downloaded(alt, f->path, id);
}

const uint8_t *dt_symfile_bytes(Elf *elf, uint64_t address, size_t *left)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(elf, s))) {
		Elf_Data *d;

		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_type == SHT_NOBITS || address < sh.sh_addr ||
		    address - sh.sh_addr >= sh.sh_size)
			continue;
		d = elf_rawdata(s, NULL);
		if (!d || !d->d_buf || d->d_size < sh.sh_size)
			return NULL;
		*left = sh.sh_size - (address - sh.sh_addr);
		return (const uint8_t *)d->d_buf + (address - sh.sh_addr);
	}
	return NULL;
}
