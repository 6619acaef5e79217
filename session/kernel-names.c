/* SPDX-License-Identifier: MIT */
/* Names and types of the kernel's functions. */
#include "session/kernel-names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/search.h"
#include "core/text.h"
#include "session/btf.h"
#include "symbols/prototype.h"

struct symbol {
	uint64_t address;
	const char *name, *module; /* both point into the text; module NULL: the kernel itself */
};

struct dt_kernel_names {
	char *text;	       /* the text of kallsyms, cut into words */
	struct symbol *symbol; /* sorted by address */
	size_t n, room;
	uint64_t calls;	 /* address of the table of system calls; 0: not told */
	struct btf *btf; /* types; NULL: not read, or this kernel has none */
	uint32_t *typed; /* hash table of its functions by their names: ids of types; 0: free */
	size_t slots;	 /* of typed: a power of two */
};

/* Prefixes of the names of functions for system calls. small: those for 32-bit programs, with
 * 32-bit arguments. */
static const struct {
	const char *prefix;
	bool small;
} call[] = {{"__x64_sys_", false},
	    {"__ia32_sys_", true},
	    {"__ia32_compat_sys_", true},
	    {"__x64_compat_sys_", false}};

static int add(struct dt_kernel_names *k, const struct symbol *s)
{
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 65536;
		struct symbol *more = realloc(k->symbol, room * sizeof(*more));

		if (!more)
			return -1;
		k->symbol = more;
		k->room = room;
	}
	k->symbol[k->n++] = *s;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/*
 * Reads a whole file that does not tell its size; NULL: error, in errno. The caller frees the text.
 */
static char *read_whole(const char *path)
{
	size_t n = 0, room = 1 << 20;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(room);
	ssize_t got = 1;

	while (text && got > 0) {
		if (n + 1 == room) {
			char *more = realloc(text, 2 * room);

			if (!more) {
				got = -1;
				break;
			}
			text = more;
			room *= 2;
		}
		got = read(fd, text + n, room - n - 1);
		n += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		text = NULL;
	}
	if (text)
		text[n] = '\0';
	return text;
}

/* Parses a line that ends in \0 at `end', and cuts it into words. It is such as "ffffffff8834cc50 T
 * vfs_read", with "\t[ext4]" after it for a function of a module. False: it is no function. */
static bool parse(char *line, char *end, struct symbol *s)
{
	size_t digits = dt_text_hex_parse(line, (size_t)(end - line), &s->address);
	char *type = line + digits;

	if (!digits || end - type < 4 || type[0] != ' ' || !strchr("tTwW", type[1]) ||
	    type[2] != ' ')
		return false;
	s->name = type + 3;
	s->module = NULL;
	type = memchr(s->name, '\t', (size_t)(end - s->name));
	if (type) {
		*type++ = '\0';
		type += strspn(type, "\t [");
		type[strcspn(type, "]")] = '\0';
		s->module = type;
	}
	return s->name[0];
}

/* Sorts the symbols by address. Those of the kernel itself are in that order already; those of
 * modules come after them in the file, and have higher addresses. */
static void sort(struct dt_kernel_names *k)
{
	size_t n = k->n ? 1 : 0;

	while (n < k->n && k->symbol[n - 1].address <= k->symbol[n].address)
		n++;
	qsort(k->symbol + n, k->n - n, sizeof(*k->symbol), by_address);
	if (n < k->n && k->symbol[n].address < k->symbol[n - 1].address)
		qsort(k->symbol, k->n, sizeof(*k->symbol), by_address);
}

static int read_symbols(struct dt_kernel_names *k, struct dt_error *e)
{
	bool known = false;

	k->text = read_whole("/proc/kallsyms");
	if (!k->text)
		return dt_fail(e, "/proc/kallsyms: %s", strerror(errno));
	for (char *line = k->text, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct symbol s;

		*end = '\0';
		if (!parse(line, end, &s)) {
			size_t digits = dt_text_hex_parse(line, (size_t)(end - line), &s.address);

			if (digits && end - line > (long)digits + 3 &&
			    strcmp(line + digits + 3, "sys_call_table") == 0)
				k->calls = s.address;
			continue;
		}
		known = known || s.address;
		if (add(k, &s) < 0)
			return dt_fail(e, "out of memory");
	}
	if (!known)
		return dt_fail(
			e,
			"the kernel does not tell where its functions are (kernel.kptr_restrict): "
			"root can have it");
	sort(k);
	return 0;
}

