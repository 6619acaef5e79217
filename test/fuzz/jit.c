/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the readers of map files and jitdumps. The first byte chooses the kind, the second one
 * says after how many 256ths of the rest the file is read for the first time, as while it is
 * written.
 */
#include "symbols/jit.h"
#include "test/fuzz/fuzz.h"

static void check(struct dt_jit *m)
{
	size_t n;
	const struct dt_jit_code *c = dt_jit_all(m, &n);

	for (size_t i = 0; i < n; i++)
		fuzz_must(c[i].low < c[i].high && c[i].start <= c[i].low &&
			  (!i || c[i - 1].high <= c[i].low) && *c[i].name &&
			  strlen(c[i].name) <= DT_JIT_NAME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_jit *twice, *once;
	size_t first, n, n2;
	int file;

	if (size < 2)
		return 0;
	fuzz_begin();
	first = (size - 2) * data[1] / 256;
	twice = dt_jit_new(data[0] & 1 ? DT_JIT_DUMP : DT_JIT_MAP);
	once = dt_jit_new(data[0] & 1 ? DT_JIT_DUMP : DT_JIT_MAP);
	if (!twice || !once)
		abort();
	file = open(fuzz_file("jit", data + 2, size - 2), O_RDWR | O_CLOEXEC);
	fuzz_must(file >= 0 && ftruncate(file, (off_t)first) == 0);
	dt_jit_read(twice, file);
	check(twice);
	fuzz_must(pwrite(file, data + 2 + first, size - 2 - first, (off_t)first) ==
		  (ssize_t)(size - 2 - first));
	dt_jit_read(twice, file);
	dt_jit_read(once, file);
	check(once);
	check(twice);
	dt_jit_all(once, &n);
	dt_jit_all(twice, &n2);
	fuzz_must(n == n2 && dt_jit_unread(once) == dt_jit_unread(twice));
	close(file);
	dt_jit_free(once);
	dt_jit_free(twice);
	return 0;
}
