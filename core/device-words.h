/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the words of the device language that are not commands: options, events,
 * durations.
 */
#ifndef DT_CORE_DEVICE_WORDS_H
#define DT_CORE_DEVICE_WORDS_H

#include "core/device.h"

extern const char *const dt_policy_name[]; /* indexed by enum dt_policy */

/*
 * Reads options up to the first word that is none; *used is set to how many words they are. Options
 * that capture at an instruction are appended to capture, as words (room: DT_CAPTURE_MAX + 1
 * bytes); if capture is NULL, they are refused. Returns 0, or -1 with an error.
 */
int dt_parse_action(char *const *word, unsigned n, struct dt_action *a, char *capture,
		    unsigned *used, struct dt_error *e);

/*
 * Writes text to out in quotes, and returns out; returns text itself if it is one word without
 * quotes. Text that does not fit is cut.
 */
const char *dt_word_written(char *out, size_t size, const char *text);

/*
 * Writes the options of an action, each with a space before it. usual: the DT_DO_* bits that need
 * not be written, because they are the default.
 */
void dt_format_action(char *out, size_t size, const struct dt_action *a, uint32_t usual);

/*
 * Reads an event: "-" for none, a 64-bit hexadecimal body, or subsystem:event:argument in decimal
 * or, the subsystem, by name. Returns 0, or -1 with an error.
 */
int dt_parse_event(struct dt_device *d, const char *word, bool *has, uint64_t *body,
		   struct dt_error *e);

/*
 * Reads a duration such as "10us", "1500ms", "2s", "300ns" or "0" into *ns. Returns 0, or -1 with
 * an error.
 */
int dt_parse_duration(const char *word, uint64_t *ns, struct dt_error *e);

#endif
