/* SPDX-License-Identifier: MIT */
/* Matches patterns with functions, and suggests names if a pattern matches nothing. */
#include "symbols/pattern.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/choice.h"
#include "symbols/nameless.h"
#include "symbols/shorten.h"

#define MAX_NAME 1024 /* longer names are matched only as they are, without cutting */

const char *dt_pattern_prefix_end(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p != ':')
			continue;
		if (p[1] != ':')
			return p;
		while (p[1] == ':')
			p++;
	}
	return NULL;
}

/* Returns whether "__cxx11::" or "__1::" is followed by a wildcard: shortened, std::__cxx11::*
 * would mean all of std. */
static bool asks_for_namespace(const char *name)
{
	static const char *const namespace[] = {"__cxx11::", "__1::"};

	for (size_t i = 0; i < 2; i++)
		for (const char *p = name; (p = strstr(p, namespace[i])); p++)
			if (strchr("*?[", p[strlen(namespace[i])]))
				return true;
	return false;
}

int dt_selection_add(struct dt_selection *s, const char *text, bool remove, struct dt_error *e)
{
	const char *colon = dt_pattern_prefix_end(text), *name = colon ? colon + 1 : text;
	struct dt_pattern *more, p = {.remove = remove};

	if (!*text)
		return dt_fail(e, "empty pattern: give a function's name, such as tcp_*");
	if (colon && !*name)
		return dt_fail(e, "%s names no function after ':': for all of them write %s*", text,
			       text);
	if (colon == text)
		return dt_fail(e, "%s names no module before ':': for any write *%s", text, text);
	more = realloc(s->pattern, (s->n + 1) * sizeof(*more));
	if (!more)
		return dt_fail(e, "out of memory for pattern %s", text);
	s->pattern = more;
	p.text = strdup(text);
	p.name = strdup(name);
	p.shorter = malloc(2 * strlen(name) + 1);
	p.module = colon ? strndup(text, (size_t)(colon - text)) : NULL;
	if (!p.text || !p.name || !p.shorter || (colon && !p.module)) {
		free(p.text);
		free(p.name);
		free(p.shorter);
		free(p.module);
		return dt_fail(e, "out of memory for pattern %s", text);
	}
	if (asks_for_namespace(name) || !dt_shorten(name, p.shorter)) {
		free(p.shorter);
		p.shorter = NULL;
	}
	s->pattern[s->n++] = p;
	return 0;
}

void dt_selection_clear(struct dt_selection *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->pattern[i].text);
		free(s->pattern[i].name);
		free(s->pattern[i].shorter);
		free(s->pattern[i].module);
	}
	free(s->pattern);
	*s = (struct dt_selection){0};
}

static bool glob(const char *pattern, const char *text)
{
	/* tests for equality first: "operator[]" is a name, not a bracket expression */
	return !strcmp(pattern, text) ||
	       (pattern[strcspn(pattern, "*?[\\")] && !fnmatch(pattern, text, 0));
}

/* Cuts what tells which Python a module is for (PEP 3149: ".cpython-311-x86_64-linux-gnu",
 * ".abi3"); returns false if there is nothing to cut. */
static bool cut_tag(char *name)
{
	static const char *const tag[] = {".cpython-", ".pypy", ".abi3"};

	for (size_t i = 0; i < sizeof(tag) / sizeof(tag[0]); i++) {
		char *at = strstr(name, tag[i]);

		if (at && at != name) {
			*at = '\0';
			return true;
		}
	}
	return false;
}

/* Matches one of the names of a module, of n bytes. */
static bool match_module(const struct dt_pattern *p, const char *name, size_t n)
{
	char text[4096], *base, *so;

	if (n >= sizeof(text))
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	if (strchr(p->module, '/'))
		return glob(p->module, text);
	base = strrchr(text, '/');
	base = base ? base + 1 : text;
	if (glob(p->module, base))
		return true;
	so = strstr(base, ".so");
	if (!so || (so[3] && so[3] != '.'))
		return false;
	*so = '\0';
	return glob(p->module, base) || (cut_tag(base) && glob(p->module, base));
}

bool dt_pattern_module(const struct dt_pattern *p, const char *module)
{
	if (!p->module)
		return true;
	for (;;) {
		size_t n = strcspn(module, "\n");

		if (match_module(p, module, n))
			return true;
		if (!module[n])
			return false;
		module += n + 1;
	}
}

/* Cuts what a compiler appends to the name of a copy; returns false if there is nothing to cut. */
static bool cut_suffix(char *name)
{
	static const char *const suffix[] = {".constprop.", ".isra.", ".part.",	 ".cold",
					     ".lto_priv.",  ".llvm.", ".clone.", ".localalias"};
	bool cut = false;

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		char *at = strstr(name, suffix[i]);

		if (at && at != name) {
			*at = '\0';
			cut = true;
		}
	}
	return cut;
}

