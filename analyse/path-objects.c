/* SPDX-License-Identifier: MIT */
/* Functions of libc that wait for locks, condition variables, semaphores and barriers, and those
 * that let go who waits. */
#include <stdlib.h>
#include <string.h>

#include "analyse/path-work.h"
#include "analyse/reason.h"

enum role {
	ROLE_NOT_ASKED,
	ROLE_NONE,
	ROLE_WAITS = 2,	     /* for its first argument */
	ROLE_WAITS_BOTH = 4, /* and for its second one */
	ROLE_UNLOCKS = 8,
	ROLE_WAKES = 16,
};

static uint8_t role_by_name(const char *name)
{
	static const struct {
		const char *name; /* after leading underscores; what follows does not matter */
		uint8_t role;
	} known[] = {{"pthread_mutex_unlock", ROLE_UNLOCKS},
		     {"pthread_mutex_lock", ROLE_WAITS},
		     {"pthread_mutex_timedlock", ROLE_WAITS},
		     {"pthread_mutex_clocklock", ROLE_WAITS},
		     {"pthread_rwlock_unlock", ROLE_UNLOCKS},
		     {"pthread_rwlock_", ROLE_WAITS},
		     {"pthread_cond_wait", ROLE_WAITS_BOTH},
		     {"pthread_cond_timedwait", ROLE_WAITS_BOTH},
		     {"pthread_cond_clockwait", ROLE_WAITS_BOTH},
		     {"pthread_cond_signal", ROLE_WAKES},
		     {"pthread_cond_broadcast", ROLE_WAKES},
		     {"pthread_barrier_wait", ROLE_WAITS | ROLE_WAKES},
		     {"sem_wait", ROLE_WAITS},
		     {"sem_timedwait", ROLE_WAITS},
		     {"sem_clockwait", ROLE_WAITS},
		     {"sem_post", ROLE_WAKES}};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i].name, strlen(known[i].name)))
			return known[i].role;
	return ROLE_NONE;
}

static uint8_t role_of(struct dt_path_objects *o, const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f;

	if (!function)
		return ROLE_NONE;
	if (function >= o->n) {
		uint32_t n = function + 1024;
		uint8_t *more = realloc(o->role, n);

		if (!more)
			return ROLE_NONE;
		memset(more + o->n, ROLE_NOT_ASKED, n - o->n);
		o->role = more;
		o->n = n;
	}
	if (o->role[function] == ROLE_NOT_ASKED) {
		f = dt_reader_function(r, function);
		o->role[function] =
			f && dt_reason_is_libc(r, function) ? role_by_name(f->name) : ROLE_NONE;
	}
	return o->role[function];
}

void dt_path_objects_waited(struct dt_path_objects *o, const struct dt_reader *r,
			    const struct dt_call *c, uint64_t object[2])
{
	uint8_t role = c && c->argument ? role_of(o, r, c->function) : ROLE_NONE;

	if (role & (ROLE_WAITS | ROLE_WAITS_BOTH))
		object[0] = c->argument[0];
	if (role & ROLE_WAITS_BOTH)
		object[1] = c->argument[1];
}

enum dt_path_link dt_path_objects_released(struct dt_path_objects *o, const struct dt_reader *r,
					   const struct dt_call *c)
{
	uint8_t role = c->argument ? role_of(o, r, c->function) : ROLE_NONE;

	return role & ROLE_UNLOCKS ? DT_PATH_LOCK : role & ROLE_WAKES ? DT_PATH_WOKE : DT_PATH_SAME;
}
