/* SPDX-License-Identifier: MIT */
#ifndef DT_CORE_WHOLE_H
#define DT_CORE_WHOLE_H

#include <stdint.h>

/* Returns v as a whole number; the nearest one that there is, where v is too large or no number: C
 * does not say what a cast gives there. */
static inline int64_t dt_whole(double v)
{
	return v >= 0x1p63 ? INT64_MAX : v > -0x1p63 ? (int64_t)v : INT64_MIN;
}

#endif
