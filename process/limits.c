/* SPDX-License-Identifier: MIT */
/* Our own limits, and the program's. */
#include "process/limits.h"

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

/* the stack first: see dt_limits_stack_fits() */
static const int ours[] = {RLIMIT_STACK, RLIMIT_AS,	RLIMIT_DATA,
			   RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_MEMLOCK};
#define LIMITS (sizeof(ours) / sizeof(*ours))
#define FILES  65536u /* descriptors that are enough: more would be slow to close one by one */

static struct rlimit before[LIMITS]; /* the original limits */
static struct sigaction xfsz;	     /* the original handling of SIGXFSZ */
static int raised;

/* Raises one limit as far as possible; *now: what it is. */
static void raise_limit(int what, const struct rlimit *now)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};

	if (what == RLIMIT_NOFILE) {
		most.rlim_cur = now->rlim_cur > FILES ? now->rlim_cur : FILES;
		most.rlim_max = now->rlim_max > FILES ? now->rlim_max : FILES;
	}
	if (setrlimit(what, &most) == 0)
		return;
	most = (struct rlimit){now->rlim_max, now->rlim_max};
	if (what == RLIMIT_NOFILE && most.rlim_cur > FILES)
		most.rlim_cur = now->rlim_cur > FILES ? now->rlim_cur : FILES;
	setrlimit(what, &most);
}

void dt_limits_raise(void)
{
	if (raised)
		return;
	for (size_t i = 0; i < LIMITS; i++)
		if (getrlimit(ours[i], &before[i]) == 0)
			raise_limit(ours[i], &before[i]);
		else
			before[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &xfsz);
	raised = 1;
}

int dt_limits_stack_fits(void)
{
	return before[0].rlim_cur >= DT_LIMITS_STACK / 8;
}

void dt_limits_restore(void)
{
	if (!raised)
		return;
	for (size_t i = 0; i < LIMITS; i++)
		setrlimit(ours[i], &before[i]);
	sigaction(SIGXFSZ, &xfsz, NULL);
}
