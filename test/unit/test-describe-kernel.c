/* SPDX-License-Identifier: MIT */
/*
 * session/describe-kernel.c: what a trace file is told of records of the kernel, by a kernel that
 * is made up and a file that only notes the last rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "session/describe-kernel.c"
#include "core/signature.h"

/* ---- a kernel with one function, one point, and one tracepoint ---- */

#define TEXT  0xffffffff81000000ul
#define POINT 0xff00000000000000ul
#define OWN   0x8200000000010000ul

static const char *signature_is = "fd:i4@0,buf:p@2;i8@0!k";

bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	if (pc < TEXT || pc >= TEXT + 0x2000)
		return false;
	*s = (struct dt_kernel_symbol){.address = pc & ~0xffful,
				       .end = (pc & ~0xffful) + 0x1000,
				       .name = pc < TEXT + 0x1000 ? "vfs_read" : "ext4_sync",
				       .module = pc < TEXT + 0x1000 ? "vmlinux" : "ext4"};
	return true;
}

void dt_kernel_signature(struct dt_kernel *k, const char *name, char *out, size_t size)
{
	strcpy(out, signature_is);
}

static struct dt_point point = {.id = 7};

const struct dt_point *dt_kernel_point(struct dt_kernel *k, uint64_t pc, unsigned *first)
{
	*first = (unsigned)(pc & 0xff);
	return pc - POINT < 0x100 ? &point : NULL;
}

static const struct dt_kernel_tracepoint own = {
	.system = "sched",
	.name = "sched_switch",
	.values = 3,
	.field = {[2] = {.words = (char *)(uintptr_t) "e:;A=1"}}};

const struct dt_kernel_tracepoint *dt_kernel_tracepoint(const struct dt_kernel *k, uint64_t pc)
{
	return (pc & ~0xfffful) == OWN ? &own : NULL;
}

void dt_kernel_tracepoint_hit(const struct dt_kernel_tracepoint *t, const uint32_t *type, char *out,
			      size_t size)
{
	dt_format(out, size, "a:i4@0,t:s@-,b:i4@1,c:i4#%u@2;v", type[2]);
}

void dt_kernel_tracepoint_values(const struct dt_kernel_tracepoint *t, unsigned first,
				 const uint32_t *type, char *out, size_t size)
{
	dt_format(out, size, "v%u:i4@0;v", first);
}

int64_t dt_store_type(struct dt_store *s, const char *text, struct dt_error *e)
{
	return strcmp(text, "e:;A=1") == 0 ? 5 : -1;
}

void dt_kernel_tracepoint_text(const struct dt_kernel_tracepoint *t, unsigned text, char *out,
			       size_t size)
{
	dt_format(out, size, "t%u:s@0;v", text);
}

/* ---- a file ---- */

static char module[300][100];
static size_t modules;
static struct dt_function_row last;
static char last_name[600], last_signature[DT_DESCRIBE_SIGNATURE];
static bool fails;

int64_t dt_store_module(struct dt_store *s, const struct dt_module_row *m, struct dt_error *e)
{
	if (fails)
		return -1;
	assert_true(m->low == 1ull << 63 && m->high == ~0ull);
	strcpy(module[modules], m->path);
	return (int64_t)++modules;
}

int64_t dt_describe_function(struct dt_session *s, const struct dt_function_row *f)
{
	last = *f;
	strcpy(last_name, f->name);
	strcpy(last_signature, f->signature);
	return fails ? -1 : 77;
}

void dt_describe_types(struct dt_session *s, struct dt_file *f, char *text, unsigned depth)
{
	/* keys are those of tables */
	for (char *p; (p = strchr(text, '#'));)
		memmove(p, p + 1 + strspn(p + 1, "0123456789abcdef"),
			strlen(p + 1 + strspn(p + 1, "0123456789abcdef")) + 1);
}

void dt_describe_point_signature(const struct dt_point *p, unsigned first, unsigned text, char *out,
				 size_t size)
{
	dt_format(out, size, "from%u:p@0;v", first);
}

/* A bit for each value of the record that the signature has. */
uint8_t dt_describe_meant(const char *signature, bool result)
{
	struct dt_signature_value v;
	uint8_t bits = 0;

	for (unsigned i = 0; !result && dt_signature_parameter(signature, i, &v); i++)
		if (v.places)
			bits |= (uint8_t)(1u << v.place[0].n);
	if (result && dt_signature_result(signature, &v) && v.places)
		bits = (uint8_t)(1u << v.place[0].n);
	return bits;
}

static struct dt_session session;

static struct dt_site_row describe(uint8_t kind, uint64_t pc)
{
	struct dt_site_row row = {.pc = pc};

