/* SPDX-License-Identifier: MIT */
/*
 * session/serve.c: which process is believed to have posted a request. A process that has the
 * session's memory can write there whatever it likes, so all of number, memory, area and proof have
 * to be its own. The processes are played here.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/probes.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "hook/target-rseq.h"
#include "hook/target-switch.h"
#include "hook/target-threads.h"
#include "process/launch.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/now.h"
#include "process/pid-namespace.h"
#include "process/status.h"
#include "session/begin.h"
#include "session/births.h"
#include "session/device.h"
#include "session/domain.h"
#include "session/doubt.h"
#include "session/ended.h"
#include "session/execs.h"
#include "session/jit.h"
#include "session/lives.h"
#include "session/processes.h"
#include "session/recorder.h"
#include "session/serve.h"
#include "session/state.h"
#include "session/thread-table.h"
#include "session/throttle.h"

#define AREA 0x7000000000ull
#define SLOT 3

static const struct played {
	pid_t pid, inner; /* here, and in its own namespace */
	bool maps;	  /* the session's memory */
	uint32_t proof;	  /* in its own */
	pid_t thread, inner_thread;
} * played;
static unsigned plays, reads; /* processes; how often the list of all was read */
static unsigned at_entry;

static const struct played *of(pid_t pid)
{
	for (unsigned i = 0; i < plays; i++)
		if (played[i].pid == pid)
			return &played[i];
	return NULL;
}

static pid_t inner_of(pid_t pid, pid_t tid)
{
	const struct played *p = of(pid);

	return !p ? 0 : tid == pid ? p->inner : tid == p->thread ? p->inner_thread : 0;
}

static pid_t outer_of(pid_t pid, pid_t inner)
{
	const struct played *p = of(pid);

	return p && p->inner_thread == inner ? p->thread : p && p->inner == inner ? p->pid : 0;
}

static int read_maps(pid_t pid, struct dt_maps *m)
{
	m->n = (size_t)pid; /* whose they are */
	return of(pid) ? 0 : -1;
}

static int read_proof(int mem, uint64_t at, uint32_t *proof)
{
	assert_int_equal(at, AREA + DT_AREA_PROCESS + offsetof(struct dt_process_block, proof) +
				     4 * SLOT);
	*proof = of(mem)->proof;
	return 0;
}

static struct dirent *next_entry(void)
{
	static struct dirent d;

	if (at_entry > plays)
		return NULL;
	if (at_entry == plays)
		strcpy(d.d_name, "self");
	else
		snprintf(d.d_name, sizeof(d.d_name), "%d", played[at_entry].pid);
	at_entry++;
	return &d;
}

#define dt_pid_inner(pid, tid)		inner_of(pid, tid)
#define dt_pid_outer_thread(pid, inner) outer_of(pid, inner)
#define dt_maps_read(pid, m, e)		read_maps(pid, m)
#define dt_maps_free(m)			((void)(m))
#define dt_shared_mapped(shared, m)	(of((pid_t)(m)->n)->maps)
#define dt_memory_open(pid, e)		(pid)
#define dt_memory_read(mem, at, to, n)	read_proof(mem, at, to)
#define dt_status_parent(pid)		((pid) + 5000)
#define close(fd)			((void)(fd))
#define opendir(name)			(reads++, at_entry = 0, (DIR *)&at_entry)
#define readdir(d)			next_entry()
#define closedir(d)			((void)(d))
#include "session/serve.c"

static struct dt_session session;
static struct dt_domain domain;
static struct dt_request request;

/* Posts, as a process and thread of such numbers say of themselves. */
static bool post(pid_t pid, pid_t tid, pid_t parent, uint32_t proof, uint64_t area)
{
	static uint64_t areas[] = {AREA - 4096, AREA};

	session.area = areas;
	session.areas = 2;
	reads = 0;
	memset(&domain, 0xee, sizeof(domain));
	request = (struct dt_request){.pid = (uint32_t)pid,
				      .tid = (uint32_t)tid,
				      .ppid = (uint32_t)parent,
				      .area = area,
				      .proof = proof};
	return make_outer(&session, &domain, &request, SLOT);
}

