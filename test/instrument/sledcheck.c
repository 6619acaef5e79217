// SPDX-License-Identifier: MIT
/*
 * Checks the sleds of a linked program or shared object against doc/sleds.md, and prints one line
 * for each thing that is wrong.
 *
 * usage: sledcheck [-RJ] [-f NAMES] [-n FUNCTION]... [-a PREFIX] ELF
 *   -f NAMES     only the functions named in this file, one a line, must have sleds; without it
 *                all must, but for those of the C runtime
 *   -n FUNCTION  a function that must not have any
 *   -a PREFIX    functions named so have returns and jumps in inline assembly
 *   -R, -J       returns or jumps without a sled are no error
 */
#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY = 1, RETURN, TAIL, JUMP, UNSEEN = 0x100 };

struct site {
	uint64_t at, func;
	uint32_t kind;
	bool unseen; /* at an entry: a call may end without a record */
};

struct function {
	uint64_t start, end;
	const char *name;
	bool needed, entered;
};

static Elf *elf;
static GElf_Shdr sites_section, hooks_section;
static struct site *sites;
static size_t site_count;
static struct function *functions;
static size_t function_count, needed_count;
static const char *assembly = "";
static uint64_t entry_thunk, exit_thunk, jump_thunk, hooks;
static int errors, any_return, any_jump;

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	errors++;
}

static void die(const char *what)
{
	fprintf(stderr, "sledcheck: %s\n", what);
	exit(2);
}

/* The bytes at an address of the file, NULL if there are fewer than `n`. */
static const uint8_t *bytes(uint64_t addr, size_t n)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		Elf_Data *d = elf_rawdata(s, NULL);

		gelf_getshdr(s, &h);
		if (h.sh_type == SHT_PROGBITS && (h.sh_flags & SHF_ALLOC) && addr >= h.sh_addr &&
		    addr + n <= h.sh_addr + h.sh_size && d && d->d_size >= h.sh_size)
			return (const uint8_t *)d->d_buf + (addr - h.sh_addr);
	}
	return NULL;
}

static uint64_t rel32(const uint8_t *b, uint64_t at)
{
	int32_t d;

	memcpy(&d, b, 4);
	return at + 4 + (int64_t)d;
}

static bool startup(const char *name)
{
	static const char *const names[] = {"_start",
					    "_init",
					    "_fini",
					    "deregister_tm_clones",
					    "register_tm_clones",
					    "__do_global_dtors_aux",
					    "frame_dummy",
					    "_dl_relocate_static_pie",
					    "__devtrace_entry",
					    "__devtrace_exit",
					    "__devtrace_jump",
					    "__muldc3",
					    "__mulsc3",
					    "atexit",
					    NULL};

	for (size_t i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return true;
	return strstr(name, ".cold") != NULL || !strncmp(name, "__x86", 5) ||
	       !strncmp(name, "__llvm_", 7);
}

/* Whether the line stands in the list, or there is no list. */
static bool listed(char *list, const char *name)
{
	size_t n = strlen(name);

	if (!list)
		return true;
	for (char *p = list; (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_symbol(const GElf_Sym *sym, const char *name, char *list)
{
	if (!strcmp(name, "__devtrace_entry"))
		entry_thunk = sym->st_value;
	if (!strcmp(name, "__devtrace_exit"))
		exit_thunk = sym->st_value;
	if (!strcmp(name, "__devtrace_jump"))
		jump_thunk = sym->st_value;
	if (!strcmp(name, "__devtrace_hooks"))
		hooks = sym->st_value;
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF)
		return;
	functions = realloc(functions, (function_count + 1) * sizeof(*functions));
	functions[function_count] =
		(struct function){sym->st_value, sym->st_value + sym->st_size, name,
				  sym->st_size && !startup(name) && listed(list, name), false};
	needed_count += functions[function_count++].needed;
}

static void read_symbols(char *list)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		Elf_Data *d;

		gelf_getshdr(s, &h);
		if (h.sh_type != SHT_SYMTAB)
			continue;
		d = elf_getdata(s, NULL);
		for (size_t i = 0; i < h.sh_size / h.sh_entsize; i++) {
			GElf_Sym sym;

			gelf_getsym(d, i, &sym);
			read_symbol(&sym, elf_strptr(elf, h.sh_link, sym.st_name), list);
		}
	}
	qsort(functions, function_count, sizeof(*functions), by_start);
}

static void read_sites(void)
{
	const uint8_t *b = bytes(sites_section.sh_addr, sites_section.sh_size);

	if (sites_section.sh_size % 12)
		wrong("devtrace_sites has %lu bytes, not a multiple of 12", sites_section.sh_size);
	site_count = sites_section.sh_size / 12;
	sites = calloc(site_count + 1, sizeof(*sites));
	for (size_t i = 0; i < site_count; i++) {
		uint64_t at = sites_section.sh_addr + i * 12;
		int32_t field[3];

		memcpy(field, b + i * 12, 12);
		sites[i] = (struct site){at + (int64_t)field[0], at + 4 + (int64_t)field[1],
					 field[2] & ~UNSEEN, (field[2] & UNSEEN) != 0};
	}
}

static void read_sections(void)
{
	size_t names;

	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		const char *name;

		gelf_getshdr(s, &h);
		name = elf_strptr(elf, names, h.sh_name);
		if (!strcmp(name, "devtrace_sites"))
			sites_section = h;
		if (!strcmp(name, "devtrace_hooks"))
			hooks_section = h;
	}
}