	last = (struct dt_function_row){.address = 0};
	last_name[0] = last_signature[0] = '\0';
	dt_describe_kernel(&session, &(struct dt_record){.kind = kind, .pc = pc}, &row);
	return row;
}

static int begin(void **state)
{
	memset(&session, 0, sizeof(session));
	modules = 0;
	fails = false;
	return 0;
}

/* What is said of a record: its place, values, function, and that one's name and signature. */
static void is(uint8_t kind, uint64_t pc, uint8_t place, uint8_t values, uint64_t at,
	       const char *name, const char *signature, const char *of)
{
	struct dt_site_row row = describe(kind, pc);

	assert_string_equal(last_name, name);
	assert_string_equal(last_signature, signature);
	assert_int_equal(row.kind, place);
	assert_int_equal(row.values, values);
	assert_int_equal(row.pc, at);
	assert_int_equal(row.function, 77);
	assert_string_equal(module[last.module - 1], of);
}

static void test_calls(void **state)
{
	const uint64_t openat = DT_BPF_CALL_PC(0, SYS_openat), map = DT_BPF_CALL_PC(0, SYS_mmap);
	const char *signature = "dfd:i4@0,filename:s@1,flags:i4@2,mode:u4@3?2&4194368;i8@0!k";

	is(DT_ENTRY, openat, DT_SITE_ENTRY, 15, openat, "openat", signature, "[syscall]");
	assert_true(last.address == openat && last.variant == 0 && last.size == 1);
	is(DT_EXIT, openat, DT_SITE_RETURN, 1, openat, "openat", signature, "[syscall]");
	is(DT_MORE, openat | DT_BPF_PART(1, DT_BPF_HEAD), DT_SITE_POINT_BUFFER, 15,
	   openat | DT_BPF_PART(1, DT_BPF_HEAD), "openat", "filename:s@0;v", "[syscall]");
	assert_int_equal(last.address, openat);
	assert_int_equal(last.variant, DT_BPF_PART(1, DT_BPF_HEAD) + 1);
	is(DT_MORE, openat | DT_BPF_PART(0, DT_BPF_PIECE), DT_SITE_POINT_TEXT, 15,
	   openat | DT_BPF_PART(0, DT_BPF_PIECE), "openat", "dfd:a@0;v", "[syscall]");
	is(DT_MORE, openat | DT_BPF_LEAVING, DT_SITE_POINT_LEAVING, 0, openat | DT_BPF_LEAVING,
	   "openat", ";v", "[syscall]");
	assert_int_equal(last.variant, DT_BPF_LEAVING + 1);
	is(DT_MORE, map | DT_BPF_FURTHER, DT_SITE_POINT_MORE, 3, map | DT_BPF_FURTHER, "mmap",
	   "fd:i4@0,off:u8@1;v", "[syscall]");
	/* callers of 32 bits, and x32: each has its numbers */
	is(DT_ENTRY, DT_BPF_CALL_PC(1, 5), DT_SITE_ENTRY, 7, DT_BPF_CALL_PC(1, 5), "open",
	   "filename:s@0,flags:i4@1,mode:u4@2?1&4194368;i8@0!k", "[syscall32]");
	describe(DT_ENTRY, DT_BPF_CALL_PC(2, 0));
	assert_string_equal(last_name, "read");
	assert_string_equal(module[last.module - 1], "[syscallx32]");
	assert_int_equal(modules, 3); /* each once */
	/* a signal */
	is(DT_POINT, DT_BPF_CALL_PC(0, DT_BPF_SIGNALS), DT_SITE_POINT, 0,
	   DT_BPF_CALL_PC(0, DT_BPF_SIGNALS), "signal",
	   "sig:i4@0,si_code:i4@1,si_pid:i4@2,si_status:i4@3;v", "[syscall]");
	/* a number that there is not */
	assert_int_equal(describe(DT_ENTRY, DT_BPF_CALL_PC(0, 1000)).function, 0);
	assert_string_equal(last_name, "");
}

