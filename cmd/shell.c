/* SPDX-License-Identifier: MIT */
/* devtrace shell: Kitrace's commands, at a prompt, from a pipe or from the command line. */
#include "cmd/shell-work.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/shell-edit.h"
#include "core/plain.h"

static const char help[] =
	"usage: devtrace shell [-s SESSION] [-c COMMAND]... [PID]\n"
	"Tells a session what to trace and prints its records, as Kitrace does: interactively, or\n"
	"commands from standard input. With a PID the process is attached to first, if it is not\n"
	"traced, and detached at the end.\n"
	"\n"
	"  -s, --session SESSION  which one (devtrace list shows them); not needed when there is "
	"one\n"
	"  -c, --command COMMAND  obey this, and no others\n"
	"  -d, --date             say the day of each record, too\n"
	"  -h, --help\n";

static const char commands_help[] =
	"print       the records that have not been seen; they stay unseen\n"
	"clear       those that were printed last are seen; without a print, all there are\n"
	"printclear  print, and those are seen\n"
	"follow      printclear as records come, until Ctrl-C\n"
	"quit        leave; the session goes on, unless it was begun here\n"
	"\n"
	"Everything else is told to the session:\n";

const char *const dt_shell_own[] = {"clear", "print", "printclear", "follow", "help", "quit", NULL};

volatile sig_atomic_t dt_shell_interrupted;

void dt_shell_on_interrupt(int sig)
{
	dt_shell_interrupted = sig;
}

int dt_shell_complain(struct shell *s, const char *text)
{
	dt_out_flush(&s->out);
	s->failed = true;
	return dt_cmd_fail("%s", text);
}

/* ---- commands ---- */

/* Gives the session a command and prints its answer. */
static int tell(struct shell *s, const char *line)
{
	struct dt_error e;

	if (dt_client_write(&s->client, line, strlen(line), 0, &e) < 0)
		return dt_shell_complain(s, e.text);
	dt_plain_cut(s->client.text, true); /* it has names from traced programs */
	dt_out_bytes(&s->out, s->client.text, s->client.n);
	dt_out_flush(&s->out);
	return 0;
}

/* Executes a line: one of the shell's own commands, or one for the session. */
int dt_shell_obey(struct shell *s, const char *line)
{
	static int (*const run[])(struct shell * s) = {dt_shell_clear, NULL, NULL, dt_shell_follow};
	char word[16] = "", more[2] = "";
	int n = sscanf(line, "%15s %1s", word, more), i = 0;

	if (n < 1 || word[0] == '#')
		return 0;
	while (dt_shell_own[i] && strcmp(word, dt_shell_own[i]) != 0)
		i++;
	if (!dt_shell_own[i]) {
		/* these commands let positions begin at 0 again */
		if (!strcmp(word, "reset") || !strcmp(word, "size") || !strcmp(word, "logsize"))
			s->seen = 0;
		return tell(s, line);
	}
	if (n > 1) {
		char text[64];

		dt_format(text, sizeof(text), "usage: %s", word);
		return dt_shell_complain(s, text);
	}
	switch (i) {
	case 1:
	case 2:
		return dt_shell_print(s, i == 2);
	case 4:
		dt_out_text(&s->out, commands_help);
		return tell(s, "help");
	case 5:
		s->quit = true;
		return 0;
	}
	return run[i](s);
}

/* ---- the whole ---- */

static int from_pipe(struct shell *s)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (!s->quit && (n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		dt_shell_obey(s, line);
	}
	free(line);
	return s->failed;
}

static int run(struct shell *s, char *const *command, size_t commands)
{
	struct dt_error e;
	int status;

	s->place = calloc(PLACES, sizeof(*s->place));
	if (!s->place)
		return dt_cmd_fail("out of memory");
	if (dt_client_open(&s->client, s->session, &e) < 0 ||
	    dt_client_open(&s->names, s->session, &e) < 0) {
		status = dt_shell_complain(s, e.text);
		goto out;
	}
	if (s->began)
		dt_shell_watch(s);
	if (s->began)
		tell(s, "start"); /* as in Kitrace, a tracepoint records as soon as it is set */
	for (size_t i = 0; i < commands && !s->quit; i++)
		dt_shell_obey(s, command[i]);
	if (commands)
		status = s->failed;
	else
		status = isatty(0) ? dt_shell_interact(s) : from_pipe(s);
	if (s->began && dt_client_write(&s->client, "quit", 4, 0, &e) < 0)
		status = dt_shell_complain(s, e.text);
out:
	if (dt_out_end(&s->out) && !status)
		status = 1;
	for (unsigned i = 0; i < PLACES; i++)
		free(s->place[i].text);
	free(s->place);
	free(s->points);
	dt_client_close(&s->client);
	dt_client_close(&s->names);
	return status;
}

int dt_cmd_shell(int argc, char **argv)
{
	static const struct option longs[] = {{"session", required_argument, NULL, 's'},
					      {"command", required_argument, NULL, 'c'},
					      {"date", no_argument, NULL, 'd'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	static struct shell s = {.client = {.fd = -1}, .names = {.fd = -1}};
	char **command = calloc((size_t)argc, sizeof(*command)), name[80];
	size_t commands = 0;
	struct dt_error e;
	int opt, status = 0;

	if (!command)
		return dt_cmd_fail("out of memory");
	s.out.fd = STDOUT_FILENO;
	optind = 1;
	while (!status && (opt = getopt_long(argc, argv, "s:c:dh", longs, NULL)) != -1) {
		switch (opt) {
		case 's':
			s.session = optarg;
			break;
		case 'c':
			command[commands++] = optarg;
			break;
		case 'd':
			s.date = true;
			break;
		case 'h':
			fputs(help, stdout);
			free(command);
			return 0;
		default:
			status = dt_cmd_usage("shell");
		}
	}
	if (!status && (optind + 1 < argc || (optind < argc && s.session)))
		status = dt_cmd_usage("shell");
	if (!status && !commands && isatty(0) && dt_edit_load(&e) < 0)
		status = dt_cmd_fail("%s; -c, and commands from a pipe, need it not", e.text);
	if (!status && optind < argc)
		status = dt_shell_find(&s, argv[optind], name, sizeof(name));
	if (!status)
		status = run(&s, command, commands);
	free(command);
	return status;
}
