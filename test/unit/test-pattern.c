/* SPDX-License-Identifier: MIT */
/* symbols/pattern.c: which names a pattern means, the order of patterns, and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/pattern.h"
#include "symbols/shorten.h"
#include "test/unit/test-elf-scratch.h"

static bool matches(const char *pattern, const char *module, const char *name)
{
	struct dt_selection s = {0};
	bool yes;

	assert_int_equal(dt_selection_add(&s, pattern, false, NULL), 0);
	yes = dt_selection_match(&s, module, &name, 1);
	assert_int_equal(s.pattern[0].hits, yes);
	dt_selection_clear(&s);
	return yes;
}

static void test_names(void **state)
{
	assert_true(matches("tcp_*", "prog", "tcp_send"));
	assert_false(matches("tcp_*", "prog", "tcp"));
	assert_true(matches("alloc?", "prog", "alloc1"));
	assert_true(matches("[fg]oo", "prog", "goo"));
	assert_false(matches("foo", "prog", "fooo"));
	assert_true(matches("ns::*", "prog", "ns::f"));
	assert_false(matches("f", "prog", "ns::f"));
	assert_true(matches("*::f", "prog", "ns::f"));
	assert_true(matches("A::operator[]", "prog", "A::operator[]"));
	assert_true(matches("ns::~V", "prog", "ns::~V"));
	assert_true(matches("main::{lambda(int)#1}::operator()", "prog",
			    "main::{lambda(int)#1}::operator()"));
}

static void test_copies(void **state)
{
	assert_true(matches("foo", "prog", "foo.constprop.0"));
	assert_true(matches("foo", "prog", "foo.isra.0.cold"));
	assert_true(matches("foo", "prog", "foo.part.3"));
	assert_true(matches("foo.cold", "prog", "foo.cold"));
	assert_false(matches("foo.cold", "prog", "foo"));
	assert_false(matches("foo", "prog", "foo.bar"));
	assert_true(matches("map::find", "prog", "map<int, set<long> >::find<A>"));
	assert_true(matches("map<int>::find", "prog", "map<int>::find"));
	assert_false(matches("map<long>::find", "prog", "map<int>::find"));
	assert_true(matches("operator<<*", "prog", "operator<< <char>"));
}

/* Names of the standard library, as they are and shortened. What is right: what a programmer writes
 * for the demangler's text. */
static void test_shorter(void **state)
{
	static const struct {
		const char *name, *shorter; /* NULL: stays as it is */
	} known[] = {
		{"std::vector<int, std::allocator<int> >::size", "std::vector<int>::size"},
		{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::at",
		 "std::string::at"},
		{"ours::myoperator<std::vector<int, std::allocator<int> > >",
		 "ours::myoperator<std::vector<int> >"},
		{"std::operator<< <std::char_traits<char> >", NULL},
		{"f<std::less<int>>", "f<std::less<int> >"},
		{"std::vector<int, ours::allocator<int> >::size", NULL},
	};
	char out[512];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		bool changed = dt_shorten(known[i].name, out);

		assert_int_equal(changed, known[i].shorter != NULL);
		if (changed)
			assert_string_equal(out, known[i].shorter);
	}
	assert_true(matches("std::__cxx11::basic_string<char>::at", "prog", "std::string::at"));
	/* a wildcard behind a namespace that is not shown means that namespace, not all of std */
	assert_true(matches("*std::__cxx11::*", "prog", "std::__cxx11::to_string"));
	assert_false(matches("*std::__cxx11::*", "prog", "std::sort"));
}

static void test_modules(void **state)
{
	assert_true(matches("libc.so.6:read", "/usr/lib/libc.so.6", "read"));
	assert_true(matches("libc:read", "/usr/lib/libc.so.6", "read"));
	assert_false(matches("libc:read", "/usr/lib/libcx.so.6", "read"));
	assert_false(matches("libc.so.6:read", "/usr/bin/prog", "read"));
	assert_true(matches("*:alloc?", "/usr/bin/prog", "alloc1"));
	assert_true(matches("_json:*", "/p/_json.cpython-311-x86_64-linux-gnu.so", "scan"));
	assert_true(matches("_rust:*", "/p/_rust.abi3.so", "f"));
	assert_false(matches("_json:*", "/p/_json.other.so", "scan"));
	assert_false(matches("_js:*", "/p/_json.cpython-311-x86_64-linux-gnu.so", "scan"));
	assert_true(matches("lib*:*", "/usr/lib/libstdc++.so.6", "std::f"));
	assert_true(matches("libstdc++.so.6:std::*", "/x/libstdc++.so.6", "std::f"));
	assert_true(matches("/usr/bin/*:f", "/usr/bin/prog", "f"));
	assert_false(matches("/usr/bin/*:f", "/usr/lib/prog", "f"));
}

