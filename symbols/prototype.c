/* SPDX-License-Identifier: MIT */
/*
 * Prototypes of libraries' functions, and the constants that these take and return. The tables are
 * made from the libraries' headers by symbols/prototypes/make.py.
 *
 * A table is a text of lines, sorted by name, so that it needs no pointers that would have to be
 * relocated whenever devtrace starts: "open(s path,i4#open flags,u4#mode mode)i4!-@3". Types are
 * those of signatures, but the name of a set of constants stands after the '#', and places are left
 * out. A line of the sets is the set's name, a blank, and a row for the table `type'.
 */
#include "symbols/prototype.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/signature.h"

static const char libc[] =
#include "symbols/prototypes/libc.def"
	;
static const char libm[] =
#include "symbols/prototypes/libm.def"
	;
static const char libresolv[] =
#include "symbols/prototypes/libresolv.def"
	;
static const char zlib[] =
#include "symbols/prototypes/zlib.def"
	;
static const char crypto[] =
#include "symbols/prototypes/crypto.def"
	;
static const char ssl[] =
#include "symbols/prototypes/ssl.def"
	;
static const char sqlite[] =
#include "symbols/prototypes/sqlite.def"
	;
static const char selinux[] =
#include "symbols/prototypes/selinux.def"
	;
static const char pcre2[] =
#include "symbols/prototypes/pcre2.def"
	;
static const char lzma[] =
#include "symbols/prototypes/lzma.def"
	;
static const char zstd[] =
#include "symbols/prototypes/zstd.def"
	;
static const char curl[] =
#include "symbols/prototypes/curl.def"
	;
static const char sets[] =
#include "symbols/prototypes/sets.def"
	;

static const char call_sets[] =
#include "symbols/prototypes/call-sets.def"
	;

struct table {
	const char *text;
	size_t size; /* without the NUL */
};

#define TABLE(t)                                                                                   \
	{                                                                                          \
		t, sizeof(t) - 1                                                                   \
	}

/* Files by the beginning of their names, and what of the tables is true of them. */
static const struct library {
	const char *begins;
	struct table table[2];
	bool synonyms; /* a function has names with prefixes too, as in the C library */
} library[] = {
	{"libc.so", {TABLE(libc)}, true},
	{"libc-2.", {TABLE(libc)}, true},
	{"libpthread", {TABLE(libc)}, true},
	{"libdl.so", {TABLE(libc)}, true},
	{"librt.so", {TABLE(libc)}, true},
	{"ld-musl", {TABLE(libc), TABLE(libm)}, true},
	{"libm.so", {TABLE(libm)}, true},
	{"libm-2.", {TABLE(libm)}, true},
	{"libresolv.so", {TABLE(libresolv)}, true},
	{"libresolv-2.", {TABLE(libresolv)}, true},
	{"libz.so", {TABLE(zlib)}, false},
	{"libcrypto.so", {TABLE(crypto)}, false},
	{"libssl.so", {TABLE(ssl)}, false},
	{"libsqlite3.so", {TABLE(sqlite)}, false},
	{"libselinux.so", {TABLE(selinux)}, false},
	{"libpcre2-8.so", {TABLE(pcre2)}, false},
	{"liblzma.so", {TABLE(lzma)}, false},
	{"libzstd.so", {TABLE(zstd)}, false},
	{"libcurl.so", {TABLE(curl)}, false},
	{"[vdso]", {TABLE(libc)}, true},
	{"libcurl-gnutls.so", {TABLE(curl)}, false},
};

static const struct library *library_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(library) / sizeof(*library); i++)
		if (strncmp(name, library[i].begins, strlen(library[i].begins)) == 0)
			return &library[i];
	return NULL;
}

bool dt_prototype_file(const char *path)
{
	return library_of(path) != NULL;
}

/* ---- finding ---- */

/* Compares a name of n bytes with the one that a line begins with, which ends at the character
 * `end'. */
static int compare(const char *name, size_t n, const char *line, char end)
{
	size_t length = (size_t)(strchr(line, end) - line);
	int c = strncmp(name, line, n < length ? n : length);

	return c ? c : n < length ? -1 : n > length;
}

