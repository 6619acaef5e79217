/* SPDX-License-Identifier: MIT */
/*
 * Finds the DWARF entry of an address: compilation units by their address ranges (indexed at the
 * first question, without .debug_aranges, which clang does not write), and in a unit its functions
 * (indexed when the first question falls into the unit).
 */
#include "symbols/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "symbols/dwarf-signature.h"
#include "symbols/dwarf-type.h"
#include "symbols/dwarf-variable.h"

#define MAX_DEPTH 64

struct function {
	uint64_t address;
	Dwarf_Off offset; /* of its entry, in the unit's Dwarf */
};

struct unit {
	Dwarf_Die die, lines; /* lines: has the line table: the skeleton, for split DWARF */
	Dwarf *dwarf;	      /* the one that die is in; for split DWARF not the main one */
	int language;
	bool rewrites; /* compiled by LLVM: see struct dt_signature_context */
	bool types;    /* it describes types, not only lines as with -g1 */
	enum { UNREAD, OUTER, DEEP } read;
	struct function *function; /* sorted by address once read */
	size_t functions, room;
};

struct range {
	uint64_t low, high;
	size_t unit;
};

struct dt_dwarf {
	Dwarf *dwarf, *alt;
	struct dt_symfile alt_file;
	struct unit *unit;
	size_t units, unit_room;
	struct range *range; /* sorted by low */
	size_t ranges, range_room;
	bool indexed;
};

/* Makes room for one more element; returns false if there is no memory. */
static bool grow(void **array, size_t *room, size_t n, size_t each)
{
	size_t more = *room ? *room * 2 : 64;
	void *p;

	if (n < *room)
		return true;
	p = realloc(*array, more * each);
	if (!p)
		return false;
	*array = p;
	*room = more;
	return true;
}

/*
 * Puts a NUL at the end of each section, because libdw returns strings of a damaged file as
 * pointers without looking for their end. A sound section has a NUL there, or nothing that matters.
 */
static void end_strings(Elf *elf)
{
	Elf_Scn *s = NULL;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((s = elf_nextscn(elf, s))) {
		const char *name = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *d = NULL;

		if (name &&
		    (!strncmp(name, ".debug_info", 11) || !strncmp(name, ".debug_str", 10) ||
		     !strncmp(name, ".debug_line", 11) || !strncmp(name, ".zdebug_", 8)))
			d = elf_getdata(s, NULL);
		if (d && d->d_buf && d->d_size)
			((char *)d->d_buf)[d->d_size - 1] = '\0';
	}
}

struct dt_dwarf *dt_dwarf_open(const struct dt_symfile *file, const char *dirs)
{
	struct dt_dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->alt_file.fd = -1;
	d->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!d->dwarf) {
		free(d);
		return NULL;
	}
	end_strings(file->elf);
	if (dt_symfile_alt(&d->alt_file, file, dirs)) {
		d->alt = dwarf_begin_elf(d->alt_file.elf, DWARF_C_READ, NULL);
		if (d->alt) {
			end_strings(d->alt_file.elf);
			dwarf_setalt(d->dwarf, d->alt);
		}
	}
	return d;
}

void dt_dwarf_close(struct dt_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units; i++)
		free(d->unit[i].function);
	dwarf_end(d->dwarf);
	if (d->alt)
		dwarf_end(d->alt);
	dt_symfile_close(&d->alt_file);
	free(d->unit);
	free(d->range);
	free(d);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attr));

	return text ? text : "";
}

static void add_unit(struct dt_dwarf *d, Dwarf_Die *skeleton, Dwarf_Die *die)
{
	const char *producer = text_of(die, DW_AT_producer);
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	size_t before = d->ranges;

	if (!grow((void **)&d->unit, &d->unit_room, d->units, sizeof(*d->unit)))
		return;
	/* a skeleton has the ranges, its split unit the entries */
	while ((at = dwarf_ranges(skeleton, at, &base, &low, &high)) > 0) {
		if (!low || low >= high ||
		    !grow((void **)&d->range, &d->range_room, d->ranges, sizeof(*d->range)))
			continue;
		d->range[d->ranges++] = (struct range){low, high, d->units};
	}
	if (d->ranges == before)
		return;
	d->unit[d->units++] = (struct unit){
		.die = *die,
		.lines = *skeleton,
		.dwarf = dwarf_cu_getdwarf(die->cu),
		.language = dwarf_srclang(die),
		.rewrites = strstr(producer, "clang") || strstr(producer, "LLVM"),
	};
}

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void index_units(struct dt_dwarf *d)
{
	Dwarf_Die die, split;
	Dwarf_CU *cu = NULL;
	uint8_t type;

	d->indexed = true;
	while (!dwarf_get_units(d->dwarf, cu, &cu, NULL, &type, &die, &split)) {
		if (type == DW_UT_compile)
			add_unit(d, &die, &die);
		else if (type == DW_UT_skeleton)
			add_unit(d, &die, split.addr ? &split : &die);
	}
	if (d->ranges)
		qsort(d->range, d->ranges, sizeof(*d->range), by_low);
}