static void is(pid_t pid, pid_t tid, pid_t parent)
{
	assert_int_equal(request.pid, pid);
	assert_int_equal(request.tid, tid);
	assert_int_equal(request.ppid, parent);
	assert_int_equal(domain.poster[SLOT].pid, pid);
	assert_int_equal(domain.poster[SLOT].tid, tid);
}

static void is_nobody(void)
{
	assert_int_equal(domain.poster[SLOT].pid, 0);
	assert_int_equal(domain.poster[SLOT].tid, 0);
}

static const struct played world[] = {
	{100, 100, true, 77, 101, 101},	 /* here */
	{200, 100, true, 88, 201, 104},	 /* in another namespace, with the first one's number */
	{300, 300, false, 77, 301, 301}, /* has not the session's memory */
	{400, 400, true, 0, 401, 401},	 /* has posted nothing */
	{500, 7, true, 99, 501, 8},
};

static void posters(void **state)
{
	(void)state;
	played = world;
	plays = sizeof(world) / sizeof(*world);
	assert_true(post(100, 101, 50, 77, AREA));
	is(100, 101, 50);
	assert_int_equal(reads, 0);
	assert_true(post(100, 100, 50, 77, AREA));
	is(100, 100, 50);
	/* somebody else has that number here; it sees no parent, or the first process */
	for (pid_t parent = 0; parent < 2; parent++) {
		assert_true(post(100, 104, parent, 88, AREA));
		is(200, 201, 5200);
		assert_true(post(7, 8, parent, 99, AREA));
		is(500, 501, 5500);
		assert_int_equal(reads, 1);
	}
	/* with another parent it is one of here, where the session has none of other namespaces */
	assert_false(post(7, 8, 2, 99, AREA));
	is_nobody();
	assert_int_equal(reads, 0);
	session.targets.namespaces.last = 1;
	assert_true(post(7, 8, 2, 99, AREA));
	is(500, 501, 5500);
	session.targets.namespaces.last = 0;
}

static void strangers(void **state)
{
	(void)state;
	played = world;
	plays = sizeof(world) / sizeof(*world);
	for (pid_t parent = 0; parent < 3; parent++) {
		assert_false(post(100, 100, parent, 78, AREA)); /* another proof */
		is_nobody();
		assert_false(post(100, 100, parent, 0, AREA));
		assert_false(post(400, 400, parent, 0, AREA)); /* 0 is none */
		is_nobody();
		assert_false(post(100, 100, parent, 77, AREA + 8)); /* no area of ours */
		is_nobody();
		assert_false(post(300, 300, parent, 77, AREA));
		is_nobody();
		assert_false(post(101, 101, parent, 77, AREA)); /* a thread is no process */
		assert_false(post(0, 0, parent, 77, AREA));
		assert_false(post(-1, -1, parent, 77, AREA));
		assert_false(post(900, 900, parent, 77, AREA)); /* has gone */
		is_nobody();
		/* a thread of no process of that number */
		assert_false(post(100, 9, parent, 77, AREA));
		assert_int_equal(domain.poster[SLOT].tid, 0);
	}
}

/* Of processes that are known the one that has ended is not asked, whoever has its number. */
static void known(void **state)
{
	struct dt_target first = {.pid = 500, .tag = 2}, second = {.pid = 200, .tag = 1};

	(void)state;
	played = world;
	plays = sizeof(world) / sizeof(*world);
	first.next = &second;
	session.first = &first;
	session.targets.namespaces.last = 2;
	assert_true(post(100, 104, 2, 88, AREA));
	is(200, 201, 5200);
	assert_int_equal(reads, 0);
	second.ended = true;
	assert_true(post(100, 104, 2, 88, AREA));
	assert_int_equal(reads, 1);
	session.first = NULL;
	session.targets.namespaces.last = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(posters), cmocka_unit_test(strangers),
					   cmocka_unit_test(known)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