/* Returns the line that begins with a name of n bytes; NULL: there is none. */
static const char *find(const struct table *t, const char *name, size_t n, char end)
{
	const char *low = t->text, *high = t->text + t->size;

	while (low < high) {
		const char *mid = low + (high - low) / 2;
		int c;

		while (mid > low && mid[-1] != '\n')
			mid--;
		c = compare(name, n, mid, end);
		if (c == 0)
			return mid;
		if (c < 0)
			high = mid;
		else
			low = strchr(mid, '\n') + 1;
	}
	return NULL;
}

static const char *find_in(const struct library *l, const char *name, size_t n)
{
	const char *found = NULL;

	for (size_t i = 0; i < 2 && !found && l->table[i].text; i++)
		found = find(&l->table[i], name, n, '(');
	return found;
}

/* Finds the line also by other names of the same function: __libc_read, _IO_puts, fopen64. */
static const char *find_any(const struct library *l, const char *name)
{
	static const char *const prefix[] = {"",       "__libc_", "__GI_", "_IO_",
					     "__new_", "__vdso_", "__"};
	size_t n = strlen(name);

	for (size_t i = 0; i < (l->synonyms ? sizeof(prefix) / sizeof(*prefix) : 1); i++) {
		size_t skip = strlen(prefix[i]);
		const char *found;

		if (n <= skip || strncmp(name, prefix[i], skip) != 0)
			continue;
		found = find_in(l, name + skip, n - skip);
		if (!found && l->synonyms && n - skip > 2 && strcmp(name + n - 2, "64") == 0)
			found = find_in(l, name + skip, n - skip - 2);
		if (found)
			return found;
	}
	return NULL;
}

/* ---- sets of constants ---- */

/* Such a key has the highest bit, which that of a type in debug information never has; that of a
 * set of system calls has the next one, too. */
#define SET	 (1ull << 63)
#define CALL_SET (1ull << 62)

static const struct table all_sets = TABLE(sets), all_call_sets = TABLE(call_sets);

bool dt_prototype_is_type(uint64_t key)
{
	return key & SET;
}

/* Returns the line of a key; NULL: it is none. */
static const char *line_of(uint64_t key)
{
	const struct table *t = key & CALL_SET ? &all_call_sets : &all_sets;
	uint64_t at = key & ~(SET | CALL_SET);

	if (!(key & SET) || at >= t->size || (at && t->text[at - 1] != '\n'))
		return NULL;
	return t->text + at;
}

/* Returns the key of a set of the libraries; 0: there is none of that name. */
static uint64_t library_set(const char *name, size_t n)
{
	const char *found = find(&all_sets, name, n, ' ');

	return found ? SET | (uint64_t)(found - sets) : 0;
}

uint64_t dt_prototype_set(const char *name, size_t n)
{
	const char *found = find(&all_call_sets, name, n, ' ');

	return found ? SET | CALL_SET | (uint64_t)(found - call_sets) : library_set(name, n);
}

size_t dt_prototype_size(const char *name)
{
	const char *line = line_of(dt_prototype_set(name, strlen(name)));
	const char *star = line ? strpbrk(line, "*\n") : NULL;

	return star && *star == '*' ? strtoul(star + 1, NULL, 10) : 0;
}

bool dt_prototype_type(uint64_t key, char *buf, size_t size)
{
	const char *text, *end, *line = line_of(key);
	bool aggregate;
	size_t n = 0;

	if (!line)
		return false;
	text = strchr(line, ' ') + 1;
	end = strchr(text, '\n');
	aggregate = text[0] == 'a' || text[0] == 'm';
	/* the types of an aggregate's members name other sets */
	for (const char *name; aggregate && n < size; text = name + 1) {
		size_t length;
		uint64_t set;

		name = memchr(text, '#', (size_t)(end - text));
		if (!name)
			break;
		n += dt_format(buf + n, size - n, "%.*s", (int)(name - text), text);
		length = strcspn(name + 1, "@");
		set = key & CALL_SET ? dt_prototype_set(name + 1, length)
				     : library_set(name + 1, length);
		if (set && n < size)
			n += dt_format(buf + n, size - n, "#%lx", (unsigned long)set);
		name += length;
	}
	if (n < size)
		n += dt_format(buf + n, size - n, "%.*s", (int)(end - text), text);
	return n < size;
}

/* ---- writing ---- */

