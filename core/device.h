/* SPDX-License-Identifier: MIT */
/*
 * The device holds what is to be traced, in one language for every provider (a session of
 * processes, the kernel). Commands are text; reading the device gives text that, written back,
 * restores the state. What a command means for the provider is up to the provider's operations: the
 * device parses, checks and remembers, and changes its state only when the operation has succeeded.
 *
 * doc/language.md describes the language. Its sources are Plan 9's devtrace (ranges, ctl), Kitrace
 * (tracepoints with options) and Barrelfish (triggers, masks). The device has no lock: the caller
 * must hold one.
 */
#ifndef DT_CORE_DEVICE_H
#define DT_CORE_DEVICE_H

#include "core/error.h"
#include "core/record.h"

#define DT_NAME_MAX	    63	  /* bytes of a range's name */
#define DT_LOG_DEFAULT	    8192u /* records */
#define DT_LOG_MAX_EXPONENT 26u	  /* 64 Mi records: 4 GiB */
#define DT_WORDS_MAX	    256u  /* words in one command */
#define DT_CAPTURE_MAX	    1023  /* bytes of what one point captures, as words */

/* What happens at the sites of a range, as a set of bits. */
enum {
	DT_DO_ENTRY = 1 << 0,	   /* entries are recorded */
	DT_DO_EXIT = 1 << 1,	   /* exits are recorded */
	DT_DO_COUNT = 1 << 2,	   /* hits are counted, but not recorded */
	DT_DO_FREEZE = 1 << 3,	   /* recording stops after this record */
	DT_DO_UNFREEZE = 1 << 4,   /* recording, if frozen, goes on with this record */
	DT_DO_LATEFREEZE = 1 << 5, /* recording stops `late' records after this one */
	DT_DO_ONLYPID = 1 << 6,	   /* only process `pid' is recorded */
	DT_DO_BASE = 1 << 7,	   /* later time differences are measured from this record */
	DT_DO_ADJACENT = 1 << 8,   /* they are measured from the previous record again */
	DT_DO_CONST = 1 << 9,	   /* the value `constant' is recorded, too */
	DT_DO_PID = 1 << 10,  /* Kitrace's PID; without effect, as every record has its thread */
	DT_DO_ARGS = 1 << 11, /* arguments that the entry's record lacks are recorded after it */
};

/*
 * The bits for which each event must be looked at; the others are done by switching sites on and
 * off.
 */
#define DT_DO_CAREFUL                                                                              \
	(DT_DO_COUNT | DT_DO_FREEZE | DT_DO_UNFREEZE | DT_DO_LATEFREEZE | DT_DO_ONLYPID |          \
	 DT_DO_BASE | DT_DO_ADJACENT | DT_DO_CONST)

/* What happens at the sites of a range, with the numbers that belong to it. */
struct dt_action {
	uint32_t what; /* DT_DO_... */
	uint32_t pid;
	uint64_t late, constant;
};

/* The kinds of ranges. */
enum dt_range_kind {
	DT_RANGE_ADDRESS, /* all sites in [start, end], both included */
	DT_RANGE_SET,	/* the functions that the patterns `what' choose, including those of modules
			   loaded later */
	DT_RANGE_POINT, /* Kitrace's tracepoint: the one instruction at start */
};

/* A range of addresses, a set of functions, or a point. */
struct dt_range {
	char name[DT_NAME_MAX + 1];
	char *what;    /* of a set or point: its text as it was given. Owned */
	char *capture; /* of a point: what is captured, as words; NULL: nothing. Owned */
	uint64_t start, end;
	enum dt_range_kind kind;
	bool on;
	struct dt_action action;
	void *host;	/* the provider's data, set by ops->check() and released by ops->forget() */
	uint32_t chain; /* index + 1 of the next range with the same hash; 0: none */
};

/* The process that writes a command, and where answers to it go, as whole lines. */
struct dt_asker {
	uint32_t pid;
	void (*answer)(void *ctx, const char *line, size_t n); /* NULL: no answers are wanted */
	void *ctx;
};

/* What the provider has counted. */
struct dt_counters {
	uint64_t hits; /* records made since the beginning or the last change of size, with the lost
			  ones */
	uint64_t queued; /* how many of them have not been read */
	uint64_t lost;
	uint64_t in, out; /* entries, and exits, that hit an enabled range, recorded or not */
	uint64_t log;	  /* the address that #tracelog shows */
	bool frozen, armed;
};

/* Where an address expression leads. */
struct dt_place {
	/*
	 * end: the last byte of the function that begins at start, if there is one; otherwise start
	 */
	uint64_t start, end;
	uint64_t at; /* of a source line: its first instruction in that function; otherwise 0 */
};

/* The triggers between which events are recorded. */
struct dt_arm {
	bool set;
	bool has_start, has_stop;
	uint64_t start, stop; /* bodies of events */
	uint64_t duration;    /* ns, 0: no end */
};

struct dt_device;

/*
 * What a provider does. Every operation returns 0, or -1 with an error and nothing changed, unless
 * its remark says otherwise.
 */
