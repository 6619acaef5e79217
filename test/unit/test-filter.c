/* SPDX-License-Identifier: MIT */
/*
 * filter/: which calls, threads and events words mean. Numbers are compared with what the compiler
 * makes of the same comparison, in 128 bits and in floating point; the rest with tables by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/record.h"
#include "filter/filter.h"

typedef __int128 wide;

/* ---- the functions, threads, types and events that there are ---- */

static struct dt_function_info function[] = {
	{.name = "?", .file = "", .signature = ""}, /* 0 is no function */
	{.name = "alpha",
	 .file = "/src/a.c",
	 .signature = "n:i4@0,whence:i4#1@1,flags:u4#2@2;i4#1@0!-@3",
	 .size = 100,
	 .module = 1},
	{.name = "beta", .file = "/src/lib/b.c", .signature = "", .size = 300}, /* see restore() */
	{.name = "gamma", .file = "", .signature = ""},
	{.name = "delta", .file = "/src/a.c", .signature = "path:s@0,n:v@1;v", .size = 200},
};

#define FUNCTIONS (sizeof(function) / sizeof(*function))

static const struct dt_function_info *function_of(const void *ctx, uint32_t row)
{
	return row && row < FUNCTIONS ? &function[row] : NULL;
}

static const char *module_of(const void *ctx, uint32_t row)
{
	return row == 1 ? "/lib/libone.so.1" : "";
}

static unsigned asked; /* how many threads were asked for */

/* Thread 10 is the only one of a program, 21 and 22 are two of another; of others nothing is
 * known but the number. */
static void thread_of(const void *ctx, uint32_t tid, struct dt_meanings_thread *t)
{
	asked++;
	*t = (struct dt_meanings_thread){.number = tid, .pid = tid, .name = ""};
	if (tid == 10)
		*t = (struct dt_meanings_thread){10, 10, "main", "/usr/bin/one"};
	if (tid == 21 || tid == 22)
		*t = (struct dt_meanings_thread){tid - 20, 20, tid == 21 ? "worker-1" : "main",
						 "/usr/bin/two"};
	if (tid == 30)
		*t = (struct dt_meanings_thread){30, 30, "imported", NULL};
}

static const struct dt_event_row *event_of(const void *ctx, uint64_t body)
{
	static const struct dt_event_row row[] = {{7, 3, "net", "send", ""}, {7, 4, "net", "", ""}};

	for (size_t i = 0; i < 2; i++)
		if (body >> 48 == row[i].subsystem && (body >> 32 & 0xffff) == row[i].event)
			return &row[i];
	return NULL;
}

static const char *type_of(const void *ctx, uint32_t row)
{
	return row == 1	  ? "e:whence;SEEK_SET=0,SEEK_CUR=1,SEEK_LOW=-5"
	       : row == 2 ? "f:open;O_RDONLY=0/3,O_WRONLY=1/3,O_CREAT=64,O_EXCL=128"
			  : NULL;
}

static const struct dt_meanings meanings = {.ns_per_tick = 0.5,
					    .function = function_of,
					    .module = module_of,
					    .thread = thread_of,
					    .event = event_of,
					    .type = type_of};

static struct dt_filter *filter_of(const char *text)
{
	struct dt_error e = {""};
	struct dt_filter *f = dt_filter_new(text, &meanings, &e);

	if (!f)
		fail_msg("%s: %s", text, e.text);
	return f;
}

/* Tests of numbers give beta other signatures. */
static int restore(void **state)
{
	(void)state;
	function[2].signature = "n:f8@0;p@0!0@3";
	return 0;
}

/* ---- numbers ---- */

static uint64_t seed;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A number near a power of two, of either sign, or near 0. */
static wide edge(unsigned bits)
{
	wide v = random64() % 4 ? (wide)1 << random64() % bits : 0;

	v += (wide)(random64() % 5) - 2;
	return random64() % 2 ? v : -v;
}

static char *decimal(char *text, wide v)
{
	unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
	char *p = text + 63;

	*p = '\0';
	do
		*--p = (char)('0' + (int)(rest % 10));
	while (rest /= 10);
	if (v < 0)
		*--p = '-';
	return p;
}

