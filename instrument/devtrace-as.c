// SPDX-License-Identifier: MIT
/*
 * A program that compilers run as `as` (gcc -B DIR, clang -fno-integrated-as -B DIR): it adds sleds
 * to the compiler's text and becomes the real assembler, which reads the result from its standard
 * input. Text that no compiler wrote goes to the real assembler unchanged. This program never fails
 * a build that would succeed without it.
 */
#include "instrument/sled.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
/* Environment variable: which programs have run already, and so are not the real assembler, as
 * "device:inode " each. */
#define SKIP_ENV "DEVTRACE_AS_SKIP"

/* What the arguments say. */
struct job {
	int file;	/* index of the input file in argv, 0 for standard input */
	bool untouched; /* no sleds: several files, or an option that is unsuitable() */
};

static const char *const with_value[] = {"-o",	    "-I",	  "--defsym", "--MD",
					 "-MD",	    "-t",	  "-Q",	      "--debug-prefix-map",
					 "-defsym", "--hash-size"};

static bool takes_value(const char *arg)
{
	for (size_t i = 0; i < sizeof(with_value) / sizeof(*with_value); i++)
		if (!strcmp(arg, with_value[i]))
			return true;
	return false;
}

/* Says whether the option makes the assembler print and end, chooses other than 64-bit code, or is
 * not understood here. */
static bool unsuitable(const char *arg)
{
	static const char *const options[] = {"--32",	"--x32",	 "--version",	 "-version",
					      "--help", "--target-help", "--dump-config"};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(arg, options[i]))
			return true;
	return !strncmp(arg, "--listing-", 10) || *arg == '@';
}

static struct job parse(int argc, char **argv)
{
	struct job job = {0};

	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (unsuitable(a))
			job.untouched = true;
		else if (takes_value(a))
			i++;
		else if (*a != '-') {
			job.untouched |= job.file != 0;
			job.file = i;
		}
	}
	return job;
}

/* Reads all of a file, and writes a newline and a zero byte after it. False: an error, in errno. */
static bool read_all(int fd, struct text *t)
{
	struct stat st;
	size_t room = 1 << 16;
	ssize_t n;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		room = st.st_size + 1;
	do {
		if (t->cap - t->len < room + 2) {
			t->cap = t->cap + t->cap / 2 + room + 2;
			t->data = realloc(t->data, t->cap);
			if (!t->data)
				return false;
		}
		n = read(fd, t->data + t->len, t->cap - t->len - 2);
		if (n > 0)
			t->len += n;
		room = 1 << 12;
	} while (n > 0 || (n < 0 && errno == EINTR));
	t->data[t->len] = '\n';
	t->data[t->len + 1] = 0;
	return n == 0;
}

static bool write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			p += n;
			len -= n;
		}
	}
	return true;
}

/* Returns a file without a name: in memory, or else in the directory for temporary files. */
static int unnamed(void)
{
	const char *dir = getenv("TMPDIR");
	char name[PATH_MAX];
	int fd = memfd_create("devtrace-as", MFD_CLOEXEC);

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "%s/devtrace-as-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkstemp(name);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* Makes the text the standard input. False: an error, in errno. */
static bool feed(const char *data, size_t len)
{
	int fd = unnamed();

	return fd >= 0 && write_all(fd, data, len) && lseek(fd, 0, SEEK_SET) == 0 &&
	       dup2(fd, STDIN_FILENO) == STDIN_FILENO;
}

static bool file_id(const char *path, char *id, size_t size)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	snprintf(id, size, "%lx:%lx ", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
	return true;
}

/* Adds this program to those to be skipped, and says whether another copy of it has run before. */
static bool skip_self(void)
{
	const char *old = getenv(SKIP_ENV);
	char id[64], all[PATH_MAX];

	if (!file_id("/proc/self/exe", id, sizeof(id)))
		*id = 0;
	snprintf(all, sizeof(all), "%s%s", old ? old : "", id);
	setenv(SKIP_ENV, all, 1);
	return old != NULL;
}

static bool is_assembler(const char *path)
{
	const char *skipped = getenv(SKIP_ENV);
	char id[64];

	if (access(path, X_OK) || !file_id(path, id, sizeof(id)))
		return false;
	/* "1:2 " is in "11:2 ", too */
	for (const char *p = skipped; p && (p = strstr(p, id)); p++)
		if (p == skipped || p[-1] == ' ')
			return false;
	return true;
}

/* Finds the first `as` on the PATH that is not to be skipped. */
static bool find_assembler(char *found, size_t size)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : DEFAULT_PATH; p; p = strchr(p, ':')) {
		p += *p == ':';
		int n = strcspn(p, ":");
		snprintf(found, size, "%.*s%sas", n, p, n ? "/" : "");
		if (is_assembler(found))
			return true;
	}
	return false;
}

static int become_assembler(char **argv)
{
	const char *chosen = getenv("DEVTRACE_AS");
	char found[PATH_MAX];

	if (chosen && *chosen)
		snprintf(found, sizeof(found), "%s", chosen);
	else if (!find_assembler(found, sizeof(found))) {
		fprintf(stderr,
			"devtrace-as: no assembler 'as' on the PATH; install binutils or set "
			"DEVTRACE_AS to its path\n");
		return 1;
	}
	unsetenv("DEVTRACE_AS");
	execv(found, argv);
	fprintf(stderr, "devtrace-as: cannot run the assembler %s: %s\n", found, strerror(errno));
	return 1;
}

/* Returns the name, or NULL if it can not stand between the quotes of a line marker. */
static const char *plain_name(const char *file)
{
	return file && !strpbrk(file, "\"\\\n") ? file : NULL;
}

/* Adds sleds to the input and makes the result the assembler's input. */
static void instrument(int argc, char **argv, struct job job)
{
	const char *file = job.file ? argv[job.file] : NULL;
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	struct text in = {0}, out = {0};
	bool whole = fd >= 0 && read_all(fd, &in), changed = false;
	size_t len = in.len;

	/* the assembler will report that the file cannot be read */
	if (!whole && file)
		return;
	if (!whole) {
		fprintf(stderr, "devtrace-as: cannot read standard input: %s\n", strerror(errno));
		exit(1);
	}
	if (len && sled_is_compiled(in.data, len)) {
		len += in.data[len - 1] != '\n';
		changed = sled_insert(in.data, len, plain_name(file), &out) > 0;
	}
	if (!changed && file)
		return;
	if (!feed(changed ? out.data : in.data, changed ? out.len : in.len)) {
		if (file) /* the assembler reads the file itself, without sleds */
			return;
		fprintf(stderr, "devtrace-as: cannot write a temporary file: %s\n",
			strerror(errno));
		exit(1);
	}
	if (file)
		memmove(&argv[job.file], &argv[job.file + 1], (argc - job.file) * sizeof(*argv));
}

int main(int argc, char **argv)
{
	struct job job = parse(argc, argv);

	if (!skip_self() && !job.untouched)
		instrument(argc, argv, job);
	return become_assembler(argv);
}
