/* SPDX-License-Identifier: MIT */
/*
 * Calls of the kernel that are left out before they are recorded. The kernel's programs are told of
 * a function when the first of its records comes here, and from then on record only those of its
 * calls that may be wanted. All that they record is chosen among here as ever.
 */
#include "session/sieve-work.h"

#include "filter/conditions.h"
#include "session/kernel.h"

bool dt_sieve_chooses_early(const struct dt_options *o)
{
	/* all that looks at calls that are left out has to see them */
	return o->kernel && o->output && o->filter && !o->sums && !o->until && !o->signals &&
	       !o->snapshots && !o->backtrace && o->policy != DT_OVERWRITE;
}

void dt_sieve_early_begin(struct dt_sieve *v)
{
	v->early = v->session->kernel && dt_sieve_chooses_early(&v->session->options) &&
		   dt_filter_is_plain(v->filter) && !v->filter_texts;
}

void dt_sieve_early_tell(struct dt_sieve *v, const struct dt_record *r,
			 const struct dt_store_place *at)
{
	struct dt_conditions c;

	if (!v->early || r->kind != DT_ENTRY || !dt_kernel_address(r->pc) || !at->function)
		return;
	dt_filter_conditions(v->filter, at->function, &c);
	dt_kernel_choose(v->session->kernel, r->pc, at->function, &c, v->session->ticks_per_ns);
}

void dt_sieve_early_end(struct dt_sieve *v)
{
	if (v->early)
		dt_kernel_choose_end(v->session->kernel);
	v->early = false;
}

void dt_sieve_early_count(struct dt_sieve *v)
{
	struct dt_left_out_row row;

	for (size_t i = 0; v->session->kernel && dt_kernel_left(v->session->kernel, i, &row); i++)
		if (row.calls || row.untimed) {
			dt_sieve_merge_left(v, &row);
			v->counts.records += 2 * row.calls + row.untimed;
		}
}
