/* SPDX-License-Identifier: MIT */
/*
 * Given to the compiler in front of each file of the loadable extension: SQLite is then that of the
 * program which has loaded it, for the reading of traces too. Two copies of SQLite in a process
 * would drop each other's locks.
 */
#ifndef DT_SQL_HOST_H
#define DT_SQL_HOST_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
