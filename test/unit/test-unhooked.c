/* SPDX-License-Identifier: MIT */
/*
 * session/unhooked.c: which functions were chosen and are not hooked, and who calls them, in files
 * whose code is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "session/unhooked.c"

/* ---- what is written ---- */

static char told[4096];

int dt_store_unhooked(struct dt_store *s, const char *path, uint64_t address, const char *name,
		      const char *reason, struct dt_error *e)
{
	sprintf(told + strlen(told), "%s %lx %s: %s\n", path, (unsigned long)address, name, reason);
	return 0;
}

int dt_store_unhooked_caller(struct dt_store *s, const char *path, uint64_t caller, uint64_t callee,
			     struct dt_error *e)
{
	sprintf(told + strlen(told), "%s %lx calls %lx\n", path, (unsigned long)caller,
		(unsigned long)callee);
	return 0;
}

void dt_file_nameless(struct dt_file *f, uint64_t address, char *out, size_t size)
{
	dt_format(out, size, "%s+0x%lx", f->path, (unsigned long)address);
}

/* In the one process, main's site is planted. */
uint64_t dt_probes_pc(const struct dt_module *m, size_t site)
{
	return site == 0 ? 1 : 0;
}

/* ---- files ---- */

#define FUNCTIONS 8
#define PLACE(i)  (0x1000 + 0x100 * (uint64_t)(i))

enum { MAIN, LEFT, OLD, NEW, LONELY, START, NAMELESS, COLD };

static const char *const name[FUNCTIONS] = {
	"main", "left", "memcpy", "memcpy", "lonely", "_start", NULL, "main.cold",
};

static struct code {
	struct dt_code_function function[FUNCTIONS];
	uint8_t bytes[0x100 * FUNCTIONS], mark[0x100 * FUNCTIONS];
	struct dt_code_region region;
	struct dt_code code;
	struct dt_elf_site site[FUNCTIONS + 1];
	struct dt_elf elf;
	uint8_t chosen[FUNCTIONS + 1];
	bool hooked[FUNCTIONS + 1], picked[FUNCTIONS];
	const char *refused[FUNCTIONS];
	struct dt_file file;
} a, b;

/* Puts a call or jump, five bytes, into the code. */
static void leads(struct code *c, uint64_t from, uint8_t opcode, uint64_t to, bool instruction)
{
	int32_t distance = (int32_t)(to - from - 5);

	c->bytes[from - PLACE(0)] = opcode;
	memcpy(&c->bytes[from - PLACE(0) + 1], &distance, sizeof(distance));
	if (instruction)
		c->mark[from - PLACE(0)] = DT_CODE_INSN;
}

static void make(struct code *c, const char *path, bool own)
{
	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		c->function[i] = (struct dt_code_function){.start = PLACE(i),
							   .end = PLACE(i + 1),
							   .name = name[i],
							   .whole = i == COLD ? MAIN : i};
		c->site[i] = (struct dt_elf_site){.kind = DT_ELF_PROBE_ENTRY, .function = PLACE(i)};
		c->chosen[i] = i != COLD;
	}
	/* an exit is no function more */
	c->site[FUNCTIONS] =
		(struct dt_elf_site){.kind = DT_ELF_PROBE_RETURN, .function = PLACE(LEFT)};
	c->chosen[FUNCTIONS] = true;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		c->refused[i] = i == MAIN || i == NEW || i == COLD ? NULL : "it is too short";
	c->hooked[NEW] = true;
	c->picked[NEW] = true;
	c->region = (struct dt_code_region){
		.low = PLACE(0), .high = PLACE(FUNCTIONS), .bytes = c->bytes, .mark = c->mark};
	c->code = (struct dt_code){.region = &c->region,
				   .regions = 1,
				   .function = c->function,
				   .functions = FUNCTIONS};
	c->elf = (struct dt_elf){.site = c->site, .sites = FUNCTIONS + 1};
	c->file = (struct dt_file){.path = (char *)(uintptr_t)path,
				   .elf = &c->elf,
				   .code = &c->code,
				   .probed = true,
				   .program = own,
				   .chosen = c->chosen,
				   .hooked = c->hooked,
				   .refused = c->refused,
				   .picked = c->picked};
	leads(c, PLACE(MAIN) + 7, 0xe8, PLACE(LEFT), true);
	leads(c, PLACE(MAIN) + 20, 0xe8, PLACE(OLD), true);
	leads(c, PLACE(MAIN) + 30, 0xe8, PLACE(LONELY) + 1, true); /* into its middle */
	leads(c, PLACE(MAIN) + 40, 0xe8, PLACE(LONELY), false);	   /* no instruction */
	leads(c, PLACE(COLD) + 3, 0xe9, PLACE(NAMELESS), true);	   /* main's, too */
	leads(c, PLACE(LEFT) + 9, 0xe8, PLACE(LONELY), true);	   /* is not recorded itself */
	leads(c, PLACE(LEFT) + 19, 0xe8, PLACE(LEFT), true);
	leads(c, PLACE(NEW) + 9, 0xe8, PLACE(FUNCTIONS) + 4, true); /* away */
}

static struct dt_session session;

static int begin(void **state)
{
	make(&a, "a", true);
	make(&b, "b", false);
	/* the library comes first in the list: the program's functions are named first */
	b.file.next = &a.file;
	session = (struct dt_session){.store = (struct dt_store *)&session};
	session.targets.files.first = &b.file;
	pthread_mutex_init(&session.lock, NULL);
	told[0] = '\0';
	return 0;
}

