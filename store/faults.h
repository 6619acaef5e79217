/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a trace: how many faults of each kind there are, and where the first one is.
 */
#ifndef DT_STORE_FAULTS_H
#define DT_STORE_FAULTS_H

#include "core/types.h"

enum dt_fault_kind {
	DT_FAULT_FILE,	  /* part of the database cannot be read */
	DT_FAULT_ROW,	  /* a table's row leads nowhere, or has no number where one belongs */
	DT_FAULT_TIMES,	  /* times in a table's row are impossible */
	DT_FAULT_CHUNK,	  /* a chunk cannot be decoded */
	DT_FAULT_PLACE,	  /* a chunk does not begin where the one before it ends */
	DT_FAULT_HEAD,	  /* what the table says of a chunk is not what is in it */
	DT_FAULT_WRITTEN, /* not all records that were written are here, or counted as lost */
	DT_FAULT_LOSS,	  /* a loss does not fit where it is said to be */
	DT_FAULT_ORDER,	  /* a core's record is earlier than the one before it */
	DT_FAULT_BACK,	  /* a thread's record is earlier than the one before it */
	DT_FAULT_SITE,	  /* a site is of no function, or lies outside its function's module */
	DT_FAULT_THREAD,  /* a thread with records is not described */
	DT_FAULT_READ,	/* a chunk's records are not read, or records are read that no chunk has */
	DT_FAULT_PAIR,	/* an exit without an entry, and no reason for it */
	DT_FAULT_COUNT, /* a function has more or fewer calls than entries, or than exits */
	DT_FAULT_DURATION, /* a call's duration is impossible */
	DT_FAULT_SUM,	   /* a sum is not that of its parts */
	DT_FAULT_PYRAMID,  /* a sum that `view' keeps in the file is not that of the calls */
	DT_FAULT_SQL,	   /* a sum that `sql' gives is not that of the calls */
	DT_FAULTS	   /* number of kinds */
};

struct dt_fault {
	uint64_t n;	 /* faults of the kind */
	char first[256]; /* where the first one is */
};

struct dt_faults {
	struct dt_fault kind[DT_FAULTS];
};

/* Counts one more fault of a kind. The text, which says where it is, is kept for the first one
 * only. */
void dt_faults_add(struct dt_faults *f, enum dt_fault_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns what n faults of a kind are, in words: "records are earlier than the one before them on
 * their core". Singular for n = 1. */
const char *dt_faults_words(enum dt_fault_kind kind, uint64_t n);

/* Returns the number of faults of all kinds together; 0: there are none. */
uint64_t dt_faults_sum(const struct dt_faults *f);

#endif
