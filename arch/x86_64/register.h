/* SPDX-License-Identifier: MIT */
/* Registers as assembler code writes them. */
#ifndef DT_ARCH_REGISTER_H
#define DT_ARCH_REGISTER_H

#include "core/types.h"

/* n bytes, a register's name without "%": its number (core/capture.h), how many bytes it means, and
 * from which on. */
bool dt_register_read(const char *s, size_t n, uint8_t *reg, uint8_t *bytes, uint8_t *from);

/* The name back, in out or constant. */
const char *dt_register_write(char *out, size_t size, uint8_t reg, uint8_t bytes, uint8_t from);

#endif
