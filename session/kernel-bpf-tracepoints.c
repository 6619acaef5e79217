/* SPDX-License-Identifier: MIT */
/* Has BPF record the kernel's own tracepoints. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "session/kernel-bpf-work.h"

/* Tells the program of a tracepoint. */
static int tell(int map, uint32_t i, const struct dt_kernel_tracepoint *p)
{
	struct dt_bpf_tracepoint t = {.bytes = p->bytes, .values = p->values, .texts = p->texts};

	for (unsigned f = 0; f < p->values + p->texts; f++)
		t.field[f] = p->field[f].how;
	return dt_bpf.bpf_map_update_elem(map, &i, &t, BPF_ANY);
}

/* Attaches the program, which then runs on all cores, though the event is one core's. Returns a
 * descriptor, or an error number below 0. */
static int attach(int program, uint32_t i, const struct dt_kernel_tracepoint *p, unsigned cores)
{
	struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT,
				    .size = sizeof(a),
				    .config = p->id,
				    .sample_period = 1,
				    .wakeup_events = 1};
	struct bpf_link_create_opts o = {.sz = sizeof(o), .perf_event.bpf_cookie = i};
	int fd = -1, link;

	/* a core may be offline */
	for (unsigned core = 0; fd < 0 && core < cores; core++)
		fd = (int)syscall(SYS_perf_event_open, &a, -1, (int)core, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = dt_bpf.bpf_link_create(program, fd, BPF_PERF_EVENT, &o);
	close(fd); /* the link has the event */
	return link;
}

int dt_bpf_tracepoints_attach(struct dt_kernel_bpf *k, int map, int program, struct dt_error *e)
{
	const struct dt_kernel_tracepoints *t = k->tracepoints;

	if (!t->n)
		return 0;
	k->happening = malloc(t->n * sizeof(*k->happening));
	if (!k->happening)
		return dt_fail(e, "out of memory");
	memset(k->happening, -1, t->n * sizeof(*k->happening));
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_kernel_tracepoint *p = &t->all[i];
		int rc = tell(map, (uint32_t)i, p);

		if (rc == 0)
			rc = k->happening[i] = attach(program, (uint32_t)i, p, k->cores);
		if (rc == -EMFILE || rc == -ENFILE)
			return dt_fail(
				e,
				"%zu of the kernel's tracepoints: %s: choose fewer, or allow "
				"more open files (ulimit -n)",
				t->n, strerror(-rc));
		if (rc < 0)
			return dt_fail(e, "the kernel's tracepoint %s:%s can not be recorded: %s",
				       p->system, p->name, strerror(-rc));
	}
	return 0;
}

bool dt_bpf_tracepoints_counted(void)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	return uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major > 6 ||
	       (major == 6 && minor >= 7);
}

void dt_bpf_tracepoints_detach(struct dt_kernel_bpf *k)
{
	for (size_t i = k->happening ? k->tracepoints->n : 0; i-- > 0;)
		if (k->happening[i] >= 0)
			close(k->happening[i]);
	free(k->happening);
	k->happening = NULL;
}
