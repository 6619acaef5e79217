/* SPDX-License-Identifier: MIT */
/* See code.h. Each step below adds to what the ones before have found, in the order of read(). */
#include "process/code.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/insn.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

/* looks of an indirect jump */
enum {
	LOOKS_REGISTER = 1, /* jmp *%rax */
	LOOKS_SWITCH,	    /* add %rdx, %rax; jmp *%rax: a table of distances */
	LOOKS_TABLE,	    /* jmp *table(, %rax, 8) */
	LOOKS_INDEXED,	    /* jmp *(%rdx, %rax, 8) */
	LOOKS_MEMORY,	    /* jmp *24(%rax) */
	LOOKS_SLOT,	    /* jmp *slot(%rip), or of another absolute address */
};

/* An address that function computes: perhaps a table of distances. */
struct lea {
	uint64_t table;
	uint32_t function;
};

struct reader {
	struct dt_code *c;
	size_t function_room, link_room, exit_room;
	struct lea *lea;
	size_t leas, lea_room;
	struct lea *join; /* code that tables and landings of another function lead to */
	size_t joins, join_room;
	Elf *elf;
	bool fixed;			      /* ET_EXEC: addresses can be plain numbers */
	uint64_t sequence_low, sequence_high; /* section of the rseq descriptors */
	bool failed;			      /* no memory */
};

const char *dt_trouble_text(uint8_t trouble)
{
	static const char *const text[] = {
		"",
		"it has no instructions",
		"something in it is not an instruction",
		"something jumps into the middle of one of its instructions",
		"it leaves by a far return",
		"signal handlers return to it",
		"it is a restartable sequence",
	};

	return text[trouble];
}

/* --- finding things */

const struct dt_code_region *dt_code_region_of(const struct dt_code *c, uint64_t address)
{
	for (size_t i = 0; i < c->regions; i++)
		if (address >= c->region[i].low && address < c->region[i].high)
			return &c->region[i];
	return NULL;
}

static const struct dt_code_region *text_at(const struct dt_code *c, uint64_t address)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);

	return r && !r->plt ? r : NULL;
}

uint8_t dt_code_mark(const struct dt_code *c, uint64_t address)
{
	const struct dt_code_region *r = text_at(c, address);

	return r ? r->mark[address - r->low] : 0;
}

