/* SPDX-License-Identifier: MIT */
/* An event of Chrome's JSON, as it is in the file, and what becomes of it. */
#ifndef DT_IMPORT_CHROME_EVENT_H
#define DT_IMPORT_CHROME_EVENT_H

#include "import/calls.h"
#include "import/json.h"

/* A text that is used again for the next event. */
struct dt_chrome_text {
	char *p; /* NULL: there was none yet */
	size_t size;
	bool is; /* the event has it */
};

struct dt_chrome_value {
	struct dt_chrome_text name, text; /* text: of a number or string */
	bool number;
};

#define DT_CHROME_VALUES 256u /* of an event's args; more are not looked at */

struct dt_chrome_event {
	struct dt_chrome_text ph, name, category, pid, tid, ts, length, id;
	struct dt_chrome_value value[DT_CHROME_VALUES];
	unsigned values;
	uint64_t more;	/* further args */
	bool arguments; /* it has any */
	bool any;	/* it has any member at all */
};

struct dt_chrome {
	struct dt_imported *m;
	struct dt_json_reader json;
	struct dt_chrome_event event;
	struct dt_name_list flows; /* messages: their category, name and id */
	bool own;		   /* devtrace wrote it */
	struct dt_error *e;
};

/* Adds the event to what is imported, or counts it as left out. Returns -1 on error. */
int dt_chrome_take(struct dt_chrome *k);

/* Makes nanoseconds of a text in microseconds. *rounded: a part of a nanosecond is lost. False: it
 * is no such time. */
bool dt_chrome_ns(const char *text, int64_t *ns, bool *rounded);

#endif