/*
 * Cuts template arguments: "ns::map<int, A<b> >::find<c>" becomes "ns::map::find". Returns false if
 * there are none.
 */
static bool cut_templates(char *name)
{
	char *out = name;
	int depth = 0;
	bool cut = false;

	if (!strchr(name, '<') || strstr(name, "operator<") || strstr(name, "operator>") ||
	    strstr(name, "operator-"))
		return false;
	for (const char *p = name; *p; p++) {
		if (*p == '<') {
			depth++;
			cut = true;
		} else if (*p == '>' && depth) {
			depth--;
		} else if (!depth) {
			*out++ = *p;
		}
	}
	*out = '\0';
	return cut && *name;
}

bool dt_pattern_name(const struct dt_pattern *p, const char *name)
{
	char cut[2 * MAX_NAME];

	/* what a trace file has is shortened, or not if it is of an earlier version */
	if (glob(p->name, name) || (p->shorter && glob(p->shorter, name)))
		return true;
	/* nothing can be shortened or cut: most names of C, in rows of some 100,000 */
	if (!name[strcspn(name, ".:<")] || strlen(name) >= MAX_NAME)
		return false;
	if (dt_shorten(name, cut) && glob(p->shorter ? p->shorter : p->name, cut))
		return true;
	strcpy(cut, name);
	if (cut_suffix(cut) && glob(p->name, cut))
		return true;
	return !strchr(p->name, '<') && cut_templates(cut) && glob(p->name, cut);
}

/* Returns the name of the module without its folders, and the length in *n; `rest' is where its
 * further names begin, NULL after the last one. */
static const char *module_name(const char *module, size_t *n, const char **rest)
{
	size_t length = strcspn(module, "\n");
	const char *slash = memrchr(module, '/', length);

	*rest = module[length] ? module + length + 1 : NULL;
	if (slash)
		length -= (size_t)(slash + 1 - module);
	*n = length;
	return slash ? slash + 1 : module;
}

bool dt_pattern_by_address(const struct dt_pattern *p, const char *module)
{
	const char *plus = strstr(p->name, "+0x"), *rest = module;
	char want[256], text[256];

	if (!strncmp(p->name, "0x", 2) || (strstr(p->name, "->") && dt_pattern_module(p, module)))
		return true;
	if (!plus || (size_t)(plus - p->name) >= sizeof(want) || !dt_pattern_module(p, module))
		return false;
	dt_format(want, sizeof(want), "%.*s", (int)(plus - p->name), p->name);
	while (rest) {
		size_t n;
		const char *name = module_name(rest, &n, &rest);

		if (n < sizeof(text)) {
			dt_format(text, sizeof(text), "%.*s", (int)n, name);
			if (glob(want, text))
				return true;
		}
	}
	return false;
}

/* Matches a name that consists of an address, or ends in one, by the address alone and by the
 * address in each of the module's names. */
static bool match_nameless(const struct dt_pattern *p, const char *module, const char *name)
{
	size_t digits;
	const char *address = dt_nameless_address(name, &digits), *rest = module;
	char text[DT_NAMELESS], number[32];

	if (!address || digits >= sizeof(number))
		return false;
	dt_format(number, sizeof(number), "%.*s", (int)digits, address);
	if (glob(p->name, number) || glob(p->name, address))
		return true;
	while (rest && strchr(p->name, '+')) {
		size_t n;
		const char *file = module_name(rest, &n, &rest);

		dt_format(text, sizeof(text), "%.*s+%s", (int)n, file, number);
		if (glob(p->name, text))
			return true;
		dt_format(text, sizeof(text), "%.*s+%s", (int)n, file, address);
		if (glob(p->name, text))
			return true;
	}
	return false;
}

static bool match_any(const struct dt_pattern *p, const char *module, const char *const *names,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (dt_pattern_name(p, names[i]) || match_nameless(p, module, names[i]))
			return true;
	return false;
}

static void note(struct dt_choice *c, struct dt_pattern *p, bool matches)
{
	p->hits += matches;
	dt_choice_note(c, p->remove, matches);
}

bool dt_selection_match(struct dt_selection *s, const char *module, const char *const *names,
			size_t n)
{
	struct dt_choice c = {0};

	for (size_t i = 0; i < s->n; i++) {
		struct dt_pattern *p = &s->pattern[i];

		note(&c, p, dt_pattern_module(p, module) && match_any(p, module, names, n));
	}
	return dt_choice_made(&c);
}

