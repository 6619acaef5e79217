/* SPDX-License-Identifier: MIT */
/*
 * When a call has failed, as its function's signature says: doc/format.md, "Failures". The same
 * answer is given to everybody who prints, counts or chooses failed calls.
 */
#ifndef DT_CORE_FAILURE_H
#define DT_CORE_FAILURE_H

#include "core/signature.h"

/* The result's kinds of failure (struct dt_failure, `when'). */
#define DT_FAILURE_NEGATIVE '-' /* it is negative; of an unsigned result, all its bits are set */
#define DT_FAILURE_MINUS    'm' /* it is -1: other negative results are none */
#define DT_FAILURE_ZERO	    '0' /* it is 0, or NULL */
#define DT_FAILURE_NONZERO  '+' /* it is anything but 0 */
#define DT_FAILURE_NONE	    'n' /* it is 0 or negative */
#define DT_FAILURE_ERROR    'e' /* it is anything but 0, and is the number of the error */
#define DT_FAILURE_KERNEL   'k' /* it is -4095 to -1: a negated number of an error */

/* Numbers of errors are smaller than this: Linux gives no other meaning to -4095 to -1. */
#define DT_FAILURE_ERRORS 4096

/* Does a record with these four values say that the call has failed? (It may need an errno for
 * that.) result: dt_signature_result(); false if the signature does not say when a call of its
 * function fails. */
bool dt_failure_is(const struct dt_signature_value *result, const uint64_t *value);

/*
 * Returns the number of the error, such as 2 for ENOENT, for a record of which dt_failure_is() is
 * true. 0: the function does not tell, or the traced process's errno is not known.
 */
uint32_t dt_failure_error(const struct dt_signature_value *result, const uint64_t *value);

#endif
