/* SPDX-License-Identifier: MIT */
/* The functions that test/aarch64/sleds.c has recorded: each is given what tells its call from all
 * others, in four ways, so that a record that is torn shows. */
#ifndef SLED_FUNCTIONS_H
#define SLED_FUNCTIONS_H

#define SLED_CALL      long a, long b, long c, long d
#define SLED_PASS      a, b, c, d
#define SLED_RESULT(a) ((a) ^ 0x5555555555555555)

typedef long sled_fn(SLED_CALL);

long sled_plain(SLED_CALL);
/* calls sled_plain(); ends by branching there; the same through a register; has several returns */
long sled_frame(SLED_CALL);
long sled_tail(SLED_CALL);
long sled_jump(SLED_CALL, sled_fn *to);
long sled_returns(SLED_CALL);
/* twice as much */
double sled_real(double x, SLED_CALL);
/* is never given to the reader's checks: switched on and off while it is called */
long sled_storm(long a);

#endif
