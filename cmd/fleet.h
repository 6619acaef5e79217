/* SPDX-License-Identifier: MIT */
/* Fleets for the commands that read traces. */
#ifndef DT_CMD_FLEET_H
#define DT_CMD_FLEET_H

#include "cmd/open.h"
#include "fleet/fleet.h"

/* Prints a line for each host: its trace, and how its clock was to the reference's; says what
 * contradicts itself, and which host nothing is known of. reader[i]: host i's trace, or NULL. */
void dt_fleet_print(const struct dt_fleet *f, struct dt_reader **reader);

/* Prints what is in the fleet at path; returns the exit status. */
int dt_fleet_say(const char *path);

/* Opens the fleet at path, and its traces, before which the process confines itself to them and to
 * `needs'. The traces are in a new array. NULL: *status is the exit status; reported. */
struct dt_fleet *dt_fleet_open_all(const char *path, struct dt_needs *needs,
				   struct dt_reader ***reader, int *status);
/* Returns the path of a host's trace in the fleet at path, which the caller frees. NULL: *status is
 * the exit status; reported. Before the process confines itself. */
const char *dt_fleet_path_of(const char *path, const char *host, int *status);
/* Closes them; f may be NULL. */
void dt_fleet_close_all(struct dt_fleet *f, struct dt_reader **reader);

/* Says of each host whose records were lost, how many. */
void dt_fleet_say_lost(const struct dt_fleet *f, struct dt_reader **reader);

/* Gives the range of a host's trace that is between two times of the fleet, which count from its
 * first record on. False: reported. */
bool dt_fleet_range(const struct dt_fleet *f, struct dt_reader **reader,
		    const struct dt_range_options *when, uint32_t host,
		    struct dt_reader_range *range);
/* The same as options for one trace, in ticks; `when' leads to the texts. */
struct dt_fleet_window {
	char from[24], to[24];
	struct dt_range_options when;
};
bool dt_fleet_window(struct dt_fleet_window *w, const struct dt_fleet *f, struct dt_reader **reader,
		     const struct dt_range_options *when, uint32_t host);

/* The records of all hosts in the order in which they are drawn. */
struct dt_fleet_merge {
	const struct dt_fleet *fleet;
	struct dt_reader **reader;
	struct dt_fleet_source *source; /* of each host */
	uint32_t host;			/* whose records those are that were given last */
	int64_t zero;			/* the fleet's first record; times are shown from it on */
	uint64_t realtime;		/* of the reference's time 0: ns since 1970; 0: not known */
};

/* Begins at `when', which counts from the fleet's first record. single: records come one by one,
 * else as many as are of one host. Returns 0, or the exit status. */
int dt_fleet_merge_begin(struct dt_fleet_merge *m, const struct dt_fleet *f,
			 struct dt_reader **reader, const struct dt_range_options *when,
			 bool single);
/* Gives the next records: 1; 0: there are no more; -1: error. */
int dt_fleet_merge_next(struct dt_fleet_merge *m, struct dt_span *s, struct dt_error *e);
void dt_fleet_merge_end(struct dt_fleet_merge *m);

#endif
