/* SPDX-License-Identifier: MIT */
/*
 * The Common Trace Format, a folder, read by libbabeltrace2: entries and exits of functions as
 * devtrace's own export and LTTng's lttng-ust-cyg-profile have them are calls, sched_switch is a
 * switch, and all else is events.
 */
#ifndef DT_IMPORT_CTF_H
#define DT_IMPORT_CTF_H

#include "import/calls.h"

/* Reads a folder, which has the file metadata. Returns -1 on error. */
int dt_ctf_read(struct dt_imported *m, const char *path, struct dt_error *e);

#endif
