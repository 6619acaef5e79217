/* SPDX-License-Identifier: MIT */
/*
 * Reads an ELF file by pread() into memory of its own: if the file is truncated or rewritten
 * meanwhile, the result may be wrong, but there is no fault as with a mapping. Every offset and
 * size is checked against the file before it is used.
 */
#include "elf/elf-work.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/rare.h"
#include "core/record.h"
#include "core/search.h"
#include "elf/build-id.h"

/* bytes of holes that a file may have, besides three times its bytes of data */
#define HOLES (64ull << 20)

int dt_elf_read_at(const struct dt_elf *f, uint64_t offset, void *buf, uint64_t size)
{
	uint8_t *p = buf;

	if (offset > f->file_size || size > f->file_size - offset)
		return -1;
	while (size) {
		ssize_t n = pread(f->fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		offset += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

void *dt_elf_read_piece(const struct dt_elf *f, uint64_t offset, uint64_t size)
{
	char *p;

	if (offset > f->file_size || size > f->file_size - offset)
		return NULL;
	p = malloc(size + 1);
	if (!p)
		return NULL;
	if (dt_elf_read_at(f, offset, p, size)) {
		free(p);
		return NULL;
	}
	p[size] = '\0';
	return p;
}

static const char *machine_name(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} known[] = {
		{EM_386, "i386"},	 {EM_ARM, "ARM"},
		{EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},
		{EM_PPC, "PowerPC"},	 {EM_PPC64, "PowerPC 64"},
		{EM_S390, "s390"},	 {EM_MIPS, "MIPS"},
		{EM_SPARC, "SPARC"},	 {EM_SPARCV9, "SPARC V9"},
		{EM_IA_64, "Itanium"},	 {EM_68K, "m68k"},
		{EM_ALPHA, "Alpha"},	 {EM_PARISC, "PA-RISC"},
		{EM_SH, "SuperH"},	 {EM_LOONGARCH, "LoongArch"},
		{EM_BPF, "BPF"},	 {DT_MACHINE, DT_MACHINE_NAME},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].machine == machine)
			return known[i].name;
	return NULL;
}

/* Cuts "#! /usr/bin/env python3" to "/usr/bin/env python3", in place. */
static const char *interpreter(char *head)
{
	char *p = head + 2, *end;

	p += strspn(p, " \t");
	end = p + strcspn(p, "\r\n");
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	return p;
}

static int check_head(int fd, const char *path, struct dt_error *e)
{
	char head[256] = "";
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);

	if (n < 0)
		return dt_fail(e, "%s cannot be read: %s", path, strerror(errno));
	if (head[0] == '#' && head[1] == '!')
		return dt_fail(e, "%s is a script: trace its interpreter, %s", path,
			       interpreter(head));
	if (memcmp(head, ELFMAG, n < SELFMAG ? (size_t)n : SELFMAG))
		return dt_fail(e, "%s is not a program or library (no ELF file)", path);
	if (n < SELFMAG)
		return dt_fail(e, "%s is cut off: %ld bytes are no ELF file", path, (long)n);
	return 0;
}

/*
 * Does a file consist mostly of holes? Sizes in its headers can be as large as the file, so a file
 * that takes no place on the disk could demand memory without end. As many holes are allowed as
 * linkers and tools leave.
 */
static bool is_hollow(int fd, uint64_t size)
{
	uint64_t data = 0;
	off_t from = 0;

	while (size > HOLES && data < (size - HOLES) / 4) {
		off_t to;

		from = lseek(fd, from, SEEK_DATA);
		if (from < 0)
			/* no more data; with any other error it is not known where holes are */
			return errno == ENXIO;
		to = lseek(fd, from, SEEK_HOLE);
		if (to <= from)
			return false;
		data += (uint64_t)(to - from);
		from = to;
	}
	return false;
}

static int open_here(const char *path, int flags, int mode)
{
	return open(path, flags, mode);
}

int (*dt_elf_opens)(const char *path, int flags, int mode) = open_here;

