/* SPDX-License-Identifier: MIT */
/* What each record of the stress program must hold, so that a torn one shows. */
#ifndef EMIT_H
#define EMIT_H

#include <stdint.h>

#define EMIT_CHECK(seq)	       (~(seq)*0x9e3779b97f4a7c15ull)
#define EMIT_RESULT(seq, lane) ((seq)*3 + (lane))

uint64_t emit(uint64_t seq, uint64_t check, uint64_t lane, uint64_t who);

#endif
