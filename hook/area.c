/* SPDX-License-Identifier: MIT */
/* Mapping the area into a process and taking it away. */
#include "hook/area.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook/hand-over.h"
#include "process/inject.h"
#include "process/memory.h"
#include "process/status.h"
#include "process/rights.h"

#define PAGE		  4096ull
#define PRIVATE		  (DT_AREA_SESSION - DT_AREA_PROCESS) /* bytes that are the process's own */
#define MADV_WIPE_ON_FORK 18
#define MADV_DONT_DUMP	  16
#define STUB_AT		  0x1000 /* in the area: installing calls run from here; overwritten later */
#define PATH_AT		  0x1800 /* in the area: the path that these calls open */
#define DOUBLE_MS	  5000	 /* most time for a double to be ready, and for it to end */

/* Writes the blob to the area, with addresses relocated and constants filled in, and the process
 * block. */
static int write_blob(int mem, uint64_t area, const uint64_t jumps[2], const struct dt_geometry *g,
		      pid_t pid)
{
	size_t size = (size_t)(dt_blob_image_end - dt_blob_image);
	unsigned char image[DT_CODE_SIZE] = {0};
	struct dt_blob *head = (struct dt_blob *)image;
	struct dt_process_block block = {.cores = g->cores, .pid = (uint32_t)pid};
	struct dt_kept_block kept;

	memcpy(image, dt_blob_image, size);
	dt_blob_relocate(image, size, area, g);
	head->cores = g->cores;
	head->stride = g->stride;
	head->mask = g->ring_size - 1;
	head->jumps[0] = jumps[0];
	head->jumps[1] = jumps[1];
	head->reads_pointer = dt_hooks_read_pointer();
	head->session = dt_area_session(area, g);
	head->table = head->session + g->bytes + dt_hooks_size(g->cores);
	if (dt_memory_write(mem, area + DT_AREA_CODE, image, sizeof(image)) < 0)
		return -1;
	/* PR_GET_TSC has written there whether the thread may read the clock */
	if (dt_memory_read(mem, area + DT_AREA_KEPT, &kept, sizeof(kept)) < 0)
		return -1;
	kept.asks_clock = kept.asks_clock == PR_TSC_SIGSEGV;
	if (kept.asks_clock)
		block.cores = 0, block.shared_only = 1;
	if (dt_memory_write(mem, area + DT_AREA_KEPT, &kept, sizeof(kept)) < 0)
		return -1;
	return dt_memory_write(mem, area + DT_AREA_PROCESS, &block, sizeof(block));
}

/* Returns the bytes of the area that is at `area', or is to be. */
static uint64_t area_size(uint64_t area, const struct dt_geometry *g)
{
	return dt_area_session(area, g) - area + g->bytes + dt_hooks_size(g->cores) + DT_TABLE_SIZE;
}

/* Returns the bytes that an area has at most, wherever it is. */
static uint64_t area_room(const struct dt_geometry *g)
{
	return DT_AREA_SESSION + DT_HUGE_PAGE + g->bytes + dt_hooks_size(g->cores) + DT_TABLE_SIZE;
}

int dt_area_make_hooks(int mem, uint64_t area, const struct dt_geometry *g,
		       const struct dt_thread_offsets *o, struct dt_error *e)
{
	uint64_t at = dt_area_session(area, g) + g->bytes, length = dt_hooks_size(g->cores);
	unsigned char image[DT_CODE_SIZE];
	unsigned char *out = calloc(1, length);
	struct dt_blob *head = (struct dt_blob *)image;
	uint32_t strange = DT_STRANGE_NONE;
	int rc = -1;

	if (!out)
		return dt_fail(e, "out of memory");
	/* the blob is read, since vfork's stub in it changes too */
	if (dt_memory_read(mem, area, image, sizeof(image)) < 0 ||
	    dt_memory_read(mem, area + DT_AREA_KEPT + DT_KEPT_STRANGE, &strange, sizeof(strange)) <
		    0)
		goto out;
	dt_hooks_make(image, area, g, o, out);
	head->rseq_offset = o->rseq;
	head->tid_offset = o->tid;
	head->rseq_signature = o->signature;
	head->rseq_size = o->rseq_size;
	head->errno_offset = o->error;
	head->own = o->own;
	for (int i = 0; strange && i < DT_HOOKS; i++) {
		uint64_t hook = head->hook[i];

		if (!dt_lead_write(hook - at < length ? out + (hook - at) : image + (hook - area),
				   hook, area + dt_blob_head()->slow[i]))
			goto out;
	}
	if (dt_memory_write(mem, at, out, length) == 0 &&
	    dt_memory_write(mem, area, image, sizeof(image)) == 0)
		rc = 0;
out:
	free(out);
	return rc < 0 ? dt_fail(e, "the area can not be written: %s", strerror(errno)) : 0;
}

