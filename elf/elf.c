/* SPDX-License-Identifier: MIT */
/*
 * Reads an ELF file by pread into own memory: a file that is truncated or rewritten meanwhile can
 * give a wrong answer but no fault, as a mapping would. Every offset and size is checked against
 * the file before it is used.
 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/record.h"

#define HOLES (64ull << 20) /* bytes, and three times what is none */

struct dt_elf_section {
	uint64_t vaddr, offset, size, entsize;
	uint32_t type, link, name;
};

/* Executable bytes of the file, for checking sites. */
struct code {
	uint8_t *bytes;
	uint64_t vaddr, size;
};

static int read_at(const struct dt_elf *f, uint64_t offset, void *buf, uint64_t size)
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

/* A piece of the file with a NUL behind it, so that any string in it ends. Caller frees. */
static void *read_piece(const struct dt_elf *f, uint64_t offset, uint64_t size)
{
	char *p;

	if (offset > f->file_size || size > f->file_size - offset)
		return NULL;
	p = malloc(size + 1);
	if (!p)
		return NULL;
	if (read_at(f, offset, p, size)) {
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
		{EM_BPF, "BPF"},	 {EM_X86_64, "x86-64"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].machine == machine)
			return known[i].name;
	return NULL;
}

/* "#! /usr/bin/env python3" -> "/usr/bin/env python3", in place */
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
 * What a file is said to be long may be nothing but a hole: sizes in its headers can be that of the
 * file, and memory for them without end, though it takes no place on the disk. Holes are allowed as
 * far as linkers and tools leave some.
 */
