/* SPDX-License-Identifier: MIT */
/* Mapping the area into a process and taking it away. */
#include "process/area.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/inject.h"
#include "process/memory.h"

#define PAGE 4096ull
#define REACH 0x7ff00000ull /* of a 32-bit displacement, with some room */
#define MADV_WIPE_ON_FORK 18
#define MADV_DONT_DUMP 16
#define STUB_AT 0x1000 /* in the code: where the installing calls run from, overwritten later */
#define PATH_AT 0x1800

const struct dt_blob *dt_blob_head(void)
{
	return (const struct dt_blob *)dt_blob_image;
}

uint64_t dt_area_entry(uint64_t area, bool fast)
{
	return area + (fast ? dt_blob_head()->entry : dt_blob_head()->entry_slow);
}

uint64_t dt_area_exit(uint64_t area, bool fast)
{
	return area + (fast ? dt_blob_head()->exit : dt_blob_head()->exit_slow);
}

bool dt_area_has_code(uint64_t area, uint64_t ip)
{
	return ip >= area + dt_blob_head()->code_begin && ip < area + dt_blob_head()->code_end;
}

/* The blob as it is to stand at `area': addresses relocated, constants filled in. */
static int write_blob(int mem, uint64_t area, const struct dt_control *control)
{
	size_t size = (size_t)(dt_blob_image_end - dt_blob_image);
	unsigned char image[DT_CODE_SIZE] = {0};
	struct dt_blob *head = (struct dt_blob *)image;
	struct dt_process_block block = {.stride = control->stride,
					 .mask = control->ring_size - 1};

	if (size > sizeof(image))
		return -1;
	memcpy(image, dt_blob_image, size);
	for (int i = 0; i < 2; i++) {
		uint64_t cs[4];

		/* struct rseq_cs: version and flags, start, length, abort */
		memcpy(cs, image + head->cs[i], sizeof(cs));
		cs[1] += area;
		cs[3] += area;
		memcpy(image + head->cs[i], cs, sizeof(cs));
	}
	head->cores = control->cores;
	head->stride = control->stride;
	head->mask = control->ring_size - 1;
	if (dt_memory_write(mem, area + DT_AREA_CODE, image, sizeof(image)) < 0)
		return -1;
	block.cores = control->cores;
	return dt_memory_write(mem, area + DT_AREA_PROCESS, &block, sizeof(block));
}

/*
 * How the process can open the session's memory: through our /proc entry, or, for a process of
 * another user or one that sees another /proc, by a name in /dev/shm that exists for this moment.
 */
static int give_name(const struct dt_shared *shared, pid_t pid, char *path, size_t size)
{
	char self[64], proc[64];
	struct stat st;

	dt_format(proc, sizeof(proc), "/proc/%d", pid);
	dt_format(self, sizeof(self), "/proc/self/fd/%d", shared->fd);
	dt_format(path, size, "/dev/shm/devtrace-%d-%d", getpid(), pid);
	unlink(path);
	if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0)
		return -1;
	if (stat(proc, &st) == 0 && fchown(shared->fd, st.st_uid, st.st_gid) < 0) {
		unlink(path);
		return -1;
	}
	return 0;
}

static int map_session(pid_t tid, int mem, const struct dt_maps *maps,
		       const struct dt_shared *shared, uint64_t area, const char *path,
		       struct dt_error *e)
{
	uint64_t bytes = shared->control->bytes;
	struct dt_call call[] = {
		{"opening the session's memory",
		 SYS_openat,
		 {(uint64_t)AT_FDCWD, area + PATH_AT, O_RDWR | O_CLOEXEC},
		 0,
		 false},
		{"mapping the rings",
		 SYS_mmap,
		 {area + DT_AREA_SESSION, bytes, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED | MAP_POPULATE, DT_CALL_FD, 0},
		 0,
		 false},
		{"closing the session's memory", SYS_close, {DT_CALL_FD}, 0, true},
		{"mapping the process block",
		 SYS_mmap,
		 {area + DT_AREA_PROCESS, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0},
		 0,
		 false},
		{"marking the process block",
		 SYS_madvise,
		 {area + DT_AREA_PROCESS, PAGE, MADV_WIPE_ON_FORK},
		 0,
		 false},
		{"marking the rings",
		 SYS_madvise,
		 {area + DT_AREA_SESSION, bytes, MADV_DONT_DUMP},
		 0,
		 true},
	};