/* ---- types ---- */

static uint32_t hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h ^ h >> 15;
}

static const char *name_of(const struct dt_kernel_names *k, uint32_t id)
{
	return dt_btf.name_by_offset(k->btf, dt_btf.type_by_id(k->btf, id)->name_off);
}

/* Returns the slot of a function in the hash table, or the free one where it belongs. */
static uint32_t *slot(const struct dt_kernel_names *k, const char *name)
{
	size_t i = hash(name) & (k->slots - 1);

	while (k->typed[i] && strcmp(name_of(k, k->typed[i]), name) != 0)
		i = (i + 1) & (k->slots - 1);
	return &k->typed[i];
}

int dt_kernel_names_types(struct dt_kernel_names *k, struct dt_error *e)
{
	uint32_t n, functions = 0;

	if (k->btf)
		return 0;
	if (dt_btf_load(e) < 0)
		return -1;
	k->btf = dt_btf.load_vmlinux_btf();
	if (!k->btf)
		return 0;
	n = dt_btf.type_cnt(k->btf);
	for (uint32_t i = 1; i < n; i++)
		functions += btf_is_func(dt_btf.type_by_id(k->btf, i));
	for (k->slots = 1024; k->slots < 2 * functions;)
		k->slots *= 2;
	k->typed = calloc(k->slots, sizeof(*k->typed));
	for (uint32_t i = 1; k->typed && i < n; i++)
		if (btf_is_func(dt_btf.type_by_id(k->btf, i)))
			*slot(k, name_of(k, i)) = i;
	return 0;
}

struct dt_kernel_names *dt_kernel_names_open(struct dt_error *e)
{
	struct dt_kernel_names *k = calloc(1, sizeof(*k));

	if (!k) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	if (read_symbols(k, e) < 0) {
		dt_kernel_names_close(k);
		return NULL;
	}
	return k;
}

void dt_kernel_names_close(struct dt_kernel_names *k)
{
	if (k->btf)
		dt_btf.free(k->btf);
	free(k->text);
	free(k->symbol);
	free(k->typed);
	free(k);
}

static void fill(const struct dt_kernel_names *k, size_t i, struct dt_kernel_symbol *s)
{
	size_t next = i + 1;

	while (next < k->n && k->symbol[next].address == k->symbol[i].address)
		next++;
	*s = (struct dt_kernel_symbol){
		.address = k->symbol[i].address,
		.end = next < k->n ? k->symbol[next].address : k->symbol[i].address + 4096,
		.name = k->symbol[i].name,
		.module = k->symbol[i].module ? k->symbol[i].module : "vmlinux"};
}

bool dt_kernel_names_named(const struct dt_kernel_names *k, const char *name,
			   struct dt_kernel_symbol *s)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->symbol[i].name, name) == 0) {
			fill(k, i, s);
			return true;
		}
	return false;
}

bool dt_kernel_names_at(const struct dt_kernel_names *k, size_t i, struct dt_kernel_symbol *s)
{
	if (i >= k->n)
		return false;
	fill(k, i, s);
	return true;
}

uint64_t dt_kernel_names_calls(const struct dt_kernel_names *k)
{
	return k->calls;
}

uint32_t dt_kernel_names_type(const struct dt_kernel_names *k, const char *name)
{
	return k->typed ? *slot(k, name) : 0;
}

bool dt_kernel_names_find(struct dt_kernel_names *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	size_t low = dt_count_before(k->n, i, k->symbol[i].address <= pc), first;

	if (!low)
		return false;
	/* of several names for an address the first in kallsyms is taken; copies by the compiler
	 * come last there */
	for (first = low - 1; first && k->symbol[first - 1].address == k->symbol[low - 1].address;)
		first--;
	/* a system call without arguments is one function with a name for each kind of caller */
	for (size_t i = first; i < low; i++)
		if (strncmp(k->symbol[i].name, call[0].prefix, strlen(call[0].prefix)) == 0)
			first = i;
	fill(k, first, s);
	return true;
}