int dt_elf_file(const char *path, bool elf_only, struct dt_error *e)
{
	struct stat st;
	int fd = dt_elf_opens(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0) {
		if (errno == EACCES && !stat(path, &st) && S_ISDIR(st.st_mode))
			return dt_fail(e, "%s is a directory, not a program", path);
		return dt_fail(e, "%s cannot be opened: %s", path, strerror(errno));
	}
	if (fstat(fd, &st)) {
		dt_fail(e, "%s cannot be examined: %s", path, strerror(errno));
		goto fail;
	}
	if (S_ISDIR(st.st_mode)) {
		dt_fail(e, "%s is a directory, not a program", path);
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		dt_fail(e, "%s is not a regular file", path);
		goto fail;
	}
	if (!st.st_size) {
		dt_fail(e, "%s is empty", path);
		goto fail;
	}
	if (elf_only && check_head(fd, path, e))
		goto fail;
	if (is_hollow(fd, (uint64_t)st.st_size)) {
		dt_fail(e, "%s is damaged: nearly all of its %lu bytes are holes", path,
			(unsigned long)st.st_size);
		goto fail;
	}
	return fd;
fail:
	close(fd);
	return -1;
}

static bool read_exactly(int fd, void *buf, size_t n, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

bool dt_elf_debuglink(int fd, char *name, size_t size)
{
	static const char wanted[] = ".gnu_debuglink";
	char is[sizeof(wanted)];
	Elf64_Shdr strings, s;
	Elf64_Ehdr h;

	if (!read_exactly(fd, &h, sizeof(h), 0) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_shentsize != sizeof(s) || h.e_shstrndx >= h.e_shnum ||
	    !read_exactly(fd, &strings, sizeof(strings), h.e_shoff + h.e_shstrndx * sizeof(s)))
		return false;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		if (!read_exactly(fd, &s, sizeof(s), h.e_shoff + i * sizeof(s)))
			return false;
		if (!read_exactly(fd, is, sizeof(is), strings.sh_offset + s.sh_name) ||
		    memcmp(is, wanted, sizeof(wanted)))
			continue;
		memset(name, 0, size);
		return s.sh_size >= 6 &&
		       read_exactly(fd, name, s.sh_size < size ? s.sh_size : size, s.sh_offset) &&
		       name[0] && memchr(name, '\0', size) && !strchr(name, '/');
	}
	return false;
}

static int bad_machine(const struct dt_elf *f, const Elf64_Ehdr *h, struct dt_error *e)
{
	const char *name = machine_name(h->e_machine);

	if (h->e_ident[EI_CLASS] == ELFCLASS32 && h->e_machine == DT_MACHINE)
		return dt_fail(e, "%s is an x32 program (32-bit pointers), not a 64-bit one",
			       f->path);
	if (h->e_ident[EI_CLASS] == ELFCLASS32)
		return dt_fail(e, "%s is a 32-bit program (%s), not an " DT_MACHINE_NAME " one",
			       f->path, name ? name : "unknown machine");
	if (name)
		return dt_fail(e, "%s is a program for %s, not for " DT_MACHINE_NAME, f->path,
			       name);
	return dt_fail(e, "%s is a program for machine number %u, not for " DT_MACHINE_NAME,
		       f->path, (unsigned)h->e_machine);
}

static int check_header(const struct dt_elf *f, const Elf64_Ehdr *h, struct dt_error *e)
{
	if (h->e_ident[EI_CLASS] != ELFCLASS64 && h->e_ident[EI_CLASS] != ELFCLASS32)
		return dt_fail(e, "%s is damaged: ELF class %u does not exist", f->path,
			       (unsigned)h->e_ident[EI_CLASS]);
	if (h->e_ident[EI_DATA] == ELFDATA2MSB)
		return dt_fail(e, "%s is a big-endian program, not an " DT_MACHINE_NAME " one",
			       f->path);
	if (h->e_ident[EI_CLASS] == ELFCLASS32 || h->e_machine != DT_MACHINE)
		return bad_machine(f, h, e);
	if (h->e_type == ET_REL)
		return dt_fail(e, "%s is an object file: link it first", f->path);
	if (h->e_type == ET_CORE)
		return dt_fail(e, "%s is a core dump, not a program", f->path);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return dt_fail(e, "%s is damaged: ELF type %u does not exist", f->path,
			       (unsigned)h->e_type);
	return 0;
}

static int read_header(struct dt_elf *f, Elf64_Ehdr *h, struct dt_error *e)
{
	/* the fields that say what the file is are at the same place in 32-bit and 64-bit files */
	memset(h, 0, sizeof(*h));
	if (dt_elf_read_at(f, 0, h, f->file_size < sizeof(*h) ? f->file_size : sizeof(*h)) ||
	    f->file_size < offsetof(Elf64_Ehdr, e_entry))
		return dt_fail(e, "%s is cut off inside its ELF header", f->path);
	if (check_header(f, h, e))
		return -1;
	if (f->file_size < sizeof(*h))
		return dt_fail(e, "%s is cut off inside its ELF header", f->path);
	f->type = h->e_type;
	f->machine = h->e_machine;
	f->entry = h->e_entry;
	return 0;
}

