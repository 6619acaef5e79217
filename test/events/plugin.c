/* SPDX-License-Identifier: MIT */
/* Events in a shared object that comes and goes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <devtrace.h>

#define TELL_IN_A_LIBRARY
#include "tell.h"

#ifdef __cplusplus
extern "C"
#endif
	__attribute__((visibility("default"))) long
	plugin(struct truth *t, long n);

long plugin(struct truth *t, long n)
{
	truth = t;
	for (int i = 0; i < 20; i++) {
		EVENT2(99, 1, n, i);
		SENT(i);
		n = n * 3 + i;
	}
	TEXT(99, 2, "from the shared object, which is gone when this is read", 55);
	return n;
}
