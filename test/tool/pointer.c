/* SPDX-License-Identifier: MIT */
/*
 * Sets tracepoints at random instructions of a running program, changes and deletes them, as fast
 * as the session takes it, until the program has ended.
 * usage: pointer SEED PROG COMMAND [ARG...]
 *
 * Runs COMMAND (`devtrace record -s NAME ... PROG`) with DEVTRACE_POINTER=NAME in the environment
 * saying which session that is. The exit status is that of COMMAND; how many points were set and
 * refused, and the last reason, go to standard error. An answer that is neither is a failure: 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/words.h"
#include "symbols/code.h"
#include "session/client.h"

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct places {
	uint64_t *at;
	size_t n;
};

/* Every instruction of every function that is understood. */
static int read_places(const struct dt_code *c, struct places *p)
{
	p->at = calloc(c->functions ? c->high - c->low : 1, sizeof(*p->at));
	if (!p->at)
		return -1;
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];
		const struct dt_code_region *r = dt_code_region_of(c, f->start);

		for (uint64_t at = f->start; r && !f->trouble && at < f->end; at++)
			if (r->mark[at - r->low] & DT_CODE_INSN)
				p->at[p->n++] = at;
	}
	return p->n ? 0 : -1;
}

static size_t options(char *out, size_t size)
{
	static const char *const what[] = {
		"",
		" REG rax",
		" ALLREGS",
		" STACK 0 STACK 8 REG rsp",
		" FRAME -8",
		" LOC 10 PSR",
		" REG eax REG bl REG r15w REG xmm1",
		" ALLREGS PSR STACK 1000",
		" PID",
		" FRAME 7fff0",
		" REG rip REG rflags",
	};

	return dt_format(out, size, "%s", what[any() % (sizeof(what) / sizeof(*what))]);
}

/* One command: several points set, or one deleted or switched. */
static size_t command(char *out, size_t size, const struct places *p, uint64_t *recent)
{
	uint64_t at = recent[any() % 16];
	size_t n = 0;

	switch (at ? any() % 6 : 0) {
	case 0:
	case 1:
	case 2: /* near each other, too, so that their windows meet */
		n = dt_format(out, size, "trace");
		at = any() % p->n;
		for (unsigned i = 0; i < 1 + any() % 4; i++) {
			n += dt_format(out + n, size - n, " 0x%lx", (unsigned long)p->at[at]);
			n += options(out + n, size - n);
			recent[any() % 16] = p->at[at];
			at = any() % 3 ? (at + 1) % p->n : any() % p->n;
		}
		return n;
	case 3:
		n = dt_format(out, size, "trace 0x%lx", (unsigned long)at);
		return n + options(out + n, size - n);
	case 4:
		return dt_format(out, size, "delete 0x%lx", (unsigned long)at);
	default:
		return dt_format(out, size, "trace 0x%lx %s", (unsigned long)at,
				 any() % 2 ? "on" : "off");
	}
}

/* What may be said of a point at an instruction that is one. */
static bool allowed(const char *text)
{
	static const char *const reasons[] = {"no tracepoint can be at",
					      "trace not found",
					      "ended",
					      "ending",
					      "no process",
					      "hung up",
					      "no answer",
					      "no session",
					      "can not be",
					      "closed"};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strstr(text, reasons[i]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const char *name = getenv("DEVTRACE_POINTER");
	struct dt_client client = {.fd = -1};
	struct places places = {0};
	uint64_t recent[16] = {0};
	unsigned long set = 0, refused = 0;
	struct dt_code *code;
	struct dt_error e = {""}, odd = {""};
	int status = 0;
	pid_t pid;

	if (argc < 4 || !name) {
		fprintf(stderr,
			"usage: DEVTRACE_POINTER=NAME pointer SEED PROG COMMAND [ARG...]\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
	code = dt_code_open(argv[2], dt_symtab_open(argv[2], NULL, NULL), &e);
	if (!code || read_places(code, &places) < 0) {
		fprintf(stderr, "pointer: %s\n", e.text);
		return 2;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		struct timespec begin, end, pause = {0, 0};
		char text[512];
		size_t n;
		int rc;

		if (client.fd < 0 && dt_client_open(&client, name, NULL) < 0) {
			client.fd = -1;
			usleep(200);
			continue;
		}
		n = command(text, sizeof(text), &places, recent);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		rc = dt_client_write(&client, text, n, 0, &e);
		clock_gettime(CLOCK_MONOTONIC, &end);
		/* as long again for the program, which may have stood still meanwhile */
		pause.tv_nsec =
			end.tv_sec == begin.tv_sec ? end.tv_nsec - begin.tv_nsec : 500000000;
		nanosleep(&pause, NULL);
		if (rc == 0) {
			set++;
			continue;
		}
		refused++;
		if (!allowed(e.text) && !odd.text[0])
			dt_format(odd.text, sizeof(odd.text), "%s: %s", text, e.text);
	}
	fprintf(stderr, "pointer: %lu commands, %lu refused, the last: %s\n", set + refused,
		refused, e.text);
	free(places.at);
	if (odd.text[0]) {
		fprintf(stderr, "pointer: unexpected: %s\n", odd.text);
		return 3;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
