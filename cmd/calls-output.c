/* SPDX-License-Identifier: MIT */
/* Where lines go: out at once, or kept until it is their thread's turn. */
#include "cmd/calls-work.h"

#include <stdlib.h>

#include "core/text.h"

/* Whether a thread's own number and name say all there is to say of its process. */
static bool names_process(const struct calls *k, uint32_t tid, const struct dt_thread_info *t)
{
	const char *program = dt_calls_program(k, t);

	return tid == t->pid && (!*program || !strcmp(program, t->name));
}

void dt_calls_print_thread(struct calls *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);
	char *line = dt_out_room(k->out, LINE), *p = stpcpy(line, "# thread ");
	size_t processes;

	if (tid == DT_NO_TID)
		p = stpcpy(p, "none");
	else
		p += dt_text_decimal(p, dt_reader_number(k->reader, tid));
	if (t && t->name[0])
		p = stpcpy(dt_calls_quotable(stpcpy(p, " ("), t->name), ")");
	dt_reader_processes(k->reader, &processes);
	if (t && t->pid && processes > 1 && !names_process(k, tid, t)) {
		p = stpcpy(p, ", process ");
		p += dt_text_decimal(p, dt_reader_number(k->reader, t->pid));
		if (*dt_calls_program(k, t))
			p = stpcpy(dt_calls_quotable(stpcpy(p, " ("), dt_calls_program(k, t)), ")");
	}
	*p++ = '\n';
	dt_out_used(k->out, dt_terminal_cut(&k->terminal, line, (size_t)(p - line)));
}

static struct output *new_output(struct calls *k, uint32_t tid)
{
	struct output *p = realloc(k->output, (k->outputs + 1) * sizeof(*p));

	if (!p)
		return NULL;
	k->output = p;
	p += k->outputs;
	*p = (struct output){.tid = tid, .direct = k->json || (!k->outputs && !k->last.most)};
	k->outputs++;
	return p;
}

struct output *dt_calls_find_output(struct calls *k, uint32_t tid)
{
	struct output *p = NULL;

	for (size_t i = 0; i < k->outputs && !p; i++)
		if (k->output[i].tid == tid)
			p = &k->output[i];
	if (!p) {
		p = new_output(k, tid);
		if (!p) {
			k->failed = true;
			return NULL;
		}
		if (k->json)
			dt_calls_json_thread(k, tid);
		else if (!k->merge && p->direct)
			dt_calls_print_thread(k, tid);
	}
	k->last_tid = tid;
	return k->to = p;
}

/* Writes or keeps a line of text that stands at dt_out_room(). */
void dt_calls_text(struct calls *k, struct output *to, char *text, size_t n)
{
	n = dt_terminal_cut(&k->terminal, text, n);
	if (to->direct)
		dt_out_used(k->out, n);
	else
		dt_kept_text(&k->keep, &to->kept, text, n);
}

/* Writes or keeps text of any length that stands elsewhere. */
void dt_calls_bytes(struct calls *k, struct output *to, const char *text, size_t n)
{
	if (to->direct)
		dt_out_bytes(k->out, text, n);
	else
		dt_kept_text(&k->keep, &to->kept, text, n);
}
