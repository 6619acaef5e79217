/* SPDX-License-Identifier: MIT */
/* Whose code a record's pc is in. With the session's lock. */
#ifndef DT_SESSION_WHOSE_H
#define DT_SESSION_WHOSE_H

#include "session/state.h"

/*
 * Returns the module at a record's pc, and the process in whose tables it is: its own, or if that
 * is not in the session's list (a child of vfork, or one that has not been taken in yet), its
 * parent's, whose code it has. If neither is known, any process in which something is recorded at
 * that address; NULL where two of them would make different places of it: none is better than a
 * wrong one.
 */
struct dt_module *dt_whose_module(struct dt_session *s, const struct dt_record *r,
				  struct dt_target **target);

/* Returns the site of a call in a program, an entry or an exit; NULL: there is none at pc. */
const struct dt_elf_site *dt_whose_call_site(const struct dt_module *m, uint64_t pc);

#endif
