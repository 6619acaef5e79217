/* SPDX-License-Identifier: MIT */
#include "target/append.h"
#include "target/birth.h"
#include "target/calls.h"
#include "target/careful.h"
#include "target/request.h"
#include "target/ring.h"
#include "target/rseq.h"

static void count_clockless(const struct dt_record *rec)
{
	if (rec->kind == DT_EXIT)
		__atomic_add_fetch(&session.clockless_out, 1, __ATOMIC_RELAXED);
	else if (rec->kind != DT_MORE) /* that belongs to the record before it */
		__atomic_add_fetch(&session.clockless_in, 1, __ATOMIC_RELAXED);
}

/*
 * Called in a forked child, which finds its process block wiped: fills the block, and makes the
 * process known to the controller. The first process of a PID namespace, or one put into another
 * namespace, does not see its parent (getppid() is 0). Such a process, and one whose parent is
 * number 1, waits until the controller has given it a tag that tells its numbers from others'.
 */
static void begin_process(void)
{
	bool strange = !dt_has_parent();
	bool born = !strange && dt_birth_tell(DT_BIRTH_FORKED), anothers = dt_id_is_anothers();
	uint32_t none = DT_STRANGE_NONE;

	process_block.pid = dt_is_confined() ? 0 : (uint32_t)dt_call4(DT_SYS_GETPID, 0, 0, 0, 0);
	if (strange)
		dt_request_tell(DT_REQUEST_PROCESS, true);
	__atomic_store_n(&process_block.cores, (uint32_t)blob.cores, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kept_block.opted_out,
			    __ATOMIC_SEQ_CST)) /* another thread may have done so just now */
		__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	/* the kernel is asked for this process's threads, then, at each record */
	if (anothers)
		__atomic_compare_exchange_n(&kept_block.strange, &none, DT_STRANGE_ASKED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kept_block.asks_clock, __ATOMIC_SEQ_CST) || dt_is_strange())
		dt_fast_path_leave();
	if (strange)
		return;
	/* a child of a watched process is not watched: it waits until its sites are switched off */
	dt_request_process(born,
			   session.watches && !session.all && !dt_is_watched_id(process_block.pid));
}

/* Does the work of dt_slow(). */
static int append(struct dt_record *rec)
{
	struct dt_ring *r;
	uint32_t core;
	uint64_t pos;

	if (!process_block.cores && !process_block.shared_only && !dt_is_strict()) {
		begin_process();
		if (!session.watches || session.all || dt_is_watched_id(process_block.pid))
			return 1;
		dt_filtered_count(rec);
		return 0;
	}
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return 0;
	if (!dt_clock_is_allowed()) {
		count_clockless(rec);
		return 0;
	}
	if (__atomic_load_n(&session.careful, __ATOMIC_ACQUIRE)) {
		rec->tid = dt_own_thread_id();
		return dt_careful_append(rec);
	}
	/* unless the hook is one without rseq */
	if (rec->core != DT_SHARED_CORE && !process_block.shared_only) {
		core = dt_rseq_core();
		if (core < process_block.cores) {
			r = dt_ring_at(&session, blob.stride, core);
			pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
			return dt_ring_make_room(r, pos, rec);
		}
		if (dt_rseq_register())
			return 1;
	}
	/* here the thread block may be another thread's: see dt_before_clone() */
	rec->tid = dt_asked_thread_id();
	return dt_shared_ring_append(rec);
}

int dt_slow(struct dt_record *rec)
{
	bool counted;
	int again;

	if (__atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
		return 0;
	counted = dt_calling_begin();
	again = append(rec);
	dt_calling_end(counted);
	return again;
}
