/* SPDX-License-Identifier: MIT */
/* The list as JSON lines: doc/json.md. */
#include "cmd/list-work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/object.h"
#include "cmd/table.h"
#include "symbols/nameless.h"

static void begin(const struct list_form *form, const char *type)
{
	dt_object_begin(type);
	if (form->pid)
		dt_object_number("process", (uint64_t)form->pid);
}

static void print_sites(const struct tally *f)
{
	bool probes = f->way;

	dt_object_number("entries", f->count[probes ? DT_ELF_PROBE_ENTRY : DT_ELF_ENTRY]);
	dt_object_number("returns", f->count[probes ? DT_ELF_PROBE_RETURN : DT_ELF_RETURN]);
	dt_object_number("tail_jumps", probes ? f->count[DT_ELF_PROBE_TAIL] : dt_list_tails(f));
}

/* Writes how the function is traced, or why it is not, and how it is known. */
static void print_way(const struct tally *f)
{
	bool hooked = !f->way || f->way->hooked;

	dt_object_bool("traced", hooked);
	dt_object_text(hooked ? "kind" : "reason", f->way ? f->way->how : "sled");
	dt_object_bool("startup", f->way && f->way->startup);
	dt_object_text("found_by", !f->way || !f->code->found ? NULL
				   : f->code->jumped	      ? "jumps"
							      : "calls");
}

void dt_list_json_function(const struct list_form *form, struct dt_file *file,
			   const struct tally *f)
{
	const struct dt_function *symbol = dt_list_symbol(file, f);
	struct dt_symtab *t = dt_file_symtab(file);
	char signature[2048] = "", nameless[DT_NAMELESS];
	const char *source = "";
	unsigned line = 0;

	if (!symbol)
		dt_file_nameless(file, f->function, nameless, sizeof(nameless));
	begin(form, "function");
	dt_object_text("function", symbol ? symbol->name : nameless);
	dt_object_bool("named", symbol != NULL);
	dt_object_text("module", file->path);
	dt_object_number("address", f->function);
	dt_object_number("size", symbol	  ? symbol->size
				 : f->way ? f->code->end - f->code->start
					  : 0);
	print_way(f);
	print_sites(f);
	if (form->verbose) {
		if (symbol && !dt_symtab_line(t, symbol->address, &source, &line))
			source = "";
		if (symbol)
			dt_symtab_signature(t, symbol, signature, sizeof(signature));
		dt_object_text("file", source ? source : "");
		dt_object_number("line", line);
		dt_object_text("signature", signature);
	}
	dt_object_end();
}

static void print_arguments(const char *text)
{
	struct dt_operand o[DT_USDT_ARGUMENTS];
	size_t n = dt_usdt_arguments(text, o, DT_USDT_ARGUMENTS);
	char line[128];

	dt_object_number("arguments", n);
	dt_object_member("operands");
	putchar('[');
	for (size_t i = 0; i < n && i < DT_USDT_ARGUMENTS; i++) {
		dt_usdt_operand_text(line, sizeof(line), &o[i]);
		fputs(i ? ", " : "", stdout);
		dt_table_json(line);
	}
	putchar(']');
}

void dt_list_json_place(const struct list_form *form, const char *path, struct dt_symtab *t,
			const struct place *p)
{
	const struct dt_function *f = t && form->verbose ? dt_symtab_find(t, p->address) : NULL;
	const struct dt_elf_event *v = p->event;

	begin(form, v ? "event" : "usdt");
	dt_object_text(v ? "subsystem" : "provider", v ? v->subsystem_name : p->probe->provider);
	dt_object_text("name", v ? v->event_name : p->probe->name);
	dt_object_text("module", path);
	if (form->verbose) {
		dt_object_number("address", p->address);
		dt_object_text("function", f ? f->name : NULL);
	}
	if (form->verbose && v) {
		if (!(v->flags & DT_EVENT_FREE)) {
			dt_object_number("subsystem_number", v->subsystem);
			dt_object_number("event_number", v->event);
		}
		dt_object_bool("text", v->flags & DT_EVENT_TEXT);
		dt_object_number("values", v->flags & DT_EVENT_TEXT ? 0 : v->values);
	} else if (form->verbose) {
		dt_object_number("semaphore", p->probe->semaphore);
		print_arguments(p->probe->arguments);
	}
	dt_object_end();
}

void dt_list_json_run_time(const struct list_form *form, const char *file,
			   const struct dt_jit_code *code)
{
	begin(form, "made_at_run_time");
	dt_object_text("function", code->name);
	dt_object_text("named_by", file);
	dt_object_number("address", code->low);
	dt_object_number("size", code->high - code->low);
	dt_object_end();
}

void dt_list_json_session(const char *name, char *status)
{
	const char *file = NULL;
	char *line, *save = NULL;
	bool first = true;

	dt_object_begin("session");
	dt_object_text("session", name);
	dt_object_member("processes");
	putchar('[');
	for (line = strtok_r(status, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "file ", 5) == 0)
			file = line + 5;
		else if (strncmp(line, "process ", 8) == 0) {
			printf("%s%lu", first ? "" : ", ", strtoul(line + 8, NULL, 10));
			first = false;
		}
	}
	putchar(']');
	dt_object_text("file", file);
	dt_object_end();
}
