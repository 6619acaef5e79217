/* SPDX-License-Identifier: MIT */
/* Where lines go: out at once, or kept until it is their thread's turn. */
#include "cmd/calls-work.h"

#include <stdlib.h>

#include "core/text.h"

static const char *thread_name(const struct calls *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);

	return t ? t->name : "";
}

void dt_calls_print_thread(struct calls *k, uint32_t tid)
{
	const char *name = thread_name(k, tid);
	struct dt_out *o = k->out;

	dt_out_text(o, "# thread ");
	if (tid == DT_NO_TID)
		dt_out_text(o, "none");
	else
		dt_out_decimal(o, dt_reader_number(k->reader, tid));
	if (name[0]) {
		dt_out_text(o, " (");
		dt_out_text(o, name);
		dt_out_char(o, ')');
	}
	dt_out_char(o, '\n');
}

static struct output *new_output(struct calls *k, uint32_t tid)
{
	struct output *p = realloc(k->output, (k->outputs + 1) * sizeof(*p));

	if (!p)
		return NULL;
	k->output = p;
	p += k->outputs;
	*p = (struct output){.tid = tid, .direct = !k->outputs && !k->last.most};
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
		if (!k->merge && p->direct)
			dt_calls_print_thread(k, tid);
	}
	k->last_tid = tid;
	return k->to = p;
}

/* Writes or keeps a line of text that stands at dt_out_room(). */
void dt_calls_text(struct calls *k, struct output *to, const char *text, size_t n)
{
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
