/* SPDX-License-Identifier: MIT */
/* Two traces as one, beside each other, for the commands that show a trace. */
#ifndef DT_CMD_BESIDE_H
#define DT_CMD_BESIDE_H

/* Returns a trace that has both, which is removed when this process ends. words: what is brought to
 * the same time (fleet/beside.h); NULL: the first call of main in both, or else their first
 * records. NULL: *status is the exit status; reported. Before the process confines itself. */
const char *dt_cmd_beside(const char *a, const char *b, const char *words, int *status);

#endif
