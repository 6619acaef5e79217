/* SPDX-License-Identifier: MIT */
/* The words that the kernel prints for the values of its tracepoints' fields, as the `print fmt' of
 * the file `format' in tracefs has them. */
#ifndef DT_SESSION_KERNEL_WORDS_H
#define DT_SESSION_KERNEL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a field's description at most; further words are left out. */
#define DT_KERNEL_WORDS 16384

/* Tells the value of a constant that the text has by name (n bytes). False: it is not known. */
typedef bool dt_kernel_constant_fn(void *ctx, const char *name, size_t n, uint64_t *value);

/*
 * Writes the words for the values of a field, as a type's description (doc/format.md): those of
 * __print_symbolic() as an enumeration, those of __print_flags() as a set of flags, and `field ? A
 * : B'. format: the whole text of the file, of which nothing is trusted. False: there are none, or
 * what there is is not understood: then the field is a number. constant, called with ctx, is asked
 * what constants are whose names the kernel has left in the text.
 */
bool dt_kernel_words(const char *format, const char *field, dt_kernel_constant_fn *constant,
		     void *ctx, char out[DT_KERNEL_WORDS]);

#endif
