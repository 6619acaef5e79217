/* SPDX-License-Identifier: MIT */
/*
 * process/apart.c, symbols/symtab-apart.c: what is read in a process of its own is what is read
 * here, of programs and libraries of the system; that process has nothing; and whatever it answers,
 * nothing else comes of it than wrong names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "symbols/code.h"
#include "hook/space.h"
#include "symbols/symtab-apart.h"
#include "symbols/symtab-tell.h"
#include "symbols/symtab-question.h"
#include "test/unit/test-elf-scratch.h"

/* ---- the same as here ---- */

struct both {
	struct dt_symtab *here, *apart;
};

static void open_both(struct both *b, const char *path)
{
	struct dt_error e = {""};

	dt_symtab_apart_stop();
	b->here = dt_symtab_open(path, NULL, &e);
	if (!b->here)
		fail_msg("%s", e.text);
	assert_int_equal(dt_symtab_apart_start(dt_symtab_tell, &e), 0);
	b->apart = dt_symtab_open(path, NULL, &e);
	if (!b->apart)
		fail_msg("%s", e.text);
}

static void close_both(struct both *b)
{
	dt_symtab_close(b->here);
	dt_symtab_close(b->apart);
	dt_symtab_apart_stop();
}

static void same_function(struct both *b, const struct dt_function *f, const struct dt_function *g)
{
	const char *file = NULL, *other = NULL;
	unsigned line = 0, number = 0;
	char text[4096], same[4096];
	bool has;

	assert_int_equal(f->address, g->address);
	assert_int_equal(f->size, g->size);
	assert_int_equal(f->label, g->label);
	assert_string_equal(f->name, g->name);
	assert_string_equal(f->linkage, g->linkage);
	has = dt_symtab_line(b->here, f->address, &file, &line);
	assert_int_equal(has, dt_symtab_line(b->apart, f->address, &other, &number));
	if (has) {
		assert_string_equal(file, other);
		assert_int_equal(line, number);
	}
	dt_symtab_signature(b->here, f, text, sizeof(text));
	dt_symtab_signature(b->apart, g, same, sizeof(same));
	assert_string_equal(text, same);
	dt_symtab_described(b->here, f, text, sizeof(text));
	dt_symtab_described(b->apart, g, same, sizeof(same));
	assert_string_equal(text, same);
	dt_symtab_places(b->here, f, text, sizeof(text));
	dt_symtab_places(b->apart, g, same, 8); /* one that is too short is none, or cut */
	dt_symtab_places(b->apart, g, same, sizeof(same));
	assert_string_equal(text, same);
}

struct alias {
	uint64_t address;
	char name[512];
};

struct aliases {
	struct alias *alias;
	size_t n, at;
};

static void count_alias(void *ctx, uint64_t address, const char *name)
{
	((struct aliases *)ctx)->n++;
}

static void keep_alias(void *ctx, uint64_t address, const char *name)
{
	struct aliases *a = ctx;

	a->alias[a->at].address = address;
	snprintf(a->alias[a->at++].name, sizeof(a->alias->name), "%s", name);
}

static void same_alias(void *ctx, uint64_t address, const char *name)
{
	struct aliases *a = ctx;
	char cut[sizeof(a->alias->name)];

	assert_true(a->at < a->n);
	snprintf(cut, sizeof(cut), "%s", name);
	assert_int_equal(a->alias[a->at].address, address);
	assert_string_equal(a->alias[a->at++].name, cut);
}

static void same_aliases(struct both *b)
{
	struct aliases a = {NULL, 0, 0};

	dt_symtab_aliases(b->here, count_alias, &a);
	a.alias = calloc(a.n + 1, sizeof(*a.alias));
	dt_symtab_aliases(b->here, keep_alias, &a);
	a.at = 0;
	dt_symtab_aliases(b->apart, same_alias, &a);
	assert_int_equal(a.at, a.n);
	free(a.alias);
}