/* A signature that is being written. */
struct writing {
	char *buf;
	size_t size, at; /* at >= size: it does not fit */
	bool places;
	unsigned integers, vectors; /* registers that are taken */
	unsigned stacked;	    /* bytes of the stack that are taken; UINT32_MAX: not known */
};

static void put(struct writing *w, const char *text, size_t n)
{
	if (w->at < w->size)
		w->at += dt_format(w->buf + w->at, w->size - w->at, "%.*s", (int)n, text);
}

static void put_number(struct writing *w, const char *before, unsigned v)
{
	if (w->at < w->size)
		w->at += dt_format(w->buf + w->at, w->size - w->at, "%s%u", before, v);
}

/* Is it a pointer to a text whose length another parameter says? */
static bool is_text(const char *type)
{
	return strncmp(type, "*text_", 6) == 0;
}

/* Is it a pointer to anything whose length another parameter says? */
static bool is_buffer(const char *type)
{
	return is_text(type) || strncmp(type, "*address_", 9) == 0 ||
	       strncmp(type, "*option_", 8) == 0;
}

/* Writes the key of a set. */
static void put_key(struct writing *w, const char *set, size_t n)
{
	const char *found = w->at < w->size ? find(&all_sets, set, n, ' ') : NULL;

	if (found)
		w->at += dt_format(w->buf + w->at, w->size - w->at, "#%lx",
				   (unsigned long)(SET | (uint64_t)(found - sets)));
}

/* Does what stands behind a parameter's name say that it leads to values that are recorded as a
 * stream? "!p1", "!t" */
static bool is_stream(const char *reads)
{
	return reads[0] == '!' && (reads[1] == 'p' || reads[1] == 't');
}

/* Writes the further arguments of a function; reads: what stands behind the "...". */
static void put_rest(struct writing *w, const char *reads, size_t n)
{
	if (!w->places || !is_stream(reads)) {
		put(w, "...:a@-", 7);
		return;
	}
	put(w, "...:a", 5);
	put_key(w, "list", 4);
	put(w, "@", 1);
	put(w, reads + 2, n - 2); /* where the format is */
	put(w, reads, n);
}

/*
 * Writes a type of n bytes, "i4#open", with the key of its set. "*timespec" is a pointer to a
 * structure; where places are wanted, it is the structure, and "*text_2" a text. "*address_2" is a
 * buffer that is no text.
 */
static void put_type(struct writing *w, const char *type, size_t n)
{
	const char *set = memchr(type, type[0] == '*' ? '*' : '#', n);

	if (type[0] == '*')
		put(w, !w->places ? "p" : is_text(type) ? "s" : "a", 1);
	else
		put(w, type, set ? (size_t)(set - type) : n);
	if (type[0] == '*' && !w->places)
		return;
	if (set)
		put_key(w, set + 1, (size_t)(type + n - set - 1));
}

/*
 * Writes where a parameter is when the function begins. A record has the first four integer
 * registers; places are wanted for all.
 */
static void put_place(struct writing *w, const char *type)
{
	bool vector = type[0] == 'f' && type[1] != '1';

	if (type[0] == 'f' && type[1] == '1') { /* in memory, and aligned to its 16 bytes */
		w->stacked = UINT32_MAX;
		put(w, "@-", 2);
	} else if (vector && w->vectors < 8) {
		if (w->places)
			put_number(w, "@x", w->vectors);
		else
			put(w, "@-", 2);
		w->vectors++;
	} else if (!vector && w->integers < 6) {
		if (w->places && type[0] == '*' &&
		    !is_buffer(type)) { /* the 16 bytes that it leads to */
			put_number(w, "@*", w->integers);
			put_number(w, "+*", w->integers);
		} else if (w->places || w->integers < 4)
			put_number(w, "@", w->integers);
		else
			put(w, "@-", 2);
		w->integers++;
	} else {
		if (w->places && w->stacked != UINT32_MAX)
			put_number(w, "@m", 8 + w->stacked);
		else
			put(w, "@-", 2);
		w->stacked += w->stacked != UINT32_MAX ? 8 : 0;
	}
}

