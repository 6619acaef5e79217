/* SPDX-License-Identifier: MIT */
/*
 * The device: what it has been told to trace, in one language for every provider (a session of
 * processes, the kernel). Commands are text; reading gives text that, written back, restores the
 * state. What a command means for the provider is its operations' business: the device parses,
 * checks, remembers, and changes its state only when the operation has succeeded.
 *
 * doc/language.md describes the language. Sources: Plan 9's devtrace (ranges, ctl), Kitrace
 * (tracepoints with options), Barrelfish (triggers, masks). No lock: the caller has one.
 */
#ifndef DT_CORE_DEVICE_H
#define DT_CORE_DEVICE_H

#include "core/error.h"
#include "core/record.h"

#define DT_NAME_MAX	    63	  /* bytes of a range's name */
#define DT_LOG_DEFAULT	    8192u /* records */
#define DT_LOG_MAX_EXPONENT 26u	  /* 64 Mi records: 4 GiB */
#define DT_WORDS_MAX	    256u  /* in one command */
#define DT_CAPTURE_MAX	    1023  /* bytes of what one point captures, as words */

/* What happens at the sites of a range; a set of these. */
enum {
	DT_DO_ENTRY = 1 << 0,	   /* entries are recorded */
	DT_DO_EXIT = 1 << 1,	   /* exits are */
	DT_DO_COUNT = 1 << 2,	   /* counted only, no record */
	DT_DO_FREEZE = 1 << 3,	   /* recording stops behind this record */
	DT_DO_UNFREEZE = 1 << 4,   /* recording goes on with this record, also when frozen */
	DT_DO_LATEFREEZE = 1 << 5, /* recording stops `late' records behind this one */
	DT_DO_ONLYPID = 1 << 6,	   /* only in process `pid' */
	DT_DO_BASE = 1 << 7,	   /* later time differences are from this record */
	DT_DO_ADJACENT = 1 << 8,   /* ...from the one before, again */
	DT_DO_CONST = 1 << 9,	   /* the value `constant' goes with it */
	DT_DO_PID = 1 << 10,	   /* Kitrace's PID: every record has its thread */
	DT_DO_ARGS = 1 << 11,	   /* with an entry go those arguments that its record lacks */
};

/* Those that need each event looked at. The others are done by switching sites. */
#define DT_DO_CAREFUL                                                                              \
	(DT_DO_COUNT | DT_DO_FREEZE | DT_DO_UNFREEZE | DT_DO_LATEFREEZE | DT_DO_ONLYPID |          \
	 DT_DO_BASE | DT_DO_ADJACENT | DT_DO_CONST)

struct dt_action {
	uint32_t what; /* DT_DO_... */
	uint32_t pid;
	uint64_t late, constant;
};

enum dt_range_kind {
	DT_RANGE_ADDRESS, /* [start, end], both included */
	DT_RANGE_SET,	  /* the functions that the pattern `what' means, now and later */
	DT_RANGE_POINT,	  /* Kitrace's tracepoint: the one site at start */
};

struct dt_range {
	char name[DT_NAME_MAX + 1];
	char *what;    /* of a set or point: as it was given. Owned. */
	char *capture; /* of a point: what is captured, as words; NULL: nothing. Owned. */
	uint64_t start, end;
	enum dt_range_kind kind;
	bool on;
	struct dt_action action;
	void *host;	/* the provider's; given to ops->forget() in the end */
	uint32_t chain; /* next range with the same hash, plus one */
};

/* Whoever writes a command, and where answers to it go: whole lines. */
struct dt_asker {
	uint32_t pid;
	void (*answer)(void *ctx, const char *line, size_t n);
	void *ctx;
};

struct dt_counters {
	uint64_t hits;	 /* records ever made since the beginning or the last size, lost ones too */
	uint64_t queued; /* of those, how many have not been read */
	uint64_t lost;
	uint64_t in, out; /* entries and exits that hit an enabled range, recorded or not */
	uint64_t log;	  /* an address for #tracelog */
	bool frozen, armed;
};

/* Where an address expression leads. */
struct dt_place {
	uint64_t start, end; /* end: the last byte of the function that begins at start; or start */
	uint64_t at;	     /* of a line: its first instruction, in that function; otherwise 0 */
};

struct dt_arm {
	bool set;
	bool has_start, has_stop;
	uint64_t start, stop; /* bodies of events */
	uint64_t duration;    /* ns, 0: no end */
};

struct dt_device;