static void test_nameless(void **state)
{
	const char *libc = "/usr/lib/libc.so.6\nlibother.so";
	struct dt_pattern p = {.name = (char *)"libother.so+0x61?0"};

	assert_true(matches("0x61d0", "/bin/ls", "ls+0x61d0"));
	assert_true(matches("0x61d0", "/bin/ls", "0x61d0")); /* as in files of earlier versions */
	assert_true(matches("ls+0x61d0", "/bin/ls", "0x61d0"));
	assert_true(matches("ls+0x*", "/bin/ls", "ls+0x61d0"));
	assert_true(matches("libc.so.6:0x61d0", libc, "libc.so.6+0x61d0"));
	assert_true(matches("libother.so+0x61d0", libc, "libc.so.6+0x61d0"));
	assert_false(matches("libc.so.6+0x61d0", "/bin/ls", "ls+0x61d0"));
	assert_false(matches("ls+0x61d", "/bin/ls", "ls+0x61d0"));
	assert_false(matches("0x6", "/bin/ls", "operator+0x6g"));
	assert_false(matches("0x6", "/bin/ls", "+0x6"));
	assert_false(matches("0x", "/bin/ls", "ls+0x"));
	assert_true(dt_pattern_by_address(&p, libc));
	assert_false(dt_pattern_by_address(&p, "/bin/ls"));
	p.name = (char *)"0x61d0";
	assert_true(dt_pattern_by_address(&p, "/bin/ls"));
	p.name = (char *)"ls";
	assert_false(dt_pattern_by_address(&p, "/bin/ls"));
}

static void test_bad(void **state)
{
	struct dt_selection s = {0};
	struct dt_error e;

	assert_int_equal(dt_selection_add(&s, "", false, &e), -1);
	assert_non_null(strstr(e.text, "empty pattern"));
	assert_int_equal(dt_selection_add(&s, "libc:", false, &e), -1);
	assert_non_null(strstr(e.text, "libc:*"));
	assert_int_equal(dt_selection_add(&s, ":f", false, &e), -1);
	assert_non_null(strstr(e.text, "*:f"));
	assert_int_equal(s.n, 0);
	dt_selection_clear(&s);
}

static bool chosen(struct dt_selection *s, const char *name)
{
	return dt_selection_match(s, "prog", &name, 1);
}

/* The k-th order of n patterns, n! of them. */
static void permute(const char **of, size_t n, size_t k)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = k % i;
		const char *swap = of[i - 1];

		of[i - 1] = of[j];
		of[j] = swap;
		k /= i;
	}
}

/* Patterns mean the same in any order; '-' in front: one that takes away. */
static void orders(const char *const *pattern, size_t n, const char *yes, const char *no)
{
	size_t factorial = 1;

	for (size_t i = 2; i <= n; i++)
		factorial *= i;
	for (size_t k = 0; k < factorial; k++) {
		struct dt_selection s = {0};
		const char *of[4];

		memcpy(of, pattern, n * sizeof(*of));
		permute(of, n, k);
		for (size_t i = 0; i < n; i++)
			dt_selection_add(&s, of[i] + (*of[i] == '-'), *of[i] == '-', NULL);
		for (const char *p = yes; *p; p += strlen(p) + 1)
			assert_true(chosen(&s, p));
		for (const char *p = no; *p; p += strlen(p) + 1)
			assert_false(chosen(&s, p));
		dt_selection_clear(&s);
	}
}

static void test_order(void **state)
{
	struct dt_selection s = {0};

	assert_true(chosen(&s, "anything"));
	assert_true(dt_selection_rest(&s));
	orders((const char *const[]){"malloc", "-foo"}, 2, "malloc\0", "foo\0main\0");
	orders((const char *const[]){"f*", "-fo*", "foo"}, 3, "fa\0", "fob\0foo\0main\0");
	orders((const char *const[]){"-f*", "-main"}, 2, "g\0", "foo\0main\0");
	orders((const char *const[]){"a*", "b*", "-ab", "-other:*"}, 4, "a\0bb\0", "ab\0c\0");
	orders((const char *const[]){"prog:*", "-prog:f", "-*:g"}, 3, "a\0", "f\0g\0");
}

