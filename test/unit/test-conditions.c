/* SPDX-License-Identifier: MIT */
/*
 * filter/conditions.c: what the kernel is told of a filter. The filter itself says what is right:
 * of random words and random calls, each that it wants has all of the conditions, and where these
 * are exact, each that has them is wanted.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "filter/call.h"
#include "filter/conditions.h"

static struct dt_function_info function = {.name = "f", .file = "/src/f.c"};

static const struct dt_function_info *function_of(const void *ctx, uint32_t row)
{
	return row == 1 ? &function : NULL;
}

static const char *module_of(const void *ctx, uint32_t row)
{
	return "";
}

static const struct dt_meanings meanings = {
	.ns_per_tick = 0.5, .function = function_of, .module = module_of};

static const char *const signatures[] = {
	"n:i4@0,m:u8@1;i8@0!k",	    "n:u4@0,m:i8@2;i4@0!k",    "n:i1@0,m:u2@3;i4@0!-",
	"n:i8@0,m:u8@1;u8@0!k",	    "n:f8@0,m:i16@0+1;i4@0!0", "n:u1@3,m:i2@1;v",
	"n:i8@0,m:i4@-;i4@0!-/-5/", "n:s@0,m:u8@1;p@0!0@3",    "",
	"n:i8@1,m:u4@2;f8@0",	    "n:i8@0,m:u8@1;i4@0!m@1",
};

/* each with a number in place of # */
static const char *const words[] = {"n>#",	"n<#",	    "n=#",     "n!=#",	   "m>#",
				    "m<#",	"m=#",	    "m!=#",    "result>#", "result<#",
				    "result=#", "failed",   "-failed", "error=2",  "error!=2",
				    "time>#ns", "time<#ns", "f",       "-f",	   "depth<3",
				    "n=2.5",	"m>=#",	    "error>1", "time>0ns"};

static uint64_t seed = 1;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % n;
}

/* Numbers that are often the same, or next to each other. */
static int64_t number(void)
{
	static const int64_t edge[] = {0,   1,	   2,	 5,    127,	  128,	    255,
				       256, 65535, 4095, 4096, INT32_MAX, INT64_MAX};
	int64_t v = edge[any(sizeof(edge) / sizeof(*edge))];

	v = any(2) ? v : -v;
	return any(3) && v < INT64_MAX && v > -INT64_MAX ? v + (int64_t)any(3) - 1 : v;
}

static void make_words(char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (uint64_t left = 1 + any(3); left; left--) {
		const char *w = words[any(sizeof(words) / sizeof(*words))];
		const char *at = strchr(w, '#');
		bool time = strncmp(w, "time", 4) == 0;

		n += (size_t)snprintf(text + n, size - n, "%s%.*s", n ? " " : "",
				      at ? (int)(at - w) : 99, w);
		if (at)
			n += (size_t)snprintf(text + n, size - n, "%lld%s",
					      time ? (long long)any(20) * 10 : (long long)number(),
					      at + 1);
	}
}

static bool holds(const struct dt_condition *c, const struct dt_call *call)
{
	uint64_t value = (c->of_exit ? call->result : call->argument)[c->at];
	unsigned shift = 64 - 8 * c->size;
	int64_t s = (int64_t)(value << shift) >> shift, than = (int64_t)c->number;
	uint64_t u = value << shift >> shift;

	switch (c->op) {
	case '=':
		return c->has_sign ? s == than : u == c->number;
	case '!':
		return c->has_sign ? s != than : u != c->number;
	case '<':
		return c->has_sign ? s < than : u < c->number;
	case '>':
		return c->has_sign ? s > than : u > c->number;
	case DT_CONDITION_FAILED:
		return s < 0 && s > -4096;
	case DT_CONDITION_GOOD:
		return s >= 0 || s <= -4096;
	}
	fail_msg("a condition '%c'", c->op);
	return false;
}

static bool hold(const struct dt_conditions *c, const struct dt_call *call)
{
	double took = (double)(call->end - call->begin);

	if (c->never || call->end - call->begin < c->least)
		return false;
	/* above nothing are those that take none, too */
	if ((took <= c->above && c->above > 0) || took >= c->below)
		return false;
	for (unsigned i = 0; i < c->n; i++)
		if (!holds(&c->condition[i], call))
			return false;
	return true;
}

