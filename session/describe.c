/* SPDX-License-Identifier: MIT */
/* Describes a pc to the trace file when it first appears: function, kind of site, values with a
 * meaning. */
#include "session/landing.h"
#include "session/module-rows.h"
#include "session/describe-work.h"
#include "session/function-names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/signature.h"
#include "process/memory.h"
#include "hook/target-modules.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "symbols/described.h"
#include "symbols/nameless.h"
#include "symbols/passes.h"
#include "symbols/pattern.h"
#include "session/kernel-ranges.h"
#include "session/thread-table.h"
#include "session/whose.h"
#include "session/sieve.h"
#include "session/socket-names.h"

static uint8_t place_bits(const struct dt_signature_value *v)
{
	uint8_t bits = 0;

	for (unsigned i = 0; i < v->places; i++)
		if (v->place[i].kind == DT_PLACE_VALUE && v->place[i].n < 4)
			bits |= (uint8_t)(1u << v->place[i].n);
	return bits;
}

uint8_t dt_describe_meant(const char *signature, bool result)
{
	struct dt_signature_value v;
	const char *p = signature;
	uint8_t bits = 0;

	if (!dt_signature_result(signature, &v))
		return DT_DESCRIBE_ALL;
	if (result) {
		bits = place_bits(&v);
		if (bits && v.failure.has_error)
			bits |= (uint8_t)(1u << v.failure.error);
		return bits;
	}
	while (dt_signature_next(&p, &v)) {
		if (v.rest)
			return DT_DESCRIBE_ALL; /* registers after those of the named parameters
					      count, too */
		bits |= place_bits(&v);
	}
	return bits;
}

/* ---- types ---- */

#define TYPE_TEXT  (256 << 10) /* longer descriptions are left out */
#define TYPE_DEPTH 8

/* Returns the row of a type, which is written when it is first met; 0: it is not described. */
static int64_t new_type_row(struct dt_session *s, struct dt_file *f, uint64_t key, unsigned depth)
{
	char *text = depth < TYPE_DEPTH ? malloc(TYPE_TEXT) : NULL;
	int64_t row = 0;

	if (text && dt_described_type(f ? dt_file_symtab(f) : NULL, key, text, TYPE_TEXT)) {
		dt_describe_types(s, f, text, depth + 1);
		row = dt_store_type(s->store, text, NULL);
	}
	free(text);
	return row < 0 ? 0 : row;
}

/* Returns the row of a type of a file; f NULL: of a prototype of the kernel. */
static int64_t type_row(struct dt_session *s, struct dt_file *f, uint64_t key, unsigned depth)
{
	struct dt_file_type *more;
	int64_t row;

	for (size_t i = f ? f->types : 0; i-- > 0;)
		if (f->type[i].key == key)
			return f->type[i].row;
	row = new_type_row(s, f, key, depth);
	if (!f)
		return row;
	more = realloc(f->type, (f->types + 1) * sizeof(*more));
	if (more) {
		f->type = more;
		f->type[f->types++] = (struct dt_file_type){key, row};
	}
	return row;
}

void dt_describe_types(struct dt_session *s, struct dt_file *f, char *text, unsigned depth)
{
	char *out = text, row[24];

	for (char *p = text; *p;) {
		char *end = p + 1;
		uint64_t key;
		int64_t id;

		if (*p != '#') {
			*out++ = *p++;
			continue;
		}
		key = strtoull(p + 1, &end, 16);
		id = type_row(s, f, key, depth);
		if (id && dt_format(row, sizeof(row), "#%ld", (long)id) <= (size_t)(end - p)) {
			memcpy(out, row, strlen(row));
			out += strlen(row);
		}
		p = end;
	}
	*out = '\0';
}

/* Tells whether r is of an exit by a jump whose hook has recorded where that leads
 * (arch/x86_64/target/hook.S). */
static bool tells_target(const struct dt_record *r)
{
	return r->kind == DT_EXIT && !(r->flags & DT_NARGS);
}