static void same_code_function(const struct dt_code_function *f, const struct dt_code_function *g)
{
	assert_int_equal(f->start, g->start);
	assert_int_equal(f->end, g->end);
	assert_int_equal(f->whole, g->whole);
	assert_int_equal(f->next_part, g->next_part);
	assert_int_equal(f->first_exit, g->first_exit);
	assert_int_equal(f->exits, g->exits);
	assert_int_equal(f->first_link, g->first_link);
	assert_int_equal(f->links, g->links);
	assert_int_equal(f->trouble, g->trouble);
	assert_int_equal(f->trouble_at, g->trouble_at);
	assert_int_equal(
		f->found << 9 | f->jumped << 8 | f->part << 7 | f->falls << 6 | f->anywhere << 5 |
			f->taken << 4 | f->table << 3 | f->points << 2 | f->stays << 1 | f->open,
		g->found << 9 | g->jumped << 8 | g->part << 7 | g->falls << 6 | g->anywhere << 5 |
			g->taken << 4 | g->table << 3 | g->points << 2 | g->stays << 1 | g->open);
	assert_int_equal(f->name != NULL, g->name != NULL);
	if (f->name)
		assert_string_equal(f->name, g->name);
}

static void same_code(struct both *b, const char *path)
{
	struct dt_error e = {""};
	struct dt_code *c = dt_code_open(path, b->here, &e), *d = dt_code_open(path, b->apart, &e);

	if (!c || !d)
		fail_msg("%s: %s", path, e.text);
	assert_int_equal(c->regions, d->regions);
	assert_int_equal(c->functions, d->functions);
	assert_int_equal(c->exits, d->exits);
	assert_int_equal(c->links, d->links);
	assert_int_equal(c->crosses, d->crosses);
	assert_true(c->low == d->low && c->high == d->high && c->covered == d->covered &&
		    c->left == d->left && c->found == d->found && c->go_low == d->go_low &&
		    c->go_high == d->go_high);
	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *r = &c->region[i], *q = &d->region[i];

		assert_true(r->low == q->low && r->high == q->high && r->plt == q->plt);
		assert_memory_equal(r->bytes, q->bytes, r->high - r->low);
		assert_memory_equal(r->mark, q->mark, r->high - r->low);
	}
	for (size_t i = 0; i < c->functions; i++)
		same_code_function(&c->function[i], &d->function[i]);
	for (size_t i = 0; i < c->exits; i++)
		assert_true(c->exit[i].address == d->exit[i].address &&
			    c->exit[i].target == d->exit[i].target &&
			    c->exit[i].length == d->exit[i].length &&
			    c->exit[i].kind == d->exit[i].kind &&
			    c->exit[i].into == d->exit[i].into);
	for (size_t i = 0; i < c->links + c->crosses; i++) {
		const struct dt_code_link *l = i < c->links ? &c->link[i] : &c->cross[i - c->links];
		const struct dt_code_link *m = i < c->links ? &d->link[i] : &d->cross[i - c->links];

		assert_true(l->from == m->from && l->to == m->to && l->kind == m->kind &&
			    l->length == m->length);
	}
	dt_code_close(c);
	dt_code_close(d);
}

static void same_file(const char *path, size_t most)
{
	const struct dt_function *f, *g;
	struct both b;
	size_t n, m;

	open_both(&b, path);
	/* one by one, before all are named */
	f = dt_symtab_functions(b.here, &n);
	for (size_t i = 0; i < n; i += n / 20 + 1) {
		g = dt_symtab_find(b.apart, f[i].address);
		assert_non_null(g);
		assert_string_equal(g->name, f[i].name);
	}
	g = dt_symtab_functions(b.apart, &m);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i += n / most + 1)
		same_function(&b, &f[i], &g[i]);
	same_aliases(&b);
	same_code(&b, path);
	assert_string_equal(dt_symtab_build_id(b.here), dt_symtab_build_id(b.apart));
	close_both(&b);
}

static void test_same(void **state)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n] = '\0';
	same_file(self, 1000);
	same_file("/lib/x86_64-linux-gnu/libc.so.6", 1000);
	same_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 1000);
	/* without symbols, but for what it is linked by; and what a compiler did not make */
	same_file("/bin/bash", 100);
	same_file("/lib/x86_64-linux-gnu/libcrypto.so.3", 100);
	/* without any */
	same_file("/bin/dash", 100);
	scratch_write("m.c", "int main(void) { return 0; }\n", 29);
	assert_int_equal(
		scratch_run(
			"gcc -O1 -s -static-pie -nostartfiles -nodefaultlibs -Wl,-emain -o m m.c"),
		0);
	same_file(scratch_path("m"), 100);
}

