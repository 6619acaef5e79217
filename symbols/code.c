/* SPDX-License-Identifier: MIT */
/*
 * See code.h. The steps are in the order of read_code(); each adds to what the previous ones have
 * found.
 */
#include "symbols/code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "symbols/code-work.h"
#include "elf/elf.h"
#include "elf/go.h"

#define PAGE 4096 /* bytes, the least that the kernel protects */

/* --- finding things */

const struct dt_code_region *dt_code_text_at(const struct dt_code *c, uint64_t address)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);

	return r && !r->plt ? r : NULL;
}

bool dt_code_grow(struct reader *r, void **array, size_t n, size_t *room, size_t size)
{
	void *p;

	if (n < *room)
		return true;
	*room = *room ? *room * 2 : 4096;
	p = realloc(*array, *room * size);
	if (!p) {
		r->failed = true;
		return false;
	}
	*array = p;
	return true;
}

void dt_code_set_mark(const struct dt_code *c, uint64_t address, uint8_t bits)
{
	const struct dt_code_region *r = dt_code_text_at(c, address);

	if (r)
		r->mark[address - r->low] |= bits;
}

bool dt_code_take_address(struct reader *r, uint64_t address, bool sure)
{
	size_t i;

	if (!dt_code_text_at(r->c, address))
		return false;
	dt_code_set_mark(r->c, address, DT_CODE_HARD);
	i = dt_code_function_at(r->c, address);
	if (sure || i == r->c->functions || address == r->c->function[i].start)
		dt_code_set_mark(r->c, address, DT_CODE_CALLED);
	if (i < r->c->functions && address != r->c->function[i].start)
		r->c->function[i].taken = true;
	return true;
}

void dt_code_set_trouble(struct dt_code_function *f, uint8_t trouble, uint64_t at)
{
	if (f->trouble)
		return;
	f->trouble = trouble;
	f->trouble_at = at;
}

/* --- sections and functions */

static bool read_region(struct reader *r, Elf_Scn *s, const GElf_Shdr *sh, const char *name)
{
	struct dt_code *c = r->c;
	Elf_Data *d = elf_rawdata(s, NULL);
	struct dt_code_region *p;

	if (!d || !d->d_buf || d->d_size < sh->sh_size ||
	    !dt_code_is_room(c->region, c->regions, sh->sh_addr, sh->sh_addr + sh->sh_size))
		return true;
	p = realloc(c->region, (c->regions + 1) * sizeof(*p));
	if (!p)
		return false;
	c->region = p;
	p += c->regions;
	*p = (struct dt_code_region){
		.low = sh->sh_addr,
		.high = sh->sh_addr + sh->sh_size,
		.bytes = d->d_buf,
		.mark = calloc(1, sh->sh_size),
		.offset = sh->sh_offset,
		.plt = !strncmp(name, ".plt", 4),
	};
	if (!p->mark)
		return false;
	c->regions++;
	return true;
}

