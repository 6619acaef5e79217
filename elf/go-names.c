/* SPDX-License-Identifier: MIT */
/*
 * The table begins with a magic number, two bytes 0, the smallest size of an instruction and that
 * of a pointer. Then come words of the size of a pointer: how many functions there are, and from
 * Go 1.16 on the offsets of the table's parts. One part is pairs of a function's address and the
 * offset of its description, and after the last pair the address behind the last function. In the
 * description the offset of the name, 4 bytes, follows the function's address. From Go 1.18 on both
 * numbers of a pair have 4 bytes and addresses are counted from where Go's code begins.
 */
#include "elf/go-names.h"

#include <gelf.h>
#include <string.h>

#include "arch/arch.h"

#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define HEAD	  8	/* bytes before the words */
#define NAME_MOST 65536 /* bytes of a name at most */

/* A table, and its parts: each goes up to the table's end. */
struct table {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address; /* where it is loaded */
	uint64_t functions;
	uint64_t text;	    /* what addresses are counted from; 0: they are whole */
	uint64_t names;	    /* offset of the names' part */
	uint64_t pairs;	    /* offset of the pairs */
	uint64_t described; /* offset of what offsets of descriptions are counted from */
	unsigned word;	    /* bytes of each number in a pair */
};

static uint64_t number_at(const struct table *t, uint64_t at, unsigned size)
{
	uint32_t v32;
	uint64_t v;

	if (size == 4) {
		memcpy(&v32, t->bytes + at, sizeof(v32));
		return v32;
	}
	memcpy(&v, t->bytes + at, sizeof(v));
	return v;
}

/* Returns word i behind the head. */
static uint64_t word_at(const struct table *t, unsigned i)
{
	return number_at(t, HEAD + 8 * i, 8);
}

/* Returns the address that the dynamic linker puts at an address when nothing is loaded elsewhere
 * than the file says; 0: there is no such relocation. */
static uint64_t relocated(Elf *elf, uint64_t address)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;
	GElf_Rela r;

	while ((s = elf_nextscn(elf, s))) {
		Elf_Data *d;
		size_t n;

		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		d = elf_getdata(s, NULL);
		n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
		for (size_t i = 0; i < n && i <= INT32_MAX; i++)
			if (gelf_getrela(d, (int)i, &r) && r.r_offset == address &&
			    dt_relocation_of(GELF_R_TYPE(r.r_info)) == DT_RELOCATION_RELATIVE)
				return (uint64_t)r.r_addend;
	}
	return 0;
}

/* Is that the first bytes of a table? */
static bool is_head(const uint8_t *bytes, uint64_t size, uint32_t *magic)
{
	if (size < HEAD + 8 * 8)
		return false;
	memcpy(magic, bytes, sizeof(*magic));
	return (*magic == MAGIC_1_2 || *magic == MAGIC_1_16 || *magic == MAGIC_1_18 ||
		*magic == MAGIC_1_20) &&
	       !bytes[4] && !bytes[5] && bytes[6] == DT_CODE_STEP && bytes[7] == 8;
}

/* Reads where the parts are. t has bytes, size and address. Returns false if that can not be. */
static bool read_head(struct table *t, Elf *elf, uint32_t magic)
{
	t->functions = word_at(t, 0);
	t->word = 8;
	if (magic == MAGIC_1_2) {
		t->pairs = HEAD + 8;
	} else if (magic == MAGIC_1_16) {
		t->names = word_at(t, 2);
		t->pairs = t->described = word_at(t, 6);
	} else {
		t->text = word_at(t, 2);
		if (!t->text)
			t->text = relocated(elf, t->address + HEAD + 2 * 8);
		t->names = word_at(t, 3);
		t->pairs = t->described = word_at(t, 7);
		t->word = 4;
		if (!t->text)
			return false;
	}
	return t->names < t->size && t->pairs < t->size && t->functions &&
	       t->functions <= (t->size - t->pairs) / (2 * t->word) &&
	       (t->size - t->pairs) - 2 * t->word * t->functions >= t->word;
}

