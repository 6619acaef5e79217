/* SPDX-License-Identifier: MIT */
/* Finds the calls of a trace that the words of -f mean. */
#ifndef DT_CMD_CHOOSE_H
#define DT_CMD_CHOOSE_H

#include "analyse/chosen.h"

/* Finds the calls of a range that -f WORDS means: dt_chosen_read() with its parameters. Returns the
 * exit status, 0: go on; what is wrong has been reported. */
int dt_cmd_choose(struct dt_reader *r, const struct dt_reader_range *range, const char *words,
		  bool (*wanted)(void *ctx, uint32_t tid), void *ctx,
		  struct dt_chosen_calls *chosen);

#endif
