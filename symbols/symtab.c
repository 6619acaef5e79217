/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file, from .symtab (its own or that of its debug file) and .dynsym.
 * Opening reads the symbols only; names are demangled, and DWARF is read, when they are first asked
 * for. So two threads must not use one symtab at once.
 */
#include "symbols/symtab-work.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/search.h"
#include "symbols/dwarf.h"
#include "symbols/shorten.h"
#include "elf/elf.h"
#include "elf/go-names.h"
#include "elf/ifunc.h"
#include "elf/mini.h"
#include "elf/start.h"

/*
 * bytes of a symbol's name at most, since names are compared with each other; real ones are shorter
 */
#define NAME_MAX_BYTES 65536

#define IMPLEMENTATIONS 32 /* of one function, at most */

struct symbol {
	uint64_t address, size;
	const char *name; /* in the string table of a file, or a kept copy */
	uint32_t section;
	uint8_t rank; /* lower is better */
	bool local;
	bool typed; /* its type says that it is a function */
	bool weak;
	uint64_t resolved; /* address of the resolver, if a resolver returns this function; 0: none
			      does. The size of such a function is known only from another name */
	bool resolver;	/* it is an IFUNC, so its name is that of the function which it returns */
	bool start, go; /* of dt_function */
};

/* All symbols while they are being read. */
struct table {
	struct dt_symtab *t;
	struct symbol *symbol;
	size_t n, room;
	size_t read, kept; /* symbols read; bytes of names copied */
	size_t named;	   /* bytes of all names */
	bool failed, damaged;
};

size_t dt_symtab_bytes(const struct dt_symtab *t)
{
	struct stat st[2] = {{0}};

	fstat(t->main.fd, &st[0]);
	if (t->debug.fd >= 0)
		fstat(t->debug.fd, &st[1]);
	return (size_t)(st[0].st_size + st[1].st_size) + t->mini.image_size;
}

const char *dt_symtab_keep(struct dt_symtab *t, const char *text, size_t n)
{
	struct dt_symtab_kept *k = malloc(sizeof(*k) + n + 1);

	if (!k)
		return NULL;
	memcpy(k->text, text, n);
	k->text[n] = '\0';
	k->next = t->kept;
	t->kept = k;
	return k->text;
}

const char *dt_symtab_demangle(struct dt_symtab *t, const char *linkage)
{
	const char *kept;
	char *text;

	if (linkage[0] != '_' || (linkage[1] != 'Z' && linkage[1] != 'R'))
		return NULL;
	text = cplus_demangle(linkage, DMGL_ANSI | DMGL_AUTO);
	if (!text)
		return NULL;
	kept = dt_symtab_keep(t, text, strlen(text));
	free(text);
	return kept;
}

void dt_symtab_name(struct dt_symtab *t, struct dt_function *f, const char *full)
{
	size_t n = full ? strlen(full) : 0;
	char *shorter = n && n < NAME_MAX_BYTES ? malloc(2 * n + 1) : NULL;

	f->full = f->name = full ? full : f->linkage;
	if (shorter && dt_shorten(full, shorter) && strlen(shorter) < n)
		f->name = dt_symtab_keep(t, shorter, strlen(shorter));
	if (!f->name)
		f->name = f->full;
	free(shorter);
}

/*
 * Returns a symbol's rank, of which the lowest is best: global functions, then weak and indirect
 * ones, then local ones.
 */
static uint8_t rank_of(const GElf_Sym *s)
{
	int bind = GELF_ST_BIND(s->st_info), type = GELF_ST_TYPE(s->st_info);

	if (type == STT_GNU_IFUNC)
		return (uint8_t)((bind == STB_LOCAL) * 8 + 1);
	return (uint8_t)((bind == STB_LOCAL) * 8 + (type == STT_NOTYPE) * 4);
}

