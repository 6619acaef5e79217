/* SPDX-License-Identifier: MIT */
/* The process apart that reads a file's symbols, debug information and code: it answers. */
#ifndef DT_SYMBOLS_SYMTAB_TELL_H
#define DT_SYMBOLS_SYMTAB_TELL_H

#include "process/apart.h"

dt_apart_serve dt_symtab_tell;

#endif
