/* SPDX-License-Identifier: MIT */
/* Describes places in the kernel to the trace file: functions, points, and system calls. */
#include "session/describe-work.h"

#include <string.h>

#include "session/kernel-ranges.h"
#include "symbols/call.h"

/* Returns the row of the kernel or of one of its modules, written when it is first met; 0: it has
 * none. */
static int64_t kernel_module(struct dt_session *s, const char *name)
{
	struct dt_module_row m = {.low = 1ull << 63, .high = ~0ull, .build_id = ""};
	char path[160];

	for (size_t i = 0; i < s->kernel_modules; i++)
		if (strcmp(s->kernel_module[i].name, name) == 0)
			return s->kernel_module[i].row;
	dt_format(path, sizeof(path), "[%s]", name);
	m.path = path;
	if (s->kernel_modules < sizeof(s->kernel_module) / sizeof(*s->kernel_module)) {
		struct dt_kernel_module *k = &s->kernel_module[s->kernel_modules++];

		dt_format(k->name, sizeof(k->name), "%s", name);
		k->row = dt_store_module(s->store, &m, NULL);
		return k->row < 0 ? 0 : k->row;
	}
	return 0;
}

/* Describes a record of a tracepoint in the kernel. */
static void describe_kernel_point(struct dt_session *s, const struct dt_point *point,
				  unsigned first, struct dt_site_row *row)
{
	char name[512], signature[4 * sizeof(struct dt_label) + 64];
	struct dt_kernel_symbol symbol = {
		.address = point->site.address, .name = "?", .module = "vmlinux"};
	bool constant = first == DT_KERNEL_CONST;
	struct dt_function_row f = {.address = point->site.address,
				    .name = name,
				    .file = "",
				    .signature = signature,
				    .variant =
					    (point->id + 1) * 64ull + (constant ? 63 : first * 2)};
	unsigned values = constant ? 1 : point->items - first < 4 ? point->items - first : 4;
	int64_t out;

	dt_kernel_symbol(s->kernel, point->site.address, &symbol);
	f.module = kernel_module(s, symbol.module);
	if (symbol.address == point->site.address)
		dt_format(name, sizeof(name), "%s", symbol.name);
	else
		dt_format(name, sizeof(name), "%s+%lx", symbol.name,
			  (unsigned long)(point->site.address - symbol.address));
	if (constant)
		dt_format(signature, sizeof(signature), "const:p@0;v");
	else
		dt_describe_point_signature(point, first, false, signature, sizeof(signature));
	row->pc = point->site.address;
	row->kind = first ? DT_SITE_POINT_MORE : DT_SITE_POINT;
	row->values = (uint8_t)((1u << values) - 1);
	out = dt_describe_function(s, &f);
	row->function = out < 0 ? 0 : out;
}

/* Writes the row of a system call, or with a variant of something in it. */
static int64_t call_row(struct dt_session *s, const struct dt_call_info *c, uint64_t variant,
			const char *signature)
{
	static const char *const module[] = {"syscall", "syscall32", "syscallx32"};
	struct dt_function_row f = {.module = kernel_module(s, module[c->kind]),
				    .address = DT_BPF_CALL_PC(c->kind, c->number),
				    .size = 1,
				    .name = c->name,
				    .file = "",
				    .signature = signature,
				    .variant = variant};
	int64_t out = dt_describe_function(s, &f);

	return out < 0 ? 0 : out;
}

/* Describes a record of a system call that is recorded in full. */
static void describe_call(struct dt_session *s, const struct dt_record *r, struct dt_site_row *row)
{
	struct dt_call_info c = {.number = DT_BPF_SIGNALS, .name = "signal"};
	char signature[DT_DESCRIBE_SIGNATURE] =
		"sig:i4@0,si_code:i4@1,si_pid:i4@2,si_status:i4@3;v";
	uint64_t own = r->pc & ~0xffffull;
	unsigned part = DT_BPF_PART_OF(r->pc), item = DT_BPF_PART_ITEM(r->pc);
	unsigned number = DT_BPF_CALL_NUMBER(r->pc);

	if (number == DT_BPF_SIGNALS)
		dt_call_signals(signature, sizeof(signature));
	else if (!dt_call_find(DT_BPF_CALL_KIND(r->pc), number, &c))
		return;
	else
		dt_call_signature(&c, signature, sizeof(signature));
	dt_describe_types(s, NULL, signature, 0);
	row->pc = own;
	row->function = call_row(s, &c, 0, signature);
	row->kind = r->kind == DT_ENTRY	  ? DT_SITE_ENTRY
		    : r->kind == DT_EXIT  ? DT_SITE_RETURN
		    : r->kind == DT_POINT ? DT_SITE_POINT
					  : DT_SITE_MORE;
	if (r->kind == DT_ENTRY || r->kind == DT_EXIT)
		row->values = dt_describe_meant(signature, r->kind == DT_EXIT);
	if (r->kind != DT_MORE)
		return;
	row->pc = r->pc;
	row->kind = part == DT_BPF_HEAD	     ? DT_SITE_POINT_BUFFER
		    : part == DT_BPF_PIECE   ? DT_SITE_POINT_TEXT
		    : part == DT_BPF_LEAVING ? DT_SITE_POINT_LEAVING
					     : DT_SITE_POINT_MORE;
	if (part == DT_BPF_LEAVING) {
		row->values = 0;
		row->function = call_row(s, &c, (r->pc & 0xffff) + 1, ";v");
		return;
	}
	if (part == DT_BPF_FURTHER)
		dt_call_further(&c, signature, sizeof(signature));
	else
		dt_call_item(&c, item, signature, sizeof(signature));
	dt_describe_types(s, NULL, signature, 0);
	row->values =
		part == DT_BPF_FURTHER ? dt_describe_meant(signature, false) : DT_DESCRIBE_ALL;
	row->function = call_row(s, &c, (r->pc & 0xffff) + 1, signature);
}

