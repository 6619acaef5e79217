/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What is used here of the kernel's structures. Where their members are in the running kernel,
 * libbpf looks up. */
#ifndef DT_BPF_KERNEL_H
#define DT_BPF_KERNEL_H

#include <linux/types.h>

#define KERNELS __attribute__((preserve_access_index))

struct ns_common {
	__u32 inum;
} KERNELS;

struct pid_namespace {
	struct ns_common ns;
} KERNELS;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNELS;

struct pid {
	__u32 level;
	struct upid numbers[1];
} KERNELS;

struct thread_info {
	__u32 status;
} KERNELS;

struct qstr {
	__u32 len;
	const unsigned char *name;
} KERNELS;

struct dentry_operations {
	void *d_dname;
} KERNELS;

struct hlist_bl_node {
	void *pprev;
} KERNELS;

struct super_block {
	unsigned long s_magic;
} KERNELS;

struct inode {
	unsigned long i_ino;
} KERNELS;

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	const struct dentry_operations *d_op;
	struct super_block *d_sb;
} KERNELS;

struct vfsmount {
	struct dentry *mnt_root;
} KERNELS;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} KERNELS;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} KERNELS;

struct file {
	struct path f_path;
} KERNELS;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNELS;

struct files_struct {
	struct fdtable *fdt;
} KERNELS;

struct fs_struct {
	struct path root, pwd;
} KERNELS;

struct kernfs_node {
	__u64 id;
} KERNELS;

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* from the root on, itself the last */
} KERNELS;

struct css_set {
	struct cgroup *dfl_cgrp; /* of version 2 */
} KERNELS;

struct mm_struct {
	unsigned long arg_start, arg_end;
} KERNELS;

struct linux_binprm {
	const char *filename;
} KERNELS;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	struct task_struct *group_leader, *real_parent;
	struct mm_struct *mm;
	struct pid *thread_pid;
	struct files_struct *files;
	struct fs_struct *fs;
	struct css_set *cgroups;
	__u64 start_time;
	char comm[16];
} KERNELS;

struct pt_regs {
	unsigned long r15, bp, bx, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, sp;
} KERNELS;

struct kill_fields {
	int _pid;
} KERNELS;

struct child_fields {
	int _status;
} KERNELS;

union __sifields {
	struct kill_fields _kill;
	struct child_fields _sigchld;
} KERNELS;

struct kernel_siginfo {
	int si_code;
	union __sifields _sifields;
} KERNELS;

/* where the count of a core is: until 6.1, and from 6.2 on */
struct pcpu_hot {
	int preempt_count;
} KERNELS;
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#endif
