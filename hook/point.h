/* SPDX-License-Identifier: MIT */
/*
 * Points: single instructions of a file that are to be recorded, each with what is captured there
 * (arch/capture.h). They belong to the file, are numbered from 0, and live as long as it:
 * records of a point that has been replaced may still arrive. hook/probes.h plants them.
 */
#ifndef DT_HOOK_POINT_H
#define DT_HOOK_POINT_H

#include "arch/arch.h"
#include "core/error.h"
#include "elf/elf.h"

/* The name of one captured value, and its type as written in signatures (symbols/symtab.h): "i4".
 */
struct dt_label {
	char name[60];
	char type[24];
	bool pair; /* the next item is the value's second half, in the same record */
};

/* A point. */
struct dt_point {
	struct dt_elf_site site; /* kind is DT_ELF_POINT; function is the one it lies in */
	uint32_t id;		 /* index in dt_points.point */
	char *name;	      /* "provider:name" of a USDT probe; NULL: it is named by its place */
	char *what;	      /* what is captured, as the user wrote it; "" when nothing is */
	struct dt_item *item; /* `items' of them */
	struct dt_label *label; /* one for each item */
	unsigned items;
	bool headless; /* it makes no record of its own: its values belong to a function's
			  entry record */
	bool crossing; /* at a function's entry: recorded only in calls that the modules make
			  which the hooks of crossing sites look for (hook/target-from.h) */
	struct dt_keeping kept; /* what it keeps of a call, or has been kept */
	uint8_t results; /* at an exit: it records the stack with these results; 0: it does not */
	/* it is at an exit: what it records belongs to calls of the function at this address; 0: it
	 * is not */
	uint64_t leaves;
	/* it is at a jump through the slot at this address: its record is the entry of the function
	 * there, where none of the modules of crossing sites is returned to; 0: it is not */
	uint64_t slot;
	uint64_t semaphore; /* of a USDT probe: the file's address of a 16-bit counter to be raised
			       while the point is on; 0: none */
	unsigned wanted;    /* by how many ranges it is wanted */
	bool used;	    /* it was wanted at some time: records of it may arrive */
	bool idle;	    /* no range refers to it: it may be reused */
};

/* All points of a file. */
struct dt_points {
	struct dt_point **point; /* by id */
	uint32_t n, room;
};

/*
 * Adds the point *p and returns it; what p's fields point to is owned by `all' from here on. An
 * idle point is reused if it equals *p or was never used. NULL: no memory, and what p's fields
 * point to has been freed.
 */
struct dt_point *dt_points_add(struct dt_points *all, const struct dt_point *p);
/* Frees all points. */
void dt_points_free(struct dt_points *all);

/* Appends an item to a point that has not been added yet. -1: it has DT_CAPTURE_ITEMS already, or
 * no memory. */
int dt_point_item(struct dt_point *p, const struct dt_item *item, const char *name,
		  const char *type, struct dt_error *e);
void dt_point_release(struct dt_point *p); /* frees the fields of a point that was not added */

/* Returns the most bytes of code that capturing the point's items can take. */
size_t dt_point_size(const struct dt_point *p);

#endif