/* Returns where a jump of the module to an address leads: through the PLT when the address is in
 * one. */
static uint64_t behind_plt(struct dt_target *t, const struct dt_module *m, uint64_t to)
{
	unsigned char plt[DT_PLT];
	uint64_t real = to, slot;

	if (dt_memory_read(t->mem, to, plt, sizeof(plt)) == 0) {
		slot = dt_plt_slot(plt, to);
		if (!slot || dt_memory_read(t->mem, slot, &real, sizeof(real)) < 0)
			real = to;
	}
	/* at its first use a slot leads back to the PLT, which has it filled in */
	if (dt_landing_is_plt(m, to) && dt_landing_is_plt(m, real)) {
		slot = dt_landing(t, m, dt_passes_slot(m->file->code, to - m->bias), true);
		return slot ? slot : to;
	}
	return real;
}

/* Returns where the jump at a tail site leads, by its displacement or by what its record says; 0:
 * not known. */
static uint64_t jump_target(struct dt_target *t, const struct dt_module *m,
			    const struct dt_elf_site *site, const struct dt_record *r)
{
	uint64_t to;
	int32_t rel;

	if (tells_target(r)) {
		to = r->value[0];
	} else if (m->file->probed) { /* the jump has been replaced; the file's site knows where it
					 led */
		if (!site->target)
			return 0;
		to = m->bias + site->target;
	} else {
		if (dt_memory_read(t->mem, m->bias + site->address + 1, &rel, sizeof(rel)) < 0)
			return 0;
		to = m->bias + site->address + 5 + (uint64_t)(int64_t)rel;
	}
	return behind_plt(t, m, to);
}

int64_t dt_describe_function(struct dt_session *s, const struct dt_function_row *f)
{
	int64_t row = dt_store_function(s->store, f, NULL);

	if (s->sieve)
		dt_sieve_function(s->sieve, row, f);
	return row;
}

/* Returns the row of a function, by its address in the file; 0: it can not be written. */
static int64_t function_row(struct dt_session *s, const struct dt_module *m, uint64_t address,
			    const struct dt_function *f, const char *signature)
{
	struct dt_symtab *symtab = dt_file_symtab(m->file);
	struct dt_function_row out = {.module = m->functions,
				      .address = address + m->bias,
				      .name = "",
				      .file = "",
				      .signature = signature};
	char unnamed[DT_NAMELESS], others[DT_OTHER_NAMES];
	int64_t row;

	if (f) {
		out.name = dt_function_name(s, m->file, f);
		if (f->address == address)
			out.others = dt_function_others(symtab, f, out.name, others);
		out.size = f->size;
		dt_symtab_line(symtab, f->address, &out.file, &out.line);
	} else {
		dt_file_nameless(m->file, address, unnamed, sizeof(unnamed));
		out.name = unnamed;
	}
	if (!out.file)
		out.file = "";
	row = dt_describe_function(s, &out);
	return row < 0 ? 0 : row;
}

static const struct dt_function *function_at(struct dt_session *s, const struct dt_module *m,
					     uint64_t address, char *signature, size_t size)
{
	struct dt_symtab *symtab = dt_file_symtab(m->file);
	const struct dt_function *f = symtab ? dt_symtab_find(symtab, address) : NULL;
	char *reason;

	signature[0] = '\0';
	if (f)
		dt_described(symtab, m->file->path, f, false, signature, size);
	/* sleds record no errno: of a failure, "!0@3", "!0" is left */
	if (!m->file->probed && (reason = strrchr(signature, '!')) &&
	    (reason = strchr(reason, '@')))
		*reason = '\0';
	dt_describe_types(s, m->file, signature, 0);
	return f;
}

