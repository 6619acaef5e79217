/* SPDX-License-Identifier: MIT */
#include "arch/sled.h"

/* no site is known yet: a size of 0 is no sled */
const unsigned char dt_sled_off[DT_ELF_KINDS], dt_sled_on[DT_ELF_KINDS];
const uint8_t dt_sled_size[DT_ELF_KINDS];
