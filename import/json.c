/* SPDX-License-Identifier: MIT */
#include "import/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define NOT_A_CHARACTER 0xfffdu /* what stands for what is none */

void dt_json_reader_init(struct dt_json_reader *j, FILE *f, const char *path, struct dt_error *e)
{
	*j = (struct dt_json_reader){.f = f, .path = path, .line = 1, .e = e};
}

void dt_json_reader_free(struct dt_json_reader *j)
{
	free(j->text);
	free(j->name);
	j->text = j->name = NULL;
}

int dt_json_wrong(struct dt_json_reader *j, const char *what)
{
	if (ferror(j->f))
		return dt_fail(j->e, "%s: cannot read", j->path);
	return dt_fail(j->e, "%s:%lu: %s", j->path, j->line, what);
}

static int put(struct dt_json_reader *j, int c)
{
	if (j->length + 1 >= j->size) {
		size_t size = j->size ? j->size * 2 : 256;
		char *text = realloc(j->text, size);

		if (!text)
			return dt_fail(j->e, "out of memory");
		j->text = text;
		j->size = size;
	}
	j->text[j->length++] = (char)c;
	j->text[j->length] = '\0';
	return 0;
}

/* Appends a character as UTF-8. */
static int put_character(struct dt_json_reader *j, uint32_t c)
{
	if (c < 0x80)
		return put(j, (int)(c ? c : '?'));
	if (c < 0x800)
		return put(j, (int)(0xc0 | c >> 6)) || put(j, (int)(0x80 | (c & 63)));
	if (c < 0x10000)
		return put(j, (int)(0xe0 | c >> 12)) || put(j, (int)(0x80 | (c >> 6 & 63))) ||
		       put(j, (int)(0x80 | (c & 63)));
	return put(j, (int)(0xf0 | c >> 18)) || put(j, (int)(0x80 | (c >> 12 & 63))) ||
	       put(j, (int)(0x80 | (c >> 6 & 63))) || put(j, (int)(0x80 | (c & 63)));
}

/* Reads the four digits of \uXXXX. */
static int read_unit(struct dt_json_reader *j, uint32_t *unit)
{
	char digits[5] = "";
	uint64_t v;

	for (int i = 0; i < 4; i++) {
		int c = getc_unlocked(j->f);

		if (c == EOF || c == '\n')
			return dt_json_wrong(j, "\\u has four hexadecimal digits");
		digits[i] = (char)c;
	}
	if (dt_text_hex_parse(digits, 4, &v) != 4)
		return dt_json_wrong(j, "\\u has four hexadecimal digits");
	*unit = (uint32_t)v;
	return 0;
}

/* Reads what follows \u: one unit of UTF-16, or two. What is half of a pair is no character. */
static int read_escaped(struct dt_json_reader *j)
{
	uint32_t c, low;

	if (read_unit(j, &c))
		return -1;
	while (c >= 0xd800 && c < 0xdc00) {
		int next = getc_unlocked(j->f);

		if (next != '\\') {
			ungetc(next, j->f);
			return put_character(j, NOT_A_CHARACTER);
		}
		next = getc_unlocked(j->f);
		if (next != 'u') {
			/* the escape that begins here is read by the caller */
			ungetc(next, j->f);
			return put_character(j, NOT_A_CHARACTER) ? -1 : 1;
		}
		if (read_unit(j, &low))
			return -1;
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		} else {
			if (put_character(j, NOT_A_CHARACTER))
				return -1;
			c = low;
		}
	}
	return put_character(j, c && !(c >= 0xdc00 && c < 0xe000) ? c : NOT_A_CHARACTER);
}

/* Reads what follows a backslash. */
static int read_escape(struct dt_json_reader *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int rc = 1;

	while (rc == 1) {
		int c = getc_unlocked(j->f);
		const char *at = c > 0 ? strchr(from, c) : NULL;

		if (c == 'u')
			rc = read_escaped(j);
		else if (at)
			return put(j, to[at - from]);
		else
			return dt_json_wrong(j, "no such escape in a string");
	}
	return rc;
}

static int read_string(struct dt_json_reader *j)
{
	for (;;) {
		int c = getc_unlocked(j->f);

		if (c == '"')
			return DT_TOKEN_STRING;
		if (c == EOF)
			return dt_json_wrong(j, "the file ends within a string: it is cut off");
		if (c == '\n')
			return dt_json_wrong(j, "a string does not end on its line");
		if (c == '\\' ? read_escape(j) : c ? put(j, c) : put_character(j, NOT_A_CHARACTER))
			return DT_TOKEN_ERROR;
	}
}

