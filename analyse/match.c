/* SPDX-License-Identifier: MIT */
/* Finding the functions that two traces have in common. */
#include "analyse/match.h"

#include <stdlib.h>
#include <string.h>

/* A row of one of the traces. */
struct key {
	const char *name, *module, *file;
	size_t module_n; /* bytes of module that count */
	uint32_t row;
	uint8_t side;
};

const char *dt_match_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const struct dt_process_info *dt_match_root(const struct dt_reader *r)
{
	const struct dt_process_info *root = NULL;
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	for (size_t i = 0; i < n; i++) {
		bool child = false;

		for (size_t j = 0; j < n && !child; j++)
			child = j != i && p[j].pid == p[i].ppid;
		if (!child && (!root || p[i].begin_ticks < root->begin_ticks))
			root = &p[i];
	}
	return root;
}

static struct key key_of(const struct dt_reader *r, uint8_t side, uint32_t row, const char *program)
{
	const struct dt_function_info *f = dt_reader_function(r, row);
	const struct dt_module_info *m = dt_reader_module(r, f->module);
	struct key k = {f->name, "", dt_match_base(f->file), 0, row, side};
	const char *so;

	if (m && strcmp(m->path, program) != 0) {
		k.module = dt_match_base(m->path);
		so = strstr(k.module, ".so");
		k.module_n = so ? (size_t)(so - k.module) : strlen(k.module);
	}
	return k;
}

static int by_name(const struct key *x, const struct key *y)
{
	int names = strcmp(x->name, y->name);

	if (names)
		return names;
	if (x->module_n != y->module_n)
		return x->module_n < y->module_n ? -1 : 1;
	return memcmp(x->module, y->module, x->module_n);
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = by_name(x, y);

	if (!order)
		order = strcmp(x->file, y->file);
	if (!order)
		order = (int)x->side - (int)y->side;
	return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Gives each of the keys first to last - 1, which have one name, its function. */
static void take_name(struct dt_match *m, const struct key *k, size_t first, size_t last)
{
	uint32_t begin = m->n, only[2] = {0}, alone[2] = {0};

	for (size_t i = first; i < last; i++) {
		if (i == first || strcmp(k[i].file, k[i - 1].file) != 0)
			m->function[m->n++] = (struct dt_match_function){{0, 0}};
		if (!m->function[m->n - 1].row[k[i].side])
			m->function[m->n - 1].row[k[i].side] = k[i].row;
		m->of[k[i].side][k[i].row] = m->n - 1;
	}
	for (uint32_t f = begin; f < m->n; f++) {
		for (unsigned side = 0; side < 2; side++) {
			if (m->function[f].row[!side])
				continue;
			only[side] = f;
			alone[side]++;
		}
	}
	/* if one is left over in each trace, they belong together: the source file was renamed, or
	 * is known in one trace only */
	if (alone[0] != 1 || alone[1] != 1)
		return;
	m->function[only[0]].row[1] = m->function[only[1]].row[1];
	for (size_t i = first; i < last; i++)
		if (m->of[k[i].side][k[i].row] == only[1])
			m->of[k[i].side][k[i].row] = only[0];
	m->function[only[1]].row[1] = 0;
}

int dt_match_read(struct dt_match *m, const struct dt_reader *const r[2])
{
	size_t n = 0, last;
	struct key *key;

	for (unsigned side = 0; side < 2; side++) {
		m->rows[side] = dt_reader_functions(r[side]) + 1;
		m->of[side] = calloc(m->rows[side], sizeof(**m->of));
		n += m->rows[side];
	}
	m->function = calloc(n + 1, sizeof(*m->function));
	key = calloc(n + 1, sizeof(*key));
	if (!m->of[0] || !m->of[1] || !m->function || !key) {
		free(key);
		return -1;
	}
	n = 0;
	for (unsigned side = 0; side < 2; side++) {
		const struct dt_process_info *root = dt_match_root(r[side]);

		for (uint32_t i = 1; i < m->rows[side]; i++)
			key[n++] = key_of(r[side], (uint8_t)side, i, root ? root->exe : "");
	}
	qsort(key, n, sizeof(*key), by_key);
	m->n = 1;
	for (size_t i = 0; i < n; i = last) {
		for (last = i + 1; last < n && !by_name(&key[i], &key[last]);)
			last++;
		take_name(m, key, i, last);
	}
	free(key);
	return 0;
}

void dt_match_free(struct dt_match *m)
{
	free(m->function);
	free(m->of[0]);
	free(m->of[1]);
}
