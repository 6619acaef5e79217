/* SPDX-License-Identifier: MIT */
/* What the files of devtrace tui share. */
#ifndef DT_CMD_TUI_WORK_H
#define DT_CMD_TUI_WORK_H

#include "analyse/meanings.h"
#include "analyse/graph.h"
#include "analyse/outline.h"
#include "analyse/stats.h"
#include "cmd/tui-screen.h"
#include "show/format.h"

/* The views, in the order of their keys 1 to 4. */
enum dt_tui_view { DT_TUI_CALLS, DT_TUI_GRAPH, DT_TUI_FUNCTIONS, DT_TUI_AROUND, DT_TUI_VIEWS };

/* How a row is folded or unfolded. */
enum dt_tui_fold {
	DT_FOLD_TOGGLE,
	DT_FOLD_OPEN,
	DT_FOLD_CLOSE,
	DT_FOLD_OPEN_ALL,
	DT_FOLD_CLOSE_ALL
};

#define DT_TUI_UNFOLD  10000 /* lines that one key unfolds at most */
#define DT_TUI_DEEPEST 40    /* levels that are indented at most */

/* The text of a row; columns of numbers come first. */
struct dt_tui_row {
	char columns[256];
	char text[4096];
	unsigned style;
};

/* A column that a view can be sorted by. */
struct dt_tui_key {
	char letter;	  /* the key that chooses it after s */
	const char *name; /* NULL: ends the list */
	int value;	  /* for the view */
};

/* The place in the rows of a view. */
struct dt_tui_place {
	size_t at, top; /* the row of the cursor, and the first row on the screen */
	int sort;	/* index of the column that it is sorted by */
	bool reversed;
};

/* The tree of calls in the order of time, of all calls or of those that a filter wants. */
struct dt_tui_time {
	struct dt_reader *reader; /* of the pyramid */
	struct dt_pyramid *pyramid;
	struct dt_windows *windows;
	struct dt_outline outline;
	bool failed; /* it can not be made; the message has said why */
};

struct dt_tui_shown; /* a row of the tree of calls */
struct dt_tui_known; /* what is known of a call: cmd/tui-known.c */
struct dt_tui_graph; /* cmd/tui-graph.c */

struct tui {
	const char *path;
	struct dt_reader *reader; /* for names, and for passes over all of the trace */
	struct dt_formats formats;
	struct dt_summary summary;
	uint64_t helds, held; /* how often threads waited for devtrace, and ticks of that */
	bool waits;	      /* the trace has switches */
	uint64_t from;	      /* ticks of the trace's beginning */
	char filter[512];     /* "": all calls are wanted */
	char unsound[512];    /* what is wrong with the trace; "": nothing is known to be */
	char search[256];
	char message[512]; /* in the last line until the next key */
	bool warns;	   /* the message is an error */
	bool ending;
	enum dt_tui_view view, before; /* before: the one that q goes back to from DT_TUI_AROUND */
	struct dt_tui_place place[DT_TUI_VIEWS];
	int typed[64]; /* keys that came during a long step */
	unsigned types;
	/* a long step: what is done, how many records of how many, and when the screen last showed
	 * it (ns) */
	const char *doing;
	uint64_t done, total, said;
	bool stopped; /* the user has ended it */
	struct dt_tui_time all, chosen;
	uint64_t drawn; /* ns: when the screen was drawn */
	struct dt_tui_shown *shown;
	size_t shown_n, shown_room;
	struct dt_tui_known *known;
	bool lacks; /* what is known of the calls on the screen is still to be completed */
	struct dt_stats stats;
	struct dt_stats_row *row;
	size_t rows;
	bool has_stats;
	struct dt_tui_graph *graph, *around; /* NULL: not made yet */
	uint32_t focus;			     /* the function of DT_TUI_AROUND; 0: none */
};

