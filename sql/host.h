/* SPDX-License-Identifier: MIT */
/*
 * Included before each file of the loadable extension: all of them, also those that read traces,
 * then use the SQLite of the program that has loaded it. Two copies of SQLite in a process would
 * drop each other's locks.
 */
#ifndef DT_SQL_HOST_H
#define DT_SQL_HOST_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
