/* SPDX-License-Identifier: MIT */
/*
 * Events of all kinds, in C or in C++. Each is told to a shared file in the words of the record
 * that it should leave, and what the program computes is printed: it must be the same whether its
 * events are on, off, or switched all the time.
 *
 * usage: program [WORK...]    with DT_TRUTH: the file that is told; "program tell FILE" prints it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <devtrace.h>

#include "tell.h"

enum { NET = 7, DISK = 0x8001, HANDLER = 200 };
enum { SEND = 1, OPEN, READ, LOG };
#define ODD_NAME (3 + 4)

#define FN __attribute__((noinline)) static

/* --- leaf functions with everything in registers and in the red zone */

FN long red_zone(long n, long seed)
{
	volatile long a[15];
	long sum = 0;

	for (int i = 0; i < 15; i++)
		a[i] = seed * (i + 1);
	for (long i = 0; i < n; i++) {
		a[(i * 7) % 15] += a[i % 15];
		EVENT1(NET, SEND, a[i % 15]);
	}
	for (int i = 0; i < 15; i++)
		sum = sum * 3 + a[i];
	EVENT1(DISK, READ, sum);
	return sum;
}

/* more values alive than there are registers, across events of every size */
FN uint64_t pressure(uint64_t x)
{
	uint64_t a = x + 1, b = x * 3, c = x ^ 0x55, d = x << 7, e = x - 9, f = x / 3, g = x * x,
		 h = ~x, i = x >> 2, j = x + 77, k = x * 11, l = x ^ a, m = b + c;

	EVENT4(NET, OPEN, a, b, c, d);
	a += b ^ m;
	EVENT3(DISK, OPEN, e, f, g);
	b += c * l;
	EVENT2(NET, READ, h, i);
	c += d - k;
	EVENT1(DISK, SEND, j);
	d += e ^ a;
	RAW(k * 0x0123456789abcdef);
	e += f + b;
	SENT(l);
	f += g - c;
	RECEIVED(m);
	g += h ^ d;
	EVENT4(NET, LOG, m, -1, &truth, 'c');
	return a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13 + g * 17 + h + i + j + k + l + m;
}

/*
 * The registers that a stub and a hook use, with something in each of them in front of an event and
 * behind it.
 */
#define PINNED(n, event)                                                                           \
	do {                                                                                       \
		register uint64_t rax __asm__("rax") = (n) + 1, rcx __asm__("rcx") = (n)*2,        \
				      rdx __asm__("rdx") = (n)*3, rsi __asm__("rsi") = (n)*5,      \
				      rdi __asm__("rdi") = (n)*7, r8 __asm__("r8") = (n)*11,       \
				      r9 __asm__("r9") = (n)*13, r10 __asm__("r10") = (n)*17,      \
				      r11 __asm__("r11") = (n)*19;                                 \
                                                                                                   \
		__asm__ volatile(""                                                                \
				 : "+r"(rax), "+r"(rcx), "+r"(rdx), "+r"(rsi), "+r"(rdi),          \
				   "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11));                      \
		event;                                                                             \
		__asm__ volatile(""                                                                \
				 : "+r"(rax), "+r"(rcx), "+r"(rdx), "+r"(rsi), "+r"(rdi),          \
				   "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11));                      \
		sum = sum * 31 + (rax ^ rcx * 3 ^ rdx * 5 ^ rsi * 7 ^ rdi * 11 ^ r8 * 13 ^         \
				  r9 * 17 ^ r10 * 19 ^ r11 * 23);                                  \
	} while (0)

