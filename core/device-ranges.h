/* SPDX-License-Identifier: MIT */
/*
 * Ranges and points of a device, for the commands that make and change them. All return 0, or -1
 * with an error and nothing changed, unless they say more.
 */
#ifndef DT_CORE_DEVICE_RANGES_H
#define DT_CORE_DEVICE_RANGES_H

#include "core/device.h"

/* A line to whoever asks, if he listens; cut at 510 bytes. Always 0. */
int dt_device_answer(const struct dt_asker *who, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* word: what is traced (`what' of them: one or two), "new", the name, options. */
int dt_range_new(struct dt_device *d, char *const *word, unsigned n, unsigned what,
		 struct dt_error *e);

/* Kitrace's trace: groups of an address and options; every one is looked at before the first is
 * set. */
int dt_range_points(struct dt_device *d, const struct dt_asker *who, char *const *word, unsigned n,
		    struct dt_error *e);

/* A range by its name, or a point by any way to write its address. NULL: none. */
struct dt_range *dt_range_named(struct dt_device *d, const char *word);

/* Switches it and has the provider follow. */
int dt_range_switch(struct dt_device *d, struct dt_range *r, bool on, struct dt_error *e);
int dt_range_rename(struct dt_device *d, struct dt_range *r, const char *name, struct dt_error *e);
/* "There is none of that name": always -1. */
int dt_range_unknown(const char *name, struct dt_error *e);

#endif