static void test_order_of_events(void **state)
{
	static const char *const net[] = {"net", "7"}, *const send[] = {"send", "1"},
				 *const other[] = {"other", "2"};

	for (int order = 0; order < 2; order++) {
		struct dt_selection s = {0};

		dt_selection_add(&s, order ? "net:2" : "net:*", order, NULL);
		dt_selection_add(&s, order ? "net:*" : "net:2", !order, NULL);
		assert_true(dt_selection_event(&s, net, send));
		assert_false(dt_selection_event(&s, net, other));
		assert_true(dt_selection_usdt(&s, "net", "send", false));
		assert_false(dt_selection_usdt(&s, "net", "2", false));
		assert_false(dt_selection_usdt(&s, "python", "line", false));
		assert_true(dt_selection_usdt(&s, "net", "send", true));
		assert_false(dt_selection_rest(&s));
		dt_selection_clear(&s);
		dt_selection_add(&s, "net:2", true, NULL);
		assert_true(dt_selection_event(&s, net, send));
		assert_false(dt_selection_usdt(&s, "net", "send", false));
		assert_true(dt_selection_rest(&s));
		dt_selection_clear(&s);
		dt_selection_add(&s, "*:*", false, NULL);
		assert_true(dt_selection_usdt(&s, "net", "send", false));
		assert_false(dt_selection_usdt(&s, "net", "send", true));
		dt_selection_clear(&s);
	}
}

