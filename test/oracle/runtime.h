/* SPDX-License-Identifier: MIT */
#ifndef ORACLE_RUNTIME_H
#define ORACLE_RUNTIME_H
#include "oracle.h"
#ifdef __cplusplus
extern "C"
#endif
void oracle_barrier(void);
#endif
