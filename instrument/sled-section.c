// SPDX-License-Identifier: MIT
/* The sections of a text: which one is current, and which hold code. */
#include "instrument/sled-work.h"

#include <stdlib.h>

/* Parses `"flags",@type,group,comdat`; false: the flags are not those of compiled code. */
static bool section_args(struct str s, struct str *group)
{
	const char *p = s.p, *end = s.p + s.len;
	bool exec = false, grouped = false;

	if (*p++ != '"')
		return false;
	for (; *p != '"'; p++) {
		if (p == end || !strchr("axwGRl", *p))
			return false;
		exec |= *p == 'x';
		grouped |= *p == 'G';
	}
	if (!grouped)
		return exec;
	p = memchr(p, '@', end - p);
	p = p ? memchr(p, ',', end - p) : NULL;
	if (!p)
		return false;
	p = skip(p + 1);
	*group = symbol(p);
	p += group->len;
	if (begins(p, ",comdat"))
		group->len += 7;
	return exec && group->len;
}

static bool section_usable(struct section *s)
{
	struct secname k = s->key;

	if (memmem(k.name.p, k.name.len, ".notrace", 8) ||
	    memmem(k.name.p, k.name.len, "noinstr", 7))
		return false;
	return k.args.len ? section_args(k.args, &s->group) : str_begins(k.name, ".text");
}

static size_t hash_str(struct str s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
	return h ^ h >> 29;
}

static uint32_t *section_slot(struct scan *s, const struct secname *key)
{
	struct section *all = s->sections.data;
	size_t i = hash_str(key->name);

	for (;; i++) {
		uint32_t *slot = &s->hash[i & (s->hash_size - 1)];
		const struct secname *k = *slot ? &all[*slot - 1].key : NULL;
		if (!k ||
		    (same(k->name, key->name) && (!key->args.len || same(k->args, key->args))))
			return slot;
	}
}

static void hash_grow(struct scan *s)
{
	struct section *all = s->sections.data;

	free(s->hash);
	s->hash_size = s->hash_size ? s->hash_size * 4 : 1024;
	s->hash = sled_must(calloc(s->hash_size, sizeof(*s->hash)));
	for (uint32_t i = 0; i < s->sections.n; i++)
		*section_slot(s, &all[i].key) = i + 1;
}

/* Returns the index of the current section, which is added if it is new. */
uint32_t sled_section_find(struct scan *s)
{
	uint32_t *slot;

	if (s->sections.n * 2 >= s->hash_size)
		hash_grow(s);
	slot = section_slot(s, &s->sec);
	if (!*slot) {
		struct section *new = array_push(&s->sections, sizeof(*new));
		new->key = s->sec;
		new->usable = section_usable(new);
		*slot = s->sections.n;
	}
	return *slot - 1;
}

/* Enters the section that is named, with or without arguments, between `p` and the line's end. */
void sled_section_enter(struct scan *s, const char *p)
{
	struct str name = symbol(p);
	const char *e = rawmemchr(p, '\n');

	while (e > p && (blank(e[-1]) || e[-1] == '\r'))
		e--;
	p = skip(p + name.len);
	p = *p == ',' ? skip(p + 1) : e;
	s->before = s->sec;
	s->sec = (struct secname){name, {p, e > p ? e - p : 0}};
}

void sled_section_push(struct scan *s, const char *p)
{
	if (s->depth < STACK) {
		s->stack[s->depth] = s->sec;
		s->stack_before[s->depth] = s->before;
	}
	s->depth++;
	sled_section_enter(s, p);
}

void sled_section_pop(struct scan *s)
{
	if (s->depth && --s->depth < STACK) {
		s->sec = s->stack[s->depth];
		s->before = s->stack_before[s->depth];
	}
}

void sled_section_previous(struct scan *s)
{
	struct secname now = s->sec;

	s->sec = s->before;
	s->before = now;
}
