/* SPDX-License-Identifier: MIT */
/* Rows for unwinding (arch/unwind.h), made of a file's .eh_frame. */
#ifndef DT_ELF_UNWIND_H
#define DT_ELF_UNWIND_H

#include "arch/arch.h"
#include "elf/frames.h"

/*
 * Makes the row that holds at an address, which is in that frame. False: the frame's description
 * has something that no compiler writes there. It takes time in proportion to the length of the
 * description.
 */
bool dt_unwind_row(const struct dt_frame *f, uint64_t address, struct dt_unwind_row *row);

#endif