/* Its debug file lies beside it, or in .debug, where nobody else may look. */
static void test_beside(void **state)
{
	static const char text[] = "int twice(int n) { return 2 * n; } int main(int n, char **v) { "
				   "return twice(n); }\n";

	scratch_write("b.c", text, sizeof(text) - 1);
	assert_int_equal(
		scratch_run("gcc -g -O1 -Wl,--build-id=none -o b b.c && objcopy --only-keep-debug "
			    "b b.debug && "
			    "strip b && objcopy --add-gnu-debuglink=b.debug b && chmod 700 ."),
		0);
	same_file(scratch_path("b"), 100);
	assert_int_equal(scratch_run("mkdir .debug && mv b.debug .debug && echo no >b.debug"), 0);
	same_file(scratch_path("b"), 100);
	assert_int_equal(scratch_run("cp /bin/true b.debug"), 0);
	same_file(scratch_path("b"), 100);
	assert_int_equal(scratch_run("rm -r .debug b.debug"), 0);
	same_file(scratch_path("b"), 100);
}

static const char source[] =
	"struct inner { int n; const char *text; }; enum color { RED, GREEN };\n"
	"struct outer { struct inner *in; struct inner own; enum color c; };\n"
	"int table[10] = {1}; static long secret = 3;\n"
	"__attribute__((noinline)) int look(struct outer *o, int k, double d) {\n"
	"	int sum = o->in->n + k + table[k & 7] + (int)d + (int)secret;\n"
	"	secret += sum; return sum; }\n"
	"int main(int argc, char **argv) { struct inner i = {argc, argv[0]};\n"
	"	struct outer o = {&i, i, GREEN}; return look(&o, argc, 2.5); }\n"
	"int see(struct outer *o, int k, double d) __attribute__((alias(\"look\")));\n"
	"int view(struct outer *o, int k, double d) __attribute__((alias(\"look\")));\n"
	"int gaze(struct outer *o, int k, double d) __attribute__((alias(\"look\")));\n";

/* The bytes that mean something: there are others between them. */
static void same_variable(const struct dt_variable *a, const struct dt_variable *b)
{
	assert_string_equal(a->type, b->type);
	assert_int_equal(a->item.from.kind, b->item.from.kind);
	assert_int_equal(a->item.from.size, b->item.from.size);
	assert_int_equal(a->item.from.is_signed, b->item.from.is_signed);
	assert_int_equal(a->item.from.reg, b->item.from.reg);
	assert_int_equal(a->item.from.base, b->item.from.base);
	assert_int_equal(a->item.from.index, b->item.from.index);
	assert_int_equal(a->item.from.value, b->item.from.value);
	assert_int_equal(a->item.place, b->item.place);
	assert_int_equal(a->item.relative, b->item.relative);
	assert_int_equal(a->item.steps, b->item.steps);
	for (unsigned i = 0; i < a->item.steps; i++) {
		assert_int_equal(a->item.step[i].add, b->item.step[i].add);
		assert_int_equal(a->item.step[i].size, b->item.step[i].size);
		assert_int_equal(a->item.step[i].place, b->item.step[i].place);
	}
}

static void test_variables(void **state)
{
	static const char *const asked[] = {"k",	"o",	      "o->in->n", "o->in->text",
					    "o->own.n", "&o->own",    "o->c",	  "*o->in->text",
					    "table[3]", "secret",     "&table",	  "d",
					    "nowhere",	"o->nothing", "k->x",	  "o->in->n->x",
					    "",		"o->"};
	struct dt_variable here, apart;
	struct dt_error e, f;
	const struct dt_object *o;
	uint64_t address, other;
	unsigned known = 0;
	struct both b;

	scratch_write("c.c", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -w -g -O1 -o v c.c"), 0);
	open_both(&b, scratch_path("v"));
	assert_true(dt_symtab_address(b.here, "c.c", 3, 5, &address));
	assert_true(dt_symtab_address(b.apart, "c.c", 3, 5, &other));
	assert_int_equal(address, other);
	assert_false(dt_symtab_address(b.apart, "d.c", 3, 5, &other));
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		int rc = dt_variable_find(b.here, address, asked[i], &here, &e);

		assert_int_equal(rc, dt_variable_find(b.apart, address, asked[i], &apart, &f));
		if (rc < 0)
			assert_string_equal(e.text, f.text);
		else
			same_variable(&here, &apart);
		known += rc == 0;
	}
	assert_true(known >= 8);
	for (address = 0x1000; address < 0x8000; address += 4) {
		const struct dt_object *p = dt_symtab_object(b.here, address);

		o = dt_symtab_object(b.apart, address);
		assert_int_equal(p != NULL, o != NULL);
		if (p) {
			assert_int_equal(p->address, o->address);
			assert_int_equal(p->size, o->size);
			assert_string_equal(p->name, o->name);
		}
	}
	close_both(&b);
}