/* The value that a type of so many bytes has when v is put into it. */
static wide in_type(char letter, unsigned size, wide v)
{
	unsigned shift = 128 - 8 * size;

	return letter == 'u' ? (wide)((unsigned __int128)v << shift >> shift)
			     : (wide)((unsigned __int128)v << shift) >> shift;
}

static bool is_so(char op, bool less, bool equal, bool greater)
{
	return op == '<' ? less : op == '>' ? greater : op == '=' ? equal : !equal;
}

static void test_whole_numbers(void **state)
{
	static const unsigned sizes[] = {1, 2, 4, 8, 16};

	(void)state;
	seed = 20261129;
	for (int round = 0; round < 20000; round++) {
		unsigned size = sizes[random64() % 5];
		char letter = "iu"[random64() % 2], op = "<>=!"[random64() % 4];
		wide than = edge(64), v = random64() % 2 ? than + (wide)(random64() % 3) - 1
							 : edge(size == 16 ? 120 : 66);
		bool half = random64() % 4 == 0, hex = !half && than >= 0 && random64() % 3 == 0;
		char digits[64], filter[160], signature[32];
		uint64_t value[4] = {0};
		struct dt_filter *f;
		struct dt_call c = {.id = 1, .function = 2, .argument = value};
		bool want;

		/* a number without a fraction or an exponent is one of 64 bits */
		if (!half && (than > (wide)UINT64_MAX || than < (wide)INT64_MIN))
			continue;
		if (hex)
			snprintf(filter, sizeof(filter), "n%c%s0x%lx", op, op == '!' ? "=" : "",
				 (unsigned long)than);
		else /* the fraction is away from 0 */
			snprintf(filter, sizeof(filter), "n%c%s%s%s", op, op == '!' ? "=" : "",
				 decimal(digits, than), half ? ".5" : "");
		if (half && than == 0 && random64() % 2)
			continue;
		snprintf(signature, sizeof(signature), size == 16 ? "n:%c%u@1+2;v" : "n:%c%u@1;v",
			 letter, size);
		function[2].signature = signature;
		if (letter == 'u' && size == 16 && v < 0) /* more than `wide' holds */
			continue;
		value[1] = (uint64_t)v;
		value[2] = (uint64_t)((unsigned __int128)v >> 64);
		v = in_type(letter, size, v);
		f = filter_of(filter);
		than = 2 * than + (half ? (than < 0 ? -1 : 1) : 0);
		want = is_so(op, 2 * v<than, 2 * v == than, 2 * v> than);
		/* of a signed one of 8 bytes all ones may be meant: filter/filter.c */
		if (letter == 'i' && size == 8 && than > 2 * (wide)INT64_MAX && !half &&
		    (op == '=' || op == '!'))
			want = is_so(op, false, 2 * (wide)(uint64_t)v == than, false);
		if (dt_filter_begin(f, &c, 0) != want)
			fail_msg("%s of %s: %s", filter, signature, decimal(digits, v));
		dt_filter_free(f);
	}
}

/* Numbers that no value of 64 bits has: those of 128 bits may be on either side of them. */
static void test_numbers_beyond(void **state)
{
	static const struct {
		const char *number;
		double is;
	} beyond[] = {
		{"1e20", 1e20}, {"-1e20", -1e20}, {"1e22", 1e22}, {"3e38", 3e38}, {"-2e38", -2e38}};
	const wide value[] = {0,
			      -1,
			      (wide)UINT64_MAX,
			      (wide)1e20,
			      (wide)1e20 + 1,
			      -(wide)1e20,
			      -(wide)1e20 - 1,
			      (wide)1e22,
			      (wide)1 << 126,
			      -((wide)1 << 126)};

	(void)state;
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++)
		for (size_t k = 0; k < 4 * 3 * sizeof(value) / sizeof(*value); k++) {
			static const char *const signatures[] = {"n:i8@0;v", "n:i16@0+1;v",
								 "n:u16@0+1;v"};
			unsigned s = k % 3;
			char op = "<>=!"[k / 3 % 4], filter[64];
			wide v = in_type(s == 2 ? 'u' : 'i', s ? 16 : 8, value[k / 12]);
			uint64_t word[4] = {(uint64_t)v, (uint64_t)((unsigned __int128)v >> 64)};
			struct dt_call c = {.id = 1, .function = 2, .argument = word};
			/* a double of such a size is a whole number */
			bool big = beyond[i].is > 0x1p126, less, equal;
			struct dt_filter *f;

			if (s == 2 && v < 0) /* more than `wide' holds */
				continue;
			less = big || (beyond[i].is > -0x1p126 && v < (wide)beyond[i].is);
			equal = !big && beyond[i].is > -0x1p126 && v == (wide)beyond[i].is;
			snprintf(filter, sizeof(filter), "n%c%s%s", op, op == '!' ? "=" : "",
				 beyond[i].number);
			function[2].signature = signatures[s];
			f = filter_of(filter);
			if (dt_filter_begin(f, &c, 0) != is_so(op, less, equal, !less && !equal))
				fail_msg("%s of %s, value %zu", filter, signatures[s], k / 12);
			dt_filter_free(f);
		}
}

