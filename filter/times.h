/* SPDX-License-Identifier: MIT */
/* Times in the columns of tables. */
#ifndef DT_FILTER_TIMES_H
#define DT_FILTER_TIMES_H

/* Writes a time, 11 columns: "   1.234 us", to text, which has room for 32 bytes. Returns text. */
const char *dt_times_text(char *text, double ns);

#endif
