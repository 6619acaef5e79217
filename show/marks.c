/* SPDX-License-Identifier: MIT */
#include "show/marks.h"

#include "core/error.h"

#include <stddef.h>

#include "filter/call.h"

static const struct mark {
	uint32_t flag;
	const char *text;
} marks[] = {
	{DT_CALL_NO_ENTRY, "entry not recorded"},
	{DT_CALL_OTHER_STACK, "on another stack"},
	{DT_CALL_TAILED, "tail-called"},
	{DT_CALL_DOUBTFUL, "perhaps called from the tail call before it"},
	{DT_CALL_UNWOUND, "unwound"},
	{DT_CALL_TAIL, "tail call"},
	{DT_CALL_OPEN, "not finished"},
	{DT_CALL_NO_EXIT, "exits are not recorded"},
	{DT_CALL_LOSS, "records lost meanwhile"},
	{DT_CALL_PAUSED, "recording paused meanwhile"},
	{DT_CALL_BACKWARD, "ends before it begins: records out of order"},
};

uint32_t dt_marks_next(unsigned *at, uint32_t flags, const char **text)
{
	while (*at < sizeof(marks) / sizeof(*marks)) {
		const struct mark *m = &marks[(*at)++];

		if (!(flags & m->flag))
			continue;
		*text = m->text;
		if (m->flag == DT_CALL_TAIL && flags & DT_CALL_INFERRED)
			*text = "no exit: tail call or unwound";
		else if (m->flag == DT_CALL_NO_ENTRY && flags & DT_CALL_OTHER_STACK)
			*text = "entered";
		else if (m->flag == DT_CALL_TAIL && flags & DT_CALL_LEFT)
			*text = "tail call: time to its jump";
		return m->flag;
	}
	return 0;
}

void dt_marks_of_function(const struct dt_function_stats *f, char *text, size_t size)
{
	const struct {
		uint64_t n;
		const char *what;
	} mark[] = {{f->unwound, "unwound"},
		    {f->tail, "tail"},
		    {f->open, "unfinished"},
		    {f->no_exit, "without exits"},
		    {f->no_entry, "exits without an entry"},
		    {f->loss, "with losses"},
		    {f->paused, "over a pause"},
		    {f->backward, "ending before they begin: records out of order"}};
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(mark) / sizeof(*mark); i++)
		if (mark[i].n && n < size)
			n += dt_format(text + n, size - n, "%s%lu %s", n ? ", " : "  (",
				       (unsigned long)mark[i].n, mark[i].what);
	if (n && n < size)
		dt_format(text + n, size - n, ")");
}