static void test_symtab(void **state)
{
	static const char source[] = "int f(int x) { return x; }\n"
				     "int g(int x) __attribute__((alias(\"f\")));\n"
				     "int h(int x) { return x + 1; }\n"
				     "int main(void) { return 0; }\n";
	struct dt_selection s = {0};
	struct dt_symtab *t;
	struct dt_error e;
	size_t n;
	const struct dt_function *fn;
	bool *is;

	scratch_write("a.c", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -O0 -o a a.c"), 0);
	t = dt_symtab_open(scratch_path("a"), NULL, &e);
	assert_non_null(t);
	fn = dt_symtab_functions(t, &n);
	is = calloc(n, sizeof(*is));
	dt_selection_add(&s, "g", false, NULL);
	dt_selection_add(&s, "none", false, NULL);
	assert_int_equal(dt_selection_symtab(&s, "a", t, is), 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(is[i], !strcmp(fn[i].name, "f"));
	assert_int_equal(s.pattern[0].hits, 1);
	assert_int_equal(s.pattern[1].hits, 0);
	dt_selection_clear(&s);
	dt_selection_symtab(&s, "a", t, is); /* all, but start-up code */
	for (size_t i = 0; i < n; i++)
		assert_int_equal(is[i], !dt_name_is_startup(fn[i].name));
	dt_selection_add(&s, "*", false, NULL);
	dt_selection_add(&s, "frame_dummy", false, NULL);
	dt_selection_symtab(&s, "a", t, is); /* that, and one by its exact name */
	for (size_t i = 0; i < n; i++)
		assert_int_equal(is[i], !dt_name_is_startup(fn[i].name) ||
						!strcmp(fn[i].name, "frame_dummy"));
	dt_selection_clear(&s);
	dt_selection_add(&s, "_start", true, NULL); /* taking it away does not add it */
	dt_selection_symtab(&s, "a", t, is);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(is[i], !dt_name_is_startup(fn[i].name));
	dt_selection_clear(&s);
	free(is);
	dt_symtab_close(t);
}

/* Every template of the standard library that has arguments of its own accord: what the compiler
 * makes of it has all of them, and is shortened to what was written. */
static void test_standard_templates(void **state)
{
	static const char *const type[] = {"vector<X>",
					   "deque<X>",
					   "list<X>",
					   "forward_list<X>",
					   "set<X>",
					   "multiset<X>",
					   "map<X, Y>",
					   "multimap<X, Y>",
					   "unordered_set<X>",
					   "unordered_multiset<X>",
					   "unordered_map<X, Y>",
					   "unordered_multimap<X, Y>",
					   "queue<X>",
					   "stack<X>",
					   "priority_queue<X>",
					   "unique_ptr<X>",
					   "basic_string<X>",
					   "basic_stringstream<X>",
					   "basic_istringstream<X>",
					   "basic_ostringstream<X>",
					   "basic_stringbuf<X>",
					   "basic_string_view<X>",
					   "basic_ios<X>",
					   "basic_istream<X>",
					   "basic_ostream<X>",
					   "basic_iostream<X>",
					   "basic_ifstream<X>",
					   "basic_ofstream<X>",
					   "basic_fstream<X>",
					   "basic_streambuf<X>",
					   "basic_filebuf<X>",
					   "stack<Y, std::vector<X>>",
					   "map<Y, std::vector<X>>",
					   "set<Y, std::greater<Y>>"};
	static char source[8000];
	char line[2000], out[4000], want[300];
	size_t n, found = 0;
	FILE *f;

	(void)state;
	n = (size_t)sprintf(source,
			    "#include <deque>\n#include <forward_list>\n#include <fstream>\n"
			    "#include <list>\n#include <map>\n#include <memory>\n"
			    "#include <queue>\n#include <set>\n#include <sstream>\n"
			    "#include <stack>\n#include <string>\n#include <string_view>\n"
			    "#include <unordered_map>\n#include <unordered_set>\n"
			    "#include <vector>\nstruct X; struct Y;\n");
	for (size_t i = 0; i < sizeof(type) / sizeof(*type); i++)
		n += (size_t)sprintf(source + n, "void f%zu(std::%s *) {}\n", i, type[i]);
	scratch_write("t.cc", source, n);
	assert_int_equal(scratch_run("g++ -std=c++17 -c -o t.o t.cc && nm -C t.o >names"), 0);
	f = fopen(scratch_path("names"), "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *name = strstr(line, " T f");
		const char *is = out;
		size_t i;

		if (!name || sscanf(name + 4, "%zu", &i) != 1)
			continue;
		line[strcspn(line, "\n")] = '\0';
		assert_true(dt_shorten(name + 3, out));
		snprintf(want, sizeof(want), "f%zu(std::%s*)", i, type[i]);
		/* how two brackets in a row are written is no matter */
		for (char *p = want; *p && *is; is++) {
			if (*is == ' ' && *p != ' ' && is[1] == '>')
				continue;
			if (*is != *p++)
				fail_msg("%s is %s, not %s", name + 3, out, want);
		}
		assert_int_equal(*is, 0);
		found++;
	}
	fclose(f);
	assert_int_equal(found, sizeof(type) / sizeof(*type));
}

static void near(const char *pattern, const char *const *offer, const char *const *want)
{
	struct dt_near x;
	size_t n = 0;

	dt_near_start(&x, pattern);
	for (size_t i = 0; offer[i]; i++)
		dt_near_offer(&x, offer[i]);
	for (; want[n]; n++)
		assert_string_equal(x.name[n], want[n]);
	assert_int_equal(x.n, n);
}

static void test_near(void **state)
{
	static const char *const offer[] = {"tcp_send", "tcp_recv", "TCP_open",
					    "main",	"ns::find", "tcp_sendmsg",
					    "x",	"tcp_send", NULL};

	near("tcp_sned", offer, (const char *[]){"tcp_send", NULL});
	near("tcp_Send", offer, (const char *[]){"tcp_send", "tcp_sendmsg", NULL});
	near("tcp_opne*", offer, (const char *[]){"TCP_open", NULL});
	near("fnid", offer, (const char *[]){"ns::find", NULL});
	/* one inside a space is further away than one that is not */
	near("fnid", (const char *[]){"ns::find", "find", NULL},
	     (const char *[]){"find", "ns::find", NULL});
	near("prog:mian", offer, (const char *[]){"main", NULL});
	near("sendm", offer, (const char *[]){"tcp_sendmsg", NULL});
	near("completely_else", offer, (const char *[]){NULL});
	near("*", offer, (const char *[]){NULL});
	near("tcp", offer, (const char *[]){"tcp_send", "tcp_recv", "TCP_open", NULL});
}

static bool event(const char *patterns, const char *subsystem, const char *number, const char *name,
		  const char *event_number)
{
	struct dt_selection s = {0};
	char text[128];
	bool chosen;

	strcpy(text, patterns);
	for (char *p = strtok(text, " "); p; p = strtok(NULL, " "))
		assert_int_equal(dt_selection_add(&s, p + (*p == '!'), *p == '!', NULL), 0);
	chosen = dt_selection_event(&s, (const char *const[]){subsystem, number},
				    (const char *const[]){name, event_number});
	dt_selection_clear(&s);
	return chosen;
}

static void test_event(void **state)
{
	assert_true(event("", "net", "7", "send", "3"));
	assert_true(event("net:send", "net", "7", "send", "3"));
	assert_true(event("7:3", "net", "7", "send", "3"));
	assert_true(event("net:3", "net", "7", "send", "3"));
	assert_true(event("n*:s*d", "net", "7", "send", "3"));
	assert_true(event("send", "net", "7", "send", "3"));
	assert_false(event("net:read", "net", "7", "send", "3"));
	assert_false(event("disk:send", "net", "7", "send", "3"));
	assert_false(event("net", "net", "7", "send", "3"));
	assert_false(event("!net:*", "net", "7", "send", "3"));
	assert_true(event("!net:*", "disk", "8", "send", "3"));
	assert_false(event("!7:* net:send", "net", "7", "send", "3"));
	assert_true(event("!7:4 net:send", "net", "7", "send", "3"));
	assert_false(event("*:* !7:3", "net", "7", "send", "3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_copies),
		cmocka_unit_test(test_shorter),	 cmocka_unit_test(test_modules),
		cmocka_unit_test(test_nameless), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_order),	 cmocka_unit_test(test_order_of_events),
		cmocka_unit_test(test_symtab),	 cmocka_unit_test(test_near),
		cmocka_unit_test(test_event),	 cmocka_unit_test(test_standard_templates),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