int64_t dt_describe_caller(struct dt_session *s, const struct dt_module *m, uint64_t address,
			   uint64_t start, bool *is_main)
{
	struct dt_symtab *symtab = dt_file_symtab(m->file);
	const struct dt_function *f = symtab ? dt_symtab_find(symtab, address) : NULL;
	char signature[DT_DESCRIBE_SIGNATURE];

	start = f ? f->address : start ? start : address;
	f = function_at(s, m, start, signature, sizeof(signature));
	*is_main = f && m->file->program && strcmp(f->linkage, "main") == 0;
	return function_row(s, m, start, f, signature);
}

/* Returns a name from the source; "" when the source has a number or an expression instead. */
static const char *event_name(const char *text)
{
	return *text == '_' || isalpha((unsigned char)*text) ? text : "";
}

/* Stores the names that a program has for an event's numbers. */
static void name_event(struct dt_session *s, const struct dt_elf_event *v)
{
	struct dt_event_row row = {.subsystem = v->subsystem,
				   .event = v->event,
				   .subsystem_name = event_name(v->subsystem_name),
				   .name = event_name(v->event_name),
				   .description = ""};

	if (row.subsystem_name[0] || row.name[0])
		dt_store_event(s->store, &row, NULL);
}

/* Describes an event: its function is the one that its site is in, its names go to a table of their
 * own. */
static void describe_event(struct dt_session *s, const struct dt_module *m,
			   const struct dt_elf_site *site, const struct dt_record *r,
			   struct dt_site_row *row)
{
	const struct dt_elf_event *v = &m->file->elf->event[site->event];
	char signature[DT_DESCRIBE_SIGNATURE];
	const struct dt_function *f =
		function_at(s, m, site->address, signature, sizeof(signature));

	row->kind = r->kind == DT_MORE	       ? DT_SITE_MORE
		    : v->flags & DT_EVENT_TEXT ? DT_SITE_TEXT
					       : DT_SITE_EVENT;
	if (r->kind != DT_MORE)
		row->values = (uint8_t)((1u << v->values) - 1);
	row->function = function_row(s, m, f ? f->address : site->address, f, signature);
	if (!(v->flags & DT_EVENT_FREE) && r->kind == DT_EVENT)
		name_event(s, v);
}

void dt_describe_point_signature(const struct dt_point *point, unsigned first, unsigned text,
				 char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0;
	     text != DT_CAPTURE_LEAVING && i < 4 && first + i < point->items && n < size; i++) {
		const struct dt_label *l = &point->label[first + i];

		if (!text && point->item[first + i].only_text)
			break;
		n += dt_format(out + n, size - n, "%s%s:%s@%u", i ? "," : "", l->name, l->type, i);
		if (text)
			break;
		if (l->pair && n < size)
			n += dt_format(out + n, size - n, "+%u", ++i);
	}
	if (n < size)
		dt_format(out + n, size - n, ";v");
}

void dt_describe_name(const struct dt_module *m, const struct dt_point *point, char *out,
		      size_t size)
{
	struct dt_symtab *symtab = dt_file_symtab(m->file);
	const struct dt_function *f = symtab ? dt_symtab_find(symtab, point->site.address) : NULL;

	if (point->name)
		dt_format(out, size, "%s", point->name);
	else if (!f)
		dt_file_nameless(m->file, point->site.address, out, size);
	else if (f->address == point->site.address)
		dt_format(out, size, "%s", f->name);
	else
		dt_format(out, size, "%s+%lx", f->name,
			  (unsigned long)(point->site.address - f->address));
}

/*
 * Sees to it that a function has its own row before it gets rows of what is recorded beside its
 * calls: of the rows of one place the first stands for all (analyse/same.c), and has the prototype.
 * Its entry may be read later, if the thread has moved to another core meanwhile.
 */
static void describe_own(struct dt_session *s, const struct dt_module *m, uint64_t address)
{
	char signature[DT_DESCRIBE_SIGNATURE];
	const struct dt_function *f = function_at(s, m, address, signature, sizeof(signature));

	if (f && f->address == address)
		function_row(s, m, address, f, signature);
}