size_t dt_code_function_at(const struct dt_code *c, uint64_t address)
{
	size_t low = 0, high = c->functions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->function[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && address < c->function[low - 1].end ? low - 1 : c->functions;
}

static bool grow(struct reader *r, void **array, size_t n, size_t *room, size_t size)
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

static void mark(const struct dt_code *c, uint64_t address, uint8_t bits)
{
	const struct dt_code_region *r = text_at(c, address);

	if (r)
		r->mark[address - r->low] |= bits;
}

/* Somebody holds the address as a value. true: it is code. */
static bool take_address(struct reader *r, uint64_t address)
{
	size_t i;

	if (!text_at(r->c, address))
		return false;
	mark(r->c, address, DT_CODE_HARD | DT_CODE_CALLED);
	i = dt_code_function_at(r->c, address);
	if (i < r->c->functions && address != r->c->function[i].start)
		r->c->function[i].taken = true;
	return true;
}

static void set_trouble(struct dt_code_function *f, uint8_t trouble, uint64_t at)
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

	if (!d || !d->d_buf || d->d_size < sh->sh_size)
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

	if (!gelf_getehdr(r->elf, &eh) || eh.e_machine != EM_X86_64 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return dt_fail(e, "%s is not for this processor (x86-64)", path);
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

	if (!grow(r, (void **)&c->function, c->functions, &r->function_room, sizeof(*c->function)))
		return NULL;
	c->function[c->functions] = (struct dt_code_function){.start = start, .end = end};
	return &c->function[c->functions++];
}

/* Symbols and frames, both sorted, into one sorted list. */
static void read_functions(struct reader *r, const struct dt_symtab *symtab)
{
	const struct dt_frames *frames = &r->c->frames;
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
		if (!text_at(r->c, start))
			continue;
		if (!symbol && (start < covered || frame->signal)) {
			mark(r->c, start, DT_CODE_HARD);
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

/* Functions end where the next one begins, at the latest. */
static void cut_functions(struct reader *r)
{
	struct dt_code *c = r->c;

	for (size_t i = 0; i < c->functions; i++) {
		struct dt_code_function *f = &c->function[i];
		const struct dt_frame *around = dt_frames_find(&c->frames, f->start);
		uint64_t limit = text_at(c, f->start)->high;

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
			set_trouble(f, DT_TROUBLE_SIGNAL, f->start);
		mark(c, f->start, DT_CODE_HARD);
	}
	for (size_t i = 0; i < c->frames.n; i++)
		mark(c, c->frames.frame[i].start, DT_CODE_HARD);
}

/* --- instructions */

static uint8_t looks_of(const struct dt_insn *in, const struct dt_insn *before)
{
	uint8_t target = in->modrm & 7;

	if (in->rip)
		return LOOKS_SLOT;
	if (in->modrm >= 0xc0) {
		bool adds = !before->map && before->modrm >= 0xc0 &&
			    ((before->opcode == 0x01 && (before->modrm & 7) == target &&
			      before->base_ext == in->base_ext) ||
			     (before->opcode == 0x03 && (before->modrm >> 3 & 7) == target &&
			      before->reg_ext == in->base_ext));

		return adds ? LOOKS_SWITCH : LOOKS_REGISTER;
	}
	/* number 4 is no index, but with its extension it is r12 */
	if (!in->sib_at || ((in->sib >> 3 & 7) == 4 && !in->index_ext))
		return in->sib_at && (in->sib & 7) == 5 && in->modrm < 0x40 ? LOOKS_SLOT
									    : LOOKS_MEMORY;
	if ((in->sib & 7) == 5 && in->modrm < 0x40)
		return LOOKS_TABLE;
	return LOOKS_INDEXED;
}

static void add_link(struct reader *r, const struct dt_insn *in, uint8_t how)
{
	struct dt_code *c = r->c;

	if (!grow(r, (void **)&c->link, c->links, &r->link_room, sizeof(*c->link)))
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
	if (grow(r, (void **)&r->lea, r->leas, &r->lea_room, sizeof(*r->lea)))
		r->lea[r->leas++] = (struct lea){table, (uint32_t)function};
}

/* What the instruction says about addresses in the code. */
static void addresses_of(struct reader *r, const struct dt_insn *in, const uint8_t *code,
			 size_t function)
{
	if (in->rip && !in->map && in->opcode == 0x8d && !take_address(r, in->memory))
		add_lea(r, in->memory, function);
	if (!r->fixed)
		return;
	if (in->imm_size == 4 && !dt_insn_direct(in)) {
		uint32_t v;

		memcpy(&v, code + in->imm_at, sizeof(v));
		if (text_at(r->c, v))
			take_address(r, v);
	}
	if (in->disp_size == 4 && !in->rip && in->disp > 0 && text_at(r->c, (uint64_t)in->disp))
		take_address(r, (uint64_t)in->disp);
}

static void link_of(struct reader *r, struct dt_code_function *f, const struct dt_insn *in,
		    const struct dt_insn *before)
{
	uint64_t distance =
		in->target > in->address ? in->target - in->address : in->address - in->target;

	switch (in->kind) {
	case DT_INSN_CALL:
		mark(r->c, in->target, DT_CODE_HARD | DT_CODE_CALLED);
		mark(r->c, in->address + in->length, DT_CODE_HARD);
		break;
	case DT_INSN_CALL_INDIRECT:
		mark(r->c, in->address + in->length, DT_CODE_HARD);
		break;
	case DT_INSN_XBEGIN:
		mark(r->c, in->target, DT_CODE_HARD);
		break;
	case DT_INSN_JUMP:
	case DT_INSN_BRANCH:
	case DT_INSN_LOOP:
		if (in->target < f->start || in->target >= f->end)
			mark(r->c, in->target, DT_CODE_CROSS);
		else
			mark(r->c, in->target,
			     distance < DT_CODE_CLOSE ? DT_CODE_NEAR : DT_CODE_DIRECT);
		add_link(r, in, 0);
		break;
	case DT_INSN_JUMP_INDIRECT:
		add_link(r, in, looks_of(in, before));
		break;
	case DT_INSN_RETURN:
		add_link(r, in, 0);
		break;
	case DT_INSN_FAR:
		/* a far call comes back, and nobody makes one: the return address of none is safe
		 */
		set_trouble(f, DT_TROUBLE_FAR, in->address);
		break;
	}
}

static void decode_function(struct reader *r, size_t index)
{
	struct dt_code_function *f = &r->c->function[index];
	const struct dt_code_region *region = text_at(r->c, f->start);
	struct dt_insn in = {0}, before;
	uint64_t at = f->start, ended = 0;

	f->first_link = (uint32_t)r->c->links;
	for (; at < f->end && !r->failed; at += in.length) {
		const uint8_t *code = region->bytes + (at - region->low);

		before = in;
		if (!dt_insn_decode(&in, code, f->end - at, at)) {
			/* nothing says that it goes so far */
			if (f->open && ended)
				break;
			set_trouble(f, DT_TROUBLE_DATA, at);
			break;
		}
		region->mark[at - region->low] |= DT_CODE_INSN;
		if (in.kind != DT_INSN_PLAIN)
			link_of(r, f, &in, &before);
		if (in.rip || r->fixed)
			addresses_of(r, &in, code, index);
		f->ends = dt_insn_ends(&in);
		f->calls = dt_insn_calls(&in);
		if (f->ends)
			ended = at + in.length;
	}
	if (f->open && at < f->end)
		f->end = ended;
	if (f->end == f->start)
		set_trouble(f, DT_TROUBLE_EMPTY, f->start);
	f->links = (uint32_t)r->c->links - f->first_link;
}

static bool is_filler_byte(uint8_t b)
{
	return b == 0xcc || b == 0x90 || !b;
}

/* Code that no function covers may still jump into one. */
static void decode_gap(struct reader *r, const struct dt_code_region *region, uint64_t low,
		       uint64_t high)
{
	struct dt_insn in;

	for (uint64_t at = low; at < high; at += in.length ? in.length : 1) {
		const uint8_t *code = region->bytes + (at - region->low);

		in.length = 0;
		if (is_filler_byte(*code) || !dt_insn_decode(&in, code, high - at, at))
			continue;
		if (dt_insn_direct(&in))
			mark(r->c, in.target, DT_CODE_HARD | DT_CODE_CALLED);
		if (in.rip && !in.map && in.opcode == 0x8d)
			take_address(r, in.memory);
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
			if (f->end > at)
				at = f->end;
		}
		decode_gap(r, region, at, region->high);
	}
}

/* --- data that holds addresses */

/* The bytes of a section that is loaded, from address on. */
static const uint8_t *data_at(Elf *elf, uint64_t address, size_t *left)
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

/* A restartable sequence: struct rseq_cs at address. */
static void read_sequence(struct reader *r, uint64_t address, uint64_t start)
{
	size_t left, i;
	const uint8_t *p = data_at(r->elf, address, &left);
	uint64_t size;

	if (!p || left < 32)
		return;
	memcpy(&size, p + 16, sizeof(size));
	for (uint64_t at = start; at <= start + size && size < 4096; at++) {
		mark(r->c, at, DT_CODE_HARD);
		i = dt_code_function_at(r->c, at);
		if (i < r->c->functions)
			set_trouble(&r->c->function[i], DT_TROUBLE_SEQUENCE, start);
	}
}

static void relocated(struct reader *r, uint64_t where, uint64_t value)
{
	take_address(r, value);
	if (where < r->sequence_low || where >= r->sequence_high)
		return;
	if ((where - r->sequence_low) % 32 == 8)
		read_sequence(r, where - 8, value);
	if ((where - r->sequence_low) % 32 == 24) /* the signature in front is looked at */
		for (uint64_t at = value - 4; at < value; at++)
			mark(r->c, at, DT_CODE_HARD);
}

static void read_rela(struct reader *r, Elf_Scn *s, const GElf_Shdr *sh)
{
	Elf_Scn *table = elf_getscn(r->elf, sh->sh_link);
	Elf_Data *d = elf_getdata(s, NULL), *symbols = table ? elf_getdata(table, NULL) : NULL;
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Rela rela;
	GElf_Sym sym;

	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		if (!gelf_getrela(d, (int)i, &rela))
			continue;
		value = (uint64_t)rela.r_addend;
		switch (GELF_R_TYPE(rela.r_info)) {
		case R_X86_64_RELATIVE:
		case R_X86_64_IRELATIVE:
			break;
		case R_X86_64_64:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
			if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym) ||
			    sym.st_shndx == SHN_UNDEF)
				continue;
			value += sym.st_value;
			break;
		default:
			continue;
		}
		relocated(r, rela.r_offset, value);
	}
}

