/* SPDX-License-Identifier: MIT */
/*
 * Reads .eh_frame as the Linux Standard Base Core Specification (5.0, 10.6) and DWARF 5 (6.4)
 * describe it, and the call-site tables of .gcc_except_table as the Itanium C++ ABI's exception
 * handling tables (HP, "Exception Handling Tables", 7) do. libdw walks the entries and their CIEs.
 */
#include "elf/frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"
#include "elf/cursor.h"
#include "elf/elf.h"

/* Reads a value in one of the DW_EH_PE formats, without adding what it is relative to. */
static uint64_t take_format(struct dt_frame_cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return dt_take_bytes(c, 8);
	case DW_EH_PE_uleb128:
		return dt_take_uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)dt_take_sleb(c);
	case DW_EH_PE_udata2:
		return dt_take_bytes(c, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)dt_take_bytes(c, 2);
	case DW_EH_PE_udata4:
		return dt_take_bytes(c, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)dt_take_bytes(c, 4);
	}
	c->bad = true;
	return 0;
}

/* Reads an address. A 0 means none, whatever it would be relative to. */
static uint64_t take_address(struct dt_frame_cursor *c, uint8_t encoding)
{
	uint64_t at = c->address, v = take_format(c, encoding);

	if (encoding & DW_EH_PE_indirect)
		c->bad = true;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return v;
	case DW_EH_PE_pcrel:
		return v ? at + v : 0;
	}
	c->bad = true;
	return 0;
}

struct augmentation {
	uint8_t address, lsda; /* encodings; DW_EH_PE_omit: the entry has none */
	bool sized;	       /* entries have augmentation data, with their length */
	bool signal;
	bool known;
};

static struct augmentation read_augmentation(const Dwarf_CIE *cie)
{
	struct augmentation a = {.lsda = DW_EH_PE_omit, .known = true};
	struct dt_frame_cursor c = {cie->augmentation_data,
				    cie->augmentation_data + cie->augmentation_data_size, 0, false};
	const char *s = cie->augmentation;

	if (*s == 'z')
		a.sized = true;
	else if (*s)
		a.known = false;
	for (s += a.sized; *s && a.known; s++)
		switch (*s) {
		case 'R':
			a.address = (uint8_t)dt_take_bytes(&c, 1);
			break;
		case 'L':
			a.lsda = (uint8_t)dt_take_bytes(&c, 1);
			break;
		case 'P': {
			uint8_t encoding = (uint8_t)dt_take_bytes(&c, 1);

			take_format(&c, encoding);
			break;
		}
		case 'S':
			a.signal = true;
			break;
		case 'B':
			break;
		default:
			a.known = false;
		}
	a.known = a.known && !c.bad;
	return a;
}

/* Reads one FDE, from its body. Returns false if it can not be read. */
static bool read_frame(struct dt_frame *f, const Dwarf_CIE *cie, struct dt_frame_cursor body)
{
	struct augmentation a = read_augmentation(cie);
	uint64_t size;

	if (!a.known)
		return false;
	*f = (struct dt_frame){
		.initial = cie->initial_instructions,
		.initial_end = cie->initial_instructions_end,
		.code_align = (uint32_t)cie->code_alignment_factor,
		.data_align = (int32_t)cie->data_alignment_factor,
		.encoding = a.address,
		.signal = a.signal,
	};
	f->start = take_address(&body, a.address);
	size = take_format(&body, a.address & 0x0f);
	f->end = f->start + size;
	if (a.sized) {
		uint64_t n = dt_take_uleb(&body);
		struct dt_frame_cursor data = body;

		if (body.bad || n > (size_t)(body.end - body.p))
			return false;
		data.end = data.p + n;
		body.p += n;
		if (a.lsda != DW_EH_PE_omit)
			f->lsda = take_address(&data, a.lsda);
	}
	f->code = body.p;
	f->code_end = body.end;
	return !body.bad && f->start && size && f->end > f->start;
}