static bool is_function(const GElf_Sym *s, const char *name)
{
	int bind = GELF_ST_BIND(s->st_info), type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || (s->st_shndx >= SHN_LORESERVE && s->st_shndx != SHN_XINDEX))
		return false;
	if (!name[0] || !strncmp(name, "__devtrace_", 11))
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* assembler code has no types; its local names are mere labels */
	return type == STT_NOTYPE && bind != STB_LOCAL;
}

static bool is_code(const struct dt_symfile *f, uint32_t section, GElf_Shdr *sh)
{
	Elf_Scn *s = elf_getscn(f->elf, section);

	return s && gelf_getshdr(s, sh) && (sh->sh_flags & SHF_EXECINSTR);
}

/* Makes room for one more symbol. */
static bool reserve(struct table *all)
{
	size_t room = all->room ? all->room * 2 : 1024;
	struct symbol *p;

	if (all->n < all->room)
		return true;
	p = realloc(all->symbol, room * sizeof(*p));
	if (!p) {
		all->failed = true;
		return false;
	}
	all->symbol = p;
	all->room = room;
	return true;
}

static void add_symbol(struct table *all, const GElf_Sym *s, const char *name)
{
	const char *version = strchr(name + 1, '@');

	if (!reserve(all))
		return;
	if (version) {
		all->kept += (size_t)(version - name);
		name = dt_symtab_keep(all->t, name, (size_t)(version - name));
	}
	if (!name) {
		all->failed = true;
		return;
	}
	all->symbol[all->n++] = (struct symbol){
		.address = s->st_value,
		.size = s->st_size,
		.name = name,
		.section = s->st_shndx,
		.rank = rank_of(s),
		.local = GELF_ST_BIND(s->st_info) == STB_LOCAL,
		.typed = GELF_ST_TYPE(s->st_info) != STT_NOTYPE,
		.weak = GELF_ST_BIND(s->st_info) == STB_WEAK,
		.resolver = GELF_ST_TYPE(s->st_info) == STT_GNU_IFUNC,
	};
}

/* Limits a symbol's size to the end of its section. */
static void limit_size(struct symbol *s, const GElf_Shdr *sh)
{
	if (s->address < sh->sh_addr || s->address - sh->sh_addr >= sh->sh_size)
		return;
	if (s->size > sh->sh_addr + sh->sh_size - s->address)
		s->size = sh->sh_addr + sh->sh_size - s->address;
}

static void read_section(struct table *all, const struct dt_symfile *f, Elf_Scn *scn,
			 const GElf_Shdr *table)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t n = d && table->sh_entsize ? d->d_size / sizeof(Elf64_Sym) : 0;
	size_t most = dt_symtab_bytes(all->t);
	uint32_t last = 0;
	bool code = false;
	GElf_Shdr sh = {0};
	GElf_Sym s;

	if (gelf_getclass(f->elf) == ELFCLASS32 && d)
		n = d->d_size / sizeof(Elf32_Sym);
	all->read += n;
	if (all->read > most / sizeof(Elf32_Sym) + 1)
		all->damaged = true;
	for (size_t i = 1; i < n && !all->failed && !all->damaged; i++) {
		const char *name;
		size_t length;

		all->damaged = all->kept > most || all->named / DT_SYMTAB_NAMES_SHARE > most;

		if (!gelf_getsym(d, (int)i, &s))
			continue;
		name = elf_strptr(f->elf, table->sh_link, s.st_name);
		if (!name || !is_function(&s, name))
			continue;
		length = strnlen(name, NAME_MAX_BYTES);
		if (length == NAME_MAX_BYTES)
			continue;
		all->named += length;
		if (s.st_shndx != last) {
			last = s.st_shndx;
			code = last == SHN_XINDEX || is_code(f, last, &sh);
		}
		if (!code)
			continue;
		add_symbol(all, &s, name);
		if (!all->failed && last != SHN_XINDEX)
			limit_size(&all->symbol[all->n - 1], &sh);
	}
}

