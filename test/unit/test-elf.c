/* SPDX-License-Identifier: MIT */
/* elf/elf.c: what it reads of real programs, what it says of other files, and that no damage
 * to a file harms the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <sys/mman.h>

#include "elf/elf.h"
#include "symbols/symtab.h"
#include "test/unit/test-elf-scratch.h"

#define MUTATIONS 20000

static const char source[] =
	"#include <stdio.h>\n"
	"__attribute__((noinline)) int leaf(int x) { return x + 1; }\n"
	"__attribute__((noinline)) int tail(int x) { return leaf(x * 2); }\n"
	"int main(int argc, char **argv) { return tail(argc) + leaf(argc); }\n";

static void build(const char *name, const char *flags)
{
	scratch_write("p.c", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -w -g -O2 %s -B\"$L\" -o %s p.c", flags, name), 0);
}

static uint64_t address_of(struct dt_elf *f, const char *name)
{
	uint64_t vaddr, size;

	assert_int_equal(dt_elf_symbol(f, name, &vaddr, &size), 0);
	assert_true(size > 0);
	return vaddr;
}

static void check_program(const char *name, bool dynamic, uint16_t type)
{
	struct dt_error e = {""};
	struct dt_elf *f = dt_elf_open(scratch_path(name), &e);
	uint64_t leaf, tail;
	int kinds[4] = {0};

	assert_string_equal(e.text, "");
	assert_non_null(f);
	assert_int_equal(f->type, type);
	assert_int_equal(f->machine, EM_X86_64);
	assert_true(f->loads > 0 && f->high > f->low);
	assert_true(!f->entry || (f->entry >= f->low && f->entry < f->high));
	if (dynamic)
		assert_string_equal(f->interp, "/lib64/ld-linux-x86-64.so.2");
	else
		assert_null(f->interp);
	assert_int_equal(strlen(f->build_id), 40);
	leaf = address_of(f, "leaf");
	tail = address_of(f, "tail");
	assert_int_equal(f->bad_sites, 0);
	for (size_t i = 0; i < f->sites; i++) {
		if (f->site[i].function == leaf || f->site[i].function == tail)
			kinds[f->site[i].kind]++;
		if (f->site[i].kind != DT_ELF_TAIL)
			assert_int_equal(f->site[i].target, 0);
		else if (f->site[i].function == tail)
			assert_int_equal(f->site[i].target, leaf);
		if (i)
			assert_true(f->site[i].address > f->site[i - 1].address);
	}
	assert_int_equal(kinds[DT_ELF_ENTRY], 2);
	assert_int_equal(kinds[DT_ELF_RETURN], 1);
	assert_int_equal(kinds[DT_ELF_TAIL], 1);
	assert_non_null(dt_elf_site_at(f, leaf));
	assert_null(dt_elf_site_at(f, leaf + 1));
	assert_true(f->hooks && f->thunk_entry && f->thunk_exit);
	assert_int_equal(f->thunk_entry + 7, f->thunk_exit);
	assert_int_equal(dt_elf_symbol(f, "no_such_function", &leaf, NULL), -1);
	dt_elf_close(f);
}

static void test_programs(void **state)
{
	build("pie", "-Wl,--build-id=sha1");
	check_program("pie", true, ET_DYN);
	build("fixed", "-no-pie -Wl,--build-id=sha1");
	check_program("fixed", true, ET_EXEC);
	build("library.so", "-shared -fPIC -Wl,--build-id=sha1");
	check_program("library.so", false, ET_DYN);
	build("static", "-static -Wl,--build-id=sha1");
	check_program("static", false, ET_EXEC);
}

static void test_without_sleds(void **state)
{
	struct dt_error e;
	struct dt_elf *f;

	scratch_write("q.c", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -w -o plain q.c"), 0);
	f = dt_elf_open(scratch_path("plain"), &e);
	assert_non_null(f);
	assert_int_equal(f->sites, 0);
	assert_int_equal(f->hooks, 0);
	dt_elf_close(f);
}

/* A site whose bytes are something else is left out and counted. */
static void test_bad_sites(void **state)
{
	struct dt_error e;
	struct dt_elf *f;
	size_t n, sites;
	unsigned char *bytes;
	uint64_t offset;

	build("good", "-no-pie");
	f = dt_elf_open(scratch_path("good"), &e);
	assert_non_null(f);
	sites = f->sites;
	offset = address_of(f, "leaf");
	for (size_t i = 0; i < f->loads; i++)
		if (f->load[i].flags & PF_X)
			offset += f->load[i].offset - f->load[i].vaddr;
	dt_elf_close(f);
	bytes = scratch_read("good", &n);
	assert_int_equal(bytes[offset], 0xa9);
	bytes[offset] = 0x90;
	scratch_write("bad", bytes, n);
	bytes[offset] = 0xa9;
	bytes[offset + 1] ^= 0x40; /* leads elsewhere than to the thunk */
	scratch_write("astray", bytes, n);
	free(bytes);
	f = dt_elf_open(scratch_path("bad"), &e);
	assert_int_equal(f->sites, sites - 1);
	assert_int_equal(f->bad_sites, 1);
	dt_elf_close(f);
	f = dt_elf_open(scratch_path("astray"), &e);
	assert_int_equal(f->bad_sites, 1);
	dt_elf_close(f);
}

