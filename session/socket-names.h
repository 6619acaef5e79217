/* SPDX-License-Identifier: MIT */
/*
 * The addresses of TCP sockets that traced programs open. connect() does not say which port its own
 * end gets; so shortly after a call of connect() or accept() was recorded, /proc is asked which
 * socket the descriptor is, and what its addresses are. They go into the trace's table sync, with
 * the ticks between which that was so: kind "socket", id "TID,FD,LOCAL,REMOTE". Nothing is done to
 * the program.
 */
#ifndef DT_SESSION_SOCKET_NAMES_H
#define DT_SESSION_SOCKET_NAMES_H

#include "session/state.h"

#define DT_SOCKET_NAMES_MS 5 /* between rounds of the recorder: a socket may be closed soon */

/* NULL: out of memory. */
struct dt_socket_names *dt_socket_names_new(void);
/* Notes a site that has been met for the first time, if it is of connect() or accept(). function:
 * its name; NULL: not known. n may be NULL. */
void dt_socket_names_site(struct dt_socket_names *n, const struct dt_record *r,
			  const char *function);
/* Takes records of which the sites are known, with the ids of threads. */
void dt_socket_names_records(struct dt_socket_names *n, const struct dt_record *r, size_t count);
/* Asks for what is due, and stores it. By the recorder, without the lock. */
void dt_socket_names_look(struct dt_session *s);
void dt_socket_names_free(struct dt_socket_names *n);

#endif
