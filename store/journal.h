/* SPDX-License-Identifier: MIT */
/*
 * Journals that were found beside a trace. A journal (FILE-journal) is what SQLite undoes a writing
 * by that did not come to its end. One can be made by anybody: to undo it writes what it holds into
 * the file, and deletes a file of any name that it tells. So none that was found is ever undone
 * here.
 */
#ifndef DT_STORE_JOURNAL_H
#define DT_STORE_JOURNAL_H

/*
 * The name of the file system to give to sqlite3_open_v2(): SQLite's own, but for this: a journal
 * that is there already is not opened. Who needs it undone gets SQLITE_CANTOPEN. Holds for what the
 * connection attaches, too. NULL, which is SQLite's own, in the extension for SQLite, which only
 * reads: a file that is opened for reading has none undone either.
 */
const char *dt_journal_vfs(void);

#endif