static void describe_point(struct dt_session *s, const struct dt_module *m,
			   const struct dt_point *point, unsigned first, unsigned text,
			   struct dt_site_row *row)
{
	char name[4096], signature[4 * sizeof(struct dt_label) + 64];
	unsigned values = 0;
	struct dt_function_row f = {
		.module = m->functions,
		.address = m->bias + (point->leaves ? point->leaves : point->site.address),
		.name = name,
		.file = "",
		.signature = signature,
		.variant = (point->id + 1) * 128ull + first * 4 +
			   (text == DT_CAPTURE_HEAD ? DT_CAPTURE_PIECE : text)};
	int64_t out;

	while (first + values < point->items && !point->item[first + values].only_text)
		values++;
	dt_describe_name(m, point, name, sizeof(name));
	dt_describe_point_signature(point, first, text, signature, sizeof(signature));
	dt_describe_types(s, m->file, signature, 0);
	if (dt_file_symtab(m->file))
		dt_symtab_line(m->file->symtab, point->site.address, &f.file, &f.line);
	if (!f.file)
		f.file = "";
	row->kind = text == DT_CAPTURE_LEAVING ? DT_SITE_POINT_LEAVING
		    : text == DT_CAPTURE_HEAD  ? DT_SITE_POINT_BUFFER
		    : text		       ? DT_SITE_POINT_TEXT
		    : first || point->headless ? DT_SITE_POINT_MORE
					       : DT_SITE_POINT;
	if (row->kind != DT_SITE_POINT)
		describe_own(s, m, f.address - m->bias);
	row->values = text || values > 4 ? DT_DESCRIBE_ALL : (uint8_t)((1u << values) - 1);
	if (text == DT_CAPTURE_LEAVING)
		row->values = 0;
	out = dt_describe_function(s, &f);
	row->function = out < 0 ? 0 : out;
}

/* Describes the entry of a function that one of the program's jumps to, which a library has called:
 * it returns to the library, and that is not recorded. */
static void describe_passing(struct dt_session *s, struct dt_target *t, const struct dt_module *m,
			     const struct dt_point *point, struct dt_site_row *row)
{
	char signature[DT_DESCRIBE_SIGNATURE];
	const struct dt_module *to;
	const struct dt_function *f;
	uint64_t real;

	if (dt_memory_read(t->mem, m->bias + point->slot, &real, sizeof(real)) < 0 ||
	    dt_landing_is_plt(m, real))
		real = dt_landing(t, m, point->slot, false);
	to = real ? dt_target_module(t, real) : NULL;
	if (!to) { /* the process has ended, and several have that name: the slot stands for it */
		to = m;
		real = m->bias + point->slot;
	}
	f = function_at(s, to, real - to->bias, signature, sizeof(signature));
	row->pc = real; /* that of the jump is in another module than the function */
	row->kind = DT_SITE_ENTRY_ALONE;
	row->function = function_row(s, to, real - to->bias, f, signature);
	if (signature[0])
		row->values = dt_describe_meant(signature, false);
}

/* Describes what the option CONST adds to a record: a value that belongs to the place with the
 * option. */
static void describe_constant(struct dt_session *s, const struct dt_module *m,
			      const struct dt_point *point, uint64_t address,
			      struct dt_site_row *row)
{
	char name[4096];
	struct dt_function_row f = {.module = m->functions,
				    .address = address,
				    .name = name,
				    .file = "",
				    .signature = "const:p@0;v",
				    .variant = (point ? point->id + 1 : 0) * 128ull + 127};
	struct dt_point at = {.site.address = address - m->bias};
	int64_t out;

	dt_describe_name(m, point ? point : &at, name, sizeof(name));
	if (!point)
		describe_own(s, m, address - m->bias);
	row->kind = DT_SITE_POINT_MORE;
	row->values = 1;
	out = dt_describe_function(s, &f);
	row->function = out < 0 ? 0 : out;
}