static int by_start(const void *a, const void *b)
{
	const struct dt_frame *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct cies {
	Dwarf_Off offset;
	Dwarf_CFI_Entry entry;
	bool valid;
};

/*
 * Finds an entry's CIE. Entries share CIEs, mostly with the entry before, so the last one is kept:
 * reading it each time would double the work.
 */
static const Dwarf_CIE *find_cie(struct cies *last, const unsigned char *ident, Elf_Data *d,
				 Dwarf_Off at)
{
	Dwarf_Off next;

	if (last->valid && last->offset == at)
		return &last->entry.cie;
	last->offset = at;
	last->valid = dwarf_next_cfi(ident, d, true, at, &next, &last->entry) == 0 &&
		      dwarf_cfi_cie_p(&last->entry);
	return last->valid ? &last->entry.cie : NULL;
}

static int read_frames(struct dt_frames *f, Elf_Data *d, uint64_t address, struct dt_error *e)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(f->file.elf, NULL);
	const uint8_t *bytes = d->d_buf;
	struct cies last = {0};
	size_t room = 0, kept = 0;
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0, next;

	for (; dwarf_next_cfi(ident, d, true, at, &next, &entry) == 0 && next > at; at = next) {
		const Dwarf_CIE *cie;
		struct dt_frame_cursor body;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		cie = find_cie(&last, ident, d, entry.fde.CIE_pointer);
		if (!cie)
			continue;
		if (f->n == room) {
			size_t more = room ? room * 2 : 1024;
			struct dt_frame *p = realloc(f->frame, more * sizeof(*p));

			if (!p)
				return dt_fail(e, "out of memory reading %s", f->file.path);
			f->frame = p;
			room = more;
		}
		body = (struct dt_frame_cursor){entry.fde.start, entry.fde.end,
						address + (uint64_t)(entry.fde.start - bytes),
						false};
		f->n += read_frame(&f->frame[f->n], cie, body);
	}
	if (f->n)
		qsort(f->frame, f->n, sizeof(*f->frame), by_start);
	for (size_t i = 0; i < f->n; i++)
		if (!kept || f->frame[i].start != f->frame[kept - 1].start)
			f->frame[kept++] = f->frame[i];
	f->n = kept;
	return 0;
}

int dt_frames_open(struct dt_frames *f, const char *path, struct dt_error *e)
{
	int file = dt_elf_file(path, true, e);

	*f = (struct dt_frames){.file.fd = -1};
	return file < 0 ? -1 : dt_frames_begin(f, file, path, e);
}

int dt_frames_begin(struct dt_frames *f, int file, const char *path, struct dt_error *e)
{
	Elf_Scn *s;
	GElf_Shdr sh;
	Elf_Data *d;

	*f = (struct dt_frames){0};
	if (dt_symfile_begin(&f->file, file, path, e))
		return -1;
	s = dt_symfile_section(&f->file, ".eh_frame");
	d = s && gelf_getshdr(s, &sh) && sh.sh_type != SHT_NOBITS ? elf_getdata(s, NULL) : NULL;
	if (d && d->d_buf && read_frames(f, d, sh.sh_addr, e)) {
		dt_frames_close(f);
		return -1;
	}
	return 0;
}

void dt_frames_close(struct dt_frames *f)
{
	free(f->frame);
	dt_symfile_close(&f->file);
	*f = (struct dt_frames){.file.fd = -1};
}

const struct dt_frame *dt_frames_find(const struct dt_frames *f, uint64_t address)
{
	size_t low = dt_count_before(f->n, i, f->frame[i].start <= address);

	return low && address < f->frame[low - 1].end ? &f->frame[low - 1] : NULL;
}

struct cfa {
	uint64_t reg;
	int64_t offset; /* from reg; -1 with any register: an expression gives the address */
};

#define STATES 8 /* states that can be remembered at the same time; compilers use one */

/*
 * Sets *pushes if the frame's base is not where it is when a function begins, that is, if something
 * may be on the stack.
 */
static void look(const struct cfa *now, bool *pushes)
{
	*pushes |= now->reg != DT_ABI_DWARF_SP || now->offset != DT_ABI_ENTRY_DEPTH;
}

/* Runs an instruction that defines the frame's base (a register and a distance from it). Returns
 * false if the instruction does not. */
static bool define_cfa(struct dt_frame_cursor *c, uint8_t op, const struct dt_frame *f,
		       struct cfa *now)
{
	switch (op) {
	case DW_CFA_def_cfa:
		now->reg = dt_take_uleb(c);
		now->offset = (int64_t)dt_take_uleb(c);
		return true;
	case DW_CFA_def_cfa_sf:
		now->reg = dt_take_uleb(c);
		now->offset = dt_take_sleb(c) * f->data_align;
		return true;
	case DW_CFA_def_cfa_register:
		now->reg = dt_take_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset:
		now->offset = (int64_t)dt_take_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		now->offset = dt_take_sleb(c) * f->data_align;
		return true;
	}
	return false;
}

/* Skips the operands of an instruction that says where another register is saved. Returns false if
 * the instruction does not. */
static bool pass_register(struct dt_frame_cursor *c, uint8_t op)
{
	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_register:
	case DW_CFA_val_offset:
		dt_take_uleb(c);
		dt_take_uleb(c);
		return true;
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		dt_take_uleb(c);
		dt_take_sleb(c);
		return true;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		dt_take_uleb(c);
		return true;
	case DW_CFA_GNU_window_save: /* on aarch64: the return address is signed, or not any more */
		return true;
	}
	return false;
}

