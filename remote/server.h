/* SPDX-License-Identifier: MIT */
/*
 * The server of traces: bfscope's protocol, and trace files in devtrace's own form. Requests are
 * lines. Those of one connection are answered in order, however many are outstanding.
 *
 *	trace	8 decimal digits with zeros in front, and so many bytes: Barrelfish's dump
 *	file	"ok BYTES\n" and the bytes of a trace file
 *	stat	8 digits as for trace, and so many bytes: lines about the server
 *
 * When trace fails, or its dump would be longer than 8 digits can tell, the text after the digits
 * is the line "# error: WHY". When file fails, the answer is "error BYTES\n" and so many bytes that
 * say why. doc/remote.md.
 *
 * The server is one thread; a client costs a few kilobytes, an answer a temporary file.
 */
#ifndef DT_REMOTE_SERVER_H
#define DT_REMOTE_SERVER_H

#include "remote/address.h"
#include "remote/making.h"

#define DT_DUMP_MAX 99999999u /* bytes: the largest number of 8 digits */

/* What is served, and to whom. */
struct dt_serving {
	struct dt_maker maker;
	const struct dt_listener *listener; /* NULL: one client, on stdin and stdout */
	bool busy; /* a client that asks while an answer to trace is under way gets "000000", as
		      from bfscope of 2011 */
};

/* Serves until SIGINT or SIGTERM, or until the only client has gone. Returns 0, or -1 and an error
 * when it could not begin or had to give up. */
int dt_serve(const struct dt_serving *how, struct dt_error *e);

#endif
