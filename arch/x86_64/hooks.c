/* SPDX-License-Identifier: MIT */
#include "arch/hooks.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#define PAGE	 4096ull
#define FSGSBASE 2 /* in AT_HWCAP2: rdfsbase may be used */

/*
 * An address in the image differs by DT_BLOB_OTHER between the two builds, and one of the session's
 * memory by twice as much more, which is all that its distance from an instruction differs by. So
 * only the highest byte of a word differs, and says by what the word is to grow.
 */
void dt_blob_relocate(unsigned char *image, size_t size, uint64_t area, const struct dt_geometry *g)
{
	uint64_t up = dt_area_session(area, g) - (area + DT_AREA_SESSION);

	for (size_t i = 3; i < size; i++) {
		unsigned char differs = dt_blob_other[i] - dt_blob_image[i];
		uint32_t word;

		if (!differs)
			continue;
		memcpy(&word, image + i - 3, sizeof(word));
		word += (differs & 1 ? (uint32_t)area : 0) + (differs & 2 ? (uint32_t)up : 0);
		memcpy(image + i - 3, &word, sizeof(word));
	}
}

/*
 * With up to CHAIN cores a hook goes from copy to copy until it finds the one of its core; with
 * more, its head jumps to the copy through a table, which costs a little more than a short chain.
 */
#define CHAIN	   4
#define TABLE_JUMP 8 /* bytes of jmp *table(, %r11, 8) */

/* Returns the bytes of a hook: for each core a struct rseq_cs and a word of the table, its head,
 * and a copy for each core. */
static uint64_t hook_size(const struct dt_template *t, uint64_t cores)
{
	return (cores * 40 + (t->copy - t->head) + TABLE_JUMP + cores * (t->end - t->copy) + 127) &
	       ~63ull;
}

/* Returns the bytes that are kept for a hook, of whichever kind it will be. */
static uint64_t hook_room(const struct dt_blob *b, int i, uint64_t cores)
{
	uint64_t theirs = hook_size(&b->hook_template[i], cores);
	uint64_t own = hook_size(&b->own_template[i], cores);

	return own > theirs ? own : theirs;
}

uint64_t dt_hooks_size(uint64_t cores)
{
	const struct dt_blob *b = dt_blob_head();
	uint64_t n = 0;

	for (int i = 0; i < DT_HOOKS; i++)
		n += hook_room(b, i, cores);
	return (n + PAGE - 1) & ~(PAGE - 1);
}

/* One part of a hook, [from, end) in the blob, that is moved to `to'; and what its fixups need. */
struct part {
	uint64_t area, to, ring, next, cs;
	uint32_t from, end, core, mask;
	const struct dt_thread_offsets *o;
};

/* prefixes of an operand in memory: relative to %ds, which begins at 0, or to %fs */
#define IN_DS 0x3eu
#define IN_FS 0x64u

/* Returns what the word that says where a struct dt_own_rseq is is added to. */
static uint32_t own(const struct part *p)
{
	return p->o->own == DT_OWN_TABLE ? (uint32_t)(p->area + DT_AREA_THREADS) : DT_OWN_RESERVE;
}

/* Returns what a fixup at `at', whose 32 bits are word so far, becomes. */
static uint32_t fixed(const struct part *p, uint32_t type, uint32_t word, uint32_t at)
{
	switch (type) {
	case DT_FIX_REL:
		return word - (uint32_t)(p->to - (p->area + p->from));
	case DT_FIX_CPU:
		return (uint32_t)(p->o->rseq + 4);
	case DT_FIX_ARM:
		return (uint32_t)(p->o->rseq + 8);
	case DT_FIX_TID:
		return (uint32_t)p->o->tid;
	case DT_FIX_CS:
		return (uint32_t)p->cs;
	case DT_FIX_CORE:
		return p->core;
	case DT_FIX_NEXT:
		return (uint32_t)(p->next - (p->to + (at - p->from) + 4));
	case DT_FIX_RING:
		return word + (uint32_t)p->ring;
	case DT_FIX_MASK:
		return p->mask;
	case DT_FIX_SIGNATURE:
		return p->o->signature;
	case DT_FIX_TAG:
		return p->o->tag;
	case DT_FIX_ERRNO:
		return (uint32_t)(p->o->error ? p->o->error : DT_NO_ERRNO);
	case DT_FIX_OWN_AT: /* DT_NO_ERRNO: always 0, so what follows is from %fs on */
		return p->o->own == DT_OWN_TABLE ? DT_OWN_WORD : DT_NO_ERRNO;
	case DT_FIX_OWN_CHECK:
		return own(p) + offsetof(struct dt_own_rseq, check);
	case DT_FIX_OWN_TID:
		return own(p) + offsetof(struct dt_own_rseq, tid);
	case DT_FIX_OWN_CPU:
		return own(p) + offsetof(struct dt_own_rseq, rseq.cpu_id);
	case DT_FIX_OWN_ARM:
		return own(p) + offsetof(struct dt_own_rseq, rseq.rseq_cs);
	case DT_FIX_OWN_SEGMENT:
		return (word & ~0xffu) | (p->o->own == DT_OWN_TABLE ? IN_DS : IN_FS);
	}
	return word;
}