bool dt_selection_named(struct dt_selection *s, const char *module, const char *name,
			const char *others)
{
	char text[DT_OTHER_NAMES], *save = NULL;
	const char *names[64] = {name};
	size_t n = 1;

	dt_format(text, sizeof(text), "%s", others ? others : "");
	for (char *p = strtok_r(text, "\n", &save); p && n < sizeof(names) / sizeof(*names);
	     p = strtok_r(NULL, "\n", &save))
		names[n++] = p;
	return dt_selection_match(s, module, names, n);
}

bool dt_selection_event(struct dt_selection *s, const char *const subsystem[2],
			const char *const event[2])
{
	struct dt_choice c = {0};

	for (size_t i = 0; i < s->n; i++) {
		struct dt_pattern *p = &s->pattern[i];

		note(&c, p,
		     (!p->module || glob(p->module, subsystem[0]) ||
		      glob(p->module, subsystem[1])) &&
			     (glob(p->name, event[0]) || glob(p->name, event[1])));
	}
	return dt_choice_made(&c);
}

static bool is_any(const char *pattern)
{
	return strspn(pattern, "*") == strlen(pattern);
}

bool dt_selection_usdt(struct dt_selection *s, const char *provider, const char *name, bool by_name)
{
	struct dt_choice c = {.adds = true}; /* a probe is chosen only by a pattern */

	for (size_t i = 0; i < s->n; i++) {
		struct dt_pattern *p = &s->pattern[i];
		bool names = p->remove || !by_name || !is_any(p->module ? p->module : "") ||
			     !is_any(p->name);

		note(&c, p, p->module && names && glob(p->module, provider) && glob(p->name, name));
	}
	return dt_choice_made(&c);
}

bool dt_selection_rest(const struct dt_selection *s)
{
	struct dt_choice c = {0};

	for (size_t i = 0; i < s->n; i++)
		dt_choice_note(&c, s->pattern[i].remove, false);
	return dt_choice_made(&c);
}

bool dt_name_is_startup(const char *name)
{
	static const char *const startup[] = {
		"_start",
		"_init",
		"_fini",
		"frame_dummy",
		"register_tm_clones",
		"deregister_tm_clones",
		"__do_global_dtors_aux",
		"__do_global_ctors_aux",
		"__libc_csu_init",
		"__libc_csu_fini",
		"_dl_relocate_static_pie",
	};

	for (size_t i = 0; name && i < sizeof(startup) / sizeof(startup[0]); i++)
		if (!strcmp(name, startup[i]))
			return true;
	return false;
}

bool dt_symtab_has_startup(const struct dt_symtab *t)
{
	size_t n = 0;
	const struct dt_function *f = t ? dt_symtab_functions(t, &n) : NULL;

	for (size_t i = 0; i < n; i++)
		if (f[i].linkage && (f[i].start || strcmp(f[i].linkage, "_start")) &&
		    dt_name_is_startup(f[i].linkage))
			return true;
	return false;
}

/* Does one of the names belong to start-up code, while no pattern is exactly that name? */
static bool left_out(const struct dt_selection *s, const char *const *names, size_t n)
{
	bool startup = false;

	for (size_t k = 0; k < n; k++) {
		if (!dt_name_is_startup(names[k]))
			continue;
		startup = true;
		for (size_t i = 0; i < s->n; i++)
			if (!s->pattern[i].remove && !strcmp(s->pattern[i].name, names[k]))
				return false;
	}
	return startup;
}

/* The aliases of a symbol table, which come sorted by address. */
struct aliases {
	struct {
		uint64_t address;
		const char *name;
	} * of;
	size_t n, room;
	bool failed;
};

static void collect(void *ctx, uint64_t address, const char *name)
{
	struct aliases *a = ctx;

	if (a->n == a->room) {
		size_t room = a->room ? a->room * 2 : 256;
		void *p = realloc(a->of, room * sizeof(*a->of));

		if (!p) {
			a->failed = true;
			return;
		}
		a->of = p;
		a->room = room;
	}
	a->of[a->n].address = address;
	a->of[a->n++].name = name;
}

int64_t dt_selection_symtab(struct dt_selection *s, const char *module, const struct dt_symtab *t,
			    bool *chosen)
{
	struct aliases a = {0};
	size_t n, next = 0;
	const struct dt_function *f = dt_symtab_functions(t, &n);
	bool startup = dt_symtab_has_startup(t);
	int64_t count = 0;

	if (s->n)
		dt_symtab_aliases(t, collect, &a);
	for (size_t i = 0; !a.failed && i < n; i++) {
		const char *names[32] = {f[i].name, f[i].linkage, f[i].full};
		size_t k = 3;

		while (next < a.n && a.of[next].address < f[i].address)
			next++;
		for (; next < a.n && a.of[next].address == f[i].address; next++)
			if (k < sizeof(names) / sizeof(names[0]))
				names[k++] = a.of[next].name;
		chosen[i] = dt_selection_match(s, module, names, k) &&
			    !(startup && left_out(s, names, k));
		count += chosen[i];
	}
	free(a.of);
	return a.failed ? -1 : count;
}

