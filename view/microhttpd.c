/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "view/microhttpd.h"

#include <dlfcn.h>
#include <stddef.h>

struct dt_microhttpd dt_mhd;

int dt_microhttpd_load(struct dt_error *e)
{
	static const struct {
		const char *name;
		size_t offset;
	} function[] = {
#define X(name) {"MHD_" #name, offsetof(struct dt_microhttpd, name)},
		DT_MICROHTTPD(X)
#undef X
	};
	void *library;

	if (dt_mhd.start_daemon)
		return 0;
	/* the name by which a linked program would load it; the Makefile reads it from the
	 * library */
	library = dlopen(DT_MICROHTTPD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return dt_fail(e, "pages can not be served: %s; it is in Debian's libmicrohttpd12",
			       dlerror());
	for (size_t i = 0; i < sizeof(function) / sizeof(*function); i++) {
		void *f = dlsym(library, function[i].name);

		if (!f) {
			dt_fail(e, "pages can not be served: %s", dlerror());
			dt_mhd = (struct dt_microhttpd){.start_daemon = NULL};
			dlclose(library);
			return -1;
		}
		*(void **)((char *)&dt_mhd + function[i].offset) = f;
	}
	return 0;
}