static void test_floating_numbers(void **state)
{
	static const struct {
		const char *text;
		double is;
	} number[] = {{"0", 0},	    {"1", 1},	    {"-1", -1},	  {"2.5", 2.5},
		      {"1e6", 1e6}, {"-2E2", -200}, {"0x10", 16}, {"18446744073709551615", 0x1p64}};
	const double value[] = {0,    -0.0, 1,	      -1,	 2.5, 2.25,   1e6,   1e7,
				-200, 16,   INFINITY, -INFINITY, NAN, 0x1p64, 0x1p65};

	(void)state;
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		for (size_t k = 0; k < 8 * sizeof(value) / sizeof(*value); k++) {
			double v = value[k / 8], than = number[i].is;
			char op = "<>=!"[k % 4], filter[64];
			bool single = k / 4 % 2;
			float small = (float)v;
			uint64_t word[4] = {0x1234567800000000};
			struct dt_call c = {.id = 1, .function = 2, .argument = word};
			struct dt_filter *f;

			memcpy(word, single ? (void *)&small : (void *)&v, single ? 4 : 8);
			function[2].signature = single ? "n:f4@0;v" : "n:f8@0;v";
			snprintf(filter, sizeof(filter), "n%c%s%s", op, op == '!' ? "=" : "",
				 number[i].text);
			f = filter_of(filter);
			if (dt_filter_begin(f, &c, 0) != is_so(op, v<than, v == than, v> than))
				fail_msg("%s of a value %g%s", filter, v, single ? "f" : "");
			dt_filter_free(f);
		}
}

/* ---- words about a call ---- */

/* A call as it ends, and letters of the functions, by their first ones, whose calls are wanted. */
struct wants {
	const char *filter, *wants;
};

/* Which functions' calls a filter wants, with the same four values, result and length. */
static void check_wants(const struct wants *w, size_t n, const uint64_t value[4],
			const uint64_t result[4], uint64_t ticks, uint32_t flags)
{
	for (; n--; w++) {
		struct dt_filter *f = filter_of(w->filter);
		char got[FUNCTIONS + 1] = "", *p = got;

		for (uint32_t k = 1; k < FUNCTIONS; k++) {
			struct dt_call c = {.id = 1,
					    .function = k,
					    .begin = 1000,
					    .end = 1010 + ticks,
					    .held = 10,
					    .depth = k - 1,
					    .flags = flags,
					    .argument = value,
					    .result = result};

			if (dt_filter_begin(f, &c, dt_filter_nobody(f)) && dt_filter_end(f, &c))
				*p++ = function[k].name[0];
		}
		if (strcmp(got, w->wants) != 0)
			fail_msg("'%s' wants '%s', not '%s'", w->filter, got, w->wants);
		dt_filter_free(f);
	}
}