static int read_regions(struct reader *r, const char *path, struct dt_error *e)
{
	size_t names, headers = 0;
	Elf_Scn *s = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	GElf_Phdr ph;

	if (!gelf_getehdr(r->elf, &eh) || eh.e_machine != DT_MACHINE ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return dt_fail(e, "%s is not for this processor (" DT_MACHINE_NAME ")", path);
	r->fixed = eh.e_type == ET_EXEC;
	r->c->low = UINT64_MAX;
	elf_getphdrnum(r->elf, &headers);
	for (size_t i = 0; i < headers; i++)
		if (gelf_getphdr(r->elf, (int)i, &ph) && ph.p_type == PT_LOAD) {
			if (ph.p_vaddr < r->c->low)
				r->c->low = ph.p_vaddr;
			if (ph.p_vaddr + ph.p_memsz > r->c->high)
				r->c->high = ph.p_vaddr + ph.p_memsz;
		}
	if (elf_getshdrstrndx(r->elf, &names))
		return dt_fail(e, "%s has no sections: its code cannot be told from data", path);
	while ((s = elf_nextscn(r->elf, s))) {
		const char *name =
			gelf_getshdr(s, &sh) ? elf_strptr(r->elf, names, sh.sh_name) : NULL;

		if (!name || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (!strcmp(name, "__rseq_cs")) {
			r->sequence_low = sh.sh_addr;
			r->sequence_high = sh.sh_addr + sh.sh_size;
		}
		if (sh.sh_flags & SHF_EXECINSTR && sh.sh_type == SHT_PROGBITS && sh.sh_size &&
		    !read_region(r, s, &sh, name))
			return dt_fail(e, "out of memory reading %s", path);
	}
	return r->c->regions ? 0 : dt_fail(e, "%s has no code", path);
}

static struct dt_code_function *add_function(struct reader *r, uint64_t start, uint64_t end)
{
	struct dt_code *c = r->c;

	if (!dt_code_grow(r, (void **)&c->function, c->functions, &r->function_room,
			  sizeof(*c->function)))
		return NULL;
	c->function[c->functions] = (struct dt_code_function){.start = start, .end = end};
	return &c->function[c->functions++];
}

/* Merges symbols and frames, both sorted, into one sorted list of functions. */
static void read_functions(struct reader *r, const struct dt_symtab *symtab)
{
	const struct dt_frames *frames = r->c->frames;
	uint64_t covered = 0; /* what the last symbol with a size covers */
	size_t n = 0, i = 0, k = 0;
	const struct dt_function *s = symtab ? dt_symtab_functions(symtab, &n) : NULL;

	while (i < n || k < frames->n) {
		bool symbol = k == frames->n || (i < n && s[i].address <= frames->frame[k].start);
		const struct dt_frame *frame = k < frames->n ? &frames->frame[k] : NULL;
		uint64_t start = symbol ? s[i].address : frame->start;
		struct dt_code_function *f;

		if (frame && frame->start != start)
			frame = NULL;
		k += frame != NULL;
		i += symbol;
		if (!dt_code_text_at(r->c, start))
			continue;
		if (symbol && s[i - 1].label) {
			dt_code_set_mark(r->c, start, DT_CODE_HARD);
			continue;
		}
		if (symbol && !frame && s[i - 1].start && s[i - 1].size == 1) {
			r->start = start;
			r->start_name = s[i - 1].linkage;
			continue;
		}
		if (!symbol && (start < covered || frame->signal)) {
			dt_code_set_mark(r->c, start, DT_CODE_HARD);
			continue;
		}
		f = add_function(r, start, start);
		if (!f)
			return;
		f->frame = frame;
		if (frame)
			f->end = frame->end;
		if (symbol) {
			f->name = s[i - 1].linkage;
			if (start + s[i - 1].size > f->end)
				f->end = start + s[i - 1].size;
			if (s[i - 1].size)
				covered = start + s[i - 1].size;
		}
	}
}

/* Cuts functions so that each ends at the latest where the next one begins. */
static void cut_functions(struct reader *r)
{
	struct dt_code *c = r->c;

	for (size_t i = 0; i < c->functions; i++) {
		struct dt_code_function *f = &c->function[i];
		const struct dt_frame *around = dt_frames_find(c->frames, f->start);
		uint64_t limit = dt_code_text_at(c, f->start)->high;

		if (i + 1 < c->functions && c->function[i + 1].start < limit)
			limit = c->function[i + 1].start;
		if (f->end == f->start) {
			f->open = !around;
			f->end = around ? around->end : limit;
		}
		if (f->end > limit)
			f->end = limit;
		f->whole = (uint32_t)i;
		if (around && around->signal)
			dt_code_set_trouble(f, DT_TROUBLE_SIGNAL, f->start);
		dt_code_set_mark(c, f->start, DT_CODE_HARD);
	}
}

/* Gives main its name, if its code was found by following it. */
static void name_start(struct reader *r)
{
	size_t i = r->start ? dt_code_function_at(r->c, r->start) : r->c->functions;

	if (i < r->c->functions && r->c->function[i].start == r->start)
		r->c->function[i].name = r->start_name;
}

/* --- instructions */

static void add_link(struct reader *r, const struct dt_insn *in, uint8_t how)
{
	struct dt_code *c = r->c;

	if (!dt_code_grow(r, (void **)&c->link, c->links, &r->link_room, sizeof(*c->link)))
		return;
	c->link[c->links++] = (struct dt_code_link){
		.from = in->address,
		.to = in->target,
		.kind = in->kind,
		.length = in->length,
		.how = how,
	};
}

static void add_lea(struct reader *r, uint64_t table, size_t function)
{
	if (r->leas && r->lea[r->leas - 1].table == table &&
	    r->lea[r->leas - 1].function == function)
		return;
	if (dt_code_grow(r, (void **)&r->lea, r->leas, &r->lea_room, sizeof(*r->lea)))
		r->lea[r->leas++] = (struct lea){table, (uint32_t)function};
}

/* Marks code that is read as data: V8 takes constants from the immediates of its instructions. */
static void read_as_data(struct reader *r, const struct dt_insn *in)
{
	unsigned n = dt_insn_reads(in);

	for (unsigned i = 0; i < n; i++)
		dt_code_set_mark(r->c, in->memory + i, DT_CODE_READ);
}

/* Notes what the instruction says about addresses in the code. */
static void addresses_of(struct reader *r, const struct dt_insn *in, const uint8_t *code,
			 size_t function)
{
	uint64_t number[2];

	read_as_data(r, in);
	if (dt_insn_makes_address(in) && !dt_code_take_address(r, in->memory, true))
		add_lea(r, in->memory, function);
	for (unsigned n = r->fixed ? dt_insn_numbers(in, code, number) : 0; n-- > 0;)
		if (dt_code_text_at(r->c, number[n]))
			dt_code_take_address(r, number[n], false);
}

static void link_of(struct reader *r, struct dt_code_function *f, const struct dt_insn *in,
		    const struct dt_insn *before)
{
	uint64_t distance =
		in->target > in->address ? in->target - in->address : in->address - in->target;

	switch (in->kind) {
	case DT_INSN_CALL:
		dt_code_set_mark(r->c, in->target, DT_CODE_HARD | DT_CODE_CALLED);
		dt_code_set_mark(r->c, in->address + in->length, DT_CODE_HARD);
		break;
	case DT_INSN_CALL_INDIRECT:
		dt_code_set_mark(r->c, in->address + in->length, DT_CODE_HARD);
		break;
	case DT_INSN_XBEGIN:
		dt_code_set_mark(r->c, in->target, DT_CODE_HARD);
		break;
	case DT_INSN_JUMP:
	case DT_INSN_BRANCH:
	case DT_INSN_LOOP:
		if (in->target < f->start || in->target >= f->end)
			dt_code_set_mark(r->c, in->target, DT_CODE_CROSS);
		else
			dt_code_set_mark(r->c, in->target,
					 distance < DT_CODE_CLOSE ? DT_CODE_NEAR : DT_CODE_DIRECT);
		add_link(r, in, 0);
		break;
	case DT_INSN_JUMP_INDIRECT:
		add_link(r, in, dt_insn_looks(in, before));
		break;
	case DT_INSN_RETURN:
		add_link(r, in, 0);
		break;
	case DT_INSN_FAR:
		/* compilers make no far calls and returns: a function with one is not hooked */
		dt_code_set_trouble(f, DT_TROUBLE_FAR, in->address);
		break;
	}
}

/*
 * Looks whether a jump leads to a veneer, as linkers make them for faults of processors: the
 * instruction that should stand behind it, or in its place, and a jump back behind it. Such code
 * goes on, and no function is left (linked with --fix-cortex-a53-843419).
 */
static bool leads_around(const struct dt_code *c, const struct dt_insn *in)
{
	uint64_t at = in->target + DT_CODE_STEP;
	const struct dt_code_region *g = dt_code_text_at(c, at);
	struct dt_insn back;

	return DT_VENEERS && in->kind == DT_INSN_JUMP && g &&
	       dt_code_function_at(c, at) == c->functions &&
	       dt_insn_decode(&back, g->bytes + (at - g->low), g->high - at, at) &&
	       back.kind == DT_INSN_JUMP && back.target == in->address + DT_CODE_STEP;
}

/* Looks whether this jump is the one at the end of a veneer. */
static bool leads_back(const struct dt_code *c, const struct dt_insn *in)
{
	uint64_t at = in->target - DT_CODE_STEP;
	const struct dt_code_region *g = dt_code_text_at(c, at);
	struct dt_insn to;

	return DT_VENEERS && in->kind == DT_INSN_JUMP && g &&
	       dt_insn_decode(&to, g->bytes + (at - g->low), g->high - at, at) &&
	       to.kind == DT_INSN_JUMP && to.target == in->address - DT_CODE_STEP;
}

/*
 * Notes a stretch of code of which the program computes the length, from both its ends: nothing
 * else is done with that than to read all of it. The modules of BoringSSL and AWS-LC that are made
 * for FIPS 140 check their own code in this way when they begin, and end the program if one byte is
 * another; libswscale copies pieces of its code. Where both ends are those of pages it is what
 * mprotect() is told, by code that will be written to on request only (libglvnd's entry points).
 */
static void note_length(struct reader *r, uint64_t from, uint64_t to)
{
	const struct dt_code_region *region = dt_code_text_at(r->c, from);

	if (!region || from >= to || to > region->high || (from | to) % PAGE == 0)
		return;
	if (dt_code_grow(r, (void **)&r->read, r->reads, &r->read_room, sizeof(*r->read)))
		r->read[r->reads++] = (struct dt_code_stretch){from, to};
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_code_stretch *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Lets nothing be changed of what the program reads. When all functions are decoded. A file can
 * have many stretches that lie on each other: each byte and function is looked at once. */
static void keep_read(struct reader *r)
{
	const struct dt_code *c = r->c;
	uint64_t done = 0; /* all before it have been marked */
	size_t k = 0;

	if (r->reads)
		qsort(r->read, r->reads, sizeof(*r->read), by_begin);
	for (size_t i = 0; i < r->reads; i++) {
		const struct dt_code_stretch *s = &r->read[i];
		const struct dt_code_region *region = dt_code_text_at(c, s->from);

		for (done = done > s->from ? done : s->from; done < s->to; done++)
			region->mark[done - region->low] |= DT_CODE_READ;
		while (k < c->functions && c->function[k].end <= s->from)
			k++;
		for (; k < c->functions && c->function[k].start < s->to; k++)
			dt_code_set_trouble(&c->function[k], DT_TROUBLE_READ, s->from);
	}
}

static void decode_function(struct reader *r, size_t index)
{
	struct dt_code_function *f = &r->c->function[index];
	const struct dt_code_region *region = dt_code_text_at(r->c, f->start);
	struct dt_insn in = {0}, before;
	struct dt_insn_seen seen = {0};
	uint64_t at = f->start, ended = 0, from, to;

	if (f->start >= r->c->go_low && f->start < r->c->go_high)
		dt_code_set_trouble(f, DT_TROUBLE_GO, f->start);
	f->first_link = (uint32_t)r->c->links;
	for (; at < f->end && !r->failed; at += in.length) {
		const uint8_t *code = region->bytes + (at - region->low);

		before = in;
		if (!dt_insn_decode(&in, code, f->end - at, at)) {
			/* it may have ended before */
			if (f->open && ended)
				break;
			dt_code_set_trouble(f, DT_TROUBLE_DATA, at);
			break;
		}
		region->mark[at - region->low] |= DT_CODE_INSN;
		if (dt_insn_makes_length(&seen, &in, r->fixed ? code : NULL, &from, &to))
			note_length(r, from, to);
		dt_insn_follow(&seen, &in, r->fixed ? code : NULL);
		if (leads_around(r->c, &in))
			in.kind = DT_INSN_PLAIN;
		if (before.kind == DT_INSN_NOP && dt_insn_calls(&in) && before.address == f->start)
			dt_code_set_trouble(f, DT_TROUBLE_BEHIND, at);
		f->points = f->points || dt_insn_points(&in);
		if (in.kind != DT_INSN_PLAIN)
			link_of(r, f, &in, &before);
		if (in.relative || r->fixed)
			addresses_of(r, &in, code, index);
		f->ends = dt_insn_ends(&in);
		f->calls = dt_insn_calls(&in);
		if (f->ends)
			ended = at + in.length;
	}
	if (f->open && at < f->end)
		f->end = ended;
	if (f->end == f->start)
		dt_code_set_trouble(f, DT_TROUBLE_EMPTY, f->start);
	f->links = (uint32_t)r->c->links - f->first_link;
}

/* Does a known instruction begin inside these bytes, if none is known to begin at the first? */
static bool is_inside(const struct dt_code_region *r, uint64_t at, unsigned length)
{
	const uint8_t *m = &r->mark[at - r->low];

	for (unsigned k = 1; k < length && !(*m & DT_CODE_INSN); k++)
		if (m[k] & DT_CODE_INSN)
			return true;
	return false;
}

/* Decodes code that no function covers, as it may still jump into one. */
static void decode_gap(struct reader *r, const struct dt_code_region *region, uint64_t low,
		       uint64_t high)
{
	struct dt_insn_seen seen = {0};
	struct dt_insn in;

	for (uint64_t at = low; at < high; at += in.length ? in.length : 1) {
		const uint8_t *code = region->bytes + (at - region->low);

		in.length = 0;
		if (dt_insn_pads(*code))
			continue;
		/*
		 * if the code was followed from elsewhere, that has shown where instructions begin
		 */
		if (!dt_insn_decode(&in, code, high - at, at) || is_inside(region, at, in.length)) {
			in.length = 0;
			r->c->left += *code != 0;
			continue;
		}
		dt_insn_follow(&seen, &in, NULL);
		r->c->left += in.kind == DT_INSN_NOP || !*code ? 0 : in.length;
		if (dt_insn_direct(&in))
			dt_code_set_mark(r->c, in.target,
					 DT_CODE_HARD |
						 (leads_back(r->c, &in) ? 0 : DT_CODE_CALLED));
		if (dt_insn_makes_address(&in))
			dt_code_take_address(r, in.memory, true);
		else
			read_as_data(r, &in);
	}
}

static void decode_gaps(struct reader *r)
{
	struct dt_code *c = r->c;

	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *region = &c->region[i];
		uint64_t at = region->low;
		size_t k;

		if (region->plt)
			continue;
		for (k = 0; k < c->functions; k++) {
			const struct dt_code_function *f = &c->function[k];

			if (f->start < region->low || f->start >= region->high)
				continue;
			if (f->start > at)
				decode_gap(r, region, at, f->start);
			if (f->end > at) {
				c->covered += f->end - (f->start > at ? f->start : at);
				at = f->end;
			}
			c->found += f->found && !f->of && !f->jumped;
		}
		decode_gap(r, region, at, region->high);
	}
}

static int read_code(struct reader *r, const char *path, const struct dt_symtab *symtab,
		     struct dt_error *e)
{
	struct dt_code *c = r->c;

	if (read_regions(r, path, e))
		return -1;
	if (!dt_go_range(r->elf, &c->go_low, &c->go_high))
		c->go_low = c->go_high = 0;
	read_functions(r, symtab);
	cut_functions(r);
	if (DT_SEARCH && dt_code_find_called(r)) {
		cut_functions(r);
		name_start(r);
	}
	for (size_t i = 0; i < c->functions && !r->failed; i++)
		decode_function(r, i);
	decode_gaps(r);
	keep_read(r);
	dt_code_read_data(r);
	dt_code_read_landings(r);
	dt_code_read_tables(r);
	dt_code_join_parts(r);
	dt_code_sort_crosses(r);
	dt_code_check_links(c);
	dt_code_find_exits(r);
	dt_code_find_handed(r);
	dt_code_find_filler(c);
	return r->failed ? dt_fail(e, "out of memory reading %s", path) : 0;
}

struct dt_code *dt_code_open_file(int file, const char *path, const struct dt_symtab *symtab,
				  struct dt_error *e)
{
	struct dt_code *c = calloc(1, sizeof(*c));
	struct dt_frames *frames = calloc(1, sizeof(*frames));
	struct reader r = {.c = c};

	if (!c || !frames) {
		free(c);
		free(frames);
		close(file);
		dt_fail(e, "out of memory reading %s", path);
		return NULL;
	}
	if (dt_frames_begin(frames, file, path, e)) {
		free(c);
		free(frames);
		return NULL;
	}
	c->frames = frames;
	r.elf = frames->file.elf;
	if (read_code(&r, path, symtab, e)) {
		dt_code_close(c);
		c = NULL;
	}
	free(r.lea);
	free(r.read);
	free(r.join);
	free(r.jump);
	return c;
}

void dt_code_close(struct dt_code *c)
{
	if (!c)
		return;
	if (c->apart) {
		for (size_t i = 0; i < c->regions; i++)
			free((void *)(uintptr_t)c->region[i].bytes);
		free(c->region);
		if (!c->lent)
			free(c->apart);
		free(c);
		return;
	}
	for (size_t i = 0; i < c->regions; i++)
		free(c->region[i].mark);
	free(c->region);
	free(c->function);
	free(c->exit);
	free(c->link);
	free(c->cross);
	if (c->frames)
		dt_frames_close(c->frames);
	free(c->frames);
	free(c);
}
