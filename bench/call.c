/* SPDX-License-Identifier: MIT */
/*
 * What one traced call costs, measured by the traced program itself.
 *
 * usage: call [SECONDS]           nanoseconds for one call of leaf(), and best of all batches
 *        call floor [SECONDS]     the same for the floor: twice the clock and a 64-byte store
 *        call two [SECONDS]       calls a second of one thread, then of two threads on two cores
 *        call event [SECONDS]     nanoseconds for one event of <devtrace.h>, less the loop (with
 * -DEVENTS) call one [SECONDS]       calls without end for that time, printing nothing
 *
 * The same source is compiled plain, with sleds, for uftrace and for XRay. The loop is cut into
 * batches of some ten milliseconds; the median batch is printed, so that what else the machine does
 * at times does not count. The thread pins itself to the last core; a recorder that was started
 * before is not pinned with it.
 *
 * The floor is what any recorder must at least do for the entry and the exit of one call: read the
 * cycle counter and store one record of 64 bytes into a ring of the size that devtrace uses, with
 * no call, no check, no thread and no core to find. A store of 64 bytes can be made of eight, four
 * or two parts or of one; each form is measured and printed, the cheapest is the floor.
 */
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RING	    (4u << 20) /* the default ring of a core */
#define BATCH	    100000
#define MAX_BATCHES 100000

#ifdef __clang__
#define NEVER __attribute__((xray_never_instrument, no_instrument_function))
#define LEAF  __attribute__((noinline))
#else
#define NEVER __attribute__((no_instrument_function))
#define LEAF  __attribute__((noipa))
#endif

/* the asm keeps the compiler from knowing the result or moving the call */
LEAF long leaf(long a, long b, long c, long d)
{
	__asm__ volatile("" : "+r"(a));
	return a + b + c + d;
}

/* xray.c gives it; a recorder that is started from outside needs none */
__attribute__((weak)) void start_recorder(void);

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void pin(int core)
{
	cpu_set_t s;
	CPU_ZERO(&s);
	CPU_SET(core, &s);
	sched_setaffinity(0, sizeof s, &s);
}

static unsigned char *ring;
static uint64_t pos;

static long calls(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += leaf(i, n, sum, 4);
	return sum;
}

static long nothing(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("");
	return 0;
}

/* two records: ticks and seven other words, all at hand in registers */
#define FLOOR(name, features, setup, store)                                                        \
	__attribute__((target(features))) static long name(long n)                                 \
	{                                                                                          \
		uint64_t p = pos;                                                                  \
		setup;                                                                             \
		for (long i = 0; i < n; i++) {                                                     \
			for (int half = 0; half < 2; half++) {                                     \
				uint64_t t = __rdtsc();                                            \
				unsigned char *r = ring + (p & (RING - 1));                        \
				store;                                                             \
				__asm__ volatile("" ::: "memory");                                 \
				p += 64;                                                           \
			}                                                                          \
		}                                                                                  \
		pos = p;                                                                           \
		return 0;                                                                          \
	}

FLOOR(floor8, "sse2", uint64_t v = n, {
	uint64_t *q = (uint64_t *)r;
	q[0] = t;
	for (int k = 1; k < 8; k++)
		((volatile uint64_t *)q)[k] = v;
})
FLOOR(floor16, "sse2", __m128i v = _mm_set1_epi64x(n), {
	__m128i *q = (__m128i *)r;
	_mm_store_si128(q, _mm_set_epi64x(n, t));
	_mm_store_si128(q + 1, v);
	_mm_store_si128(q + 2, v);
	_mm_store_si128(q + 3, v);
})
FLOOR(floor32, "avx2", __m256i v = _mm256_set1_epi64x(n), {
	__m256i *q = (__m256i *)r;
	_mm256_store_si256(q,
			   _mm256_blend_epi32(v, _mm256_castsi128_si256(_mm_cvtsi64_si128(t)), 3));
	_mm256_store_si256(q + 1, v);
})
FLOOR(floor64, "avx512f", __m512i v = _mm512_set1_epi64(n),
      { _mm512_store_si512(r, _mm512_mask_set1_epi64(v, 1, t)); })