static void expect(const char *path, const char *part)
{
	struct dt_error e = {""};

	assert_null(dt_elf_open(path, &e));
	if (!strstr(e.text, part))
		fail_msg("'%s' does not say '%s'", e.text, part);
	assert_null(strchr(e.text, '\n'));
}

static void test_other_files(void **state)
{
	unsigned char *p;
	size_t n;

	build("is", "");
	p = scratch_read("is", &n);
	scratch_write("script", "#! /usr/bin/env  python3 \nprint()\n", 34);
	expect(scratch_path("script"), "script: trace its interpreter, /usr/bin/env  python3");
	scratch_write("text", "hello", 5);
	expect(scratch_path("text"), "is not a program or library");
	scratch_write("empty", "", 0);
	expect(scratch_path("empty"), "is empty");
	expect(scratch_path("missing"), "No such file or directory");
	expect(scratch, "is a directory");
	expect("/dev/null", "is not a regular file");
	scratch_write("head", p, 40);
	expect(scratch_path("head"), "is cut off");
	scratch_write("half", p, n / 8);
	expect(scratch_path("half"), "is cut off");
	p[EI_CLASS] = ELFCLASS32;
	scratch_write("x32", p, n);
	expect(scratch_path("x32"), "x32");
	p[18] = EM_386;
	scratch_write("i386", p, n);
	expect(scratch_path("i386"), "32-bit program (i386)");
	p[EI_CLASS] = ELFCLASS64;
	p[18] = EM_AARCH64;
	scratch_write("arm", p, n);
	expect(scratch_path("arm"), "for AArch64");
	p[18] = 0xef, p[19] = 0xbe;
	scratch_write("odd", p, n);
	expect(scratch_path("odd"), "machine number 48879");
	p[18] = EM_X86_64, p[19] = 0;
	p[16] = ET_CORE;
	scratch_write("core", p, n);
	expect(scratch_path("core"), "core dump");
	p[16] = ET_REL;
	scratch_write("rel", p, n);
	expect(scratch_path("rel"), "object file");
	free(p);
}

static uint64_t seed = 20240229;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* Reads everything there is to read of a file, whatever it answers. */
static void use(const char *path)
{
	struct dt_elf *f = dt_elf_open(path, NULL);
	struct dt_symtab *t = dt_symtab_open(path, "/nowhere", NULL);
	uint64_t address, size;
	char text[512];

	if (f)
		dt_elf_symbol(f, "leaf", &address, &size);
	dt_elf_close(f);
	if (t) {
		size_t n;
		const struct dt_function *fn = dt_symtab_functions(t, &n);
		const char *file;
		unsigned line;

		for (size_t i = 0; i < n; i++) {
			dt_symtab_signature(t, &fn[i], text, sizeof(text));
			dt_symtab_line(t, fn[i].address, &file, &line);
			assert_non_null(dt_symtab_find(t, fn[i].address));
		}
	}
	dt_symtab_close(t);
}