static struct unit *find_unit(struct dt_dwarf *d, uint64_t address)
{
	size_t low;

	if (!d->indexed)
		index_units(d);
	low = dt_count_before(d->ranges, i, d->range[i].low <= address);
	if (!low || address >= d->range[low - 1].high)
		return NULL;
	return &d->unit[d->range[low - 1].unit];
}

static bool row_address(Dwarf_Lines *rows, size_t i, uint64_t *address)
{
	Dwarf_Line *row = dwarf_onesrcline(rows, i);

	return row && !dwarf_lineaddr(row, address);
}

/*
 * Finds the row of the line table that holds address. If several rows have one address it is the
 * first: that has the line where the function begins, and those after it may be of code inlined
 * there.
 */
static Dwarf_Line *find_row(Dwarf_Lines *rows, size_t n, uint64_t address)
{
	size_t low = 0, high = n;
	Dwarf_Line *found = NULL;
	uint64_t a, at;
	bool end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (!row_address(rows, mid, &a))
			return NULL;
		if (a <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || !row_address(rows, low - 1, &at))
		return NULL;
	while (low && row_address(rows, low - 1, &a) && a == at) {
		Dwarf_Line *row = dwarf_onesrcline(rows, --low);

		if (!dwarf_lineendsequence(row, &end) && !end)
			found = row;
	}
	return found;
}

bool dt_dwarf_line(struct dt_dwarf *d, uint64_t address, const char **file, unsigned *line)
{
	struct unit *u = find_unit(d, address);
	Dwarf_Lines *rows;
	Dwarf_Line *row;
	size_t n;
	int is;

	if (!u || dwarf_getsrclines(&u->lines, &rows, &n))
		return false;
	row = find_row(rows, n, address);
	if (!row || dwarf_lineno(row, &is) || is <= 0)
		return false;
	*file = dwarf_linesrc(row, NULL, NULL);
	*line = (unsigned)is;
	return *file != NULL;
}

static bool is_file(const char *path, const char *name, size_t n)
{
	size_t length = path ? strlen(path) : 0;

	return length >= n && strncmp(path + length - n, name, n) == 0 &&
	       (length == n || path[length - n - 1] == '/');
}

/*
 * Takes the line itself or, if it has no code, the next one that has. An optimizing compiler may
 * have spread a line, so of its addresses the lowest at which a statement begins is taken.
 */
bool dt_dwarf_address(struct dt_dwarf *d, const char *file, size_t length, unsigned line,
		      uint64_t *address)
{
	int best = 0;

	if (!d->indexed)
		index_units(d);
	for (size_t i = 0; i < d->units; i++) {
		Dwarf_Lines *rows;
		size_t n;

		if (dwarf_getsrclines(&d->unit[i].lines, &rows, &n))
			continue;
		for (size_t k = 0; k < n; k++) {
			Dwarf_Line *row = dwarf_onesrcline(rows, k);
			bool begins = false, end = true;
			Dwarf_Addr at;
			int is;

			if (!row || dwarf_lineno(row, &is) || is < (int)line ||
			    (best && is > best) || dwarf_linebeginstatement(row, &begins) ||
			    !begins || dwarf_lineendsequence(row, &end) || end ||
			    dwarf_lineaddr(row, &at) || !at ||
			    !is_file(dwarf_linesrc(row, NULL, NULL), file, length))
				continue;
			if (is < best || !best || at < *address)
				*address = at;
			best = is;
		}
	}
	return best != 0;
}

static bool entry_of(Dwarf_Die *die, uint64_t *address)
{
	Dwarf_Addr base, low, high;
	Dwarf_Attribute attr;

	if (dwarf_attr(die, DW_AT_entry_pc, &attr) && !dwarf_formaddr(&attr, &low)) {
		*address = low;
		return true;
	}
	/* the first of several ranges holds the entry */
	if (dwarf_lowpc(die, &low) && dwarf_ranges(die, 0, &base, &low, &high) <= 0)
		return false;
	*address = low;
	return true;
}

/*
 * Returns where the body of the function around address begins: at its second row of the line
 * table, as debuggers assume; 0 if it is not known.
 */