FN uint64_t pinned(uint64_t x)
{
	static const char text[] = "text of more than one of the records that a ring has";
	uint64_t sum = 0, n = x * 0x123456789, m = x + 3;

	PINNED(n, DT_EVENT(DISK, SEND, m));
	PINNED(n, DT_EVENT(DISK, SEND, m, n, x, m));
	PINNED(n, DT_TEXT(DISK, LOG, text, sizeof(text) - 1));
	PINNED(n, DT_RAW(m));
	PINNED(n, DT_SEND(m));
	PINNED(n, DT_RECEIVE(m));
	PINNED(n, x += DT_SUBSYSTEM_ENABLED(DISK) * 0);
	TELL_EVENT(1, DISK, SEND, m, 0, 0, 0);
	TELL_EVENT(4, DISK, SEND, m, n, n / 0x123456789, m);
	tell_text(DISK, LOG, text, sizeof(text) - 1);
	TELL('V', 1, m, 0, 0, 0);
	TELL('M', 1, DT_SEND_BODY(m), 0, 0, 0);
	TELL('N', 1, DT_RECEIVE_BODY(m), 0, 0, 0);
	return sum;
}

/* flags that are wanted behind an event */
FN int compare(int a, int b)
{
	int less = a < b, sum;
	unsigned carry;

	EVENT1(NET, SEND, less);
	sum = a + b;
	EVENT1(NET, SEND, sum);
	carry = (unsigned)a + (unsigned)b < (unsigned)a;
	EVENT1(NET, SEND, carry);
	if (sum == 0)
		EVENT1(NET, SEND, 0);
	return less * 4 + (int)carry * 2 + (sum < 0);
}

FN double floating(double x, float y)
{
	EVENT1(NET, SEND, x);
	x *= y;
	EVENT2(NET, SEND, y, x);
	return x + 0.25;
}

FN unsigned limits(void)
{
	unsigned n = 0;
	signed char small = -3;
	bool yes = true;

	EVENT1(0, 0, 0);
	EVENT1(65535, 65535, 0xffffffffu);
	EVENT1(32768, 65535, 0x80000000u);
	EVENT1(32767, 0, 0x7fffffff);
	EVENT1(ODD_NAME, 3 * 5, -1);
	EVENT1(NET, SEND, small);
	EVENT2(NET, SEND, yes, small);
	EVENT4(65535, 0, 0xffffffffffffffff, 0x8000000000000000, 0x7fffffff, -2147483648ll);
	EVENT2(NET, SEND, 5, 0xffffffff00000000);
	RAW(0);
	RAW(0xffffffffffffffff);
	RAW(DT_BODY(65535, 1, 17));
	SENT(0);
	SENT(0x12345);
	SENT(0xfffffffffffull);
	RECEIVED(0x12345);
	/* evaluated once, on or off; the telling evaluates nothing */
	DT_EVENT(NET, SEND, n++);
	TELL('V', 1, DT_BODY(NET, SEND, 0), 0, 0, 0);
	DT_EVENT(NET, SEND, n++, n++);
	TELL('V', 2, DT_BODY(NET, SEND, 1), 2, 0, 0);
	return n;
}

FN unsigned texts(void)
{
	static char large[DT_TEXT_MAX + 5000];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *edge = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 0;

	mprotect(edge + page, page, PROT_NONE);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i * 7 % 251);
	/* up to the very end of what may be read, at every alignment */
	for (size_t n = 0; n < 140; n++) {
		char *s = edge + page - n;

		memcpy(s, large, n);
		TEXT(NET, LOG, s, n);
		sum += (unsigned)n;
	}
	TEXT(DISK, LOG, "constant", 8);
	TEXT(DISK, LOG, large, sizeof(large));
	TEXT(DISK, LOG, large + 1, DT_TEXT_MAX);
	munmap(edge, 2 * page);
	return sum;
}

/* --- where events may happen */

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	EVENT1(HANDLER, 1, handled);
	EVENT3(HANDLER, 2, handled, 1, 2);
	TEXT(HANDLER, 3, "in a handler, and a little longer than one record", 49);
	handled = handled + 1;
}

FN void signals(void)
{
	struct sigaction a;
	struct itimerval often = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
	long sum = 0;

	memset(&a, 0, sizeof(a));
	a.sa_handler = on_signal;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGALRM, &a, NULL);
	raise(SIGUSR1);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; handled < 50; i++)
		sum += red_zone(i % 16, i) & 1;
	setitimer(ITIMER_REAL, &off, NULL);
	printf("signals %d\n", sum >= 0);
}