static void test_errors(void **state)
{
	struct dt_error e = {""};
	struct dt_symtab *t;

	assert_int_equal(dt_symtab_apart_start(dt_symtab_tell, &e), 0);
	/* the file goes away between its symbols and its code: nothing else is closed */
	assert_int_equal(scratch_run("cp /bin/true gone"), 0);
	t = dt_symtab_open(scratch_path("gone"), NULL, &e);
	assert_non_null(t);
	assert_int_equal(scratch_run("rm gone"), 0);
	assert_null(dt_code_open(scratch_path("gone"), t, &e));
	assert_true(fcntl(0, F_GETFD) >= 0);
	dt_symtab_close(t);
	assert_null(dt_symtab_open("/nowhere/x", NULL, &e));
	assert_non_null(strstr(e.text, "/nowhere/x"));
	scratch_write("t", "\177ELFnot really one", 18);
	assert_null(dt_symtab_open(scratch_path("t"), NULL, &e));
	assert_non_null(strstr(e.text, scratch_path("t")));
	assert_null(dt_symtab_apart_broken());
	dt_symtab_apart_stop();
}

/* ---- what it has ---- */

/* Tells what it could do: open what only root may, write anything, reach another process, the net;
 * who it is. */
static void serve_attempts(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;
	char *more;

	while ((more = dt_apart_next(channel, &ask))) {
		char text[512], status[4096] = "", *uid, *caps;
		int fds = 0, secret = open("/etc/shadow", O_RDONLY),
		    made = open("/tmp/apart-made", O_CREAT | O_RDWR, 0600);
		int net = socket(AF_INET, SOCK_STREAM, 0), killed = kill(getppid(), 0);
		int f = open("/proc/self/status", O_RDONLY);

		if (f < 0 || read(f, status, sizeof(status) - 1) < 0)
			status[0] = '\0';
		uid = strstr(status, "Uid:");
		caps = strstr(status, "CapPrm:");
		for (int i = 4; i < 1024; i++)
			fds += i != channel && i != file->fd && i != f && fcntl(i, F_GETFD) >= 0;
		snprintf(text, sizeof(text),
			 "secret %d made %d net %d killed %d fds %d %.20s %.24s", secret >= 0,
			 made >= 0, net >= 0, killed == 0, fds, uid ? uid : "", caps ? caps : "");
		dt_apart_tell(channel, -1, text, strlen(text));
		free(more);
	}
}

static void test_rights(void **state)
{
	struct dt_error e = {""};
	int kept = open("/etc/passwd", O_RDONLY);

	if (geteuid() != 0)
		skip();
	assert_int_equal(dt_apart_begin(serve_attempts, &e), 0);
	dt_symtab_opens = dt_symtab_apart_open;
	assert_null(dt_symtab_open("/proc/self/exe", NULL, &e));
	for (char *p = e.text; *p; p++)
		if (*p == '\t')
			*p = ' ';
#ifdef __SANITIZE_ADDRESS__
	/* they want to stop the other threads at the end */
	assert_non_null(strstr(e.text, "secret 0 made 0 net 0 killed "));
#else
	assert_non_null(strstr(e.text, "secret 0 made 0 net 0 killed 0 fds 0 Uid: 2147"));
#endif
	assert_non_null(strstr(e.text, "CapPrm: 0000000000000000"));
	dt_symtab_apart_stop();
	close(kept);
}

/* ---- whatever it answers ---- */

static uint64_t seed = 1;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void (*spoil)(char *bytes, size_t n);

static void some(char *bytes, size_t n)
{
	for (unsigned i = 0; n && i < 1 + any() % 4; i++)
		bytes[any() % n] = (char)any();
}