/* Returns the name of function i; NULL: the table is not sound. */
static const char *name_of(const struct table *t, uint64_t i)
{
	uint64_t at = number_at(t, t->pairs + (2 * i + 1) * t->word, t->word), left;
	const char *name;

	/* its address, and the offset of its name */
	if (at > t->size - t->described || t->size - t->described - at < t->word + 4u)
		return NULL;
	at = number_at(t, t->described + at + t->word, 4);
	if (at >= t->size - t->names)
		return NULL;
	name = (const char *)t->bytes + t->names + at;
	left = t->size - t->names - at;
	return memchr(name, 0, left < NAME_MOST ? left : NAME_MOST) ? name : NULL;
}

static bool tell(const struct table *t,
		 bool (*fn)(void *ctx, uint64_t address, uint64_t size, const char *name),
		 void *ctx)
{
	uint64_t next = number_at(t, t->pairs, t->word);

	for (uint64_t i = 0; i < t->functions; i++) {
		uint64_t at = next;
		const char *name = name_of(t, i);

		next = number_at(t, t->pairs + 2 * (i + 1) * t->word, t->word);
		if (!name || next < at || t->text + next < next)
			return false;
		if (*name && next > at && !fn(ctx, t->text + at, next - at, name))
			return true;
	}
	return true;
}

/* ---- where the table is ---- */

/* Reads the table at bytes, if it is one. */
static bool is_table(struct table *t, Elf *elf, const uint8_t *bytes, uint64_t size,
		     uint64_t address)
{
	uint32_t magic;

	*t = (struct table){.bytes = bytes, .size = size, .address = address};
	return is_head(bytes, size, &magic) && read_head(t, elf, magic);
}

/* Looks for the table by its section. bytes: whether it is to be looked for by its bytes otherwise,
 * as a linker other than Go's may have put it into a section with other data. */
static bool find_section(struct table *t, Elf *elf, size_t names, bool *bytes)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	*bytes = false;

	while ((s = elf_nextscn(elf, s))) {
		const char *name = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *d;

		*bytes = *bytes || (name && (!strcmp(name, ".go.buildinfo") ||
					     !strcmp(name, ".note.go.buildid")));
		/* of a program at any address, it is .data.rel.ro.gopclntab */
		if (!name || !strstr(name, ".gopclntab") || sh.sh_type == SHT_NOBITS)
			continue;
		d = elf_rawdata(s, NULL);
		if (d && d->d_buf && is_table(t, elf, d->d_buf, d->d_size, sh.sh_addr))
			return true;
	}
	return false;
}

/* Looks for the table by its bytes. If there are several, as in a program that has another one as
 * data, none is found. */
static bool find_bytes(struct table *t, Elf *elf, uint64_t size)
{
	struct table found = {0};
	size_t headers = 0;
	uint64_t left = size; /* segments may be the same bytes: together they are not larger */
	const Elf_Data *d;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &headers))
		return false;
	for (size_t i = 0; i < headers; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || ph.p_flags & PF_X ||
		    ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		if (ph.p_filesz > left)
			return false;
		left -= ph.p_filesz;
		/* elf_rawfile() would do, but libelf 0.188 leaks the sections that were read before
		 * it */
		d = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		if (!d || !d->d_buf || d->d_size < ph.p_filesz)
			continue;
		/* it is at an address that a pointer can have */
		for (uint64_t at = -ph.p_vaddr & 7; at < ph.p_filesz; at += 8)
			if (is_table(&found, elf, (const uint8_t *)d->d_buf + at, ph.p_filesz - at,
				     ph.p_vaddr + at)) {
				if (t->bytes)
					return false;
				*t = found;
			}
	}
	return t->bytes != NULL;
}

bool dt_go_names(Elf *elf, uint64_t size,
		 bool (*fn)(void *ctx, uint64_t address, uint64_t bytes, const char *name),
		 void *ctx)
{
	struct table t = {0};
	size_t names, sections;
	bool bytes = true;
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh) || eh.e_machine != DT_MACHINE ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || elf_getshdrnum(elf, &sections))
		return false;
	if (sections && !elf_getshdrstrndx(elf, &names) && find_section(&t, elf, names, &bytes))
		return tell(&t, fn, ctx);
	t = (struct table){0};
	return bytes && find_bytes(&t, elf, size) && tell(&t, fn, ctx);
}