static bool read_symbols(struct table *all, const struct dt_symfile *f, uint32_t type)
{
	Elf_Scn *s = NULL;
	size_t before = all->n;
	GElf_Shdr sh;

	while ((s = elf_nextscn(f->elf, s)))
		if (gelf_getshdr(s, &sh) && sh.sh_type == type)
			read_section(all, f, s, &sh);
	return all->n > before;
}

/*
 * Gives the functions that a resolver may return the name by which they are called, and the
 * resolver a name of its own. If a function gets several such names (memcpy and memmove), the
 * table's usual order decides.
 */
static void name_resolved(struct table *all, const struct dt_symfile *f)
{
	size_t n = all->n;

	for (size_t i = 0; i < n && !all->failed; i++) {
		struct symbol s = all->symbol[i];
		uint64_t target[IMPLEMENTATIONS];
		size_t targets;
		char name[1024];

		if (!s.resolver)
			continue;
		targets = dt_ifunc_targets(f->elf, s.address, s.size, target, IMPLEMENTATIONS);
		dt_format(name, sizeof(name), "%s.resolver", s.name);
		all->symbol[i].name = dt_symtab_keep(all->t, name, strlen(name));
		all->failed = all->failed || !all->symbol[i].name;
		s.resolver = false;
		s.resolved = s.address;
		s.size = 0;
		s.rank--; /* it ranks as any other function */
		for (size_t k = 0; k < targets && reserve(all); k++) {
			s.address = target[k];
			all->symbol[all->n++] = s;
		}
	}
}

static bool has_symbol(const struct table *all, uint64_t address, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->symbol[i].address == address || !strcmp(all->symbol[i].name, name))
			return true;
	return false;
}

static void add_start(struct table *all, uint64_t address, uint64_t size, const char *name)
{
	if (!has_symbol(all, address, name) && reserve(all))
		all->symbol[all->n++] = (struct symbol){.address = address,
							.size = size ? size : 1,
							.name = name,
							.typed = true,
							.start = true};
}

/* Adds _start and main of a file that has no .symtab. */
static void find_start(struct table *all, const struct dt_symfile *f)
{
	struct dt_start s;

	if (dt_start_find(f, &s)) {
		add_start(all, s.start, s.start_size, "_start");
		add_start(all, s.main, s.main_size, "main");
	}
}

/* Adds a function that Go's own table names. */
static bool add_go(void *ctx, uint64_t address, uint64_t size, const char *name)
{
	struct table *all = ctx;

	all->named += strlen(name);
	if (all->named / DT_SYMTAB_NAMES_SHARE > dt_symtab_bytes(all->t) || !reserve(all))
		return false;
	all->symbol[all->n++] = (struct symbol){.address = address,
						.size = size,
						.name = name,
						.rank = 2, /* behind what is exported */
						.typed = true,
						.go = true};
	return true;
}

/* Adds the functions of a Go program that has no .symtab; those of a table that is not sound are
 * left out. */
static void find_go(struct table *all, const struct dt_symfile *f)
{
	size_t before = all->n;
	struct stat st;

	if (fstat(f->fd, &st) || !dt_go_names(f->elf, (uint64_t)st.st_size, add_go, all) ||
	    all->named / DT_SYMTAB_NAMES_SHARE > dt_symtab_bytes(all->t))
		all->n = before;
}

