#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Writes a C program that calls every function of symbols/prototypes/reads.txt with a text that can not
be read, and looks whether the library does what the table says: "reads.py reads.txt > reads.c". A
function that is in the table and not here makes it fail.
"""
import sys

# P is the text, GOOD another one, N the bound, ROOM is written to.
CALLS = {
    'strlen.s': 'strlen(P)', 'strdup.s': 'strdup(P)', 'puts.s': 'puts(P)', 'fputs.s': 'fputs(P, nowhere)',
    'fputs_unlocked.s': 'fputs_unlocked(P, nowhere)', 'strnlen.s': 'strnlen(P, N)', 'strndup.s': 'strndup(P, N)',
    'strcpy.src': 'strcpy(ROOM, P)', 'stpcpy.src': 'stpcpy(ROOM, P)', 'strncpy.src': 'strncpy(ROOM, P, N)',
    'stpncpy.src': 'stpncpy(ROOM, P, N)', 'memchr.s': 'memchr(P, 7, N)', 'strcmp.s1': 'strcmp(P, GOOD)',
    'strcmp.s2': 'strcmp(GOOD, P)', 'strcasecmp.s1': 'strcasecmp(P, GOOD)', 'strcasecmp.s2': 'strcasecmp(GOOD, P)',
    'strverscmp.s1': 'strverscmp(P, GOOD)', 'strverscmp.s2': 'strverscmp(GOOD, P)',
    'strncmp.s1': 'strncmp(P, GOOD, N)', 'strncmp.s2': 'strncmp(GOOD, P, N)',
    'strncasecmp.s1': 'strncasecmp(P, GOOD, N)', 'strncasecmp.s2': 'strncasecmp(GOOD, P, N)',
    'memcmp.s1': 'memcmp(P, GOOD, N)', 'memcmp.s2': 'memcmp(GOOD, P, N)', 'memcpy.src': 'memcpy(ROOM, P, N)',
    'memmove.src': 'memmove(ROOM, P, N)', 'strchr.s': 'strchr(P, C)', 'strchrnul.s': 'strchrnul(P, C)',
    'strrchr.s': 'strrchr(P, C)', 'index.s': 'index(P, C)', 'rindex.s': 'rindex(P, C)',
    'strstr.needle': 'strstr(GOOD, P)', 'strspn.accept': 'strspn(GOOD, P)', 'strcspn.s': 'strcspn(P, GOOD)',
    'strcspn.reject': 'strcspn(GOOD, P)', 'strpbrk.accept': 'strpbrk(GOOD, P)', 'atoi.nptr': 'atoi(P)',
    'atol.nptr': 'atol(P)', 'atoll.nptr': 'atoll(P)', 'atof.nptr': 'atof(P)', 'strtod.nptr': 'strtod(P, NULL)',
    'strtof.nptr': 'strtof(P, NULL)', 'strtold.nptr': 'strtold(P, NULL)',
    'inflateInit_.version': 'inflateInit_(&z, P, N)', 'inflateInit2_.version': 'inflateInit2_(&z, C, P, N)',
    'deflateInit_.version': 'deflateInit_(&z, C, P, N)',
    'deflateInit2_.version': 'deflateInit2_(&z, C, N, C, N, C, P, N)',
}

HEAD = r'''
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <zlib.h>
static sigjmp_buf out;
static char *volatile fault, *volatile P, *volatile GOOD;
static volatile size_t N;
static volatile int C;
static char ROOM[8192], good[1];
static FILE *nowhere;
static z_stream z, zeros;
static int bad;
static void on_fault(int s, siginfo_t *i, void *c)
{
	fault = i->si_addr;
	siglongjmp(out, 1);
}
/* says a mistake unless there was a fault in the page of `at', before anything was changed; NULL: none */
static void look(const char *what, const char *how, char *at)
{
	size_t room = 0;
	while (room < sizeof(ROOM) && ROOM[room] == 'R')
		room++;
	if (!at == !fault && (!at || ((uintptr_t)at ^ (uintptr_t)fault) < 4096 && room == sizeof(ROOM) && errno == 0 && !memcmp(&z, &zeros, sizeof(z))))
		return;
	printf("%s, %s, bound %zu, %d: fault at %p, not in the page of %p; errno %d, %zu bytes\n", what, how, N, C, fault, at, errno, room);
	bad = 1;
}
#define TRY(call, how, at) do { fault = NULL; errno = 0; memset(ROOM, 'R', sizeof(ROOM)); z = zeros; \
	if (!sigsetjmp(out, 1)) { volatile __typeof__(call) r = (call); (void)r; } look(#call, how, at); } while (0)
int main(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	static const size_t bounds[] = {1, 2, 7, 16, 31, 32, 33, 64, 100, 256, 1000, 4000};
	char *m = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(m, 'x', 4096);
	mprotect(m + 4096, 3 * 4096, PROT_NONE);
	nowhere = fopen("/dev/null", "w");
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	for (int i = 0; i < 12; i++) for (int at = 0; at < 70; at++) for (int k = 0; k < 3; k++) {
		char *none = m + 4096 + at;
		N = bounds[i], C = k * 100, GOOD = k == 0 ? good : k == 1 ? m + 100 : m + 4096 - N;
		if (k && N + 100 > 4096) /* the other text is as long */
			continue;
'''


def main():
    print(HEAD)
    last = ''
    for line in open(sys.argv[1], encoding='utf-8'):
        if line[0] == '#':
            continue
        kind, uses = line.split(':') if line[0] not in ' \t' else (last, line)
        last = kind = kind.strip()
        for use in uses.split():
            call = CALLS[use]
            print(f'\t\tP = none; TRY({call}, "first byte", none);')
            if 'N' in call.replace('NULL', '') and kind[1:]:
                print(f'\t\tN = 0; TRY({call}, "no byte", NULL); N = bounds[i];')
            if kind[0] in 'a':
                print(f'\t\tP = m + 4096 - at; if (at && N > (size_t)at) TRY({call}, "all of it", m + 4096);')
    print('\t}\n\tprintf("done\\n");\n\treturn bad;\n}')


main()
