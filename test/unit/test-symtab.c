/* SPDX-License-Identifier: MIT */
/* symbols/symtab.c and process/dwarf*.c: names, sizes, lines and signatures of small programs, by
 * gcc and clang, optimized and not, with and without separate debug files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/symtab-work.h"
#include "test/unit/test-elf-scratch.h"

static const char c_source[] =
	"typedef const volatile int *cvp; typedef unsigned char u8; enum e { A, B };\n" /* 1 */
	"struct two { long a, b; }; struct mix { long a; double d; }; struct big { long a[3]; };\n"
	"struct fl { float x, y; }; typedef double v2 __attribute__((vector_size(16)));\n"
	"#define F __attribute__((noinline, noclone))\n"
	"F int plain(int a, const char *s, u8 c, cvp p) { return a + *s + c + *p; }\n" /* 5 */
	"F unsigned long many(char a, short b, long c, _Bool d, int e, int f, int g) {\n"
	"	return a + b + c + d + e + f + g; }\n"
	"F struct two two(struct two x, int y, struct two z) { x.a += y + z.b; return x; }\n"
	"F struct mix mix(int k, struct mix x, int y) { x.a += y + k; return x; }\n"
	"F struct big big(int k, struct big x, int y) { x.a[0] += y + k; return x; }\n" /* 10 */
	"F double fl(float a, double b, int c, long double d) { return a + b + c + d; }\n"
	"F long double ld(int x) { return x; }\n"
	"F struct fl pair(struct fl x, int y) { x.x += y; return x; }\n"
	"F __int128 wide(__int128 a, enum e b, unsigned __int128 c) { return a + b + c; }\n"
	"F v2 vec(v2 a, int b) { return a; }\n" /* 15 */
	"F int vararg(const char *f, ...) { return *f; }\n"
	"F void nothing(void) { __asm__ volatile(\"\"); }\n"
	"F void *pointers(int **a, void (*b)(int), unsigned short *c) { return a; }\n"
	"int main(int argc, char **argv) { return argc; }\n"
	"F _Complex long double cld(_Complex long double z, int k) { return z + k; }\n" /* 20 */
	"F __attribute__((ms_abi)) long foreign(long a, long b) { return a - b; }\n"
	"extern __typeof(plain) plain_too __attribute__((alias(\"plain\")));\n"
	"F _Complex double cd(_Complex double z, int k) { return z + k; }\n"
	"F _Complex float cf(_Complex float z, int k) { return z + k; }\n"
	"struct cz { _Complex double z; }; struct cy { _Complex float z; long k; }; struct cx { _Complex double z; char k; };\n" /* 25 */
	"F struct cz cz(struct cz x, int k) { x.z += k; return x; }\n"
	"F struct cy cy(struct cy x, int k) { x.z += k; return x; }\n"
	"F struct cx cx(struct cx x, int k) { x.z += k; return x; }\n"
	"F __float128 q(__float128 a, int k) { return a; }\n";

static const struct {
	const char *name, *signature;
	unsigned line;
} c_wanted[] = {
	{"plain", "a:i4@0,s:s@1,c:u1@2,p:p@3;i4@0", 5},
	{"many", "a:c@0,b:i2@1,c:i8@2,d:b@3,e:i4@-,f:i4@-,g:i4@-;u8@0", 6},
	{"two", "x:a@0+1,y:i4@2,z:a@-;a@0+1", 8},
	{"mix", "k:i4@0,x:a@-,y:i4@2;a@0+2", 9},
	{"big", "k:i4@1,x:a@-,y:i4@2;a@-", 10},
	{"fl", "a:f4@-,b:f8@-,c:i4@0,d:f10@-;f8@2", 11},
	{"ld", "x:i4@0;f10@-", 12},
	{"pair", "x:a@-,y:i4@0;a@2", 13},
	{"wide", "a:i16@0+1,b:e4@2,c:u16@-;i16@0+1", 14},
	{"vec", "a:a@-,b:i4@0;a@2+3", 15},
	{"vararg", "f:s@0,...:a@-;i4@0", 16},
	{"nothing", ";v", 17},
	{"pointers", "a:p@0,b:p@1,c:p@2;p@0", 18},
	{"main", "argc:i4@0,argv:p@1;i4@0", 19},
	{"cld", "z:a@-,k:i4@0;a@-", 20},
	{"cd", "z:a@-,k:i4@0;a@-", 23},
	{"cf", "z:a@-,k:i4@0;a@2", 24},
	{"cz", "x:a@-,k:i4@0;a@-", 26},
	{"cy", "x:a@-,k:i4@1;a@2+0", 27},
	{"cx", "x:a@-,k:i4@1;a@-", 28},
	{"q", "a:a@-,k:i4@0;a@2+3", 29},
};

