/* SPDX-License-Identifier: MIT */
/* What is being listed: for list.c and list-json.c only. */
#ifndef DT_CMD_LIST_WORK_H
#define DT_CMD_LIST_WORK_H

#include "elf/usdt.h"
#include "hook/module.h"
#include "hook/probes.h"
#include "symbols/jit.h"

/* How the list is printed, and of what. */
struct list_form {
	bool verbose, json;
	pid_t pid; /* of a process; 0: it is of a program's file */
};

/* What one function has: its sites by kind, and how it is hooked. */
struct tally {
	uint64_t function;
	unsigned count[DT_ELF_KINDS];
	const struct dt_probe_way *way; /* NULL: it has sleds */
	const struct dt_code_function *code;
};

/* A place of an event or of a USDT probe. */
struct place {
	char *name; /* "event net:send", as it is printed and sorted */
	uint64_t address;
	const struct dt_elf_event *event;  /* either this */
	const struct dt_usdt_probe *probe; /* or this */
};

/* Returns a function's symbol; NULL: it has none. */
const struct dt_function *dt_list_symbol(struct dt_file *file, const struct tally *f);
/* Counts a function's sleds of tail jumps. */
unsigned dt_list_tails(const struct tally *f);

/* ---- list-json.c: a line each ---- */

void dt_list_json_function(const struct list_form *form, struct dt_file *file,
			   const struct tally *f);
/* With form->verbose one of its places, otherwise only its name. */
void dt_list_json_place(const struct list_form *form, const char *path, struct dt_symtab *t,
			const struct place *p);
/* file: the name of the file that names the code. */
void dt_list_json_run_time(const struct list_form *form, const char *file,
			   const struct dt_jit_code *code);
/* status: the session's answer to "status", which is changed. */
void dt_list_json_session(const char *name, char *status);

#endif
