/* SPDX-License-Identifier: MIT */
/* /proc/PID/maps. */
#include "process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/memory.h"

#define LOWEST	    0x10000ull	      /* Linux's usual vm.mmap_min_addr */
#define HIGHEST	    0x7ffffffff000ull /* end of a 47-bit address space */
#define CLEAR	    0x200000ull	      /* bytes kept free next to other mappings */
#define HEAP_CLEAR  (512ull << 20)    /* above the heap */
#define STACK_CLEAR 0x10000000ull     /* below the stack */

/* Reads the whole file; the caller frees the text. NULL and the reason. */
static char *slurp(pid_t pid, struct dt_error *e)
{
	char path[64], *text = NULL;
	size_t size = 0, len = 0;
	int fd;

	dt_format(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		dt_memory_refused(pid, errno == ENOENT ? ESRCH : errno, e);
		return NULL;
	}
	for (;;) {
		ssize_t n;

		/* begins small: most processes have few mappings, and many processes may be read */
		if (size - len < 4096) {
			char *more = realloc(text, size += size ? size : 16384);

			if (!more) {
				dt_fail(e, "out of memory");
				goto fail;
			}
			text = more;
		}
		n = read(fd, text + len, size - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			dt_memory_refused(pid, errno, e);
			goto fail;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	close(fd);
	return text;
fail:
	free(text);
	close(fd);
	return NULL;
}

static bool parse(char *line, struct dt_mapping *m)
{
	char perm[8];
	int path = 0;
	unsigned long low, high, offset, inode;

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &low, &high, perm, &offset, &m->dev_major,
		   &m->dev_minor, &inode, &path) < 7)
		return false;
	m->low = low, m->high = high, m->offset = offset, m->inode = inode;
	m->read = perm[0] == 'r', m->write = perm[1] == 'w', m->exec = perm[2] == 'x';
	m->shared = perm[3] == 's';
	m->path = path ? line + path : "";
	m->deleted = false;
	size_t n = strlen(m->path);
	if (n > 10 && strcmp(m->path + n - 10, " (deleted)") == 0) {
		m->deleted = true;
		line[(size_t)path + n - 10] = '\0';
	}
	return true;
}

int dt_maps_read(pid_t pid, struct dt_maps *m, struct dt_error *e)
{
	size_t lines = 0;
	char *next;

	memset(m, 0, sizeof(*m));
	m->text = slurp(pid, e);
	if (!m->text)
		return -1;
	for (char *p = m->text; *p; p++)
		lines += *p == '\n';
	m->map = calloc(lines + 1, sizeof(*m->map));
	if (!m->map) {
		dt_maps_free(m);
		return dt_fail(e, "out of memory");
	}
	for (char *line = m->text; *line; line = next) {
		next = strchr(line, '\n');
		if (!next)
			break;
		*next++ = '\0';
		if (m->n < lines && parse(line, &m->map[m->n]))
			m->n++;
	}
	return 0;
}

void dt_maps_free(struct dt_maps *m)
{
	free(m->map);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

const struct dt_mapping *dt_maps_at(const struct dt_maps *m, uint64_t address)
{
	for (size_t i = 0; i < m->n; i++)
		if (address >= m->map[i].low && address < m->map[i].high)
			return &m->map[i];
	return NULL;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t dt_maps_gap(const struct dt_maps *m, uint64_t near, uint64_t size, uint64_t reach,
		     uint64_t top)
{
	uint64_t best = 0, low = LOWEST;

	for (size_t i = 0; i <= m->n; i++) {
		uint64_t high = i < m->n ? m->map[i].low : HIGHEST, from = low, to = high;
		bool heap = i > 0 && strcmp(m->map[i - 1].path, "[heap]") == 0;
		bool stack = i < m->n && strcmp(m->map[i].path, "[stack]") == 0;
		uint64_t pick;

		low = i < m->n ? m->map[i].high : HIGHEST;
		from += heap ? HEAP_CLEAR : CLEAR;
		if (to < (stack ? STACK_CLEAR : CLEAR))
			continue;
		to -= stack ? STACK_CLEAR : CLEAR;
		if (to > top)
			to = top;
		if (to <= from || to - from < size)
			continue;
		if (near < from)
			pick = from;
		else if (near > to - size)
			pick = to - size;
		else
			pick = near;
		pick &= ~0xfffull;
		if (pick < from)
			continue;
		if (distance(pick, near) > reach || distance(pick + size, near) > reach)
			continue;
		if (!best || distance(pick, near) < distance(best, near))
			best = pick;
	}
	return best;
}
