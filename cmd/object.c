/* SPDX-License-Identifier: MIT */
#include "cmd/object.h"

#include <stdio.h>

#include "cmd/table.h"

void dt_object_begin(const char *type)
{
	printf("{\"type\": \"%s\"", type);
}

void dt_object_member(const char *name)
{
	printf(", \"%s\": ", name);
}

void dt_object_text(const char *name, const char *text)
{
	dt_object_member(name);
	if (text)
		dt_table_json(text);
	else
		fputs("null", stdout);
}

void dt_object_number(const char *name, uint64_t v)
{
	printf(", \"%s\": %llu", name, (unsigned long long)v);
}

void dt_object_ns(const char *name, double ns)
{
	printf(", \"%s_ns\": %.1f", name, ns);
}

void dt_object_real(const char *name, double v)
{
	if (v - v != 0) /* JSON has no number for these */
		dt_object_text(name, NULL);
	else
		printf(", \"%s\": %.6g", name, v);
}

void dt_object_bool(const char *name, int v)
{
	printf(", \"%s\": %s", name, v ? "true" : "false");
}

void dt_object_end(void)
{
	puts("}");
}
