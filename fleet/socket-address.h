/* SPDX-License-Identifier: MIT */
/* Addresses of TCP sockets, as traces have them. */
#ifndef DT_FLEET_SOCKET_ADDRESS_H
#define DT_FLEET_SOCKET_ADDRESS_H

#include "core/types.h"

/* An address of IPv6, or of IPv4 mapped into it, and a port. */
struct dt_socket_address {
	uint8_t ip[16];
	uint16_t port; /* 0: nothing is known */
};

/* The first bytes of a struct sockaddr, as far as they were recorded. */
struct dt_socket_noted {
	uint8_t bytes[24];
	uint8_t n;
};

/* Makes an address of such bytes. -1: its family is not of IP; 0: there are too few bytes, and
 * nothing is known; 1: it is known. */
int dt_socket_address_take(struct dt_socket_address *to, const struct dt_socket_noted *x);
/* Reads "10.0.0.1:80" or "[fe80::1]:80". */
bool dt_socket_address_read(struct dt_socket_address *to, const char *text);

#endif