/* Reads the section headers. A program runs without them, so if anything is wrong with them, the
 * file has none. */
static void read_sections(struct dt_elf *f, const Elf64_Ehdr *h, uint32_t *names, uint32_t *phnum)
{
	Elf64_Shdr *s = NULL, first;
	uint64_t n = h->e_shnum;

	*phnum = h->e_phnum;
	*names = h->e_shstrndx;
	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    dt_elf_read_at(f, h->e_shoff, &first, sizeof(first)))
		return;
	/* counts that do not fit into the header are in the first section header */
	if (!n)
		n = first.sh_size;
	if (*names == SHN_XINDEX)
		*names = first.sh_link;
	if (*phnum == PN_XNUM)
		*phnum = first.sh_info;
	if (!n || n > f->file_size / sizeof(Elf64_Shdr))
		return;
	s = dt_elf_read_piece(f, h->e_shoff, n * sizeof(Elf64_Shdr));
	f->section = s ? calloc(n, sizeof(*f->section)) : NULL;
	if (!f->section)
		goto out;
	f->sections = n;
	for (uint64_t i = 0; i < n; i++)
		f->section[i] = (struct dt_elf_section){
			.vaddr = s[i].sh_addr,
			.offset = s[i].sh_offset,
			.size = s[i].sh_size,
			.entsize = s[i].sh_entsize,
			.type = s[i].sh_type,
			.link = s[i].sh_link,
			.name = s[i].sh_name,
		};
out:
	free(s);
}

static int add_load(struct dt_elf *f, const Elf64_Phdr *p, struct dt_error *e)
{
	if (p->p_filesz > p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
		return dt_fail(e, "%s is damaged: a segment's size makes no sense", f->path);
	if (p->p_offset > f->file_size || p->p_filesz > f->file_size - p->p_offset)
		return dt_fail(e, "%s is cut off: a segment ends behind the file", f->path);
	if (!p->p_memsz)
		return 0;
	if (!f->loads || p->p_vaddr < f->low)
		f->low = p->p_vaddr;
	if (p->p_vaddr + p->p_memsz > f->high)
		f->high = p->p_vaddr + p->p_memsz;
	f->load[f->loads++] = (struct dt_elf_load){
		.vaddr = p->p_vaddr,
		.offset = p->p_offset,
		.filesz = p->p_filesz,
		.memsz = p->p_memsz,
		.flags = p->p_flags,
	};
	return 0;
}

/* Reads a segment of notes, which are aligned to 4 bytes, or to 8 if the segment says so. */
static void read_notes(struct dt_elf *f, const Elf64_Phdr *p)
{
	uint64_t align = p->p_align == 8 ? 8 : 4;
	uint8_t *notes;

	if (f->build_id[0] || p->p_filesz > 1 << 20)
		return;
	notes = dt_elf_read_piece(f, p->p_offset, p->p_filesz);
	if (!notes)
		return;
	dt_build_id_in(notes, p->p_filesz, align, f->build_id);
	free(notes);
}

static int read_segments(struct dt_elf *f, const Elf64_Ehdr *h, uint32_t phnum, struct dt_error *e)
{
	Elf64_Phdr *p = NULL;
	int ret = -1;

	if (!phnum || h->e_phentsize != sizeof(Elf64_Phdr))
		return dt_fail(e, "%s is damaged: it has no program headers", f->path);
	p = phnum <= f->file_size / sizeof(*p)
		    ? dt_elf_read_piece(f, h->e_phoff, phnum * sizeof(*p))
		    : NULL;
	if (!p)
		return dt_fail(e, "%s is cut off inside its program headers", f->path);
	f->load = calloc(phnum, sizeof(*f->load));
	if (!f->load) {
		dt_fail(e, "out of memory reading %s", f->path);
		goto out;
	}
	for (uint32_t i = 0; i < phnum; i++) {
		if (p[i].p_type == PT_LOAD && add_load(f, &p[i], e))
			goto out;
		if (p[i].p_type == PT_INTERP && !f->interp && p[i].p_filesz <= PATH_MAX)
			f->interp = dt_elf_read_piece(f, p[i].p_offset, p[i].p_filesz);
		if (p[i].p_type == PT_NOTE)
			read_notes(f, &p[i]);
	}
	if (!f->loads) {
		dt_fail(e, "%s is damaged: it has no loadable segment", f->path);
		goto out;
	}
	ret = 0;
out:
	free(p);
	return ret;
}

/* Reads the soname; one that is too long for a file name is ignored. */
static void read_soname(struct dt_elf *f)
{
	for (size_t i = 0; i < f->sections; i++) {
		const struct dt_elf_section *s = &f->section[i], *strings;
		Elf64_Dyn *dyn;

		if (s->type != SHT_DYNAMIC || s->link >= f->sections)
			continue;
		strings = &f->section[s->link];
		dyn = dt_elf_read_piece(f, s->offset, s->size);
		for (size_t k = 0; dyn && k < s->size / sizeof(*dyn); k++) {
			uint64_t at = dyn[k].d_un.d_val, n = sizeof(f->soname);

			if (dyn[k].d_tag != DT_SONAME || at >= strings->size)
				continue;
			n = strings->size - at < n ? strings->size - at : n;
			if (dt_elf_read_at(f, strings->offset + at, f->soname, n) ||
			    !memchr(f->soname, 0, n))
				f->soname[0] = '\0';
		}
		free(dyn);
	}
}

struct dt_elf *dt_elf_open(const char *path, struct dt_error *e)
{
	struct dt_elf *f = calloc(1, sizeof(*f));
	uint32_t names, phnum;
	struct stat st;
	Elf64_Ehdr h;

	if (!f) {
		dt_fail(e, "out of memory reading %s", path);
		return NULL;
	}
	f->fd = dt_elf_file(path, true, e);
	if (f->fd < 0)
		goto fail;
	f->path = strdup(path);
	if (!f->path || fstat(f->fd, &st)) {
		dt_fail(e, "out of memory reading %s", path);
		goto fail;
	}
	f->file_size = (uint64_t)st.st_size;
	if (read_header(f, &h, e))
		goto fail;
	read_sections(f, &h, &names, &phnum);
	f->names = names;
	if (read_segments(f, &h, phnum, e) || dt_elf_read_sites(f, names, e))
		goto fail;
	read_soname(f);
	return f;
fail:
	dt_elf_close(f);
	return NULL;
}

void dt_elf_close(struct dt_elf *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->interp);
	free(f->load);
	free(f->site);
	free(f->event);
	free(f->event_table);
	free(f->section);
	free(f->usual);
	free(f);
}

