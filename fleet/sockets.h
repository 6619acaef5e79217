/* SPDX-License-Identifier: MIT */
/*
 * The ends of TCP connections that a trace has, found in the calls of libc's functions: who opened
 * and closed them, and how many bytes each call sent or received. Nothing is guessed: an end of
 * which calls may be missing says so.
 */
#ifndef DT_FLEET_SOCKETS_H
#define DT_FLEET_SOCKETS_H

#include "fleet/socket-address.h"
#include "store/reader.h"

/* A call that sent or received something: ticks of a send's entry, of a receive's return; and the
 * position in the stream behind its last byte, from 0. */
struct dt_stream_call {
	uint64_t ticks, upto;
	uint32_t tid;
};

/* One direction, as one end sees it. */
struct dt_stream_side {
	struct dt_stream_call *call;
	size_t n, room;
	uint64_t bytes;
	uint64_t begin, end; /* ticks of the last call */
	uint32_t tid;	     /* that made it */
	bool shut;	     /* sending was ended (shutdown) */
	bool unclear;	     /* bytes may be missing, or their order is not known */
};

struct dt_tcp_end {
	struct dt_socket_address local, remote;
	bool client;	   /* it was opened by connect(), otherwise by accept() */
	bool conflict;	   /* what is said of its addresses does not go together */
	bool closed;	   /* all of its descriptors were seen to be closed */
	uint32_t held;	   /* descriptors that are open */
	uint64_t from, to; /* ticks between which there were calls */
	struct dt_stream_side sent, got;
};

/* All ends of a trace. */
struct dt_tcp_ends {
	struct dt_tcp_end *p;
	size_t n, room;
};

/* Finds them. Where filters have left out calls there are none. -1: *e says why not. */
int dt_sockets_read(struct dt_tcp_ends *to, struct dt_reader *r, struct dt_error *e);
void dt_tcp_ends_free(struct dt_tcp_ends *c);

/* Says whether all that one end sent from the beginning to the end is known to be what the other
 * one received. */
bool dt_stream_is_whole(const struct dt_tcp_end *sender, const struct dt_tcp_end *receiver);

#endif