static void relocated_word(struct reader *r, uint64_t where)
{
	size_t left;
	const uint8_t *p = data_at(r->elf, where, &left);
	uint64_t value;

	if (!p || left < 8)
		return;
	memcpy(&value, p, sizeof(value));
	relocated(r, where, value);
}

/* Relative relocations as a list of places and bitmaps of the 63 words behind (gABI, SHT_RELR). */
static void read_relr(struct reader *r, Elf_Scn *s)
{
	Elf_Data *d = elf_rawdata(s, NULL);
	uint64_t where = 0, entry;

	for (size_t i = 0; d && d->d_buf && i + 8 <= d->d_size; i += 8) {
		memcpy(&entry, (const uint8_t *)d->d_buf + i, sizeof(entry));
		if (!(entry & 1)) {
			relocated_word(r, entry);
			where = entry + 8;
			continue;
		}
		for (unsigned k = 0; k < 63; k++)
			if (entry >> (k + 1) & 1)
				relocated_word(r, where + 8 * k);
		where += 63 * 8;
	}
}

/* In a file at a fixed address any aligned word may be the address of code. */
static void read_words(struct reader *r, Elf_Scn *s, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_rawdata(s, NULL);
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < r->c->regions; i++) {
		if (r->c->region[i].low < low)
			low = r->c->region[i].low;
		if (r->c->region[i].high > high)
			high = r->c->region[i].high;
	}
	for (size_t i = 0; d && d->d_buf && i + 8 <= d->d_size; i += 8) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)d->d_buf + i, sizeof(v));
		if (v >= low && v < high)
			relocated(r, sh->sh_addr + i, v);
	}
}

