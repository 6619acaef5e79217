/* SPDX-License-Identifier: MIT */
/*
 * A stream: values of which only the hook could know how many there are and of what kind, such as
 * the arguments behind a format of printf's. It is recorded as a buffer. Each value has a letter,
 * the number of its bytes, and these bytes, the lowest first (doc/format.md).
 */
#ifndef DT_CORE_STREAM_H
#define DT_CORE_STREAM_H

#define DT_STREAM_SIGNED   'i' /* integers of 1, 2, 4 or 8 bytes */
#define DT_STREAM_UNSIGNED 'u'
#define DT_STREAM_HEX	   'x' /* an unsigned one that is written in hexadecimal, or in binary */
#define DT_STREAM_OCTAL	   'o'
#define DT_STREAM_CHAR	   'c'
#define DT_STREAM_POINTER  'p'
#define DT_STREAM_FLOAT	   'f' /* of 8 bytes, or of the 10 that a long double has on x86-64 */
#define DT_STREAM_TEXT	   's' /* a text without its NUL, all of it that the function reads */
#define DT_STREAM_CUT	   'S' /* the beginning of one */
#define DT_STREAM_NULL	   'N' /* a pointer to a text that is NULL */
#define DT_STREAM_LOST                                                                             \
	'?'		   /* a value that is not known; with 8 bytes: the pointer to a text that  \
			      could not be read */
#define DT_STREAM_MORE 'M' /* the last one: how many values follow that are not recorded */
#define DT_STREAM_END  'E' /* the last one: whether and which values follow is not known */

#endif
