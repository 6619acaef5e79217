/* SPDX-License-Identifier: MIT */
/* The functions of libc by which programs open, use and close sockets. */
#ifndef DT_FLEET_SOCKET_CALLS_H
#define DT_FLEET_SOCKET_CALLS_H

#include "store/reader.h"

/* What functions of libc do with descriptors. */
enum dt_socket_call {
	DT_SOCKET_NOTHING,
	DT_SOCKET_SEND,
	DT_SOCKET_RECEIVE,
	DT_SOCKET_SPLICE, /* receives from its first descriptor, sends to its third */
	DT_SOCKET_SEND_SEVERAL,
	DT_SOCKET_RECEIVE_SEVERAL, /* they say how much only in memory that is not recorded */
	DT_SOCKET_CONNECT,
	DT_SOCKET_ACCEPT,
	DT_SOCKET_SOCKET,
	DT_SOCKET_LOCAL,
	DT_SOCKET_REMOTE,
	DT_SOCKET_CLOSE,
	DT_SOCKET_DUP,
	DT_SOCKET_DUP_TO,
	DT_SOCKET_FCNTL,
	DT_SOCKET_SHUTDOWN
};

/* Which functions of a trace are such ones. */
struct dt_socket_calls {
	uint8_t *of; /* for each row of a function: index in the table + 1; 0: none of them */
	uint32_t n;
	bool any; /* connections can begin by some */
};

/* -1: out of memory. */
int dt_socket_calls_find(struct dt_socket_calls *c, const struct dt_reader *r);
enum dt_socket_call dt_socket_calls_what(const struct dt_socket_calls *c, uint32_t function);
/* Returns which value of an entry has flags of MSG_...; 0: none. function: one of them. */
unsigned dt_socket_calls_flags(const struct dt_socket_calls *c, uint32_t function);
void dt_socket_calls_free(struct dt_socket_calls *c);

#endif