/*
 * Tells whether a function has exits of which none was ever chosen. It is not enough that none is
 * chosen now: the record that is described may be from before a command that switched the function
 * off.
 */
static bool is_entry_alone(struct dt_file *f, uint64_t function)
{
	const uint8_t *chosen = f->once ? f->once : f->chosen;
	const uint32_t *site;
	bool any = false;
	size_t n;

	if (!chosen)
		return false;
	site = dt_file_sites_of(f, function, &n);
	for (size_t i = 0; i < n; i++) {
		uint8_t kind = f->elf->site[site[i]].kind;

		if (kind == DT_ELF_EVENT || kind == DT_ELF_ENTRY || kind == DT_ELF_PROBE_ENTRY)
			continue;
		if (chosen[site[i]])
			return false;
		any = true;
	}
	return any;
}

/* Returns whether a record is one of a call of libc's execve, which has no hooks. */
static bool is_exec(const struct dt_module *m, const struct dt_record *r)
{
	uint64_t at = dt_file_execve(m->file);

	return at && r->pc - (m->bias + at) == (r->kind == DT_ENTRY  ? DT_EXEC_ENTRY
						: r->kind == DT_MORE ? DT_EXEC_PATH
								     : DT_EXEC_EXIT);
}

bool dt_describe_is_call(struct dt_session *s, const struct dt_record *r)
{
	struct dt_target *t;
	struct dt_module *m = dt_whose_module(s, r, &t);

	return m && (dt_whose_call_site(m, r->pc) || is_exec(m, r));
}

enum dt_stack_record dt_describe_stack(struct dt_session *s, const struct dt_record *r)
{
	struct dt_target *t;
	struct dt_module *m = dt_whose_module(s, r, &t);
	const struct dt_point *point;
	unsigned first, text;

	point = m ? dt_probes_point(m, r->pc, &first, &text) : NULL;
	if (!point || !point->results)
		return 0;
	return text == DT_CAPTURE_LEAVING ? DT_STACK_LEAVING
	       : text == DT_CAPTURE_HEAD  ? DT_STACK_HEAD
	       : text			  ? DT_STACK_PIECE
	       : first			  ? DT_STACK_FURTHER
					  : DT_STACK_REGISTERS;
}

/* Describes a record of a point. */
static void describe_hit(struct dt_session *s, struct dt_target *t, const struct dt_module *m,
			 const struct dt_record *r, const struct dt_point *point, unsigned first,
			 unsigned text, struct dt_site_row *row)
{
	if (point->slot) {
		describe_passing(s, t, m, point, row);
		return;
	}
	row->pc = m->bias + point->site.address;
	if (r->kind == DT_MORE && !first && !text && !point->headless)
		describe_constant(s, m, point, row->pc, row);
	else
		describe_point(s, m, point, first, text, row);
}

/* Describes a record of a call of libc's execve: target/exec.c. */
static void describe_exec(struct dt_session *s, const struct dt_module *m,
			  const struct dt_record *r, struct dt_site_row *row)
{
	uint64_t at = m->file->execve;
	int64_t entry = dt_file_execve_site(m->file), out;
	char signature[DT_DESCRIBE_SIGNATURE];
	const struct dt_function *f;

	if (!is_exec(m, r))
		return;
	row->pc = m->bias + at;
	if (r->kind == DT_MORE) {
		out = dt_describe_function(s, &(struct dt_function_row){.module = m->functions,
									.address = row->pc,
									.name = "execve",
									.file = "",
									.signature = "path:s@0;v",
									.variant = 127});
		describe_own(s, m, at);
		row->kind = DT_SITE_POINT_TEXT;
		row->function = out < 0 ? 0 : out;
		return;
	}
	f = function_at(s, m, at, signature, sizeof(signature));
	row->function = function_row(s, m, at, f, signature);
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY : DT_SITE_RETURN;
	row->crossing =
		r->kind == DT_ENTRY && entry >= 0 && dt_file_is_crossing(m->file, (size_t)entry);
	if (signature[0])
		row->values = dt_describe_meant(signature, r->kind == DT_EXIT);
	if (r->kind == DT_EXIT && dt_file_sets_errno(m->file))
		row->values |= 1u << DT_ERRNO_VALUE;
}