static void *thread(void *p)
{
	uint64_t n = (uint64_t)(uintptr_t)p, sum = 0;

	for (uint64_t i = 0; i < 300; i++) {
		sum += pressure(i * n);
		EVENT2(NET, SEND, n, i);
	}
	return (void *)(uintptr_t)sum;
}

FN void threads(void)
{
	pthread_t t[4];
	void *sum;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &sum);
		printf("thread %lx\n", (unsigned long)(uintptr_t)sum);
	}
}

FN void forks(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status;

		EVENT1(NET, OPEN, i);
		if (!pid) {
			long sum = red_zone(i, 3);

			EVENT2(NET, READ, i, sum);
			_exit(i);
		}
		waitpid(pid, &status, 0);
		printf("child %d\n", WEXITSTATUS(status));
	}
	EVENT1(NET, OPEN, 99);
}

FN void plugin(const char *path)
{
	for (int i = 0; i < 2; i++) {
		void *h = dlopen(path, RTLD_NOW);
		long (*f)(struct truth *, long) =
			h ? (long (*)(struct truth *, long))dlsym(h, "plugin") : NULL;

		if (!f) {
			puts(dlerror());
			exit(1);
		}
		printf("plugin %ld\n", f(truth, i));
		dlclose(h);
	}
}

/* never called: must vanish with its events when sections are collected */
__attribute__((noinline, used, section(".text.unused"))) int unused_but_kept(void)
{
	DT_EVENT(4242, 1, 1);
	return 1;
}

__attribute__((noinline)) int never_called(int n)
{
	DT_EVENT(4243, 1, n);
	DT_TEXT(4243, 2, "x", 1);
	return n;
}

#ifdef __cplusplus
/* in a COMDAT group */
template <int N> struct thing {
	long n;
	thing(long x) : n(x)
	{
		EVENT1(NET, N, n);
	}
	~thing()
	{
		EVENT1(NET, N, -n);
	}
	inline long twice() const
	{
		EVENT2(DISK, N, n, N);
		return 2 * n;
	}
};

namespace space
{
constexpr int EVENT_CONST = 12;
inline long in_line(long x)
{
	auto f = [&](long y) {
		EVENT2(NET, EVENT_CONST, x, y);
		return x + y;
	};
	return f(3) + f(4);
}
} // namespace space

FN long thrower(long n)
{
	thing<5> t(n);

	if (n & 1) {
		EVENT1(NET, 6, n);
		throw n;
	}
	return t.twice();
}

FN void cplusplus(void)
{
	long sum = space::in_line(5);

	for (long i = 0; i < 6; i++) {
		try {
			thing<7> a(i), b(i + 1);

			sum += thrower(i) + a.twice() - b.twice();
		} catch (long n) {
			EVENT1(NET, 8, n);
			sum += 100 * n;
		}
	}
	printf("C++ %ld\n", sum);
}
#endif

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	if (argc == 3 && !strcmp(argv[1], "tell"))
		return truth_print(argv[2]);
	truth_start();
	for (int i = 0; i < 40; i++)
		sum += (uint64_t)red_zone(i, i * 17) + pressure((uint64_t)i * 12345) +
		       (uint64_t)compare(i - 20, 20 - 2 * i) + pinned((uint64_t)i);
	printf("%lx %g\n", (unsigned long)sum, floating(2.5, 3.0f));
	printf("limits %u\n", limits());
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "long"))
			for (int k = 0; k < 3000; k++)
				sum += (uint64_t)red_zone(k % 16, k) + pressure((uint64_t)k);
		else if (!strcmp(argv[i], "texts"))
			printf("texts %u\n", texts());
		else if (!strcmp(argv[i], "signals"))
			signals();
		else if (!strcmp(argv[i], "threads"))
			threads();
		else if (!strcmp(argv[i], "forks"))
			forks();
		else
			plugin(argv[i]);
	}
#ifdef __cplusplus
	cplusplus();
#endif
	printf("%lx\n", (unsigned long)sum);
	return 5;
}