static void head(char *bytes, size_t n)
{
	static const uint64_t extreme[] = {0,	       1,	   ~0ull,      1ull << 63,
					   1ull << 32, 0x7fffffff, 1ull << 29, 1ull << 60};

	for (unsigned i = 0; n >= 24 && i < 3; i++)
		if (any() % 2)
			memcpy(bytes + 8 * i, &extreme[any() % 8], 8);
}

/* What the real one answers, by question. */
static struct {
	struct dt_apart_answer a;
	char *text;
} real[DT_QUESTIONS];

static void ask_real(const char *path, uint64_t address)
{
	struct dt_apart_ask ask = {0};
	struct dt_error e = {""};
	int channel, file;

	assert_int_equal(dt_symtab_apart_start(dt_symtab_tell, &e), 0);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	channel = dt_apart_connect(file, path, NULL, &e);
	close(file);
	assert_true(channel >= 0);
	for (uint32_t i = DT_ASK_ALL; i < DT_QUESTIONS; i++) {
		const char *more = i == DT_ASK_ADDRESS	  ? "c.c"
				   : i == DT_ASK_VARIABLE ? "o->in->n"
							  : "";

		ask = (struct dt_apart_ask){
			i,
			(uint32_t)strlen(more),
			{i == DT_ASK_ADDRESS ? 5 : address, i == DT_ASK_TYPE ? 256 : 0}};
		if (i == DT_ASK_OBJECT)
			ask.number[0] = address & ~0xfffull;
		free(real[i].text);
		real[i].text = dt_apart_ask(channel, &ask, more, 1u << 30, &real[i].a);
		assert_non_null(real[i].text);
	}
	close(channel);
	dt_symtab_apart_stop();
}

static void serve_spoiled(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;
	char *more;

	seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15u + 1;
	while ((more = dt_apart_next(channel, &ask))) {
		struct dt_apart_answer a = real[ask.what % DT_QUESTIONS].a;
		char *text = malloc(a.bytes + 1);
		size_t n = a.bytes;

		memcpy(text, real[ask.what % DT_QUESTIONS].text, n);
		if (spoil)
			spoil(text, n);
		if (spoil && any() % 8 == 0)
			n = any() % (n + 1);
		if (spoil && any() % 16 == 0)
			a.result = (int64_t)any();
		if (!dt_apart_tell(channel, a.result, text, n))
			_exit(1);
		free(text);
		free(more);
	}
}

/* Symbols are read by what answers so. */
static void begin_with(void (*serve)(int channel, const struct dt_apart_file *file))
{
	struct dt_error e = {""};

	if (dt_apart_begin(serve, &e) < 0)
		fail_msg("%s", e.text);
	dt_symtab_opens = dt_symtab_apart_open;
}

/* What is answered of the file `v'. Returns an address in a function of it. */
static uint64_t ask_real_of_v(void)
{
	uint64_t address;
	struct both b;

	open_both(&b, scratch_path("v"));
	assert_true(dt_symtab_address(b.here, "c.c", 3, 5, &address));
	close_both(&b);
	ask_real(scratch_path("v"), address);
	return address;
}

static unsigned believed; /* maps of code, of those that were spoiled */

static void use(struct dt_symtab *t)
{
	struct aliases a = {NULL, 0, 0};
	size_t n;
	const struct dt_function *f = dt_symtab_functions(t, &n);
	const char *file;
	char text[256];
	unsigned line;
	uint64_t address;

	for (size_t i = 0; i < n; i += n / 8 + 1) {
		dt_symtab_find(t, f[i].address);
		if (dt_symtab_line(t, f[i].address, &file, &line))
			assert_true(strlen(file) < 65536);
		dt_symtab_described(t, &f[i], text, sizeof(text));
		assert_true(strlen(text) < sizeof(text));
		assert_non_null(f[i].name);
		assert_true(strlen(f[i].name) < 1u << 30);
	}
	dt_symtab_aliases(t, count_alias, &a);
	dt_symtab_type(t, 42, text, sizeof(text));
	dt_symtab_address(t, "c.c", 3, 5, &address);
	for (size_t i = 0; i < n; i += n / 8 + 1) {
		uint64_t words[8] = {f[i].address, 0x7010, 0x7020};
		const struct dt_unwind_stack s = {0x7000, (const uint8_t *)words, sizeof(words)};
		struct dt_unwind_registers r = {.known = ~0u, .value = {[7] = 0x7008}};
		struct dt_unwind_row row;

		if (dt_symtab_unwind(t, f[i].address, &row) == 1)
			dt_unwind_step(&r, &row, &s);
	}
	for (address = 0x1000; address < 0x5000; address += 0x100) {
		const struct dt_object *o = dt_symtab_object(t, address);

		assert_true(!o || strlen(o->name) < 1u << 20);
	}
}

