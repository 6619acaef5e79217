/* SPDX-License-Identifier: MIT */
/* The file's constants: SQLite's header fields, the tables, the heads of the two blobs. */
#ifndef DT_STORE_LAYOUT_H
#define DT_STORE_LAYOUT_H

#include "core/types.h"

#define DT_APPLICATION_ID 0x64747263 /* "dtrc" */
#define DT_FLEET_ID	  0x6474666c /* "dtfl": fleet/fleet.h */

/* Which columns of the events blob are there: dt_events_head.columns. */
enum {
	DT_HAS_TICK_HIGH = 1,
	DT_HAS_SITE_HIGH = 2,
	DT_HAS_SP_HIGH = 4,
	DT_HAS_CORE = 8,
	DT_HAS_PIECES = 16, /* the vals blob has the longer head, and pieces of texts */
};

/* The head of the events blob, little endian. One Zstandard frame per column follows, in the order
 * of encode.c. */
struct dt_events_head {
	uint32_t n, locals, runs, tick_escapes, sp_escapes, columns;
	uint64_t first_ticks;
};

/* The head of the vals blob: how many values it has, and the bytes of all of them together. Two
 * Zstandard frames follow: the length of each value, and the bytes. */
struct dt_vals_head {
	uint32_t lengths, data_bytes;
};

/*
 * Follows that head where there are pieces of texts: how many records have one, how many different
 * ones there are, and the bytes of these without the zeros at their ends. After the two frames of
 * the values come those of the pieces: for each record the low, and with more than 256 different
 * ones the high byte of its number; for each different one how many bytes it has; and the bytes.
 */
struct dt_pieces_head {
	uint32_t records, different, bytes;
};

/* In the mask of a dictionary's entry: its records have, in place of four values, the 32 bytes of a
 * piece of a text. */
#define DT_LOCAL_PIECE 0x10

#define DT_EVENT_COLUMNS                                                                           \
	"subsystem INTEGER, event INTEGER, subsystem_name TEXT, name TEXT, description TEXT"

