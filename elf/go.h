/* SPDX-License-Identifier: MIT */
/*
 * Finds code that Go's compiler has made, which is not hooked. A hook's slow path needs up to 350
 * bytes of stack. But goroutines use stacks of 2 KB to their last bytes, and functions that do not
 * check how much is left (nosplit) have 800 bytes for all of them together. A stack that grows is
 * moved elsewhere, so an exit has another stack pointer than its entry. And goroutines return to
 * the byte after the beginning of a function, which is a nop.
 */
#ifndef DT_ELF_GO_H
#define DT_ELF_GO_H

#include <gelf.h>
#include "core/types.h"

/*
 * Finds where Go's code is: [*low, *high), in the file's addresses. C code in the same program
 * (cgo) lies outside. The range is 0 to UINT64_MAX if the file shows that it has Go code, but not
 * where. Returns false if it has none.
 */
bool dt_go_range(Elf *elf, uint64_t *low, uint64_t *high);

#endif
