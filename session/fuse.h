/* SPDX-License-Identifier: MIT */
/* libfuse3, loaded only where sessions are to be seen as files. */
#ifndef DT_SESSION_FUSE_H
#define DT_SESSION_FUSE_H

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#include "core/error.h"

/* The functions that are used, without the prefix of their names. */
#define DT_FUSE(X)                                                                                 \
	X(add_direntry)                                                                            \
	X(loop_cfg_create)                                                                         \
	X(loop_cfg_destroy)                                                                        \
	X(loop_cfg_set_max_threads)                                                                \
	X(opt_free_args)                                                                           \
	X(remove_signal_handlers)                                                                  \
	X(reply_attr)                                                                              \
	X(reply_buf)                                                                               \
	X(reply_entry)                                                                             \
	X(reply_err)                                                                               \
	X(reply_open)                                                                              \
	X(reply_readlink)                                                                          \
	X(reply_write)                                                                             \
	X(req_ctx)                                                                                 \
	X(req_interrupted)                                                                         \
	X(req_userdata)                                                                            \
	X(session_destroy)                                                                         \
	X(session_exited)                                                                          \
	X(session_loop_mt)                                                                         \
	X(session_mount)                                                                           \
	X(session_new)                                                                             \
	X(session_unmount)                                                                         \
	X(set_signal_handlers)

struct dt_fuse {
#define X(name) __typeof__(fuse_##name) *name;
	DT_FUSE(X)
#undef X
};

extern struct dt_fuse dt_fuse;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_fuse_load(struct dt_error *e);

#endif