/* A name that is searched for, and the symbol. */
struct dt_elf_answer {
	const char *name;
	bool there, local;
	uint64_t vaddr, size;
};

static void note_symbol(struct dt_elf_answer *a, const Elf64_Sym *sym)
{
	/* a global symbol is better than a local one of that name */
	if (a->there && !a->local)
		return;
	a->there = true;
	a->local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL;
	a->vaddr = sym->st_value;
	a->size = sym->st_size;
}

/* Searches a table for n names at once: tables may be large. */
static void search_table(struct dt_elf *f, const struct dt_elf_section *table,
			 struct dt_elf_answer *a, size_t n)
{
	const struct dt_elf_section *strtab = &f->section[table->link];
	char *strings = dt_elf_read_piece(f, strtab->offset, strtab->size);
	Elf64_Sym *sym = dt_elf_read_piece(f, table->offset, table->size);
	bool first[256] = {false};

	for (size_t k = 0; k < n; k++)
		first[(unsigned char)a[k].name[0]] = true;
	for (uint64_t i = 0; strings && sym && i < table->size / sizeof(*sym); i++) {
		const char *name = strings + sym[i].st_name;

		if (sym[i].st_shndx == SHN_UNDEF || sym[i].st_name >= strtab->size ||
		    !first[(unsigned char)name[0]])
			continue;
		for (size_t k = 0; k < n; k++)
			if (!strcmp(name, a[k].name))
				note_symbol(&a[k], &sym[i]);
	}
	free(strings);
	free(sym);
}

/* Searches all tables; of two that have a name, the first counts. */
static void search_symbols(struct dt_elf *f, struct dt_elf_answer *a, size_t n)
{
	for (size_t i = 0; i < f->sections; i++) {
		const struct dt_elf_section *s = &f->section[i];

		if ((s->type != SHT_SYMTAB && s->type != SHT_DYNSYM) || s->link >= f->sections)
			continue;
		search_table(f, s, a, n);
		for (size_t k = 0; k < n; k++)
			a[k].local = false; /* the next table changes nothing of what is there */
	}
}

/* Returns the answer for one of the names that are mostly asked for, which are all searched for
 * when the first is; NULL: it is another, or there is no memory. */
