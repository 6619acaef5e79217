/* SPDX-License-Identifier: MIT */
/* Asking the dynamic linker. */
#include "process/needed.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Takes name and path out of a line: "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x...)", or
 * "\t/lib64/ld-linux-x86-64.so.2 (0x...)". False: there is no library in it. */
static bool parse(char *line, char **name, char **path)
{
	char *arrow = strstr(line, " => "), *end = strstr(line, " (0x");

	if (!end)
		return false;
	*end = '\0';
	*name = line + strspn(line, " \t");
	*path = *name;
	if (arrow) {
		*arrow = '\0';
		*path = arrow + 4;
	}
	return strchr(*path, '/') !=
	       NULL; /* no path: the vdso, or a library not found. A path may be relative */
}

int dt_needed_each(const char *path, const char *interp,
		   void (*fn)(void *ctx, const char *name, const char *path), void *ctx)
{
	int out[2], status;
	char *line = NULL, *name, *file;
	size_t room = 0;
	pid_t pid;
	FILE *f;

	if (pipe2(out, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(out[1], 1);
		dup2(null, 2);
		execl(interp, interp, "--list", path, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = pid > 0 ? fdopen(out[0], "r") : NULL;
	while (f && getline(&line, &room, f) > 0)
		if (parse(line, &name, &file))
			fn(ctx, name, file);
	free(line);
	if (f)
		fclose(f);
	else
		close(out[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Looks whether a function of that name brings in code: see dt_needed_grows(). */
static bool brings_in(const char *name)
{
	static const char *const whole[] = {"dlopen",  "dlmopen", "system", "popen",
					    "syscall", "clone",	  "wordexp"};
	static const char *const begins[] = {"exec",	 "posix_spawn", "fexec",   "getpw",
					     "getgr",	 "getaddr",	"gethost", "getserv",
					     "getspnam", "iconv",	"nss_",	   "__nss"};

	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (strcmp(name, whole[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Looks whether the file imports a symbol for which is() returns true. Without a symbol table it
 * returns `unknown'. */
static bool imports(struct dt_elf *f, bool (*is)(const char *name), bool unknown)
{
	uint64_t size = 0, length = 0;
	char *symbols = dt_elf_section(f, ".dynsym", &size, NULL);
	char *names = dt_elf_section(f, ".dynstr", &length, NULL);
	bool found = symbols && names ? false : unknown;

	for (uint64_t i = 0; symbols && names && !found && i < size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, symbols + i * sizeof(s), sizeof(s));
		found = s.st_shndx == SHN_UNDEF && s.st_name < length && is(names + s.st_name);
	}
	free(symbols);
	free(names);
	return found;
}

bool dt_needed_grows(struct dt_elf *f)
{
	return imports(f, brings_in, true);
}

static bool changes_stack(const char *name)
{
	return strcmp(name, "swapcontext") == 0 || strcmp(name, "setcontext") == 0;
}

bool dt_needed_contexts(const char *path)
{
	struct dt_elf *f = dt_elf_open(path, NULL);
	bool contexts = f && imports(f, changes_stack, false);

	dt_elf_close(f);
	return contexts;
}

bool dt_needed_none(const char *path)
{
	struct dt_elf *f = dt_elf_open(path, NULL);
	bool none = f && !f->interp;

	dt_elf_close(f);
	return none;
}
