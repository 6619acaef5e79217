/* SPDX-License-Identifier: MIT */
/* Queries over a fleet. */
#ifndef DT_CMD_SQL_FLEET_H
#define DT_CMD_SQL_FLEET_H

#include "fleet/fleet.h"
#include "sql/writing.h"

/* Opens a connection with the tables of all traces of a fleet: those of a trace with the column
 * host, and at, early, late where rows have a time; and hosts, alignment, contradictions, messages.
 * f must stay until the connection is closed. -1 on error. */
int dt_sql_fleet(struct dt_sql_session *s, struct dt_fleet *f, struct dt_error *e);

#endif