static void read_data(struct reader *r)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(r->elf, s))) {
		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_type == SHT_RELA)
			read_rela(r, s, &sh);
		else if (sh.sh_type == SHT_RELR)
			read_relr(r, s);
		else if (r->fixed && sh.sh_type != SHT_NOBITS && !(sh.sh_flags & SHF_EXECINSTR))
			read_words(r, s, &sh);
	}
}

struct landing {
	struct reader *r;
	size_t function;
};

/* Something of the function leads to address in a way that is no jump. */
static void add_join(struct reader *r, size_t function, uint64_t address)
{
	if (function < r->c->functions &&
	    grow(r, (void **)&r->join, r->joins, &r->join_room, sizeof(*r->join)))
		r->join[r->joins++] = (struct lea){address, (uint32_t)function};
}

static void landing(void *ctx, uint64_t address)
{
	struct landing *l = ctx;

	mark(l->r->c, address, DT_CODE_HARD);
	add_join(l->r, l->function, address);
}

static void read_landings(struct reader *r)
{
	for (size_t i = 0; i < r->c->frames.n; i++) {
		const struct dt_frame *f = &r->c->frames.frame[i];
		struct landing l = {r, dt_code_function_at(r->c, f->start)};

		if (f->lsda)
			dt_frame_landings(&r->c->frames, f, landing, &l);
	}
}

