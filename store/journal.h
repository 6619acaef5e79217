/* SPDX-License-Identifier: MIT */
/*
 * How journals that lie beside a trace are handled. From a journal (FILE-journal) SQLite undoes a
 * transaction that was not completed: it writes what the journal holds into the file, and deletes a
 * file whose name the journal gives, whatever it is. Since anybody can make a journal, none that is
 * found is ever undone here.
 */
#ifndef DT_STORE_JOURNAL_H
#define DT_STORE_JOURNAL_H

/*
 * Returns the name of the VFS (SQLite's file system) to give to sqlite3_open_v2(). It is SQLite's
 * own, except that it does not open a journal that is there already; where one would have to be
 * undone, SQLite returns SQLITE_CANTOPEN. This also holds for databases that the connection
 * attaches.
 *
 * In the extension for SQLite it returns NULL, which is SQLite's own VFS: the extension only reads,
 * and of a file that is opened for reading no journal is undone either.
 */
const char *dt_journal_vfs(void);

#endif
