/* SPDX-License-Identifier: MIT */
/* The capabilities that a controller keeps, and reading the rights of a process. */
#include "process/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(c) (1ull << (c))

/* The capabilities that are always kept. */
#define ALWAYS                                                                                     \
	(BIT(CAP_SYS_PTRACE) |	 /* to stop, read and write processes of others */                 \
	 BIT(CAP_DAC_OVERRIDE) | /* /proc/PID/mem belongs to others, and so may our files */       \
	 BIT(CAP_SETUID) | BIT(CAP_SETGID) | /* the double: area.c */                              \
	 BIT(CAP_KILL) |		     /* to end the double */                               \
	 BIT(CAP_SYS_ADMIN) |		     /* a double in another PID namespace: area.c */       \
	 BIT(CAP_CHECKPOINT_RESTORE))	     /* /proc/PID/map_files: module.c */

static uint64_t needed(bool switches, bool kernel)
{
	uint64_t keep = ALWAYS;

	if (switches)
		keep |= BIT(CAP_PERFMON);
	if (kernel) /* addresses in /proc/kallsyms; the device, when it has a group:
		     * kernel/file.c; BPF programs: session/kernel-bpf.c */
		keep |= BIT(CAP_SYSLOG) | BIT(CAP_BPF) | BIT(CAP_PERFMON);
	return keep;
}

int dt_rights_only(uint64_t keep, struct dt_error *e)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return dt_fail(e, "the capabilities can not be read: %s", strerror(errno));
	for (unsigned i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(keep >> 32 * i);

		data[i].permitted &= half;
		data[i].effective &= half;
		data[i].inheritable &= half;
	}
	/* without this, root's would come back with the next execve */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, data) < 0)
		return dt_fail(e, "the capabilities can not be given up: %s", strerror(errno));
	return 0;
}

int dt_rights_limit(bool switches, bool kernel, struct dt_error *e)
{
	return dt_rights_only(needed(switches, kernel), e);
}

bool dt_rights_needs(bool (*fits)(const void *ctx), const void *ctx, uint64_t all)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct have[2], less[2];
	bool fit;

	if (syscall(SYS_capget, &head, have) < 0)
		return true;
	memcpy(less, have, sizeof(have));
	for (unsigned i = 0; i < 2; i++)
		less[i].effective &= ~(uint32_t)(all >> 32 * i);
	if (!memcmp(less, have, sizeof(have)) || syscall(SYS_capset, &head, less) < 0)
		return false;
	fit = fits(ctx);
	syscall(SYS_capset, &head, have);
	return !fit;
}

/* Returns the inode of a process's user namespace; 0: not known. */
static ino_t user_namespace(const char *process)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%s/ns/user", process);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

bool dt_rights_of(pid_t pid, struct dt_rights *r)
{
	char path[64], line[256], name[16];
	unsigned long capabilities;
	int found = 0;
	FILE *f;

	memset(r, 0, sizeof(*r));
	dt_format(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && found < 3 && fgets(line, sizeof(line), f)) {
		uid_t *u = r->user;
		gid_t *g = r->group;

		found += sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4 ||
			 sscanf(line, "Gid: %u %u %u %u", &g[0], &g[1], &g[2], &g[3]) == 4;
		if (sscanf(line, "CapPrm: %lx", &capabilities) == 1) {
			r->capabilities = capabilities;
			found++;
		}
	}
	if (f)
		fclose(f);
	dt_format(name, sizeof(name), "%d", pid);
	if (r->capabilities && user_namespace(name) != user_namespace("self"))
		r->capabilities = 0;
	return found == 3;
}
