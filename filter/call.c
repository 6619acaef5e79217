/* SPDX-License-Identifier: MIT */
#include "filter/call.h"

const char *dt_call_ended(const struct dt_call *c)
{
	return c->flags & DT_CALL_OPEN	     ? "open"
	       : c->flags & DT_CALL_LOSS     ? "lost"
	       : c->flags & DT_CALL_PAUSED   ? "paused"
	       : c->flags & DT_CALL_BACKWARD ? "backward"
	       : c->flags & DT_CALL_NO_EXIT  ? "unseen"
	       : c->flags & DT_CALL_UNWOUND  ? "unwound"
	       : c->flags & DT_CALL_TAIL     ? "tail"
					     : "returned";
}
