/* SPDX-License-Identifier: MIT */
#include "fleet/socket-address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int dt_socket_address_take(struct dt_socket_address *to, const struct dt_socket_noted *x)
{
	uint16_t family;

	memset(to, 0, sizeof(*to));
	if (x->n < 8)
		return 0;
	memcpy(&family, x->bytes, 2);
	if (family != AF_INET && family != AF_INET6)
		return -1;
	if (family == AF_INET6 && x->n < 24)
		return 0;
	to->port = (uint16_t)(x->bytes[2] << 8 | x->bytes[3]);
	if (family == AF_INET6) {
		memcpy(to->ip, x->bytes + 8, 16);
		return 1;
	}
	to->ip[10] = to->ip[11] = 0xff;
	memcpy(to->ip + 12, x->bytes + 4, 4);
	return 1;
}

bool dt_socket_address_read(struct dt_socket_address *to, const char *text)
{
	char ip[64];
	const char *port = strrchr(text, ':');
	size_t n = port ? (size_t)(port - text) : 0;
	unsigned number;

	memset(to, 0, sizeof(*to));
	if (!n || n >= sizeof(ip) || sscanf(port + 1, "%u", &number) != 1 || number > 65535)
		return false;
	memcpy(ip, text, n);
	ip[n] = '\0';
	to->port = (uint16_t)number;
	if (*ip == '[' && ip[n - 1] == ']') {
		ip[n - 1] = '\0';
		return inet_pton(AF_INET6, ip + 1, to->ip) == 1;
	}
	to->ip[10] = to->ip[11] = 0xff;
	return inet_pton(AF_INET, ip, to->ip + 12) == 1;
}
