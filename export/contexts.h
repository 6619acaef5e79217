/* SPDX-License-Identifier: MIT */
/*
 * Which calls belong to a span of a distributed trace. Programs hand such spans on as texts, in
 * headers of HTTP or as arguments: "00-" trace "-" span "-" flags, in hexadecimal (W3C, Trace
 * Context, "traceparent Header"). A call is said to carry the span that its text has.
 *
 * A call that carries a span, and makes calls itself, is done for that span. One that makes none,
 * such as a read, carries it for its caller: the innermost one that is written. All of what that
 * does is done for the span, if all that it is given are of one trace; otherwise, what it does from
 * there to the next one.
 */
#ifndef DT_EXPORT_CONTEXTS_H
#define DT_EXPORT_CONTEXTS_H

#include "export/rows.h"

/* A span of another program. */
struct dt_span_context {
	char trace[33], span[17]; /* lower-case hexadecimal */
};

/* Finds the first span in n bytes of text; false: there is none. */
bool dt_span_context_find(struct dt_span_context *to, const char *text, size_t n);

/* All zero at first, but for `chosen'. */
struct dt_contexts {
	const struct dt_chosen_calls *chosen; /* calls that are written; NULL: all */
	struct dt_carrier *carrier;	      /* in the order of their calls */
	size_t n, room;
	/* where calls are chosen: the outermost written ones that are done for no such span */
	uint64_t *root;
	uint32_t roots;
	size_t root_room;
	uint32_t *unused; /* of these numbers, those of calls that have ended */
	uint32_t unused_n;
	bool no_memory;
};

/* Reads the trace and finds the calls that carry spans. Returns -1 on error. */
int dt_contexts_read(struct dt_contexts *x, struct dt_reader *r, struct dt_formats *formats,
		     struct dt_error *e);
void dt_contexts_free(struct dt_contexts *x);

/* In a second pass over the same records, of the same order: to be called when a call begins, and
 * after all else when it has ended. */
void dt_contexts_begin(struct dt_contexts *x, struct dt_pair *pair, const struct dt_call *c);
void dt_contexts_end(struct dt_contexts *x, const struct dt_call *c);

/* What is known of a call that ends, in that pass. */
struct dt_call_context {
	const struct dt_span_context *span; /* it is done for this one; NULL: for none */
	uint64_t root;	 /* without that, where calls are chosen: the outermost written call that it
			    is in; otherwise 0 */
	uint64_t caller; /* the innermost written call around it; 0: there is none */
	bool inside;	 /* that one is done for the same span, or in the same root */
	const struct dt_span_context *caller_span; /* of that one */
	uint64_t caller_root;
	const struct dt_span_context *carried; /* a further span that it carries; NULL: none */
};
void dt_contexts_of(const struct dt_contexts *x, struct dt_pair *pair, const struct dt_call *c,
		    struct dt_call_context *to);

#endif
