/* SPDX-License-Identifier: MIT */
/*
 * Switches the sleds of a running program on and off at random, one byte at a time, as fast as it
 * can, from outside and without stopping it.
 * usage: toggler PROG COMMAND [ARG...]
 *
 * Runs COMMAND (`devtrace record PROG`), finds the process in it that runs PROG, waits until its
 * hooks are set, and then toggles until it ends. The exit status is that of COMMAND; how many
 * times it toggled goes to standard error.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf.h"

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static bool is_exe(pid_t pid, const struct stat *prog)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, &st) && st.st_dev == prog->st_dev && st.st_ino == prog->st_ino;
}

/* The first process below pid that runs prog; 0: there is none just now. */
static pid_t find(pid_t pid, const struct stat *prog)
{
	char path[64];
	pid_t child, found = 0;
	FILE *f;

	if (is_exe(pid, prog))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	while (f && !found && fscanf(f, "%d", &child) == 1)
		found = find(child, prog);
	if (f)
		fclose(f);
	return found;
}

/* The load bias: where the mapping of the file's first byte is, minus where it wants to be. */
static bool find_bias(pid_t pid, const struct dt_elf *f, const struct stat *prog, uint64_t *bias)
{
	char path[64], line[PATH_MAX + 128];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long low, offset, inode;

		if (sscanf(line, "%lx-%*x %*s %lx %*s %lu", &low, &offset, &inode) != 3 ||
		    inode != prog->st_ino)
			continue;
		for (size_t i = 0; i < f->loads && !found; i++)
			if ((f->load[i].offset & ~4095ul) == offset) {
				*bias = low - (f->load[i].vaddr & ~4095ul);
				found = true;
			}
	}
	if (maps)
		fclose(maps);
	return found;
}

/* The other of a site's two bytes; 0: neither is there. */
static uint8_t other(uint8_t kind, uint8_t is)
{
	static const uint8_t off[DT_ELF_KINDS] =
		{0, 0xa9, 0xc3, 0xe9, 0xa9, [DT_ELF_JUMP] = 0xff, [DT_ELF_JUMP_DIRECT] = 0xe9},
			     on[DT_ELF_KINDS] = {0,
						 0xe8,
						 0x90,
						 0xa9,
						 0xe9,
						 [DT_ELF_JUMP] = 0x85,
						 [DT_ELF_JUMP_DIRECT] = 0xa9};

	return is == off[kind] ? on[kind] : is == on[kind] ? off[kind] : 0;
}

/* Toggles until the process has ended; returns how often. */
static uint64_t toggle(int mem, const struct dt_elf *f, uint64_t bias)
{
	uint64_t n = 0;

	for (;; n++) {
		const struct dt_elf_site *s = &f->site[any() % f->sites];
		off_t at = (off_t)(bias + s->address);
		uint8_t byte;

		if (pread(mem, &byte, 1, at) != 1)
			return n;
		byte = other(s->kind, byte);
		if (!byte) {
			fprintf(stderr, "toggler: the site at %lx is no sled\n", (long)at);
			exit(3);
		}
		if (pwrite(mem, &byte, 1, at) != 1)
			return n;
	}
}

/* Until the hooks are set there is nothing to toggle. false: the process ended before. */
static bool wait_hooks(int mem, const struct dt_elf *f, uint64_t bias)
{
	uint64_t slot[2];

	for (;;) {
		if (pread(mem, slot, sizeof(slot),
			  (off_t)(bias + (f->hooks ? f->hooks : f->event_hooks))) != sizeof(slot))
			return false;
		if (slot[0] && slot[1])
			return true;
		sched_yield();
	}
}

static uint64_t run(pid_t pid, const struct dt_elf *f, const struct stat *prog)
{
	char path[64];
	uint64_t bias, n = 0;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return 0;
	/* the file may be mapped a little after it is the process's program */
	while (is_exe(pid, prog))
		if (find_bias(pid, f, prog, &bias)) {
			if (wait_hooks(mem, f, bias))
				n = toggle(mem, f, bias);
			break;
		}
	close(mem);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t toggles = 0;
	struct dt_error e;
	struct dt_elf *f;
	struct stat prog;
	pid_t pid, command;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: toggler PROG COMMAND [ARG...]\n");
		return 2;
	}
	f = dt_elf_open(argv[1], &e);
	if (!f || !f->sites || stat(argv[1], &prog)) {
		fprintf(stderr, "toggler: %s\n", f ? "there are no sleds" : e.text);
		return 2;
	}
	seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15u | 1;
	command = fork();
	if (!command) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	while (!waitpid(command, &status, WNOHANG)) {
		pid = find(command, &prog);
		if (pid && pid != command)
			toggles += run(pid, f, &prog);
	}
	fprintf(stderr, "toggler: %lu\n", (unsigned long)toggles);
	dt_elf_close(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