struct dt_device_ops {
	/* as realloc(): p NULL allocates, bytes 0 frees */
	void *(*resize)(void *ctx, void *p, size_t bytes);
	/*
	 * Finds a symbol, MODULE:SYMBOL or FILE:LINE. Returns 1 if it is found, 0 if there is none,
	 * -1 with an error (such as two of that name).
	 */
	int (*place)(void *ctx, const char *text, struct dt_place *place, struct dt_error *e);
	/* Gives the bounds of the text; addresses below base are added to base. */
	void (*text)(void *ctx, uint64_t *base, uint64_t *end);
	/*
	 * Checks whether this range may be made. Fills in range->host and, for a point, start and
	 * end.
	 */
	int (*check)(void *ctx, struct dt_range *r, struct dt_error *e);
	/* Releases range->host. */
	void (*forget)(void *ctx, struct dt_range *r);
	/* Changes a point from `before' to r in one moment; the host of before is still valid. */
	int (*update)(void *ctx, struct dt_range *before, struct dt_range *r, struct dt_error *e);
	/* Applies changes: of r, which has been switched on or off, or if r is NULL, of actions,
	 * watch, arm, masks or modes. */
	int (*apply)(void *ctx, struct dt_range *r, struct dt_error *e);
	/* Starts recording if active, else stops it; all: whatever is watched. */
	int (*start)(void *ctx, bool active, bool all, struct dt_error *e);
	/* Freezes recording, or lets it go on. */
	int (*freeze)(void *ctx, bool frozen, struct dt_error *e);
	/* Makes the log hold so many records; those in it are dropped. */
	int (*size)(void *ctx, uint64_t records, struct dt_error *e);
	/* Forgets all records and counts. */
	int (*reset)(void *ctx, struct dt_error *e);
	/* Records an entry with the given pc and values. */
	int (*inject)(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t value[4],
		      struct dt_error *e);
	/* Fills in *c. */
	void (*counters)(void *ctx, struct dt_counters *c);
	/*
	 * Finds the number of a subsystem of events by its name. Returns 1, or 0 if there is no
	 * such name.
	 */
	int (*subsystem)(void *ctx, const char *name, uint16_t *number);
	/*
	 * Obeys a command that only this provider has; NULL: there is none. Returns 1 if it does
	 * not know the command.
	 */
	int (*other)(void *ctx, const struct dt_asker *who, char *const *word, unsigned n,
		     struct dt_error *e);
	const char *other_help; /* lines of help about them; NULL: none */
	/* Is asked between the commands of one write whether to give up the rest; NULL: never. */
	bool (*interrupted)(void *ctx);
	/*
	 * Gives the state that the commands of other() have set, as commands, in whole lines; NULL:
	 * there is none.
	 */
	void (*state)(void *ctx, void (*line)(void *to, const char *text, size_t n), void *to);
};

/* The state of a device. */
struct dt_device {
	const struct dt_device_ops *ops;
	void *ctx;
	struct dt_range *range; /* all ranges, in the order in which they were made */
	size_t n, room;
	uint32_t *hash; /* by name: index + 1 of the chain's first range; 0: none */
	size_t buckets;
	uint32_t *by_start; /* indices of the address ranges, sorted */
	size_t addresses;
	uint32_t *watch; /* ids of processes and threads, sorted; none: all are watched */
	size_t watches, watch_room;
	struct {
		uint16_t number;
		bool on;
	} * mask; /* subsystems that have been switched one by one, sorted by number */
	size_t masks;
	bool mask_off;	  /* subsystems that are not in mask[] are off */
	uint64_t logsize; /* records */
	bool active, all, uniform;
	uint8_t policy;	 /* enum dt_policy of the log */
	uint64_t events; /* recording stops after so many records; 0: never */
	struct dt_arm arm;
	uint64_t lookups; /* control operations that found an enabled range */
	char error[512];  /* error of the last write, "" if it succeeded */
};

/* Begins a device without ranges; ops and ctx must outlive it. */
void dt_device_init(struct dt_device *d, const struct dt_device_ops *ops, void *ctx);
/* Frees everything that the device owns, and has the provider forget its ranges. */
void dt_device_free(struct dt_device *d);

/*
 * Obeys the commands in text, one per line, up to the first that fails. Those before it have been
 * obeyed; the error names the line if there are several. Returns 0, or -1 with an error.
 */
int dt_device_write(struct dt_device *d, const struct dt_asker *who, const char *text, size_t n,
		    struct dt_error *e);

/* Gives the state, line by line, in the form of section 1.5 of the original. */
void dt_device_read(struct dt_device *d, void (*line)(void *ctx, const char *text, size_t n),
		    void *ctx);

/* Returns the range or point of that name, or NULL. */
struct dt_range *dt_device_find(struct dt_device *d, const char *name);

/* Returns the enabled point at address, else the enabled range that contains it; NULL: none. */
struct dt_range *dt_device_at(struct dt_device *d, uint64_t address);

/* Return the address range that overlaps [start, end], and the point at address, whether on or off.
 * NULL: none. */
struct dt_range *dt_device_overlapping(struct dt_device *d, uint64_t start, uint64_t end);
struct dt_range *dt_device_point(struct dt_device *d, uint64_t address);

/* Makes room for one more range in all tables, so that the next dt_device_insert() can not fail. */
int dt_device_room(struct dt_device *d, struct dt_error *e);
/* Adds a copy of r. The pointer returned is valid until the next range is added or removed. */
struct dt_range *dt_device_insert(struct dt_device *d, const struct dt_range *r);
/* Rebuilds the hash table after names of ranges have changed. */
void dt_device_hash(struct dt_device *d);
/* Removes a range, which must be off. */
void dt_device_remove(struct dt_device *d, struct dt_range *r);

/* Allocates through dt_device_ops.resize. */
void *dt_device_resize(struct dt_device *d, void *p, size_t bytes);

/* Are events of this subsystem recorded? */
bool dt_device_subsystem(const struct dt_device *d, uint16_t number);

#endif
