/* SPDX-License-Identifier: MIT */
#include "import/calls.h"

#include <stdlib.h>
#include <string.h>

void dt_imported_free(struct dt_imported *m)
{
	dt_name_list_free(&m->functions);
	dt_name_list_free(&m->events);
	dt_name_list_free(&m->threads);
	dt_name_list_free(&m->processes);
	dt_name_list_free(&m->names);
	free(m->thread_name);
	free(m->process_name);
	free(m->item);
	free(m->change);
	*m = (struct dt_imported){0};
}

int dt_imported_add(struct dt_imported *m, const struct dt_import_item *x, struct dt_error *e)
{
	if (m->n == m->size) {
		size_t size = m->size ? m->size + m->size / 2 : 4096;
		struct dt_import_item *p =
			size < UINT32_MAX ? realloc(m->item, size * sizeof(*p)) : NULL;

		if (!p)
			return dt_fail(e, "out of memory");
		m->item = p;
		m->size = size;
	}
	m->item[m->n] = *x;
	m->item[m->n].order = m->item[m->n].end_order = (uint32_t)m->n;
	m->n++;
	return 0;
}

int64_t dt_imported_thread(struct dt_imported *m, const char *pid, const char *tid,
			   struct dt_error *e)
{
	return dt_name_number(&m->processes, pid, e) < 0 ? -1
							 : dt_name_pair(&m->threads, pid, tid, e);
}

int64_t dt_imported_thread_of(struct dt_imported *m, int32_t pid, int32_t tid, struct dt_error *e)
{
	char process[16], thread[16];

	dt_format(process, sizeof(process), "%ld", (long)pid);
	dt_format(thread, sizeof(thread), "%ld", (long)tid);
	return dt_imported_thread(m, process, thread, e);
}

int dt_imported_switch(struct dt_imported *m, const struct dt_import_switch *x, struct dt_error *e)
{
	if (x->core >= DT_IMPORT_CORES) {
		m->left[DT_LEFT_SWITCHES]++;
		return 0;
	}
	if (m->changes == m->changes_size) {
		size_t size = m->changes_size ? m->changes_size + m->changes_size / 2 : 1024;
		struct dt_import_switch *p =
			size < UINT32_MAX ? realloc(m->change, size * sizeof(*p)) : NULL;

		if (!p)
			return dt_fail(e, "out of memory");
		m->change = p;
		m->changes_size = size;
	}
	m->change[m->changes] = *x;
	m->change[m->changes].order = (uint32_t)m->changes;
	m->changes++;
	return 0;
}

/* Notes that a thread or process has a name. */
static int name(struct dt_imported *m, uint32_t **of, uint32_t *n, int64_t number, const char *text,
		struct dt_error *e)
{
	int64_t named = number < 0 ? -1 : dt_name_number(&m->names, text, e);

	if (named < 0)
		return -1;
	if ((uint64_t)number >= *n) {
		uint32_t size = (uint32_t)number * 2 + 16;
		uint32_t *p = realloc(*of, size * sizeof(*p));

		if (!p)
			return dt_fail(e, "out of memory");
		memset(p + *n, 0, (size - *n) * sizeof(*p));
		*of = p;
		*n = size;
	}
	(*of)[number] = (uint32_t)named + 1;
	return 0;
}

int dt_imported_name_thread(struct dt_imported *m, uint32_t thread, const char *text,
			    struct dt_error *e)
{
	return name(m, &m->thread_name, &m->thread_names, thread, text, e);
}

bool dt_imported_thread_is_named(const struct dt_imported *m, uint32_t thread)
{
	return thread < m->thread_names && m->thread_name[thread];
}

int dt_imported_name_process(struct dt_imported *m, const char *pid, const char *text,
			     struct dt_error *e)
{
	return name(m, &m->process_name, &m->process_names, dt_name_number(&m->processes, pid, e),
		    text, e);
}
