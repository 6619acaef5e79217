/* SPDX-License-Identifier: MIT */
/* devtrace ctl: writes commands to a session's ctl, or reads it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "core/plain.h"
#include "cmd/open.h"
#include "core/words.h"
#include "session/client.h"

static const char help[] =
	"usage: devtrace ctl [-s SESSION] [COMMAND [WORD]...]\n"
	"Tells a session what to do; without a COMMAND prints its state, as commands that restore\n"
	"it. With - as the COMMAND, reads commands from standard input. 'devtrace ctl help' lists "
	"the\n"
	"commands, devtrace-ctl(5) explains them.\n"
	"\n"
	"  -s, --session SESSION  which one (devtrace list shows them); not needed when there is "
	"one\n"
	"  -h, --help\n"
	"\n"
	"  devtrace ctl trace 'luaH_*' new tables     define what is to be traced\n"
	"  devtrace ctl trace tables on               have it traced\n"
	"  devtrace ctl start                         begin recording\n"
	"  devtrace ctl wait                          until the triggers have stopped it\n"
	"  devtrace ctl 'sum s new hist(size) if malloc'; devtrace ctl sum s\n"
	"  devtrace ctl >saved; devtrace ctl - <saved keep the state, restore it\n";

struct text {
	char *p;
	size_t n, room;
};

static int add(struct text *t, const char *p, size_t n)
{
	if (t->n + n > t->room) {
		size_t room = 2 * (t->n + n) + 4096;
		char *more = realloc(t->p, room);

		if (!more)
			return -1;
		t->p = more;
		t->room = room;
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
	return 0;
}

static int read_all(struct text *t, FILE *f)
{
	char buffer[65536];
	size_t n;

	while ((n = fread(buffer, 1, sizeof(buffer), f)) > 0)
		if (add(t, buffer, n) < 0)
			return -1;
	return ferror(f) ? -1 : 0;
}

/* Joins the words to a command. The shell has taken quotes away: a word that needs them gets them
 * again, unless it is the only word. */
static int join(struct text *t, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		bool quote = argc > 1 && dt_word_quoted(argv[i]);

		if ((i && add(t, " ", 1) < 0) || (quote && add(t, "'", 1) < 0))
			return -1;
		for (const char *p = argv[i]; *p; p++)
			if ((quote && *p == '\'' && add(t, "'", 1) < 0) || add(t, p, 1) < 0)
				return -1;
		if (quote && add(t, "'", 1) < 0)
			return -1;
	}
	return 0;
}

/* Says whether the last of these commands ends the session. */
static bool ends_session(const struct text *t)
{
	size_t n = t->n;

	while (n && strchr(" \t\n", t->p[n - 1]))
		n--;
	return n >= 4 && memcmp(t->p + n - 4, "quit", 4) == 0 && (n == 4 || t->p[n - 5] == '\n');
}

static int talk(struct dt_client *c, int argc, char **argv)
{
	struct text t = {0};
	struct dt_error e;
	int rc;

	if (argc == 0) {
		rc = dt_client_ask(c, "read", &e);
	} else if (argc == 1 && strcmp(argv[0], "wait") == 0) {
		rc = dt_client_ask(c, "wait", &e);
	} else {
		bool input = argc == 1 && strcmp(argv[0], "-") == 0;

		if ((input ? read_all(&t, stdin) : join(&t, argc, argv)) < 0)
			rc = dt_fail(&e,
				     input ? "standard input can not be read" : "out of memory");
		else
			rc = dt_client_write(c, t.p ? t.p : "", t.n, 0, &e);
		/* the user's next command may begin a session of the same name */
		if (rc == 0 && ends_session(&t))
			dt_client_wait_end(c);
		/* the session can have ended before its answer arrives */
		if (rc < 0 && c->ended && ends_session(&t))
			rc = 0, c->n = 0;
	}
	free(t.p);
	if (rc < 0)
		return dt_cmd_fail("%s", e.text);
	if (c->n) {			     /* otherwise text may be NULL */
		dt_plain_cut(c->text, true); /* it has names from traced programs */
		fwrite(c->text, 1, c->n, stdout);
	}
	return fflush(stdout) ? dt_cmd_fail("standard output can not be written") : 0;
}

int dt_cmd_ctl(int argc, char **argv)
{
	static const struct option longs[] = {{"session", required_argument, NULL, 's'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	const char *session = NULL;
	struct dt_client c;
	struct dt_error e;
	int opt, status;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "+s:h", longs, NULL)) != -1) {
		switch (opt) {
		case 's':
			session = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("ctl");
		}
	}
	if (dt_client_open(&c, session, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	status = talk(&c, argc - optind, argv + optind);
	dt_client_close(&c);
	return status;
}