static void test_left_out(void **state)
{
	struct dt_unhooked u;

	/* of the library it is not known which versions are in use, and not who is hooked: main */
	b.file.picked = NULL;
	b.hooked[MAIN] = true;
	a.hooked[MAIN] = true;
	dt_unhooked_note(&session, &u);
	assert_int_equal(u.chosen, 5 + 6);
	assert_int_equal(u.left_out, 3 + 4);
	assert_int_equal(u.own, 3);
	assert_string_equal(u.names, "left, lonely, a+0x1600, left, memcpy, lonely, b+0x1600");
	assert_false(u.more);
	assert_string_equal(u.path, "a");
	assert_string_equal(told, "a 1100 left: it is too short\n"
				  "a 1400 lonely: it is too short\n"
				  "a 1600 a+0x1600: it is too short\n"
				  "a 1000 calls 1100\n"
				  "a 1000 calls 1600\n"
				  "b 1100 left: it is too short\n"
				  "b 1200 memcpy: it is too short\n"
				  "b 1400 lonely: it is too short\n"
				  "b 1600 b+0x1600: it is too short\n"
				  "b 1000 calls 1100\n"
				  "b 1000 calls 1200\n"
				  "b 1000 calls 1600\n");
}

/* A version is idle only if another one of its name is in use, and it is not. */
static void test_versions(void **state)
{
	struct dt_unhooked u;

	session.targets.files.first = &a.file;
	a.picked[OLD] = true;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "left, memcpy, lonely, a+0x1600");
	assert_int_equal(u.chosen, 6);
	a.picked[OLD] = a.picked[NEW] = false;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "left, memcpy, lonely, a+0x1600");
	a.picked[LONELY] = a.picked[NAMELESS] = true;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "left, memcpy, lonely, a+0x1600");
	/* one that was hooked is not idle, whatever was said of it */
	a.picked[NEW] = true;
	a.hooked[OLD] = true;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "left, lonely, a+0x1600");
	assert_int_equal(u.chosen, 6);
}

/* Where only calls that other files make are recorded, callers in this file do not matter. */
static void test_crossing(void **state)
{
	uint16_t wanted[FUNCTIONS + 1], crossing[FUNCTIONS + 1];
	struct dt_unhooked u;

	for (unsigned i = 0; i <= FUNCTIONS; i++)
		wanted[i] = crossing[i] = 1;
	session.targets.files.first = &a.file;
	a.hooked[MAIN] = true;
	a.file.wanted = wanted;
	a.file.crossing = crossing;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "left, lonely, a+0x1600");
	assert_string_equal(told, "a 1100 left: it is too short\n"
				  "a 1400 lonely: it is too short\n"
				  "a 1600 a+0x1600: it is too short\n");
	/* one of them is wanted otherwise, too */
	told[0] = '\0';
	wanted[NAMELESS] = 2;
	dt_unhooked_note(&session, &u);
	assert_non_null(strstr(told, "a 1000 calls 1600\n"));
}

/* What was chosen once counts, though it is not any more; and what was not, not. */
static void test_chosen(void **state)
{
	uint8_t once[FUNCTIONS + 1] = {[LONELY] = true};
	struct dt_unhooked u;

	session.targets.files.first = &a.file;
	a.file.once = once;
	dt_unhooked_note(&session, &u);
	assert_string_equal(u.names, "lonely");
	assert_int_equal(u.chosen, 1);
	a.file.once = NULL;
	a.file.refused = NULL;
	dt_unhooked_note(&session, &u);
	assert_int_equal(u.left_out, 0);
	assert_int_equal(u.chosen, 6);
	assert_null(u.path);
	a.file.probed = false;
	dt_unhooked_note(&session, &u);
	assert_int_equal(u.chosen, 0);
}

/* Where there is no room for all names, the end says so. */
static void test_many_names(void **state)
{
	static const char longer[] =
		"a_name_that_takes_so_much_room_that_three_of_them_are_too_many";
	struct dt_unhooked u;

	session.targets.files.first = &a.file;
	a.function[LEFT].name = a.function[LONELY].name = a.function[NAMELESS].name = longer;
	dt_unhooked_note(&session, &u);
	assert_true(u.more);
	assert_int_equal(u.left_out, 3);
	assert_int_equal(strlen(u.names), 2 * strlen(longer) + strlen(", , ..."));
	assert_string_equal(u.names + 2 * strlen(longer) + 2, ", ...");
}

static void test_why(void **state)
{
	struct dt_module module = {.file = &a.file};
	struct dt_target target = {.n = 1, .module = &module};
	bool planted;

	assert_string_equal(dt_unhooked_why(&session, &a.file, LEFT, &planted), "it is too short");
	assert_false(planted);
	assert_null(dt_unhooked_why(&session, &a.file, MAIN, &planted));
	assert_false(planted);
	session.first = &target; /* a living process has it */
	assert_null(dt_unhooked_why(&session, &a.file, MAIN, &planted));
	assert_true(planted);
	assert_null(dt_unhooked_why(&session, &b.file, MAIN, &planted));
	assert_false(planted);
	assert_null(dt_unhooked_why(&session, &a.file, NEW, &planted)); /* one that has ended */
	assert_true(planted);
	a.site[LEFT].function = 0x10; /* of no function that is known */
	assert_null(dt_unhooked_why(&session, &a.file, LEFT, &planted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_left_out, begin),
		cmocka_unit_test_setup(test_versions, begin),
		cmocka_unit_test_setup(test_crossing, begin),
		cmocka_unit_test_setup(test_chosen, begin),
		cmocka_unit_test_setup(test_many_names, begin),
		cmocka_unit_test_setup(test_why, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