/* What is believed of a variable becomes code that fits where it is to be. */
static void use_variables(struct dt_symtab *t, uint64_t address)
{
	static const char *const asked[] = {"k", "o->in->n", "o->in->text", "table[3]", "d"};
	static uint8_t room[DT_CAPTURE_SIZE * 2];
	struct dt_error e;

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct dt_variable v;
		struct dt_emit o = {.bytes = room, .room = sizeof(room), .address = 0x2000};
		struct dt_capture c = {.hook = 0x1000, .peek = 0x1100, .text = 0x1200};
		struct dt_captured out;

		if (dt_variable_find(t, address, asked[i], &v, &e) < 0)
			continue;
		assert_true(strlen(v.type) < sizeof(v.type));
		v.item.text = 0;
		dt_capture_emit(&o, &v.item, 1, &c, &out);
		assert_true(o.size <= DT_CAPTURE_SIZE);
	}
}

/* A plan can be made of any map that is believed, and its patches. */
static void use_code(struct dt_symtab *t, const char *path)
{
	struct dt_space space = {0};
	struct dt_plan_options options = {.claim = dt_space_claim, .ctx = &space, .hook = 8};
	struct dt_error e;
	struct dt_code *c = dt_code_open(path, t, &e);
	struct dt_plan p;

	if (!c)
		return;
	believed++;
	dt_space_add(&space, 0x2000000, 0x7fff0000, &e);
	assert_int_equal(dt_plan_begin(&p, c, &options, &e), 0);
	for (size_t i = 0; i < c->functions; i++) {
		struct dt_plan_function f;

		if (c->function[i].part)
			continue;
		p.options.no_traps = i % 2;
		if (i % 3)
			dt_plan_function(&p, i, &f);
		else
			dt_plan_function_among(&p, i, &f);
		assert_non_null(f.why);
	}
	dt_plan_end(&p);
	dt_code_close(c);
	dt_space_free(&space);
}

static void try_spoiled(void (*how)(char *, size_t), int times)
{
	uint64_t address = ask_real_of_v();
	struct dt_error e;

	spoil = how;
	begin_with(serve_spoiled);
	for (int i = 0; i < times; i++) {
		struct dt_symtab *t = dt_symtab_open(scratch_path("v"), NULL, &e);

		if (!t)
			continue;
		use(t);
		use_variables(t, address);
		use_code(t, scratch_path("v"));
		dt_symtab_close(t);
	}
	dt_symtab_apart_stop();
}

static void test_spoiled(void **state)
{
	try_spoiled(some, 300);
	try_spoiled(head, 100);
	assert_true(believed > 20);
}

/* ---- one thing that can not be, and all else as it is ---- */

/* The tables of the real answers. */
static struct dt_told_code *told;
static struct dt_told_region *region_told;
static struct dt_code_function *function_told;
static struct dt_exit *exit_told;
static struct dt_code_link *link_told, *cross_told;
static struct dt_told_all *all_told;
static struct dt_told_function *symbol_told;
static struct dt_told_alias *alias_told;

static void find_told(void)
{
	told = (void *)real[DT_ASK_CODE].text;
	region_told = (void *)(told + 1);
	function_told = (void *)(region_told + told->regions);
	exit_told = (void *)(function_told + told->functions);
	link_told = (void *)(exit_told + told->exits);
	cross_told = (void *)(link_told + told->links);
	all_told = (void *)real[DT_ASK_ALL].text;
	symbol_told = (void *)(all_told + 1);
	alias_told = (void *)(symbol_told + all_told->functions);
	/* there is something to be made untrue of each */
	assert_true(told->functions > 3 && told->exits > 2 && told->links > 2 && told->crosses);
	assert_true(all_told->functions > 3 && all_told->aliases > 2);
}