size_t dt_symtab_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Sorts by address; at one address the best name comes first: of _IO_puts and puts it is puts. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (dt_symtab_underscores(x->name) != dt_symtab_underscores(y->name))
		return dt_symtab_underscores(x->name) < dt_symtab_underscores(y->name) ? -1 : 1;
	/* a strong name before a weak one: strchr, not index */
	if (x->resolved && x->resolved == y->resolved && x->weak != y->weak)
		return x->weak ? 1 : -1;
	if (strlen(x->name) != strlen(y->name))
		return strlen(x->name) < strlen(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorts by name; equal ones by the order of the names of their address. */
static int by_name(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;
	int order = (*x)->name == (*y)->name ? 0 : strcmp((*x)->name, (*y)->name);

	return order ? order : *x < *y ? -1 : *x > *y;
}

/* Sets repeated names of one address to NULL and keeps the first of each. Returns false if there is
 * no memory. */
static bool drop_known(struct symbol *s, size_t n)
{
	const struct symbol **sorted = malloc(n * sizeof(*sorted));

	if (!sorted)
		return false;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &s[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = n - 1; i > 0; i--)
		if (sorted[i]->name == sorted[i - 1]->name ||
		    !strcmp(sorted[i]->name, sorted[i - 1]->name))
			s[sorted[i] - s].name = NULL;
	free(sorted);
	return true;
}

/* Makes all symbols of one address one function and its aliases. */
static bool add_function(struct dt_symtab *t, struct symbol *s, size_t n)
{
	struct dt_function *f = &t->function[t->functions];

	if (n > 1 && !drop_known(s, n))
		return false;
	*f = (struct dt_function){.address = s->address,
				  .size = s->size,
				  .linkage = s->name,
				  .start = s->start,
				  .go = s->go};
	t->local[t->functions++] = s->local;
	for (size_t i = 1; i < n; i++) {
		if (!f->size)
			f->size = s[i].size;
		if (!s[i].local)
			t->local[t->functions - 1] = false;
		if (s[i].name)
			t->alias[t->aliases++] =
				(struct dt_symtab_alias){s->address, s[i].name, NULL};
	}
	/* code after it may belong to functions that have no name */
	if (!f->size && s->resolved)
		f->size = 1;
	return true;
}

static bool is_typed(const struct symbol *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].typed)
			return true;
	return false;
}

void dt_symtab_fill_sizes(struct dt_symtab *t)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < t->functions; i++) {
		struct dt_function *f = &t->function[i];

		if (i + 1 < t->functions && !f->size && f[1].address - f->address < 1 << 20)
			f->size = f[1].address - f->address;
		if (f->address + f->size > reach && f->address + f->size >= f->address)
			reach = f->address + f->size;
		t->reach[i] = reach;
	}
}

static int build(struct dt_symtab *t, struct table *all)
{
	size_t n = all->n;
	uint64_t covered = 0; /* end of the functions so far that have sizes of their own */

	t->function = calloc(n + 1, sizeof(*t->function));
	t->alias = calloc(n + 1, sizeof(*t->alias));
	t->local = calloc(n + 1, sizeof(*t->local));
	t->reach = calloc(n + 1, sizeof(*t->reach));
	if (all->failed || !t->function || !t->alias || !t->local || !t->reach)
		return -1;
	if (n)
		qsort(all->symbol, n, sizeof(*all->symbol), by_address);
	for (size_t i = 0, k; i < n; i = k) {
		struct dt_function *f;

		for (k = i + 1; k < n && all->symbol[k].address == all->symbol[i].address;)
			k++;
		if (!add_function(t, &all->symbol[i], k - i))
			return -1;
		f = &t->function[t->functions - 1];
		if (!is_typed(&all->symbol[i], k - i))
			f->label = f->address < covered;
		else if (f->size && f->address + f->size > covered)
			covered = f->address + f->size;
	}
	dt_symtab_fill_sizes(t);
	return 0;
}

struct dt_symtab *(*dt_symtab_opens)(const char *path, struct dt_error *e);

struct dt_symtab *dt_symtab_open(const char *path, const char *debug_dirs, struct dt_error *e)
{
	int file;

	if (dt_symtab_opens)
		return dt_symtab_opens(path, e);
	file = dt_elf_file(path, true, e);
	return file < 0 ? NULL : dt_symtab_open_file(file, path, debug_dirs, e);
}

int (*dt_symtab_fetches)(const char *build_id, const char *path, bool named);

bool dt_symtab_has_table(const struct dt_symfile *f)
{
	return dt_symfile_section(f, ".symtab") != NULL;
}

/* Has the debug files that are missing downloaded: the file's own, then the one that dwz shares.
 * They are found in debuginfod's cache after that. */
