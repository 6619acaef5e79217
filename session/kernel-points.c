/* SPDX-License-Identifier: MIT */
#include "session/kernel-points.h"

#include <stdlib.h>

struct dt_kernel_points *dt_kernel_points_new(void)
{
	struct dt_kernel_points *p = calloc(1, sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void dt_kernel_points_free(struct dt_kernel_points *p)
{
	if (!p)
		return;
	dt_points_free(&p->all);
	free(p->stay);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