/* The function symbol at or before an address that covers it. */
static struct function *function_at(uint64_t addr)
{
	struct function *best = NULL;

	for (size_t lo = 0, hi = function_count; lo < hi;) {
		size_t mid = (lo + hi) / 2;

		if (functions[mid].start <= addr) {
			best = &functions[mid];
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return best && (addr < best->end || addr == best->start) ? best : NULL;
}

static struct site *site_at(uint64_t addr)
{
	for (size_t i = 0; i < site_count; i++)
		if (sites[i].at == addr)
			return &sites[i];
	return NULL;
}

static void check_entry(const struct site *s, const uint8_t *b)
{
	uint64_t at = s->func;
	const uint8_t *p = bytes(at, 4);

	if (b[0] != 0xa9 || rel32(b + 1, s->at + 1) != entry_thunk)
		wrong("%lx: not an entry sled", s->at);
	if (p && !memcmp(p, "\xf3\x0f\x1e\xfa", 4))
		at += 4;
	/* -fpatchable-function-entry; a prefix used as padding (-mbranches-within-32B-boundaries)
	 */
	while ((p = bytes(at, 1)) && (*p == 0x90 || *p == 0x2e))
		at++;
	if (at != s->at)
		wrong("%lx: the entry sled is not at the beginning of %lx", s->at, s->func);
	for (size_t i = 0; i < function_count; i++)
		if (functions[i].start == s->func) {
			functions[i].entered = true;
		}
}

/*
 * Behind the first jump: a push, of 1 to 9 bytes, the call, `lea 8(%rsp), %rsp'. In front of it the
 * jump: of a register by the same number, or with the push's bytes but for three bits and a
 * distance from here; or what a linker has made of that.
 */
static void check_jump(const struct site *s)
{
	const uint8_t *b = bytes(s->at - 9, 9 + 9 + 10);
	unsigned n = 1;

	while (b && n < 10 &&
	       (b[9 + n] != 0xe8 || rel32(b + 10 + n, s->at + n + 1) != jump_thunk ||
		memcmp(b + 14 + n, "\x48\x8d\x64\x24\x08", 5)))
		n++;
	if (!b || n == 10) {
		wrong("%lx: not a jump sled", s->at);
	} else if (b[9 + n - 1] >= 0x50 && b[9 + n - 1] < 0x58 && n < 3) {
		if (b[7] != 0xff || b[8] != b[9 + n - 1] + 0x90 || (n == 2 && b[6] != b[9]))
			wrong("%lx: another register is jumped to than is pushed", s->at);
	} else if (b[9] == 0xff && b[10] == 0x35 && b[3] == 0xe9) {
		if (b[8] != 0x90)
			wrong("%lx: no nop behind a jump that was made direct", s->at);
	} else {
		unsigned opcode = b[9] == 0xff ? 0 : 1;

		if (b[9 + opcode] != 0xff || b[9 - n + opcode] != 0xff ||
		    (b[10 + opcode] ^ b[10 - n + opcode]) != (4 ^ 6) << 3)
			wrong("%lx: something else is jumped to than is pushed", s->at);
	}
}

static void check_site(const struct site *s)
{
	static const uint8_t size[] = {0, 5, 7, 15, 1};
	struct function *f = function_at(s->func);
	const uint8_t *b;

	if (s->kind < ENTRY || s->kind > JUMP) {
		wrong("%lx: unknown kind %u", s->at, s->kind);
		return;
	}
	if (s->unseen && s->kind != ENTRY)
		wrong("%lx: 0x100 at a site that is not an entry", s->at);
	b = bytes(s->at, size[s->kind]);
	if (!b) {
		wrong("%lx: site outside the code", s->at);
		return;
	}
	if (!f || f->start != s->func)
		wrong("%lx: no function symbol at %lx", s->at, s->func);
	if (s->kind == ENTRY)
		check_entry(s, b);
	if (s->kind == JUMP)
		check_jump(s);
	if (s->kind == RETURN &&
	    (b[0] != 0xc3 || b[1] != 0xe8 || b[6] != 0xc3 || rel32(b + 2, s->at + 2) != exit_thunk))
		wrong("%lx: not a return sled", s->at);
	if (s->kind == TAIL && (b[0] != 0xe9 || b[5] != 0xe8 || b[10] != 0xe9 ||
				rel32(b + 6, s->at + 6) != exit_thunk ||
				rel32(b + 1, s->at + 1) != rel32(b + 11, s->at + 11)))
		wrong("%lx: not a tail sled", s->at);
	f = function_at(s->at);
	if (f && f->start != s->func && !strstr(f->name, ".cold"))
		wrong("%lx: in %s, but said to be in %lx", s->at, f->name, s->func);
}

/* Every return and every jump to another function is a site, in functions that have sleds. */
static void check_instruction(uint64_t at, const char *text)
{
	struct function *f = function_at(at), *to;
	bool jump = *text == 'j' && !any_jump;
	const char *target;

	if (!f || !f->needed || (*assembly && !strncmp(f->name, assembly, strlen(assembly))))
		return;
	if (!any_return && !strncmp(text, "ret", 3) && !site_at(at) && !site_at(at - 6))
		wrong("%lx: return without a sled in %s", at, f->name);
	if (!jump || !(target = strpbrk(text, " \t")))
		return;
	target += strspn(target, " \t");
	if (!isxdigit((unsigned char)*target))
		return;
	to = function_at(strtoull(target, NULL, 16));
	if (to && to->start == strtoull(target, NULL, 16) && !startup(to->name) && !site_at(at) &&
	    !site_at(at - 10))
		wrong("%lx: jump from %s to %s without a sled", at, f->name, to->name);
}

static void check_code(const char *file)
{
	char command[4096], line[4096];
	FILE *p;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn '%s'", file);
	p = popen(command, "r");
	while (p && fgets(line, sizeof(line), p)) {
		char *colon;
		uint64_t at = strtoull(line, &colon, 16);

		if (*line == ' ' && *colon == ':' && colon[1] == '\t')
			check_instruction(at, colon + 2);
	}
	if (!p || pclose(p))
		die("objdump failed");
}

static void check_functions(void)
{
	for (size_t i = 0; i < function_count; i++) {
		struct function *f = &functions[i];

		if (f->needed && !f->entered)
			wrong("%s has no entry sled", f->name);
	}
}

static void check_hooks(void)
{
	if (hooks_section.sh_size != 32 || hooks_section.sh_addralign < 16)
		wrong("devtrace_hooks: %lu bytes aligned to %lu", hooks_section.sh_size,
		      hooks_section.sh_addralign);
	if ((hooks_section.sh_flags & (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR)) !=
	    (SHF_WRITE | SHF_ALLOC))
		wrong("devtrace_hooks is not plain data");
	if (hooks != hooks_section.sh_addr)
		wrong("__devtrace_hooks is not the section's beginning");
	if (sites_section.sh_flags & SHF_WRITE)
		wrong("devtrace_sites is writable");
}

static bool inside(uint64_t at, const GElf_Shdr *h)
{
	return at >= h->sh_addr && at < h->sh_addr + h->sh_size;
}

/* Nothing of devtrace is relocated when the program is loaded. */
static void check_relocations(void)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		Elf_Data *d;

		gelf_getshdr(s, &h);
		d = h.sh_type == SHT_RELA || h.sh_type == SHT_DYNAMIC ? elf_getdata(s, NULL) : NULL;
		for (size_t i = 0; d && i < h.sh_size / h.sh_entsize; i++) {
			GElf_Rela r;
			GElf_Dyn dyn;

			if (h.sh_type == SHT_RELA && gelf_getrela(d, i, &r) &&
			    (inside(r.r_offset, &sites_section) ||
			     inside(r.r_offset, &hooks_section)))
				wrong("relocation at %lx", r.r_offset);
			if (h.sh_type == SHT_DYNAMIC && gelf_getdyn(d, i, &dyn) &&
			    dyn.d_tag == DT_TEXTREL)
				wrong("relocations in the code");
		}
	}
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!f || !text)
		die("cannot read the list of names");
	text[fread(text, 1, (1 << 20) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void check_absent(const char *name)
{
	for (size_t i = 0; i < function_count; i++)
		if (!strcmp(functions[i].name, name)) {
			functions[i].needed = false;
			for (size_t j = 0; j < site_count; j++)
				if (function_at(sites[j].at) == &functions[i])
					wrong("%s has a sled at %lx", name, sites[j].at);
		}
}

int main(int argc, char **argv)
{
	char *list = NULL, *absent[16];
	int absent_count = 0, c, fd;

	while ((c = getopt(argc, argv, "f:n:a:RJ")) != -1)
		if (c == 'f')
			list = slurp(optarg);
		else if (c == 'R')
			any_return = 1;
		else if (c == 'J')
			any_jump = 1;
		else if (c == 'a')
			assembly = optarg;
		else if (c == 'n' && absent_count < 16)
			absent[absent_count++] = optarg;
		else
			return 2;
	elf_version(EV_CURRENT);
	fd = optind < argc ? open(argv[optind], O_RDONLY) : -1;
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		die("usage: sledcheck [-RJ] [-f NAMES] [-n FUNCTION]... [-a PREFIX] ELF");
	read_sections();
	read_symbols(list);
	if (!sites_section.sh_size)
		die("no sites");
	read_sites();
	for (int i = 0; i < absent_count; i++)
		check_absent(absent[i]);
	for (size_t i = 0; i < site_count; i++)
		check_site(&sites[i]);
	check_functions();
	check_code(argv[optind]);
	check_hooks();
	check_relocations();
	if (!needed_count)
		wrong("no function to check");
	printf("%zu sites, %zu functions, %d errors\n", site_count, needed_count, errors);
	return errors != 0;
}