	if (dt_memory_write(mem, area + PATH_AT, path, strlen(path) + 1) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	return dt_inject(tid, mem, maps, area + STUB_AT, call, sizeof(call) / sizeof(*call), e);
}

int dt_area_install(pid_t pid, pid_t tid, int mem, const struct dt_shared *shared, uint64_t near,
		    uint64_t *area, struct dt_error *e)
{
	uint64_t bytes = DT_AREA_SESSION + shared->control->bytes, at;
	struct dt_maps maps;
	char path[64];
	struct dt_call reserve = {"reserving addresses",
				  SYS_mmap,
				  {0, bytes, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					   MAP_FIXED_NOREPLACE,
				   (uint64_t)-1, 0},
				  0,
				  false};

	if (dt_maps_read(pid, &maps, e) < 0)
		return -1;
	at = dt_maps_gap(&maps, near, bytes, near ? REACH : ~0ull);
	if (!at) {
		dt_fail(e, "process %d has no %lu MiB of free addresses; make the rings smaller (-b)",
			pid, (unsigned long)(bytes >> 20));
		goto fail;
	}
	reserve.arg[0] = at;
	if (dt_inject(tid, mem, &maps, 0, &reserve, 1, e) < 0)
		goto fail;
	if ((uint64_t)reserve.result != at) {
		dt_fail(e, "process %d: the kernel gave other addresses than asked for", pid);
		goto fail;
	}
	dt_format(path, sizeof(path), "/proc/%d/fd/%d", getpid(), shared->fd);
	if (map_session(tid, mem, &maps, shared, at, path, e) < 0) {
		bool named = give_name(shared, pid, path, sizeof(path)) == 0;
		int rc = named ? map_session(tid, mem, &maps, shared, at, path, e) : -1;

		if (named)
			unlink(path);
		if (rc < 0)
			goto unmap;
	}
	if (write_blob(mem, at, shared->control) < 0) {
		dt_fail(e, "the area can not be written: %s", strerror(errno));
		goto unmap;
	}
	dt_maps_free(&maps);
	*area = at;
	return 0;
unmap:
	dt_area_remove(pid, tid, mem, at, NULL);
fail:
	dt_maps_free(&maps);
	return -1;
}

int dt_area_remove(pid_t pid, pid_t tid, int mem, uint64_t area, struct dt_error *e)
{
	struct dt_control control;
	struct dt_maps maps;
	struct dt_call call = {"unmapping the area", SYS_munmap, {area, 0}, 0, false};
	int rc;

	if (dt_maps_read(pid, &maps, e) < 0)
		return -1;
	/* the area is one stretch: up to the end of the mapping that holds the session */
	if (dt_memory_read(mem, area + DT_AREA_SESSION, &control,
			   offsetof(struct dt_control, request)) == 0 &&
	    control.magic == DT_SESSION_MAGIC)
		call.arg[1] = DT_AREA_SESSION + control.bytes;
	else
		call.arg[1] = DT_AREA_SESSION;
	rc = dt_inject(tid, mem, &maps, 0, &call, 1, e);
	dt_maps_free(&maps);
	return rc;
}

uint64_t dt_area_find(int mem, const struct dt_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t magic;

		if (!maps->map[i].exec || maps->map[i].inode != 0 || maps->map[i].path[0])
			continue;
		if (dt_memory_read(mem, maps->map[i].low, &magic, sizeof(magic)) == 0 &&
		    magic == DT_BLOB_MAGIC)
			return maps->map[i].low;
	}
	return 0;
}

static int patch32(int mem, uint64_t area, const uint32_t *fixup, int64_t value)
{
	int32_t v = (int32_t)value;

	for (int i = 0; i < DT_FIXUPS && fixup[i]; i++)
		if (dt_memory_write(mem, area + fixup[i], &v, sizeof(v)) < 0)
			return -1;
	return 0;
}

int dt_area_set_thread_offsets(int mem, uint64_t area, int64_t rseq, uint32_t rseq_size,
			       uint32_t signature, int64_t tid, struct dt_error *e)
{
	const struct dt_blob *head = dt_blob_head();
	int rc = 0;

	/* struct rseq: cpu_id at 4, rseq_cs at 8 */
	rc |= patch32(mem, area, head->cpu_fixup, rseq + 4);
	rc |= patch32(mem, area, head->rseq_cs_fixup, rseq + 8);
	rc |= patch32(mem, area, head->tid_fixup, tid);
	for (int i = 0; i < 2; i++) {
		uint64_t cs[4];

		memcpy(cs, dt_blob_image + head->cs[i], sizeof(cs));
		rc |= dt_memory_write(mem, area + cs[3] - 4, &signature, sizeof(signature));
	}
	rc |= dt_memory_write(mem, area + offsetof(struct dt_blob, rseq_signature), &signature, 4);
	rc |= dt_memory_write(mem, area + offsetof(struct dt_blob, rseq_size), &rseq_size, 4);
	rc |= dt_memory_write(mem, area + offsetof(struct dt_blob, rseq_offset), &rseq, 8);
	return rc ? dt_fail(e, "the area can not be written: %s", strerror(errno)) : 0;
}
