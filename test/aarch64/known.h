/* SPDX-License-Identifier: MIT */
/* How known.c counts its own calls; without sleds. */
#ifndef KNOWN_H
#define KNOWN_H

enum known { LEAF, TAIL, JUMP, FIB, REAL, COMPARE, HANDLER, ONE, PLUGGED, KNOWN };

void count(enum known what);
void count_reset(void);
/* Prints a line for each function that was called: its name and how often. */
void count_print(void);

/* Keeps a copy of the code of the program and its libraries; looks whether it is the same still. */
void code_keep(void);
int code_is_same(void);

/* Has the processor enforce landing pads (bti) in the program's own code, or not. */
void code_guard(int on);

#endif
