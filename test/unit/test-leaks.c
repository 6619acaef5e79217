/* SPDX-License-Identifier: MIT */
/*
 * What reads files gives back what it has taken, whatever is wrong with them: files of each kind
 * are damaged, cut, or not there at all, and after each is read as many descriptors are open as
 * before, and as many blocks are allocated when it is read once more. (With sanitizers, LSan counts
 * the blocks.) So do those who receive descriptors in messages that are not as they should
 * be.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "analyse/window.h"
#include "elf/elf.h"
#include "elf/usdt.h"
#include "import/formats.h"
#include "import/nest.h"
#include "process/passed.h"
#include "store/copy.h"
#include "store/reader.h"
#include "symbols/debuginfod-work.h"
#include "symbols/symtab.h"
#include "test/unit/test-elf-scratch.h"

#define AGAIN 3 /* what is kept for the next time is there by the second one */

#ifndef __SANITIZE_ADDRESS__
/* ---- blocks that are allocated ---- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t by, size_t n);
void __libc_free(void *p);

static atomic_long blocks;

void *malloc(size_t n)
{
	void *p = __libc_malloc(n);

	blocks += p != NULL;
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = __libc_calloc(n, size);

	blocks += p != NULL;
	return p;
}

void *realloc(void *p, size_t n)
{
	void *q = __libc_realloc(p, n);

	blocks += !p && q;
	blocks -= p && !n && !q;
	return q;
}

void *memalign(size_t by, size_t n)
{
	void *p = __libc_memalign(by, n);

	blocks += p != NULL;
	return p;
}

void *aligned_alloc(size_t by, size_t n)
{
	return memalign(by, n);
}

int posix_memalign(void **p, size_t by, size_t n)
{
	*p = memalign(by, n);
	return *p ? 0 : ENOMEM;
}

void free(void *p)
{
	blocks -= p != NULL;
	__libc_free(p);
}
#else
static atomic_long blocks; /* LSan counts them */
#endif

static uint64_t seed = 20261130;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- the readers ---- */

static void read_elf(const char *path)
{
	struct dt_error e;
	struct dt_elf *f = dt_elf_open(path, &e);

	struct dt_usdt usdt = {0};
	uint64_t at, size;

	if (!f)
		return;
	dt_elf_symbol(f, "main", &at, &size);
	free(dt_elf_section(f, ".comment", &size, &at));
	free(dt_elf_section(f, ".nothing", &size, &at));
	if (dt_usdt_read(f, &usdt, &e) == 0)
		dt_usdt_free(&usdt);
	dt_elf_close(f);
}

static void read_symtab(const char *path)
{
	struct dt_error e;
	struct dt_symtab *t = dt_symtab_open(path, scratch, &e);
	const struct dt_function *f;
	const char *file;
	char text[300];
	unsigned line;
	size_t n;

	if (!t)
		return;
	f = dt_symtab_functions(t, &n);
	for (size_t i = 0; i < n && i < 20; i++) {
		dt_symtab_signature(t, &f[i], text, sizeof(text));
		dt_symtab_line(t, f[i].address, &file, &line);
	}
	dt_symtab_close(t);
}

/* Counts the records, and sums the trace up, as view does. */
static void read_trace(const char *path)
{
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_error e;
	struct dt_reader *r = dt_reader_open(path, &e);
	struct dt_pyramid *p;
	struct dt_windows *w;
	struct dt_span s;

	if (!r)
		return;
	if (dt_reader_start(r, &range, &e) == 0)
		while (dt_reader_next(r, &s, &e) > 0)
			continue;
	p = dt_pyramid_open(r, path, &e);
	if (p) {
		while (dt_pyramid_build(p, 1000000, &e) > 0)
			continue;
		w = dt_windows_new(p, path, &e);
		if (w)
			dt_windows_free(w);
		dt_pyramid_close(p);
	}
	dt_reader_close(r);
}

static void copy_trace(const char *path)
{
	const char *to = scratch_path("copied");
	struct dt_copy_place place;
	struct dt_error e;
	int64_t last;
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	dt_copy_trace(path, fd, &e);
	close(fd);
	unlink(to);
	dt_copy_snapshot(path, to, "note", &e);
	unlink(to);
	if (dt_copy_last_chunk(path, &last, &e) == 0)
		dt_copy_since(path, last / 2, to, &e);
	unlink(to);
	if (dt_copy_place(&place, &e) == 0)
		dt_copy_remove(&place);
}

