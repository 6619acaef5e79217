/* SPDX-License-Identifier: MIT */
/* What is wrong with a trace: of each kind how often, and where first. */
#ifndef DT_STORE_FAULTS_H
#define DT_STORE_FAULTS_H

#include "core/types.h"

enum dt_fault_kind {
	DT_FAULT_FILE,	   /* the database */
	DT_FAULT_ROW,	   /* a table's row leads nowhere, or has no number where one belongs */
	DT_FAULT_TIMES,	   /* a table's times */
	DT_FAULT_CHUNK,	   /* cannot be decoded */
	DT_FAULT_PLACE,	   /* chunks do not follow each other */
	DT_FAULT_HEAD,	   /* what the table says of a chunk is not what is in it */
	DT_FAULT_WRITTEN,  /* not all records that were written are here, or counted as lost */
	DT_FAULT_LOSS,	   /* what was lost does not fit where it is said to be */
	DT_FAULT_ORDER,	   /* a core's record is earlier than the one before it */
	DT_FAULT_BACK,	   /* a thread's is */
	DT_FAULT_SITE,	   /* of no function, or not in its module */
	DT_FAULT_THREAD,   /* that is not described */
	DT_FAULT_READ,	   /* records that are in chunks and are not read, or the other way round */
	DT_FAULT_PAIR,	   /* an exit without an entry, and no reason for it */
	DT_FAULT_COUNT,	   /* calls are not as many as entries, or as exits */
	DT_FAULT_DURATION, /* that can not be */
	DT_FAULT_SUM,	   /* what is summed up is not what there is */
	DT_FAULT_PYRAMID,  /* what view has summed up in the file */
	DT_FAULT_SQL,	   /* what sql says */
	DT_FAULTS
};

struct dt_fault {
	uint64_t n;
	char first[256];
};

struct dt_faults {
	struct dt_fault kind[DT_FAULTS];
};

/* One more of a kind. The text of the first says where it is. */
void dt_faults_add(struct dt_faults *f, enum dt_fault_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "records are earlier than the one before them on their core": what n of a kind are. */
const char *dt_faults_words(enum dt_fault_kind kind, uint64_t n);

/* Of all kinds together; 0: none. */
uint64_t dt_faults_sum(const struct dt_faults *f);

#endif