static bool is_hollow(int fd, uint64_t size)
{
	uint64_t data = 0;
	off_t from = 0;

	while (size > HOLES && data < (size - HOLES) / 4) {
		off_t to;

		from = lseek(fd, from, SEEK_DATA);
		if (from < 0)
			return errno == ENXIO; /* no more; else it is not known where holes are */
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

	if (h->e_ident[EI_CLASS] == ELFCLASS32 && h->e_machine == EM_X86_64)
		return dt_fail(e, "%s is an x32 program (32-bit pointers), not a 64-bit one",
			       f->path);
	if (h->e_ident[EI_CLASS] == ELFCLASS32)
		return dt_fail(e, "%s is a 32-bit program (%s), not an x86-64 one", f->path,
			       name ? name : "unknown machine");
	if (name)
		return dt_fail(e, "%s is a program for %s, not for x86-64", f->path, name);
	return dt_fail(e, "%s is a program for machine number %u, not for x86-64", f->path,
		       (unsigned)h->e_machine);
}

static int check_header(const struct dt_elf *f, const Elf64_Ehdr *h, struct dt_error *e)
{
	if (h->e_ident[EI_CLASS] != ELFCLASS64 && h->e_ident[EI_CLASS] != ELFCLASS32)
		return dt_fail(e, "%s is damaged: ELF class %u does not exist", f->path,
			       (unsigned)h->e_ident[EI_CLASS]);
	if (h->e_ident[EI_DATA] == ELFDATA2MSB)
		return dt_fail(e, "%s is a big-endian program, not an x86-64 one", f->path);
	if (h->e_ident[EI_CLASS] == ELFCLASS32 || h->e_machine != EM_X86_64)
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
	/* the fields that say what the file is lie at the same place in both classes */
	memset(h, 0, sizeof(*h));
	if (read_at(f, 0, h, f->file_size < sizeof(*h) ? f->file_size : sizeof(*h)) ||
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

/* Section headers are a convenience, a program runs without: whatever is wrong means there are
 * none. */
static void read_sections(struct dt_elf *f, const Elf64_Ehdr *h, uint32_t *names, uint32_t *phnum)
{
	Elf64_Shdr *s = NULL, first;
	uint64_t n = h->e_shnum;

	*phnum = h->e_phnum;
	*names = h->e_shstrndx;
	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    read_at(f, h->e_shoff, &first, sizeof(first)))
		return;
	/* counts that do not fit the header are in the first section */
	if (!n)
		n = first.sh_size;
	if (*names == SHN_XINDEX)
		*names = first.sh_link;
	if (*phnum == PN_XNUM)
		*phnum = first.sh_info;
	if (!n || n > f->file_size / sizeof(Elf64_Shdr))
		return;
	s = read_piece(f, h->e_shoff, n * sizeof(Elf64_Shdr));
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

/* Notes are aligned to 4, and to 8 in segments that say so. */
static void read_notes(struct dt_elf *f, const Elf64_Phdr *p)
{
	uint64_t align = p->p_align == 8 ? 8 : 4, at = 0;
	uint8_t *notes;

	if (f->build_id[0] || p->p_filesz > 1 << 20)
		return;
	notes = read_piece(f, p->p_offset, p->p_filesz);
	if (!notes)
		return;
	while (p->p_filesz - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name = at + sizeof(n), desc, end;

		memcpy(&n, notes + at, sizeof(n));
		desc = (name + n.n_namesz + align - 1) & -align;
		end = (desc + n.n_descsz + align - 1) & -align;
		if (desc > p->p_filesz || n.n_descsz > p->p_filesz - desc)
			break;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz <= sizeof(f->build_id) / 2) {
			for (uint32_t i = 0; i < n.n_descsz; i++)
				dt_format(f->build_id + 2 * i, 3, "%02x", notes[desc + i]);
			break;
		}
		if (end > p->p_filesz)
			break;
		at = end;
	}
	free(notes);
}

static int read_segments(struct dt_elf *f, const Elf64_Ehdr *h, uint32_t phnum, struct dt_error *e)
{
	Elf64_Phdr *p = NULL;
	int ret = -1;

	if (!phnum || h->e_phentsize != sizeof(Elf64_Phdr))
		return dt_fail(e, "%s is damaged: it has no program headers", f->path);
	p = phnum <= f->file_size / sizeof(*p) ? read_piece(f, h->e_phoff, phnum * sizeof(*p))
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
			f->interp = read_piece(f, p[i].p_offset, p[i].p_filesz);
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

static const struct dt_elf_section *find_section(const struct dt_elf *f, const char *strings,
						 uint64_t size, const char *name)
{
	for (size_t i = 0; i < f->sections; i++)
		if (f->section[i].name < size && !strcmp(strings + f->section[i].name, name))
			return &f->section[i];
	return NULL;
}

/* The bytes at [address, address + n), or NULL when they are not all executable and in the file. */
static const uint8_t *code_at(const struct code *c, size_t n_code, uint64_t address, uint64_t n)
{
	for (size_t i = 0; i < n_code; i++) {
		uint64_t at = address - c[i].vaddr;

		if (address >= c[i].vaddr && at < c[i].size && n <= c[i].size - at)
			return c[i].bytes + at;
	}
	return NULL;
}

#define TABLE_JUMP 4 /* the kind, in the table of sleds, of what becomes DT_ELF_JUMP */

static uint64_t rel32(const uint8_t *p, uint64_t next)
{
	int32_t d;

	memcpy(&d, p, sizeof(d));
	return next + (uint64_t)(int64_t)d;
}

/* Is there a thunk (an optional notrack, jmp *slot(%rip)) for that hook slot at address? */
static bool is_thunk(const struct code *c, size_t n, uint64_t address, uint64_t slot)
{
	const uint8_t *p = code_at(c, n, address, 7);

	if (p && p[0] == 0x3e && p[1] == 0xff && p[2] == 0x25)
		return rel32(p + 3, address + 7) == slot;
	p = code_at(c, n, address, 6);
	return p && p[0] == 0xff && p[1] == 0x25 && rel32(p + 2, address + 6) == slot;
}

/*
 * The jump of a sled as the push behind it says, of the same operand, which is length bytes on: its
 * bytes, and of these the one that is toggled. Returns how many.
 */
static unsigned jump_of_push(const struct dt_insn *in, const uint8_t *push,
			     uint8_t jump[DT_INSN_MAX], unsigned *toggled)
{
	unsigned length = in->length;
	uint32_t distance;

	memcpy(jump, push, length);
	if (in->map == 0 && in->opcode >= 0x50 && in->opcode < 0x58) { /* of a register */
		jump[length - 1] = 0xff;
		jump[length] = (uint8_t)(0xe0 | (in->opcode & 7));
		*toggled = length - 1;
		return length + 1;
	}
	if (in->map != 0 || in->opcode != 0xff || !in->modrm_at || (in->modrm >> 3 & 7) != 6)
		return 0;
	*toggled = in->modrm_at - 1u;
	jump[in->modrm_at] = (uint8_t)((in->modrm & 0xc7) | 4 << 3);
	if (in->rip) {
		memcpy(&distance, jump + in->disp_at, sizeof(distance));
		distance += length;
		memcpy(jump + in->disp_at, &distance, sizeof(distance));
	}
	return length;
}

/*
 * A jump through a register or memory. The table has the address behind it, where the operand is
 * pushed; what stands in front is toggled. Returns where its call leads; 0: it is no such sled.
 */
static uint64_t check_jump(const struct code *c, size_t n, struct dt_elf_site *s)
{
	static const uint8_t pop[] = {0x48, 0x8d, 0x64, 0x24, 0x08};
	uint8_t jump[DT_INSN_MAX + 1];
	uint64_t behind = s->address;
	unsigned length, toggled = 0;
	const uint8_t *p, *q;
	struct dt_insn in;

	/* the shortest push, the call, the pop, the shortest jump; prefixes are the assembler's
	 * padding */
	while ((p = code_at(c, n, behind, 13)) &&
	       (*p == 0x2e || *p == 0x3e || *p == 0x26 || *p == 0x36) && behind - s->address < 8)
		behind++;
	if (!p || !dt_insn_decode(&in, p, 13, behind))
		return 0;
	length = jump_of_push(&in, p, jump, &toggled);
	p = code_at(c, n, behind + in.length, 5 + sizeof(pop) + 2);
	if (!length || !p || p[0] != 0xe8 || memcmp(p + 5, pop, sizeof(pop)))
		return 0;
	q = code_at(c, n, s->address - length, length);
	if (in.rip && behind != s->address) /* the distance is another one there */
		return 0;
	if (q && !memcmp(q, jump, length)) {
		s->kind = DT_ELF_JUMP;
		s->address -= length - toggled;
	} else if ((q = code_at(c, n, s->address - 6, 6)) && q[0] == 0xe9 && q[5] == 0x90 &&
		   in.rip) {
		s->target = rel32(q + 1, s->address - 1);
		s->kind = DT_ELF_JUMP_DIRECT;
		s->address -= 6;
	} else {
		return 0;
	}
	s->back = (uint8_t)(behind + in.length + 5 - s->address);
	return rel32(p + 1, behind + in.length + 5);
}

/* Does the site have the bytes of its kind, and lead to a thunk of this module? Sets target. */
static bool check_site(struct dt_elf *f, const struct code *c, size_t n, struct dt_elf_site *s)
{
	uint64_t a = s->address, *known = &f->thunk_exit, slot = f->hooks + 8, to;
	const uint8_t *p;

	switch (s->kind) {
	case DT_ELF_ENTRY:
		p = code_at(c, n, a, 5);
		if (!p || p[0] != 0xa9)
			return false;
		s->back = 5;
		to = rel32(p + 1, a + 5);
		known = &f->thunk_entry;
		slot = f->hooks;
		break;
	case DT_ELF_RETURN:
		p = code_at(c, n, a, 7);
		if (!p || p[0] != 0xc3 || p[1] != 0xe8 || p[6] != 0xc3)
			return false;
		s->back = 6;
		to = rel32(p + 2, a + 6);
		break;
	case DT_ELF_TAIL:
		p = code_at(c, n, a, 15);
		if (!p || p[0] != 0xe9 || p[5] != 0xe8 || p[10] != 0xe9 ||
		    rel32(p + 1, a + 5) != rel32(p + 11, a + 15))
			return false;
		s->back = 10;
		to = rel32(p + 6, a + 10);
		s->target = rel32(p + 1, a + 5);
		break;
	case TABLE_JUMP:
		to = check_jump(c, n, s);
		known = &f->thunk_jump;
		slot = f->hooks + 16;
		break;
	default:
		return false;
	}
	if (to == *known && to)
		return true;
	if (!is_thunk(c, n, to, slot))
		return false;
	if (!*known)
		*known = to;
	return true;
}

/*
 * Does a stub call this module's thunk where the table says that its hook returns to pc, with this
 * meta behind the call?
 */
static bool check_call(struct dt_elf *f, const struct code *c, size_t n, uint64_t pc, uint8_t kind,
		       uint8_t values)
{
	const uint8_t *p = code_at(c, n, pc - 5, 10), *thunk;
	uint64_t to;

	if (!p || p[0] != 0xe8 || p[5] != 0xa9 || p[6] != kind || p[7] != values || p[8] || p[9])
		return false;
	to = rel32(p + 1, pc);
	thunk = code_at(c, n, to, 8);
	if (!thunk || thunk[0] != 0x3e || thunk[7] != 0xc3)
		return false;
	for (int i = 0; i < 3; i++) {
		if (!is_thunk(c, n, to, f->event_hooks + 8u * (unsigned)i))
			continue;
		f->thunk_event[i] = to;
		return true;
	}
	return false;
}

static bool check_event(struct dt_elf *f, const struct code *c, size_t n,
			const struct dt_elf_site *s, const struct dt_elf_event *v)
{
	const uint8_t *p = code_at(c, n, s->address, 5);

	if (!p || p[0] != 0xa9 || !code_at(c, n, rel32(p + 1, s->address + 5), 5))
		return false;
	if (v->flags & DT_EVENT_CONTROL)
		return !v->kind && !v->more && check_call(f, c, n, v->pc, 0, 0);
	if (!v->kind)
		return !v->pc && !v->more;
	if (v->kind != DT_EVENT && v->kind != DT_SEND && v->kind != DT_RECEIVE)
		return false;
	if (v->values < 1 || v->values > 4 || !check_call(f, c, n, v->pc, v->kind, v->values))
		return false;
	return (v->flags & DT_EVENT_TEXT) ? check_call(f, c, n, v->more, DT_MORE, 4) : !v->more;
}

static int by_address(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void sort_sites(struct dt_elf *f)
{
	size_t kept = 0;

	qsort(f->site, f->sites, sizeof(*f->site), by_address);
	for (size_t i = 0; i < f->sites; i++)
		if (!kept || f->site[i].address != f->site[kept - 1].address)
			f->site[kept++] = f->site[i];
	f->bad_sites += f->sites - kept;
	f->sites = kept;
}

/* The slot that a PLT entry at address jumps through; 0: there is no PLT entry. */
static uint64_t plt_slot(const struct code *c, size_t n, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *p = code_at(c, n, address, 16);
	size_t at = 0;

	if (!p)
		return 0;
	if (!memcmp(p, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	at += p[at] == 0xf2; /* bnd */
	if (p[at] != 0xff || p[at + 1] != 0x25)
		return 0;
	return rel32(p + at + 2, address + at + 6);
}

/* The file's own function that the dynamic linker puts into slot; 0: none, or one elsewhere. */
static uint64_t slot_function(const struct dt_elf *f, const struct dt_elf_section *relocations,
			      const Elf64_Rela *rela, uint64_t slot)
{
	const struct dt_elf_section *symbols = &f->section[relocations->link];

	for (uint64_t i = 0; i < relocations->size / sizeof(*rela); i++) {
		uint64_t at = ELF64_R_SYM(rela[i].r_info) * sizeof(Elf64_Sym);
		Elf64_Sym sym;

		if (rela[i].r_offset != slot)
			continue;
		if (at >= symbols->size || symbols->size - at < sizeof(sym) ||
		    symbols->offset + at < at ||
		    read_at(f, symbols->offset + at, &sym, sizeof(sym)))
			return 0;
		return sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
	}
	return 0;
}

/* Follows tail jumps into the PLT as far as the file alone can tell. */
static void resolve_targets(struct dt_elf *f, const struct code *c, size_t n)
{
	for (size_t i = 0; i < f->sections; i++) {
		const struct dt_elf_section *s = &f->section[i];
		Elf64_Rela *rela;

		if (s->type != SHT_RELA || s->link >= f->sections ||
		    f->section[s->link].type != SHT_DYNSYM)
			continue;
		rela = read_piece(f, s->offset, s->size);
		for (size_t k = 0; rela && k < f->sites; k++) {
			struct dt_elf_site *site = &f->site[k];
			uint64_t slot = site->target ? plt_slot(c, n, site->target) : 0;
			uint64_t to = slot ? slot_function(f, s, rela, slot) : 0;

			if (to)
				site->target = to;
		}
		free(rela);
	}
}

static struct code *read_code(const struct dt_elf *f, size_t *n)
{
	struct code *c = calloc(f->loads, sizeof(*c));

	*n = 0;
	for (size_t i = 0; c && i < f->loads; i++) {
		const struct dt_elf_load *l = &f->load[i];

		if (!(l->flags & PF_X) || !l->filesz)
			continue;
		c[*n].bytes = read_piece(f, l->offset, l->filesz);
		if (!c[*n].bytes)
			continue;
		c[*n].vaddr = l->vaddr;
		c[(*n)++].size = l->filesz;
	}
	return c;
}

static int read_table(struct dt_elf *f, const struct dt_elf_section *table, struct dt_error *e)
{
	uint64_t count = table->size / 12;
	size_t n_code = 0;
	uint8_t *raw = read_piece(f, table->offset, table->size);
	struct code *c = raw ? read_code(f, &n_code) : NULL;
	int ret = -1;

	if (!raw) {
		ret = dt_fail(e, "%s is damaged: its table of sleds ends behind the file", f->path);
		goto out;
	}
	f->site = calloc(count + 1, sizeof(*f->site));
	if (!c || !f->site) {
		dt_fail(e, "out of memory reading %s", f->path);
		goto out;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = table->vaddr + 12 * i;
		const uint8_t *p = raw + 12 * i;
		struct dt_elf_site s = {
			.address = rel32(p, at),
			.function = rel32(p + 4, at + 4),
			.kind = p[8],
			.jumps = p[9] & 1,
		};

		if (!(p[9] & ~1) && !memcmp(p + 10, "\0", 2) && check_site(f, c, n_code, &s))
			f->site[f->sites++] = s;
		else
			f->bad_sites++;
	}
	sort_sites(f);
	f->sleds = f->toggles = f->sites;
	resolve_targets(f, c, n_code);
	ret = 0;
out:
	for (size_t i = 0; c && i < n_code; i++)
		free(c[i].bytes);
	free(c);
	free(raw);
	return ret;
}

/* An entry's address fields are relative to themselves; 0: there is none. */
static uint64_t field(const uint8_t *p, uint64_t at)
{
	static const uint8_t none[4];

	return memcmp(p, none, 4) ? rel32(p, at) : 0;
}

/* One entry of the table of events, whose size is known to fit. False: it makes no sense. */
static bool parse_event(const char *p, size_t size, uint64_t at, struct dt_elf_site *s,
			struct dt_elf_event *v)
{
	const uint8_t *b = (const uint8_t *)p;
	size_t first;

	first = strnlen(p + 24, size - 24);
	if (first == size - 24 || strnlen(p + 25 + first, size - 25 - first) == size - 25 - first)
		return false;
	s->address = s->function = rel32(b, at);
	v->pc = field(b + 4, at + 4);
	v->more = field(b + 8, at + 8);
	v->kind = b[12];
	v->values = b[13];
	memcpy(&v->subsystem, b + 16, 2);
	memcpy(&v->event, b + 18, 2);
	memcpy(&v->flags, b + 22, 2);
	v->subsystem_name = p + 24;
	v->event_name = p + 25 + first;
	return !b[14] && !b[15];
}

/* Adds the file's events to its sites. */
static int read_events(struct dt_elf *f, const struct dt_elf_section *table, struct dt_error *e)
{
	size_t n_code = 0, room = table->size / 28 + 1;
	char *raw = f->event_table = read_piece(f, table->offset, table->size);
	struct dt_elf_site *site;
	struct code *c;
	int ret = -1;

	/* before there is room for as many as it says to have */
	if (!raw)
		return dt_fail(e, "%s is damaged: its table of events ends behind the file",
			       f->path);
	c = read_code(f, &n_code);
	site = realloc(f->site, (f->sites + room) * sizeof(*site));
	if (site)
		f->site = site;
	f->event = calloc(room, sizeof(*f->event));
	if (!c || !site || !f->event) {
		dt_fail(e, "out of memory reading %s", f->path);
		goto out;
	}
	for (uint64_t at = 0; table->size - at >= 28;) {
		struct dt_elf_site s = {.kind = DT_ELF_EVENT, .event = (uint32_t)f->events};
		struct dt_elf_event *v = &f->event[f->events];
		uint16_t size;

		memcpy(&size, raw + at + 20, 2);
		if (size < 28 || size % 4 || size > table->size - at) {
			f->bad_sites++; /* what follows can not be found */
			break;
		}
		if (parse_event(raw + at, size, table->vaddr + at, &s, v) &&
		    check_event(f, c, n_code, &s, v)) {
			f->site[f->sites++] = s;
			f->events++;
		} else {
			f->bad_sites++;
		}
		at += size;
	}
	sort_sites(f);
	f->toggles = f->sites;
	ret = 0;
out:
	for (size_t i = 0; c && i < n_code; i++)
		free(c[i].bytes);
	free(c);
	return ret;
}

static int read_sites(struct dt_elf *f, uint32_t names, struct dt_error *e)
{
	const struct dt_elf_section *table, *hooks;
	char *strings;
	int ret = 0;

	if (names >= f->sections)
		return 0;
	strings = read_piece(f, f->section[names].offset, f->section[names].size);
	if (!strings)
		return 0;
	table = find_section(f, strings, f->section[names].size, "devtrace_sites");
	hooks = find_section(f, strings, f->section[names].size, "devtrace_hooks");
	if (table && hooks && table->type == SHT_PROGBITS && hooks->vaddr && hooks->size >= 32) {
		f->hooks = hooks->vaddr;
		ret = read_table(f, table, e);
	}
	table = find_section(f, strings, f->section[names].size, "devtrace_events");
	hooks = find_section(f, strings, f->section[names].size, "devtrace_event_hooks");
	if (!ret && table && hooks && table->type == SHT_PROGBITS && hooks->vaddr &&
	    hooks->size >= 32) {
		f->event_hooks = hooks->vaddr;
		ret = read_events(f, table, e);
	}
	free(strings);
	return ret;
}

/* One that is too long to be a file's name is none. */
static void read_soname(struct dt_elf *f)
{
	for (size_t i = 0; i < f->sections; i++) {
		const struct dt_elf_section *s = &f->section[i], *strings;
		Elf64_Dyn *dyn;

		if (s->type != SHT_DYNAMIC || s->link >= f->sections)
			continue;
		strings = &f->section[s->link];
		dyn = read_piece(f, s->offset, s->size);
		for (size_t k = 0; dyn && k < s->size / sizeof(*dyn); k++) {
			uint64_t at = dyn[k].d_un.d_val, n = sizeof(f->soname);

			if (dyn[k].d_tag != DT_SONAME || at >= strings->size)
				continue;
			n = strings->size - at < n ? strings->size - at : n;
			if (read_at(f, strings->offset + at, f->soname, n) ||
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
	if (read_segments(f, &h, phnum, e) || read_sites(f, names, e))
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
	free(f);
}

static int search_symbols(struct dt_elf *f, const struct dt_elf_section *table, const char *name,
			  Elf64_Sym *found)
{
	const struct dt_elf_section *strtab = &f->section[table->link];
	char *strings = read_piece(f, strtab->offset, strtab->size);
	Elf64_Sym *sym = read_piece(f, table->offset, table->size);
	int ret = -1;

	for (uint64_t i = 0; strings && sym && i < table->size / sizeof(*sym); i++) {
		if (sym[i].st_shndx == SHN_UNDEF || sym[i].st_name >= strtab->size ||
		    strcmp(strings + sym[i].st_name, name))
			continue;
		*found = sym[i];
		ret = 0;
		if (ELF64_ST_BIND(sym[i].st_info) != STB_LOCAL)
			break; /* better than a local one of that name */
	}
	free(strings);
	free(sym);
	return ret;
}

int dt_elf_symbol(struct dt_elf *f, const char *name, uint64_t *vaddr, uint64_t *size)
{
	Elf64_Sym sym;

	for (size_t i = 0; i < f->sections; i++) {
		const struct dt_elf_section *s = &f->section[i];

		if (s->type != SHT_SYMTAB && s->type != SHT_DYNSYM)
			continue;
		if (s->link >= f->sections || search_symbols(f, s, name, &sym))
			continue;
		*vaddr = sym.st_value;
		if (size)
			*size = sym.st_size;
		return 0;
	}
	return -1;
}

size_t dt_elf_site_from(const struct dt_elf *f, uint64_t address)
{
	size_t low = 0, high = f->sites;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->site[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct dt_elf_site *dt_elf_site_at(const struct dt_elf *f, uint64_t address)
{
	struct dt_elf_site key = {.address = address};

	return f->sites ? bsearch(&key, f->site, f->sites, sizeof(key), by_address) : NULL;
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

/* A section of this name that has bytes in the file; NULL: there is none. */
static const struct dt_elf_section *section_named(const struct dt_elf *f, const char *name)
{
	const struct dt_elf_section *s = NULL;
	char *strings = NULL;

	if (f->names < f->sections)
		strings = read_piece(f, f->section[f->names].offset, f->section[f->names].size);
	if (strings)
		s = find_section(f, strings, f->section[f->names].size, name);
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
	return read_piece(f, s->offset, s->size);
}

#define SEARCHED 65536u /* bytes of a section that are read at once */

/* The section is read in pieces into one small buffer: a new page costs more than the reading. */
uint64_t dt_elf_only(struct dt_elf *f, const char *name, const void *bytes, size_t n)
{
	const struct dt_elf_section *s = section_named(f, name);
	uint64_t found = 0, done = 0;
	uint8_t *piece = s ? malloc(SEARCHED) : NULL;

	while (piece && n <= s->size - done) {
		uint64_t left = s->size - done, size = left < SEARCHED ? left : SEARCHED;
		const uint8_t *at, *from = piece;

		if (read_at(f, s->offset + done, piece, size))
			goto not_known;
		while ((at = memmem(from, size - (size_t)(from - piece), bytes, n))) {
			if (found)
				goto not_known;
			found = s->vaddr + done + (uint64_t)(at - piece);
			from = at + 1;
		}
		done += size - n + 1; /* what lies over a piece's end begins in the next one */
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
