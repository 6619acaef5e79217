/* SPDX-License-Identifier: MIT */
/*
 * What is mounted, for mount.c, which mounts it, mount-tree.c, which knows what there is, and
 * mount-file.c, which serves what is open; for nobody else.
 */
#ifndef DT_SESSION_MOUNT_WORK_H
#define DT_SESSION_MOUNT_WORK_H

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "session/mount.h"

#define DT_MOUNT_LOG_BYTES 65536u

/* The log's inode number; the others are mount-tree.c's. */
#define DT_MOUNT_LOG 2

/* What is in the directory of a session, and that itself. */
enum dt_mount_kind {
	DT_MOUNT_DIRECTORY,
	DT_MOUNT_CTL,
	DT_MOUNT_TRACE,
	DT_MOUNT_WAIT,
	DT_MOUNT_KINDS
};

struct dt_mount {
	struct fuse_session *fuse;
	char *directory;
	bool made;    /* the directory is ours to remove */
	bool mounted; /* as far as we know */
	bool aloud;
	int alive;	    /* a socket's end that closes when this process does; -1: none */
	char link[128];	    /* where sessions find us */
	struct stat linked; /* the link that we have left */
	int ready;	    /* closed when it is there; -1: nobody waits */
	unsigned max_write;
	pthread_mutex_t lock; /* guards what follows */
	char (*name)[64];     /* a name keeps its place */
	size_t names;
	char log[DT_MOUNT_LOG_BYTES];
	size_t log_n;
};

/* A line for the file log. */
void dt_mount_say(struct dt_mount *m, const char *session, pid_t pid, const char *text, size_t n);

/* The session that a number belongs to. False: there is no such number. */
bool dt_mount_session(struct dt_mount *m, fuse_ino_t ino, char *session);
enum dt_mount_kind dt_mount_kind_of(fuse_ino_t ino);
/* Does the session live? */
bool dt_mount_lives(const char *session);

/*
 * Replies with a copy: as soon as the kernel has the answer, whoever asked may have the handle
 * closed in another thread, and what belongs to it is gone before the write itself has returned.
 */
void dt_mount_reply(fuse_req_t req, const char *data, size_t n);

/* Of struct fuse_lowlevel_ops: names and directories, */
void dt_mount_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void dt_mount_readlink(fuse_req_t req, fuse_ino_t ino);
void dt_mount_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
		      struct fuse_file_info *fi);
void dt_mount_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi);
void dt_mount_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* and open files. */
void dt_mount_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi);
void dt_mount_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t size, off_t off,
		    struct fuse_file_info *fi);
void dt_mount_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