static const char cxx_source[] =
	"namespace ns {\n"
	"struct big { long a[5]; }; struct copied { int x; copied(const copied &o) : x(o.x) {} };\n"
	"class C { int k; public: virtual ~C() {} int m(int x) const; static int s(int x);\n"
	"	template <class T> T t(T x); big b(int x); };\n"
	"int C::m(int x) const { return x + k; }\n" /* 5 */
	"int C::s(int x) { return x; }\n"
	"template <class T> T C::t(T x) { return x + k; }\n"
	"template long C::t<long>(long);\n"
	"big C::b(int x) { big r = {{x, k}}; return r; }\n"
	"int ref(const int &a, copied b, int c, decltype(nullptr) d) { return a + b.x + c; }\n"
	"struct empty {}; int none(empty e, int x) { return x; }\n" /* 11 */
	"bool operator<(const big &a, const big &b) { return a.a[0] < b.a[0]; }\n"
	"}\n"
	"int main() { auto f = [](int x) { return x; }; return f(0); }\n";

static const struct {
	const char *name, *signature;
	unsigned line;
} cxx_wanted[] = {
	{"ns::C::m", "this:p@0,x:i4@1;i4@0", 5},	  {"ns::C::s", "x:i4@0;i4@0", 6},
	{"ns::C::t<long>", "this:p@0,x:i8@1;i8@0", 7},	  {"ns::C::b", "this:p@1,x:i4@2;a@-", 9},
	{"ns::ref", "a:p@0,b:p@1,c:i4@2,d:p@3;i4@0", 10}, {"ns::none", "e:a@-,x:i4@0;i4@0", 11},
	{"ns::operator<", "a:p@0,b:p@1;b@0", 12},
};

static const struct dt_function *by_name(struct dt_symtab *t, const char *name)
{
	size_t n;
	const struct dt_function *f = dt_symtab_functions(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	return NULL;
}

static struct dt_symtab *open_it(const char *name, const char *dirs)
{
	struct dt_error e = {""};
	struct dt_symtab *t = dt_symtab_open(scratch_path(name), dirs, &e);

	assert_string_equal(e.text, "");
	assert_non_null(t);
	return t;
}

static void check_one(struct dt_symtab *t, const char *name, const char *signature, unsigned line,
		      const char *file)
{
	const struct dt_function *f = by_name(t, name);
	const char *is_file = "";
	unsigned is_line = 0;
	char text[256];

	if (!f)
		fail_msg("%s is missing", name);
	assert_true(f->size > 0);
	assert_ptr_equal(dt_symtab_find(t, f->address), f);
	assert_ptr_equal(dt_symtab_find(t, f->address + f->size - 1), f);
	dt_symtab_signature(t, f, text, sizeof(text));
	if (strcmp(text, signature))
		fail_msg("%s is %s, not %s", name, text, signature);
	assert_true(dt_symtab_line(t, f->address, &is_file, &is_line));
	assert_int_equal(is_line, line);
	assert_non_null(strstr(is_file, file));
}

static void check_c(struct dt_symtab *t)
{
	for (size_t i = 0; i < sizeof(c_wanted) / sizeof(c_wanted[0]); i++)
		check_one(t, c_wanted[i].name, c_wanted[i].signature, c_wanted[i].line, "c.c");
}

static const char *const compilers[] = {
	"-O0",
	"-O2",
	"-O0 -gdwarf-4 -fno-pie -no-pie",
	"-O2 -gdwarf-4",
	"-O2 -gz",
	"-O2 -gsplit-dwarf",
	"-O1 -fdebug-types-section",
};

static void each(const char *compiler, const char *source, void check(struct dt_symtab *t))
{
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		struct dt_symtab *t;

		assert_int_equal(scratch_run("%s -w -g %s -o p %s", compiler, compilers[i], source),
				 0);
		t = open_it("p", NULL);
		check(t);
		dt_symtab_close(t);
	}
}

