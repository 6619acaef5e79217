/* SPDX-License-Identifier: MIT */
/*
 * Finds out what a file's code does with the words that each thread has of its own: whether
 * something else than devtrace may register rseq or use the words that devtrace wants to have
 * (struct dt_own_rseq).
 */
#ifndef DT_ELF_THREAD_USE_H
#define DT_ELF_THREAD_USE_H

#include "elf/elf.h"

/* What a file's code shows. */
struct dt_thread_use {
	bool read;     /* the file has been searched: */
	bool rseq;     /* it may register rseq */
	bool block;    /* it may use the part of glibc's thread block that is not in use any more */
	bool word;     /* it may use the word at DT_OWN_WORD */
	size_t clones; /* places that may make the system calls vfork and clone */
};

/* Searches the file, at the first call only. What can not be read is taken for one that does it
 * all. */
void dt_thread_use_read(struct dt_thread_use *u, const struct dt_elf *elf);

#endif
