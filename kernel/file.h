/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /dev/tracectl and /dev/trace. */
#ifndef DT_KERNEL_FILE_H
#define DT_KERNEL_FILE_H

/* group: who may open them beside root; -1: nobody. */
int dt_files_make(int group);
void dt_files_remove(void);

#endif
