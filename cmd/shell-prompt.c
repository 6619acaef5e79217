/* SPDX-License-Identifier: MIT */
/* The prompt of a shell: its lines, their history, and completion. */
#include "cmd/shell-work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/shell-edit.h"

static const char *const told[] = {"freeze", "unfreeze", "list",   "delete", "trace", "status",
				   "start",  "stop",	 "watch",  "size",   "query", "policy",
				   "reset",  "attach",	 "detach", NULL};
static const char *const options[] = {
	"PID",	 "CONST", "FREEZE", "UNFREEZE", "LATEFREEZE", "ONLYPID", "BASE",   "ADJACENT",
	"COUNT", "ENTRY", "EXIT",   "on",	"off",	      "new",	 "remove", NULL};

static struct shell *completing;

/* Returns the next word that completes the text, for libedit; state 0: the first one. */
static char *next_match(const char *text, int state)
{
	static const char *const *const list[] = {dt_shell_own, told, options};
	static unsigned at_list, at_word;
	static char *symbol;
	size_t n = strlen(text);
	bool first = completing && *dt_edit.rl_point <= (int)n;

	if (state == 0) {
		char request[200];

		at_list = first ? 0 : 2;
		at_word = 0;
		symbol = NULL;
		dt_format(request, sizeof(request), "symbols %.180s", text);
		if (!first && completing && dt_client_ask(&completing->names, request, NULL) == 0)
			symbol = completing->names.text;
	}
	for (; at_list < (first ? 2u : 3u); at_list++, at_word = 0)
		while (list[at_list][at_word]) {
			const char *word = list[at_list][at_word++];

			if (strncmp(word, text, n) == 0)
				return strdup(word);
		}
	if (symbol && *symbol) {
		size_t length = strcspn(symbol, "\n");
		char *match = strndup(symbol, length);

		symbol += length + (symbol[length] != '\0');
		return match;
	}
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	*dt_edit.rl_attempted_completion_over = 1;
	return dt_edit.rl_completion_matches(text, next_match);
}

/* Makes the path $XDG_STATE_HOME/devtrace/shell_history and its directories. False: there is no
 * place for it. */
static bool history_file(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char directory[4000];
	size_t n;

	if (state && state[0] == '/')
		n = dt_format(directory, sizeof(directory), "%s/devtrace", state);
	else if (home && home[0] == '/')
		n = dt_format(directory, sizeof(directory), "%s/.local/state/devtrace", home);
	else
		return false;
	if (n >= sizeof(directory))
		return false;
	for (char *p = directory + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(directory, 0700);
	}
	mkdir(directory, 0700);
	dt_format(path, size, "%s/shell_history", directory);
	return true;
}

int dt_shell_interact(struct shell *s)
{
	char path[4096], *line;
	bool keep = history_file(path, sizeof(path));
	struct sigaction a = {.sa_handler = dt_shell_on_interrupt};
	mode_t mask;

	completing = s;
	*dt_edit.rl_readline_name = "devtrace";
	*dt_edit.rl_attempted_completion_function = complete;
	dt_edit.using_history();
	dt_edit.stifle_history(1000);
	if (keep)
		dt_edit.read_history(path);
	sigaction(SIGINT, &a, NULL);
	while (!s->quit) {
		dt_shell_interrupted = 0;
		line = dt_edit.readline("(kitrace) ");
		if (!line && dt_shell_interrupted) {
			putchar('\n');
			continue;
		}
		if (!line)
			break;
		if (line[0])
			dt_edit.add_history(line);
		dt_shell_obey(s, line);
		free(line);
	}
	mask = umask(077);
	if (keep)
		dt_edit.write_history(path);
	umask(mask);
	return 0;
}
