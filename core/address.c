/* SPDX-License-Identifier: MIT */
/* Reads address expressions. */
#include "core/address.h"
#include "core/words.h"

#define TERM 512 /* bytes a symbol can have */

/*
 * Reads one term. Returns 1 for a symbol, 0 for a number, -1 with an error if it is neither or
 * looking it up failed.
 */
static int term(struct dt_device *d, const char *text, struct dt_place *place, const char *role,
		struct dt_error *e)
{
	bool forced = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	int found;

	place->at = 0;
	found = forced || !d->ops->place ? 0 : d->ops->place(d->ctx, text, place, e);
	if (found)
		return found;
	if (dt_word_hex(text, &place->start)) {
		place->end = place->start;
		return 0;
	}
	return dt_fail(e,
		       "devtrace: %s address not in recognized format: '%s' is neither a symbol "
		       "nor a hexadecimal number",
		       role, text);
}

int dt_address(struct dt_device *d, const char *word, struct dt_place *place, const char *role,
	       struct dt_error *e)
{
	char text[TERM];
	const char *p = word;
	uint64_t sum = 0, base, end;
	bool symbol = false;
	struct dt_place one;
	int rc;

	if (dt_word_length(word) >= sizeof(text))
		return dt_fail(e, "devtrace: '%.20s...' is too long for an address", word);
	/* the whole word first: a name such as operator+ contains a '+' */
	rc = term(d, word, place, role, NULL);
	if (rc == 1)
		return 0;
	for (;;) {
		size_t n = 0;

		while (p[n] && p[n] != '+')
			text[n] = p[n], n++;
		text[n] = '\0';
		rc = term(d, text, &one, role, e);
		if (rc < 0)
			return -1;
		symbol = symbol || rc == 1;
		sum += one.at ? one.at : one.start;
		if (!p[n])
			break;
		p += n + 1;
	}
	d->ops->text(d->ctx, &base, &end);
	if (!symbol && sum < base)
		sum += base;
	*place = (struct dt_place){.start = sum, .end = sum};
	return 0;
}
