/* SPDX-License-Identifier: MIT */
/* devtrace record --hosts: which machines the list names. */
#include <stdlib.h>
#include <string.h>

#include "cmd/open.h"
#include "cmd/trace-hosts-work.h"
#include "core/plain.h"

/* Cuts :PID+PID from the end of a host; returns it, without the colon. NULL: that is no PID, which
 * has been reported. */
static char *cut_pids(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return text + strlen(text);
	*colon = '\0';
	if (colon[1] && colon[1] != '+' && strspn(colon + 1, "0123456789+") == strlen(colon + 1))
		return colon + 1;
	dt_cmd_fail("'%s' of host '%s' is no process's number: say HOST:PID, or HOST:PID+PID",
		    dt_cmd_plain(colon + 1), text);
	return NULL;
}

/* Adds [NAME=]HOST; the name of USER@HOST is HOST. False: reported. */
static bool add(struct hosts *a, char *text)
{
	struct host *h = &a->host[a->n];
	char *pids = a->attaches ? cut_pids(text) : text + strlen(text);
	const char *sign = strchr(text, '='), *at;

	if (!pids)
		return false;
	if (a->n == HOSTS) {
		dt_cmd_fail("more than %d hosts", HOSTS);
		return false;
	}
	*h = (struct host){.fd = -1, .there = {.fd = -1, .said = -1}};
	h->address = strdup(sign ? sign + 1 : text);
	h->pids = strdup(pids);
	at = strrchr(text, '@');
	h->name = sign ? strndup(text, (size_t)(sign - text)) : strdup(at ? at + 1 : text);
	if (!h->address || !h->name || !h->pids) {
		dt_cmd_fail("out of memory");
		return false;
	}
	a->n++;
	if (!*h->name || !*h->address || *h->address == '-' || *h->name == '.' ||
	    strpbrk(h->name, "/@: =") || !dt_plain_is(h->name)) {
		dt_cmd_fail("'%s' is no host for --hosts: HOST, or NAME=HOST", dt_cmd_plain(text));
		return false;
	}
	for (unsigned i = 0; i + 1 < a->n; i++)
		if (!strcmp(a->host[i].name, h->name)) {
			dt_cmd_fail("two hosts are called '%s': give them names, as NAME=%s",
				    h->name, h->address);
			return false;
		}
	return dt_format(h->path, sizeof(h->path), "%s/%s.db", a->folder, h->name) <
	       sizeof(h->path);
}

bool dt_hosts_parse(struct hosts *a, const char *list)
{
	char *copy = strdup(list), *save = NULL;
	bool ok = copy != NULL;

	for (char *w = strtok_r(copy, ",", &save); ok && w; w = strtok_r(NULL, ",", &save))
		ok = add(a, w);
	free(copy);
	if (ok && !a->n)
		dt_cmd_fail("--hosts names no host");
	return ok && a->n;
}