/* All return 0, or -1 with an error and nothing changed, unless they say more. */
struct dt_device_ops {
	/* realloc(): p NULL makes, bytes 0 frees */
	void *(*resize)(void *ctx, void *p, size_t bytes);
	/* a symbol, MODULE:SYMBOL or FILE:LINE. 1: found; 0: it is none; -1: error (two of them) */
	int (*place)(void *ctx, const char *text, struct dt_place *place, struct dt_error *e);
	/* what short hexadecimal addresses are added to, and where they end */
	void (*text)(void *ctx, uint64_t *base, uint64_t *end);
	/* may this range be made? fills in range->host; start and end of a point */
	int (*check)(void *ctx, struct dt_range *r, struct dt_error *e);
	void (*forget)(void *ctx, struct dt_range *r);
	/* A point that was `before' is r from here on, in one moment; before's host is still there.
	 */
	int (*update)(void *ctx, struct dt_range *before, struct dt_range *r, struct dt_error *e);
	/* Ranges have changed: r has been switched, or (NULL) actions, watch, arm, masks or modes.
	 */
	int (*apply)(void *ctx, struct dt_range *r, struct dt_error *e);
	int (*start)(void *ctx, bool active, bool all, struct dt_error *e);
	int (*freeze)(void *ctx, bool frozen, struct dt_error *e);
	int (*size)(void *ctx, uint64_t records, struct dt_error *e);
	int (*reset)(void *ctx, struct dt_error *e);
	/* an entry record made by hand */
	int (*inject)(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t value[4],
		      struct dt_error *e);
	void (*counters)(void *ctx, struct dt_counters *c);
	/* a subsystem of events by name: 1, 0: none of that name */
	int (*subsystem)(void *ctx, const char *name, uint16_t *number);
	/* commands that only this provider has. 1: not known */
	int (*other)(void *ctx, const struct dt_asker *who, char *const *word, unsigned n,
		     struct dt_error *e);
	const char *other_help;
	/* between the commands of one write: is no more of it wanted? NULL: never */
	bool (*interrupted)(void *ctx);
	/* says what it has been told by those, as commands: whole lines. NULL: nothing */
	void (*state)(void *ctx, void (*line)(void *to, const char *text, size_t n), void *to);
};

struct dt_device {
	const struct dt_device_ops *ops;
	void *ctx;
	struct dt_range *range; /* in the order they were made */
	size_t n, room;
	uint32_t *hash; /* by name: index + 1 of the first in the chain */
	size_t buckets;
	uint32_t *by_start; /* indices of the address ranges, sorted */
	size_t addresses;
	uint32_t *watch; /* sorted */
	size_t watches, watch_room;
	struct {
		uint16_t number;
		bool on;
	} * mask; /* subsystems that differ from mask_all; sorted */
	size_t masks;
	bool mask_off; /* subsystems that are not named are off */
	uint64_t logsize;
	bool active, all, uniform;
	uint8_t policy;	 /* enum dt_policy of the log */
	uint64_t events; /* stop after so many records, 0: never */
	struct dt_arm arm;
	uint64_t lookups; /* control operations that found an enabled range */
	char error[512];  /* the last one, "" when the last write went well */
};

void dt_device_init(struct dt_device *d, const struct dt_device_ops *ops, void *ctx);
void dt_device_free(struct dt_device *d);

/*
 * Obeys the commands in text, one a line. The first that fails ends it: those before it have been
 * obeyed, and the error names the line when there are several.
 */
int dt_device_write(struct dt_device *d, const struct dt_asker *who, const char *text, size_t n,
		    struct dt_error *e);

/* Gives the state, line by line, as section 1.5 of the original has it. */
void dt_device_read(struct dt_device *d, void (*line)(void *ctx, const char *text, size_t n),
		    void *ctx);

struct dt_range *dt_device_find(struct dt_device *d, const char *name);

/* The enabled range that contains address, points first; NULL: none. */
struct dt_range *dt_device_at(struct dt_device *d, uint64_t address);

/* The address range that has something in common with [start, end]; the point at address, on or
 * off. NULL: none. */
struct dt_range *dt_device_overlapping(struct dt_device *d, uint64_t start, uint64_t end);
struct dt_range *dt_device_point(struct dt_device *d, uint64_t address);

/* Room for one more range everywhere; behind that dt_device_insert() can not fail. */
int dt_device_room(struct dt_device *d, struct dt_error *e);
/* Puts a copy of it among the others; valid until the next is. */
struct dt_range *dt_device_insert(struct dt_device *d, const struct dt_range *r);
/* The names of ranges have changed. */
void dt_device_hash(struct dt_device *d);
/* Forgets it; it is off already. */
void dt_device_remove(struct dt_device *d, struct dt_range *r);

/* Memory of the provider: as dt_device_ops.resize. */
void *dt_device_resize(struct dt_device *d, void *p, size_t bytes);

/* Are events of this subsystem recorded? */
bool dt_device_subsystem(const struct dt_device *d, uint16_t number);

#endif
