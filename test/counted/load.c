/* SPDX-License-Identifier: MIT */
/*
 * Loads a library and calls plug() in it, 100 times each time, and prints how often it was called.
 * usage: load HOW N FILE...
 *	input	loads FILE once for each line that it reads, says "ready" first, "called" behind
 *	vfork	loads FILE once, while another thread waits half a second for its vfork child
 *	loop	loads and unloads each FILE, N times
 *	apart	the same, with a mapping that takes the place that it had, every other time
 *	threads	four threads do, at once, each with a FILE of its own
 *	space	loads FILE N times by dlmopen, each into a namespace of its own, at most ten
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_long calls;
static volatile int waits;

static void call(void *library)
{
	int (*plug)(int) = (int (*)(int))dlsym(library, "plug");

	if (!plug)
		abort();
	for (int i = 0; i < 100; i++)
		plug(i);
	atomic_fetch_add(&calls, 100);
}

static void *load(const char *file)
{
	void *library = dlopen(file, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	call(library);
	return library;
}

static void *wait_for_child(void *arg)
{
	pid_t pid = vfork();

	if (pid == 0) {
		waits = 1;
		usleep(500000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return arg;
}

static void *loads(void *file)
{
	for (int i = 0; i < waits; i++)
		dlclose(load(file));
	return NULL;
}

static void apart(const char *file, int n)
{
	for (int i = 0; i < n; i++) {
		void *library = load(file);
		unsigned long at = (unsigned long)dlsym(library, "plug") & ~0xfffful;
		void *in_its_place = MAP_FAILED;

		dlclose(library);
		if (i & 1)
			in_its_place =
				mmap((void *)at, 1 << 16, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		dlclose(load(file));
		if (in_its_place != MAP_FAILED && i % 8 != 7)
			munmap(in_its_place, 1 << 16);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[2]) : 0;
	pthread_t t[4];
	char line[16];

	if (n < 1)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[1], "input")) {
		puts("ready");
		while (fgets(line, sizeof(line), stdin)) {
			dlclose(load(argv[3]));
			puts("called");
		}
	} else if (!strcmp(argv[1], "vfork")) {
		pthread_create(&t[0], NULL, wait_for_child, NULL);
		while (!waits)
			usleep(1000);
		load(argv[3]);
		pthread_join(t[0], NULL);
	} else if (!strcmp(argv[1], "loop")) {
		for (int i = 0; i < n; i++)
			for (int k = 3; k < argc; k++)
				dlclose(load(argv[k]));
	} else if (!strcmp(argv[1], "apart")) {
		apart(argv[3], n);
	} else if (!strcmp(argv[1], "threads")) {
		waits = n;
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, loads, argv[3 + i % (argc - 3)]);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(argv[1], "space")) {
		for (int i = 0; i < n && i < 10; i++) {
			void *library = dlmopen(LM_ID_NEWLM, argv[3], RTLD_NOW);

			if (!library)
				return 1;
			call(library);
		}
	}
	printf("%ld\n", atomic_load(&calls));
	return 0;
}
