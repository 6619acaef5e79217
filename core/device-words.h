/* SPDX-License-Identifier: MIT */
/* The words of the device language that are not commands: options, events, durations. */
#ifndef DT_CORE_DEVICE_WORDS_H
#define DT_CORE_DEVICE_WORDS_H

#include "core/device.h"

extern const char *const dt_policy_name[]; /* by enum dt_policy */

/*
 * Reads options up to the first word that is none; *used: how many words. Those that capture at an
 * instruction go to capture, as words again (DT_CAPTURE_MAX + 1 bytes; NULL: refused).
 */
int dt_parse_action(char *const *word, unsigned n, struct dt_action *a, char *capture,
		    unsigned *used, struct dt_error *e);

/* text in quotes when it needs them to be one word; returns out, or text itself. */
const char *dt_word_written(char *out, size_t size, const char *text);

/* Writes them back, each with a space in front. usual: what goes without saying. */
void dt_format_action(char *out, size_t size, const struct dt_action *a, uint32_t usual);

/* "-": none; a 64-bit hexadecimal body; or subsystem:event:argument, in decimal, or by name. */
int dt_parse_event(struct dt_device *d, const char *word, bool *has, uint64_t *body,
		   struct dt_error *e);

/* "10us", "1500ms", "2s", "300ns", "0": ns */
int dt_parse_duration(const char *word, uint64_t *ns, struct dt_error *e);

#endif
