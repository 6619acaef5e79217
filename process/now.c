/* SPDX-License-Identifier: MIT */
#include "process/now.h"

#include <time.h>

uint64_t dt_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double dt_now_s(void)
{
	return 1e-9 * (double)dt_now_ns();
}