static void test_calls(void **state)
{
	static const uint64_t value[4] = {7, 1, 65, 4}, failed[4] = {(uint32_t)-1, 0, 0, 2},
			      good[4] = {1};
	static const struct wants bad[] = {
		{"failed", "a"},
		{"-failed", "b"}, /* of the others it is not known */
		{"error=ENOENT", "a"},
		{"error=2", "a"},
		{"error!=ENOENT", ""},
		{"error=EPERM", ""},
		{"error!=1", "a"},
		{"result=-1", "a"},
		{"result<0", "a"},
		{"whence=SEEK_CUR", "a"},
		{"whence!=SEEK_SET", "a"},
		{"whence!=SEEK_CUR", ""},
		{"whence=SEEK_NO", ""}, /* such a name there is not: nor its opposite */
		{"whence!=SEEK_NO", ""},
		{"arg2=SEEK_CUR", "a"},
		{"flags=O_WRONLY|O_CREAT", "a"},
		{"flags=O_CREAT", ""},
		{"flags=O_CREAT|*", "a"},
		{"flags=O_RDONLY|*", ""},
		{"flags=O_EXCL|*", ""},
		{"flags!=O_EXCL|*", "a"},
		{"flags=O_CREAT|1", "a"},
		{"n=7", "a"},
		{"arg1=7", "agd"}, /* beta's is a floating-point number, and near 0 */
		{"n>5 n<9", "a"},
		{"n>7", ""},
		{"codesize>100", "bd"},
		{"codesize<200", "a"},
		{"codesize=300", "b"},
		{"file:a.c", "ad"},
		{"file:/src/*", "abd"},
		{"-file:a.c", "bg"},
		{"file:/src/lib/*", "b"},
		{"libone.so.1:*", "a"},
		{"depth<3", "ab"},
		{"depth=3", "g"},
		{"depth!=4", "abg"},
		{"alpha gamma n=7", "a"},
		{"function:alpha function:beta", "ab"},
		{"\"alpha\" be\"ta\"", "ab"},
	};
	static const struct wants fine[] = {
		{"failed", ""},
		{"-failed", "ab"},
		{"error=ENOENT", ""},
		{"error!=ENOENT", ""},
		{"result=SEEK_CUR", "a"},
		{"result=1", "abg"},
		{"time>50ns", "abgd"},
		{"time<50ns", ""},
		{"time>51ns", ""},
		{"time<51ns", "abgd"},
		{"time<0.051us", "abgd"},
		{"time>0.049us", "abgd"},
		{"time<1ms time>1ns", "abgd"},
		{"time>1s", ""},
	};

	(void)state;
	check_wants(bad, sizeof(bad) / sizeof(*bad), value, failed, 100, 0);
	/* 101 ticks are 50.5 ns */
	check_wants(fine, sizeof(fine) / sizeof(*fine), value, good, 101, 0);
	/* it failed, and why is not known */
	check_wants((const struct wants[]){{"failed", "a"},
					   {"error=ENOENT", ""},
					   {"error!=ENOENT", ""},
					   {"error=1", ""}},
		    4, value, (const uint64_t[4]){(uint32_t)-1}, 100, 0);
	/* a length that is not known fits no condition */
	check_wants((const struct wants[]){{"time>1ns", ""}, {"time<1s", ""}, {"", "abgd"}}, 3,
		    value, good, 101, DT_CALL_NO_ENTRY);
	/* what was not read is not known */
	check_wants((const struct wants[]){{"arg1=0", ""},
					   {"arg1!=0", ""},
					   {"result=0", ""},
					   {"failed", ""},
					   {"-failed", ""},
					   {"", "abgd"}},
		    6, NULL, NULL, 1, 0);
}