static void import(const char *path)
{
	struct dt_import_records records = {0};
	struct dt_imported m = {0};
	const char *format;
	struct dt_error e;
	struct stat st;
	int rc = -1;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		rc = dt_import_folder(&m, fd, path, &format, &e);
		close(fd);
	} else {
		FILE *f = fopen(path, "re");

		if (f) {
			rc = dt_import_file(&m, f, path, &format, &e);
			fclose(f);
		}
	}
	if (rc == 0)
		dt_import_nest(&m, &records, &e);
	free(records.record);
	dt_imported_free(&m);
}

/* ---- damaged files ---- */

static char *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *bytes = NULL;

	*n = 0;
	assert_non_null(f);
	for (size_t got = 1; got; *n += got) {
		bytes = realloc(bytes, *n + 65536);
		assert_non_null(bytes);
		got = fread(bytes + *n, 1, 65536, f);
	}
	fclose(f);
	return bytes;
}

/* Whole, cut off, without bytes, or with some changed, mostly at the beginning: there is what says
 * what the rest is. */
static void damage(const char *path, const char *bytes, size_t n, unsigned round)
{
	char *copy = malloc(n + 1);
	size_t left = n;
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_non_null(copy);
	memcpy(copy, bytes, n);
	if (round % 4 == 1)
		left = round == 1 ? 0 : round == 5 ? n - 1 : any(any(2) ? (uint32_t)n : 200) % n;
	else if (round)
		for (unsigned k = 1 + any(4); k; k--) {
			size_t at = any(any(2) ? 130 : any(2) ? 4096 : (uint32_t)n) % n;

			copy[at] = (char)(any(2) ? copy[at] ^ 1 << any(8) : any(2) ? 255 : 0);
		}
	assert_int_equal(fwrite(copy, 1, left, f), left);
	assert_int_equal(fclose(f), 0);
	free(copy);
}

/* Reads the file a few times, and counts what is open and allocated then. */
static void try(const char *what, void (*fn)(const char *path), const char *path)
{
	unsigned files = open_files(), after;
	long before = 0;

	for (unsigned i = 0; i < AGAIN; i++) {
		before = blocks;
		fn(path);
	}
	if (blocks != before)
		fail_msg("%s: %ld blocks are left", what, blocks - before);
	after = open_files();
	if (after != files)
		fail_msg("%s: %d files are left open", what, (int)(after - files));
}

static void each(void (*fn)(const char *path), const char *good, unsigned rounds)
{
	size_t n;
	char *bytes = read_all(scratch_path(good), &n), what[100];

	for (unsigned round = 0; round < rounds; round++) {
		const char *path = scratch_path("bad");

		damage(path, bytes, n, round);
		snprintf(what, sizeof(what), "%s, %u", good, round);
		try(what, fn, path);
		unlink(path);
		snprintf(what, sizeof(what), "%s-wal", path);
		unlink(what);
		snprintf(what, sizeof(what), "%s-shm", path);
		unlink(what);
	}
	free(bytes);
	/* nothing, a folder, what may not be read, a file in place of a folder */
	try("none", fn, scratch_path("none"));
	assert_int_equal(mkdir(scratch_path("folder"), 0700), 0);
	try("a folder", fn, scratch_path("folder"));
	assert_int_equal(rmdir(scratch_path("folder")), 0);
	try("beyond a file", fn, scratch_path("p/q"));
}

