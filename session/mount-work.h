/* SPDX-License-Identifier: MIT */
/* What the parts of mount share, and nobody else uses: mount.c mounts, mount-tree.c knows which
 * files there are, mount-file.c serves open files. */
#ifndef DT_SESSION_MOUNT_WORK_H
#define DT_SESSION_MOUNT_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "session/fuse.h"
#include "session/mount.h"

#define DT_MOUNT_LOG_BYTES 65536u /* kept of the file `log' */

/* Inode number of the file `log'; the others are in mount-tree.c. */
#define DT_MOUNT_LOG 2

/* The directory of a session and the files in it; an inode number modulo 8. */
enum dt_mount_kind {
	DT_MOUNT_DIRECTORY,
	DT_MOUNT_CTL,
	DT_MOUNT_TRACE,
	DT_MOUNT_WAIT,
	DT_MOUNT_KINDS
};

/* A mounted directory. */
struct dt_mount {
	struct fuse_session *fuse;
	char *directory;
	bool made;    /* we have made the directory, and remove it at the end */
	bool mounted; /* as far as we know */
	bool aloud;   /* lines of the log go to stderr too */
	int alive; /* our end of a socket, by whose closing the watcher sees that this process has
		      ended; -1: there is no watcher */
	char link[128]; /* path of the link by which sessions find this mount; "": we have left none
			 */
	struct stat linked; /* the link as we have left it */
	int ready; /* a descriptor to be closed when the link is there; -1: nobody waits for that */
	unsigned max_write;   /* bytes of one write request of the kernel's, at most */
	pthread_mutex_t lock; /* guards what follows */
	char (*name)[64]; /* names of sessions ever seen; a name keeps its index, from which inode
			     numbers are made */
	size_t names;
	char log[DT_MOUNT_LOG_BYTES];
	size_t log_n; /* bytes of it in use */
};

/* Adds a line to the file `log', about a request that process pid made to a session. */
void dt_mount_say(struct dt_mount *m, const char *session, pid_t pid, const char *text, size_t n);

/* Copies the name of the session that an inode number belongs to; `session' has room for 64 bytes.
 * False: there is no such number. */
bool dt_mount_session(struct dt_mount *m, fuse_ino_t ino, char *session);
/* Tells which of a session's files an inode number stands for. */
enum dt_mount_kind dt_mount_kind_of(fuse_ino_t ino);
/* Tells whether the session lives. */
bool dt_mount_lives(const char *session);

/*
 * Replies with a copy of n bytes. As soon as the kernel has the answer, the caller may have the
 * handle closed in another thread, and the handle's memory is freed before the write of the answer
 * has returned.
 */
void dt_mount_reply(fuse_req_t req, const char *data, size_t n);

/* Functions of struct fuse_lowlevel_ops for names and directories. */
void dt_mount_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void dt_mount_readlink(fuse_req_t req, fuse_ino_t ino);
void dt_mount_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
		      struct fuse_file_info *fi);
void dt_mount_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi);
void dt_mount_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* Functions of struct fuse_lowlevel_ops for open files. */
void dt_mount_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi);
void dt_mount_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t size, off_t off,
		    struct fuse_file_info *fi);
void dt_mount_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void dt_mount_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
