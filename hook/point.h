/* SPDX-License-Identifier: MIT */
/*
 * Points: single instructions of a file that are to be recorded, each with what is captured there
 * (arch/x86_64/capture.h). They are the file's, numbered from 0, and are never forgotten while it
 * is known: records of one that has been replaced may still come. hook/probes.h plants them.
 */
#ifndef DT_HOOK_POINT_H
#define DT_HOOK_POINT_H

#include "arch/arch.h"
#include "core/error.h"
#include "elf/elf.h"

/* What one value is called, and its type as signatures have it (symbols/symtab.h): "i4". */
struct dt_label {
	char name[60];
	char type[24];
	bool pair; /* the next item is its second half, in the same record */
};

struct dt_point {
	struct dt_elf_site site; /* DT_ELF_POINT; function: that it is in */
	uint32_t id;
	char *name; /* of an event: "provider:name"; NULL: it is called by its place */
	char *what; /* what is captured, as it was asked for; "" when nothing is */
	struct dt_item *item;
	struct dt_label *label; /* of each item */
	unsigned items;
	bool headless;	    /* no record of its own: what it has belongs to a function's entry */
	uint64_t semaphore; /* of a USDT probe: a 16-bit counter to be raised meanwhile; 0: none */
	unsigned wanted;    /* by how many ranges */
	bool used;	    /* it was wanted once: records of it may come */
	bool idle;	    /* no range knows it: it may become another */
};

struct dt_points {
	struct dt_point **point; /* by id */
	uint32_t n, room;
};

/*
 * Adds one, which owns what p points to from here on: one that was there before, when it is the
 * same and idle, or was never used. NULL: no memory, and *p is freed.
 */
struct dt_point *dt_points_add(struct dt_points *all, const struct dt_point *p);
void dt_points_free(struct dt_points *all);

/* Adds an item to a point that is being made, at most DT_CAPTURE_ITEMS. */
int dt_point_item(struct dt_point *p, const struct dt_item *item, const char *name,
		  const char *type, struct dt_error *e);
void dt_point_release(struct dt_point *p); /* of one that was not added */

/* Bytes of code that capturing takes, at most. */
size_t dt_point_size(const struct dt_point *p);

#endif
