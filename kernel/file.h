/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The device files /dev/tracectl and /dev/trace. */
#ifndef DT_KERNEL_FILE_H
#define DT_KERNEL_FILE_H

/*
 * Make and remove both files. group: id of the group that may open them besides root; -1: only
 * root. Making them returns 0 or a negative error number.
 */
int dt_files_make(int group);
void dt_files_remove(void);

#endif
