/* SPDX-License-Identifier: MIT */
/* The bytes are those of Linux on x86-64, wherever the trace is read. */
#include "show/sockaddr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* The families, by their numbers. */
enum { UNIX = 1, INET = 2, INET6 = 10, NETLINK = 16 };

static unsigned u16_of(const unsigned char *b)
{
	return (unsigned)b[0] | (unsigned)b[1] << 8;
}

static uint32_t u32_of(const unsigned char *b)
{
	return u16_of(b) | (uint32_t)u16_of(b + 2) << 16;
}

/* A port is stored with its high byte first. */
static unsigned port_of(const unsigned char *b)
{
	return (unsigned)b[2] << 8 | b[3];
}

/* Writes a path, of which up to 14 bytes are known. An abstract one begins with a NUL, as strace
 * has it: @. */
static char *put_path(char *p, const unsigned char *b)
{
	unsigned i = 0;

	p = stpcpy(p, "{sa_family=AF_UNIX, sun_path=");
	if (!b[0])
		*p++ = '@', i++;
	*p++ = '"';
	for (; i < 14 && b[i]; i++) {
		if (b[i] < ' ' || b[i] >= 127 || b[i] == '"' || b[i] == '\\')
			p += sprintf(p, "\\x%02x", b[i]);
		else
			*p++ = (char)b[i];
	}
	return stpcpy(p, i == 14 ? "\"...}" : "\"}");
}

char *dt_sockaddr_put(char *p, uint64_t low, uint64_t high)
{
	unsigned char b[16];
	char text[INET_ADDRSTRLEN] = "";

	for (unsigned i = 0; i < 8; i++) {
		b[i] = (unsigned char)(low >> 8 * i);
		b[8 + i] = (unsigned char)(high >> 8 * i);
	}
	switch (u16_of(b)) {
	case UNIX:
		return put_path(p, b + 2);
	case INET:
		inet_ntop(AF_INET, b + 4, text, sizeof(text));
		return p + sprintf(p, "{sa_family=AF_INET, sin_port=%u, sin_addr=%s}", port_of(b),
				   text);
	case INET6: /* half of the address is known */
		return p + sprintf(p,
				   "{sa_family=AF_INET6, sin6_port=%u, sin6_addr=%x:%x:%x:%x:...}",
				   port_of(b), port_of(b + 6), port_of(b + 8), port_of(b + 10),
				   port_of(b + 12));
	case NETLINK:
		return p + sprintf(p, "{sa_family=AF_NETLINK, nl_pid=%u, nl_groups=0x%x}",
				   u32_of(b + 4), u32_of(b + 8));
	default:
		return p + sprintf(p, "{sa_family=%u, ...}", u16_of(b));
	}
}