static void test_c(void **state)
{
	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	each("gcc", "c.c", check_c);
	each("clang", "c.c", check_c);
}

static void check_cxx(struct dt_symtab *t)
{
	for (size_t i = 0; i < sizeof(cxx_wanted) / sizeof(cxx_wanted[0]); i++)
		check_one(t, cxx_wanted[i].name, cxx_wanted[i].signature, cxx_wanted[i].line,
			  "x.cc");
}

static void test_cxx(void **state)
{
	scratch_write("x.cc", cxx_source, sizeof(cxx_source) - 1);
	each("g++", "x.cc", check_cxx);
	/* else clang leaves out classes whose constructors it does not see */
	each("clang++ -fstandalone-debug", "x.cc", check_cxx);
}

/*
 * What a constructor's and a destructor's copies have besides what is written: the one that makes a
 * base gets the table of its bases, the one that makes a whole does not, and none has what says
 * which of them it is.
 */
static void check_copies(struct dt_symtab *t)
{
	static const struct {
		const char *name;
		const char *whole,
			*base; /* signatures; of the latter what is behind the second name */
	} wanted[] = {
		{"ns::D::D", "this:p@0,x:i4@1,y:i8@2;v", ":p@1,x:i4@2,y:i8@3;v"},
		{"ns::D::~D", "this:p@0;v", ":p@1;v"},
	};
	size_t n;
	const struct dt_function *f = dt_symtab_functions(t, &n);

	for (size_t k = 0; k < 2; k++) {
		unsigned whole = 0, base = 0, all = 0;

		for (size_t i = 0; i < n; i++) {
			char text[256];
			const char *second;

			if (strcmp(f[i].name, wanted[k].name))
				continue;
			dt_symtab_signature(t, &f[i], text, sizeof(text));
			second = strchr(text, ',');
			second = second ? strchr(second, ':') : NULL;
			all++;
			whole += !strcmp(text, wanted[k].whole);
			base += second && !strcmp(second, wanted[k].base);
		}
		if (!whole || !base || whole + base != all)
			fail_msg("%s: of %u copies %u make a whole, %u a base", wanted[k].name, all,
				 whole, base);
	}
}

static void test_constructors(void **state)
{
	static const char source[] = "namespace ns {\n"
				     "struct V { virtual ~V() {} long v; };\n"
				     "struct D : virtual V { int d; D(int x, long y); ~D(); };\n"
				     "D::D(int x, long y) : d(x + (int)y) {}\n"
				     "D::~D() { v = d; }\n"
				     "}\n"
				     "int main() { return 0; }\n";
	const struct dt_function *f;
	struct dt_symtab *t;
	unsigned both = 0;
	size_t n;

	scratch_write("v.cc", source, sizeof(source) - 1);
	each("g++", "v.cc", check_copies);
	each("clang++ -fstandalone-debug", "v.cc", check_copies);
	/* one for both, which is told by a register which of them it is */
	assert_int_equal(scratch_run("g++ -g -Os -fdeclone-ctor-dtor -o p v.cc"), 0);
	t = open_it("p", NULL);
	f = dt_symtab_functions(t, &n);
	for (size_t i = 0; i < n; i++) {
		char text[256];

		dt_symtab_signature(t, &f[i], text, sizeof(text));
		assert_null(strstr(text, "__in_chrg"));
		both += !strcmp(f[i].name, "ns::D::~D") &&
			!strcmp(text, "this:p@0,__vtt_parm:p@2;v");
	}
	assert_int_equal(both, 1);
	dt_symtab_close(t);
}

