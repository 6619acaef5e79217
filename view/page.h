/* SPDX-License-Identifier: MIT */
/* The files of the page, view/page/, which are compiled into the program. */
#ifndef DT_VIEW_PAGE_H
#define DT_VIEW_PAGE_H

#include "core/types.h"

struct dt_page_file {
	const char *name, *type; /* type: the value of Content-Type */
	const unsigned char *begin, *end;
};

/* Returns the file of that name; "" is the page itself. NULL: there is no such file. */
const struct dt_page_file *dt_page_find(const char *name);

#endif
