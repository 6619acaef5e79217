/* SPDX-License-Identifier: MIT */
#include "symbols/memo-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"

#define MAGIC	 "DTMEMO2"
#define NAME	 21 /* most bytes of a file's name: 16 hexadecimal digits and ".elf" or ".plan" */
#define PRUNE_TO (DT_MEMO_FOLDER / 4 * 3)

static int folder = -1;
static uint64_t maker;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the sum, and what a file is ---- */

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
	return sum << 29 | sum >> 35;
}

/* Not against forgery: only who owns the folder writes there. In four lanes, for speed. */
uint64_t dt_memo_sum(const void *bytes, size_t n, uint64_t from)
{
	uint64_t lane[4] = {from, ~from, from ^ n, n}, word[4];
	const uint8_t *p = bytes;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		for (int i = 0; i < 4; i++) { /* one by one: they stay in registers */
			memcpy(&word[i], p + 8 * i, 8);
			lane[i] = mix(lane[i], word[i]);
		}
	}
	memset(word, 0, sizeof(word));
	if (n)
		memcpy(word, p, n);
	for (int i = 0; i < 4; i++)
		lane[i] = mix(lane[i], word[i]);
	return mix(mix(lane[0], lane[1]), mix(lane[2], lane[3]));
}

struct dt_memo_identity dt_memo_identity_of(const struct stat *st)
{
	return (struct dt_memo_identity){
		st->st_dev,	     st->st_ino,	 (uint64_t)st->st_size, st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, st->st_ctim.tv_sec, st->st_ctim.tv_nsec};
}

