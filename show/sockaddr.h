/* SPDX-License-Identifier: MIT */
/* Addresses of sockets as text. */
#ifndef DT_SHOW_SOCKADDR_H
#define DT_SHOW_SOCKADDR_H

#include <stdint.h>

/*
 * Writes the first 16 bytes of a struct sockaddr, of which `low' has the first 8, with the names of
 * its members: "{sa_family=AF_INET, sin_port=53, sin_addr=127.0.0.1}". length: the bytes that the
 * caller said the address has, UINT32_MAX: not known; what is behind them does not count. Of a
 * longer address only the beginning is known, and "..." follows. One that is too short for its
 * family is written as its bytes, as strace does. Returns the end of what it wrote, at most 256
 * bytes.
 */
char *dt_sockaddr_put(char *p, uint64_t low, uint64_t high, uint32_t length);

/* Does the same for an address of which `known' bytes are at b; at most DT_SOCKADDR_KNOWN are
 * looked at. */
char *dt_sockaddr_bytes(char *p, const void *b, uint32_t known, uint32_t length);

#define DT_SOCKADDR_KNOWN 128  /* no address is longer */
#define DT_SOCKADDR_TEXT  1024 /* bytes that are written at most */

#endif
