/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the readers of record lines. What is accepted must come back from the line that is written
 * of it. The first byte chooses the reader.
 */
#include "core/compact.h"
#include "core/text.h"
#include "test/fuzz/fuzz.h"

static void fixed(const char *line, size_t n, enum dt_layout layout)
{
	char again[DT_LINE];
	struct dt_record r, back;

	if (!dt_layout_parse(line, n, layout, &r))
		return;
	dt_layout_line(again, layout, &r);
	if (!dt_layout_parse(again, n, layout, &back) || memcmp(&r, &back, sizeof(r)))
		abort();
}

static void long_line(const char *line, size_t n)
{
	struct dt_long l, back;
	char again[DT_LONG_LINE];

	if (dt_text_parse_long(line, n, &l) != 1)
		return;
	n = dt_text_long(again, &l.record, NULL, l.mask);
	if (l.record.kind > ' ' && l.record.kind <= '~' &&
	    (dt_text_parse_long(again, n, &back) != 1 ||
	     memcmp(&l.record, &back.record, sizeof(l.record)) || l.mask != back.mask))
		abort();
}

static void compact(const char *text, size_t n)
{
	static struct dt_compact in, out, back;
	unsigned mask, mask2;

	memset(&in, 0, sizeof(in));
	memset(&out, 0, sizeof(out));
	memset(&back, 0, sizeof(back));
	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t length = end ? (size_t)(end + 1 - text) : n;
		char again[DT_COMPACT_TEXT], *p = again;
		struct dt_record r, same = {0};

		if (dt_compact_get(&in, text, length, &r, &mask) == 1) {
			size_t left = dt_compact_put(&out, again, &r, mask);

			while (left) {
				size_t one = (size_t)((char *)memchr(p, '\n', left) + 1 - p);

				if (dt_compact_get(&back, p, one, &same, &mask2) < 0)
					abort();
				p += one;
				left -= one;
			}
			if (memcmp(&r, &same, sizeof(r)) || mask != mask2)
				abort();
		}
		text += length;
		n -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line;

	fuzz_begin();
	if (!size)
		return 0;
	line = (char *)fuzz_copy(data + 1, size - 1);
	if (data[0] % 6 < 4)
		fixed(line, size - 1, (enum dt_layout)(data[0] % 6));
	else if (data[0] % 6 == 4)
		long_line(line, size - 1);
	else
		compact(line, size - 1);
	free(line);
	return 0;
}
