/* SPDX-License-Identifier: MIT */
/* A VFS with which journals are written, but never undone. */
#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>

#include "process/outside.h"
#include "store/journal.h"

#ifdef DT_SQL_HOST_H

const char *dt_journal_vfs(void)
{
	return NULL;
}

#else

static sqlite3_vfs own, *theirs;

/* Makes SQLite open and remove files by way of process/outside.h, in the whole process: where this
 * process may not do so itself, another does it. Not in the library: the process is not ours. */
static void use_outside(void)
{
#ifndef DT_LIBRARY
	theirs->xSetSystemCall(theirs, "open", (sqlite3_syscall_ptr)dt_outside_open);
	theirs->xSetSystemCall(theirs, "unlink", (sqlite3_syscall_ptr)dt_outside_remove);
#endif
}

/* SQLite opens the journal of its own transaction with SQLITE_OPEN_CREATE; without it, the journal
 * is somebody else's and is to be undone. */
static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
	f->pMethods = NULL;
	if ((flags & SQLITE_OPEN_MAIN_JOURNAL) && !(flags & SQLITE_OPEN_CREATE))
		return SQLITE_CANTOPEN;
	return theirs->xOpen(vfs, name, f, flags, out);
}

/* Makes our VFS: a copy of SQLite's default one, with its private data, and another xOpen. */
static void make(void)
{
	sqlite3_vfs *found = sqlite3_vfs_find(NULL);

	if (!found)
		return;
	own = *found;
	own.zName = "devtrace";
	own.pNext = NULL;
	own.xOpen = open_file;
	theirs = found;
	if (theirs->iVersion >= 3)
		use_outside();
	if (sqlite3_vfs_register(&own, 0) != SQLITE_OK)
		theirs = NULL;
}

const char *dt_journal_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make);
	return theirs ? own.zName : NULL;
}

#endif