/* Applies the fixups of a part to text, which holds its relocated bytes. */
static void apply(unsigned char *text, const struct part *p)
{
	const struct dt_blob *b = dt_blob_head();
	const struct dt_fixup *f = (const struct dt_fixup *)(dt_blob_image + b->fixups);
	const struct dt_fixup *end = (const struct dt_fixup *)(dt_blob_image + b->fixups_end);

	for (; f < end; f++) {
		uint32_t word;

		if (f->at < p->from || f->at >= p->end)
			continue;
		memcpy(&word, text + (f->at - p->from), sizeof(word));
		word = fixed(p, f->type, word, f->at);
		memcpy(text + (f->at - p->from), &word, sizeof(word));
	}
}

/* Makes one hook at `at'; image is the relocated blob. Sets *hook to its address, and *again to
 * where it goes on after the slow path. */
static void make_hook(unsigned char *out, uint64_t at, const unsigned char *image,
		      const struct dt_template *t, const struct dt_geometry *g, uint64_t area,
		      const struct dt_thread_offsets *o, uint64_t *hook, uint64_t *again)
{
	uint32_t copy = t->end - t->copy;
	bool chain = g->cores <= CHAIN;
	uint64_t table_at = at + g->cores * 32;
	uint64_t head_at = (table_at + g->cores * 8 + 63) & ~63ull;
	uint64_t copies_at = head_at + (t->copy - t->head) + (chain ? 0 : TABLE_JUMP);
	struct part p = {.area = area,
			 .to = head_at,
			 .from = t->head,
			 .end = t->copy,
			 .mask = (uint32_t)g->ring_size - 1,
			 .o = o};

	memcpy(out + (head_at - at), image + t->head, t->copy - t->head);
	apply(out + (head_at - at), &p);
	*hook = head_at + (t->hook - t->head);
	*again = head_at + (t->again - t->head);
	if (!chain) {
		unsigned char jump[TABLE_JUMP] = {0x42, 0xff, 0x24, 0xdd};

		memcpy(jump + 4, &table_at, 4);
		memcpy(out + (copies_at - TABLE_JUMP - at), jump, sizeof(jump));
	}
	p.from = t->copy;
	p.end = t->end;
	for (uint32_t core = 0; core < g->cores; core++) {
		uint64_t cs[4];

		p.to = copies_at + core * copy;
		p.core = core;
		p.cs = at + core * 32;
		p.ring = dt_area_session(area, g) + DT_CONTROL_SIZE + core * g->stride;
		p.next = chain && core + 1 < g->cores ? p.to + copy : *again;
		memcpy(out + (table_at - at) + 8 * core, &p.to, sizeof(p.to));
		memcpy(out + (p.to - at), image + t->copy, copy);
		apply(out + (p.to - at), &p);
		/* struct rseq_cs: version and flags, start, length, abort */
		cs[0] = 0;
		cs[1] = p.to + (t->start - t->copy);
		cs[2] = t->commit - t->start;
		cs[3] = head_at + (t->abort - t->head);
		memcpy(out + core * 32, cs, sizeof(cs));
	}
}

void dt_hooks_make(unsigned char image[DT_CODE_SIZE], uint64_t area, const struct dt_geometry *g,
		   const struct dt_thread_offsets *o, unsigned char *out)
{
	const struct dt_blob *b = dt_blob_head();
	size_t size = (size_t)(dt_blob_image_end - dt_blob_image);
	uint64_t at = dt_area_session(area, g) + g->bytes;
	unsigned char fresh[DT_CODE_SIZE] = {0};
	struct dt_blob *head = (struct dt_blob *)image;
	uint64_t done = 0;

	apply(image + b->code_begin, &(struct part){.area = area,
						    .to = area + b->code_begin,
						    .from = b->code_begin,
						    .end = b->code_end,
						    .o = o});
	memcpy(fresh, dt_blob_image, size);
	dt_blob_relocate(fresh, size, area, g);
	for (int i = 0; i < DT_HOOKS; i++) {
		const struct dt_template *t = o->own ? &b->own_template[i] : &b->hook_template[i];

		make_hook(out + done, at + done, fresh, t, g, area, o, &head->hook[i],
			  &head->again[i]);
		done += hook_room(b, i, g->cores);
	}
}

bool dt_hooks_read_pointer(void)
{
	return getauxval(AT_HWCAP2) & FSGSBASE;
}
