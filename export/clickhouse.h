/* SPDX-License-Identifier: MIT */
/* ClickHouse's tables for calls of many machines: dt_export_clickhouse() writes their rows. */
#ifndef DT_EXPORT_CLICKHOUSE_H
#define DT_EXPORT_CLICKHOUSE_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the statements that make the tables. cluster: the name of the servers that share them, as
 * ClickHouse's configuration has it; NULL: there is one server. */
void dt_clickhouse_tables(FILE *f, const char *cluster);
/* Tells whether a name can be a cluster's: letters, digits and _. */
bool dt_clickhouse_is_cluster(const char *name);

#endif
