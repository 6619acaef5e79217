/* SPDX-License-Identifier: MIT */
/* The text of a function's source file. */
#include "view/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/outside.h"
#include "view/asked.h"

#define MOST   (16u << 20) /* bytes of a file that are read at most */
#define BEFORE 3	   /* lines that are told before the function's... */
#define AFTER  40	   /* ...and after it */
#define WIDTH  400	   /* bytes of a line that are told at most */
#define PARTS  64	   /* folders in a name */

int dt_source_folder(const char *path, struct dt_error *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : dt_fail(e, "--source %s: %s", path, strerror(errno));
}

/* Opens a name below a folder, a part at a time: no part may be a link, or lead upwards. */
static int open_below(int folder, const char *name)
{
	int at = folder, fd = -1;

	for (unsigned i = 0; i < PARTS && *name; i++) {
		size_t n = strcspn(name, "/");
		char part[256];
		bool last = !name[n];

		if (!n || n >= sizeof(part) ||
		    (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'))))
			break;
		memcpy(part, name, n);
		part[n] = '\0';
		fd = openat(at, part,
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				    (last ? 0 : O_DIRECTORY));
		if (at != folder)
			close(at);
		if (fd < 0 || last)
			return fd;
		at = fd;
		name += n + 1;
	}
	if (at != folder)
		close(at);
	return -1;
}

int dt_source_open(int folder, const char *name, const char **below)
{
	struct stat st;

	if (!dt_outside_is_source(name))
		return -1;
	for (unsigned i = 0; name && i < PARTS; i++) {
		int fd;

		name += strspn(name, "/");
		fd = open_below(folder, name);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			*below = name;
			return fd;
		}
		if (fd >= 0)
			close(fd);
		name = strchr(name, '/');
	}
	return -1;
}

/* Reads at most MOST bytes; the caller frees *text. Returns how many, or -1. */
static ssize_t read_all(int fd, char **text)
{
	size_t n = 0;
	ssize_t got = 1;

	*text = malloc(MOST);
	while (*text && n < MOST && (got = read(fd, *text + n, MOST - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return -1;
		n += got > 0 ? (size_t)got : 0;
	}
	return *text ? (ssize_t)n : -1;
}

/* Adds the lines around `line'. Returns how many lines the text has; 0: it is no text. */
static uint32_t say_lines(struct dt_json *out, const char *text, size_t n, uint32_t line)
{
	uint32_t number = 0, first = line > BEFORE ? line - BEFORE : 1;
	const char *end = text + n;

	if (memchr(text, 0, n))
		return 0;
	dt_json_print(out, ",\"first\":%u,\"lines\":[", first);
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		char shown[WIDTH + 1];

		if (++number >= first && number <= line + (uint64_t)AFTER) {
			length = length > WIDTH ? WIDTH : length;
			memcpy(shown, text, length);
			shown[length] = '\0';
			dt_json_print(out, number > first ? "," : "");
			dt_json_string(out, shown);
		}
		if (!stop)
			break;
		text = stop + 1;
	}
	dt_json_print(out, "],\"count\":%u", number);
	return number;
}

/* Makes the answer a reason why there is no text, in place of what has been written to it. */
static void say_why(struct dt_asked *a, const char *why)
{
	a->answer->text.bytes.n = 0;
	dt_json_print(&a->answer->text, "{\"why\":");
	dt_json_string(&a->answer->text, why);
	dt_json_print(&a->answer->text, "}");
}

void dt_answer_source(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const struct dt_function_info *f;
	const char *below = "";
	uint64_t function;
	char *text = NULL;
	ssize_t n;
	int fd;

	if (!dt_asked_number(a, "function", 1, UINT32_MAX, &function))
		return;
	f = dt_reader_function(r, (uint32_t)function);
	if (!f || !*f->file) {
		say_why(a, "the trace does not say in which source file it is");
		return;
	}
	if (a->sources < 0) {
		say_why(a, "its text is shown with devtrace view --source FOLDER");
		return;
	}
	fd = dt_source_open(a->sources, f->file, &below);
	n = fd < 0 ? -1 : read_all(fd, &text);
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		say_why(a, "the folder of --source does not have the file");
	} else {
		dt_json_print(&a->answer->text, "{\"file\":");
		dt_json_string(&a->answer->text, below);
		dt_json_print(&a->answer->text, ",\"line\":%u", f->line);
		if (say_lines(&a->answer->text, text, (size_t)n, f->line) < f->line)
			dt_refuse(
				a, 404,
				"the file has fewer lines, or is no text: it is not what was traced");
		else
			dt_json_print(&a->answer->text, "}");
	}
	free(text);
}
