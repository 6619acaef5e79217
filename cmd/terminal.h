/* SPDX-License-Identifier: MIT */
/*
 * What is known of the place that standard output leads to: whether colours are wanted there, how
 * wide it is, whether it can show UTF-8; and the program in which a person turns pages. Only
 * commands that print a listing and then end have pages.
 */
#ifndef DT_CMD_TERMINAL_H
#define DT_CMD_TERMINAL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* The options that these commands have in common, as numbers for getopt_long() */
enum { DT_TERMINAL_COLOUR = 1000, DT_TERMINAL_WIDE, DT_TERMINAL_NO_PAGER };

#define DT_TERMINAL_LONG                                                                           \
	{"color", required_argument, NULL, DT_TERMINAL_COLOUR},                                    \
		{"wide", no_argument, NULL, DT_TERMINAL_WIDE},                                     \
	{                                                                                          \
		"no-pager", no_argument, NULL, DT_TERMINAL_NO_PAGER                                \
	}

/* their lines in a command's help */
#define DT_TERMINAL_HELP                                                                           \
	"      --color WHEN       auto (default: at a terminal, unless NO_COLOR is set), always, " \
	"never\n"                                                                                  \
	"      --wide             at a terminal, too, lines are as long as they are\n"             \
	"      --no-pager         at a terminal, too, straight to it, not through less\n"

enum dt_terminal_when { DT_TERMINAL_AUTO, DT_TERMINAL_ALWAYS, DT_TERMINAL_NEVER };

/* All zero at first; dt_terminal_option() sets what options say, dt_terminal_begin() the rest. */
struct dt_terminal {
	enum dt_terminal_when when; /* colours are wanted */
	bool wide, no_pager;	    /* options */
	bool is;		    /* standard output is a terminal, or the pager's */
	bool able;		    /* and understands escape sequences, as TERM says */
	bool colour, utf8;
	unsigned columns; /* lines are cut there; 0: they are not cut */
};

/* Takes an option that getopt_long() has returned. False: it is none of these. *status >= 0: it is
 * wrong, which has been reported; exit with that. */
bool dt_terminal_option(struct dt_terminal *t, int option, int *status);

/* Asks the environment, before the process confines itself. pages: the command's output goes
 * through a pager if it leads to a terminal (cmd/pager.h). */
void dt_terminal_begin(struct dt_terminal *t, bool pages);

/* For a listing, before the process confines itself and before anything is printed: asks the
 * environment; if table, lines that stdio prints are cut to the terminal's columns, and go through
 * the pager. Otherwise (JSON, pictures) they are as they are. */
void dt_terminal_listing(struct dt_terminal *t, bool table);

/*
 * Cuts a line of n bytes, with or without the newline at its end, to the terminal's columns; what
 * is cut off is marked by an ellipsis, or by > where there is no UTF-8. Colours take no columns,
 * and end with the line. After the line there must be room for 8 more bytes. Returns how many bytes
 * the line has now.
 */
size_t dt_terminal_cut(const struct dt_terminal *t, char *line, size_t n);

/* Lets standard output cut its lines to the terminal's columns, for what is printed by stdio. */
void dt_terminal_cut_output(struct dt_terminal *t);

/*
 * Writes a text that takes at most so many columns to `to', which has room for its n bytes and 4
 * more: of a longer one the beginning and the end, with the mark of what is cut off between them.
 * Names differ at both. Returns how many bytes that are; no NUL is written.
 */
size_t dt_terminal_middle(const struct dt_terminal *t, char *to, const char *text, size_t n,
			  unsigned columns);

/* Returns how many columns the terminal has now; COLUMNS comes first. */
unsigned dt_terminal_columns(void);

/* Returns how many columns a text takes. */
unsigned dt_terminal_width(const struct dt_terminal *t, const char *text, size_t n);

#endif
