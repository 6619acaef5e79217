/* SPDX-License-Identifier: MIT */
/*
 * Executables and libraries: headers, notes, symbols, sleds, events, SystemTap's probes, unwind
 * tables, and the code, with the plan of what could be hooked in it.
 */
#include "symbols/code.h"
#include "elf/build-id.h"
#include "elf/elf.h"
#include "elf/imports.h"
#include "process/needed.h"
#include "arch/arch.h"
#include "symbols/passes.h"
#include "elf/usdt.h"
#include "test/fuzz/elf.h"

#define MOST 2000 /* of each kind that are looked at */

static struct dt_error error;

static void usdt(struct dt_elf *f)
{
	struct dt_usdt u = {0};

	if (dt_usdt_read(f, &u, &error) == 0)
		for (size_t i = 0; i < u.n && i < MOST; i++) {
			struct dt_operand o[DT_USDT_ARGUMENTS];
			size_t n = dt_usdt_arguments(u.probe[i].arguments, o, DT_USDT_ARGUMENTS);
			char text[96];

			for (size_t k = 0; k < n && k < DT_USDT_ARGUMENTS; k++)
				dt_usdt_operand_text(text, sizeof(text), &o[k]);
			fuzz_must(strlen(u.probe[i].provider) + strlen(u.probe[i].name) < 1u << 20);
		}
	dt_usdt_free(&u);
}

static void imports(struct dt_elf *f)
{
	struct dt_imports *m = dt_imports_read(f);

	if (m)
		for (size_t i = 0; i < 100; i++)
			dt_imports_has(m, (const char *[]){"", "malloc", "main", "a"}[i % 4]);
	dt_imports_free(m);
}

static void slot_name(void *ctx, size_t site, const char *name)
{
	fuzz_must(site < 64 && strlen(name) < 1u << 30);
}

static void slots(const struct dt_elf *f)
{
	struct dt_elf_slot slot[64];
	size_t n = 0;

	for (size_t i = 0; i < f->loads && n < 64; i++)
		for (size_t k = 0; k < 16 && n < 64; k++)
			slot[n++] = (struct dt_elf_slot){f->load[i].vaddr + 8 * k, 0, n - 1};
	dt_elf_slot_functions(f, slot, n);
	dt_elf_slot_names(f, slot, n, slot_name, NULL);
}

static void headers(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dt_elf *f;
	uint64_t v, size;
	char link[64], id[DT_BUILD_ID];

	fuzz_must(!dt_elf_debuglink(fd, link, sizeof(link)) ||
		  (link[0] && strlen(link) < sizeof(link)));
	fuzz_must(!dt_build_id_read(fd, id) || dt_build_id_is(id) || strlen(id) < 8);
	fuzz_must(strlen(id) < sizeof(id));
	close(fd);
	f = dt_elf_open(path, &error);
	if (!f)
		return;
	for (size_t i = 1; i < f->sites; i++)
		fuzz_must(f->site[i - 1].address < f->site[i].address);
	for (size_t i = 0; i < f->sites && i < MOST; i++) {
		fuzz_must(dt_elf_site_at(f, f->site[i].address) == &f->site[i]);
		dt_elf_is_code(f, f->site[i].function);
	}
	for (size_t i = 0; i < f->events && i < MOST; i++) {
		dt_elf_event_at(f, f->event[i].pc);
		fuzz_must(strlen(f->event[i].subsystem_name) + strlen(f->event[i].event_name) <
			  1u << 20);
	}
	dt_elf_symbol(f, "main", &v, &size);
	free(dt_elf_section(f, ".dynstr", &size, &v));
	usdt(f);
	imports(f);
	slots(f);
	dt_needed_grows(f);
	dt_elf_close(f);
	dt_needed_contexts(path);
}

static void landing(void *ctx, uint64_t address)
{
	*(uint64_t *)ctx += address;
}

static void frames(const char *path)
{
	struct dt_frames f;
	uint64_t sum = 0;

	if (dt_frames_open(&f, path, &error))
		return;
	for (size_t i = 0; i < f.n && i < MOST; i++) {
		sum += (uint64_t)dt_frame_depth(&f.frame[i], f.frame[i].end - 1) +
		       dt_frame_pushes(&f.frame[i]);
		dt_frame_landings(&f, &f.frame[i], landing, &sum);
		dt_frames_find(&f, f.frame[i].start);
	}
	dt_frames_close(&f);
}

static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	*at = low;
	return low % 3 != 0;
}

static void passes(const char *path, const struct dt_code *c)
{
	struct dt_elf *f = dt_elf_open(path, &error);
	struct dt_passes *p = f ? dt_passes_read(c, f) : NULL;

	for (size_t i = 0; p && i < c->functions && i < MOST; i++) {
		const char *name = dt_passes_name(p, c->function[i].start);

		fuzz_must(!name || (*name && !c->function[i].name));
	}
	dt_passes_free(p);
	dt_elf_close(f);
}

static void code(const char *path, const struct dt_symtab *symtab)
{
	struct dt_code *c = dt_code_open(path, symtab, &error);
	struct dt_plan_options options = {.claim = claim, .hook = 160, .no_traps = true};
	struct dt_plan p;

	if (!c)
		return;
	passes(path, c);
	if (dt_plan_begin(&p, c, &options, &error) == 0) {
		for (size_t i = 0; i < c->functions && i < MOST; i++) {
			struct dt_plan_function f;
			struct dt_plan_point x;

			dt_plan_function(&p, i, &f);
			if (i % 8 == 0)
				dt_plan_point(&p, c->function[i].start + 4, &x);
		}
		dt_plan_end(&p);
	}
	dt_code_close(c);
}

static void alias(void *ctx, uint64_t address, const char *name)
{
	*(uint64_t *)ctx += address + strlen(name);
}

static void symbols(const char *path)
{
	struct dt_symtab *t = dt_symtab_open(path, "/nonexistent", &error);
	const struct dt_function *f;
	uint64_t sum = 0;
	size_t n;

	if (!t)
		return;
	f = dt_symtab_functions(t, &n);
	for (size_t i = 0; i < n; i++)
		fuzz_must(!i || f[i - 1].address < f[i].address);
	for (size_t i = 0; i < n && i < MOST; i++) {
		const struct dt_function *in = dt_symtab_find(t, f[i].address);

		sum += in ? strlen(in->name) : 0;
		dt_symtab_object(t, f[i].address);
	}
	dt_symtab_aliases(t, alias, &sum);
	code(path, t);
	dt_symtab_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file("input", data, size);

	fuzz_begin();
	headers(path);
	frames(path);
	symbols(path);
	code(path, NULL);
	return 0;
}

static int is_wanted(const char *name)
{
	return strncmp(name, ".debug", 6) != 0 && strcmp(name, ".comment") != 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return fuzz_elf_mutate(data, size, max, seed, is_wanted);
}