/* May a table of function f lead to address? To f itself, or to a part that has no name. */
static bool may_lead(const struct dt_code *c, size_t f, uint64_t address)
{
	const struct dt_code_function *to;
	size_t i;

	if (!(dt_code_mark(c, address) & DT_CODE_INSN))
		return false;
	if (address >= c->function[f].start && address < c->function[f].end)
		return true;
	i = dt_code_function_at(c, address);
	to = &c->function[i];
	return i < c->functions && (!to->name || strstr(to->name, ".cold"));
}

static int by_table(const void *a, const void *b)
{
	const struct lea *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/*
 * Tables of 32-bit distances from their own beginning: how gcc and clang make a switch. Every
 * address that an instruction computes may be one; it ends where an entry leads nowhere.
 */
static void read_tables(struct reader *r)
{
	struct dt_code *c = r->c;
	const uint8_t *p = NULL;
	uint64_t base = 0;
	size_t left = 0;

	if (r->leas)
		qsort(r->lea, r->leas, sizeof(*r->lea), by_table);
	for (size_t i = 0; i < r->leas; i++) {
		const struct lea *l = &r->lea[i];
		size_t n;

		if (i && !by_table(l, l - 1))
			continue;
		/* sorted: mostly the section of the one before */
		if (!p || l->table - base >= left) {
			p = data_at(r->elf, l->table, &left);
			base = l->table;
		}
		for (n = l->table - base; p && n + 4 <= left; n += 4) {
			int32_t d;
			uint64_t to;

			memcpy(&d, p + n, sizeof(d));
			to = l->table + (uint64_t)(int64_t)d;
			if (!may_lead(c, l->function, to))
				break;
			mark(c, to, DT_CODE_HARD);
			add_join(r, l->function, to);
			c->function[l->function].table = true;
		}
	}
}

/* --- what the links say */

static bool named_cold(const char *name)
{
	return name && strstr(name, ".cold");
}

#define NOBODY	UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* What is known of the owner of something that may be a part. */
struct owner {
	uint32_t index;
	bool may;  /* nobody calls it, and it has no name */
	bool must; /* it has something on the stack when it begins, or is named so */
	bool sure; /* it goes back into the middle of its owner */
};

static void lead_to(struct dt_code *c, struct owner *o, size_t from, uint64_t to)
{
	size_t t = dt_code_function_at(c, to);

	if (t == c->functions || t == from)
		return;
	if (o[t].may && !o[t].sure) {
		if (o[t].index == NOBODY || o[t].index == from)
			o[t].index = (uint32_t)from;
		else if (!o[t].must) /* a part has one owner: then it is a function */
			o[t].index = SEVERAL;
	}
	if (o[from].may && !o[t].may && to != c->function[t].start && !o[from].sure) {
		o[from].index = (uint32_t)t;
		o[from].sure = true;
	}
}

/* Parts of functions that stand apart: the compiler's cold paths. */
static void join_parts(struct reader *r)
{
	struct dt_code *c = r->c;
	struct owner *o = calloc(c->functions + 1, sizeof(*o));

	if (!o) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		o[i].index = NOBODY;
		o[i].must = named_cold(f->name) ||
			    (!f->name && f->frame && dt_frame_depth(f->frame, f->start) != 8);
		o[i].may = o[i].must || (!f->name && !(dt_code_mark(c, f->start) & DT_CODE_CALLED));
	}
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (size_t k = f->first_link; k < f->first_link + f->links; k++)
			if (c->link[k].to)
				lead_to(c, o, i, c->link[k].to);
	}
	for (size_t i = 0; i < r->joins; i++)
		lead_to(c, o, r->join[i].function, r->join[i].table);
	for (size_t i = 0; i < c->functions; i++) {
		uint32_t whole = (uint32_t)i;

		/* parts of parts, but not in a circle */
		for (unsigned depth = 0; depth < 8 && o[whole].may && o[whole].index < SEVERAL;
		     depth++)
			whole = o[whole].index;
		c->function[i].part = o[i].must || (o[i].may && o[i].index < SEVERAL);
		if (c->function[i].part)
			c->function[i].whole = whole;
	}
	for (size_t i = c->functions; i-- > 0;) {
		struct dt_code_function *f = &c->function[i], *whole = &c->function[f->whole];

		if (f->whole == i)
			continue;
		if (whole->part) { /* a circle: nobody knows */
			f->whole = (uint32_t)i;
			continue;
		}
		f->next_part = whole->next_part;
		whole->next_part = (uint32_t)i;
	}
	free(o);
}

