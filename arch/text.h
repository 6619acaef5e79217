/* SPDX-License-Identifier: MIT */
/*
 * What the routine that reads texts (target/text.c, and in assembler) is told of a text, as bits of
 * a number that goes along from piece to piece, and from a point's text to its next one.
 */
#ifndef DT_ARCH_TEXT_H
#define DT_ARCH_TEXT_H

/* what the function is sure to read of it, as the next two say; 0: nothing */
#define DT_TEXT_SURE  3
#define DT_TEXT_FIRST 1 /* its first byte: what is in the page of that may be read directly */
#define DT_TEXT_ALL   2
/* as DT_TEXT_FIRST, but the text goes on at the beginning of a page: it may be read directly when
 * the kernel has read some of it for this call */
#define DT_TEXT_ASK   3
#define DT_TEXT_BOUND 4 /* the bound is that of the text itself, which so ends with a NUL */
/* an earlier text of the same point could not be read: the function faults there, so nothing is
 * sure of this one */
#define DT_TEXT_BAD 8
/* it is a buffer, whose NULs are part of it; the bits from DT_TEXT_LENGTH on have its length */
#define DT_TEXT_BUFFER 16
#define DT_TEXT_HEAD   32 /* the first piece of it, which has the length in front */
/* it is a stream (core/stream.h); the bits from DT_TEXT_LENGTH on have an enum dt_stream and, four
 * bits above, a register */
#define DT_TEXT_STREAM 64
/* it is the thread's stack, of which less is recorded where it ends before */
#define DT_TEXT_STACK  128
#define DT_TEXT_LONG   256 /* it has more than one piece */
#define DT_TEXT_LENGTH 9

#endif
