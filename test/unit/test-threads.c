/* SPDX-License-Identifier: MIT */
/* Stopping threads of another process, and letting them go, where they can not stop, or are killed
 * meanwhile. The processes are our grandchildren: their parent is to be told of their end, which it
 * is when their tracer, we, has been. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/now.h"
#include "process/threads.h"

#define TRIES 500 /* of 10 ms: until something is that has to be soon */

/* A process, and the one who waits for it, which writes a byte when it has been told of its end. */
struct family {
	pid_t parent, child;
	int told;
};

static void make(struct family *f, void (*child)(void))
{
	int told[2], number[2];

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(number), 0);
	f->parent = fork();
	if (!f->parent) {
		pid_t pid = fork();
		int status;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			child();
			_exit(0);
		}
		if (write(number[1], &pid, sizeof(pid)) < 0 || waitpid(pid, &status, 0) != pid ||
		    write(told[1], "", 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(told[1]);
	close(number[1]);
	assert_int_equal(read(number[0], &f->child, sizeof(f->child)), sizeof(f->child));
	close(number[0]);
	f->told = told[0];
}

static void leave(struct family *f)
{
	int status;

	close(f->told);
	kill(f->child, SIGKILL);
	for (int i = 0; dt_threads_late() && i < TRIES; i++)
		usleep(10000);
	assert_int_equal(waitpid(f->parent, &status, 0), f->parent);
}

/* Sees to it that the parent is told, as the session does it. */
static void is_told(struct family *f)
{
	char c;

	for (int i = 0; dt_threads_late() && i < TRIES; i++)
		usleep(10000);
	assert_false(dt_threads_late());
	assert_int_equal(read(f->told, &c, 1), 1);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void killed_while_stopped(void **state)
{
	struct dt_threads t;
	struct dt_error e;
	struct family f;

	for (int i = 0; i < 20; i++) {
		make(&f, wait_for_ever);
		assert_int_equal(dt_threads_stop(f.child, &t, &e), 0);
		kill(f.child, SIGKILL);
		/* perhaps it has become a zombie, perhaps it is about to */
		if (i % 2)
			usleep(1000);
		dt_threads_release(&t);
		is_told(&f);
		leave(&f);
	}
}

static void killed_before_interrupt(void **state)
{
	struct family f;

	for (int i = 0; i < 20; i++) {
		make(&f, wait_for_ever);
		assert_int_equal(ptrace(PTRACE_SEIZE, f.child, 0, PTRACE_O_TRACESYSGOOD), 0);
		kill(f.child, SIGKILL);
		if (i % 2)
			usleep(1000);
		dt_threads_let_go(f.child, 0);
		is_told(&f);
		leave(&f);
	}
}

/* More than are remembered at first. */
static void many_killed(void **state)
{
	enum { MANY = 100 };
	struct family *f = calloc(MANY, sizeof(*f));

	for (int i = 0; i < MANY; i++) {
		make(&f[i], wait_for_ever);
		assert_int_equal(ptrace(PTRACE_SEIZE, f[i].child, 0, 0), 0);
		kill(f[i].child, SIGKILL);
		dt_threads_let_go(f[i].child, 0);
	}
	for (int i = 0; i < MANY; i++)
		is_told(&f[i]);
	for (int i = 0; i < MANY; i++)
		leave(&f[i]);
	free(f);
}

static void wait_for_child(void)
{
	pid_t pid = vfork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_for_ever();
	}
}

static char state_of(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return strrchr(line, ')') ? strrchr(line, ')')[2] : 0;
}

/* Who waits for a child of vfork does not stop, and the child may wait for us: so we are not to
 * wait for long. The tenth of a second that others get is not needed once in several times. */
static void vfork_is_not_waited_for(void **state)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct dt_threads t;
		struct dt_error e;
		struct family f;
		uint64_t begin;

		make(&f, wait_for_child);
		for (int k = 0; state_of(f.child) != 'D' && k < TRIES; k++)
			usleep(1000);
		begin = dt_now_ns();
		assert_int_equal(dt_threads_stop(f.child, &t, &e), -1);
		if (dt_now_ns() - begin < least)
			least = dt_now_ns() - begin;
		leave(&f);
	}
	assert_true(least < 50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_while_stopped),
		cmocka_unit_test(killed_before_interrupt),
		cmocka_unit_test(many_killed),
		cmocka_unit_test(vfork_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
