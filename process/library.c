/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded when they are used. */
#include "process/library.h"

#include <dlfcn.h>
#include <string.h>

#ifdef DT_STATIC
#include <nss.h>

void dt_library_prepare(void)
{
	static const char *const what[] = {"passwd", "group", "services", "protocols"};

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++)
		__nss_configure_lookup(what[i], "files");
	__nss_configure_lookup("hosts", "files dns");
}
#else
void dt_library_prepare(void)
{
}
#endif

static int fail(const struct dt_library *l, void *library, struct dt_error *e)
{
	const char *why = dlerror();

	if (library)
		dt_fail(e, "%s: %s; a version that has it is in Debian's %s", l->what,
			why ? why : l->file, l->package);
	else
		dt_fail(e, "%s: %s; it is in Debian's %s", l->what, why ? why : l->file,
			l->package);
	memset(l->table, 0, l->size);
	if (library)
		dlclose(library);
	return -1;
}

int dt_library_load(const struct dt_library *l, struct dt_error *e)
{
	void *library = NULL, *first;

	memcpy(&first, l->table, sizeof(first));
	if (first)
		return 0;
	if (DT_IS_STATIC && !l->symbol[0].linked)
		return dt_fail(e,
			       "%s: this is the static program, which does not hold %s; devtrace "
			       "from packages or from make can do it",
			       l->what, l->file);
	if (!DT_IS_STATIC) {
		library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return fail(l, NULL, e);
	}
	for (size_t i = 0; i < l->symbols; i++) {
		const struct dt_library_symbol *s = &l->symbol[i];
		void *address = s->linked ? s->linked : dlsym(library, s->name);

		if (!address)
			return fail(l, library, e);
		memcpy((char *)l->table + s->offset, &address, sizeof(address));
	}
	return 0;
}
