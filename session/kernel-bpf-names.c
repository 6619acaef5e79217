/* SPDX-License-Identifier: MIT */
/* What BPF programs have told of threads and processes (bpf/names.h). */
#include <string.h>

#include "session/kernel-bpf-work.h"

/* Takes an entry out of a map. False: there is none. */
static bool take_one(int map, uint32_t *key, void *value)
{
	return dt_bpf.bpf_map_get_next_key(map, NULL, key) == 0 &&
	       dt_bpf.bpf_map_lookup_and_delete_elem(map, key, value) == 0;
}

/* Makes a line of arguments, of which each has a NUL after it. */
static void put_spaces(char *text, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
}

void dt_bpf_names_take(void *ctx, const struct dt_kernel_telling *to)
{
	struct dt_kernel_bpf *k = ctx;
	struct dt_bpf_thread_name thread;
	struct dt_bpf_program_name program;
	char arguments[sizeof(program.arguments) + 1];
	uint32_t key;

	/* as many as there can have been: others may be told meanwhile */
	dt_kernel_clock_look(&k->clock);
	for (unsigned i = 0; k->names_told && i < DT_BPF_NAMES; i++) {
		if (!take_one(k->program_names, &key, &program))
			break;
		program.program[sizeof(program.program) - 1] = '\0';
		if (program.size > sizeof(program.arguments))
			program.size = 0;
		memcpy(arguments, program.arguments, program.size);
		arguments[program.size] = '\0';
		put_spaces(arguments, program.size);
		to->program(to->ctx, key, dt_kernel_clock_ticks(&k->clock, program.ns),
			    program.program, arguments);
	}
	for (unsigned i = 0; k->names_told && i < DT_BPF_NAMES; i++) {
		if (!take_one(k->thread_names, &key, &thread))
			break;
		thread.name[sizeof(thread.name) - 1] = '\0';
		to->thread(to->ctx, key, thread.process, thread.parent, thread.began >= k->started,
			   thread.name);
	}
}