/* Returns whether a site is recorded only where certain modules call its function. */
static bool is_crossing(const struct dt_file *f, const struct dt_elf_site *site)
{
	return site >= f->elf->site && site < f->elf->site + f->elf->sites &&
	       dt_file_is_crossing(f, (size_t)(site - f->elf->site));
}

static bool is_entry(const struct dt_elf_site *site)
{
	return site->kind == DT_ELF_ENTRY || site->kind == DT_ELF_PROBE_ENTRY;
}

/* Returns what the records of an entry or exit are. */
static uint8_t kind_of(struct dt_file *f, const struct dt_elf_site *site)
{
	if (is_entry(site))
		return is_entry_alone(f, site->function) ? DT_SITE_ENTRY_ALONE
		       : site->jumps			 ? DT_SITE_ENTRY_JUMPS
							 : DT_SITE_ENTRY;
	return site->kind == DT_ELF_RETURN || site->kind == DT_ELF_PROBE_RETURN ? DT_SITE_RETURN
										: DT_SITE_TAIL;
}

void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row)
{
	struct dt_session *s = session;
	const struct dt_elf_site *site;
	const struct dt_function *f;
	const struct dt_point *point;
	struct dt_module *m;
	char signature[DT_DESCRIBE_SIGNATURE];
	struct dt_target *t;
	unsigned first, text;

	row->function = 0;
	row->kind = DT_SITE_UNKNOWN;
	/* all that there is to say of who wakes a thread, its sp says */
	row->values = r->kind == DT_EXIT ? 1 : r->kind == DT_WAKE ? 0 : DT_DESCRIBE_ALL;
	row->target = 0;
	row->entered = row->crossing = false;
	if (s->kernel && dt_kernel_address(r->pc)) {
		dt_describe_kernel(s, r, row);
		return;
	}
	m = dt_whose_module(s, r, &t);
	if (!m)
		return;
	if (m->file->vdso)
		dt_module_note(s, t, m);
	site = dt_elf_event_at(m->file->elf, r->pc - m->bias);
	if (site) {
		describe_event(s, m, site, r, row);
		return;
	}
	point = dt_probes_point(m, r->pc, &first, &text);
	if (point) {
		describe_hit(s, t, m, r, point, first, text, row);
		return;
	}
	site = dt_whose_call_site(m, r->pc);
	if (!site) {
		describe_exec(s, m, r, row);
		return;
	}
	if (m->file->probed || m->stubs)
		row->pc = m->bias + site->address;
	if (r->kind == DT_MORE) {
		describe_constant(s, m, NULL, m->bias + site->function, row);
		return;
	}
	row->kind = kind_of(m->file, site);
	row->crossing = is_entry(site) && is_crossing(m->file, site);
	row->entered = site->entered;
	f = function_at(s, m, site->function, signature, sizeof(signature));
	row->function = function_row(s, m, site->function, f, signature);
	dt_socket_names_site(s->socket_names, r, f ? f->name : NULL);
	if (row->kind == DT_SITE_TAIL) {
		row->values = 0;
		row->target = jump_target(t, m, site, r);
		row->by_target = tells_target(r);
		if (!row->target && site->target) /* the process has ended: the file knows it */
			row->target = m->bias + site->target;
		return;
	}
	if (row->kind == DT_SITE_ENTRY_JUMPS && site->target)
		row->target = m->bias + site->target;
	if (signature[0])
		row->values = dt_describe_meant(signature, r->kind == DT_EXIT);
	/* errno, also for a function that has jumped here and ends with this exit */
	if (row->kind == DT_SITE_RETURN && dt_file_sets_errno(m->file))
		row->values |= 1u << DT_ERRNO_VALUE;
}
