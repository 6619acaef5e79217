/* SPDX-License-Identifier: MIT */
/* Which of the kernel's functions BPF is to record. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/choice.h"
#include "core/words.h"
#include "session/kernel-bpf-work.h"
#include "session/options.h"

/* Compares a function with one pattern, such as "vfs_*", "!ext4:*" or "vfs_read". */
static bool matches(const char *pattern, const struct dt_kernel_symbol *s)
{
	const char *colon = strchr(pattern, ':');
	char module[64];

	if (!colon)
		return fnmatch(pattern, s->name, 0) == 0;
	dt_format(module, sizeof(module), "%.*s", (int)(colon - pattern), pattern);
	return fnmatch(module, s->module, 0) == 0 && fnmatch(colon + 1, s->name, 0) == 0;
}

static bool is_tracepoint(const char *word)
{
	return strncmp(word, DT_KERNEL_TRACEPOINTS, strlen(DT_KERNEL_TRACEPOINTS)) == 0;
}

bool dt_bpf_chosen(const struct dt_kernel_bpf *k, const struct dt_kernel_symbol *s, bool *exact)
{
	struct dt_choice choice = {0};
	size_t words = 0;
	char word[256];

	*exact = false;
	for (size_t i = 0; i < k->wanted->n; i++)
		for (const char *p = k->wanted->pattern[i]; *p;) {
			size_t n = strcspn(p, " ");
			bool removes = *p == '!', found;
			size_t sign = *p == '!' || *p == '+';

			if (n > sign && !is_tracepoint(p + sign)) {
				dt_format(word, sizeof(word), "%.*s", (int)(n - sign), p + sign);
				found = matches(word, s);
				dt_choice_note(&choice, removes, found);
				words++;
				*exact = *exact || (found && !removes && !dt_word_is_pattern(word));
			}
			p += n + strspn(p + n, " ");
		}
	return words && dt_choice_made(&choice);
}

void dt_bpf_leave_out(struct dt_bpf_left_out *l, const char *name)
{
	size_t at = strlen(l->names);

	if (l->n++ < 3 && at + strlen(name) + 1 < sizeof(l->names))
		dt_format(l->names + at, sizeof(l->names) - at, "%s%s", at ? " " : "", name);
}

static int add(struct dt_kernel_bpf *k, const struct dt_bpf_function *f)
{
	if (k->functions == k->room) {
		size_t room = k->room ? 2 * k->room : 256;
		struct dt_bpf_function *more = realloc(k->function, room * sizeof(*more));

		if (!more)
			return -1;
		k->function = more;
		k->room = room;
	}
	k->function[k->functions++] = *f;
	return 0;
}

bool dt_bpf_is_call(const char *name)
{
	static const char *const prefix[] = {"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_",
					     "__x64_compat_sys_"};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

/* Looks at a function that is chosen. False: it is one of a system call, which have no programs of
 * their own. */
static bool look(struct dt_kernel_bpf *k, struct dt_bpf_function *f)
{
	const char *name = f->symbol.name;

	if (dt_bpf_is_call(name)) {
		k->calls++; /* tables of them will say which these are */
		return false;
	}
	f->type =
		strcmp(f->symbol.module, "vmlinux") == 0 ? dt_kernel_names_type(k->names, name) : 0;
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct dt_bpf_function *x = a, *y = b;

	return strcmp(x->symbol.name, y->symbol.name);
}

int dt_bpf_choose_typed(struct dt_kernel_bpf *k, struct dt_error *e)
{
	size_t kept = 0;

	for (size_t i = 0, same; i < k->functions; i += same) {
		struct dt_bpf_function *f = &k->function[i];

		for (same = 1; i + same < k->functions && by_name(f, f + same) == 0; same++)
			;
		if (same == 1 && f->type) {
			k->function[kept++] = *f;
			continue;
		}
		if (f->exact)
			return dt_fail(e,
				       "'%s' has no type of its own in the kernel's BTF, and this "
				       "kernel has no kprobe.multi (CONFIG_FPROBE): BPF may not "
				       "probe it, devtrace's module may",
				       f->symbol.name);
		dt_bpf_leave_out(&k->untyped, f->symbol.name);
	}
	k->functions = kept;
	if (k->functions || k->calls || !k->untyped.n)
		return 0;
	return dt_fail(
		e,
		"none of these has a type of its own in the kernel's BTF, and this kernel has "
		"no kprobe.multi (CONFIG_FPROBE), so BPF may not probe them: %s",
		k->untyped.names);
}

/* Is the function one of those that are thrown away when the kernel has been initialized? */
static bool is_initial(const struct dt_kernel_symbol *s, const struct dt_kernel_symbol initial[2])
{
	return s->address >= initial[0].address && s->address < initial[1].address;
}

int dt_bpf_choose_between(struct dt_kernel_bpf *k, uint64_t begin, uint64_t end, struct dt_error *e)
{
	struct dt_bpf_function f = {.fd = {-1, -1, -1, -1}};

	for (size_t i = 0; dt_kernel_names_at(k->names, i, &f.symbol); i++)
		if (f.symbol.address >= begin && f.symbol.address <= end && look(k, &f) &&
		    add(k, &f) < 0)
			return dt_fail(e, "out of memory");
	if (k->functions || k->calls)
		return 0;
	return dt_fail(e, "no function of the kernel begins between %lx and %lx",
		       (unsigned long)begin, (unsigned long)end);
}

int dt_bpf_choose(struct dt_kernel_bpf *k, struct dt_error *e)
{
	struct dt_bpf_function f = {.fd = {-1, -1, -1, -1}};
	struct dt_kernel_symbol initial[2] = {{0}};

	if (!dt_kernel_names_named(k->names, "_sinittext", &initial[0]) ||
	    !dt_kernel_names_named(k->names, "_einittext", &initial[1]))
		initial[0] = initial[1];
	for (size_t i = 0; dt_kernel_names_at(k->names, i, &f.symbol); i++) {
		if (is_initial(&f.symbol, initial) || !dt_bpf_chosen(k, &f.symbol, &f.exact))
			continue;
		if (look(k, &f) && add(k, &f) < 0)
			return dt_fail(e, "out of memory");
	}
	qsort(k->function, k->functions, sizeof(*k->function), by_name);
	if (dt_bpf_calls_choose(k, e) < 0)
		return -1;
	if (k->functions || k->calls || k->full || k->tracepoints->n || !k->wanted->n)
		return 0;
	return dt_fail(e, "no function of the kernel matches '%s'", k->wanted->pattern[0]);
}