static int by_to(const void *a, const void *b)
{
	const struct dt_code_link *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_cross(const struct dt_code_function *f, const struct dt_code_link *l)
{
	return l->to && (l->to < f->start || l->to >= f->end);
}

/* Jumps between functions, so that it can be asked who jumps to an address. */
static void sort_crosses(struct reader *r)
{
	struct dt_code *c = r->c;
	size_t n = 0;

	for (size_t i = 0; i < c->functions; i++)
		for (size_t k = 0; k < c->function[i].links; k++)
			n += is_cross(&c->function[i], &c->link[c->function[i].first_link + k]);
	c->cross = malloc((n + 1) * sizeof(*c->cross));
	if (!c->cross) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < c->functions; i++)
		for (size_t k = 0; k < c->function[i].links; k++) {
			const struct dt_code_link *l = &c->link[c->function[i].first_link + k];

			if (is_cross(&c->function[i], l))
				c->cross[c->crosses++] = *l;
		}
	qsort(c->cross, c->crosses, sizeof(*c->cross), by_to);
}

static uint32_t whole_of(const struct dt_code *c, uint64_t address)
{
	size_t i = dt_code_function_at(c, address);

	return i < c->functions ? c->function[i].whole : UINT32_MAX;
}

/* A jump into the middle of an instruction is sound to know when it skips a prefix. */
static bool skips_prefix(const struct dt_code *c, uint64_t to)
{
	const struct dt_code_region *r = text_at(c, to);
	struct dt_insn whole, rest;
	uint64_t start = to;

	do
		start--;
	while (start > r->low && to - start < DT_INSN_MAX &&
	       !(r->mark[start - r->low] & DT_CODE_INSN));
	return dt_insn_decode(&whole, r->bytes + (start - r->low), r->high - start, start) &&
	       dt_insn_decode(&rest, r->bytes + (to - r->low), r->high - to, to) &&
	       start + whole.length == to + rest.length && to - start <= whole.prefixes;
}

static void check_links(struct dt_code *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (size_t k = f->first_link; k < f->first_link + f->links; k++) {
			uint64_t to = c->link[k].to;
			size_t t = to && text_at(c, to) ? dt_code_function_at(c, to) : c->functions;

			if (t == c->functions || dt_code_mark(c, to) & DT_CODE_INSN)
				continue;
			/* what follows data is no evidence against others */
			if (f->trouble == DT_TROUBLE_DATA && t != i)
				continue;
			if (!c->function[t].trouble && !skips_prefix(c, to))
				set_trouble(&c->function[t], DT_TROUBLE_OVERLAP, to);
		}
	}
}

static void add_exit(struct reader *r, const struct dt_code_link *l, uint8_t kind, bool into)
{
	struct dt_code *c = r->c;

	if (!grow(r, (void **)&c->exit, c->exits, &r->exit_room, sizeof(*c->exit)))
		return;
	c->exit[c->exits++] = (struct dt_exit){
		.address = l->from,
		.target = l->to,
		.length = l->length,
		.kind = kind,
		.into = into,
	};
}

