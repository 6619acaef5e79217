/* SPDX-License-Identifier: MIT */
/* Counting faults. */
#include "core/plain.h"
#include "store/faults.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[DT_FAULTS][2] = {
	[DT_FAULT_FILE] = {"part of the database is damaged", "parts of the database are damaged"},
	[DT_FAULT_ROW] = {"row of a table is not what it has to be",
			  "rows of tables are not what they have to be"},
	[DT_FAULT_TIMES] = {"row of a table has impossible times",
			    "rows of tables have impossible times"},
	[DT_FAULT_CHUNK] = {"chunk of records can not be decoded",
			    "chunks of records can not be decoded"},
	[DT_FAULT_PLACE] = {"chunk does not follow the one before it",
			    "chunks do not follow the ones before them"},
	[DT_FAULT_HEAD] = {"chunk is not as its row says", "chunks are not as their rows say"},
	[DT_FAULT_WRITTEN] = {"core has not as many records as were written, lost ones included",
			      "cores have not as many records as were written, lost ones included"},
	[DT_FAULT_LOSS] = {"loss is not where it is said to be",
			   "losses are not where they are said to be"},
	[DT_FAULT_ORDER] = {"record is earlier than one before it on its core",
			    "records are earlier than one before them on their core"},
	[DT_FAULT_BACK] = {"record is earlier than the one before it of its thread",
			   "records are earlier than the ones before them of their thread"},
	[DT_FAULT_SITE] = {"place in the code is not in what is described",
			   "places in the code are not in what is described"},
	[DT_FAULT_THREAD] = {"thread has records and is not described",
			     "threads have records and are not described"},
	[DT_FAULT_READ] = {"record is not read as it is stored",
			   "records are not read as they are stored"},
	[DT_FAULT_PAIR] = {"exit has no entry, and nothing says why",
			   "exits have no entry, and nothing says why"},
	[DT_FAULT_COUNT] = {"function has not as many calls as entries and exits",
			    "functions have not as many calls as entries and exits"},
	[DT_FAULT_DURATION] = {"call has an impossible duration",
			       "calls have impossible durations"},
	[DT_FAULT_SUM] = {"sum is not that of its parts", "sums are not those of their parts"},
	[DT_FAULT_PYRAMID] = {"sum that view keeps in the file is not that of the calls",
			      "sums that view keeps in the file are not those of the calls"},
	[DT_FAULT_SQL] = {"sum of sql is not that of the calls",
			  "sums of sql are not those of the calls"},
};

void dt_faults_add(struct dt_faults *f, enum dt_fault_kind kind, const char *format, ...)
{
	struct dt_fault *k = &f->kind[kind];
	va_list ap;

	if (k->n++)
		return;
	va_start(ap, format);
	vsnprintf(k->first, sizeof(k->first), format, ap);
	va_end(ap);
	/* it may have text from the file */
	dt_plain_cut(k->first, false);
}

const char *dt_faults_words(enum dt_fault_kind kind, uint64_t n)
{
	return words[kind][n != 1];
}

uint64_t dt_faults_sum(const struct dt_faults *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < DT_FAULTS; i++)
		sum += f->kind[i].n;
	return sum;
}