#define DT_SCHEMA_SQL                                                                              \
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"                       \
	"CREATE TABLE process(pid INTEGER, ppid INTEGER, exe TEXT, cmdline TEXT,"                  \
	" begin_ticks INTEGER, end_ticks INTEGER, status INTEGER);"                                \
	"CREATE TABLE exec(pid INTEGER, ticks INTEGER);"                                           \
	"CREATE TABLE thread(tid INTEGER, pid INTEGER, name TEXT, UNIQUE(tid, pid));"              \
	"CREATE TABLE again(tid INTEGER PRIMARY KEY, number INTEGER);"                             \
	"CREATE TABLE module(id INTEGER PRIMARY KEY, pid INTEGER, base INTEGER, low INTEGER,"      \
	" high INTEGER, path TEXT, build_id TEXT, begin_ticks INTEGER, end_ticks INTEGER);"        \
	"CREATE TABLE module_name(module INTEGER, name TEXT);"                                     \
	"CREATE TABLE complete(module INTEGER PRIMARY KEY, ticks INTEGER);"                        \
	"CREATE TABLE function(id INTEGER PRIMARY KEY, module INTEGER, address INTEGER,"           \
	" size INTEGER, name TEXT, file TEXT, line INTEGER, signature TEXT);"                      \
	"CREATE TABLE function_name(function INTEGER, name TEXT);"                                 \
	"CREATE TABLE site(id INTEGER PRIMARY KEY, pid INTEGER, pc INTEGER, kind,"                 \
	" function INTEGER, place TEXT, mask INTEGER, target INTEGER);"                            \
	"CREATE TABLE clock(ticks INTEGER, monotonic_ns INTEGER, realtime_ns INTEGER);"            \
	"CREATE TABLE loss(core INTEGER, after INTEGER, lost INTEGER, begin_ticks INTEGER,"        \
	" end_ticks INTEGER, PRIMARY KEY(core, after)) WITHOUT ROWID;"                             \
	"CREATE TABLE lost_switches(core INTEGER, after INTEGER, lost INTEGER,"                    \
	" PRIMARY KEY(core, after)) WITHOUT ROWID;"                                                \
	"CREATE TABLE pause(begin_ticks INTEGER, end_ticks INTEGER, why TEXT, times INTEGER,"      \
	" missed INTEGER);"                                                                        \
	"CREATE TABLE change(begin_ticks INTEGER, end_ticks INTEGER, command TEXT, off INTEGER);"  \
	"CREATE TABLE written(core INTEGER, source TEXT, records INTEGER, dropped INTEGER,"        \
	" PRIMARY KEY(core, source)) WITHOUT ROWID;"                                               \
	"CREATE TABLE left_out(function INTEGER PRIMARY KEY, calls INTEGER, untimed INTEGER,"      \
	" total INTEGER, self INTEGER, min INTEGER, max INTEGER);"                                 \
	"CREATE TABLE budget_off(function INTEGER, begin_ticks INTEGER, end_ticks INTEGER,"        \
	" rate REAL, calls INTEGER, rate_after REAL, cpu_ns INTEGER,"                              \
	" PRIMARY KEY(function, begin_ticks)) WITHOUT ROWID;"                                      \
	"CREATE TABLE left_records(core INTEGER PRIMARY KEY, records INTEGER);"                    \
	"CREATE TABLE sum(sum INTEGER PRIMARY KEY, words TEXT, calls INTEGER, others INTEGER,"     \
	" missed INTEGER);"                                                                        \
	"CREATE TABLE sum_line(sum INTEGER, row INTEGER, function INTEGER, calls INTEGER,"         \
	" unknown INTEGER, total, least, greatest, key BLOB, buckets TEXT,"                        \
	" PRIMARY KEY(sum, row)) WITHOUT ROWID;"                                                   \
	"CREATE TABLE backtrace(tid INTEGER, ticks INTEGER, function INTEGER, stack INTEGER);"     \
	"CREATE TABLE stack(id INTEGER PRIMARY KEY, ended TEXT);"                                  \
	"CREATE TABLE stack_frame(stack INTEGER, level INTEGER, address INTEGER,"                  \
	" function INTEGER, file TEXT, line INTEGER, PRIMARY KEY(stack, level)) WITHOUT ROWID;"    \
	"CREATE TABLE waited(tid INTEGER, begin_ticks INTEGER, end_ticks INTEGER, what TEXT);"     \
	"CREATE TABLE sync(kind TEXT, id TEXT, begin_ticks INTEGER, end_ticks INTEGER,"            \
	" ns INTEGER, bound_ns INTEGER);"                                                          \
	"CREATE TABLE waker(id INTEGER PRIMARY KEY, tid INTEGER, pid INTEGER, name TEXT,"          \
	" context INTEGER, made INTEGER, function INTEGER, stack INTEGER);"                        \
	"CREATE TABLE used(pid INTEGER, ticks INTEGER, memory INTEGER, cpu_ns INTEGER);"           \
	"CREATE TABLE hold(tid INTEGER, begin_ticks INTEGER, end_ticks INTEGER, why TEXT);"        \
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, core INTEGER, first INTEGER, records INTEGER," \
	" min_ticks INTEGER, max_ticks INTEGER, events BLOB, vals BLOB);"                          \
	"CREATE TABLE event(" DT_EVENT_COLUMNS ");"                                                \
	"CREATE TABLE unhooked(path TEXT, address INTEGER, name TEXT, reason TEXT);"               \
	"CREATE TABLE unhooked_caller(path TEXT, caller INTEGER, callee INTEGER,"                  \
	" PRIMARY KEY(path, caller, callee)) WITHOUT ROWID;"                                       \
	"CREATE TABLE jit(pid INTEGER, low INTEGER, high INTEGER, start INTEGER, name TEXT);"      \
	"CREATE TABLE type(id INTEGER PRIMARY KEY, text TEXT);"                                    \
	"CREATE UNIQUE INDEX chunk_order ON chunk(core, first, records, min_ticks, max_ticks);"

/* Selects all of budget_off, as table. An older file lacks the last two columns: then their names
 * mean those of `none', outside. */
#define DT_STORE_BUDGET_SQL(table)                                                                    \
	"SELECT function, begin_ticks, end_ticks, rate, calls, (SELECT rate_after FROM " table        \
	" b WHERE b.function=a.function AND b.begin_ticks=a.begin_ticks), (SELECT cpu_ns FROM " table \
	" b WHERE b.function=a.function AND b.begin_ticks=a.begin_ticks)"                             \
	" FROM (SELECT NULL AS rate_after, NULL AS cpu_ns) none, " table " a"

#endif
