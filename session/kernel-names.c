/* SPDX-License-Identifier: MIT */
/* Names and types of the kernel's functions. */
#include "session/kernel-names.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/prototype.h"

struct symbol {
	uint64_t address;
	char *name, *module; /* module NULL: the kernel itself */
};

struct typed {
	const char *name;
	uint32_t id;
};

struct dt_kernel_names {
	struct symbol *symbol; /* sorted */
	size_t n, room;
	struct btf *btf;     /* NULL: this kernel has none */
	struct typed *typed; /* its functions, sorted by name */
	size_t typeds;
};

static int add(struct dt_kernel_names *k, uint64_t address, const char *name, const char *module)
{
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 65536;
		struct symbol *more = realloc(k->symbol, room * sizeof(*more));

		if (!more)
			return -1;
		k->symbol = more;
		k->room = room;
	}
	k->symbol[k->n] = (struct symbol){address, strdup(name), *module ? strdup(module) : NULL};
	return k->symbol[k->n++].name ? 0 : -1;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_symbols(struct dt_kernel_names *k, struct dt_error *e)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], module[128], type;
	unsigned long address;
	bool known = false;

	if (!f)
		return dt_fail(e, "/proc/kallsyms: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		module[0] = '\0';
		if (sscanf(line, "%lx %c %511s [%127[^]]", &address, &type, name, module) < 3 ||
		    !strchr("tTwW", type))
			continue;
		known = known || address;
		if (add(k, address, name, module) < 0) {
			fclose(f);
			return dt_fail(e, "out of memory");
		}
	}
	fclose(f);
	if (!known)
		return dt_fail(
			e,
			"the kernel does not tell where its functions are (kernel.kptr_restrict): "
			"root can have it");
	qsort(k->symbol, k->n, sizeof(*k->symbol), by_address);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct typed *)a)->name, ((const struct typed *)b)->name);
}

static void read_types(struct dt_kernel_names *k)
{
	uint32_t n;

	k->btf = btf__load_vmlinux_btf();
	if (!k->btf)
		return;
	n = btf__type_cnt(k->btf);
	k->typed = malloc(n * sizeof(*k->typed));
	for (uint32_t i = 1; k->typed && i < n; i++) {
		const struct btf_type *t = btf__type_by_id(k->btf, i);

		if (btf_is_func(t))
			k->typed[k->typeds++] =
				(struct typed){btf__name_by_offset(k->btf, t->name_off), i};
	}
	if (k->typed)
		qsort(k->typed, k->typeds, sizeof(*k->typed), by_name);
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
	read_types(k);
	return k;
}

void dt_kernel_names_close(struct dt_kernel_names *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->symbol[i].name);
		free(k->symbol[i].module);
	}
	btf__free(k->btf);
	free(k->symbol);
	free(k->typed);
	free(k);
}

bool dt_kernel_names_find(struct dt_kernel_names *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	size_t low = 0, high = k->n, first;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (k->symbol[mid].address <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	/* of several names, the first that kallsyms has; compiler's copies last */
	for (first = low - 1; first && k->symbol[first - 1].address == k->symbol[low - 1].address;)
		first--;
	*s = (struct dt_kernel_symbol){
		.address = k->symbol[first].address,
		.end = low < k->n ? k->symbol[low].address : k->symbol[first].address + 4096,
		.name = k->symbol[first].name,
		.module = k->symbol[first].module ? k->symbol[first].module : "vmlinux"};
	return true;
}

/* ---- signatures ---- */

#define CALL "__x64_sys_" /* what the functions of system calls are called by */

/* The type behind names and qualifiers. */
static const struct btf_type *plain(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(b, t->type);
	return t;
}

/* As in a signature, and how many registers a value of it takes; 0: it is on the stack. */
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

void dt_kernel_names_signature(struct dt_kernel_names *k, const char *name, char *out, size_t size)
{
	struct typed key = {name, 0}, *found;
	const struct btf_type *proto;
	const struct btf_param *p;
	unsigned at = 0, registers;
	char type[8];
	size_t n = 0;

	out[0] = '\0';
	/* its only argument is where the caller's registers are, and the module has read them */
	if (strncmp(name, CALL, strlen(CALL)) == 0) {
		dt_prototype_call(name + strlen(CALL), out, size);
		return;
	}
	found = k->typeds ? bsearch(&key, k->typed, k->typeds, sizeof(key), by_name) : NULL;
	proto = found ? btf__type_by_id(k->btf, btf__type_by_id(k->btf, found->id)->type) : NULL;
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
			       btf__name_by_offset(k->btf, p[i].name_off), type);
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
