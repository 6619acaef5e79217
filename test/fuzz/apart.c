/* SPDX-License-Identifier: MIT */
/*
 * What a process apart, which has fallen victim to the file that it reads, may answer to root's
 * controller (process/apart.h): an input is its answers, one behind the other, as they come on the
 * channel.
 */
#include <sys/socket.h>

#include "process/apart.h"
#include "arch/arch.h"
#include "symbols/symtab-apart.h"
#include "test/fuzz/apart.h"
#include "test/fuzz/elf.h"

#define MOST 190000 /* bytes that the channel holds */

static struct dt_error error;

static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	*at = low;
	return low % 3 != 0;
}

static void plan(const struct dt_code *c)
{
	struct dt_plan_options options = {.claim = claim, .hook = 160, .no_traps = true};
	struct dt_plan p;

	if (dt_plan_begin(&p, c, &options, &error))
		return;
	for (size_t i = 0; i < c->functions && i < 2000; i++) {
		struct dt_plan_function f;
		struct dt_plan_point x;

		if (!c->function[i].part)
			dt_plan_function(&p, i, &f);
		if (i % 8 == 0)
			dt_plan_point(&p, c->function[i].start + 4, &x);
	}
	dt_plan_end(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[65536];
	const char *path = fuzz_path("input");
	struct dt_symtab *t;
	struct dt_code *c;
	int pair[2], room = 4 * MOST;

	fuzz_begin();
	if (size > MOST)
		return -1;
	/* its bytes of code: whatever they are */
	if (!bytes[1])
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(i * 2654435761u >> 9);
	memcpy(bytes, "\177ELF", 4);
	fuzz_file("input", bytes, sizeof(bytes));
	fuzz_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	fuzz_must(send(pair[1], data, size, MSG_DONTWAIT) == (ssize_t)size || size == 0);
	shutdown(pair[1], SHUT_WR);
	t = dt_symtab_apart_begin(pair[0], path, &error);
	c = t ? fuzz_apart_ask(t, path, &error) : NULL;
	if (c)
		plan(c);
	dt_code_close(c);
	dt_symtab_close(t);
	close(pair[1]);
	return 0;
}

/* A number somewhere in one answer; seldom its length. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned from)
{
	uint64_t seed = from, at = 0;
	struct dt_apart_answer a;
	uint64_t wanted = fuzz_random(&seed, 30);

	if (fuzz_random(&seed, 20) == 0)
		return LLVMFuzzerMutate(data, size, max > MOST ? MOST : max);
	for (uint64_t i = 0; size - at >= sizeof(a); i++) {
		memcpy(&a, data + at, sizeof(a));
		if (a.bytes > size - at - sizeof(a))
			break;
		if (i == wanted || fuzz_random(&seed, 20) == 0) {
			if (fuzz_random(&seed, 10) == 0 || !a.bytes)
				fuzz_elf_numbers(&seed, data + at, sizeof(a));
			else
				fuzz_elf_numbers(&seed, data + at + sizeof(a),
						 fuzz_random(&seed, 3) || a.bytes < 128 ? a.bytes
											: 128);
			return size;
		}
		at += sizeof(a) + a.bytes;
	}
	fuzz_elf_numbers(&seed, data, size);
	return size;
}