/* Returns whether the text is a number as JSON has it. */
static bool is_number(const char *s)
{
	const char *digits;

	s += *s == '-';
	digits = s;
	s += strspn(s, "0123456789");
	if (s == digits || (*digits == '0' && s != digits + 1))
		return false;
	if (*s == '.') {
		digits = ++s;
		s += strspn(s, "0123456789");
		if (s == digits)
			return false;
	}
	if (*s == 'e' || *s == 'E') {
		s += 1 + (s[1] == '+' || s[1] == '-');
		digits = s;
		s += strspn(s, "0123456789");
		if (s == digits)
			return false;
	}
	return !*s;
}

/* Reads a number or a word that begins with c. */
static int read_bare(struct dt_json_reader *j, int c)
{
	do {
		if (put(j, c))
			return DT_TOKEN_ERROR;
		c = getc_unlocked(j->f);
	} while (j->length < 400 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' ||
				     c == '.' || c == '-' || c == '+'));
	ungetc(c, j->f);
	if (is_number(j->text))
		return DT_TOKEN_NUMBER;
	if (!strcmp(j->text, "true") || !strcmp(j->text, "false") || !strcmp(j->text, "null"))
		return DT_TOKEN_WORD;
	return dt_json_wrong(j, "this is not JSON: here must be a value");
}

int dt_json_token(struct dt_json_reader *j)
{
	int c;

	do {
		c = getc_unlocked(j->f);
		j->line += c == '\n';
	} while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	if (c == EOF)
		return ferror(j->f) ? dt_json_wrong(j, "cannot read") : DT_TOKEN_END;
	if (c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':')
		return c;
	j->length = 0;
	if (put(j, '\0'))
		return DT_TOKEN_ERROR;
	j->length = 0;
	if (c == '"')
		return read_string(j);
	if (c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
		return read_bare(j, c);
	return dt_json_wrong(j, "this is not JSON: here must be a value");
}

/* Takes the first token of a value. */
static int value(struct dt_json_reader *j)
{
	int token = dt_json_token(j);

	if (token == DT_TOKEN_END)
		return dt_json_wrong(j, "the file ends within a value: it is cut off");
	if (token == '}' || token == ']' || token == ',' || token == ':')
		return dt_json_wrong(j, "this is not JSON: here must be a value");
	return token;
}

/* Makes the text of the last token the name of the member; the value's text gets the other room. */
static void keep_name(struct dt_json_reader *j)
{
	char *text = j->name;
	size_t size = j->name_size;

	j->name = j->text;
	j->name_size = j->size;
	j->text = text;
	j->size = size;
}

int dt_json_read_member(struct dt_json_reader *j, bool *first)
{
	int token = dt_json_token(j);

	if (token == '}')
		return DT_TOKEN_END;
	if (!*first && token == ',')
		token = dt_json_token(j);
	else if (!*first && token > 0)
		return dt_json_wrong(j, "this is not JSON: here must be ',' or '}'");
	*first = false;
	if (token == DT_TOKEN_END)
		return dt_json_wrong(j, "the file ends within an object: it is cut off");
	if (token != DT_TOKEN_STRING)
		return token < 0 ? token
				 : dt_json_wrong(j,
						 "this is not JSON: here must be a name in quotes");
	keep_name(j);
	token = dt_json_token(j);
	if (token != ':')
		return token < 0 ? token : dt_json_wrong(j, "this is not JSON: here must be ':'");
	return value(j);
}

int dt_json_read_element(struct dt_json_reader *j, bool *first)
{
	int token = dt_json_token(j);

	if (token == ']')
		return DT_TOKEN_END;
	if (token == DT_TOKEN_END)
		return dt_json_wrong(j, "the file ends within an array: it is cut off");
	if (*first) {
		*first = false;
		return token == '}' || token == ',' || token == ':'
			       ? dt_json_wrong(j, "this is not JSON: here must be a value")
			       : token;
	}
	if (token != ',')
		return token < 0 ? token
				 : dt_json_wrong(j, "this is not JSON: here must be ',' or ']'");
	return value(j);
}

int dt_json_skip(struct dt_json_reader *j, int token)
{
	bool first = true;
	int rc = 0;

	if (token != '{' && token != '[')
		return 0;
	if (j->depth == DT_JSON_DEPTH)
		return dt_json_wrong(j, "values are nested deeper than 200");
	j->depth++;
	while (!rc) {
		int next = token == '{' ? dt_json_read_member(j, &first)
					: dt_json_read_element(j, &first);

		if (next <= 0) {
			rc = next;
			break;
		}
		rc = dt_json_skip(j, next);
	}
	j->depth--;
	return rc;
}