/* With what is `size' bytes at `at' as `value' says: is the file, and its code, believed? */
static bool is_believed(void *at, const void *value, size_t size)
{
	struct dt_error e = {""};
	struct dt_symtab *t;
	struct dt_code *c;
	uint8_t was[64];

	memcpy(was, at, size);
	memcpy(at, value, size);
	spoil = NULL;
	begin_with(serve_spoiled);
	t = dt_symtab_open(scratch_path("v"), NULL, &e);
	c = t ? dt_code_open(scratch_path("v"), t, &e) : NULL;
	if (!c && !strstr(e.text, "can not be"))
		fail_msg("%s", e.text);
	for (size_t i = 0; c && i < c->functions; i++) {
		uint8_t found;

		memcpy(&found, &c->function[i].found, 1);
		assert_true(found <= 1);
	}
	if (c)
		dt_code_close(c);
	if (t)
		dt_symtab_close(t);
	dt_symtab_apart_stop();
	memcpy(at, was, size);
	return c != NULL;
}

#define BELIEVED(at, value)                                                                        \
	({                                                                                         \
		typeof(at) v_ = (value);                                                           \
		is_believed(&(at), &v_, sizeof(v_));                                               \
	})

/* With a region of as many bytes that begins there. */
static bool region_moves(size_t i, uint64_t low)
{
	struct dt_told_region moved = region_told[i];

	moved.high = low + (moved.high - moved.low);
	moved.low = low;
	return BELIEVED(region_told[i], moved);
}

/* Parts of functions in a ring that no function leads to. */
static bool ring_is_believed(void)
{
	uint32_t was = function_told[1].next_part;
	bool yes;

	for (size_t i = 0; i < told->functions; i++)
		assert_int_equal(function_told[i].next_part, 0);
	function_told[1].next_part = 2;
	yes = BELIEVED(function_told[2].next_part, 1);
	function_told[1].next_part = was;
	return yes;
}

/* Has the region of this address room for n bytes from there on? */
static bool has_room(uint64_t address, uint64_t n)
{
	for (size_t i = 0; i < told->regions; i++)
		if (address >= region_told[i].low && address < region_told[i].high)
			return region_told[i].high - address >= n;
	return false;
}

static void test_directed(void **state)
{
	size_t plt;

	const uint8_t seven = 7;
	size_t x = 0, l = 0;

	ask_real_of_v();
	find_told();
	/* that an instruction is too long is said of no other reason */
	while (x < told->exits && !has_room(exit_told[x].address, 16))
		x++;
	while (l < told->links && !has_room(link_told[l].from, 16))
		l++;
	assert_true(x < told->exits && l < told->links);
	assert_false(BELIEVED(exit_told[x].length, 16));
	assert_false(BELIEVED(link_told[l].length, 16));
	assert_true(BELIEVED(exit_told[x].length, 15));
	assert_true(BELIEVED(link_told[l].length, 15));
	assert_true(BELIEVED(told->covered, told->covered));
	assert_true(is_believed(&function_told[0].found, &seven, 1)); /* as true */

	assert_false(BELIEVED(function_told[0].exits, (uint32_t)told->exits + 1));
	assert_false(BELIEVED(function_told[0].first_exit, (uint32_t)told->exits + 1));
	assert_false(BELIEVED(function_told[0].links, (uint32_t)told->links + 1));
	assert_false(BELIEVED(function_told[0].first_link, (uint32_t)told->links + 1));
	assert_false(BELIEVED(function_told[0].end, ~0ull));
	assert_false(BELIEVED(function_told[0].start, 1));
	assert_false(BELIEVED(function_told[1].start, function_told[0].start));
	assert_false(BELIEVED(function_told[0].whole, (uint32_t)told->functions));
	assert_false(BELIEVED(function_told[0].next_part, (uint32_t)told->functions));
	assert_false(BELIEVED(function_told[1].next_part, 1));
	assert_false(ring_is_believed());
	assert_false(BELIEVED(exit_told[0].address, 1));
	assert_false(BELIEVED(exit_told[0].length, 16));
	assert_false(BELIEVED(exit_told[0].length, 0));
	assert_false(BELIEVED(exit_told[1].address, exit_told[0].address - 1));
	assert_false(BELIEVED(link_told[0].from, 1));
	assert_false(BELIEVED(link_told[0].length, 16));
	assert_false(BELIEVED(link_told[1].from, link_told[0].from - 1));
	assert_false(BELIEVED(cross_told[0].length, 16));
	assert_false(BELIEVED(region_told[0].offset, 1ull << 40));
	assert_false(BELIEVED(region_told[0].high, region_told[0].low));
	for (plt = 0; plt < told->regions && !region_told[plt].plt; plt++)
		;
	assert_true(plt < told->regions);
	assert_true(region_moves(plt, region_told[plt].low));
	/* no function is in it: nothing else speaks against its being on the last byte of one */
	assert_false(region_moves(plt, region_told[told->regions - 1].high - 1));

	assert_false(BELIEVED(symbol_told[0].linkage, (uint32_t)all_told->text));
	assert_false(BELIEVED(symbol_told[1].address, symbol_told[0].address));
	assert_false(BELIEVED(alias_told[0].linkage, (uint32_t)all_told->text));
	assert_false(BELIEVED(alias_told[1].address, alias_told[0].address - 1));
	assert_false(BELIEVED(all_told->functions, all_told->functions + 1));
}