/* What a view can do. Rows are counted from 0. */
struct dt_tui_kind {
	const char *name;
	const struct dt_tui_key *keys;
	/* Makes its rows, if there are none. False: that failed, and the message says why. */
	bool (*make)(struct tui *t);
	/* Drops what depends on the filter. */
	void (*drop)(struct tui *t);
	size_t (*rows)(struct tui *t);
	/* Writes the names of the columns to text. */
	void (*head)(struct tui *t, char *text, size_t size);
	/* What is to be done before rows from..to are drawn; NULL: nothing. */
	void (*before)(struct tui *t, size_t from, size_t to);
	void (*row)(struct tui *t, size_t row, struct dt_tui_row *to);
	/* Returns the function of a row; 0: none. */
	uint32_t (*function)(struct tui *t, size_t row);
	/* NULL: rows can not be folded, and Enter goes to the callers and callees of the function.
	 */
	void (*fold)(struct tui *t, size_t row, enum dt_tui_fold how);
	/* Moves the cursor to the row above in the tree; NULL: there are no trees. */
	void (*up)(struct tui *t, size_t row);
	/* Moves the cursor to the next function whose name has t->search in it. */
	void (*find)(struct tui *t, bool forward);
	/* Sorts again, after the place has got another column or direction. */
	void (*sort)(struct tui *t);
};

extern const struct dt_tui_kind dt_tui_calls, dt_tui_graph, dt_tui_functions, dt_tui_around;

/* ---- cmd/tui-keys.c ---- */

/* Draws and obeys keys until the user ends it. Returns the exit status. */
int dt_tui_run(struct tui *t);

/* Drops all that was made for the views. */
void dt_tui_drop(struct tui *t);
/* Asks for t->search; draws: the rest of the screen is the view's. False: there is none. */
bool dt_tui_ask_search(struct tui *t, bool draws);

/* Set the message in the last line. */
void dt_tui_say(struct tui *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dt_tui_warn(struct tui *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes a key, also one that came during a long step: as dt_screen_key(). */
int dt_tui_key(struct tui *t, int milliseconds);

/* Begin and end a long step: `what' is what is being done. */
void dt_tui_begin(struct tui *t, const char *what, uint64_t total);
void dt_tui_end(struct tui *t);
/* To be called now and then during it, with the number of records since the last time; for
 * dt_reader_watch(), too. False: the user wants it to stop. */
bool dt_tui_step(void *tui, uint64_t records);
/* Likewise, for dt_outline.go_on. */
bool dt_tui_go_on(void *tui);

/* Goes to a view. */
void dt_tui_show(struct tui *t, enum dt_tui_view view);
/* Sets the filter; false: the words are wrong, which the message says, and it stays as it was. */
bool dt_tui_filter(struct tui *t, const char *words);

/* ---- for views ---- */

/* Writes a time, as tables have it, and "-" for one that is not known. */
void dt_tui_ticks(const struct tui *t, char *text, size_t size, uint64_t ticks);
/* Appends formatted text to a text with room for `size' bytes; what does not fit is cut. */
void dt_tui_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends the indentation of a level, and the sign for folded ('+'), unfolded ('-') or neither
 * (' '). */
void dt_tui_indent(char *text, size_t size, unsigned level, char sign);
/* Says whether a function's name has t->search in it, in any case of letters. */
bool dt_tui_matches(const struct tui *t, const char *name);

/* ---- cmd/tui-calls.c ---- */

/* Reads a part of what the tree of calls needs, if there is more. True: there was. */
bool dt_tui_build(struct tui *t);
/* Returns how many per cent of the records the tree has; 100: all. */
unsigned dt_tui_built(const struct tui *t);
void dt_tui_calls_free(struct tui *t);

/* ---- cmd/tui-known.c ---- */

/* What the records of a call say beside its bar. */
struct dt_tui_call {
	bool paired; /* the call was paired again: all below is known */
	bool leaf;   /* no call that took any time is in it */
	uint64_t self, waited;
	char text[1024]; /* with arguments, and the result if there is one; "": only its name is
			    known */
};

/* Reads what is missing of the calls among n nodes of the outline. */
void dt_tui_known_read(struct tui *t, const uint32_t *node, size_t n);
/* Returns what is known of a node; NULL: nothing. */
const struct dt_tui_call *dt_tui_known_of(const struct tui *t, uint32_t node);
/* Forgets all: the nodes have others' numbers from now on. */
void dt_tui_known_forget(struct tui *t);

/* ---- cmd/tui-pager.c ---- */

/* Show text until a key ends it: the keys; the source of a function; all that is known of a row's
 * function. */
void dt_tui_help(struct tui *t);
void dt_tui_source(struct tui *t, uint32_t function);
void dt_tui_about(struct tui *t, const struct dt_tui_row *row, uint32_t function);

#endif