static uint64_t body_of(struct unit *u, uint64_t address)
{
	Dwarf_Die *scopes = NULL, unit = u->die;
	int n = dwarf_getscopes(&unit, address, &scopes);
	uint64_t low = 0, at, body = 0;
	Dwarf_Lines *rows;
	size_t rows_n;

	for (int i = 0; i < n && !low; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			entry_of(&scopes[i], &low);
	free(scopes);
	if (!low || dwarf_getsrclines(&u->lines, &rows, &rows_n))
		return 0;
	for (size_t i = 0; i < rows_n; i++)
		if (row_address(rows, i, &at) && at > low && (!body || at < body))
			body = at;
	return body;
}

int dt_dwarf_variable_at(struct dt_dwarf *d, Elf *elf, uint64_t address, const char *expression,
			 struct dt_variable *v, struct dt_error *e)
{
	struct unit *u = find_unit(d, address);

	if (!u)
		return dt_fail(e, "devtrace: %s: nothing is known of the variables there",
			       expression);
	return dt_dwarf_variable(&(struct dt_variable_context){.unit = u->die,
							       .dwarf = u->dwarf,
							       .elf = elf,
							       .language = u->language,
							       .address = address,
							       .body = body_of(u, address)},
				 expression, v, e);
}

static void index_functions(struct unit *u, Dwarf_Die *parent, int depth)
{
	Dwarf_Off last = 0;
	Dwarf_Die d;

	if (depth > MAX_DEPTH || dwarf_child(parent, &d))
		return;
	do {
		uint64_t address;
		int tag = dwarf_tag(&d);

		/* offsets of entries only increase; anything else is damage */
		if (dwarf_dieoffset(&d) <= last)
			return;
		last = dwarf_dieoffset(&d);
		if (tag == DW_TAG_subprogram && entry_of(&d, &address) && address &&
		    grow((void **)&u->function, &u->room, u->functions, sizeof(*u->function)))
			u->function[u->functions++] = (struct function){address, last};
		switch (tag) {
		case DW_TAG_base_type:
		case DW_TAG_pointer_type:
		case DW_TAG_imported_unit: /* types are shared by dwz, or were written before
					      link-time optimization */
			u->types = true;
			break;
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			/*
			 * nested functions and methods of local classes are rare, and there is much
			 * to read to find them
			 */
			if (u->read != DEEP)
				break;
			/* fall through */
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			if (dwarf_haschildren(&d))
				index_functions(u, &d, depth + 1);
			break;
		}
	} while (!dwarf_siblingof(&d, &d));
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Returns the first of the unit's functions that begins at address, or NULL. */
static struct function *first_at(struct unit *u, uint64_t address)
{
	size_t low = dt_count_before(u->functions, i, u->function[i].address < address);

	return low < u->functions && u->function[low].address == address ? &u->function[low] : NULL;
}

static struct function *find_function(struct unit *u, uint64_t address)
{
	for (;;) {
		struct function *f = first_at(u, address);

		if (f || u->read == DEEP)
			return f;
		u->read = u->read == UNREAD ? OUTER : DEEP;
		u->functions = 0;
		index_functions(u, &u->die, 0);
		if (u->functions)
			qsort(u->function, u->functions, sizeof(*u->function), by_address);
	}
}

static bool is_named(Dwarf_Die *die, const char *linkage)
{
	if (!strcmp(text_of(die, DW_AT_linkage_name), linkage) ||
	    !strcmp(text_of(die, DW_AT_MIPS_linkage_name), linkage))
		return true;
	return !strcmp(text_of(die, DW_AT_name), linkage);
}

/*
 * Chooses the entry with that linkage name: if the linker folded equal functions into one, several
 * entries are at one address.
 */
static bool choose_die(struct unit *u, struct function *f, const char *linkage, Dwarf_Die *die)
{
	struct function *end = u->function + u->functions, *first = f;
	int n = 0;

	for (; f < end && f->address == first->address; f++, n++)
		if (dwarf_offdie(u->dwarf, f->offset, die) && is_named(die, linkage))
			return true;
	return n == 1 && dwarf_offdie(u->dwarf, first->offset, die);
}

void dt_dwarf_signature(struct dt_dwarf *d, const struct dt_function *fn, bool local,
			enum dt_dwarf_signature how, char *buf, size_t size)
{
	struct unit *u = find_unit(d, fn->address);
	struct function *f = u ? find_function(u, fn->address) : NULL;
	Dwarf_Die die;

	buf[0] = '\0';
	if (!f || !choose_die(u, f, fn->linkage, &die))
		return;
	dt_dwarf_signature_text(&die,
				&(struct dt_signature_context){
					.language = u->language,
					.rewrites = u->rewrites,
					.local = local,
					.address = fn->address,
					.keys = how != DT_SIGNATURE_PLAIN ? d->dwarf : NULL,
					.places = how == DT_SIGNATURE_PLACES,
				},
				buf, size);
	if (!u->types && !strcmp(buf, ";v"))
		buf[0] = '\0'; /* nothing is known of parameters and results */
}

bool dt_dwarf_type(struct dt_dwarf *d, uint64_t key, char *buf, size_t size)
{
	return dt_type_describe(d->dwarf, key, buf, size);
}