static void test_functions(void **state)
{
	is(DT_ENTRY, TEXT + 4, DT_SITE_ENTRY, 5, TEXT + 4, "vfs_read", signature_is, "[vmlinux]");
	assert_true(last.address == TEXT && last.size == 0x1000 && last.variant == 0);
	is(DT_EXIT, TEXT + 4, DT_SITE_RETURN, 1, TEXT + 4, "vfs_read", signature_is, "[vmlinux]");
	is(DT_ENTRY, TEXT + 0x1004, DT_SITE_ENTRY, 5, TEXT + 0x1004, "ext4_sync", signature_is,
	   "[ext4]");
	is(DT_POINT, TEXT, DT_SITE_POINT, 0, TEXT, "vfs_read", signature_is, "[vmlinux]");
	/* what CONST adds */
	is(DT_MORE, TEXT + 4, DT_SITE_POINT_MORE, 1, TEXT + 4, "vfs_read", "const:p@0;v",
	   "[vmlinux]");
	assert_int_equal(last.variant, 63);
	assert_int_equal(last.address, TEXT);
	signature_is = "";
	is(DT_ENTRY, TEXT + 4, DT_SITE_ENTRY, 0, TEXT + 4, "vfs_read", "", "[vmlinux]");
	signature_is = "fd:i4@0,buf:p@2;i8@0!k";
	assert_int_equal(describe(DT_ENTRY, TEXT + 0x2000).function, 0);
	assert_int_equal(dt_describe_kernel_function(&session, TEXT + 0x1500), 77);
	assert_string_equal(last_name, "ext4_sync");
	assert_int_equal(dt_describe_kernel_function(&session, TEXT - 1), 0);
}

static void test_points(void **state)
{
	point.site.address = TEXT;
	point.items = 6;
	is(DT_POINT, POINT, DT_SITE_POINT, 15, TEXT, "vfs_read", "from0:p@0;v", "[vmlinux]");
	assert_int_equal(last.variant, 8 * 64);
	is(DT_MORE, POINT + 4, DT_SITE_POINT_MORE, 3, TEXT, "vfs_read", "from4:p@0;v", "[vmlinux]");
	assert_int_equal(last.variant, 8 * 64 + 8);
	point.site.address = TEXT + 0x1a;
	point.items = 1;
	is(DT_POINT, POINT, DT_SITE_POINT, 1, TEXT + 0x1a, "vfs_read+1a", "from0:p@0;v",
	   "[vmlinux]");
	is(DT_MORE, POINT + DT_KERNEL_CONST, DT_SITE_POINT_MORE, 1, TEXT + 0x1a, "vfs_read+1a",
	   "const:p@0;v", "[vmlinux]");
	assert_int_equal(last.variant, 8 * 64 + 63);
	point.site.address = TEXT - 0x10; /* of no function */
	is(DT_POINT, POINT, DT_SITE_POINT, 1, TEXT - 0x10, "?", "from0:p@0;v", "[vmlinux]");
}

static void test_tracepoints(void **state)
{
	is(DT_POINT, OWN, DT_SITE_POINT, 7, OWN, "sched:sched_switch",
	   "a:i4@0,t:s@-,b:i4@1,c:i4#5@2;v", "[tracepoint]");
	is(DT_MORE, OWN | DT_BPF_PART(2, DT_BPF_FURTHER), DT_SITE_POINT_MORE, 1,
	   OWN | DT_BPF_PART(2, DT_BPF_FURTHER), "sched:sched_switch", "v8:i4@0;v", "[tracepoint]");
	assert_int_equal(last.variant, DT_BPF_PART(2, DT_BPF_FURTHER) + 1);
	assert_int_equal(last.address, OWN);
	is(DT_MORE, OWN | DT_BPF_PART(1, DT_BPF_HEAD), DT_SITE_POINT_BUFFER, 15,
	   OWN | DT_BPF_PART(1, DT_BPF_HEAD), "sched:sched_switch", "t1:s@0;v", "[tracepoint]");
	is(DT_MORE, OWN | DT_BPF_PART(1, DT_BPF_PIECE), DT_SITE_POINT_TEXT, 15,
	   OWN | DT_BPF_PART(1, DT_BPF_PIECE), "sched:sched_switch", "t1:s@0;v", "[tracepoint]");
}

/* Modules are written once; where there is no room for more, functions have none. */
static void test_modules(void **state)
{
	char name[100];
	int64_t first[256];

	for (unsigned i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "module%u", i);
		first[i] = kernel_module(&session, name);
		assert_int_equal(first[i], i + 1);
	}
	for (unsigned i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "module%u", i);
		assert_int_equal(kernel_module(&session, name), first[i]);
	}
	assert_int_equal(kernel_module(&session, "one-more"), 0);
	assert_int_equal(modules, 256);
	begin(NULL);
	fails = true;
	assert_int_equal(kernel_module(&session, "m"), 0);
	assert_int_equal(describe(DT_ENTRY, TEXT + 4).function, 0);
	assert_int_equal(describe(DT_MORE, TEXT + 4).function, 0);
	assert_int_equal(describe(DT_POINT, POINT).function, 0);
	assert_int_equal(describe(DT_POINT, OWN).function, 0);
	assert_int_equal(describe(DT_ENTRY, DT_BPF_CALL_PC(0, 0)).function, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_calls, begin),
		cmocka_unit_test_setup(test_functions, begin),
		cmocka_unit_test_setup(test_points, begin),
		cmocka_unit_test_setup(test_tracepoints, begin),
		cmocka_unit_test_setup(test_modules, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
