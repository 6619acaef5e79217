/* SPDX-License-Identifier: MIT */
/*
 * Which calls of a trace have arguments that lead to texts like those that a filter asks for. The
 * texts are in records behind a call's entry, so when the filter asks about the first call, one
 * pass over the trace finds them all; of a trace that grows, what has come is read when a later
 * call is asked about.
 */
#ifndef DT_ANALYSE_TEXT_MATCHES_H
#define DT_ANALYSE_TEXT_MATCHES_H

#include "filter/filter.h"
#include "store/reader.h"

/* Lets a filter that has conditions on texts know those in the trace of r, which must live as long
 * as the filter. Returns -1 on error. */
int dt_text_matches_look(struct dt_filter *f, const struct dt_reader *r, struct dt_error *e);

/* When the filter has been used: returns the name of an argument that it has asked about and of
 * which the trace has no text; NULL: there is none. */
const char *dt_text_matches_missing(const struct dt_filter *f);

#endif
