/* SPDX-License-Identifier: MIT */
/* What other processors have as code, and this one not yet: nothing of it is used (missing.c). */
#include "arch/object.h"
#include "arch/unwind.h"

const unsigned char dt_clone3_code[1];
const size_t dt_clone3_size;

/* x19 to x30, as DWARF and as instructions number them */
const uint8_t dt_unwind_kept_register[DT_UNWIND_KEPT] = {19, 20, 21, 22, 23, 24,
							 25, 26, 27, 28, 29, 30};
