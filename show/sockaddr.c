/* SPDX-License-Identifier: MIT */
/* The bytes are those of Linux on x86-64, wherever the trace is read. */
#include "show/sockaddr.h"

#include <arpa/inet.h>
#include <stdbool.h>
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

#define RECORDED 16 /* bytes of an address that a record of values has */

/* An address of which `known' bytes, and no more than it has, are at b. */
struct address {
	const unsigned char *b;
	uint32_t known, length;
};

/* Writes n bytes between quotes; none of them is written that a terminal could understand. */
static char *put_bytes(char *p, const unsigned char *b, unsigned n)
{
	*p++ = '"';
	for (unsigned i = 0; i < n; i++) {
		if (b[i] < ' ' || b[i] >= 127 || b[i] == '"' || b[i] == '\\')
			p += sprintf(p, "\\x%02x", b[i]);
		else
			*p++ = (char)b[i];
	}
	*p++ = '"';
	return p;
}

/*
 * Writes the path of an address. It ends with the address, or at a NUL before that. An abstract
 * name begins with a NUL, which is shown as @, as strace has it; other NULs are part of it. Where
 * the length is not known, they end it.
 */
static char *put_path(char *p, const struct address *a)
{
	const unsigned char *b = a->b + 2;
	uint32_t whole = a->length - 2, known = a->known - 2;
	bool abstract = !b[0];
	unsigned from = abstract, n = from;

	while (n < known && (b[n] || (abstract && a->length != UINT32_MAX)))
		n++;
	p = stpcpy(p,
		   abstract ? "{sa_family=AF_UNIX, sun_path=@" : "{sa_family=AF_UNIX, sun_path=");
	p = put_bytes(p, b + from, n - from);
	return stpcpy(p, n == known && whole > known ? "...}" : "}");
}

/* Writes an address of which only the bytes are understood: it is too short for its family. */
static char *put_short(char *p, const char *family, const struct address *a)
{
	if (!a->length)
		return stpcpy(p, "{}");
	if (a->length < 2)
		return stpcpy(put_bytes(stpcpy(p, "{"), a->b, a->length), "}");
	p = stpcpy(stpcpy(p, "{sa_family="), family);
	if (a->known > 2)
		p = put_bytes(stpcpy(p, ", sa_data="), a->b + 2, a->known - 2);
	return stpcpy(p, a->length > a->known ? "...}" : "}");
}

static char *put_inet6(char *p, const struct address *a)
{
	const unsigned char *b = a->b;
	char text[INET6_ADDRSTRLEN] = "";

	if (a->length < 24) /* without a scope, as RFC 2133 had it */
		return put_short(p, "AF_INET6", a);
	if (a->known < 24) /* half of the address is known */
		return p + sprintf(p,
				   "{sa_family=AF_INET6, sin6_port=%u, sin6_addr=%x:%x:%x:%x:...}",
				   port_of(b), port_of(b + 6), port_of(b + 8), port_of(b + 10),
				   port_of(b + 12));
	inet_ntop(AF_INET6, b + 8, text, sizeof(text));
	p += sprintf(p, "{sa_family=AF_INET6, sin6_port=%u, sin6_addr=%s", port_of(b), text);
	if (u32_of(b + 4))
		p += sprintf(p, ", sin6_flowinfo=0x%x", ntohl(u32_of(b + 4)));
	if (a->known >= 28 && u32_of(b + 24))
		p += sprintf(p, ", sin6_scope_id=%u", u32_of(b + 24));
	return stpcpy(p, "}");
}

char *dt_sockaddr_bytes(char *p, const void *bytes, uint32_t known, uint32_t length)
{
	const unsigned char *b = bytes;
	struct address a = {b, known < DT_SOCKADDR_KNOWN ? known : DT_SOCKADDR_KNOWN, length};
	char text[INET_ADDRSTRLEN] = "";

	if (a.known > length)
		a.known = length;
	if (a.known < 16 && a.known < length) /* the rest could not be read */
		return stpcpy(p, "?");
	switch (length < 2 ? 0 : u16_of(b)) {
	case UNIX:
		return length == 2 ? put_short(p, "AF_UNIX", &a) : put_path(p, &a);
	case INET:
		if (length < 16)
			return put_short(p, "AF_INET", &a);
		inet_ntop(AF_INET, b + 4, text, sizeof(text));
		return p + sprintf(p, "{sa_family=AF_INET, sin_port=%u, sin_addr=%s}", port_of(b),
				   text);
	case INET6:
		return put_inet6(p, &a);
	case NETLINK:
		if (length < 12)
			return put_short(p, "AF_NETLINK", &a);
		return p + sprintf(p, "{sa_family=AF_NETLINK, nl_pid=%u, nl_groups=0x%x}",
				   u32_of(b + 4), u32_of(b + 8));
	default:
		if (length < 2)
			return put_short(p, "", &a);
		return p +
		       sprintf(p, length > 2 ? "{sa_family=%u, ...}" : "{sa_family=%u}", u16_of(b));
	}
}

char *dt_sockaddr_put(char *p, uint64_t low, uint64_t high, uint32_t length)
{
	unsigned char b[RECORDED];

	for (unsigned i = 0; i < 8; i++) {
		b[i] = (unsigned char)(low >> 8 * i);
		b[8 + i] = (unsigned char)(high >> 8 * i);
	}
	return dt_sockaddr_bytes(p, b, sizeof(b), length);
}
