#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
usage: formats.py SEED N: writes a program in C, formats.c, with N calls of functions of printf's
family, and what their arguments are, formats.said. The values are the generator's own; texts lie at
the ends of pages behind which there is nothing, some of them without a NUL.
"""
import random
import sys

LETTERS = 'abcdefghijklmnopqrstuvwxyz ABC0123456789+-/'
SIZES = {'hh': (1, 'signed char'), 'h': (2, 'short'), '': (4, 'int'), 'l': (8, 'long'), 'll': (8, 'long long'),
         'j': (8, '__INTMAX_TYPE__'), 'z': (8, 'size_t'), 't': (8, '__PTRDIFF_TYPE__')}


def text(r, most):
    return ''.join(r.choice(LETTERS) for _ in range(r.randint(0, most)))


def shortest(d):
    return next(s for s in ('%.*g' % (n, d) for n in range(6, 18)) if float(s) == d)


def cut(v, size, signed):
    v &= (1 << 8 * size) - 1
    return v - (1 << 8 * size) if signed and v >> (8 * size - 1) else v


def integer(r):
    conversion = r.choice('diuxXoc')
    length = '' if conversion == 'c' else r.choice(list(SIZES))
    size, _ = SIZES[length]
    v = cut(r.choice([r.getrandbits(64), r.randint(-300, 300)]), 8 if size == 8 else 4, True)
    said = cut(v, size, conversion in 'di')
    shown = {'d': str(said), 'i': str(said), 'u': str(said), 'x': hex(said), 'X': hex(said),
             'o': f'0{said:o}' if said else '0'}.get(conversion)
    if conversion == 'c':
        v = r.choice([r.randint(32, 126), r.randint(1, 31), r.randint(128, 255)])
        shown = f"'{chr(v)}'" if 32 <= v < 127 else str(cut(v, 1, True))
    flags = ''.join(f for f in "-+ #0'" if r.random() < 0.15)
    width = r.choice(['', '', '7', '12'])
    passed = f'{v}L' if size == 8 else f'(int){v}'
    return flags + width, length + conversion, passed.replace('-9223372036854775808L', '(-9223372036854775807L-1)'), shown


def value(r):
    """What stands behind the %, without a number, the arguments, and what is shown of each."""
    kind = r.randrange(8)
    if kind < 3:
        before, conversion, passed, shown = integer(r)
        if r.random() < 0.2:
            return '*' + conversion, ['5', passed], ['5', shown]
        return before + conversion, [passed], [shown]
    if kind < 6:
        t = text(r, 40)
        if r.random() < 0.1:
            return 's', ['(char *)0'], ['NULL']
        if r.random() < 0.2:
            return '-9s', [f'edge("{t}", 1)'], [f'"{t}"']
        n = r.choice([0, len(t), r.randint(0, len(t))])
        if r.random() < 0.5:
            return f'.{n}s', [f'edge("{t}", 0)'], [f'"{t[:n]}"']
        if r.random() < 0.3:  # a negative precision is none
            return '.*s', ['-3', f'edge("{t}", 1)'], ['-3', f'"{t}"']
        return '.*s', [str(n), f'edge("{t}", 0)'], [str(n), f'"{t[:n]}"']
    if kind == 6:
        d = r.choice([r.random(), r.uniform(-1e9, 1e9), r.randint(-9, 9) / 2, 1e300, 2.0 ** -1070])
        if r.random() < 0.2:
            d = r.randint(-1000, 1000) / 8
            return r.choice(['Lf', '.2Le', 'La']), [f'{d!r}L'], [shortest(d)]
        return r.choice(['f', 'g', '.3e', '+A', '8.1f', 'lf']), [repr(d)], [shortest(d)]
    p = r.choice([0, r.getrandbits(47), 8])
    return 'p', [f'(void *){p}L'], [hex(p)]


def main():
    r, n = random.Random(int(sys.argv[1])), int(sys.argv[2])
    calls, said = [], []
    for i in range(n):
        fmt, passed, shown = f'#{i}:', [], []
        for _ in range(r.choice([0, 1, 2, 3, 5, 8, 12])):
            conversion, values, texts = value(r)
            # a stream has room for 250 bytes, and an argument takes two more than its value
            if sum(len(t) + 12 for t in shown + texts) > 230 or len(shown) + len(texts) > 24:
                break
            fmt += text(r, 6).replace('%', '') + '%' + conversion + r.choice(['', '%%', '\\n'])
            passed += values
            shown += texts
        fmt += '.' * r.choice([0, 0, 1, 100])
        arguments = ''.join(', ' + p for p in passed)
        where = f'edge("{fmt}", 1)'
        calls.append(r.choice([f'snprintf(to, sizeof(to), {where}{arguments});',
                               f'sprintf(to, {where}{arguments});', f'fprintf(null, {where}{arguments});',
                               f'dprintf(fd, {where}{arguments});',
                               f'if (asprintf(&made, {where}{arguments}) >= 0) free(made);',
                               f'list({where}{arguments});', f'behind(1, 2.5, {where}{arguments});']))
        shown = ', '.join(shown)
        as_list = calls[-1].startswith(('list', 'behind'))
        said.append(f'#{i} ' + (f'ap=[{shown}]' if as_list else shown))
    with open('formats.c', 'w', encoding='ascii') as f:
        f.write('''#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char to[65536], *made;
static FILE *null;
static int fd;
static char *page[32];
/* a copy of the text, with its NUL or without, at the end of a page; good for the next 31 calls */
static char *edge(const char *s, int nul)
{
	static unsigned n;
	char **p = &page[n++ % 32], *at;
	size_t length = strlen(s) + nul;
	if (!*p) {
		*p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(*p + 4096, 4096, PROT_NONE);
	}
	at = *p + 4096 - length;
	memcpy(at, s, length);
	return at;
}
static void list(const char *f, ...)
{
	va_list ap;
	va_start(ap, f);
	vsnprintf(to, sizeof(to), f, ap);
	va_end(ap);
}
static void behind(int a, double b, const char *f, ...)
{
	va_list ap;
	va_start(ap, f);
	vfprintf(null, f, ap);
	va_end(ap);
}
int main(void)
{
	null = fopen("/dev/null", "w");
	fd = open("/dev/null", O_WRONLY);
''')
        f.writelines('\t' + c + '\n' for c in calls)
        f.write('\treturn 0;\n}\n')
    with open('formats.said', 'w', encoding='ascii') as f:
        f.writelines(s.rstrip() + '\n' for s in said)


main()