static bool is_same(const struct dt_memo_identity *a, const struct dt_memo_identity *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/*
 * Of other file systems, such as one that a user has mounted, another one may have the number
 * later, with the same inode and times.
 */
static bool is_lasting(const struct stat *st)
{
	struct stat root, usr, own;

	return (stat("/", &root) == 0 && root.st_dev == st->st_dev) ||
	       (stat("/usr", &usr) == 0 && usr.st_dev == st->st_dev) ||
	       (fstat(dt_memo_folder(), &own) == 0 && own.st_dev == st->st_dev);
}

bool dt_memo_identify(int file, const char *path, char *real, struct dt_memo_identity *is)
{
	struct timespec now;
	struct stat st;

	/* names below /proc mean other files with each process */
	if (!strncmp(path, "/proc/", 6) || !realpath(path, real) || dt_memo_folder() < 0 ||
	    fstat(file, &st) < 0 || !is_lasting(&st) || clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    now.tv_sec - st.st_ctim.tv_sec < DT_MEMO_YOUNG_S)
		return false;
	*is = dt_memo_identity_of(&st);
	return true;
}

/* ---- the folder ---- */

static bool is_limited(int what)
{
	struct rlimit l;

	return getrlimit(what, &l) < 0 || l.rlim_cur != RLIM_INFINITY;
}

static int add_to_maker(struct dl_phdr_info *info, size_t size, void *sum)
{
	struct dt_memo_identity is;
	struct stat st;

	if (stat(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", &st) < 0)
		return 0; /* the kernel's vdso has no file */
	is = dt_memo_identity_of(&st);
	*(uint64_t *)sum = dt_memo_sum(&is, sizeof(is), *(uint64_t *)sum);
	return 0;
}

/* Writes the folder's name, and makes the folders that are missing. */
static bool make_folder(char path[PATH_MAX])
{
	const char *named = getenv("DEVTRACE_MEMOS"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	size_t n;

	if (named) {
		n = dt_format(path, PATH_MAX, "%s", named);
	} else if (geteuid() == 0) {
		n = dt_format(path, PATH_MAX, "/var/cache/devtrace");
	} else if (xdg && xdg[0] == '/') {
		n = dt_format(path, PATH_MAX, "%s/devtrace", xdg);
	} else if (home && home[0] == '/') {
		n = dt_format(path, PATH_MAX, "%s/.cache", home);
		if (n < PATH_MAX)
			mkdir(path, 0700);
		n = dt_format(path, PATH_MAX, "%s/.cache/devtrace", home);
	} else {
		return false;
	}
	if (path[0] != '/' || n >= PATH_MAX)
		return false;
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static void find_folder(void)
{
	char path[PATH_MAX];
	struct stat st;

	/* with little memory, an answer may be that there was none; and what is too long for a file
	 * ends this process */
	if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) || is_limited(RLIMIT_FSIZE) ||
	    !make_folder(path))
		return;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0 &&
	    (fstat(folder, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
		close(folder);
		folder = -1;
	}
	maker = sizeof(struct dt_memo_head);
	dl_iterate_phdr(add_to_maker, &maker);
}

int dt_memo_folder(void)
{
	pthread_once(&once, find_folder);
	return folder;
}

/* ---- files ---- */

static const char *ending(bool plan)
{
	return plan ? ".plan" : ".elf";
}

static void name_of(const char *path, const struct dt_memo_identity *file, uint64_t plan,
		    char name[NAME + 1])
{
	uint64_t sum = dt_memo_sum(path, strlen(path), plan ? mix(maker, plan) : maker);

	sum = dt_memo_sum(file, sizeof(*file), sum);
	dt_format(name, NAME + 1, "%016llx%s", (unsigned long long)sum, ending(plan));
}

/* Maps it: files are never changed, only replaced, and to copy megabytes takes longer than all
 * else. */
const char *dt_memo_file_map(const char *path, const struct dt_memo_identity *file, uint64_t plan,
			     size_t *n)
{
	void *bytes = MAP_FAILED;
	char name[NAME + 1];
	struct stat st;
	int in;

	name_of(path, file, plan, name);
	in = openat(dt_memo_folder(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0)
		return NULL;
	if (fstat(in, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022) && st.st_size > 0 && st.st_size <= DT_MEMO_MOST)
		bytes = mmap(NULL, *n = (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE,
			     in, 0);
	close(in);
	return bytes == MAP_FAILED ? NULL : bytes;
}

struct kept {
	char name[NAME + 16]; /* also one that is being written, or was left so */
	struct timespec written;
	uint64_t size;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->written,
			      *y = &((const struct kept *)b)->written;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Is it a name that name_of() makes, or begins with one? Nothing else in the folder is touched. */
static bool is_own(const char *name, bool plan)
{
	return strspn(name, "0123456789abcdef") == 16 &&
	       !strncmp(name + 16, ending(plan), strlen(ending(plan)));
}

/* Removes the oldest files if there is more than DT_MEMO_FOLDER bytes of their kind. */
static void prune(bool plan)
{
	int again = openat(dt_memo_folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct kept *all = NULL;
	size_t n = 0, room = 0;
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	if (!d && again >= 0)
		close(again);
	while (d && (e = readdir(d))) {
		if (!is_own(e->d_name, plan) || strlen(e->d_name) >= sizeof(all->name) ||
		    fstatat(again, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n == room) {
			struct kept *more = realloc(all, (room = 2 * room + 256) * sizeof(*all));

			if (!more)
				break;
			all = more;
		}
		all[n] = (struct kept){"", st.st_mtim, (uint64_t)st.st_size};
		dt_format(all[n].name, sizeof(all[n].name), "%s", e->d_name);
		bytes += all[n++].size;
	}
	if (bytes > DT_MEMO_FOLDER)
		qsort(all, n, sizeof(*all), by_age);
	for (size_t i = 0; bytes > DT_MEMO_FOLDER || (i && bytes > PRUNE_TO); i++) {
		unlinkat(again, all[i].name, 0);
		bytes -= all[i].size;
	}
	free(all);
	if (d)
		closedir(d);
}

void dt_memo_file_write(const char *path, const struct dt_memo_identity *file, uint64_t plan,
			struct dt_memo_out *out)
{
	struct dt_memo_head *h = (struct dt_memo_head *)(void *)out->bytes;
	char name[NAME + 1], other[NAME + 16];
	size_t at = 0;
	int to;

	if (out->n > DT_MEMO_MOST)
		return;
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	h->bytes = out->n;
	h->maker = maker;
	h->sum = dt_memo_sum(&h->bytes, out->n - offsetof(struct dt_memo_head, bytes), 0);
	name_of(path, file, plan, name);
	/* of two that write at the same time, the last one's stays */
	dt_format(other, sizeof(other), "%s.%d", name, (int)getpid());
	to = openat(dt_memo_folder(), other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to < 0)
		return;
	while (at < out->n) {
		ssize_t put = write(to, out->bytes + at, out->n - at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			break;
		at += (size_t)put;
	}
	if (close(to) < 0 || at < out->n ||
	    renameat(dt_memo_folder(), other, dt_memo_folder(), name) < 0)
		unlinkat(dt_memo_folder(), other, 0);
	prune(plan != 0);
}

bool dt_memo_is_head(const struct dt_memo_head *h, const char *bytes, size_t n,
		     const struct dt_memo_identity *file)
{
	const size_t from = offsetof(struct dt_memo_head, bytes);

	return !memcmp(h->magic, MAGIC, sizeof(h->magic)) && h->bytes == n && h->maker == maker &&
	       is_same(&h->file, file) && h->sum == dt_memo_sum(bytes + from, n - from, 0);
}

/* ---- parts ---- */

static size_t padded(size_t n)
{
	return (n + 8) / 8 * 8;
}

const void *dt_memo_take(struct dt_memo_rest *r, size_t n)
{
	const void *p = r->at;

	if (n > r->left)
		return NULL;
	r->at += n;
	r->left -= n;
	return p;
}

const char *dt_memo_take_bytes(struct dt_memo_rest *r, uint64_t n)
{
	const char *p = n < DT_MEMO_MOST ? dt_memo_take(r, padded(n)) : NULL;

	return p && !p[n] ? p : NULL;
}

bool dt_memo_take_text(struct dt_memo_rest *r, uint64_t n, const char *is)
{
	const char *p = dt_memo_take_bytes(r, n);

	return p && !strcmp(p, is);
}

bool dt_memo_take_debug(struct dt_memo_rest *r, struct dt_memo_debug *d)
{
	const struct dt_memo_identity *is = dt_memo_take(r, sizeof(*is));
	const uint64_t *n = is ? dt_memo_take(r, sizeof(*n)) : NULL;

	d->path = n && *n < PATH_MAX ? dt_memo_take_bytes(r, *n) : NULL;
	if (!d->path)
		return false;
	d->is = *is;
	return true;
}

const struct dt_memo_answer *dt_memo_take_answer(struct dt_memo_rest *r, const char **more,
						 const char **text)
{
	const struct dt_memo_answer *is = dt_memo_take(r, sizeof(*is));

	*more = is ? dt_memo_take_bytes(r, is->more) : NULL;
	*text = *more && is->stored <= is->bytes ? dt_memo_take_bytes(r, is->stored) : NULL;
	return *text ? is : NULL;
}

void dt_memo_put(struct dt_memo_out *o, const void *bytes, size_t n)
{
	if (!o->failed && o->n + n > o->room) {
		size_t room = 2 * (o->n + n);
		char *more = realloc(o->bytes, room);

		o->failed = !more;
		if (more) {
			o->bytes = more;
			o->room = room;
		}
	}
	if (o->failed)
		return;
	memcpy(o->bytes + o->n, bytes, n);
	o->n += n;
}

void dt_memo_put_text(struct dt_memo_out *o, const char *text, size_t n)
{
	static const char zero[8];

	if (n)
		dt_memo_put(o, text, n);
	dt_memo_put(o, zero, padded(n) - n);
}

void dt_memo_put_debug(struct dt_memo_out *o, const struct dt_memo_debug *d)
{
	uint64_t n = strlen(d->path);

	dt_memo_put(o, &d->is, sizeof(d->is));
	dt_memo_put(o, &n, sizeof(n));
	dt_memo_put_text(o, d->path, n);
}

void dt_memo_put_answer(struct dt_memo_out *o, const struct dt_memo_answer *is, const char *more,
			const char *text)
{
	dt_memo_put(o, is, sizeof(*is));
	dt_memo_put_text(o, more, is->more);
	dt_memo_put_text(o, text, is->stored);
}

size_t dt_memo_answer_size(const struct dt_memo_answer *is)
{
	return sizeof(*is) + padded(is->more) + padded(is->stored);
}

/* ---- debug files ---- */

struct dt_memo_debug dt_memo_debug_of(const char *path)
{
	struct dt_memo_debug d = {.path = path};
	struct stat st;

	if (stat(path, &st) == 0)
		d.is = dt_memo_identity_of(&st);
	return d;
}

bool dt_memo_debug_holds(const struct dt_memo_debug *d)
{
	const struct dt_memo_debug now = dt_memo_debug_of(d->path);

	return is_same(&now.is, &d->is);
}

bool dt_memo_has_debug(const struct dt_memo_debug *d, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(d[i].path, path))
			return true;
	return false;
}