/*
 * Runs DW_CFA instructions until they are about addresses above wanted. Returns false if one is not
 * understood.
 */
static bool run_cfa(struct dt_frame_cursor c, const struct dt_frame *f, uint64_t wanted,
		    struct cfa *now, bool *pushes)
{
	struct cfa kept[STATES];
	uint64_t at = f->start;
	unsigned depth = 0;

	while (c.p < c.end && !c.bad) {
		uint8_t op = (uint8_t)dt_take_bytes(&c, 1);
		uint64_t step = 0;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			step = (op & 0x3f) * (uint64_t)f->code_align;
			goto advance;
		case DW_CFA_offset:
			dt_take_uleb(&c);
			continue;
		case DW_CFA_restore:
			continue;
		}
		switch (op) {
		case DW_CFA_nop:
			break;
		case DW_CFA_set_loc:
			return false;
		case DW_CFA_advance_loc1:
			step = dt_take_bytes(&c, 1) * f->code_align;
			goto advance;
		case DW_CFA_advance_loc2:
			step = dt_take_bytes(&c, 2) * f->code_align;
			goto advance;
		case DW_CFA_advance_loc4:
			step = dt_take_bytes(&c, 4) * f->code_align;
			goto advance;
		case DW_CFA_remember_state:
			if (depth == STATES)
				return false;
			kept[depth++] = *now;
			break;
		case DW_CFA_restore_state:
			if (!depth)
				return false;
			*now = kept[--depth];
			break;
		case DW_CFA_def_cfa_expression:
			now->offset = -1;
			step = dt_take_uleb(&c);
			goto skip;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			dt_take_uleb(&c);
			step = dt_take_uleb(&c);
			goto skip;
		default:
			if (!define_cfa(&c, op, f, now) && !pass_register(&c, op))
				return false;
		}
		continue;
	skip:
		if (step > (size_t)(c.end - c.p))
			return false;
		c.p += step;
		continue;
	advance:
		look(now, pushes);
		at += step;
		if (at > wanted)
			return true;
	}
	return !c.bad;
}

bool dt_frame_pushes(const struct dt_frame *f)
{
	struct cfa now = {DT_FRAME_SP, DT_FRAME_AT_ENTRY};
	struct dt_frame_cursor code = {f->code, f->code_end, 0, false};
	bool pushes = false;

	run_cfa(code, f, UINT64_MAX, &now, &pushes);
	look(&now, &pushes);
	return pushes;
}

int64_t dt_frame_depth(const struct dt_frame *f, uint64_t address)
{
	bool ignored = false;
	struct cfa now = {0, -1};
	struct dt_frame_cursor initial = {f->initial, f->initial_end, 0, false};
	struct dt_frame_cursor code = {f->code, f->code_end, 0, false};

	if (!run_cfa(initial, f, UINT64_MAX, &now, &ignored) ||
	    !run_cfa(code, f, address, &now, &ignored))
		return -1;
	return now.reg == DT_FRAME_SP ? now.offset : -1;
}

/*
 * Sets *c to the bytes from address to the end of their section. Returns false if the file does not
 * have them.
 */
static bool section_at(const struct dt_frames *f, uint64_t address, struct dt_frame_cursor *c)
{
	size_t left;
	const uint8_t *p = dt_symfile_bytes(f->file.elf, address, &left);

	if (p)
		*c = (struct dt_frame_cursor){p, p + left, address, false};
	return p;
}

void dt_frame_landings(const struct dt_frames *all, const struct dt_frame *f,
		       void (*fn)(void *ctx, uint64_t address), void *ctx)
{
	uint64_t base = f->start, length;
	uint8_t encoding;
	struct dt_frame_cursor c;

	if (!f->lsda || !section_at(all, f->lsda, &c))
		return;
	encoding = (uint8_t)dt_take_bytes(&c, 1);
	if (encoding != DW_EH_PE_omit)
		base = take_address(&c, encoding);
	encoding = (uint8_t)dt_take_bytes(&c, 1);
	if (encoding != DW_EH_PE_omit)
		dt_take_uleb(&c); /* skips where the types are */
	encoding = (uint8_t)dt_take_bytes(&c, 1);
	length = dt_take_uleb(&c);
	if (c.bad || length > (size_t)(c.end - c.p))
		return;
	c.end = c.p + length;
	while (c.p < c.end && !c.bad) {
		uint64_t pad;

		take_format(&c, encoding); /* skips the call site's start and length */
		take_format(&c, encoding);
		pad = take_format(&c, encoding);
		dt_take_uleb(&c); /* the action */
		if (pad && !c.bad)
			fn(ctx, base + pad);
	}
}
