/* SPDX-License-Identifier: MIT */
#include "elf/build-id.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

#define HEADERS 65536u	   /* headers of a kind that are looked at, at most */
#define NOTES	(1u << 20) /* bytes of notes that are read at once, at most; real ones are short */
#define TRIES	64	   /* pieces of notes that are read, at most */

bool dt_build_id_in(const uint8_t *notes, uint64_t size, uint64_t align, char id[DT_BUILD_ID])
{
	uint64_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name = at + sizeof(n), desc, end;

		memcpy(&n, notes + at, sizeof(n));
		desc = (name + n.n_namesz + align - 1) & -align;
		end = (desc + n.n_descsz + align - 1) & -align;
		if (desc > size || n.n_descsz > size - desc)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz <= DT_BUILD_ID / 2) {
			for (uint32_t i = 0; i < n.n_descsz; i++)
				dt_format(id + 2 * i, 3, "%02x", notes[desc + i]);
			return n.n_descsz > 0;
		}
		if (end > size)
			return false;
		at = end;
	}
	return false;
}

static bool read_exactly(int fd, void *buf, size_t n, uint64_t offset)
{
	char *p = buf;

	while (n) {
		ssize_t got = offset > INT64_MAX ? 0 : pread(fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

/* Looks into one piece of notes. */
static bool in_piece(int fd, uint64_t offset, uint64_t size, uint64_t align, char id[DT_BUILD_ID])
{
	uint8_t *notes = size && size <= NOTES ? malloc(size) : NULL;
	bool found = notes && read_exactly(fd, notes, size, offset) &&
		     dt_build_id_in(notes, size, align == 8 ? 8 : 4, id);

	free(notes);
	return found;
}

static bool in_sections(int fd, const Elf64_Ehdr *h, char id[DT_BUILD_ID])
{
	uint64_t n = h->e_shnum;
	unsigned tries = 0;
	Elf64_Shdr s;

	if (h->e_shentsize != sizeof(s))
		return false;
	/* more of them than fit into e_shnum: the first says how many */
	if (!n && h->e_shoff && read_exactly(fd, &s, sizeof(s), h->e_shoff))
		n = s.sh_size;
	for (uint64_t i = 0; i < n && i < HEADERS && tries < TRIES; i++) {
		if (!read_exactly(fd, &s, sizeof(s), h->e_shoff + i * sizeof(s)))
			return false;
		if (s.sh_type != SHT_NOTE)
			continue;
		tries++;
		if (in_piece(fd, s.sh_offset, s.sh_size, s.sh_addralign, id))
			return true;
	}
	return false;
}

static bool in_segments(int fd, const Elf64_Ehdr *h, char id[DT_BUILD_ID])
{
	unsigned tries = 0;
	Elf64_Phdr p;

	if (h->e_phentsize != sizeof(p))
		return false;
	for (unsigned i = 0; i < h->e_phnum && tries < TRIES; i++) {
		if (!read_exactly(fd, &p, sizeof(p), h->e_phoff + i * sizeof(p)))
			return false;
		if (p.p_type != PT_NOTE)
			continue;
		tries++;
		if (in_piece(fd, p.p_offset, p.p_filesz, p.p_align, id))
			return true;
	}
	return false;
}

bool dt_build_id_read(int fd, char id[DT_BUILD_ID])
{
	Elf64_Ehdr h;

	id[0] = '\0';
	return read_exactly(fd, &h, sizeof(h), 0) && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
	       h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB &&
	       (in_sections(fd, &h, id) || in_segments(fd, &h, id));
}

bool dt_build_id_is(const char *id)
{
	size_t n = strspn(id, "0123456789abcdef");

	return !id[n] && n >= 8 && n < DT_BUILD_ID && n % 2 == 0;
}
