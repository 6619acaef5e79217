/* SPDX-License-Identifier: MIT */
#include "symbols/shorten.h"

#include <string.h>

#define DEPTH	  64   /* templates inside each other; deeper names stay as they are */
#define ARGUMENTS 8    /* of a template whose arguments may be left out */
#define LONGEST	  2048 /* bytes of an argument that is compared */

/* The templates of the standard library whose last arguments are left out, and what these are: $1
 * and $2 are its first arguments. */
static const struct template
{
	const char *name;
	unsigned kept; /* arguments that are always there */
	const char *rest[3];
}
templates[] = {
	{"vector", 1, {"std::allocator<$1>"}},
	{"deque", 1, {"std::allocator<$1>"}},
	{"list", 1, {"std::allocator<$1>"}},
	{"forward_list", 1, {"std::allocator<$1>"}},
	{"set", 1, {"std::less<$1>", "std::allocator<$1>"}},
	{"multiset", 1, {"std::less<$1>", "std::allocator<$1>"}},
	{"map", 2, {"std::less<$1>", "std::allocator<std::pair<$1 const, $2> >"}},
	{"multimap", 2, {"std::less<$1>", "std::allocator<std::pair<$1 const, $2> >"}},
	{"unordered_set", 1, {"std::hash<$1>", "std::equal_to<$1>", "std::allocator<$1>"}},
	{"unordered_multiset", 1, {"std::hash<$1>", "std::equal_to<$1>", "std::allocator<$1>"}},
	{"unordered_map",
	 2,
	 {"std::hash<$1>", "std::equal_to<$1>", "std::allocator<std::pair<$1 const, $2> >"}},
	{"unordered_multimap",
	 2,
	 {"std::hash<$1>", "std::equal_to<$1>", "std::allocator<std::pair<$1 const, $2> >"}},
	{"queue", 1, {"std::deque<$1>"}},
	{"stack", 1, {"std::deque<$1>"}},
	{"priority_queue", 1, {"std::vector<$1>", "std::less<$1>"}},
	{"unique_ptr", 1, {"std::default_delete<$1>"}},
	{"basic_string", 1, {"std::char_traits<$1>", "std::allocator<$1>"}},
	{"basic_stringstream", 1, {"std::char_traits<$1>", "std::allocator<$1>"}},
	{"basic_istringstream", 1, {"std::char_traits<$1>", "std::allocator<$1>"}},
	{"basic_ostringstream", 1, {"std::char_traits<$1>", "std::allocator<$1>"}},
	{"basic_stringbuf", 1, {"std::char_traits<$1>", "std::allocator<$1>"}},
	{"basic_string_view", 1, {"std::char_traits<$1>"}},
	{"basic_ios", 1, {"std::char_traits<$1>"}},
	{"basic_istream", 1, {"std::char_traits<$1>"}},
	{"basic_ostream", 1, {"std::char_traits<$1>"}},
	{"basic_iostream", 1, {"std::char_traits<$1>"}},
	{"basic_ifstream", 1, {"std::char_traits<$1>"}},
	{"basic_ofstream", 1, {"std::char_traits<$1>"}},
	{"basic_fstream", 1, {"std::char_traits<$1>"}},
	{"basic_streambuf", 1, {"std::char_traits<$1>"}},
	{"basic_filebuf", 1, {"std::char_traits<$1>"}},
};

/* The name that is being written. */
struct writer {
	char *out;
	size_t n;
	unsigned depth;
	bool changed;
};

/* The arguments of a template, in the text that has been written. */
struct arguments {
	size_t from[ARGUMENTS], to[ARGUMENTS];
	size_t n; /* there may be more than ARGUMENTS */
};