/*
 * Where the first entry of the table leads that a jump of a file at a fixed address goes through:
 * 1 into the function itself, -1 to the beginning of another, 0 nobody knows.
 */
static int table_leads(struct reader *r, const struct dt_code_function *f,
		       const struct dt_code_link *l)
{
	const struct dt_code_region *region = text_at(r->c, l->from);
	struct dt_insn in;
	uint64_t to;
	size_t left, t;
	const uint8_t *p;

	if (!r->fixed ||
	    !dt_insn_decode(&in, region->bytes + (l->from - region->low), l->length, l->from))
		return 0;
	p = data_at(r->elf, in.rip ? in.memory : (uint64_t)in.disp, &left);
	if (!p || left < 8)
		return 0;
	memcpy(&to, p, sizeof(to));
	t = dt_code_function_at(r->c, to);
	if (t == r->c->functions)
		return 0;
	if (r->c->function[t].whole == f->whole)
		return to != r->c->function[f->whole].start;
	return to == r->c->function[t].start ? -1 : 0;
}

/*
 * An indirect jump: to another function, or a switch or computed goto inside? By its looks, by what
 * is on the stack (nothing but the return address at a tail call), and by whether there is anything
 * inside that it could lead to. Where it leads inside and nothing is known of where to, everything
 * counts as a target.
 */
static bool leaves(struct reader *r, struct dt_code_function *f, const struct dt_code_link *l,
		   bool has_switch)
{
	const struct dt_code *c = r->c;
	struct dt_code_function *whole = &c->function[f->whole];
	const struct dt_frame *frame = dt_frames_find(&c->frames, l->from);
	bool bare = !frame || dt_frame_depth(frame, l->from) == 8;
	/* what was on the stack is gone again: nothing but a call is left to do */
	bool undone = bare && frame && dt_frame_pushes(frame);
	bool table = f->table || whole->table, taken = f->taken || whole->taken;
	int leads = l->how == LOOKS_TABLE || l->how == LOOKS_SLOT ? table_leads(r, f, l) : 0;

	if (leads < 0 && bare)
		return true;
	switch (l->how) {
	case LOOKS_SWITCH:
		/* arithmetic on a taken address can lead anywhere */
		if (!table || taken)
			whole->anywhere = true;
		return false;
	case LOOKS_TABLE:
		/* of addresses: of this function's, then it is a switch, or of functions */
		if (bare && !taken)
			return true;
		break;
	case LOOKS_SLOT: /* also what is left of a switch over a constant */
	case LOOKS_MEMORY:
		if (bare && leads <= 0)
			return true;
		break;
	case LOOKS_INDEXED:
		if (bare && (!taken || undone))
			return true;
		break;
	default:
		if (bare && (!taken || undone) && (!table || has_switch))
			return true;
	}
	if (l->how == LOOKS_REGISTER ? taken || !table : !taken)
		whole->anywhere = true;
	return false;
}

static void find_exits(struct reader *r)
{
	struct dt_code *c = r->c;

	for (size_t i = 0; i < c->functions; i++) {
		struct dt_code_function *f = &c->function[i];
		const struct dt_code_link *l = &c->link[f->first_link], *end = l + f->links;
		bool has_switch = false;

		for (const struct dt_code_link *k = l; k < end; k++)
			has_switch |= k->how == LOOKS_SWITCH;
		f->first_exit = (uint32_t)c->exits;
		for (; l < end; l++) {
			size_t t;

			if (l->kind == DT_INSN_RETURN) {
				add_exit(r, l, DT_EXIT_RETURN, false);
				continue;
			}
			if (l->kind == DT_INSN_JUMP_INDIRECT) {
				if (leaves(r, f, l, has_switch))
					add_exit(r, l, DT_EXIT_INDIRECT, false);
				continue;
			}
			if (whole_of(c, l->to) == f->whole)
				continue;
			t = dt_code_function_at(c, l->to);
			add_exit(r, l, l->kind == DT_INSN_JUMP ? DT_EXIT_TAIL : DT_EXIT_BRANCH,
				 t < c->functions && c->function[t].start != l->to);
		}
		f->exits = (uint32_t)c->exits - f->first_exit;
		f->falls = !f->ends && !f->calls && !f->trouble && i + 1 < c->functions;
	}
}

