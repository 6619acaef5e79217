/* SPDX-License-Identifier: MIT */
/*
 * Starts clang XRay's flight recorder in the program it is linked into, recording every call
 * however short, and at the end writes the log, so that one can see that it did record.
 * XRay has no switch from outside that does this.
 */
#include <stdio.h>
#include <stdlib.h>

/* its own headers are for C++ only */
enum { SELECTED = 0, PATCHED = 1, INITIALIZED = 2, FLUSHED = 2, FINALIZED = 4 };
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *config);
int __xray_log_finalize(void);
int __xray_log_flushLog(void);
int __xray_patch(void);

#define NEVER __attribute__((xray_never_instrument))

void start_recorder(void); /* called by main() if it is there: a constructor would be too early */

NEVER void start_recorder(void)
{
	if (__xray_log_select_mode("xray-fdr") != SELECTED ||
	    __xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0") != INITIALIZED ||
	    __xray_patch() != PATCHED) {
		fprintf(stderr, "xray: the flight recorder does not start\n");
		exit(1);
	}
}

NEVER __attribute__((destructor)) static void finish(void)
{
	if (__xray_log_finalize() != FINALIZED || __xray_log_flushLog() != FLUSHED)
		fprintf(stderr, "xray: the log could not be written\n");
}
