/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's trace format: Protocol Buffers, a message of packets
 * (https://perfetto.dev/docs/reference/trace-packet-proto). Slices, instants and counters of
 * tracks, with the descriptions of processes and threads, and the kernel's switches are read.
 */
#ifndef DT_IMPORT_PERFETTO_H
#define DT_IMPORT_PERFETTO_H

#include <stdio.h>

#include "import/calls.h"

/* Reads a file. path is for errors. Returns -1 on error. */
int dt_perfetto_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e);

#endif
