/* SPDX-License-Identifier: MIT */
/* Says what a reader of a trace was asked for although the trace has no such thing. */
#ifndef DT_CMD_UNMET_H
#define DT_CMD_UNMET_H

#include "filter/filter.h"
#include "filter/sums.h"
#include "store/reader.h"
#include "symbols/pattern.h"

/* Notes which functions and arguments the words of -f name that the trace does not have. */
void dt_cmd_unmet_filter(const struct dt_reader *r, struct dt_filter *f);
/* The same of a sum. */
void dt_cmd_unmet_sum(const struct dt_reader *r, const struct dt_sums_words *w,
		      struct dt_filter *filter);
/* Says which patterns of -F mean no function of the trace. Returns whether none means one. */
bool dt_cmd_unmet_patterns(const struct dt_reader *r, const struct dt_selection *s);
/* Says so if no function that s means has an argument of this name, the first n characters. option:
 * the one it was given with. Returns whether that is so. */
bool dt_cmd_unmet_value(const struct dt_reader *r, struct dt_selection *s, const char *name,
			size_t n, const char *option);
/* Says which threads, by the kernel's numbers, the trace does not have; returns whether there is
 * one. */
bool dt_cmd_unmet_threads(const struct dt_reader *r, const uint32_t *thread, size_t n);
/* The same of processes. */
bool dt_cmd_unmet_processes(const struct dt_reader *r, const uint32_t *process, size_t n);

#endif
