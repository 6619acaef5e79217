/* SPDX-License-Identifier: MIT */
/*
 * The symbols that a stripped file brings along in .gnu_debugdata, an ELF file compressed by xz
 * (MiniDebugInfo, as Fedora's programs have it): names of the functions that .dynsym has not.
 */
#ifndef DT_ELF_MINI_H
#define DT_ELF_MINI_H

#include "elf/symtab-file.h"

#define DT_MINI_MOST (64u << 20) /* bytes of that file, at most: larger ones are not read */

/* Opens what .gnu_debugdata of the file contains; false: there is none, it is damaged or larger
 * than DT_MINI_MOST, or there is no memory. */
bool dt_mini_open(struct dt_symfile *mini, const struct dt_symfile *main);

#endif