/* gcc's copies of functions: the line, but no signature; only the symbols say which these are. */
static void test_clones(void **state)
{
	static const char source[] =
		"volatile int v;\n"
		"static __attribute__((noinline)) int f(int a, int b) { return v + a * b; }\n"
		"int g(int x) { return f(x, 3) + f(x + 1, 3); }\n"
		"int main(int argc, char **argv) { return g(argc); }\n";
	struct dt_symtab *t;
	const struct dt_function *f;
	const char *file;
	unsigned line;
	char text[64];

	scratch_write("k.c", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -g -O2 -o k k.c"), 0);
	t = open_it("k", NULL);
	f = by_name(t, "f.constprop.0");
	if (!f)
		f = by_name(t, "f.isra.0");
	assert_non_null(f);
	dt_symtab_signature(t, f, text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(dt_symtab_line(t, f->address, &file, &line));
	assert_int_equal(line, 2);
	dt_symtab_close(t);
	/* clang changes it in place: the second parameter is gone, the rest is where it was */
	assert_int_equal(scratch_run("clang -g -O2 -o k k.c"), 0);
	t = open_it("k", NULL);
	f = by_name(t, "f");
	assert_non_null(f);
	dt_symtab_signature(t, f, text, sizeof(text));
	assert_string_equal(text, "a:i4@0,b:i4@-;i4@0");
	dt_symtab_close(t);
}

/* A name as it is written in the source, also of what the compiler has made of it. */
static void test_demangled(void **state)
{
	static const char *const name[][2] = {
		{"_ZN2ns1fEi", "ns::f"},
		{"_Z1gv.cold", "g"},
		{"_Z1gIiEvT_.constprop.0.isra.1", "g<int>"},
		{"_ZNK4more5placeEPKcRSs.lto_priv.0.part.0", "more::place"},
		{"_RNvC4core3foo.llvm.12", "core::foo"},
		{"plain.isra.0", NULL},
		{"_Z", NULL},
		{"_start", NULL},
		{"", NULL},
	};
	struct dt_symtab *t;

	(void)state;
	scratch_write("k.c", "int main(void) { return 0; }\n", 29);
	assert_int_equal(scratch_run("gcc -o k k.c"), 0);
	t = open_it("k", NULL);
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		const char *is = dt_symtab_demangle(t, name[i][0]);

		if (name[i][1] && is)
			assert_string_equal(is, name[i][1]);
		else
			assert_true(!is && !name[i][1]);
	}
	dt_symtab_close(t);
}

/* Functions in structures and spaces that are nested up to the deepest that are looked into. */
static void test_nested(void **state)
{
	for (int depth = 63; depth <= 66; depth++) {
		static char source[20000];
		const struct dt_function *f;
		char text[64], name[2000] = "";
		struct dt_symtab *t;
		size_t n = 0;

		for (int i = 0; i < depth; i++) {
			n += (size_t)sprintf(source + n, "namespace n%d {\n", i);
			sprintf(name + strlen(name), "n%d::", i);
		}
		strcat(name, "f");
		n += (size_t)sprintf(source + n, "int f(int given, long) { return given; }\n");
		for (int i = 0; i < depth; i++)
			n += (size_t)sprintf(source + n, "}\n");
		n += (size_t)sprintf(source + n, "int main() { return 0; }\n");
		scratch_write("deep.cc", source, n);
		assert_int_equal(scratch_run("clang++ -g -o deep deep.cc"), 0);
		t = open_it("deep", NULL);
		f = by_name(t, name);
		assert_non_null(f);
		dt_symtab_signature(t, f, text, sizeof(text));
		/* as deep as that nobody writes; what is not looked into is known by its name alone
		 */
		assert_string_equal(text, depth <= 64 ? "given:i4@0,:i8@1;i4@0" : "");
		dt_symtab_close(t);
	}
}

/* Line tables alone say nothing of parameters. */
static void test_lines_only(void **state)
{
	static const char *const command[] = {"gcc -w -g1 -O2 -o g c.c",
					      "clang -w -gline-tables-only -O2 -o g c.c"};
	struct dt_symtab *t;
	const char *file;
	unsigned line;
	char text[64];

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(scratch_run("%s", command[i]), 0);
		t = open_it("g", NULL);
		dt_symtab_signature(t, by_name(t, "plain"), text, sizeof(text));
		assert_string_equal(text, "");
		assert_true(dt_symtab_line(t, by_name(t, "plain")->address, &file, &line));
		assert_int_equal(line, 5);
		dt_symtab_close(t);
	}
}

/* The signature with its keys as '#', and the key behind the n-th '#'. */
static uint64_t without_keys(char *text, int nth)
{
	uint64_t key = 0;
	char *out = text, *end;

	for (char *p = text; *p;) {
		*out++ = *p;
		if (*p++ != '#')
			continue;
		if (nth-- == 0)
			key = strtoull(p, NULL, 16);
		strtoull(p, &end, 16);
		assert_true(end - p >= 8);
		p = end;
	}
	*out = '\0';
	return key;
}

