/* SPDX-License-Identifier: MIT */
/*
 * Code that Go's compiler has made, which is not hooked. A hook takes up to 350 bytes of stack in
 * its slow path; goroutines run down to the last bytes of stacks of 2 KB, and functions that do not
 * look how much is left (nosplit) are given 800 for all of them together. Stacks that grow are
 * moved elsewhere, so an exit has another stack pointer than its entry. And goroutines return to
 * one byte behind the beginning of a function, which is a nop.
 */
#ifndef DT_ELF_GO_H
#define DT_ELF_GO_H

#include <gelf.h>
#include "core/types.h"

/*
 * Where it is in the file: [*low, *high), in the file's addresses. What C code a program has beside
 * it (cgo) lies elsewhere. 0 to UINT64_MAX when the file says that it is Go's, and not where.
 * false: it is none of Go's.
 */
bool dt_go_range(Elf *elf, uint64_t *low, uint64_t *high);

#endif
