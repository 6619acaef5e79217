/* SPDX-License-Identifier: MIT */
/* What waits are for. */
#include "analyse/reason.h"

#include <string.h>

/* What functions of libc wait for, by their names: where the object was not seen. */
static const char *what_for(const char *name)
{
	static const struct {
		const char *word; /* in a function's name, after leading underscores */
		const char *what;
	} known[] = {{"pthread_mutex_", "a lock"},
		     {"pthread_rwlock_", "a lock"},
		     {"pthread_spin_", "a lock"},
		     {"lll_lock_wait", "a lock"},
		     {"pthread_cond_", "another thread"},
		     {"pthread_barrier_", "another thread"},
		     {"pthread_join", "another thread"},
		     {"pthread_timedjoin", "another thread"},
		     {"sem_", "another thread"},
		     {"futex", "another thread"},
		     {"wait", "a child"},
		     {"nanosleep", "time to pass"},
		     {"clock_nanosleep", "time to pass"},
		     {"usleep", "time to pass"},
		     {"sleep", "time to pass"},
		     {"poll", "events on descriptors"},
		     {"ppoll", "events on descriptors"},
		     {"select", "events on descriptors"},
		     {"pselect", "events on descriptors"},
		     {"epoll_", "events on descriptors"},
		     {"accept", "a connection"},
		     {"connect", "a connection"},
		     {"recv", "data to read"},
		     {"read", "data to read"},
		     {"pread", "data to read"},
		     {"fread", "data to read"},
		     {"fgets", "data to read"},
		     {"getline", "data to read"},
		     {"send", "data to be written"},
		     {"write", "data to be written"},
		     {"pwrite", "data to be written"},
		     {"fwrite", "data to be written"},
		     {"fsync", "the disk"},
		     {"fdatasync", "the disk"},
		     {"msync", "the disk"},
		     {"sync", "the disk"}};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i].word, strlen(known[i].word)))
			return known[i].what;
	return "";
}

bool dt_reason_is_libc(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	return slash && (!strncmp(slash, "/libc.", 6) || !strncmp(slash, "/libc-", 6) ||
			 !strncmp(slash, "/libpthread", 11));
}

const char *dt_wait_reason(const struct dt_reader *r, uint32_t function, bool preempted,
			   const char *seen)
{
	const char *what;

	if (preempted)
		return "a processor";
	if (*seen)
		return seen;
	what = dt_reason_is_libc(r, function) ? what_for(dt_reader_function(r, function)->name)
					      : "";
	return *what ? what : "not known";
}