/* ---- signatures ---- */

/* Returns the type without typedefs and qualifiers. */
static const struct btf_type *plain(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = dt_btf.type_by_id(b, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = dt_btf.type_by_id(b, t->type);
	return t;
}

/* Writes a type as in a signature, and how many registers a value of it takes; 0: it is on the
 * stack. */
static void describe(const struct btf *b, uint32_t id, char type[8], unsigned *registers)
{
	const struct btf_type *t = id ? plain(b, id) : NULL;
	uint8_t encoding;

	*registers = 1;
	if (!t) {
		dt_format(type, 8, "v");
	} else if (btf_is_ptr(t) || btf_is_array(t)) {
		dt_format(type, 8, "p");
	} else if (btf_is_any_enum(t)) {
		dt_format(type, 8, "%c%u", btf_kflag(t) ? 'i' : 'u', t->size);
	} else if (btf_is_int(t)) {
		encoding = btf_int_encoding(t);
		if (encoding & BTF_INT_BOOL)
			dt_format(type, 8, "b");
		else
			dt_format(type, 8, "%c%u", encoding & BTF_INT_SIGNED ? 'i' : 'u', t->size);
		*registers = t->size > 8 ? 2 : 1;
	} else {
		dt_format(type, 8, "a");
		*registers = t->size > 16 ? 0 : t->size > 8 ? 2 : 1;
	}
}

/* Makes the parameters 32 bits wide at most, as the registers of a 32-bit caller are; the result
 * stays. */
static void make_small(char *signature)
{
	for (char *p = signature; *p && *p != ';'; p++)
		if (p[0] == ':' && (p[1] == 'i' || p[1] == 'u') && p[2] == '8' &&
		    (p[3] == '@' || p[3] == '#'))
			p[2] = '4';
}

void dt_kernel_names_signature(struct dt_kernel_names *k, const char *name, char *out, size_t size)
{
	const struct btf_type *proto;
	const struct btf_param *p;
	unsigned at = 0, registers;
	char type[8];
	size_t n = 0;
	uint32_t id;

	out[0] = '\0';
	/* the argument of such a function only points to the caller's registers, from which the
	 * module has read the call's arguments */
	for (size_t i = 0; i < sizeof(call) / sizeof(*call); i++) {
		size_t length = strlen(call[i].prefix);

		if (strncmp(name, call[i].prefix, length) != 0)
			continue;
		dt_prototype_call(name + length, out, size);
		if (call[i].small)
			make_small(out);
		return;
	}
	id = k->typed ? *slot(k, name) : 0;
	proto = id ? dt_btf.type_by_id(k->btf, dt_btf.type_by_id(k->btf, id)->type) : NULL;
	if (!proto || !btf_is_func_proto(proto))
		return;
	p = btf_params(proto);
	for (unsigned i = 0; i < btf_vlen(proto) && n < size; i++) {
		const char *comma = i ? "," : "";

		if (!p[i].type) {
			n += dt_format(out + n, size - n, "%s...:a@-", comma);
			continue;
		}
		describe(k->btf, p[i].type, type, &registers);
		n += dt_format(out + n, size - n, "%s%s:%s@", comma,
			       dt_btf.name_by_offset(k->btf, p[i].name_off), type);
		if (n >= size)
			break;
		if (registers == 1 && at < 4 && type[0] != 'a')
			n += dt_format(out + n, size - n, "%u", at);
		else
			n += dt_format(out + n, size - n, "-");
		at += registers;
	}
	describe(k->btf, proto->type, type, &registers);
	if (n < size)
		n += dt_format(out + n, size - n,
			       registers == 1 && type[0] != 'a' && type[0] != 'v' ? ";%s@0"
			       : type[0] == 'v'					  ? ";%s"
										  : ";%s@-",
			       type);
	if (n >= size)
		out[0] = '\0';
}