/* Writes the parameters from p on, and returns the end of them. */
static const char *put_parameters(struct writing *w, const char *p)
{
	for (bool first = true; *p != ')'; first = false) {
		size_t n = strcspn(p, ",)"), type = strcspn(p, " ");

		put(w, ",", !first);
		if (strncmp(p, "...", 3) == 0) {
			put_rest(w, p + 3, n - 3);
		} else {
			const char *named = p + type + 1, *end = p + n;
			size_t name = strcspn(named, "!>?,)");
			const char *when = named + strcspn(named, "?,)");

			put(w, named, name);
			put(w, ":", 1);
			if (w->places && is_stream(named + name)) {
				put(w, "a", 1);
				put_key(w, "array", 5);
			} else {
				put_type(w, p, type);
			}
			put_place(w, p);
			if (w->places) /* how it is read */
				put(w, named + name, strcspn(named + name, ">?,)"));
			else /* whether it is passed, by values of a record */
				put(w, when, (size_t)(end - when));
		}
		p += n + (p[n] == ',');
	}
	return p + 1;
}

/* Writes the signature of a line. fails: what stands for the failure in place of the line's own;
 * NULL: its own. */
static void write_out(const char *line, bool places, const char *fails, char *buf, size_t size)
{
	struct writing w = {.buf = buf, .size = size, .places = places};
	const char *result;
	size_t type;

	buf[0] = '\0';
	if (!line)
		return;
	result = put_parameters(&w, strchr(line, '(') + 1);
	type = strcspn(result, "!\n");
	put(&w, ";", 1);
	put_type(&w, result, type);
	if (result[0] == 'f')
		put(&w, result[1] == '1' ? "@-" : "@2", 2);
	else if (result[0] != 'v')
		put(&w, "@0", 2);
	if (fails && result[0] != 'v')
		put(&w, fails, strlen(fails));
	else if (!fails)
		put(&w, result + type, strcspn(result + type, "\n"));
	if (w.at >= size)
		buf[0] = '\0';
}

void dt_prototype(const char *path, const char *name, bool places, char *buf, size_t size)
{
	const struct library *l = library_of(path);

	write_out(l ? find_any(l, name) : NULL, places, NULL, buf, size);
}

/* Reads offsets, ".24.48". Returns how many. */
static uint8_t read_offsets(const char **p, uint16_t offset[2])
{
	uint8_t n = 0;

	for (; **p == '.' && n < 2; n++) {
		offset[n] = 0;
		for (++*p; **p >= '0' && **p <= '9'; ++*p)
			offset[n] = (uint16_t)(10 * offset[n] + (**p - '0'));
	}
	return n;
}

/* Reads further members of a structure, "+stat_links.16.32+...". */
static void read_further(const char *p, struct dt_filled *out)
{
	while (*p == '+' && out->mores < DT_FILLED_MORE) {
		struct dt_filled_more *more = &out->more[out->mores];
		size_t n = strcspn(++p, ".");
		const char *set = find(&all_sets, p, n, ' ');

		p += n;
		if (!set || read_offsets(&p, more->offset) != 2)
			return;
		dt_format(more->type, sizeof(more->type), "a#%lx",
			  (unsigned long)(SET | (uint64_t)(set - sets)));
		out->mores++;
	}
}

/* Reads what stands behind the '>' of a parameter: "+text_r", "0stat.24.48+more.0.8",
 * "+pollfd[0].0". */
static bool read_output(const char *p, struct dt_filled *out)
{
	static const char when[] = "+0.";
	const char *is = strchr(when, *p++), *set, *named;
	size_t n = strcspn(p, ".[?,)"), name = strlen(out->name);
	bool first = p[n] == '[';

	out->when = (uint8_t)(is - when);
	out->buffer = strncmp(p, "text_r", n) == 0 && n == 6;
	named = memchr(p, '#', n);
	if (named)
		named++;
	set = out->buffer ? NULL
	      : named	  ? find(&all_sets, named, (size_t)(p + n - named), ' ')
			  : find(&all_sets, p, n, ' ');
	if (out->buffer)
		strcpy(out->type, "s");
	else if (named && set)
		dt_format(out->type, sizeof(out->type), "%.*s%lx", (int)(named - p), p,
			  (unsigned long)(SET | (uint64_t)(set - sets)));
	else if (set)
		dt_format(out->type, sizeof(out->type), "a#%lx",
			  (unsigned long)(SET | (uint64_t)(set - sets)));
	else
		dt_format(out->type, sizeof(out->type), "%.*s", (int)n, p);
	if (first)
		dt_format(out->name + name, sizeof(out->name) - name, "[0]");
	p += n + 3 * first;
	out->pieces = read_offsets(&p, out->offset);
	read_further(p, out);
	return is != NULL;
}