/* Half of the damage goes to the headers, where it matters most. */
static void test_damage(void **state)
{
	unsigned char *good, *bad;
	char path[64];
	size_t n;
	int fd = memfd_create("damaged", MFD_CLOEXEC); /* the disk would take most of the time */

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	build("victim", "");
	good = scratch_read("victim", &n);
	bad = malloc(n);
	assert_non_null(bad);
	for (int i = 0; i < MUTATIONS; i++) {
		uint64_t sections;
		size_t size = any(16) ? n : any((uint32_t)n);

		memcpy(bad, good, n);
		memcpy(&sections, good + offsetof(Elf64_Ehdr, e_shoff), 8);
		for (uint32_t k = any(8) + 1; k; k--) {
			size_t at = any((uint32_t)n);

			if (any(2))
				at = any(2) ? 16 + any(1000)
					    : sections + any((uint32_t)(n - sections));
			bad[at] = (unsigned char)(any(3) ? any(256) : any(2) ? 0xff : 0);
		}
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bad, size, 0), size);
		use(path);
	}
	close(fd);
	free(good);
	free(bad);
}

static const char events[] = "#include <devtrace.h>\n"
			     "enum { NET = 7, SEND = 3 };\n"
			     "__attribute__((noinline)) int work(int n)\n"
			     "{\n"
			     "	DT_EVENT(NET, SEND, n);\n"
			     "	DT_EVENT(65535, 65535, n, 1, 2);\n"
			     "	DT_TEXT(NET, 4, \"words\", 5);\n"
			     "	DT_RAW(n);\n"
			     "	DT_SEND(n);\n"
			     "	DT_RECEIVE(n);\n"
			     "	DT_DISABLE_PROCESS();\n"
			     "	return DT_SUBSYSTEM_ENABLED(NET);\n"
			     "}\n"
			     "int main(void) { return work(1); }\n";

static void build_events(const char *name, const char *flags)
{
	const char *root = getenv("DEVTRACE_ROOT");
	char here[PATH_MAX];

	scratch_write("v.c", events, sizeof(events) - 1);
	assert_int_equal(scratch_run("gcc -w -g -O2 %s -B\"$L\" -I'%s/include' -o %s v.c", flags,
				     root ? root : getcwd(here, sizeof(here)), name),
			 0);
}

static void check_events(const char *name, bool sleds)
{
	/* as they stand in the source */
	static const struct dt_elf_event want[] = {
		{.kind = 'V',
		 .values = 1,
		 .subsystem = 7,
		 .event = 3,
		 .subsystem_name = "NET",
		 .event_name = "SEND"},
		{.kind = 'V',
		 .values = 3,
		 .subsystem = 65535,
		 .event = 65535,
		 .subsystem_name = "65535",
		 .event_name = "65535"},
		{.kind = 'V',
		 .values = 4,
		 .flags = DT_EVENT_TEXT,
		 .subsystem = 7,
		 .event = 4,
		 .subsystem_name = "NET",
		 .event_name = "4"},
		{.kind = 'V',
		 .values = 1,
		 .flags = DT_EVENT_FREE,
		 .subsystem_name = "raw",
		 .event_name = ""},
		{.kind = 'M',
		 .values = 1,
		 .flags = DT_EVENT_FREE,
		 .subsystem_name = "message",
		 .event_name = "send"},
		{.kind = 'N',
		 .values = 1,
		 .flags = DT_EVENT_FREE,
		 .subsystem_name = "message",
		 .event_name = "receive"},
		{.flags = DT_EVENT_FREE | DT_EVENT_CONTROL,
		 .subsystem_name = "devtrace",
		 .event_name = "disable"},
		{.subsystem = 7, .subsystem_name = "NET", .event_name = ""},
	};
	struct dt_error e = {""};
	struct dt_elf *f = dt_elf_open(scratch_path(name), &e);
	size_t n = 0;

	assert_string_equal(e.text, "");
	assert_non_null(f);
	assert_int_equal(f->bad_sites, 0);
	assert_int_equal(f->events, sizeof(want) / sizeof(want[0]));
	assert_true(f->event_hooks && f->thunk_event[0] && f->thunk_event[1] && f->thunk_event[2]);
	assert_int_equal(!!f->hooks, sleds);
	for (size_t i = 0; i < f->sites; i++) {
		const struct dt_elf_site *s = &f->site[i];
		const struct dt_elf_event *v = &f->event[s->event], *w = &want[n];

		if (s->kind != DT_ELF_EVENT)
			continue;
		assert_int_equal(v->kind, w->kind);
		assert_int_equal(v->values, w->values);
		assert_int_equal(v->flags, w->flags);
		assert_int_equal(v->subsystem, w->subsystem);
		assert_int_equal(v->event, w->event);
		assert_string_equal(v->subsystem_name, w->subsystem_name);
		assert_string_equal(v->event_name, w->event_name);
		assert_ptr_equal(dt_elf_site_at(f, s->address), s);
		assert_ptr_equal(dt_elf_event_at(f, v->pc), v->pc ? s : NULL);
		if (v->flags & DT_EVENT_TEXT)
			assert_ptr_equal(dt_elf_event_at(f, v->more), s);
		n++;
	}
	assert_int_equal(n, f->events);
	dt_elf_close(f);
}