/* Gives the rows of the words for its fields' values. */
static void word_types(struct dt_session *s, const struct dt_kernel_tracepoint *t,
		       uint32_t type[DT_BPF_FIELDS])
{
	for (unsigned i = 0; i < t->values; i++) {
		const char *words = t->field[i].words;
		int64_t row = words ? dt_store_type(s->store, words, NULL) : 0;

		type[i] = row > 0 ? (uint32_t)row : 0;
	}
}

/* Describes a record of one of the kernel's own tracepoints, t. */
static void describe_tracepoint(struct dt_session *s, const struct dt_kernel_tracepoint *t,
				const struct dt_record *r, struct dt_site_row *row)
{
	char name[sizeof(t->system) + sizeof(t->name)], signature[DT_DESCRIBE_SIGNATURE];
	unsigned part = DT_BPF_PART_OF(r->pc), item = DT_BPF_PART_ITEM(r->pc);
	struct dt_function_row f = {.module = kernel_module(s, "tracepoint"),
				    .address = r->pc & ~0xffffull,
				    .size = 1,
				    .name = name,
				    .file = "",
				    .signature = signature};
	uint32_t type[DT_BPF_FIELDS] = {0};
	int64_t out;

	word_types(s, t, type);
	dt_format(name, sizeof(name), "%s:%s", t->system, t->name);
	dt_kernel_tracepoint_hit(t, type, signature, sizeof(signature));
	out = dt_describe_function(s, &f);
	row->kind = DT_SITE_POINT;
	row->pc = f.address;
	row->values = dt_describe_meant(signature, false);
	if (r->kind == DT_MORE) {
		if (part == DT_BPF_FURTHER)
			dt_kernel_tracepoint_values(t, 4 * item, type, signature,
						    sizeof(signature));
		else
			dt_kernel_tracepoint_text(t, item, signature, sizeof(signature));
		f.variant = (r->pc & 0xffff) + 1;
		row->pc = r->pc;
		row->kind = part == DT_BPF_HEAD	   ? DT_SITE_POINT_BUFFER
			    : part == DT_BPF_PIECE ? DT_SITE_POINT_TEXT
						   : DT_SITE_POINT_MORE;
		row->values = part == DT_BPF_FURTHER ? dt_describe_meant(signature, false)
						     : DT_DESCRIBE_ALL;
		out = dt_describe_function(s, &f);
	}
	row->function = out < 0 ? 0 : out;
}

/* Writes the row of a function, and its signature. Returns the row; 0: there is none. */
static int64_t function_row(struct dt_session *s, const struct dt_kernel_symbol *symbol,
			    char signature[DT_DESCRIBE_SIGNATURE])
{
	struct dt_function_row f = {.module = kernel_module(s, symbol->module),
				    .address = symbol->address,
				    .size = symbol->end - symbol->address,
				    .name = symbol->name,
				    .file = "",
				    .signature = signature};
	int64_t out;

	dt_kernel_signature(s->kernel, symbol->name, signature, DT_DESCRIBE_SIGNATURE);
	dt_describe_types(s, NULL, signature, 0);
	out = dt_describe_function(s, &f);
	return out < 0 ? 0 : out;
}

int64_t dt_describe_kernel_function(struct dt_session *s, uint64_t address)
{
	char signature[DT_DESCRIBE_SIGNATURE];
	struct dt_kernel_symbol symbol;

	return dt_kernel_symbol(s->kernel, address, &symbol) ? function_row(s, &symbol, signature)
							     : 0;
}

/* Describes a record from a function of the kernel or of one of its modules. */
void dt_describe_kernel(struct dt_session *s, const struct dt_record *r, struct dt_site_row *row)
{
	char signature[DT_DESCRIBE_SIGNATURE];
	struct dt_kernel_symbol symbol;
	struct dt_function_row f;
	const struct dt_kernel_tracepoint *own;
	const struct dt_point *point;
	unsigned first;
	int64_t out;

	point = dt_kernel_point(s->kernel, r->pc, &first);
	if (point) {
		describe_kernel_point(s, point, first, row);
		return;
	}
	if (DT_BPF_IS_CALL(r->pc)) {
		describe_call(s, r, row);
		return;
	}
	own = dt_kernel_tracepoint(s->kernel, r->pc);
	if (own) {
		describe_tracepoint(s, own, r, row);
		return;
	}
	if (!dt_kernel_symbol(s->kernel, r->pc, &symbol))
		return;
	if (r->kind == DT_MORE) { /* only CONST adds something to a function's record */
		f = (struct dt_function_row){.module = kernel_module(s, symbol.module),
					     .address = symbol.address,
					     .name = symbol.name,
					     .file = "",
					     .signature = "const:p@0;v",
					     .variant = 63};
		row->kind = DT_SITE_POINT_MORE;
		row->values = 1;
		out = dt_describe_function(s, &f);
		row->function = out < 0 ? 0 : out;
		return;
	}
	row->function = function_row(s, &symbol, signature);
	row->kind = r->kind == DT_ENTRY	  ? DT_SITE_ENTRY
		    : r->kind == DT_EXIT  ? DT_SITE_RETURN
		    : r->kind == DT_POINT ? DT_SITE_POINT
					  : DT_SITE_MORE;
	if (signature[0] && (r->kind == DT_ENTRY || r->kind == DT_EXIT))
		row->values = dt_describe_meant(signature, r->kind == DT_EXIT);
}
