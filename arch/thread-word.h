/* SPDX-License-Identifier: MIT */
/* Where threads keep a variable of their own, told from the function that returns its address. */
#ifndef DT_ARCH_THREAD_WORD_H
#define DT_ARCH_THREAD_WORD_H

#include "arch/numbers.h"
#include "core/types.h"

/*
 * Understands the code of a function such as libc's __errno_location, which returns the thread
 * pointer plus an offset. code has DT_THREAD_WORD_CODE bytes and is at `address'. Returns 1 if the
 * offset is in the code, and sets *offset; 2 if it is the word at the address *slot; 0 if the code
 * is another.
 */
int dt_thread_word(const uint8_t *code, uint64_t address, int64_t *offset, uint64_t *slot);

#endif
