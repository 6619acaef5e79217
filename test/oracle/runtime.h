/* SPDX-License-Identifier: MIT */
#ifndef ORACLE_RUNTIME_H
#define ORACLE_RUNTIME_H
#include "oracle.h"
#ifdef __cplusplus
extern "C"
#endif
	void
	oracle_barrier(void);
/* The program's own path, or that of a copy which has another user's rights. */
const char *oracle_again(void);
#endif
