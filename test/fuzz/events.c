/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the definitions of events. What is accepted must come back from its JSON the same, and
 * give a header; what is refused must say where in one line.
 */
#include "analyse/definition.h"
#include "test/fuzz/fuzz.h"

static void same(const struct dt_definition *a, const struct dt_definition *b)
{
	if (a->rows != b->rows || a->subsystems != b->subsystems)
		abort();
	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].subsystem != b->row[i].subsystem ||
		    a->row[i].event != b->row[i].event ||
		    strcmp(a->row[i].subsystem_name, b->row[i].subsystem_name) ||
		    strcmp(a->row[i].name, b->row[i].name) ||
		    strcmp(a->row[i].description, b->row[i].description))
			abort();
}

static void generate(const struct dt_definition *d, const char *input, size_t n)
{
	struct dt_definition back = {0};
	struct dt_error e;
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	dt_definition_json(d, f);
	fclose(f);
	if (dt_definition_parse_json(&back, text, length, "json", &e))
		abort();
	/* SQLite replaces what is not UTF-8 */
	if (!memchr(input, 0x80, n))
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)input[i] >= 0x80)
				goto out;
	same(d, &back);
out:
	dt_definition_free(&back);
	free(text);
	f = open_memstream(&text, &length);
	dt_definition_header(d, f, "a-b.h");
	fclose(f);
	if (!strstr(text, "#define TRACE_NUM_SUBSYSTEMS"))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_definition d = {0};
	struct dt_error e = {""};
	char *text = (char *)fuzz_copy(data, size);
	bool json = size && data[0] == '{';
	int rc;

	fuzz_begin();
	rc = json ? dt_definition_parse_json(&d, text, size, "in", &e)
		  : dt_definition_parse(&d, text, size, "in", &e);
	if (!rc)
		generate(&d, text, size);
	else if (strncmp(e.text, "in:", 3) || strchr(e.text, '\n'))
		abort();
	dt_definition_free(&d);
	free(text);
	return 0;
}