static const struct {
	const char *name, *places;
	int nth; /* key, or -1 */
	const char *type;
} places_wanted[] = {
	{"plain", "a:i4@0,s:s@1,c:u1@2,p:p@3;i4@0", -1, NULL},
	{"many", "a:c@0,b:i2@1,c:i8@2,d:b@3,e:i4@4,f:i4@5,g:i4@m8;u8@0", -1, NULL},
	{"two", "x:a#@0+1,y:i4@2,z:a#@3+4;a#@0+1", 0, "a:two;a:i8@0,b:i8@64"},
	{"mix", "k:i4@0,x:a#@1+x0,y:i4@2;a#@0+2", 1, "a:mix;a:i8@0,d:f8@64"},
	{"big", "k:i4@1,x:a@-,y:i4@2;a@-", -1, NULL},
	{"fl", "a:f4@x0,b:f8@x1,c:i4@0,d:f10@-;f8@2", -1, NULL},
	{"pair", "x:a#@x0,y:i4@0;a#@2", 0, "a:fl;x:f4@0,y:f4@32"},
	{"wide", "a:i16@0+1,b:u4#@2,c:u16@3+4;i16@0+1", 0, "e:e;A=0,B=1"},
	{"vec", "a:a#@-,b:i4@0;a#@2+3", -1, NULL},
	{"vararg", "f:s@0,...:a@-;i4@0", -1, NULL},
};

static void test_places(void **state)
{
	static const char *const command[] = {
		"gcc -w -g -O0 -o p c.c", "gcc -w -g -O2 -o p c.c",
		"gcc -w -gdwarf-4 -fdebug-types-section -g -O1 -o p c.c"};
	char text[512];
	uint64_t key;

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	for (int c = 0; c < 3; c++) {
		struct dt_symtab *t;

		assert_int_equal(scratch_run("%s", command[c]), 0);
		t = open_it("p", NULL);
		for (size_t i = 0; i < sizeof(places_wanted) / sizeof(*places_wanted); i++) {
			const struct dt_function *f = by_name(t, places_wanted[i].name);

			dt_symtab_places(t, f, text, sizeof(text));
			key = without_keys(text, places_wanted[i].nth);
			/* types in a section of their own have no keys */
			if (c < 2 || !strchr(places_wanted[i].places, '#'))
				assert_string_equal(text, places_wanted[i].places);
			if (c == 2 || places_wanted[i].nth < 0)
				continue;
			assert_true(dt_symtab_type(t, key, text, sizeof(text)));
			assert_string_equal(text, places_wanted[i].type);
			assert_false(dt_symtab_type(t, key, text, strlen(places_wanted[i].type)));
			/* described, it has the places of the record */
			dt_symtab_described(t, f, text, sizeof(text));
			assert_true(without_keys(text, places_wanted[i].nth) == key);
		}
		/* a key that is none: no crash, whatever it says */
		for (key = 0; key < 20000; key++)
			dt_symtab_type(t, key, text, sizeof(text));
		assert_false(dt_symtab_type(t, UINT64_MAX, text, sizeof(text)));
		assert_false(dt_symtab_type(t, 0, text, sizeof(text)));
		dt_symtab_close(t);
	}
}

static void test_objects(void **state)
{
	static const char source[] =
		"int numbers[4] = {1}; static long hidden = 2; const char text[] = \"x\"; char bss[100];\n"
		"__thread int own;\n"
		"int main() { return numbers[0] + hidden + text[0] + bss[5] + own; }\n";
	static const char *const command[] = {"gcc -w -g -O0 -o o o.c",
					      "gcc -w -O0 -rdynamic -s -o o o.c"};

	scratch_write("o.c", source, sizeof(source) - 1);
	for (int i = 0; i < 2; i++) {
		const struct dt_object *o;
		struct dt_symtab *t;
		uint64_t at;
		FILE *nm;

		assert_int_equal(scratch_run("%s", command[i]), 0);
		t = open_it("o", NULL);
		assert_int_equal(scratch_run("nm -D o | grep numbers >at; nm o 2>/dev/null | grep "
					     "numbers >>at; true"),
				 0);
		nm = fopen(scratch_path("at"), "r");
		assert_non_null(nm);
		assert_int_equal(fscanf(nm, "%lx", &at), 1);
		fclose(nm);
		o = dt_symtab_object(t, at);
		assert_non_null(o);
		assert_string_equal(o->name, "numbers");
		assert_int_equal(o->size, 16);
		assert_ptr_equal(dt_symtab_object(t, at + 15), o);
		assert_true(dt_symtab_object(t, at + 16) != o);
		assert_null(dt_symtab_object(t, 0)); /* where `own' says it is */
		assert_null(dt_symtab_object(t, UINT64_MAX));
		/* a function is none */
		if (i == 0)
			assert_null(dt_symtab_object(t, by_name(t, "main")->address));
		dt_symtab_close(t);
	}
}

