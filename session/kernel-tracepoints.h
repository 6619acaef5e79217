/* SPDX-License-Identifier: MIT */
/* Tracepoints that the kernel itself has, such as sched:sched_switch: which are chosen by their
 * names, and which fields they have, as tracefs tells it. */
#ifndef DT_SESSION_KERNEL_TRACEPOINTS_H
#define DT_SESSION_KERNEL_TRACEPOINTS_H

#include "bpf/record.h"
#include "core/error.h"

/* What is recorded of one field. */
struct dt_kernel_field {
	char name[48];
	bool address;  /* it is one, to be shown as such */
	uint8_t order; /* how many fields are before it in the tracepoint */
	char *words;   /* the words for its values, as a type's description; NULL: none */
	struct dt_bpf_field how;
};

/* The fields are sorted: first values, then texts. */
struct dt_kernel_tracepoint {
	char system[64], name[96];
	uint64_t id; /* for perf_event_open(2) */
	unsigned values, texts, bytes;
	struct dt_kernel_field field[DT_BPF_FIELDS];
};

struct dt_kernel_tracepoints {
	struct dt_kernel_tracepoint *all; /* sorted by system and name */
	size_t n, room;
};

/*
 * Finds the tracepoints that are meant by words such as "tracepoint:sched:*" and
 * "!tracepoint:sched:sched_stat*" in one of the n patterns; other words are ignored. None, if there
 * is no such word. -1 and an error: a word means none, or the kernel does not tell them. To be
 * freed in each case.
 */
int dt_kernel_tracepoints_choose(struct dt_kernel_tracepoints *t, const char *const *pattern,
				 size_t n, struct dt_error *e);
void dt_kernel_tracepoints_free(struct dt_kernel_tracepoints *t);

/* Reads the fields of a tracepoint: `format' is the text of its file of that name. False: it is not
 * understood, or has more than can be recorded. */
bool dt_kernel_tracepoint_read(struct dt_kernel_tracepoint *p, const char *format);

/*
 * Write signatures (symbols/symtab.h): of a hit's first record, with all fields in the tracepoint's
 * order, of which that record has the first four values; of a record with the values from `first'
 * on; and of that of a text. type: for each field its row in the file's table of types, 0: none;
 * NULL: all are 0.
 */
void dt_kernel_tracepoint_hit(const struct dt_kernel_tracepoint *p, const uint32_t *type, char *out,
			      size_t size);
void dt_kernel_tracepoint_values(const struct dt_kernel_tracepoint *p, unsigned first,
				 const uint32_t *type, char *out, size_t size);
void dt_kernel_tracepoint_text(const struct dt_kernel_tracepoint *p, unsigned text, char *out,
			       size_t size);

#endif
