/* SPDX-License-Identifier: MIT */
/* Showing how far long work has come. */
#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd/output.h"

static bool on_chunk(void *ctx, uint64_t records)
{
	struct dt_progress *p = ctx;
	unsigned percent;

	p->done += records;
	percent = p->done >= p->total ? 100 : (unsigned)(100 * (double)p->done / (double)p->total);
	if (p->terminal && (percent != p->percent || !p->said)) {
		fprintf(stderr, "\r%3u %% of %lu records", percent, (unsigned long)p->total);
		p->said = true;
		p->percent = percent;
	}
	return !dt_output_is_interrupted();
}

void dt_progress_begin(struct dt_progress *p, struct dt_reader *r)
{
	struct dt_summary s;

	*p = (struct dt_progress){.terminal = isatty(STDERR_FILENO), .watch = on_chunk};
	if (!dt_reader_summary(r, &s, NULL))
		p->total = s.records;
	dt_reader_watch(r, on_chunk, p);
}

void dt_progress_end(struct dt_progress *p, struct dt_reader *r)
{
	dt_reader_watch(r, NULL, NULL);
	if (p->said)
		putc('\n', stderr);
	p->said = false;
}