static void test_objects(void **state)
{
	static const char source[] =
		"#include <stdio.h>\n"
		"struct s { int a[3]; double d; };\n"
		"__attribute__((noinline)) int f(struct s *x, const char *t) { return "
		"x->a[0] + *t; }\n"
		"static __attribute__((noinline)) double g(double d) { return d * 2; }\n"
		"int main(int argc, char **argv) { struct s x = {{argc}, 1}; "
		"return f(&x, *argv) + (int)g(x.d); }\n";

	(void)state;
	scratch_write("p.c", source, sizeof(source) - 1);
	assert_int_equal(
		scratch_run("gcc -g -O1 -o p p.c && objcopy --only-keep-debug p p.debug "
			    "&& strip -o bare p && objcopy --add-gnu-debuglink=p.debug bare"),
		0);
	each(read_elf, "p", 300);
	each(read_symtab, "p", 300);
	each(read_symtab, "bare", 100);
	/* what the file's debuglink leads to is the damaged one */
	assert_int_equal(scratch_run("mv p.debug good"), 0);
	for (unsigned round = 0; round < 60; round++) {
		char what[40];
		size_t n;
		char *bytes = read_all(scratch_path("good"), &n);

		damage(scratch_path("p.debug"), bytes, n, round);
		snprintf(what, sizeof(what), "p.debug, %u", round);
		try(what, read_symtab, scratch_path("bare"));
		free(bytes);
	}
}

static void test_traces(void **state)
{
	(void)state;
	assert_int_equal(scratch_run("\"$DEVTRACE_ROOT\"/build/test/tool/maketrace -n 3000 -c 2 "
				     "-t 3 -m 9 t.db >/dev/null"),
			 0);
	each(read_trace, "t.db", 150);
	each(copy_trace, "t.db", 60);
}

static void test_imports(void **state)
{
	static const char *const format[] = {"chrome", "list", "basic", "flight", "perf"};

	(void)state;
	for (size_t i = 0; i < sizeof(format) / sizeof(*format); i++) {
		assert_int_equal(scratch_run("python3 \"$DEVTRACE_ROOT\"/test/golden/foreign %s %s",
					     format[i], format[i]),
				 0);
		each(import, format[i], 100);
	}
	assert_int_equal(scratch_run("python3 \"$DEVTRACE_ROOT\"/test/golden/foreign uftrace u"),
			 0);
	for (unsigned round = 0; round < 40; round++) {
		static const char *const part[] = {"info", "task.txt", "11.dat", "perf-cpu1.dat"};
		char name[40], what[60];
		size_t n;
		char *bytes;

		snprintf(name, sizeof(name), "u/%s", part[any(4)]);
		bytes = read_all(scratch_path(name), &n);
		damage(scratch_path(name), bytes, n, round);
		snprintf(what, sizeof(what), "%s, %u", name, round);
		try(what, import, scratch_path("u"));
		scratch_write(name, bytes, n);
		free(bytes);
	}
}

/* ---- messages ---- */

/* Messages of any length with any number of descriptors. Who receives them has as many of these as
 * it says, and closes the rest. */
static void test_messages(void **state)
{
	int s[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned files;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	files = open_files();
	for (unsigned round = 0; round < 600; round++) {
		static char bytes[2 * sizeof(struct dt_debuginfod_told)];
		const size_t right = sizeof(struct dt_debuginfod_told);
		size_t n = any(2) ? right : 1 + any(sizeof(bytes)), fds = any(2) ? any(2) : any(17);
		int fd[DT_PASSED_MOST], got[DT_PASSED_MOST];

		for (size_t i = 0; i < fds; i++)
			fd[i] = null;
		memset(bytes, 'x', sizeof(bytes));
		assert_true(dt_passed_send(s[0], bytes, n, fd, fds));
		if (round % 2) {
			struct dt_debuginfod_told told;
			int file = -2;
			bool came = dt_debuginfod_receive(s[1], &told, &file);

			/* what is longer is cut, which its sender never is */
			assert_true(came == (n >= right));
			assert_true(came ? (file >= 0) == (fds > 0) : file == -1);
			if (file >= 0)
				close(file);
		} else {
			size_t most = any(DT_PASSED_MOST + 1), had = most;

			assert_int_equal(dt_passed_receive(s[1], bytes, sizeof(bytes), got, &had),
					 n);
			assert_int_equal(had, fds < most ? fds : most);
			for (size_t i = 0; i < had; i++) {
				assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
				close(got[i]);
			}
		}
		assert_int_equal(open_files(), files);
	}
	close(s[0]);
	assert_int_equal(open_files(), files - 1);
	close(s[1]);
	close(null);
}

static int begin(void **state)
{
	char root[PATH_MAX];

	if (!getenv("DEVTRACE_ROOT") && getcwd(root, sizeof(root)))
		setenv("DEVTRACE_ROOT", root, 1);
	return scratch_make(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_imports),
		cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests(tests, begin, scratch_remove);
}
