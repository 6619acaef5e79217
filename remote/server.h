/* SPDX-License-Identifier: MIT */
/*
 * The server of traces: bfscope's protocol, and the trace file in devtrace's own form. Requests are
 * lines; those of one connection are answered in order, however many are outstanding.
 *
 *	trace	8 decimal digits with zeros in front, and so many bytes: Barrelfish's dump
 *	file	"ok BYTES\n" and the bytes of a trace file
 *	stat	8 digits, and lines about the server
 *
 * An answer to trace that is an error, or would be longer than 8 digits can tell, is the line
 * "# error: WHY"; of file it is "error BYTES\n" and the bytes that say why. doc/remote.md.
 *
 * One thread; a client costs a few kilobytes, an answer a temporary file.
 */
#ifndef DT_REMOTE_SERVER_H
#define DT_REMOTE_SERVER_H

#include "remote/address.h"
#include "remote/making.h"

#define DT_DUMP_MAX 99999999u /* bytes: 8 digits */

struct dt_serving {
	struct dt_maker maker;
	const struct dt_listener *listener; /* NULL: one client, on standard input and output */
	bool busy; /* who asks while an answer to trace is under way gets "000000", as in 2011 */
};

/* Until SIGINT or SIGTERM, or the only client has gone. -1: it could not begin. */
int dt_serve(const struct dt_serving *how, struct dt_error *e);

#endif
