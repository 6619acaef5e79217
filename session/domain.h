/* SPDX-License-Identifier: MIT */
/*
 * A domain: the processes of a session that have the same credentials, and the memory that they
 * share. A session has one from the beginning. Another one is made for the first process with other
 * credentials, also when a program gains some as it is executed; only root's sessions can trace
 * such processes. What a process writes into its memory can spoil the records of its own domain
 * only, and it can not read those of others.
 *
 * The owner thread makes domains, with the session's lock held; they stay until the session is
 * closed. A domain below dt_domains() is complete for every thread that sees it.
 */
#ifndef DT_SESSION_DOMAIN_H
#define DT_SESSION_DOMAIN_H

#include "session/state.h"

/* Gives the session its first domain, whose memory is s->targets.shared. Returns 0, or -1 and an
 * error. */
int dt_domain_first(struct dt_session *s, struct dt_error *e);
/* Frees all domains and their memories. */
void dt_domains_free(struct dt_session *s);

/* Returns how many domains there are. Any thread. */
unsigned dt_domains(const struct dt_session *s);

/*
 * Returns the domain for the credentials of process pid, a new one when no domain has them; NULL
 * and an error when the process has ended or there can be no more domains. Owner thread, with the
 * lock.
 */
struct dt_domain *dt_domain_for(struct dt_session *s, pid_t pid, struct dt_error *e);

/* Returns the domain whose memory a process with these mappings has; NULL: it has none of the
 * session's. */
struct dt_domain *dt_domain_mapped(struct dt_session *s, const struct dt_maps *maps);

/* Returns the number under which the file has a ring of the d-th domain (core/record.h). ring: a
 * core's number, or the number of cores for the shared ring. */
unsigned dt_domain_core(const struct dt_session *s, unsigned d, unsigned ring);

/* Returns the sums of what the processes of all domains count. */
struct dt_shared_counts dt_domains_counts(struct dt_session *s);

/*
 * Spreads the effects of triggers. Each domain looks at its own events only; what froze recording
 * in one domain, or let it go on, is done in the others here, as soon as it is seen. Owner thread,
 * without the lock.
 */
void dt_domains_spread(struct dt_session *s);

/* Tells whether recording is frozen in any domain. */
bool dt_domains_frozen(struct dt_session *s);

/* Tells whether there has ever been a command, or an event with an option, that may freeze
 * recording. Has to be called whenever such a one may have been set. With the lock. */
bool dt_domains_freeze(struct dt_session *s);

#endif