void dt_near_start(struct dt_near *near, const char *pattern)
{
	const char *colon = dt_pattern_prefix_end(pattern);
	size_t n = 0;

	*near = (struct dt_near){0};
	/* without wildcards, since no name contains them */
	for (const char *p = colon ? colon + 1 : pattern; *p && n + 1 < sizeof(near->want); p++)
		if (!strchr("*?[]", *p))
			near->want[n++] = (char)tolower((unsigned char)*p);
}

/*
 * Returns how many changes of one letter (or exchanges of two neighbours) turn a into b, or limit +
 * 1 if more than limit.
 */
static unsigned distance(const char *a, size_t n, const char *b, size_t m, unsigned limit)
{
	unsigned row[3][129];
	unsigned *last2 = row[0], *last = row[1], *now = row[2];

	if (n > 128 || m > 128 || (n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (size_t k = 0; k <= m; k++)
		last[k] = (unsigned)k;
	for (size_t i = 1; i <= n; i++) {
		unsigned *reuse = last2, least = now[0] = (unsigned)i;

		for (size_t k = 1; k <= m; k++) {
			unsigned v = last[k - 1] + (a[i - 1] != b[k - 1]);

			if (last[k] + 1 < v)
				v = last[k] + 1;
			if (now[k - 1] + 1 < v)
				v = now[k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    last2[k - 2] + 1 < v)
				v = last2[k - 2] + 1;
			now[k] = v;
			if (v < least)
				least = v;
		}
		if (least > limit)
			return limit + 1;
		last2 = last;
		last = now;
		now = reuse;
	}
	return last[m];
}

/*
 * Returns how far name is from want: 0 is best, ~0 is not near. The best differ only in case, then
 * come those with a few other letters, then those that contain want.
 */
static unsigned cost_of(const char *want, const char *name)
{
	size_t n = strlen(want), m = strlen(name);
	unsigned limit = n < 4 ? 1 : n < 12 ? 2 : 3, d;
	char low[MAX_NAME];

	if (!n || m >= sizeof(low))
		return ~0u;
	for (size_t i = 0; i <= m; i++)
		low[i] = (char)tolower((unsigned char)name[i]);
	d = distance(want, n, low, m, limit);
	if (d <= limit)
		return d * 1000;
	if (n >= 3 && strstr(low, want))
		return 4000 + (unsigned)(m - n);
	return ~0u;
}

void dt_near_offer(struct dt_near *near, const char *name)
{
	const char *last = strrchr(name, ':');
	unsigned cost = cost_of(near->want, name);
	size_t at;

	if (!*name) /* a module whose path is its only name */
		return;
	/* "find" is near "ns::finds" as well */
	if (last && cost > 500) {
		unsigned inner = cost_of(near->want, last + 1);

		if (inner != ~0u && inner + 500 < cost)
			cost = inner + 500;
	}
	if (cost == ~0u || strlen(name) >= sizeof(near->name[0]))
		return;
	for (size_t i = 0; i < near->n; i++)
		if (!strcmp(near->name[i], name))
			return;
	for (at = near->n; at > 0 && near->cost[at - 1] > cost; at--)
		if (at < DT_NEAR) {
			memcpy(near->name[at], near->name[at - 1], sizeof(near->name[at]));
			near->cost[at] = near->cost[at - 1];
		}
	if (at == DT_NEAR)
		return;
	strcpy(near->name[at], name);
	near->cost[at] = cost;
	if (near->n < DT_NEAR)
		near->n++;
}

void dt_near_offer_others(struct dt_near *near, const char *others)
{
	char text[DT_OTHER_NAMES], *save = NULL;

	dt_format(text, sizeof(text), "%s", others ? others : "");
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		dt_near_offer(near, p);
}

static void offer(void *ctx, uint64_t address, const char *name)
{
	(void)address;
	if (strncmp(name, "_Z", 2))
		dt_near_offer(ctx, name);
}

void dt_near_symtab(struct dt_near *near, const struct dt_symtab *t)
{
	size_t n;
	const struct dt_function *f = dt_symtab_functions(t, &n);

	for (size_t i = 0; i < n; i++)
		dt_near_offer(near, f[i].name);
	dt_symtab_aliases(t, offer, near);
}

void dt_near_text(const struct dt_near *near, char text[DT_NEAR_TEXT])
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < near->n; i++)
		length += dt_format(text + length, DT_NEAR_TEXT - length, "%s%s",
				    i ? ", " : "; near names: ", near->name[i]);
}
