/* SPDX-License-Identifier: MIT */
/*
 * Ranges and points of a device, for the commands that make and change them. Every function returns
 * 0, or -1 with an error and nothing changed, unless its remark says otherwise.
 */
#ifndef DT_CORE_DEVICE_RANGES_H
#define DT_CORE_DEVICE_RANGES_H

#include "core/device.h"

/*
 * Sends a line to the asker, unless who or who->answer is NULL; the line is cut at 2046 bytes.
 * Always returns 0.
 */
int dt_device_answer(const struct dt_asker *who, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Obeys "trace ... new ...": word holds what is traced (`what' words: one or two), "new", the name,
 * options.
 */
int dt_range_new(struct dt_device *d, char *const *word, unsigned n, unsigned what,
		 struct dt_error *e);

/* Obeys Kitrace's trace: groups of an address and options. All groups are checked before the first
 * point is set; if setting one fails, those before it stay set. */
int dt_range_points(struct dt_device *d, const struct dt_asker *who, char *const *word, unsigned n,
		    struct dt_error *e);

/*
 * Returns the range of that name, or the point at an address that is written in any way. NULL:
 * there is none.
 */
struct dt_range *dt_range_named(struct dt_device *d, const char *word);

/* Switches the range on or off, and has the provider apply that. */
int dt_range_switch(struct dt_device *d, struct dt_range *r, bool on, struct dt_error *e);
/* Gives the range another name; the error says what is wrong with a name. */
int dt_range_rename(struct dt_device *d, struct dt_range *r, const char *name, struct dt_error *e);
/* Sets the error "trace not found", and always returns -1. */
int dt_range_unknown(const char *name, struct dt_error *e);

#endif