/* --- filler */

/* From at on, what is filler: nop, int3 or zeros that nothing jumps to. */
static uint64_t fill_from(const struct dt_code_region *r, uint64_t at, uint64_t high, bool inside)
{
	struct dt_insn in;

	while (at < high) {
		uint8_t *m = &r->mark[at - r->low];
		unsigned n = 1;

		/* in front of it, not behind: from there on it is used */
		if (*m & DT_CODE_TARGET)
			break;
		if (inside || !is_filler_byte(r->bytes[at - r->low])) {
			n = dt_insn_decode(&in, r->bytes + (at - r->low), high - at, at);
			if (!n || (in.kind != DT_INSN_NOP && in.opcode != 0xcc))
				break;
			for (unsigned k = 1; k < n; k++)
				if (m[k] & DT_CODE_TARGET)
					return at;
		}
		for (unsigned k = 0; k < n; k++)
			m[k] |= DT_CODE_FILLER;
		at += n;
	}
	return at;
}

static void find_filler(struct dt_code *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];
		const struct dt_code_region *r = text_at(c, f->start);
		uint64_t next = i + 1 < c->functions && c->function[i + 1].start <= r->high
					? c->function[i + 1].start
					: r->high;

		if (f->trouble || f->anywhere || c->function[f->whole].anywhere)
			continue;
		for (size_t k = f->first_link; k < f->first_link + f->links; k++)
			if (c->link[k].kind == DT_INSN_JUMP || c->link[k].kind == DT_INSN_RETURN ||
			    c->link[k].kind == DT_INSN_JUMP_INDIRECT)
				fill_from(r, c->link[k].from + c->link[k].length, f->end, true);
		/* behind a call that never comes back, but not what would be its return address */
		if (f->ends || f->calls)
			fill_from(r, f->end + !f->ends, next, false);
	}
}

static int read_code(struct reader *r, const char *path, const struct dt_symtab *symtab,
		     struct dt_error *e)
{
	struct dt_code *c = r->c;

	if (read_regions(r, path, e))
		return -1;
	read_functions(r, symtab);
	cut_functions(r);
	for (size_t i = 0; i < c->functions && !r->failed; i++)
		decode_function(r, i);
	decode_gaps(r);
	read_data(r);
	read_landings(r);
	read_tables(r);
	join_parts(r);
	sort_crosses(r);
	check_links(c);
	find_exits(r);
	find_filler(c);
	return r->failed ? dt_fail(e, "out of memory reading %s", path) : 0;
}

struct dt_code *dt_code_open(const char *path, const struct dt_symtab *symtab, struct dt_error *e)
{
	struct dt_code *c = calloc(1, sizeof(*c));
	struct reader r = {.c = c};

	if (!c) {
		dt_fail(e, "out of memory reading %s", path);
		return NULL;
	}
	if (dt_frames_open(&c->frames, path, e)) {
		free(c);
		return NULL;
	}
	r.elf = c->frames.file.elf;
	if (read_code(&r, path, symtab, e)) {
		dt_code_close(c);
		c = NULL;
	}
	free(r.lea);
	free(r.join);
	return c;
}

void dt_code_close(struct dt_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->regions; i++)
		free(c->region[i].mark);
	free(c->region);
	free(c->function);
	free(c->exit);
	free(c->link);
	free(c->cross);
	dt_frames_close(&c->frames);
	free(c);
}
