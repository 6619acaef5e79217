// SPDX-License-Identifier: MIT OR GPL-2.0
/* Does what the ranges ask for at a hit: options, freezing, counting. */
#include "kernel/hook-work.h"

/*
 * How many records may still be made before recording freezes; 0: it is frozen; below 0: any
 * number.
 */
#define NO_END (-1)
static atomic64_t remaining = ATOMIC64_INIT(NO_END);

static const struct dt_act *act_at(u64 address)
{
	const struct dt_actions *a = READ_ONCE(dt_actions_now);

	for (size_t low = 0, high = a ? a->n : 0; low < high;) {
		size_t mid = (low + high) / 2;

		if (a->act[mid].address == address)
			return &a->act[mid];
		if (a->act[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void dt_freeze_behind(u64 records)
{
	/* dt_hooks_set() sees to it that each record is looked at, with the actions */
	atomic64_set(&remaining, records ? (s64)min_t(u64, records, S64_MAX) : NO_END);
	if (!records)
		dt_hooks_mode(0, DT_HALTED);
}

void dt_freeze_never(void)
{
	atomic64_set(&remaining, NO_END);
}

void dt_freeze(void)
{
	atomic64_set(&remaining, 0);
	dt_hooks_mode(DT_HALTED, 0);
}

/*
 * Freezes, since the last allowed record is being made; but an UNFREEZE may have come in between.
 */
static void last_taken(void)
{
	dt_hooks_mode(DT_HALTED, 0);
	if (atomic64_read(&remaining))
		dt_hooks_mode(0, DT_HALTED);
}

/*
 * Every core takes the permission for a record from one word before it makes the record. So never
 * one record too many is made, wherever the other cores are.
 */
bool dt_may_record(void)
{
	s64 n = atomic64_read(&remaining);

	do {
		if (likely(n < 0))
			return true;
		if (!n)
			return false;
	} while (!atomic64_try_cmpxchg(&remaining, &n, n - 1));
	if (n == 1)
		last_taken();
	return true;
}

/* Allows this record and `more' after it. Returns false if an earlier record was the last. */
static bool may_freeze(u64 more)
{
	s64 n = atomic64_read(&remaining);

	do {
		if (!n)
			return false;
		if (n > 0 && more) /* a freeze is coming already */
			return dt_may_record();
	} while (!atomic64_try_cmpxchg(&remaining, &n, (s64)min_t(u64, more, S64_MAX)));
	if (!more)
		last_taken();
	return true;
}

bool dt_obey(const struct dt_action *a, u8 kind, u8 *flags)
{
	u32 what = a->what;

	if ((kind == DT_ENTRY && !(what & DT_DO_ENTRY)) ||
	    (kind == DT_EXIT && !(what & DT_DO_EXIT)))
		return false;
	if ((what & DT_DO_ONLYPID) && a->pid != dt_task_group(READ_ONCE(dt_mode), current))
		return false;
	if (what & DT_DO_COUNT)
		return false;
	/* a function's options have their effect at its entry, if that is recorded */
	if (kind == DT_EXIT && (what & DT_DO_ENTRY))
		what = 0;
	if ((READ_ONCE(dt_mode) & DT_HALTED) || !atomic64_read(&remaining)) {
		if (!(what & DT_DO_UNFREEZE))
			return false;
		atomic64_set(&remaining, NO_END);
		dt_hooks_mode(0, DT_HALTED);
	}
	if (!(what & (DT_DO_FREEZE | DT_DO_LATEFREEZE))
		    ? !dt_may_record()
		    : !may_freeze(what & DT_DO_FREEZE ? 0 : a->late))
		return false;
	*flags |= (what & DT_DO_FREEZE ? DT_FREEZE : 0) |
		  (what & DT_DO_UNFREEZE ? DT_UNFREEZE : 0) |
		  (what & DT_DO_LATEFREEZE ? DT_LATEFREEZE : 0) |
		  (what & DT_DO_BASE ? DT_BASE : 0) | (what & DT_DO_ADJACENT ? DT_ADJACENT : 0);
	return true;
}

void dt_append_looking(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 pc, u64 sp,
		       u8 kind)
{
	const struct dt_act *act = act_at(pc);
	u8 flags = 0;

	/* a function without an action is hooked only because of `uniform' */
	if (!act || !dt_obey(&act->action, kind, &flags)) {
		dt_count(&core->left);
		return;
	}
	if ((flags & DT_NARGS) != DT_ADJACENT)
		flags |= kind == DT_ENTRY ? 4 : 2;
	if (kind == DT_ENTRY && dt_is_call(regs))
		dt_append_call(core, tid, regs, pc, flags);
	else if (kind == DT_ENTRY)
		dt_append_seldom(core, tid, pc, sp, kind, flags, regs->di, regs->si, regs->dx,
				 regs->cx);
	else
		dt_append_seldom(core, tid, pc, sp, kind, flags, regs->ax, regs->dx, 0, 0);
	if ((act->action.what & DT_DO_CONST) && kind == DT_ENTRY)
		dt_append_seldom(core, tid, pc, sp, DT_MORE, 1 | DT_PART(DEVTRACE_CONST),
				 act->action.constant, 0, 0, 0);
}
