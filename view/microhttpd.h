/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd, loaded only when pages are to be served: with GnuTLS and what that needs it is ten
 * libraries, and loading them took 40 % of the start-up time of every other command
 * (doc/dev/decisions.md).
 */
#ifndef DT_VIEW_MICROHTTPD_H
#define DT_VIEW_MICROHTTPD_H

#include <microhttpd.h>

#include "core/error.h"

#define DT_MICROHTTPD(X)                                                                           \
	X(add_connection)                                                                          \
	X(add_response_header)                                                                     \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(destroy_response)                                                                        \
	X(lookup_connection_value)                                                                 \
	X(queue_response)                                                                          \
	X(resume_connection)                                                                       \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(suspend_connection)

/* The library's functions, without the prefix MHD_. Set once, by dt_microhttpd_load(). */
struct dt_microhttpd {
#define X(name) __typeof__(&MHD_##name) name;
	DT_MICROHTTPD(X)
#undef X
};

extern struct dt_microhttpd dt_mhd;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: it is not installed, or lacks a function. */
int dt_microhttpd_load(struct dt_error *e);

#endif