static void fetch(struct dt_symtab *t)
{
	char id[DT_BUILD_ID];

	for (int i = 0; i < 2 && dt_symtab_fetches && dt_symtab_lacks(t, id); i++) {
		int file = dt_symtab_fetches(id, t->main.path, dt_symtab_has_table(&t->main));

		if (file < 0)
			return;
		close(file);
	}
}

/* Opens the file, of which no symbol is read yet. */
static struct dt_symtab *begin(int file, const char *path, const char *debug_dirs,
			       struct dt_error *e)
{
	struct dt_symtab *t = calloc(1, sizeof(*t));

	if (!t) {
		close(file);
		dt_fail(e, "out of memory reading the symbols of %s", path);
		return NULL;
	}
	t->main.fd = t->debug.fd = t->mini.fd = t->channel = -1;
	t->late = true;
	if (dt_symfile_begin(&t->main, file, path, e)) {
		dt_symtab_close(t);
		return NULL;
	}
	t->dirs = strdup(debug_dirs ? debug_dirs : DT_DEBUG_DIRS);
	if (!t->dirs) {
		dt_symtab_close(t);
		dt_fail(e, "out of memory reading the symbols of %s", path);
		return NULL;
	}
	fetch(t);
	return t;
}

/* Reads the functions. */
static int read_functions(struct dt_symtab *t, struct dt_error *e)
{
	struct table all = {.t = t};
	bool named;
	int rc = 0;

	t->late = false;
	t->named_whole = read_symbols(&all, &t->main, SHT_SYMTAB) ||
			 (dt_symtab_debug_file(t) && read_symbols(&all, &t->debug, SHT_SYMTAB));
	named = t->named_whole ||
		(dt_mini_open(&t->mini, &t->main) && read_symbols(&all, &t->mini, SHT_SYMTAB));
	read_symbols(&all, &t->main, SHT_DYNSYM);
	if (!named) {
		find_start(&all, &t->main);
		find_go(&all, &t->main);
	}
	name_resolved(&all, &t->main);
	if (all.damaged)
		rc = dt_fail(e, "%s is damaged: it has more symbols than bytes for them",
			     t->main.path);
	else if (build(t, &all))
		rc = dt_fail(e, "out of memory reading the symbols of %s", t->main.path);
	free(all.symbol);
	return rc;
}

void dt_symtab_need_functions(struct dt_symtab *t)
{
	/* of a damaged file there are none */
	if (t->late && read_functions(t, NULL))
		t->functions = t->aliases = 0;
}

struct dt_symtab *dt_symtab_open_file(int file, const char *path, const char *debug_dirs,
				      struct dt_error *e)
{
	struct dt_symtab *t = begin(file, path, debug_dirs, e);

	if (!t || read_functions(t, e) == 0)
		return t;
	dt_symtab_close(t);
	return NULL;
}

struct dt_symtab *dt_symtab_open_late(const char *path)
{
	int file;

	if (dt_symtab_opens)
		return dt_symtab_opens(path, NULL);
	file = dt_elf_file(path, true, NULL);
	return file < 0 ? NULL : begin(file, path, NULL, NULL);
}

bool dt_symtab_is_apart(const struct dt_symtab *t)
{
	return t->apart != NULL;
}

static void free_kept(struct dt_symtab_kept *k)
{
	while (k) {
		struct dt_symtab_kept *next = k->next;

		free(k);
		k = next;
	}
}

void dt_symtab_close(struct dt_symtab *t)
{
	if (!t)
		return;
	dt_dwarf_close(t->dwarf);
	dt_symtab_forget_unwind(t);
	dt_symfile_close(&t->debug);
	dt_symfile_close(&t->mini);
	if (t->apart)
		t->apart->end(t);
	dt_symfile_close(&t->main);
	free_kept(t->kept);
	free_kept(t->file);
	free(t->last.signature);
	free(t->function);
	free(t->object);
	free(t->alias);
	free(t->local);
	free(t->reach);
	free(t->dirs);
	free(t);
}
