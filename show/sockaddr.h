/* SPDX-License-Identifier: MIT */
/* Addresses of sockets as text. */
#ifndef DT_SHOW_SOCKADDR_H
#define DT_SHOW_SOCKADDR_H

#include <stdint.h>

/*
 * Writes the first 16 bytes of a struct sockaddr, of which `low' has the first 8, with the names of
 * its members: "{sa_family=AF_INET, sin_port=53, sin_addr=127.0.0.1}". Of a longer address only the
 * beginning is known, and "..." follows. Returns the end of what it wrote, at most 256 bytes.
 */
char *dt_sockaddr_put(char *p, uint64_t low, uint64_t high);

#endif