static void test_events(void **state)
{
	build_events("v-sleds", "");
	check_events("v-sleds", true);
	build_events("v-static", "-static");
	check_events("v-static", true);
	build_events("v-library", "-shared -fPIC");
	check_events("v-library", true);
	build_events("v-plain", "-B/usr/bin");
	check_events("v-plain", false);
}

/* Whatever a byte of the table is, no site is made where none is, and none without its thunk. */
static void test_bad_events(void **state)
{
	uint64_t address[16], size, vaddr, offset = 0;
	size_t n, sites = 0;
	struct dt_elf *f = dt_elf_open(scratch_path("v-plain"), NULL);
	unsigned char *file = scratch_read("v-plain", &n);
	char *table = dt_elf_section(f, "devtrace_events", &size, &vaddr);

	assert_non_null(table);
	for (size_t i = 0; i < f->sites; i++)
		address[sites++] = f->site[i].address;
	dt_elf_close(f);
	for (size_t i = 0; i + size <= n; i++)
		if (!memcmp(file + i, table, size))
			offset = i;
	assert_true(offset);
	for (size_t at = 0; at < size; at++)
		for (unsigned x = 1; x < 256; x = 2 * x + (at & 1)) {
			file[offset + at] ^= (unsigned char)x;
			scratch_write("v-bad", file, n);
			f = dt_elf_open(scratch_path("v-bad"), NULL);
			assert_non_null(f);
			assert_true(f->events <= sites && f->sites <= sites);
			for (size_t i = 0; i < f->sites; i++) {
				const struct dt_elf_event *v = &f->event[f->site[i].event];
				bool known = false;

				for (size_t k = 0; k < sites; k++)
					known = known || address[k] == f->site[i].address;
				assert_true(known);
				assert_true(strlen(v->subsystem_name) < size &&
					    strlen(v->event_name) < size);
				assert_true(!v->kind || v->pc);
			}
			dt_elf_close(f);
			file[offset + at] ^= (unsigned char)x;
		}
	free(file);
	free(table);
}

/* Bytes that are there once are found wherever the pieces end that are read, and those that are
 * there twice are not. */
static void test_only(void **state)
{
	static const char bytes[] = "only-here";

	for (unsigned before = 65520; before < 65540; before++)
		for (unsigned again = 0; again < 3; again++) {
			static const unsigned apart[] = {0, 1, 70000};
			uint64_t mark, size;
			struct dt_elf *f;

			assert_int_equal(
				scratch_run(
					"printf '.section .one, \"ax\"\n.skip %u, 0x6f\n.globl mark\nmark: .ascii \"%s\"\n"
					".fill %u, 1, 0x6f\n.ascii \"%s\"\n.text\n.globl _start\n_start: ret\n' >one.s && "
					"gcc -nostdlib -static -o one one.s",
					before, bytes, apart[again], again ? bytes : "only-her"),
				0);
			f = dt_elf_open(scratch_path("one"), NULL);
			assert_non_null(f);
			assert_int_equal(dt_elf_symbol(f, "mark", &mark, &size), 0);
			assert_int_equal(dt_elf_only(f, ".one", bytes, 9), again ? 0 : mark);
			assert_int_equal(dt_elf_only(f, ".one", "only-hers", 9), 0);
			assert_int_equal(dt_elf_only(f, ".none", bytes, 9), 0);
			dt_elf_close(f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),   cmocka_unit_test(test_without_sleds),
		cmocka_unit_test(test_bad_sites),  cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_damage),	   cmocka_unit_test(test_events),
		cmocka_unit_test(test_bad_events), cmocka_unit_test(test_only),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
