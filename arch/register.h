/* SPDX-License-Identifier: MIT */
/* Registers as assembler code writes them. */
#ifndef DT_ARCH_REGISTER_H
#define DT_ARCH_REGISTER_H

#include "core/types.h"

/* Reads a register's name of n bytes, without "%": sets *reg to its number (core/capture.h), *bytes
 * to how many bytes of it the name means, and *from to the first of these. False: it is no name of
 * a register. */
bool dt_register_read(const char *s, size_t n, uint8_t *reg, uint8_t *bytes, uint8_t *from);

/* Returns the name of such a register, either in out or as a constant. */
const char *dt_register_write(char *out, size_t size, uint8_t reg, uint8_t bytes, uint8_t from);

#endif
