/* SPDX-License-Identifier: MIT */
/*
 * Calls made by threads of a process that does not want it: another of its threads writes over the
 * code they are to run. Whatever it makes of it, devtrace has an answer in time, and the process
 * goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "process/memory.h"
#include "process/now.h"
#include "process/threads.h"

/* devtrace's clock runs so many times faster: its seconds are not to be waited for */
#define FASTER	    20
#define dt_now_ns() (FASTER * dt_now_ns())
#include "process/inject.c"
#undef dt_now_ns

#define TRIES	   2000
#define PATIENCE_S 20 /* of trying, if these are not enough */
#define ALLOWED	   8  /* seconds: 30 of devtrace's, and what a loaded machine takes */

static unsigned char *page; /* of the child: code, as the area's gate is */

struct writing {
	const char *what;
	unsigned char text[32];
	size_t n;
};

/* what is written at each byte from the stub's beginning on */
static const struct writing writing[] = {
	{"a jump to itself", {0xeb, 0xfe}, 2},
	/* jmp to what stands in the other half of the page */
	{"system calls of its own for ever", {0xe9, 0xf3, 0x07, 0, 0}, 5},
	/* SIGILL is blocked: the process ends */
	{"an instruction that there is not", {0x0f, 0x0b}, 2},
	{"a breakpoint", {0xcc}, 1},
	/* mov $34, %eax (pause); syscall; jmp back */
	{"a call that does not return", {0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7}, 9},
};

/* mov $39, %eax (getpid); syscall; jmp back */
static const unsigned char for_ever[] = {0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};

static const struct writing *now;

static void *write_over(void *unused)
{
	volatile unsigned char *p = page;

	for (;;)
		for (size_t i = 0; i < now->n; i++)
			p[8 + i] = now->text[i];
	return unused;
}

static pid_t start(const struct writing *w)
{
	int ready[2];
	char c;
	pid_t pid;

	now = w;
	assert_int_equal(pipe(ready), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_true(page != MAP_FAILED);
	memcpy(page + 2048, for_ever, sizeof(for_ever));
	pid = fork();
	if (pid == 0) {
		pthread_t t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (w->n)
			pthread_create(&t, NULL, write_over, NULL);
		c = 1;
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Has a child with that written make a few calls; what dt_inject() says. */
static int try(const struct writing *w, struct dt_error *e, double *took,
	       struct dt_injected_call *call, size_t n)
{
	pid_t pid = start(w);
	struct dt_threads one;
	struct dt_maps maps;
	double begin;
	int mem, rc;

	assert_int_equal(dt_threads_stop_one(pid, pid, &one, e), 0);
	mem = dt_memory_open(pid, e);
	assert_true(mem >= 0);
	assert_int_equal(dt_maps_read(pid, &maps, e), 0);
	begin = seconds();
	rc = dt_inject(pid, mem, &maps, (uint64_t)page, call, n, e);
	*took = seconds() - begin;
	dt_threads_release(&one);
	dt_maps_free(&maps);
	close(mem);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	munmap(page, 4096);
	return rc;
}

static void test_calls_are_made(void **state)
{
	static const struct writing nothing = {"nothing", {0}, 0};
	struct dt_injected_call call[2] = {{.what = "getpid", .nr = SYS_getpid},
					   {.what = "getppid", .nr = SYS_getppid}};
	struct dt_error e = {""};
	double took;

	if (try(&nothing, &e, &took, call, 2) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(call[1].result, getpid());
}

static void test_code_is_written_over(void **state)
{
	for (size_t i = 0; i < sizeof(writing) / sizeof(*writing); i++) {
		struct dt_injected_call call[3] = {{.what = "a", .nr = SYS_getppid},
						   {.what = "b", .nr = SYS_getppid},
						   {.what = "c", .nr = SYS_getppid}};
		struct dt_error e = {""};
		double took;
		int rc = 0, tries = 0;
		time_t began = time(NULL);

		/* until the other thread comes first; beside much other work it has no core of its
		 * own */
		while (rc == 0 && (tries < TRIES || time(NULL) - began < PATIENCE_S)) {
			tries++;
			rc = try(&writing[i], &e, &took, call, 3);
			if (took > ALLOWED)
				fail_msg("%s: %.1f s until there was an answer", writing[i].what,
					 took);
		}
		print_message("%s: %s (%.1f s, %d tries)\n", writing[i].what, e.text, took, tries);
		if (rc == 0)
			fail_msg("%s: the calls were made first, each of %d times", writing[i].what,
				 tries);
		assert_true(e.text[0]);
	}
}

/* A child that has ended and has not been waited for is one; one that runs, whatever it is called,
 * is none. */
static void test_zombies(void **state)
{
	int go[2], status;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char c;

		prctl(PR_SET_NAME, "a) Z (b) X 1");
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	for (int i = 0; i < 200; i++)
		assert_false(is_zombie(pid));
	assert_false(is_zombie(getpid()));
	close(go[0]);
	close(go[1]);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(is_zombie(pid));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(is_zombie(pid)); /* it is not there any more */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_are_made),
		cmocka_unit_test(test_code_is_written_over),
		cmocka_unit_test(test_zombies),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