static void test_random(void **state)
{
	unsigned exact = 0, wanted = 0, never = 0, all = 0;

	for (unsigned round = 0; round < 8000; round++) {
		char text[256];
		struct dt_error e = {""};
		struct dt_conditions c;
		struct dt_filter *f;

		function.signature = signatures[any(sizeof(signatures) / sizeof(*signatures))];
		make_words(text, sizeof(text));
		f = dt_filter_new(text, &meanings, &e);
		if (!f)
			continue;
		dt_filter_conditions(f, 1, &c);
		assert_true(c.n <= DT_CONDITIONS);
		exact += c.exact;
		never += c.never;
		for (unsigned k = 0; k < 40; k++) {
			uint64_t argument[4], result[4];
			struct dt_call call = {.id = 1,
					       .function = 1,
					       .begin = 1000,
					       .end = 1000 + any(2) * any(400),
					       .argument = argument,
					       .result = result};
			bool wants;

			for (unsigned i = 0; i < 4; i++) {
				argument[i] = (uint64_t)number();
				result[i] = (uint64_t)number();
			}
			wants = dt_filter_begin(f, &call, dt_filter_nobody(f)) &&
				dt_filter_end(f, &call);
			wanted += wants;
			all++;
			if (wants && !hold(&c, &call))
				fail_msg("'%s' of '%s': a call that is wanted is left out", text,
					 function.signature);
			if (c.exact && !wants && hold(&c, &call))
				fail_msg(
					"'%s' of '%s': a call is not wanted, and has all conditions",
					text, function.signature);
		}
		dt_filter_free(f);
	}
	/* all of that has been tried */
	assert_true(exact > 500 && never > 300 && wanted > 3000 && all - wanted > 10000);
}

/* What must be known, so that the kernel leaves out what it can. */
static void test_known(void **state)
{
	static const struct {
		const char *text, *signature;
		unsigned n;
		bool exact, never;
		uint64_t least;
	} known[] = {
		{"n>5", "n:i4@0;v", 1, true, false, 0},
		{"n>5 m=2 result<0", "n:i4@0,m:u8@1;i4@0", 3, true, false, 0},
		{"n>5", "m:i4@0;v", 0, true, true, 0},
		{"n>5", "n:f8@0;v", 0, false, false, 0},
		{"n=-1", "n:u4@0;v", 0, true, true, 0},
		{"n!=-1", "n:u4@0;v", 0, true, false, 0},
		{"failed", "n:i4@0;i8@0!k", 1, true, false, 0},
		{"-failed", "n:i4@0;i4@0!-", 1, true, false, 0},
		{"error=2", "n:i4@0;i8@0!k", 2, true, false, 0},
		{"error=2", "n:i4@0;i4@0!-", 1, false, false, 0},
		{"failed", "n:i4@0;v", 0, true, true, 0},
		{"time>1us", "", 0, true, false, 2000},
		{"time>1us time>2us", "", 0, true, false, 4000},
		{"time<1us", "", 0, true, false, 0},
		{"depth<3 time>1us", "", 0, false, false, 2000},
		{"-f", "", 0, true, true, 0},
		{"n=1 n!=2 n!=3 n!=4 n!=5 n!=6", "n:i4@0;v", 6, true, false, 0},
		{"n=1 n!=2 n!=3 n!=4 n!=5 n!=6 n!=7", "n:i4@0;v", 6, false, false, 0},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct dt_error e = {""};
		struct dt_filter *f;
		struct dt_conditions c;

		function.signature = known[i].signature;
		f = dt_filter_new(known[i].text, &meanings, &e);
		assert_non_null(f);
		dt_filter_conditions(f, 1, &c);
		if (c.n != known[i].n || c.exact != known[i].exact || c.never != known[i].never ||
		    c.least != known[i].least)
			fail_msg("'%s' of '%s': %u conditions%s%s, at least %lu ticks",
				 known[i].text, known[i].signature, c.n, c.exact ? ", exact" : "",
				 c.never ? ", never" : "", (unsigned long)c.least);
		dt_filter_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
