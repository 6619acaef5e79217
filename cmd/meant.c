/* SPDX-License-Identifier: MIT */
#include "cmd/meant.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plain.h"
#include "process/launch.h"

#define WORDS 160 /* bytes of a hint; of longer commands the end is left out */

static char hint[WORDS + 64];

/* Appends a word as the shell reads it. Returns false if there is no room. */
static bool put_word(char *to, size_t size, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "%+,-./:=@_";
	bool quote = !*word || word[strspn(word, safe)];
	size_t n = strlen(to), w = strlen(word);

	if (strchr(word, '\'') || !dt_plain_is(word) || n + w + 4 > size)
		return false;
	snprintf(to + n, size - n, quote ? " '%s'" : " %s", word);
	return true;
}

void dt_cmd_meant_of(const char *name, int argc, char **argv)
{
	char *program = dt_launch_search(name), words[WORDS] = "";
	int i = 0;

	free(program);
	if (!program)
		return;
	while (i < argc && put_word(words, sizeof(words) - 4, argv[i]))
		i++;
	if (i < argc)
		strcat(words, " ...");
	snprintf(hint, sizeof(hint), " (the program %s is traced by: devtrace -- %s%s)", name, name,
		 words);
}

void dt_cmd_meant_near(const char *word, const char *names)
{
	char *program = *names ? dt_launch_search(word) : NULL;

	if (*names && !program)
		snprintf(hint, sizeof(hint), ", nor is it a command of devtrace%.*s", WORDS, names);
	free(program);
}

const char *dt_cmd_meant_hint(void)
{
	return hint;
}
