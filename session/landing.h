/* SPDX-License-Identifier: MIT */
/*
 * Where a jump through a PLT leads that the dynamic linker has not looked up yet, or in a process
 * that has ended.
 */
#ifndef DT_SESSION_LANDING_H
#define DT_SESSION_LANDING_H

#include "hook/target.h"

/* Looks whether an address of the process is in a PLT of the module. */
bool dt_landing_is_plt(const struct dt_module *m, uint64_t address);
/* Returns where a jump through the slot at an address of the module's file will lead: to the
 * function, in any module, that has the slot's name and, if `exits', exits that are recorded. 0:
 * there is none, or nothing says which of several it is. */
uint64_t dt_landing(struct dt_target *t, const struct dt_module *m, uint64_t slot, bool exits);

#endif