static const struct dt_elf_answer *usual(struct dt_elf *f, const char *name)
{
	static const struct dt_elf_answer names[] = {
		{.name = "__rseq_size"},
		{.name = "__rseq_offset"},
		{.name = "_thread_db_pthread_tid"},
		{.name = "__errno_location"},
		{.name = "gnu_get_libc_version"},
		{.name = "__libc_setup_tls"},
		{.name = "_dl_debug_state"},
		{.name = "execve"},
		{.name = "execveat"},
		{.name = "vfork"},
		{.name = "clone"},
		{.name = "syscall"},
		{.name = "internal/runtime/syscall.Syscall6"},
		{.name = "runtime/internal/syscall.Syscall6"},
	};
	size_t n = sizeof(names) / sizeof(*names), k = 0;

	while (k < n && strcmp(names[k].name, name) != 0)
		k++;
	if (k == n)
		return NULL;
	if (!f->usual) {
		f->usual = malloc(sizeof(names));
		if (!f->usual)
			return NULL;
		memcpy(f->usual, names, sizeof(names));
		search_symbols(f, f->usual, n);
	}
	return &f->usual[k];
}

int dt_elf_symbol(struct dt_elf *f, const char *name, uint64_t *vaddr, uint64_t *size)
{
	struct dt_elf_answer one = {.name = name};
	const struct dt_elf_answer *a = usual(f, name);

	if (!a) {
		search_symbols(f, &one, 1);
		a = &one;
	}
	if (!a->there)
		return -1;
	*vaddr = a->vaddr;
	if (size)
		*size = a->size;
	return 0;
}

size_t dt_elf_site_from(const struct dt_elf *f, uint64_t address)
{
	return dt_count_before(f->sites, i, f->site[i].address < address);
}

const struct dt_elf_site *dt_elf_site_at(const struct dt_elf *f, uint64_t address)
{
	size_t i = dt_elf_site_from(f, address);

	return i < f->sites && f->site[i].address == address ? &f->site[i] : NULL;
}

const struct dt_elf_site *dt_elf_event_at(const struct dt_elf *f, uint64_t pc)
{
	size_t event = 0;

	while (event < f->events &&
	       (!pc || (f->event[event].pc != pc && f->event[event].more != pc)))
		event++;
	for (size_t i = 0; event < f->events && i < f->sites; i++)
		if (f->site[i].kind == DT_ELF_EVENT && f->site[i].event == event)
			return &f->site[i];
	return NULL;
}

/* Returns a section of this name that has bytes in the file, or NULL. */
static const struct dt_elf_section *section_named(const struct dt_elf *f, const char *name)
{
	const struct dt_elf_section *s = NULL;
	char *strings = NULL;

	if (f->names < f->sections)
		strings = dt_elf_read_piece(f, f->section[f->names].offset,
					    f->section[f->names].size);
	if (strings)
		s = dt_elf_find_section(f, strings, f->section[f->names].size, name);
	free(strings);
	return s && s->type != SHT_NOBITS ? s : NULL;
}

char *dt_elf_section(struct dt_elf *f, const char *name, uint64_t *size, uint64_t *vaddr)
{
	const struct dt_elf_section *s = section_named(f, name);

	if (!s)
		return NULL;
	*size = s->size;
	if (vaddr)
		*vaddr = s->vaddr;
	return dt_elf_read_piece(f, s->offset, s->size);
}

#define SEARCHED 65536u /* bytes of a section that are read at once */

/*
 * Reads the section in pieces into one small buffer, since new pages of memory would cost more than
 * the reading.
 */
uint64_t dt_elf_only(struct dt_elf *f, const char *name, const void *bytes, size_t n)
{
	const struct dt_elf_section *s = section_named(f, name);
	uint64_t found = 0, done = 0;
	uint8_t *piece = s ? malloc(SEARCHED) : NULL;

	while (piece && n <= s->size - done) {
		uint64_t left = s->size - done, size = left < SEARCHED ? left : SEARCHED;
		const uint8_t *at, *from = piece;

		if (dt_elf_read_at(f, s->offset + done, piece, size))
			goto not_known;
		while ((at = dt_rare_find(from, size - (size_t)(from - piece), bytes, n))) {
			if (found)
				goto not_known;
			found = s->vaddr + done + (uint64_t)(at - piece);
			from = at + 1;
		}
		done += size - n + 1; /* bytes across a piece's end are found in the next one */
	}
	free(piece);
	return found;
not_known:
	free(piece);
	return 0;
}

bool dt_elf_is_code(const struct dt_elf *f, uint64_t address)
{
	for (size_t i = 0; i < f->loads; i++)
		if (f->load[i].flags & PF_X && address >= f->load[i].vaddr &&
		    address - f->load[i].vaddr < f->load[i].filesz)
			return true;
	return false;
}
