/* SPDX-License-Identifier: MIT */
/*
 * Dumps of other tracers and traces as text: what import, plot and fetch read. The first byte
 * chooses: 0, 1  Barrelfish's text dump; what is taken must be exported without an error 2 lines of
 * records, as calls 3     a table of symbols, and a record line after the other 4     names of
 * applications 5     the length in front of a dump, with the bytes coming one by one
 */
#include "analyse/barrelfish.h"
#include "cmd/lines.h"
#include "store/store.h"
#include "test/fuzz/fuzz.h"

static struct dt_error error;

static void export_again(void)
{
	struct dt_reader *r = dt_reader_open(fuzz_path("second"), &error);
	uint64_t left_out;
	FILE *f = fopen("/dev/null", "w");

	fuzz_must(r && f);
	for (int form = DT_DUMP_AS_IMPORTED; form <= DT_DUMP_ABSOLUTE; form++)
		fuzz_must(dt_barrelfish_export(r, f, (enum dt_dump_form)form, &left_out, &error) ==
			  0);
	fclose(f);
	dt_reader_close(r);
}

static void dump(const uint8_t *data, size_t size)
{
	struct dt_definition events = {0};
	struct dt_applications names = {0};
	struct dt_store *s;
	FILE *f;

	unlink(fuzz_path("second"));
	s = dt_store_create(fuzz_path("second"), dt_barrelfish_describe, NULL, &error);
	f = fopen(fuzz_file("input", data, size), "r");
	fuzz_must(s && f);
	if (dt_barrelfish_import(s, f, "in", &events, &names, &error)) {
		fuzz_must(!strncmp(error.text, "in", 2) && !strchr(error.text, '\n'));
		dt_store_discard(s);
	} else {
		fuzz_must(dt_store_close(s, &error) == 0);
		export_again();
	}
	fclose(f);
}

static void on_call(void *ctx, uint64_t first, uint64_t begin, uint64_t end, const char *name)
{
	*(uint64_t *)ctx += strlen(name) + begin;
}

/* symbols, or not */
static void lines(const uint8_t *data, size_t size, bool symbols)
{
	const char *path = fuzz_file("input", data, size);
	FILE *f = fopen(path, "r");
	uint64_t sum = 0;

	fuzz_must(f);
	dt_lines_is(path);
	if (dt_lines_calls(f, "in", symbols ? path : NULL, on_call, &sum, &error))
		fuzz_must(!strchr(error.text, '\n'));
	fclose(f);
}

static void applications(const uint8_t *data, size_t size)
{
	struct dt_applications a = {0};

	if (dt_applications_read(&a, fuzz_file("input", data, size), &error))
		fuzz_must(!strchr(error.text, '\n'));
	dt_applications_name(&a, 7);
	dt_applications_free(&a);
}

static void length(const uint8_t *data, size_t size)
{
	uint64_t n = 0, whole = 0;
	size_t used, at;
	int rc = 0;

	for (at = 1; at <= size && rc == 0; at++) {
		char *piece = (char *)fuzz_copy(data, at);

		rc = dt_barrelfish_length(piece, at, &n, &used);
		fuzz_must(rc <= 0 || used <= at);
		fuzz_must(rc != 0 || at < DT_DUMP_LENGTH_MAX);
		free(piece);
	}
	if (rc > 0)
		fuzz_must(dt_barrelfish_length((const char *)data, size, &whole, &used) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_begin();
	if (!size)
		return 0;
	switch (data[0] % 6) {
	case 2:
	case 3:
		lines(data + 1, size - 1, data[0] % 6 == 3);
		break;
	case 4:
		applications(data + 1, size - 1);
		break;
	case 5:
		length(data + 1, size - 1);
		break;
	default:
		dump(data + 1, size - 1);
	}
	return 0;
}
