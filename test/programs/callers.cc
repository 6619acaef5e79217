/* SPDX-License-Identifier: MIT */
/*
 * Calls of libc's from where stacks are of interest: threads, virtual functions, templates, large
 * and aligned frames, exceptions, a handler on the thread's stack and one on a stack of its own, and
 * a context whose stack ends where its memory does.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile int ended; /* a destructor that does nothing has no room for a hook */

struct base {
	virtual int go(int n) = 0;
	virtual ~base()
	{
		ended = ended + 1;
	}
};

struct leaf : base {
	int go(int n) override;
};

static NOINLINE int opens(const std::string &name)
{
	char big[3000];
	volatile char *p = big;
	int r;

	p[0] = 1;
	r = open(name.c_str(), O_RDONLY);
	return p[0] == 1 ? r : 7;
}

/* a frame that is aligned anew */
static NOINLINE int aligned(const std::string &name)
{
	alignas(64) char line[256];
	volatile char *p = line;
	int r;

	p[0] = 1;
	r = opens(name);
	return p[0] == 1 ? r : 7;
}

/* a frame whose size is not known beforehand */
static NOINLINE int growing(const std::string &name, int n)
{
	volatile char *p = (volatile char *)__builtin_alloca((size_t)(n + 1) * 100);
	int r;

	p[n] = 1;
	r = aligned(name);
	return p[n] == 1 ? r : 7;
}

int leaf::go(int n)
{
	std::string name = "/nonexistent/" + std::to_string(n);
	int r;

	if (n <= 0) {
		r = growing(name, n + 3);
		if (r < 0)
			throw std::runtime_error(name);
		return r;
	}
	r = go(n - 1);
	return r + 1;
}

template <class T> struct wrapped {
	T t;

	NOINLINE int operator()(int n)
	{
		base *b = &t;

		try {
			return b->go(n);
		} catch (const std::exception &e) {
			return access(e.what(), R_OK) + 5;
		}
	}
};

static void handler(int number)
{
	if (access(number == SIGUSR1 ? "/nonexistent/own" : "/nonexistent/other", F_OK) == 0)
		abort();
}

static NOINLINE void raises(int number, int flags)
{
	struct sigaction a = {};

	a.sa_handler = handler;
	a.sa_flags = flags;
	sigaction(number, &a, NULL);
	raise(number);
}

static ucontext_t outside, inside;

static void in_context()
{
	if (access("/nonexistent/context", F_OK) == 0)
		abort();
}

static void use_context()
{
	long page = sysconf(_SC_PAGESIZE);
	char *all = (char *)mmap(NULL, 5 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(all + page, 3 * page, PROT_READ | PROT_WRITE);
	getcontext(&inside);
	inside.uc_stack.ss_sp = all + page;
	inside.uc_stack.ss_size = 3 * page;
	inside.uc_link = &outside;
	makecontext(&inside, in_context, 0);
	swapcontext(&outside, &inside);
}

int main(int argc, char **argv)
{
	static char other[1 << 16];
	std::vector<std::thread> threads;
	wrapped<leaf> w;
	stack_t s = {};

	if (argc > 1) { /* so many calls that fail, as quickly as can be */
		int failed = 0;

		for (int i = atoi(argv[1]); i > 0; i--)
			failed += access("/nonexistent", F_OK) < 0;
		printf("%d\n", failed);
		return 0;
	}
	for (int i = 0; i < 3; i++)
		threads.emplace_back([i] {
			wrapped<leaf> own;

			for (int k = 0; k < 4; k++)
				own(i + k);
		});
	for (auto &t : threads)
		t.join();
	w(1);
	raises(SIGUSR1, 0);
	s.ss_sp = other;
	s.ss_size = sizeof(other);
	sigaltstack(&s, NULL);
	raises(SIGUSR2, SA_ONSTACK);
	use_context();
	return 0;
}