/* Opened for its variables, a file says the same, and its functions are read when they are wanted;
 * the names may all be in its debug file. */
static void test_late(void **state)
{
	static const char source[] = "int numbers[4] = {1}; static long hidden = 2;\n"
				     "int main() { return numbers[0] + hidden; }\n";
	char id[65];

	scratch_write("l.c", source, sizeof(source) - 1);
	assert_int_equal(
		scratch_run("gcc -w -g -O0 -Wl,--build-id=sha1 -o l l.c && strip -o s l && "
			    "objcopy --only-keep-debug l s.debug && "
			    "objcopy --add-gnu-debuglink=s.debug s"),
		0);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "s" : "l";
		struct dt_symtab *t = open_it(name, NULL), *late;
		uint64_t hidden = 0, main_at;
		FILE *nm;

		assert_int_equal(scratch_run("nm l | grep hidden >at"), 0);
		nm = fopen(scratch_path("at"), "r");
		assert_int_equal(fscanf(nm, "%lx", &hidden), 1);
		fclose(nm);
		strcpy(id, dt_symtab_build_id(t));
		main_at = by_name(t, "main")->address;
		late = dt_symtab_open_late(scratch_path(name));
		assert_non_null(late);
		assert_string_equal(dt_symtab_build_id(late), id);
		assert_non_null(dt_symtab_object(late, hidden));
		assert_string_equal(dt_symtab_object(late, hidden)->name, "hidden");
		assert_string_equal(dt_symtab_find(late, main_at)->name, "main");
		dt_symtab_close(late);
		/* the function first */
		late = dt_symtab_open_late(scratch_path(name));
		assert_string_equal(dt_symtab_find(late, main_at + 1)->name, "main");
		assert_string_equal(dt_symtab_object(late, hidden + 7)->name, "hidden");
		dt_symtab_close(late);
		dt_symtab_close(t);
	}
	assert_null(dt_symtab_open_late("/nowhere/x"));
}

/* A file whose headers name the same table a thousand times over has no variables, and no functions
 * either. */
static void test_damaged(void **state)
{
	static const char script[] =
		"import struct\n"
		"b = bytearray(open('l', 'rb').read())\n"
		"at, = struct.unpack_from('<Q', b, 40)\n"
		"n, = struct.unpack_from('<H', b, 60)\n"
		"head = [bytes(b[at + 64 * i:at + 64 * i + 64]) for i in range(n)]\n"
		"table = [h for h in head if struct.unpack_from('<I', h, 4)[0] == 2]\n"
		"struct.pack_into('<Q', b, 40, len(b))\n"
		"struct.pack_into('<H', b, 60, n + 5000)\n"
		"open('x', 'wb').write(b + b''.join(head) + table[0] * 5000)\n";
	static const char source[] = "int numbers[4] = {1}; int main() { return numbers[0]; }\n";
	struct dt_error e = {""};
	struct dt_symtab *t;
	uint64_t numbers = 0;
	FILE *nm;

	scratch_write("l.c", source, sizeof(source) - 1);
	scratch_write("x.py", script, sizeof(script) - 1);
	assert_int_equal(scratch_run("gcc -w -o l l.c && python3 x.py && nm l | grep numbers >at"),
			 0);
	nm = fopen(scratch_path("at"), "r");
	assert_int_equal(fscanf(nm, "%lx", &numbers), 1);
	fclose(nm);
	assert_null(dt_symtab_open(scratch_path("x"), NULL, &e));
	assert_non_null(strstr(e.text, "it has more symbols than bytes for them"));
	t = dt_symtab_open_late(scratch_path("x"));
	assert_non_null(t);
	assert_null(dt_symtab_object(t, numbers));
	assert_null(dt_symtab_find(t, numbers));
	dt_symtab_close(t);
}

