/* SPDX-License-Identifier: MIT */
/* Who is at the other end of what a thread waits for: pipes, sockets, locks of files. */
#include "process/blocked-work.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "process/status.h"

#define SEARCH_NS   3000000ull	 /* for the processes that hold the other end of a pipe */
#define KNOWN_NS    200000000ull /* for so long an answer is taken again */
#define DESCRIPTORS 256u	 /* of a process, that are looked at */
#define LINES	    4096u	 /* of /proc/locks, /proc/net/tcp */

static unsigned long long ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

/* ---- pipes ---- */

/* What a descriptor has to be for its process to be one of those who are waited for. */
enum holding {
	WRITES, /* the end of a pipe that is written to */
	READS,
	LOCKS /* open to a file that is locked by it */
};

/* Returns whether a lock belongs to a descriptor: proc(5), fdinfo. */
static bool has_lock(pid_t pid, const char *fd)
{
	char path[64], text[1024];
	ssize_t n = -1;
	int info;

	dt_format(path, sizeof(path), "/proc/%d/fdinfo/%.16s", pid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info >= 0) {
		n = read(info, text, sizeof(text) - 1);
		close(info);
	}
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "\nlock:") != NULL;
}

/* Returns whether a process has such a descriptor of an object. */
static bool holds_end(pid_t pid, const char *link, enum holding how)
{
	char path[64], name[PATH_MAX_SHOWN];
	unsigned left = DESCRIPTORS;
	struct dirent *entry;
	bool found = false;
	struct stat st;
	DIR *d;

	dt_format(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && !found && left-- && (entry = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), entry->d_name, name, sizeof(name) - 1);

		if (n <= 0)
			continue;
		name[n] = '\0';
		if (strcmp(name, link) ||
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		/* the link's mode says what the descriptor is open for */
		found = how == LOCKS ? has_lock(pid, entry->d_name)
				     : st.st_mode & (how == WRITES ? S_IWUSR : S_IRUSR);
	}
	if (d)
		closedir(d);
	return found;
}

/* A search for the processes that hold an object. */
struct search {
	const char *link;
	enum holding how;
	pid_t own; /* the process of the waiting thread: it does not count */
	pid_t found[8];
	unsigned n; /* how many were found, also beyond the array */
};

static void look_at(struct search *k, pid_t pid)
{
	unsigned room = sizeof(k->found) / sizeof(*k->found);

	if (pid <= 0 || pid == k->own)
		return;
	for (unsigned i = 0; i < k->n && i < room; i++)
		if (k->found[i] == pid)
			return;
	if (!holds_end(pid, k->link, k->how))
		return;
	if (k->n < room)
		k->found[k->n] = pid;
	k->n++;
}

/* Looks at the first children of a process. */
static void look_at_children(struct search *k, pid_t pid)
{
	char path[64], line[512], *p = line, *end;
	ssize_t n = -1;
	int fd;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = '\0';
	for (long child; (child = strtol(p, &end, 10)) > 0 && end != p; p = end)
		look_at(k, (pid_t)child);
}

/* Looks at all processes, for so long. Returns whether it has come to the end. */
static bool look_at_all(struct search *k)
{
	/* while other programs have the core, the search costs nothing */
	unsigned long long until = ns_of(CLOCK_THREAD_CPUTIME_ID) + SEARCH_NS;
	DIR *d = opendir("/proc");
	struct dirent *entry;
	bool whole = true;

	while (d && whole && (entry = readdir(d))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at(k, (pid_t)atoi(entry->d_name));
		whole = ns_of(CLOCK_THREAD_CPUTIME_ID) < until;
	}
	if (d)
		closedir(d);
	return whole;
}

/* Writes who holds an object: two processes at most. Relatives are asked first, since pipes are
 * mostly among them. */
static void find_holder(pid_t tid, const char *link, enum holding how, char *out, size_t size)
{
	struct search k = {.link = link, .how = how};
	unsigned own = 0;
	char who[64];
	size_t at = 0;
	pid_t parent;
	bool whole;

	dt_status_number(tid, "Tgid", &own);
	k.own = (pid_t)own;
	parent = dt_status_parent(k.own);
	look_at_children(&k, k.own);
	look_at(&k, parent);
	look_at_children(&k, parent);
	whole = k.n || look_at_all(&k);
	out[0] = '\0';
	for (unsigned i = 0; i < k.n && i < 2 && at < size; i++) {
		dt_blocked_name(k.found[i], who, sizeof(who));
		at += dt_format(out + at, size - at, "%s%s", at ? " and " : "", who);
	}
	if (k.n > 2 && at < size)
		dt_format(out + at, size - at, " and %u more", k.n - 2);
	else if (!k.n && !whole)
		dt_format(out, size, "whom was not found in time");
	else if (!k.n && holds_end(k.own, link, how))
		dt_format(out, size, "the process itself");
	else if (!k.n)
		dt_format(out, size, "nobody that is to be seen");
}