static bool is_letter(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

static bool is_word(char c)
{
	return c == ':' || is_letter(c);
}

static void put(struct writer *w, const char *text, size_t n)
{
	memmove(w->out + w->n, text, n);
	w->n += n;
}

/* Writes what an argument would be if it were not given, with the template's first arguments for $1
 * and $2. Returns the length; 0: it is too long. */
static size_t expand(const struct writer *w, const struct arguments *a, const char *rest,
		     char text[LONGEST])
{
	size_t n = 0;

	for (const char *p = rest; *p; p++) {
		size_t k, length = 1;
		const char *from = p;

		if (*p == '$') {
			k = (size_t)(*++p - '1');
			from = w->out + a->from[k];
			length = a->to[k] - a->from[k];
		}
		if (n + length + 2 > LONGEST)
			return 0;
		/* the demangler keeps the ends of two templates apart */
		if (*p == '>' && from == p && n && text[n - 1] == '>')
			text[n++] = ' ';
		memcpy(text + n, from, length);
		n += length;
	}
	return n;
}

/* Returns how many of the arguments are to stay. */
static size_t needed(const struct writer *w, const struct arguments *a, const struct template *t)
{
	char text[LONGEST];
	size_t n = a->n, all = t->kept;

	while (all - t->kept < 3 && t->rest[all - t->kept])
		all++;
	if (n > all || n <= t->kept)
		return n;
	while (n > t->kept) {
		size_t length = expand(w, a, t->rest[n - 1 - t->kept], text);

		if (!length || length != a->to[n - 1] - a->from[n - 1] ||
		    memcmp(text, w->out + a->from[n - 1], length))
			break;
		n--;
	}
	return n;
}

/* Replaces std::basic_string<char> by std::string, and so on. name: where "basic_" is. Returns
 * false if it is another one. */
static bool put_own_name(struct writer *w, size_t name, size_t angle, const struct arguments *a)
{
	size_t length = a->to[0] - a->from[0];
	const char *of = w->out + a->from[0];
	bool wide = length == 7 && !memcmp(of, "wchar_t", 7);

	if (a->n != 1 || (!wide && (length != 4 || memcmp(of, "char", 4))))
		return false;
	memmove(w->out + name + wide, w->out + name + 6, angle - name - 6);
	if (wide)
		w->out[name] = 'w';
	w->n = angle - 6 + wide;
	return true;
}

/* Ends a template whose arguments have been written; angle: where its '<' is. */
static void end_template(struct writer *w, size_t angle, struct arguments *a)
{
	size_t name = angle;
	const struct template *t = NULL;

	while (name && is_word(w->out[name - 1]))
		name--;
	if (a->n <= ARGUMENTS && angle - name > 5 && !memcmp(w->out + name, "std::", 5))
		for (size_t i = 0; i < sizeof(templates) / sizeof(*templates) && !t; i++)
			if (strlen(templates[i].name) == angle - name - 5 &&
			    !memcmp(w->out + name + 5, templates[i].name, angle - name - 5))
				t = &templates[i];
	if (t) {
		size_t n = needed(w, a, t);

		w->changed |= n < a->n;
		a->n = n;
		w->n = a->to[n - 1];
		if (!strncmp(t->name, "basic_", 6) && put_own_name(w, name + 5, angle, a)) {
			w->changed = true;
			return;
		}
	}
	if (w->out[w->n - 1] == '>')
		put(w, " ", 1);
	put(w, ">", 1);
}

static const char *copy(struct writer *w, const char *p, const char *until);

/* Copies a template's arguments from behind its '<'. Returns the end, behind its '>', or NULL. */
static const char *copy_template(struct writer *w, const char *p)
{
	struct arguments a = {.n = 0};
	size_t angle = w->n;

	put(w, "<", 1);
	for (;;) {
		size_t from = w->n, to;

		p = copy(w, p, ",>");
		if (!p || !*p)
			return NULL;
		for (to = w->n; to > from && w->out[to - 1] == ' ';)
			to--;
		w->n = to;
		if (a.n < ARGUMENTS) {
			a.from[a.n] = from;
			a.to[a.n] = to;
		}
		a.n++;
		if (*p == '>')
			break;
		p += strspn(p + 1, " ") + 1;
		put(w, ", ", 2);
	}
	w->changed |= p[-1] == '>'; /* ">>" becomes "> >", as the demangler writes it */
	end_template(w, angle, &a);
	return p + 1;
}

/* Copies an inline namespace of the standard library as nothing. Returns its length; 0: there is
 * none. */
static size_t inline_namespace(const struct writer *w, const char *p)
{
	bool begins = w->n >= 5 && !memcmp(w->out + w->n - 5, "std::", 5) &&
		      (w->n == 5 || !is_word(w->out[w->n - 6]));

	if (begins && !strncmp(p, "__cxx11::", 9))
		return 9;
	return begins && !strncmp(p, "__1::", 5) ? 5 : 0;
}

/* Copies the name up to one of the characters `until', which is not inside of brackets. Returns
 * where that is, or the name's end; NULL: the name is not understood. */
static const char *copy(struct writer *w, const char *p, const char *until)
{
	if (++w->depth > DEPTH)
		return NULL;
	while (p && *p && !strchr(until, *p)) {
		size_t skip = inline_namespace(w, p);
		const char *close = *p == '(' ? ")" : *p == '{' ? "}" : *p == '[' ? "]" : NULL;

		if (skip) {
			w->changed = true;
			p += skip;
		} else if (!strncmp(p, "operator", 8) && !is_word(p[8]) &&
			   (!w->n || !is_letter(w->out[w->n - 1]))) {
			size_t n = 8 + strspn(p + 8, "<>-=");

			put(w, p, n);
			p += n;
		} else if (*p == '<') {
			p = copy_template(w, p + 1);
		} else if (close) {
			put(w, p, 1);
			p = copy(w, p + 1, close);
			if (!p || !*p)
				return NULL;
			put(w, p++, 1);
		} else if (*p == '>' && w->n && w->out[w->n - 1] != '-') {
			return NULL; /* it ends nothing: it is an operator in an expression */
		} else {
			put(w, p++, 1);
		}
	}
	w->depth--;
	return p;
}

bool dt_shorten(const char *name, char *out)
{
	struct writer w = {.out = out};
	const char *end = strstr(name, "std::") ? copy(&w, name, "") : NULL;

	if (!end || !w.changed)
		return false;
	out[w.n] = '\0';
	return true;
}