static void serve_end(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;

	free(dt_apart_next(channel, &ask));
}

static void serve_for_ever(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;
	char text[32];

	free(dt_apart_next(channel, &ask));
	snprintf(text, sizeof(text), "%d", getpid());
	dt_apart_tell(channel, -1, text, strlen(text));
	signal(SIGPIPE, SIG_IGN);
	for (;;)
		prctl(PR_SET_PDEATHSIG, 0);
}

/* One that never comes to an end, and would rather not, ends with who has begun it. */
static void test_for_ever(void **state)
{
	struct dt_error e = {""};
	pid_t pid;

	begin_with(serve_for_ever);
	assert_null(dt_symtab_open("/proc/self/exe", NULL, &e));
	pid = atoi(e.text);
	assert_true(pid > 1);
	dt_symtab_apart_stop();
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
		usleep(10000);
#ifndef __SANITIZE_ADDRESS__ /* which has it call prctl */
	assert_int_equal(kill(pid, 0), -1);
#endif
	kill(pid, SIGKILL);
}

static void interrupted(int signal)
{
}

static void serve_nothing(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;

	free(dt_apart_next(channel, &ask));
	free(dt_apart_next(channel, &ask));
}

/* Signals that come all the time, and restart nothing, take nothing away, and do not make it wait
 * longer. */
static void test_signals(void **state)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	const struct sigaction act = {.sa_handler = interrupted};
	struct dt_error e = {""};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	same_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 100);
	begin_with(serve_nothing);
	dt_apart_patience = 300000000;
	assert_null(dt_symtab_open("/proc/self/exe", NULL, &e));
	assert_non_null(strstr(e.text, "did not answer"));
	dt_apart_patience = 60000000000;
	setitimer(ITIMER_REAL, &never, NULL);
	dt_symtab_apart_stop();
}

static void serve_who(int channel, const struct dt_apart_file *file)
{
	struct dt_apart_ask ask;
	char text[32];

	free(dt_apart_next(channel, &ask));
	snprintf(text, sizeof(text), "%d", getppid());
	dt_apart_tell(channel, -1, text, strlen(text));
}

static void test_ends(void **state)
{
	struct dt_error e = {""};
	pid_t pid;

	/* who forks the others is killed */
	begin_with(serve_who);
	assert_null(dt_symtab_open("/proc/self/exe", NULL, &e));
	pid = atoi(e.text);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (int i = 0; i < 1000 && !dt_apart_gone(); i++) {
		assert_null(dt_symtab_open("/proc/self/exe", NULL, &e));
		usleep(1000);
	}
	assert_non_null(strstr(e.text, "/proc/self/exe: there is no process to read it"));
	dt_symtab_apart_stop();

	begin_with(serve_end);
	assert_null(dt_symtab_open(scratch_path("v"), NULL, &e));
	assert_non_null(strstr(e.text, "has ended"));
	/* nor is its code read here, then */
	assert_null(dt_code_open(scratch_path("v"), NULL, &e));
	assert_non_null(strstr(e.text, "its symbols can not"));
	assert_string_equal(dt_symtab_apart_broken(), "/proc/self/exe"); /* the first */
	dt_symtab_apart_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),	  cmocka_unit_test(test_beside),
		cmocka_unit_test(test_variables), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_rights),	  cmocka_unit_test(test_spoiled),
		cmocka_unit_test(test_directed),  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_signals),	  cmocka_unit_test(test_for_ever),
	};

	/* every file is to be read by a process */
	setenv("DEVTRACE_MEMOS", "", 1);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
