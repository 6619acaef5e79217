/* SPDX-License-Identifier: MIT */
#include "cmd/choose.h"

#include "cmd/open.h"
#include "cmd/unmet.h"

int dt_cmd_choose(struct dt_reader *r, const struct dt_reader_range *range, const char *words,
		  bool (*wanted)(void *ctx, uint32_t tid), void *ctx,
		  struct dt_chosen_calls *chosen)
{
	struct dt_filter *f = dt_cmd_filter(r, words);
	struct dt_error e;
	int rc;

	if (!f)
		return 2;
	dt_cmd_unmet_filter(r, f);
	rc = dt_chosen_read(chosen, f, r, range, wanted, ctx, &e);
	dt_cmd_filter_free(f);
	return rc ? dt_cmd_fail("%s", e.text) : 0;
}
