/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /dev/tracectl and /dev/trace. */
#ifndef DT_KERNEL_FILE_H
#define DT_KERNEL_FILE_H

/* Who may open them: the group, and whether it may write ctl (0660) or only read. */
int dt_files_make(unsigned int group);
void dt_files_remove(void);

#endif