/* Leads the fast hooks of an area, whose head that is, to the slow ones. */
static int lead_slow(int mem, uint64_t area, const struct dt_blob *head)
{
	unsigned char lead[DT_LEAD];

	/* a hook begins with an instruction as long as this: no thread is in the middle of it */
	for (int i = 0; i < DT_HOOKS; i++) {
		if (!head->hook[i])
			continue;
		if (!dt_lead_write(lead, head->hook[i], area + dt_blob_head()->slow[i]) ||
		    dt_memory_write(mem, head->hook[i], lead, sizeof(lead)) < 0)
			return -1;
	}
	return 0;
}

int dt_area_note_strange(int mem, uint64_t area, struct dt_error *e)
{
	const uint32_t led = DT_STRANGE_LED;
	struct dt_blob head;

	if (dt_memory_read(mem, area, &head, sizeof(head)) < 0 || lead_slow(mem, area, &head) < 0 ||
	    dt_memory_write(mem, area + DT_AREA_KEPT + DT_KEPT_STRANGE, &led, sizeof(led)) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	return 0;
}

int dt_area_birth(int mem, uint64_t area, struct dt_area_birth *b)
{
	uint64_t at = area + DT_AREA_PROCESS;
	struct dt_process_block block;

	if (dt_memory_read(mem, at, &block, sizeof(block)) < 0)
		return -1;
	if (block.born) {
		*b = (struct dt_area_birth){block.born, block.born_core};
		return 0;
	}
	if (block.cores || dt_memory_write(mem, at + offsetof(struct dt_process_block, born_core),
					   &b->core, sizeof(b->core)) < 0)
		return -1;
	return dt_memory_write(mem, at + offsetof(struct dt_process_block, born), &b->ticks,
			       sizeof(b->ticks));
}

int dt_area_tag(int mem, uint64_t area, const struct dt_geometry *g, pid_t pid, uint32_t tag)
{
	struct dt_thread_offsets o;
	struct dt_kept_block kept;
	struct dt_blob head;
	uint32_t id = (uint32_t)pid;

	if (dt_memory_read(mem, area + DT_AREA_KEPT, &kept, sizeof(kept)) < 0)
		return -1;
	if (!tag && !kept.tag)
		return 0;
	if (dt_memory_write(mem, area + DT_AREA_PROCESS + offsetof(struct dt_process_block, pid),
			    &id, sizeof(id)) < 0)
		return -1;
	if (kept.tag == tag)
		return 0;
	if (dt_memory_write(mem, area + DT_AREA_KEPT + offsetof(struct dt_kept_block, tag), &tag,
			    sizeof(tag)) < 0 ||
	    dt_memory_read(mem, area, &head, sizeof(head)) < 0)
		return -1;
	if (!head.hook[0]) /* they are made later */
		return 0;
	o = dt_blob_offsets(&head);
	o.tag = tag;
	return dt_area_make_hooks(mem, area, g, &o, NULL);
}

int dt_area_hooks(int mem, uint64_t area, bool fast, uint64_t hook[DT_HOOKS])
{
	struct dt_blob head;

	if (dt_memory_read(mem, area, &head, sizeof(head)) < 0)
		return -1;
	for (int i = 0; i < DT_HOOKS; i++)
		hook[i] = fast ? head.hook[i] : area + dt_blob_head()->slow[i];
	return hook[0] ? 0 : -1;
}

int dt_area_table(int mem, uint64_t area, const struct dt_table_entry *entry, size_t n,
		  struct dt_error *e)
{
	struct dt_blob head;
	struct dt_table t;

	if (n > DT_TABLE_MAX)
		return dt_fail(e, "%zu ranges with options or in uniform mode; at most %zu", n,
			       DT_TABLE_MAX);
	if (dt_memory_read(mem, area, &head, sizeof(head)) < 0 ||
	    dt_memory_read(mem, head.table, &t, sizeof(t)) < 0)
		goto fail;
	/* seq is odd while the table changes: a thread that looks something up meanwhile repeats it
	 */
	t.seq |= 1;
	if (dt_memory_write(mem, head.table, &t.seq, 4) < 0 ||
	    dt_memory_write(mem, head.table + sizeof(t), entry, n * sizeof(*entry)) < 0)
		goto fail;
	t.n = (uint32_t)n;
	t.seq++;
	if (dt_memory_write(mem, head.table + offsetof(struct dt_table, n), &t.n, 4) < 0 ||
	    dt_memory_write(mem, head.table, &t.seq, 4) < 0)
		goto fail;
	return 0;
fail:
	return dt_fail(e, "the area can not be written: %s", strerror(errno));
}

bool dt_area_code(const struct dt_geometry *g, uint64_t area, unsigned i, uint64_t *low,
		  uint64_t *high)
{
	if (i > 1)
		return false;
	*low = i == 0 ? area : dt_area_session(area, g) + g->bytes;
	*high = i == 0 ? area + DT_CODE_SIZE : *low + dt_hooks_size(g->cores);
	return true;
}

/* Our side of a double: see start_double(). */
struct area_double {
	pid_t pid;
	int end; /* closing it ends the double, even if we may not kill it */
};

/*
 * Ends a double. Other processes of its user may have stopped it, and we may not be allowed to kill
 * it: so this waits for DOUBLE_MS at most. One that ends later is a zombie until this process ends.
 */
static void end_double(const struct area_double *d)
{
	close(d->end);
	kill(d->pid, SIGKILL);
	for (int ms = 0; ms < DOUBLE_MS && waitpid(d->pid, NULL, WNOHANG) == 0; ms++)
		usleep(1000);
}

/* Descriptors of ours that a double begins with. */
struct double_files {
	int shared, program, failed;
	int end, end_write; /* a pipe */
};

/*
 * Runs in the child, and makes it the double. It keeps of ours only the session's memory, as
 * descriptor 0, and the end of a pipe, as descriptor 3. While it becomes the other user, that user
 * may not look into it; after the execve there is only the new program to look into. It makes
 * system calls only, since the parent may have had other threads.
 */
static void become(uid_t uid, gid_t gid, const struct double_files *files)
{
	static const char *const argv[] = {"devtrace", NULL};
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	/* first to numbers from 10 on, so that none is in the way of the dup calls below */
	int shared = (int)syscall(SYS_fcntl, files->shared, F_DUPFD, 10);
	int program = (int)syscall(SYS_fcntl, files->program, F_DUPFD, 10);
	int failed = (int)syscall(SYS_fcntl, files->failed, F_DUPFD, 10);
	int end = (int)syscall(SYS_fcntl, files->end, F_DUPFD, 10);

	syscall(SYS_setgroups, 0, NULL);
	/* without this, root's capabilities would come back with the execve */
	syscall(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
	if (syscall(SYS_dup3, failed, 1, O_CLOEXEC) == 1 && syscall(SYS_dup3, shared, 0, 0) == 0 &&
	    syscall(SYS_dup3, program, 2, O_CLOEXEC) == 2 && syscall(SYS_dup3, end, 3, 0) == 3 &&
	    syscall(SYS_close_range, 4, ~0u, 0) == 0 &&
	    syscall(SYS_setresgid, gid, gid, gid) == 0 &&
	    syscall(SYS_setresuid, uid, uid, uid) == 0 &&
	    /* last: a change of the user ends it */
	    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    syscall(SYS_capset, &head, none) == 0)
		syscall(SYS_execveat, 2, "", argv, argv + 1, AT_EMPTY_PATH);
	syscall(SYS_write, 1, "", 1);
	syscall(SYS_exit_group, 1);
}

/*
 * Runs in the child, and has a child of its own, in the PID namespace ns, become the double.
 * *number is the double's process id there. This process, the double's parent, waits until it is
 * killed.
 */
static void become_inside(int ns, volatile int *number, uid_t uid, gid_t gid,
			  const struct double_files *files)
{
	long child = -1;

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (syscall(SYS_setns, ns, CLONE_NEWPID) == 0)
		child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		*number = (int)syscall(SYS_getpid);
		become(uid, gid, files);
	}
	if (child < 0)
		syscall(SYS_write, files->failed, "", 1);
	syscall(SYS_close, files->failed);
	syscall(SYS_close, files->end_write);
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
}

/* Waits until the double is ready, and looks whether it succeeded. Other processes of its user may
 * stop it just then, so the wait is limited. */
static bool has_become(int ready)
{
	struct pollfd f = {ready, POLLIN, 0};
	char byte;
	int rc;

	while ((rc = poll(&f, 1, DOUBLE_MS)) < 0 && errno == EINTR)
		;
	/* end of file: the execve has closed the other side */
	return rc == 1 && read(ready, &byte, 1) == 0;
}

/*
 * Starts a double: a process with the user and the group of pid and without capabilities, which has
 * the session's memory open and waits. path receives the memory's path in our /proc or, with
 * `inside', in the /proc of pid's PID namespace. Returns false if there can be none.
 */
static bool start_double(struct area_double *d, pid_t pid, const struct dt_shared *shared,
			 bool inside, char *path, size_t size)
{
	int program = memfd_create("devtrace", MFD_CLOEXEC), ready[2] = {-1, -1}, end[2] = {-1, -1},
	    ns = -1;
	volatile int *number =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct double_files files;
	bool done = false;
	pid_t child;
	struct dt_rights whose;

	dt_format(path, size, "/proc/%d/ns/pid", pid);
	if (program < 0 || number == MAP_FAILED || !dt_rights_of(pid, &whose) ||
	    pipe2(ready, O_CLOEXEC) < 0 || pipe2(end, O_CLOEXEC) < 0 ||
	    write(program, dt_waiting_program, dt_waiting_size) != (ssize_t)dt_waiting_size ||
	    (inside && (ns = open(path, O_RDONLY | O_CLOEXEC)) < 0))
		goto out;
	files = (struct double_files){shared->fd, program, ready[1], end[0], end[1]};
	child = fork();
	if (child == 0 && inside)
		become_inside(ns, number, whose.user[3], whose.group[3], &files);
	if (child == 0)
		become(whose.user[3], whose.group[3], &files);
	close(ready[1]);
	ready[1] = -1;
	if (child < 0)
		goto out;
	*d = (struct area_double){child, end[1]};
	end[1] = -1;
	done = has_become(ready[0]);
	if (!done)
		end_double(d);
	dt_format(path, size, "/proc/%d/fd/0", inside ? *number : child);
out:
	if (ns >= 0)
		close(ns);
	if (number != MAP_FAILED)
		munmap((void *)number, PAGE);
	close(end[0]);
	close(end[1]);
	close(ready[0]);
	close(ready[1]);
	close(program);
	return done;
}

/* Has the process map the session's memory, which it opens at path; NULL: it has the descriptor
 * fd of it. */
static int map_session(pid_t tid, int mem, const struct dt_maps *maps,
		       const struct dt_shared *shared, uint64_t area, const char *path, int fd,
		       struct dt_error *e)
{
	uint64_t session = dt_area_session(area, &shared->geometry);
	uint64_t bytes = shared->geometry.bytes, has = path ? DT_INJECTED_FD : (uint64_t)fd;
	size_t first = path ? 0 : 1;
	struct dt_injected_call call[] = {
		{"opening the session's memory",
		 SYS_openat,
		 {(uint64_t)AT_FDCWD, area + PATH_AT, O_RDWR | O_CLOEXEC},
		 0,
		 false},
		{"mapping the rings",
		 SYS_mmap,
		 {session, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
		  has, 0},
		 0,
		 false},
		{"closing the session's memory", SYS_close, {has}, 0, true},
		{"mapping the process block",
		 SYS_mmap,
		 {area + DT_AREA_PROCESS, PRIVATE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0},
		 0,
		 false},
		{"marking the process block",
		 SYS_madvise,
		 {area + DT_AREA_PROCESS, DT_AREA_KEPT - DT_AREA_PROCESS, MADV_WIPE_ON_FORK},
		 0,
		 false},
		{"marking the rings", SYS_madvise, {session, bytes, MADV_DONT_DUMP}, 0, true},
		{"asking for the clock",
		 SYS_prctl,
		 {PR_GET_TSC, area + DT_AREA_KEPT + offsetof(struct dt_kept_block, asks_clock)},
		 0,
		 true},
	};

	if (path && dt_memory_write(mem, area + PATH_AT, path, strlen(path) + 1) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	return dt_inject(tid, mem, maps, area + STUB_AT, call + first,
			 sizeof(call) / sizeof(*call) - first, e);
}

/* Hands the session's memory to a process that may not open it. */
static int hand_over(pid_t pid, pid_t tid, int mem, const struct dt_maps *maps,
		     const struct dt_shared *shared, uint64_t area, struct dt_error *e)
{
	struct dt_injected_call page = {"mapping the process block",
					SYS_mmap,
					{area + DT_AREA_PROCESS, PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0},
					0,
					false};
	int fd;

	if (dt_inject(tid, mem, maps, area + STUB_AT, &page, 1, e) < 0)
		return -1;
	fd = dt_hand_over(pid, tid, mem, maps, area + STUB_AT, area + DT_AREA_PROCESS, shared->fd,
			  e);
	return fd < 0 ? -1 : map_session(tid, mem, maps, shared, area, NULL, fd, e);
}

/*
 * Has the process open and map the session's memory: through our /proc entry; or, if the kernel
 * does not let it look into ours since it is of another user or has fewer capabilities, through
 * that of a double, which lives for this moment only; or, if it sees another /proc, through that of
 * a double in its PID namespace. One that may open none of these, since it has confined itself to
 * some files, gets it handed over. (That would do for all, but for kernels before 5.6.)
 */
static int share(pid_t pid, pid_t tid, int mem, const struct dt_maps *maps,
		 const struct dt_shared *shared, uint64_t area, struct dt_error *e)
{
	struct area_double d;
	char path[64];
	int rc;

	dt_format(path, sizeof(path), "/proc/%d/fd/%d", getpid(), shared->fd);
	rc = map_session(tid, mem, maps, shared, area, path, -1, e);
	for (int inside = 0; inside < 2 && rc != 0; inside++) {
		if (!start_double(&d, pid, shared, inside, path, sizeof(path)))
			continue;
		rc = map_session(tid, mem, maps, shared, area, path, -1, e);
		end_double(&d);
	}
	return rc ? hand_over(pid, tid, mem, maps, shared, area, e) : 0;
}

/* Has the process reserve `bytes' of addresses at `at'. */
static int reserve(pid_t pid, pid_t tid, int mem, const struct dt_maps *maps, uint64_t at,
		   uint64_t bytes, struct dt_error *e)
{
	struct dt_injected_call call = {
		"reserving addresses",
		SYS_mmap,
		{at, bytes, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (uint64_t)-1,
		 0},
		0,
		false};

	if (dt_inject(tid, mem, maps, 0, &call, 1, e) < 0)
		return -1;
	if ((uint64_t)call.result != at)
		return dt_fail(e, "process %d: the kernel gave other addresses than asked for",
			       pid);
	return 0;
}

/* Returns a free address below 2 GiB, chosen at random so that it differs between processes; 0:
 * there is none. */
static uint64_t pick_low(const struct dt_maps *maps, uint64_t bytes)
{
	uint64_t top = DT_AREA_TOP, room = 256ull << 20, shift = 0;

	if (bytes >= top)
		return 0;
	if (getentropy(&shift, sizeof(shift)) < 0 || top - bytes < 2 * room)
		shift = 0;
	return dt_maps_gap(maps, top - bytes - (shift % room & ~(PAGE - 1)), bytes, top,
			   DT_AREA_TOP);
}

/* Tells the hooks where the stack of the first thread ends. Without that they are slower. */
static void note_stack(pid_t pid, int mem, const struct dt_maps *maps, uint64_t at)
{
	uint64_t end = dt_status_stack(pid);
	const struct dt_mapping *m = end ? dt_maps_at(maps, end - 1) : NULL;

	if (m && !strcmp(m->path, "[stack]"))
		dt_memory_write(mem, at + DT_AREA_KEPT + offsetof(struct dt_kept_block, stack_end),
				&end, sizeof(end));
}

int dt_area_install(pid_t pid, pid_t tid, int mem, const struct dt_shared *shared,
		    const uint64_t near[2], uint64_t *area, struct dt_error *e)
{
	const struct dt_geometry *g = &shared->geometry;
	uint64_t at, jumps[2] = {0};
	struct dt_maps maps;

	if (dt_maps_read(pid, &maps, e) < 0)
		return -1;
	at = pick_low(&maps, area_room(g));
	if (!at) {
		dt_fail(e,
			"process %d has no %lu MiB of free addresses below 2 GiB; make the rings "
			"smaller (-b)",
			pid, (unsigned long)(area_room(g) >> 20));
		goto fail;
	}
	if (reserve(pid, tid, mem, &maps, at, area_size(at, g), e) < 0)
		goto fail;
	for (int i = 0; i < 2; i++) {
		if (near[i] <= DT_AREA_TOP)
			continue;
		jumps[i] = dt_maps_gap(&maps, near[i], PAGE, DT_JUMP_REACH, ~0ull);
		if (jumps[i] && reserve(pid, tid, mem, &maps, jumps[i], PAGE, e) < 0)
			goto unmap;
	}
	if (share(pid, tid, mem, &maps, shared, at, e) < 0)
		goto unmap;
	if (write_blob(mem, at, jumps, g, pid) < 0) {
		dt_fail(e, "the area can not be written: %s", strerror(errno));
		goto unmap;
	}
	note_stack(pid, mem, &maps, at);
	dt_maps_free(&maps);
	*area = at;
	return 0;
unmap:
	dt_area_remove(pid, tid, mem, at, g, false, NULL);
fail:
	dt_maps_free(&maps);
	return -1;
}

int dt_area_map_self(int mem, const struct dt_shared *shared, uint64_t *area, size_t *bytes,
		     struct dt_error *e)
{
	const struct dt_geometry *g = &shared->geometry;
	struct dt_maps maps;
	char *at;

	if (dt_maps_read(getpid(), &maps, e) < 0)
		return -1;
	*area = pick_low(&maps, area_room(g));
	*bytes = area_size(*area, g);
	dt_maps_free(&maps);
	at = mmap((void *)*area, *bytes, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (!*area || at != (char *)*area)
		return dt_fail(e, "no free addresses below 2 GiB");
	if (mmap((void *)dt_area_session(*area, g), g->bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, shared->fd, 0) == MAP_FAILED ||
	    mmap(at + DT_AREA_PROCESS, PRIVATE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    write_blob(mem, *area, (uint64_t[2]){0}, g, getpid()) < 0) {
		munmap(at, *bytes);
		return dt_fail(e, "the area can not be mapped: %s", strerror(errno));
	}
	return 0;
}

int dt_area_remove(pid_t pid, pid_t tid, int mem, uint64_t area, const struct dt_geometry *g,
		   bool threads_stay, struct dt_error *e)
{
	uint64_t part[4][2] = {{0, PAGE}, {0, PAGE}, {area, area_size(area, g)}};
	struct dt_blob head;
	struct dt_maps maps;
	int rc = 0;

	if (dt_maps_read(pid, &maps, e) < 0)
		return -1;
	if (dt_memory_read(mem, area, &head, sizeof(head)) == 0 && head.magic == DT_BLOB_MAGIC) {
		part[0][0] = head.jumps[0];
		part[1][0] = head.jumps[1];
	}
	if (threads_stay) {
		part[2][1] = DT_AREA_THREADS;
		part[3][0] = area + DT_AREA_SESSION;
		part[3][1] = area_size(area, g) - DT_AREA_SESSION;
	}
	for (int i = 0; i < 4 && rc == 0; i++) {
		struct dt_injected_call call = {
			"unmapping the area", SYS_munmap, {part[i][0], part[i][1]}, 0, false};

		if (part[i][0])
			rc = dt_inject(tid, mem, &maps, 0, &call, 1, e);
	}
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

uint64_t dt_area_session_of(int mem, uint64_t area)
{
	uint64_t session = 0;

	dt_memory_read(mem, area + offsetof(struct dt_blob, session), &session, sizeof(session));
	return session;
}
