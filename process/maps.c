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

/* Takes a number and the character behind it. */
static bool take_number(char **at, unsigned base, char behind, uint64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit, *begin = *at;

	for (*n = 0; **at && (digit = memchr(digits, **at, base)); ++*at)
		*n = *n * base + (uint64_t)(digit - digits);
	return *at > begin && *(*at)++ == behind;
}

/* sscanf() would take as long as the kernel to make the line. */
static bool parse(char *line, struct dt_mapping *m)
{
	char *p = line;
	uint64_t major, minor;
	const char *perm;
	size_t n;

	if (!take_number(&p, 16, '-', &m->low) || !take_number(&p, 16, ' ', &m->high))
		return false;
	perm = p;
	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	p += 5;
	if (!take_number(&p, 16, ' ', &m->offset) || !take_number(&p, 16, ':', &major) ||
	    !take_number(&p, 16, ' ', &minor) || !take_number(&p, 10, ' ', &m->inode))
		return false;
	m->dev_major = (unsigned)major, m->dev_minor = (unsigned)minor;
	m->read = perm[0] == 'r', m->write = perm[1] == 'w', m->exec = perm[2] == 'x';
	m->shared = perm[3] == 's';
	p += strspn(p, " ");
	m->path = p;
	n = strlen(p);
	m->deleted = n > 10 && strcmp(p + n - 10, " (deleted)") == 0;
	if (m->deleted)
		p[n - 10] = '\0';
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
