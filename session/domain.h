/* SPDX-License-Identifier: MIT */
/*
 * A domain: the processes of a session that have the same credentials, and the memory that they
 * share. A session has one from the beginning; another one comes with the first process of other
 * credentials (root's session only: others can not trace such), also where a program that is
 * executed gains some. What a process writes into its memory can spoil its own domain's records,
 * and no other's; nor can it read those.
 *
 * Domains come by the owner thread, with the session's lock, and stay until the session is closed.
 * Whoever sees one (dt_domains()) sees all of it.
 */
#ifndef DT_SESSION_DOMAIN_H
#define DT_SESSION_DOMAIN_H

#include "session/state.h"

/* Gives the session its first domain, for whose memory s->targets.shared is. */
int dt_domain_first(struct dt_session *s, struct dt_error *e);
void dt_domains_free(struct dt_session *s);

unsigned dt_domains(const struct dt_session *s);

/* The domain of a process with these credentials, maybe a new one; NULL: there can be no more.
 * Owner thread. */
struct dt_domain *dt_domain_for(struct dt_session *s, pid_t pid, struct dt_error *e);

/* Whose memory a process with these mappings has; NULL: it has none of the session's. */
struct dt_domain *dt_domain_mapped(struct dt_session *s, const struct dt_maps *maps);

/* How the file calls a ring of the d-th domain: see core/record.h. */
unsigned dt_domain_core(const struct dt_session *s, unsigned d, unsigned ring);

/* What the processes of all of them count, and a ring's writers. */
struct dt_shared_counts dt_domains_counts(struct dt_session *s);

/*
 * Where events are looked at, each domain has its own: what one of them did, freezing the recording
 * or going on, is done in the others as soon as it is seen. Owner thread.
 */
void dt_domains_spread(struct dt_session *s);

/* Is any of them frozen? */
bool dt_domains_frozen(struct dt_session *s);

/*
 * Has there been anything, a command or an event with an option, that may freeze the recording?
 * Asked whenever such may have come. With the lock.
 */
bool dt_domains_freeze(struct dt_session *s);

#endif
