/* SPDX-License-Identifier: MIT */
/* Loads a library (argv[1], default ./plugin.so), calls it and is called back, unloads it, again
 * and again; another thread loads and unloads it too. With argv[2] in turn with that library, which
 * the loader may well put to the same place. */
#define TRUTH_MAIN
#include "truth.h"
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>

static const char *path[2];

FN long back(long x)
{
	ENTER(ARG(x));
	RETURN(x * 7);
}

FN long use(long n)
{
	__typeof__(plugin_work) *work;
	__typeof__(plugin_back) *callback;
	void *library;
	long sum;

	ENTER(ARG(n));
	library = dlopen(path[n & 1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(98);
	}
	work = (__typeof__(work))dlsym(library, "plugin_work");
	callback = (__typeof__(callback))dlsym(library, "plugin_back");
	sum = work(n, 3) + callback(back, n);
	dlclose(library);
	RETURN(sum);
}

FN void *thread(void *arg)
{
	long sum = 0;

	ENTER(ARG(arg));
	for (long i = 0; i < 5; i++)
		sum += use(i);
	RETURN((void *)sum);
}

int main(int argc, char **argv)
{
	pthread_t t;
	long sum = 0;
	void *got;

	truth_start();
	ENTER(ARG(argc), ARG(argv));
	path[0] = argc > 1 ? argv[1] : "./plugin.so";
	path[1] = argc > 2 ? argv[2] : path[0];
	for (long i = 0; i < 5; i++)
		sum = sum * 3 + use(i);
	pthread_create(&t, NULL, thread, (void *)1);
	pthread_join(t, &got);
	printf("%ld %ld\n", sum, (long)got);
	RETURN(0);
}
