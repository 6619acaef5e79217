/* SPDX-License-Identifier: MIT */
/* Reading a process's memory in stretches, for those who look at many places close to each other.
 * What has been read may be older than the call: only for what nobody else changes meanwhile. */
#ifndef DT_PROCESS_AHEAD_H
#define DT_PROCESS_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_AHEAD (16u << 10) /* bytes of a stretch, a power of two */

/* All zero: nothing has been read. */
struct dt_ahead {
	uint64_t low, high;
	uint8_t bytes[DT_AHEAD];
};

/* Reads n bytes at an address of the process whose memory is mem (dt_memory_open()). Returns false
 * if they can not be read. */
bool dt_ahead_read(struct dt_ahead *a, int mem, uint64_t at, void *to, size_t n);
/* Notes that a byte has been written there. */
void dt_ahead_note(struct dt_ahead *a, uint64_t at, uint8_t byte);

#endif