static void test_separate(void **state)
{
	struct dt_symtab *t;
	char id[65], dirs[128];
	size_t n;

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	assert_int_equal(
		scratch_run("gcc -w -g -O2 -Wl,--build-id=sha1 -o whole c.c && mkdir -p d .debug &&"
			    "objcopy --only-keep-debug --compress-debug-sections whole d/it &&"
			    "strip -o bare whole"),
		0);
	t = open_it("whole", NULL);
	strcpy(id, dt_symtab_build_id(t));
	assert_int_equal(strlen(id), 40);
	dt_symtab_close(t);
	t = open_it("bare", NULL);
	dt_symtab_functions(t, &n);
	assert_null(by_name(t, "plain"));
	assert_string_equal(dt_symtab_build_id(t), id);
	dt_symtab_close(t);

	assert_int_equal(
		scratch_run("mkdir -p d/.build-id/%.2s && cp d/it d/.build-id/%.2s/%s.debug", id,
			    id, id + 2),
		0);
	snprintf(dirs, sizeof(dirs), "/nowhere:%s/d", scratch);
	t = open_it("bare", dirs);
	check_c(t);
	dt_symtab_close(t);

	/* by link: beside it, in .debug, and one that is of another program */
	assert_int_equal(
		scratch_run("cp d/it bare.debug && objcopy --add-gnu-debuglink=bare.debug bare"),
		0);
	t = open_it("bare", "/nowhere");
	check_c(t);
	dt_symtab_close(t);
	assert_int_equal(scratch_run("mv bare.debug .debug/"), 0);
	t = open_it("bare", "/nowhere");
	check_c(t);
	dt_symtab_close(t);
	assert_int_equal(scratch_run("gcc -w -g -O0 -Wl,--build-id=sha1 -o .debug/bare.debug c.c"),
			 0);
	t = open_it("bare", "/nowhere");
	assert_null(by_name(t, "plain"));
	dt_symtab_close(t);
}

static void test_without_build_id(void **state)
{
	struct dt_symtab *t;

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	assert_int_equal(scratch_run("gcc -w -g -O2 -Wl,--build-id=none -o w c.c &&"
				     "objcopy --only-keep-debug w w.debug && strip w &&"
				     "objcopy --add-gnu-debuglink=w.debug w"),
			 0);
	t = open_it("w", NULL);
	assert_string_equal(dt_symtab_build_id(t), "");
	check_c(t);
	dt_symtab_close(t);
	assert_int_equal(scratch_run("echo >>w.debug"), 0);
	t = open_it("w", NULL);
	assert_null(by_name(t, "plain"));
	dt_symtab_close(t);
}

static void test_dynsym(void **state)
{
	struct dt_symtab *t;
	char text[64];

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	assert_int_equal(scratch_run("gcc -w -shared -fPIC -s -o lib.so c.c"), 0);
	t = open_it("lib.so", NULL);
	assert_non_null(by_name(t, "many"));
	dt_symtab_signature(t, by_name(t, "many"), text, sizeof(text));
	assert_string_equal(text, "");
	dt_symtab_close(t);
	assert_int_equal(scratch_run("gcc -w -s -o none c.c"), 0);
	t = open_it("none", NULL);
	assert_null(by_name(t, "many"));
	dt_symtab_close(t);
}

struct seen {
	struct dt_symtab *t;
	int plain;
};

static void see(void *ctx, uint64_t address, const char *name)
{
	struct seen *s = ctx;

	if (!strcmp(name, "plain") || !strcmp(name, "plain_too"))
		s->plain += dt_symtab_find(s->t, address)->address == address;
}

static void test_aliases(void **state)
{
	struct seen s = {0};

	scratch_write("c.c", c_source, sizeof(c_source) - 1);
	assert_int_equal(scratch_run("gcc -w -g -o p c.c"), 0);
	s.t = open_it("p", NULL);
	dt_symtab_aliases(s.t, see, &s);
	assert_int_equal(s.plain, 1); /* one name is the function's, the other its alias */
	dt_symtab_close(s.t);
}

static void test_errors(void **state)
{
	struct dt_error e;

	assert_null(dt_symtab_open("/nowhere/x", NULL, &e));
	assert_non_null(strstr(e.text, "/nowhere/x"));
	scratch_write("t", "text", 4);
	assert_null(dt_symtab_open(scratch_path("t"), NULL, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_constructors),
		cmocka_unit_test(test_clones),
		cmocka_unit_test(test_demangled),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_lines_only),
		cmocka_unit_test(test_separate),
		cmocka_unit_test(test_without_build_id),
		cmocka_unit_test(test_dynsym),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