/* The calls around a call: main > outer > inner > leaf, by rows 3, 1, 2, 4. */
static void test_calls_around(void **state)
{
	static const uint32_t chain[] = {3, 1, 2, 4};
	static const struct wants around[] = {
		{"in:alpha", "abd"},
		{"-in:alpha", "g"},
		{"in:alpha -in:beta", "a"},
		{"caller:alpha", "b"},
		{"-caller:alpha", "gad"},
		{"caller:a* caller:b*", "bd"},
		{"in:beta caller:beta", "d"},
		{"in:gamma delta", "d"},
		{"in:none", ""},
		{"-in:none", "gabd"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(around) / sizeof(*around); i++) {
		struct dt_filter *f = filter_of(around[i].filter);
		uint32_t caller = dt_filter_nobody(f);
		char got[8] = "", *p = got;

		for (unsigned k = 0; k < 4; k++) {
			struct dt_call c = {.id = k + 1, .function = chain[k], .depth = k};

			if (dt_filter_begin(f, &c, caller))
				*p++ = function[chain[k]].name[0];
			caller = dt_filter_around(f, caller, chain[k]);
		}
		if (strcmp(got, around[i].wants) != 0)
			fail_msg("'%s' wants '%s', not '%s'", around[i].filter, got,
				 around[i].wants);
		dt_filter_free(f);
	}
}

/* ---- words about places, threads, events ---- */

static void test_places(void **state)
{
	static const struct {
		const char *filter, *cores, *threads;
	} wanted[] = {
		{"", "0123456", "10 21 22 30 9"},
		{"core:0,2-4", "0234", "10 21 22 30 9"},
		{"core:5 core:1", "15", "10 21 22 30 9"},
		{"core:6-6,", "6", "10 21 22 30 9"},
		{"thread:main", "0123456", "10 22"},
		{"thread:1", "0123456", "21"}, /* as the kernel numbers it */
		{"thread:worker-*", "0123456", "21"},
		{"-thread:main", "0123456", "21 30 9"},
		{"process:two", "0123456", "21 22"},
		{"process:20", "0123456", "21 22"},
		{"process:20 thread:main", "0123456", "22"},
		{"process:main", "0123456", ""}, /* it is known what these are called */
		{"process:imported", "0123456", "30"},
		{"-process:one", "0123456", "21 22 30 9"},
		{"process:* -process:two", "0123456", "10 30 9"},
	};
	static const uint32_t tid[] = {10, 21, 22, 30, 9};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct dt_filter *f = filter_of(wanted[i].filter);
		char cores[16] = "", threads[64] = "", *p = cores;

		for (uint16_t core = 0; core < 7; core++)
			for (unsigned k = 0, any = 0; k < 5 && !any; k++)
				if ((any = dt_filter_place(f, core, tid[k])))
					*p++ = (char)('0' + core);
		for (unsigned k = 0; k < 5; k++)
			if (dt_filter_thread(f, tid[k]))
				sprintf(threads + strlen(threads), "%s%u", *threads ? " " : "",
					tid[k]);
		/* no thread fits: then it is on no core */
		if (strcmp(cores, *wanted[i].threads ? wanted[i].cores : "") != 0 ||
		    strcmp(threads, wanted[i].threads) != 0)
			fail_msg("'%s' wants cores '%s', threads '%s'", wanted[i].filter, cores,
				 threads);
		dt_filter_free(f);
	}
}

/* A thread is asked for once, unless something new has become known of it; those with numbers that
 * the kernel never gives are told apart, too. */
static void test_threads_asked_once(void **state)
{
	struct dt_filter *f = filter_of("thread:4194305 thread:10");

	(void)state;
	asked = 0;
	for (int i = 0; i < 5; i++) {
		assert_true(dt_filter_thread(f, 10));
		assert_false(dt_filter_thread(f, 9));
	}
	assert_int_equal(asked, 2);
	dt_filter_forget(f, 10);
	assert_true(dt_filter_thread(f, 10));
	assert_false(dt_filter_thread(f, 9));
	assert_int_equal(asked, 3);
	for (int i = 0; i < 2; i++) {
		assert_false(dt_filter_thread(f, 4194304));
		assert_true(dt_filter_thread(f, 4194305));
		assert_true(dt_filter_thread(f, 4194305));
		assert_false(dt_filter_thread(f, DT_NO_TID));
	}
	dt_filter_free(f);
}

