/* SPDX-License-Identifier: MIT */
/* Questions in SQL: whoever made the view answers them (struct dt_view_sql). */
#include <string.h>

#include "view/asked.h"
#include "view/view.h"

#define LONGEST 10000 /* bytes of a question, at most */

void dt_answer_ask(struct dt_asked *a)
{
	const struct dt_view_sql *sql = a->sql;
	const char *text = a->r->value(a->r->ctx, "sql");
	struct dt_error e = {""};
	uint64_t number = 0;

	if (!sql || !sql->ask)
		dt_refuse(a, 409, "no questions are answered here");
	else if (!text || strlen(text) > LONGEST)
		dt_refuse(a, 400, "sql: a question of at most 10000 bytes is wanted");
	else if (a->all->live)
		dt_refuse(a, 409, "questions are answered when the trace is no longer recorded");
	else if (sql->ask(sql->ctx, text, &number, &e) < 0)
		dt_refuse(a, 500, e.text);
	else
		dt_json_print(&a->answer->text, "{\"number\":%lu}", (unsigned long)number);
}

void dt_answer_asked(struct dt_asked *a)
{
	uint64_t number;

	if (!dt_asked_number(a, "number", 1, UINT64_MAX, &number))
		return;
	if (!a->sql || !a->sql->asked || !a->sql->asked(a->sql->ctx, number, &a->answer->text))
		dt_refuse(a, 404, "that is not asked any more");
}