void dt_blocked_pipe(struct dt_blocked *b, pid_t tid, const char *link, bool write, char *out,
		     size_t size)
{
	const unsigned room = sizeof(b->end) / sizeof(*b->end);
	unsigned long long now = ns_of(CLOCK_MONOTONIC);
	char object[sizeof(b->end[0].object)];
	unsigned i = 0;

	dt_format(object, sizeof(object), "%c%.40s", write ? 'w' : 'r', link);
	while (i < room && (b->end[i].until < now || strcmp(b->end[i].object, object)))
		i++;
	if (i == room) {
		i = b->next++ % room;
		memcpy(b->end[i].object, object, sizeof(object));
		/* who writes is waited for by who reads */
		find_holder(tid, link, write ? READS : WRITES, b->end[i].who,
			    sizeof(b->end[i].who));
		b->end[i].until = now + KNOWN_NS;
	}
	dt_format(out, size, "%s%s, %s by %s", link[0] == '/' ? "pipe " : "", link,
		  write ? "read" : "written", b->end[i].who);
}

/* ---- sockets ---- */

/* Writes an address of /proc/net/tcp: hexadecimal, in the order of the machine's bytes. */
static void put_address(const char *hex, char *out, size_t size)
{
	const char *colon = strchr(hex, ':');
	unsigned port = colon ? (unsigned)strtoul(colon + 1, NULL, 16) : 0;

	if (colon && colon - hex == 8) {
		uint32_t a = (uint32_t)strtoul(hex, NULL, 16);

		dt_format(out, size, "%u.%u.%u.%u:%u", a & 255, a >> 8 & 255, a >> 16 & 255,
			  a >> 24, port);
	} else {
		dt_format(out, size, "[%.32s]:%u", hex, port);
	}
}

/* Looks for a socket by its inode in a table of connections. */
static bool in_table(pid_t tid, const char *table, const char *inode, char *out, size_t size)
{
	char path[64], line[512], local[72], remote[72], number[24];
	unsigned left = LINES;
	bool found = false;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/net/%s", tid, table);
	f = fopen(path, "re");
	while (f && !found && left-- && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*s %71s %71s %*s %*s %*s %*s %*s %*s %23s", local, remote,
			   number) != 3 ||
		    strcmp(number, inode))
			continue;
		found = true;
		put_address(local, path, sizeof(path));
		put_address(remote, line, sizeof(line));
		dt_format(out, size, "%.3s %s to %s", table, path, line);
	}
	if (f)
		fclose(f);
	return found;
}

/* Looks for the path of a local socket. */
static bool in_unix(pid_t tid, const char *inode, char *out, size_t size)
{
	char path[64], line[512], number[24], name[160];
	unsigned left = LINES;
	bool found = false;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/net/unix", tid);
	f = fopen(path, "re");
	while (f && !found && left-- && fgets(line, sizeof(line), f)) {
		int n = sscanf(line, "%*s %*s %*s %*s %*s %*s %23s %159s", number, name);

		if (n < 1 || strcmp(number, inode))
			continue;
		found = true;
		dt_format(out, size, "local socket %s", n == 2 ? name : inode);
	}
	if (f)
		fclose(f);
	return found;
}

void dt_blocked_socket(pid_t tid, const char *link, char *out, size_t size)
{
	char inode[24];

	dt_format(inode, sizeof(inode), "%.20s", link + sizeof("socket:[") - 1);
	inode[strcspn(inode, "]")] = '\0';
	if (!in_table(tid, "tcp", inode, out, size) && !in_table(tid, "tcp6", inode, out, size) &&
	    !in_table(tid, "udp", inode, out, size) && !in_table(tid, "udp6", inode, out, size) &&
	    !in_unix(tid, inode, out, size))
		dt_format(out, size, "%s", link);
}

/* ---- locks of files ---- */

void dt_blocked_lock(pid_t tid, int fd, char *out, size_t size)
{
	char path[64], link[PATH_MAX_SHOWN], file[64], line[256], where[64], who[96];
	unsigned left = LINES;
	struct statx st;
	ssize_t n;
	int holder = 0;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0 || !dt_blocked_stat(path, &st)) {
		dt_format(out, size, "the lock of descriptor %d", fd);
		return;
	}
	link[n] = '\0';
	dt_format(file, sizeof(file), "%02x:%02x:%lu", st.stx_dev_major, st.stx_dev_minor,
		  (unsigned long)st.stx_ino);
	f = fopen("/proc/locks", "re");
	/* "1: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF"; who waits has "->" behind the number
	 */
	while (f && !holder && left-- && fgets(line, sizeof(line), f))
		if (!strstr(line, "->") &&
		    sscanf(line, "%*s %*s %*s %*s %d %63s", &holder, where) == 2 &&
		    strcmp(where, file))
			holder = 0;
	if (f)
		fclose(f);
	if (holder > 0) {
		/* who has taken it may have left it to another process, and ended */
		dt_format(path, sizeof(path), "/proc/%d", holder);
		if (access(path, F_OK) == 0)
			dt_blocked_name(holder, who, sizeof(who));
		else
			find_holder(tid, link, LOCKS, who, sizeof(who));
		dt_format(out, size, "the lock of %s, held by %s", link, who);
	} else {
		dt_format(out, size, "the lock of %s", link);
	}
}