static void test_events(void **state)
{
	static const struct {
		const char *name;
		uint8_t kind;
		uint64_t body;
	} event[] = {{"s", DT_EVENT, 7ull << 48 | 3ull << 32 | 5},
		     {"n", DT_EVENT, 7ull << 48 | 4ull << 32 | 0xffffffff},
		     {"x", DT_EVENT, 8ull << 48 | 3ull << 32 | 5},
		     {">", DT_SEND, 1ull << 55 | 5},
		     {"<", DT_RECEIVE, 5}};
	static const struct wants wanted[] = {
		{"", "snx><"},
		{"event:net:send", "s"},
		{"event:net:*", "sn"},
		{"event:7:3", "s"},
		{"event:7:4", "n"},
		{"event:net:4", "n"},
		{"event:8:*", "x"},
		{"event:8:3", "x"},
		{"event:message:*", "><"},
		{"event:message:sent", ">"},
		{"event:message:received", "<"},
		{"-event:net:*", "x><"},
		{"event:* -event:*:send", "nx><"},
		{"value=5", "sx<"},
		{"value>5", "n>"},
		{"value=4294967295", "n"},
		{"value<0", ""},
		{"value>-1", "snx><"},
		{"alpha", "snx><"},
		{"value=36028797018963973", ">"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct dt_filter *f = filter_of(wanted[i].filter);
		char got[8] = "", *p = got;

		for (unsigned k = 0; k < 5; k++)
			if (dt_filter_event(f, event[k].kind, event[k].body))
				*p++ = event[k].name[0];
		if (strcmp(got, wanted[i].wants) != 0)
			fail_msg("'%s' wants '%s', not '%s'", wanted[i].filter, got,
				 wanted[i].wants);
		dt_filter_free(f);
	}
}

static void test_points(void **state)
{
	struct dt_filter *f = filter_of("alpha gamma value>4");

	(void)state;
	assert_true(dt_filter_point(f, 1, 5));
	assert_false(dt_filter_point(f, 1, 4));
	assert_false(dt_filter_point(f, 1, (uint32_t)-5));
	assert_true(dt_filter_point(f, 3, 5));
	assert_false(dt_filter_point(f, 2, 5));
	dt_filter_free(f);
}

/* ---- what is asked about a filter ---- */

static void test_asked(void **state)
{
	static const struct {
		const char *filter, *beyond_calls, *beyond_missing, *beyond_recording;
		double least; /* ticks, two a nanosecond */
		bool values, failures, end, names;
	} is[] = {
		{"", NULL, NULL, NULL, 0, false, false, false, false},
		{"alpha", NULL, NULL, NULL, 0, false, false, false, true},
		{"-alpha", NULL, NULL, NULL, 0, false, false, false, false},
		{"file:a.c", NULL, NULL, NULL, 0, false, false, false, true},
		{"-file:a.c", NULL, NULL, NULL, 0, false, false, false, false},
		{"in:alpha", NULL, NULL, NULL, 0, false, false, false, false},
		{"caller:alpha", NULL, "caller:", NULL, 0, false, false, false, false},
		{"depth<2", NULL, "depth", NULL, 0, false, false, false, false},
		{"n=1", NULL, NULL, NULL, 0, true, false, false, false},
		{"arg1=1", NULL, NULL, NULL, 0, true, false, false, false},
		{"path=a*", NULL, NULL, NULL, 0, true, false, true, false},
		{"result=1 time>5ns", NULL, NULL, NULL, 0, true, false, true, false},
		{"failed", NULL, NULL, NULL, 0, true, true, true, false},
		{"-failed", NULL, NULL, NULL, 0, true, false, true, false},
		{"error=EIO", NULL, NULL, NULL, 0, true, true, true, false},
		{"time>5ns", NULL, NULL, NULL, 10, false, false, true, false},
		{"time>5ns time>2us", NULL, NULL, NULL, 4000, false, false, true, false},
		{"time>5ns time<2us", NULL, NULL, NULL, 0, false, false, true, false},
		{"codesize>5", NULL, NULL, NULL, 0, false, false, false, false},
		{"value=1", "value", NULL, "value", 0, true, false, false, false},
		{"core:1", "core:", NULL, NULL, 0, false, false, false, false},
		{"thread:a", "thread:", NULL, NULL, 0, false, false, false, false},
		{"process:a", "process:", NULL, NULL, 0, false, false, false, false},
		{"event:a:b", "event:", NULL, "event:", 0, true, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		struct dt_filter *f = filter_of(is[i].filter);
		const char *calls = dt_filter_beyond_calls(f),
			   *missing = dt_filter_beyond_missing(f),
			   *recording = dt_filter_beyond_recording(f);

		if (strcmp(calls ? calls : "", is[i].beyond_calls ? is[i].beyond_calls : "") != 0 ||
		    strcmp(missing ? missing : "",
			   is[i].beyond_missing ? is[i].beyond_missing : "") != 0 ||
		    strcmp(recording ? recording : "",
			   is[i].beyond_recording ? is[i].beyond_recording : "") != 0 ||
		    fabs(dt_filter_least(f) - is[i].least) > 1e-6 ||
		    dt_filter_needs_values(f) != is[i].values ||
		    dt_filter_wants_failures(f) != is[i].failures ||
		    dt_filter_looks_at_end(f) != is[i].end || dt_filter_names(f) != is[i].names)
			fail_msg("'%s': %s %s %s %g %d %d %d %d", is[i].filter, calls, missing,
				 recording, dt_filter_least(f), dt_filter_needs_values(f),
				 dt_filter_wants_failures(f), dt_filter_looks_at_end(f),
				 dt_filter_names(f));
		dt_filter_free(f);
	}
}

static int matches_yes(void *ctx, const struct dt_call *c, unsigned i)
{
	return ((const int *)ctx)[i];
}

/* Conditions on texts are about a text, or about names that the value has, by the function. */
static void test_texts(void **state)
{
	static const uint64_t value[4] = {7, 1, 65, 4};
	struct dt_filter *f = filter_of("n=7 path=a* whence=SEEK_SET name!=*b");
	struct dt_call c = {.id = 1, .function = 4, .argument = value};
	int answer[3] = {1, -1, 0};
	const char *name = NULL, *pattern = NULL;

	(void)state;
	assert_true(dt_filter_text(f, 0, &name, &pattern));
	assert_string_equal(name, "path");
	assert_string_equal(pattern, "a*");
	assert_true(dt_filter_text(f, 2, &name, &pattern));
	assert_string_equal(name, "name");
	assert_false(dt_filter_text(f, 3, &name, &pattern));
	dt_filter_free(f);

	f = filter_of("path=a* name!=*b");
	/* nobody knows the texts */
	assert_true(dt_filter_begin(f, &c, 0));
	assert_false(dt_filter_end(f, &c));
	dt_filter_set_texts(f, &(struct dt_filter_texts){answer, NULL, matches_yes});
	for (answer[0] = -1; answer[0] <= 1; answer[0]++)
		for (answer[1] = -1; answer[1] <= 1; answer[1]++)
			assert_int_equal(dt_filter_end(f, &c), answer[0] == 1 && answer[1] == 0);
	assert_false(dt_filter_failed(f));
	answer[0] = 1;
	answer[1] = -2;
	assert_false(dt_filter_end(f, &c));
	assert_true(dt_filter_failed(f));
	dt_filter_free(f);

	/* alpha's has names: it is no text; and which name it is not is known at the end */
	f = filter_of("whence=SEEK_NO");
	answer[0] = 1;
	dt_filter_set_texts(f, &(struct dt_filter_texts){answer, NULL, matches_yes});
	assert_false(dt_filter_no_name(f, &name, &pattern));
	c.function = 1;
	assert_false(dt_filter_begin(f, &c, 0));
	assert_true(dt_filter_text_named(f, 0));
	assert_true(dt_filter_no_name(f, &name, &pattern));
	assert_string_equal(pattern, "SEEK_NO");
	dt_filter_free(f);
	f = filter_of("whence=SEEK_SET");
	assert_false(dt_filter_begin(f, &c, 0));
	assert_false(dt_filter_no_name(f, &name, &pattern));
	dt_filter_free(f);
}

/* What a value of a type without a size is compared with: nothing. */
static void test_no_value(void **state)
{
	static const uint64_t value[4] = {7, 7, 7, 7};
	static const char *const filter[] = {"n=7", "n!=7", "n<8", "n>6", "n=0"};

	(void)state;
	for (size_t i = 0; i < sizeof(filter) / sizeof(*filter); i++) {
		struct dt_filter *f = filter_of(filter[i]);

		/* delta's n is void, though it has a place */
		assert_false(dt_filter_begin(
			f, &(struct dt_call){.id = 1, .function = 4, .argument = value}, 0));
		dt_filter_free(f);
	}
}

static void test_requests(void **state)
{
	struct dt_meanings with = meanings;
	struct dt_error e = {""};
	struct dt_filter *f;

	(void)state;
	with.requests = true;
	f = dt_filter_new("request:a* request:gamma time>1ms", &with, &e);
	assert_non_null(f);
	assert_true(dt_filter_has_requests(f));
	for (int i = 0; i < 2; i++) {
		assert_true(dt_filter_is_request(f, 1));
		assert_false(dt_filter_is_request(f, 2));
		assert_true(dt_filter_is_request(f, 3));
	}
	assert_true(dt_filter_function(f, 2));
	dt_filter_free(f);
	f = filter_of("alpha");
	assert_false(dt_filter_has_requests(f));
	assert_false(dt_filter_is_request(f, 1));
	dt_filter_free(f);
	assert_null(dt_filter_new("request:a beta", &with, &e));
	assert_non_null(strstr(e.text, "can not be chosen with it"));
	assert_null(dt_filter_new("-request:a", &with, &e));
	assert_null(dt_filter_new("request:a", &meanings, &e));
	assert_non_null(strstr(e.text, "in:a"));
}

/* ---- what is no filter ---- */

static void test_refused(void **state)
{
	static const struct {
		const char *filter, *why;
	} bad[] = {
		{"core:", "numbers are wanted"},
		{"core:x", "numbers are wanted"},
		{"core:3-2", "numbers are wanted"},
		{"core:1-", "numbers are wanted"},
		{"core:-1", "numbers are wanted"},
		{"core:65536", "numbers are wanted"},
		{"core:1,,2", "numbers are wanted"},
		{"-core:1", "the cores that are wanted"},
		{"thread:", "a number or name is wanted"},
		{"process:", "a number or name is wanted"},
		{"file:", "a source file's name is wanted"},
		{"time>5", "a time is wanted"},
		{"time=5ms", "a time is wanted"},
		{"time>-5ms", "a time is wanted"},
		{"time>ms", "a time is wanted"},
		{"errno=2", "called error"},
		{"error=ENOSUCH", "the name of an error"},
		{"error=0", "the name of an error"},
		{"error=4096", "the name of an error"},
		{"error<2", "the name of an error"},
		{"n!5", "!=, =, < or >"},
		{"n=", "a number is wanted"},
		{"n<x", "a number is wanted"},
		{"n=5x", "a number is wanted"},
		{"n=1e", "a number is wanted"},
		{"n=18446744073709551616", "a number is wanted"},
		{"n=-9223372036854775809", "a number is wanted"},
		{"result=*x", "a number is wanted"},
		{"-n=5", "say it the other way"},
		{"-", "what is to be left out"},
		{"malloc,free", "separated by blanks"},
		{"size > 9", "one word, without blanks"},
		{"a*b>9", "the name of one value"},
		{"\"alpha", "has no other"},
		{"a123456789012345678901234567890123456789012345678901234567890123=1", "too long"},
		{"n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1",
		 "16 at most"},
		{"n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 failed",
		 "16 at most"},
	};
	static const char *const good[] = {"n=9223372036854775808",
					   "n=-9223372036854775808",
					   "error=4095",
					   "core:65535",
					   "ns::operator<",
					   "vector<int>",
					   "f(int,long)",
					   "ls+0x17f60->malloc",
					   "time>0ns",
					   "n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 n=1 "
					   "n=1 n=1 n=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct dt_error e = {""};

		if (dt_filter_new(bad[i].filter, &meanings, &e) || !strstr(e.text, bad[i].why))
			fail_msg("'%s': '%s'", bad[i].filter, e.text);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		dt_filter_free(filter_of(good[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_whole_numbers, restore),
		cmocka_unit_test_setup(test_numbers_beyond, restore),
		cmocka_unit_test_setup(test_floating_numbers, restore),
		cmocka_unit_test_setup(test_calls, restore),
		cmocka_unit_test_setup(test_calls_around, restore),
		cmocka_unit_test_setup(test_places, restore),
		cmocka_unit_test_setup(test_threads_asked_once, restore),
		cmocka_unit_test_setup(test_events, restore),
		cmocka_unit_test_setup(test_points, restore),
		cmocka_unit_test_setup(test_asked, restore),
		cmocka_unit_test_setup(test_texts, restore),
		cmocka_unit_test_setup(test_no_value, restore),
		cmocka_unit_test_setup(test_requests, restore),
		cmocka_unit_test_setup(test_refused, restore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
