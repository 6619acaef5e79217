/* SPDX-License-Identifier: MIT */
/* Fleets for the commands that read traces. */
#ifndef DT_CMD_FLEET_H
#define DT_CMD_FLEET_H

#include "fleet/fleet.h"

/* Prints a line for each host: its trace, and how its clock was to the reference's; says what
 * contradicts itself, and which host nothing is known of. reader[i]: host i's trace, or NULL. */
void dt_fleet_print(const struct dt_fleet *f, struct dt_reader **reader);

/* Prints what is in the fleet at path; returns the exit status. */
int dt_fleet_say(const char *path);

/* Opens the fleet at path, and its traces, before which the process confines itself to them and to
 * `needs'. The traces are in a new array. NULL: *status is the exit status; reported. */
struct dt_needs;
struct dt_fleet *dt_fleet_open_all(const char *path, struct dt_needs *needs,
				   struct dt_reader ***reader, int *status);
/* Closes them; f may be NULL. */
void dt_fleet_close_all(struct dt_fleet *f, struct dt_reader **reader);

#endif