#ifdef EVENTS
#include "include/devtrace.h"
static long events(long n)
{
	for (long i = 0; i < n; i++)
		DT_EVENT(9, 1, i);
	return 0;
}
#endif

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* runs batches for that time; *median and *best in nanoseconds for one turn of the loop */
static void measure(long (*loop)(long), double seconds, double *median, double *best)
{
	static double ns[MAX_BATCHES];
	static volatile long sink;
	size_t n = 0;
	for (int i = 0; i < 3; i++) /* the first lap through the ring, caches, clock speed */
		sink += loop(BATCH);
	uint64_t end = now() + seconds * 1e9;
	for (uint64_t a = now(), b; a < end && n < MAX_BATCHES; a = b) {
		sink += loop(BATCH);
		b = now();
		ns[n++] = (double)(b - a) / BATCH;
	}
	qsort(ns, n, sizeof *ns, order);
	*median = ns[n / 2];
	*best = ns[0];
}

static void measure_floor(double seconds)
{
	static const struct {
		const char *name;
		long (*loop)(long);
		int feature;
	} form[] = {{"8x8", floor8, 0},
		    {"4x16", floor16, 0},
		    {"2x32", floor32, 1},
		    {"1x64", floor64, 2}};
	double least = 1e9, m, b;
	ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0);
	if (ring == MAP_FAILED) {
		perror("call: ring");
		exit(1);
	}
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		if ((form[i].feature == 1 && !__builtin_cpu_supports("avx2")) ||
		    (form[i].feature == 2 && !__builtin_cpu_supports("avx512f")))
			continue;
		measure(form[i].loop, seconds / 4, &m, &b);
		printf("%s=%.2f ", form[i].name, m);
		least = m < least ? m : least;
	}
	measure(nothing, 0.05, &m, &b);
	printf("loop=%.2f floor=%.2f\n", m, least);
}

struct worker {
	pthread_t thread;
	int core;
	uint64_t done;
};

static volatile int go, stop;

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t done = 0;
	pin(w->core);
	__atomic_add_fetch(&go, 1, __ATOMIC_SEQ_CST);
	while (!stop) {
		calls(1000);
		done += 1000;
	}
	w->done = done;
	return NULL;
}

/* calls a second of so many threads, each on a core of its own, the first on this one */
static double throughput(int threads, int core, double seconds)
{
	struct worker w[2] = {{.core = core}, {.core = !core}};
	go = stop = 0;
	for (int i = 0; i < threads; i++)
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	while (go < threads)
		sched_yield();
	uint64_t a = now();
	usleep(seconds * 1e6); /* the time that is measured, not a wait for anything */
	stop = 1;
	uint64_t b = now(), sum = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(w[i].thread, NULL);
		sum += w[i].done;
	}
	return sum * 1e9 / (b - a);
}

int main(int argc, char **argv)
{
	const char *what = "call";
	int cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (argc > 1 && strspn(argv[1], "0123456789.") != strlen(argv[1]))
		what = argv[1], argc--, argv++;
	double seconds = argc > 1 ? atof(argv[1]) : 1.0, m, b;
	if (!strcmp(what, "two")) {
		if (cores < 2) {
			fprintf(stderr, "call: this machine has one core\n");
			return 1;
		}
		/* each core alone, both between: neither a slower core nor a drift shows */
		double first = throughput(1, 0, seconds / 3), two = throughput(2, 0, seconds / 3);
		double one = (first + throughput(1, 1, seconds / 3)) / 2;
		printf("one=%.0f two=%.0f ratio=%.3f\n", one, two, two / one);
		return 0;
	}
	if (!strcmp(what, "one")) {
		for (uint64_t end = now() + seconds * 1e9; now() < end;)
			calls(BATCH);
		return 0;
	}
	if (start_recorder)
		start_recorder();
	pin(cores - 1);
	if (!strcmp(what, "floor")) {
		measure_floor(seconds);
		return 0;
	}
#ifdef EVENTS
	if (!strcmp(what, "event")) {
		double base;
		measure(nothing, seconds / 4, &base, &b);
		measure(events, seconds, &m, &b);
		printf("event=%.2f base=%.2f cost=%.2f\n", m, base, m - base);
		return 0;
	}
#endif
	if (strcmp(what, "call")) {
		fprintf(stderr, "usage: call [floor|two|one] [SECONDS]\n");
		return 2;
	}
	measure(calls, seconds, &m, &b);
	printf("call=%.2f best=%.2f\n", m, b);
	return 0;
}