unsigned dt_prototype_outputs(const char *path, const char *name, struct dt_filled *out,
			      unsigned most)
{
	const struct library *l = library_of(path);
	const char *line = l ? find_any(l, name) : NULL;
	unsigned n = 0, integers = 0;

	for (const char *p = line ? strchr(line, '(') + 1 : ")"; *p != ')';) {
		size_t length = strcspn(p, ",)"), type = strcspn(p, " ");
		size_t named = strcspn(p + type + 1, "!>?,)");
		const char *filled = memchr(p, '>', length);

		if (filled && n < most && integers < 6) {
			out[n] = (struct dt_filled){.parameter = (uint8_t)integers};
			dt_format(out[n].name, sizeof(out[n].name), "%.*s", (int)named,
				  p + type + 1);
			n += read_output(filled + 1, &out[n]);
		}
		integers += p[0] != 'f' && p[0] != '.';
		p += length + (p[length] == ',');
	}
	return n;
}

/*
 * Do two signatures say the same of where a parameter or result is, and how large? What debug
 * information, b, does not know of an aggregate or a result is no contradiction: the C library
 * takes the addresses of sockets as unions of pointers, of which it is not certain how they are
 * passed.
 */
static bool is_alike(const struct dt_signature_value *a, const struct dt_signature_value *b)
{
	if (!b->places && (b->type.letter == 'a' || !b->name_length))
		return a->type.size == b->type.size;
	/* a: the structure that a pointer leads to */
	if (a->places && a->place[0].kind == DT_PLACE_POINTED)
		return b->type.size == 8 && b->places == 1 && b->place[0].kind == DT_PLACE_VALUE &&
		       b->place[0].n == a->place[0].n;
	if (a->type.size != b->type.size || a->places != b->places)
		return false;
	for (unsigned i = 0; i < a->places; i++)
		if (a->place[i].kind != b->place[i].kind || a->place[i].n != b->place[i].n)
			return false;
	return true;
}

bool dt_prototype_fits(const char *prototype, const char *signature)
{
	struct dt_signature_value of, said;
	const char *p = prototype, *s = signature;

	for (;;) {
		bool more = dt_signature_next(&p, &of);

		/* the prototype names some of the further arguments: the mode of open() */
		if (!dt_signature_next(&s, &said))
			return !more && dt_signature_result(prototype, &of) &&
			       dt_signature_result(signature, &said) && is_alike(&of, &said);
		if (said.rest)
			return dt_signature_result(prototype, &of) &&
			       dt_signature_result(signature, &said) && is_alike(&of, &said);
		if (!more || !is_alike(&of, &said))
			return false;
	}
}

/* ---- system calls for which the library has no function, or a different one ---- */

