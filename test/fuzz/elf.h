/* SPDX-License-Identifier: MIT */
/* Changing ELF files where they have structure: their headers, and what is in one section. */
#ifndef DT_TEST_FUZZ_ELF_H
#define DT_TEST_FUZZ_ELF_H

#include <elf.h>

#include "test/fuzz/fuzz.h"

/* Numbers of 1, 2, 4 or 8 bytes in [at, at + n) of the file. */
static inline void fuzz_elf_numbers(uint64_t *seed, uint8_t *p, size_t n)
{
	for (uint64_t k = 1 + fuzz_random(seed, 3); n && k; k--) {
		size_t width = (size_t)1 << fuzz_random(seed, 4), at;
		uint64_t v = 0;

		if (width > n)
			width = 1;
		at = fuzz_random(seed, n - width + 1);
		if (fuzz_random(seed, 3)) /* most are aligned */
			at -= at % width;
		memcpy(&v, p + at, width);
		v = fuzz_another(seed, v);
		memcpy(p + at, &v, width);
	}
}

/* What a section header says, when it lies in the file. */
static inline uint8_t *fuzz_elf_content(uint8_t *data, size_t size, const Elf64_Shdr *s, size_t *n)
{
	*n = 0;
	if (s->sh_type == SHT_NOBITS || s->sh_offset >= size || s->sh_size > size - s->sh_offset)
		return NULL;
	*n = s->sh_size;
	return data + s->sh_offset;
}

/* Its length stays: nothing in it moves. wanted: is this section one that is to be changed? NULL:
 * all are. */
static inline size_t fuzz_elf_mutate(uint8_t *data, size_t size, size_t max, unsigned from,
				     int (*wanted)(const char *name))
{
	uint64_t seed = from;
	Elf64_Ehdr h;
	Elf64_Shdr s, names;
	uint8_t *p = NULL, *strings;
	size_t n = 0, strings_n, at;

	if (size < sizeof(h) || fuzz_random(&seed, 30) == 0)
		return LLVMFuzzerMutate(data, size, max);
	memcpy(&h, data, sizeof(h));
	at = h.e_shoff + (uint64_t)h.e_shstrndx * sizeof(s);
	if (h.e_shoff > size || h.e_shnum > (size - h.e_shoff) / sizeof(s) ||
	    h.e_shstrndx >= h.e_shnum) {
		fuzz_elf_numbers(&seed, data, size);
		return size;
	}
	if (fuzz_random(&seed, 8) == 0) {
		/* a field of a header */
		if (fuzz_random(&seed, 3))
			fuzz_elf_numbers(&seed, data + h.e_shoff, h.e_shnum * sizeof(s));
		else
			fuzz_elf_numbers(&seed, data + 16,
					 sizeof(h) - 16 + 10 * sizeof(Elf64_Phdr) < size
						 ? sizeof(h) - 16 + 10 * sizeof(Elf64_Phdr)
						 : size - 16);
		return size;
	}
	memcpy(&names, data + at, sizeof(names));
	strings = fuzz_elf_content(data, size, &names, &strings_n);
	for (int tries = 0; tries < 50 && !n; tries++) {
		memcpy(&s, data + h.e_shoff + fuzz_random(&seed, h.e_shnum) * sizeof(s), sizeof(s));
		if (wanted && strings && strings_n && !strings[strings_n - 1] &&
		    s.sh_name < strings_n && !wanted((const char *)strings + s.sh_name))
			continue;
		p = fuzz_elf_content(data, size, &s, &n);
	}
	if (!n)
		p = data, n = size;
	if (fuzz_random(&seed, 3)) {
		fuzz_elf_numbers(&seed, p, n);
		return size;
	}
	/* libFuzzer's own changes of a piece, with words that it has seen compared */
	at = fuzz_random(&seed, n);
	n = n - at > 64 ? 64 : n - at;
	LLVMFuzzerMutate(p + at, n, n);
	return size;
}

#endif
