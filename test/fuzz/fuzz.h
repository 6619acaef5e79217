/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share. Each is one file of this folder and tries one kind of input with
 * libFuzzer, which looks for inputs that reach new code; test/fuzz/run.sh runs one.
 *
 * An input of up to 1 MB may cost 1 GB of memory and 10 s. It may not make the sanitizers say
 * anything, and what a fuzzer knows to hold whatever the input is (fuzz_must) must hold.
 */
#ifndef DT_TEST_FUZZ_H
#define DT_TEST_FUZZ_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define fuzz_must(condition)                                                                       \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define FUZZ_SECONDS_MAX                                                                           \
	10 /* of processor time, for one input: libFuzzer's own limit is by the clock on the wall  \
	    */

static void fuzz_too_long(int signal)
{
	static const char text[] = "more than ten seconds of processor time\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) >= 0)
		abort();
}

/* At the beginning of each input. */
static inline void fuzz_begin(void)
{
	static const struct itimerspec limit = {.it_value.tv_sec = FUZZ_SECONDS_MAX};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	static timer_t timer;
	static bool there;

	if (!there) {
		signal(SIGUSR2, fuzz_too_long);
		fuzz_must(timer_create(CLOCK_PROCESS_CPUTIME_ID, &e, &timer) == 0);
		there = true;
	}
	timer_settime(timer, 0, &limit, NULL);
}

static char fuzz_folder[100]; /* this process's, in memory */

static inline void fuzz_remove_folder(void)
{
	static const char *const name[] = {"input", "second", "input-journal", "input-wal",
					   "input-shm"};
	char path[160];

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_folder, name[i]);
		unlink(path);
	}
	rmdir(fuzz_folder);
}

/* Where a file of this name ("input" or "second") is, for one input after the other. */
static inline const char *fuzz_path(const char *name)
{
	static char path[2][160];
	char *p = path[name[0] == 's'];

	if (!fuzz_folder[0]) {
		const char *in = getenv("DEVTRACE_FUZZ_FOLDER"); /* run.sh's, who removes it
								    whatever happens here */

		snprintf(fuzz_folder, sizeof(fuzz_folder), "%s/devtrace-fuzz-XXXXXX",
			 in ? in : "/dev/shm");
		fuzz_must(mkdtemp(fuzz_folder));
		atexit(fuzz_remove_folder);
	}
	snprintf(p, sizeof(path[0]), "%s/%s", fuzz_folder, name);
	return p;
}

/* Writes the input to a file, for what reads by path. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
	const char *path = fuzz_path(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	return path;
}

/* An exact copy, with nothing behind it: reads behind its end are seen. The caller frees it. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(size ? size : 1);

	fuzz_must(p);
	memcpy(p, data, size);
	return p;
}

/* A number that is less than n, of a seed that is moved on. */
static inline uint64_t fuzz_random(uint64_t *seed, uint64_t n)
{
	uint64_t x;

	*seed += 0x9e3779b97f4a7c15u;
	x = *seed;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return n ? (x ^ x >> 31) % n : 0;
}

/* Another number in the place of v: an extreme one, one close by, any. */
static inline uint64_t fuzz_another(uint64_t *seed, uint64_t v)
{
	static const uint64_t extreme[] = {0,
					   1,
					   2,
					   3,
					   7,
					   8,
					   127,
					   128,
					   255,
					   256,
					   4095,
					   4096,
					   65535,
					   65536,
					   1u << 24,
					   0x7fffffff,
					   0x80000000,
					   0xffffffff,
					   1ull << 32,
					   1ull << 40,
					   (1ull << 48) - 1,
					   INT64_MAX,
					   1ull << 63,
					   UINT64_MAX,
					   UINT64_MAX - 7,
					   UINT64_MAX - 65535};

	switch (fuzz_random(seed, 6)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v ^ 1ull << fuzz_random(seed, 64);
	case 3:
		return fuzz_random(seed, 1ull << fuzz_random(seed, 63));
	default:
		return extreme[fuzz_random(seed, sizeof(extreme) / sizeof(*extreme))];
	}
}

#endif