static const char call[] =
	"arch_prctl(i4 option,u8 arg2)i4\n"
	"bpf(i4 cmd,p attr,u4 size)i4\n"
	"brk(u8 brk)u8\n"
	"capget(p header,p data)i4\n"
	"capset(p header,p data)i4\n"
	"clock_adjtime(i4 which_clock,p tx)i4\n"
	"clone(u8 flags,u8 newsp,p parent_tidptr,p child_tidptr,u8 tls)i4\n"
	"clone3(p uargs,u8 size)i4\n"
	"close_range(u4 fd,u4 max_fd,u4 flags)i4\n"
	"copy_file_range(i4 fd_in,p off_in,i4 fd_out,p off_out,u8 len,u4 flags)i8\n"
	"epoll_pwait2(i4 epfd,p events,i4 maxevents,p timeout,p sigmask,u8 sigsetsize)i4\n"
	"exit_group(i4 error_code)v\n"
	"faccessat2(i4 dfd,s filename,i4 mode,i4 flags)i4\n"
	"fcntl(u4 fd,u4 cmd,u8 arg)i4\n"
	"futex(p uaddr,i4 op,u4 val,p utime,p uaddr2,u4 val3)i4\n"
	"getcwd(p buf,u8 size)i8\n"
	"getdents(u4 fd,p dirent,u4 count)i8\n"
	"getdents64(u4 fd,p dirent,u4 count)i8\n"
	"getrandom(p buf,u8 count,u4 flags)i8\n"
	"gettid()i4\n"
	"io_uring_enter(u4 fd,u4 to_submit,u4 min_complete,u4 flags,p argp,u8 argsz)i8\n"
	"io_uring_register(u4 fd,u4 opcode,p arg,u4 nr_args)i8\n"
	"io_uring_setup(u4 entries,p params)i8\n"
	"ioctl(u4 fd,u4 cmd,u8 arg)i4\n"
	"membarrier(i4 cmd,u4 flags,i4 cpu_id)i4\n"
	"memfd_create(s uname,u4 flags)i4\n"
	"mremap(p addr,u8 old_len,u8 new_len,u8 flags,p new_addr)u8\n"
	"newfstat(u4 fd,p statbuf)i4\n"
	"newfstatat(i4 dfd,s filename,p statbuf,i4 flag)i4\n"
	"newlstat(s filename,p statbuf)i4\n"
	"newstat(s filename,p statbuf)i4\n"
	"newuname(p name)i4\n"
	"open(s filename,i4 flags,u4 mode)i4\n"
	"openat(i4 dfd,s filename,i4 flags,u4 mode)i4\n"
	"openat2(i4 dfd,s filename,p how,u8 usize)i4\n"
	"perf_event_open(p attr,i4 pid,i4 cpu,i4 group_fd,u8 flags)i4\n"
	"pidfd_getfd(i4 pidfd,i4 fd,u4 flags)i4\n"
	"pidfd_open(i4 pid,u4 flags)i4\n"
	"pidfd_send_signal(i4 pidfd,i4 sig,p info,u4 flags)i4\n"
	"ppoll(p ufds,u4 nfds,p tsp,p sigmask,u8 sigsetsize)i4\n"
	"prctl(i4 option,u8 arg2,u8 arg3,u8 arg4,u8 arg5)i4\n"
	"preadv2(u8 fd,p vec,u8 vlen,u8 pos_l,u8 pos_h,i4 flags)i8\n"
	"prlimit64(i4 pid,u4 resource,p new_rlim,p old_rlim)i4\n"
	"process_vm_readv(i4 pid,p lvec,u8 liovcnt,p rvec,u8 riovcnt,u8 flags)i8\n"
	"process_vm_writev(i4 pid,p lvec,u8 liovcnt,p rvec,u8 riovcnt,u8 flags)i8\n"
	"pselect6(i4 n,p inp,p outp,p exp,p tsp,p sig)i4\n"
	"pwritev2(u8 fd,p vec,u8 vlen,u8 pos_l,u8 pos_h,i4 flags)i8\n"
	"renameat2(i4 olddfd,s oldname,i4 newdfd,s newname,u4 flags)i4\n"
	"rseq(p rseq,u4 rseq_len,i4 flags,u4 sig)i4\n"
	"rt_sigaction(i4 sig,p act,p oact,u8 sigsetsize)i4\n"
	"rt_sigprocmask(i4 how,p nset,p oset,u8 sigsetsize)i4\n"
	"rt_sigreturn()i4\n"
	"rt_sigsuspend(p unewset,u8 sigsetsize)i4\n"
	"rt_sigtimedwait(p uthese,p uinfo,p uts,u8 sigsetsize)i4\n"
	"sched_getattr(i4 pid,p attr,u4 size,u4 flags)i4\n"
	"sched_setattr(i4 pid,p attr,u4 flags)i4\n"
	"seccomp(u4 op,u4 flags,p uargs)i4\n"
	"set_robust_list(p head,u8 len)i4\n"
	"set_tid_address(p tidptr)i4\n"
	"statx(i4 dfd,s filename,u4 flags,u4 mask,p buffer)i4\n"
	"tgkill(i4 tgid,i4 pid,i4 sig)i4\n"
	"tkill(i4 pid,i4 sig)i4\n";

void dt_prototype_call(const char *name, char *buf, size_t size)
{
	const struct table calls = TABLE(call);
	const char *line = find(&calls, name, strlen(name), '(');

	/* the kernel's functions return the negated number of an error */
	write_out(line ? line : find_any(&library[0], name), false, "!k", buf, size);
}
