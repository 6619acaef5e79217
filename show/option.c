/* SPDX-License-Identifier: MIT */
/* The numbers are Linux's on x86-64, wherever the trace is read. */
#include "show/option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Levels, and of SOL_SOCKET the options that are structures. */
enum { IP = 0, SOCKET = 1, TCP = 6, UDP = 17, IPV6 = 41 };
enum { LINGER = 13, PEERCRED = 17, RCVTIMEO = 20, SNDTIMEO = 21 };

/* The options that are integers. */
static const uint8_t ip[] = {1,	 2,  3,	 6,  8,	 10, 11, 12, 13, 14,
			     15, 19, 20, 21, 22, 24, 33, 34, 49, 50};
static const uint8_t socket[] = {1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10, 11, 12,
				 15, 16, 18, 19, 29, 30, 32, 33, 34, 35, 36, 37,
				 38, 39, 40, 41, 42, 43, 44, 45, 46, 48, 49};
static const uint8_t tcp[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 16,
			      17, 18, 19, 20, 21, 23, 24, 25, 27, 30, 36, 37};
static const uint8_t udp[] = {1, 100, 101, 102, 103, 104};
static const uint8_t ipv6[] = {16, 17, 18, 19, 23, 24, 25, 26, 49, 51, 56, 66, 67, 70};

static const struct {
	uint32_t level, n;
	const uint8_t *name;
} integer[] = {{IP, sizeof(ip), ip},
	       {SOCKET, sizeof(socket), socket},
	       {TCP, sizeof(tcp), tcp},
	       {UDP, sizeof(udp), udp},
	       {IPV6, sizeof(ipv6), ipv6}};

static bool is_integer(uint32_t level, uint32_t name)
{
	for (size_t i = 0; i < sizeof(integer) / sizeof(*integer); i++)
		for (uint32_t k = 0; level == integer[i].level && k < integer[i].n; k++)
			if (integer[i].name[k] == name)
				return true;
	return false;
}

static int64_t number_of(const unsigned char *b, unsigned size)
{
	unsigned shift = 64 - 8 * size;
	uint64_t v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)b[i] << 8 * i;
	return (int64_t)(v << shift) >> shift;
}

char *dt_option_put(char *p, uint32_t level, uint32_t name, const void *bytes, uint32_t known,
		    uint32_t length)
{
	const unsigned char *b = bytes;
	uint32_t size = length == UINT32_MAX ? known : length;

	if (size > known)
		return NULL;
	if (is_integer(level, name) && (length == UINT32_MAX || length == 4) && known >= 4)
		return p + sprintf(p, "[%ld]", (long)number_of(b, 4));
	/* of IP and IPv6 some options may be one byte */
	if (is_integer(level, name) && (level == IP || level == IPV6) && length == 1)
		return p + sprintf(p, "[%u]", b[0]);
	if (level != SOCKET)
		return NULL;
	if (name == LINGER && size >= 8)
		return p + sprintf(p, "{l_onoff=%ld, l_linger=%ld}", (long)number_of(b, 4),
				   (long)number_of(b + 4, 4));
	if (name == PEERCRED && size >= 12)
		return p + sprintf(p, "{pid=%ld, uid=%ld, gid=%ld}", (long)number_of(b, 4),
				   (long)number_of(b + 4, 4), (long)number_of(b + 8, 4));
	if ((name == RCVTIMEO || name == SNDTIMEO) && size >= 16)
		return p + sprintf(p, "{tv_sec=%ld, tv_usec=%ld}", (long)number_of(b, 8),
				   (long)number_of(b + 8, 8));
	return NULL;
}
