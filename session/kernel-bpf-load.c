/* SPDX-License-Identifier: MIT */
/* Loads the BPF programs that record the kernel, and attaches them. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/kernel-bpf-work.h"

/* The compiled programs: bpf/image.S. Empty where there was no clang. */
extern const char dt_bpf_image[];
extern const uint64_t dt_bpf_image_size;

#define UNLOADED    "the kernel does not load the BPF programs"
#define FIRST_SPACE 0xeffffffcu /* the number of the initial PID namespace */

static char said[1024]; /* what libbpf first complained of */

static int on_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	if (level == LIBBPF_WARN && !said[0]) {
		vsnprintf(said, sizeof(said), format, ap);
		said[strcspn(said, "\n")] = '\0';
	}
	return 0;
}

/* ---- why not ---- */

static bool is_locked_down(void)
{
	char text[128] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	bool is;

	if (!f)
		return false;
	is = fgets(text, sizeof(text), f) && strstr(text, "[confidentiality]");
	fclose(f);
	return is;
}

/* Have we the rights that BPF needs? */
static bool may(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};
	uint64_t have;

	if (syscall(SYS_capget, &head, data) < 0)
		return true;
	have = (uint64_t)data[1].effective << 32 | data[0].effective;
	return have >> CAP_SYS_ADMIN & 1 || (have >> CAP_BPF & 1 && have >> CAP_PERFMON & 1);
}

/* Makes the error for something that the kernel has refused. Returns -1. */
static int refused(const char *what, int err, struct dt_error *e)
{
	if (!may())
		return dt_fail(e,
			       "%s: it needs root, or the capabilities CAP_BPF and CAP_PERFMON "
			       "(and CAP_SYSLOG, for names)",
			       what);
	if (is_locked_down())
		return dt_fail(
			e,
			"%s: this kernel is locked down for confidentiality (/sys/kernel/security/lockdown), and allows it to nobody",
			what);
	if (err == EPERM)
		return dt_fail(e, "%s: this kernel allows it to nobody: %s", what, strerror(err));
	return dt_fail(e, "%s: %s%s%s%s", what, strerror(err), said[0] ? " (" : "", said,
		       said[0] ? ")" : "");
}

/* ---- loading ---- */

static struct dt_bpf_settings settings_of(const struct dt_kernel_bpf *k)
{
	struct stat space;
	bool known = stat("/proc/self/ns/pid", &space) == 0;

	return (struct dt_bpf_settings){
		.shift = k->shift,
		.everybody = k->wanted->everybody,
		.cgroup = k->wanted->cgroup,
		.inside = known && space.st_ino != FIRST_SPACE,
		.space = known ? (uint32_t)space.st_ino : 0,
		.self = (uint32_t)getpid(),
		.full = k->full != 0,
		.threads = k->threads,
		.chooses = k->choosing.sum != NULL,
		.cores = k->cores,
		.sums = k->choosing.sum_rows,
	};
}

static struct bpf_map *map_of(struct dt_kernel_bpf *k, const char *name)
{
	return dt_bpf.bpf_object__find_map_by_name(k->object, name);
}

static struct bpf_program *program_of(struct dt_kernel_bpf *k, const char *name)
{
	return dt_bpf.bpf_object__find_program_by_name(k->object, name);
}

/* The programs that are not loaded where no functions are recorded: a kernel may forbid them. */
static const char *const of_functions[] = {"enter", "leave", "entered", "left"};

/* The programs that are not loaded where threads are not recorded. */
static const char *const of_threads[] = {"waking", "born", "switched"};

/* The programs that are not loaded where nobody asks what threads are called. */
static const char *const of_names[] = {"renamed", "ended", "executed"};

/* Leaves out what is not needed, and makes the others' maps as large as they have to be. */
static void prepare_threads(struct dt_kernel_bpf *k)
{
	FILE *f = k->threads ? fopen("/proc/sys/kernel/perf_event_max_stack", "re") : NULL;

	k->depth = DT_BPF_STACK_DEPTH;
	if (f) { /* the kernel makes no map for deeper ones */
		unsigned most;

		if (fscanf(f, "%u", &most) == 1 && most && most < k->depth)
			k->depth = most;
		fclose(f);
	}
	for (unsigned i = 0; !k->threads && i < 3; i++)
		dt_bpf.bpf_program__set_autoload(program_of(k, of_threads[i]), false);
	dt_bpf.bpf_map__set_value_size(map_of(k, "stacks"), k->depth * sizeof(uint64_t));
	dt_bpf.bpf_map__set_max_entries(map_of(k, "stacks"), k->threads ? DT_BPF_STACKS : 1);
}

static void prepare_names(struct dt_kernel_bpf *k)
{
	uint32_t most = k->names_told ? DT_BPF_NAMES : 1;

	for (unsigned i = 0; !k->names_told && i < 3; i++)
		dt_bpf.bpf_program__set_autoload(program_of(k, of_names[i]), false);
	dt_bpf.bpf_map__set_max_entries(map_of(k, "thread_names"), most);
	dt_bpf.bpf_map__set_max_entries(map_of(k, "program_names"), most);
}

/* Returns how many rings there are: one for each core, and a further one where calls are chosen
 * among. */
static unsigned rings_of(const struct dt_kernel_bpf *k)
{
	return k->choosing.sum ? 2 * k->cores : k->cores;
}

/* Returns how many rows of sums there is room for, at least one. */
static unsigned sum_rows_of(const struct dt_kernel_bpf *k)
{
	return k->choosing.sum_rows ? k->choosing.sum_rows : 1;
}

static int load_object(struct dt_kernel_bpf *k, struct dt_error *e)
{
	size_t size = dt_bpf_image_size;
	struct bpf_object_open_opts o = {.sz = sizeof(o), .object_name = "devtrace"};
	struct dt_bpf_settings settings = settings_of(k);
	int rc;

	k->object = dt_bpf.bpf_object__open_mem(dt_bpf_image, size, &o);
	if (!k->object)
		return refused("the BPF programs", errno, e);
	rc = dt_bpf.bpf_map__set_initial_value(map_of(k, ".rodata.settings"), &settings,
					       sizeof(settings));
	if (rc < 0)
		return dt_fail(e, "the BPF programs are not as they should be: .rodata");
	for (unsigned i = 0; !k->functions && i < 4; i++)
		dt_bpf.bpf_program__set_autoload(program_of(k, of_functions[i]), false);
	if (!k->full)
		dt_bpf.bpf_program__set_autoload(program_of(k, "signalled"), false);
	if (!k->tracepoints->n)
		dt_bpf.bpf_program__set_autoload(program_of(k, "happened"), false);
	else
		dt_bpf.bpf_map__set_max_entries(map_of(k, "tracepoints"),
						(uint32_t)k->tracepoints->n);
	prepare_threads(k);
	prepare_names(k);
	dt_bpf.bpf_map__set_max_entries(map_of(k, "heads"), rings_of(k));
	dt_bpf.bpf_map__set_max_entries(map_of(k, "records"), rings_of(k) << k->shift);
	dt_bpf.bpf_map__set_max_entries(map_of(k, "blocks"), k->choosing.sum ? DT_BPF_BLOCKS : 1);
	dt_bpf.bpf_map__set_max_entries(map_of(k, "sum_at"), sum_rows_of(k));
	dt_bpf.bpf_map__set_max_entries(map_of(k, "sum_rows"), sum_rows_of(k));
	k->loaded = k->functions != 0;
	rc = dt_bpf.bpf_object__load(k->object);
	k->stacks = rc < 0 ? -1 : dt_bpf.bpf_map__fd(map_of(k, "stacks"));
	if (rc < 0)
		return refused(UNLOADED, -rc, e);
	k->thread_names = dt_bpf.bpf_map__fd(map_of(k, "thread_names"));
	k->program_names = dt_bpf.bpf_map__fd(map_of(k, "program_names"));
	return 0;
}

static void *map_memory(struct dt_kernel_bpf *k, const char *name, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       dt_bpf.bpf_map__fd(map_of(k, name)), 0);

	return p == MAP_FAILED ? NULL : p;
}

static int map_rings(struct dt_kernel_bpf *k, struct dt_error *e)
{
	k->state = map_memory(k, ".bss", sizeof(*k->state));
	k->head = map_memory(k, "heads", rings_of(k) * sizeof(*k->head));
	k->records =
		map_memory(k, "records", ((size_t)rings_of(k) << k->shift) * sizeof(*k->records));
	if (k->choosing.sum)
		k->blocks = map_memory(k, "blocks", DT_BPF_BLOCKS * sizeof(*k->blocks));
	if (k->choosing.sum_rows)
		k->choosing.row =
			map_memory(k, "sum_rows", sum_rows_of(k) * sizeof(*k->choosing.row));
	if (k->state && k->head && k->records && (k->blocks || !k->choosing.sum) &&
	    (k->choosing.row || !k->choosing.sum_rows))
		return 0;
	return dt_fail(e, "the rings of the BPF programs can not be mapped: %s", strerror(errno));
}

/* ---- system calls ---- */

static int map_fd(struct dt_kernel_bpf *k, const char *name)
{
	return dt_bpf.bpf_map__fd(map_of(k, name));
}

/* Has the kernel's table of system calls read, and tells the programs which are chosen. */
static int find_calls(struct dt_kernel_bpf *k, struct dt_error *e)
{
	uint64_t table = k->calls ? dt_kernel_names_calls(k->names) : 0;
	struct bpf_test_run_opts o = {
		.sz = sizeof(o), .ctx_in = &table, .ctx_size_in = sizeof(table)};
	int rc;

	rc = dt_bpf.bpf_prog_test_run_opts(dt_bpf.bpf_program__fd(program_of(k, "survey")), &o);
	if (rc < 0)
		return refused("the kernel's system calls can not be found", -rc, e);
	if (dt_bpf_calls_find(k, map_fd(k, "calls"), e) < 0)
		return -1;
	return dt_bpf_calls_tell(k, map_fd(k, "full"), e);
}

/* ---- attaching ---- */

/* Loads a program once more, for one function. fd[0]: the program, fd[2]: what attaches it. */
static int attach(const struct bpf_program *like, enum bpf_attach_type how, uint32_t type,
		  int fd[3])
{
	struct bpf_prog_load_opts o = {
		.sz = sizeof(o), .expected_attach_type = how, .attach_btf_id = type};

	fd[0] = dt_bpf.bpf_prog_load(BPF_PROG_TYPE_TRACING, "devtrace", "Dual MIT/GPL",
				     dt_bpf.bpf_program__insns(like),
				     dt_bpf.bpf_program__insn_cnt(like), &o);
	if (fd[0] < 0)
		return fd[0];
	fd[2] = dt_bpf.bpf_link_create(fd[0], 0, how, NULL);
	return fd[2];
}

static void detach(struct dt_bpf_function *f)
{
	for (unsigned i = 4; i-- > 0;) {
		if (f->fd[i] >= 0)
			close(f->fd[i]);
		f->fd[i] = -1;
	}
}

/* Notes that a function is not recorded. -1 and an error: it was asked for by its name. */
static int leave_out(struct dt_kernel_bpf *k, const struct dt_bpf_function *f, int err,
		     struct dt_error *e)
{
	if (err == EMFILE || err == ENFILE)
		return dt_fail(e,
			       "the kernel's '%s': %s: choose fewer functions, or allow more open "
			       "files (ulimit -n)",
			       f->symbol.name, strerror(err));
	if (f->exact || err == ENOMEM)
		return dt_fail(
			e,
			"BPF may not probe the kernel's '%s': %s; nor may devtrace's module, "
			"if available_filter_functions of tracefs does not have it",
			f->symbol.name, strerror(err));
	dt_bpf_leave_out(&k->refused, f->symbol.name);
	return 0;
}

/* Gives each function programs of its own. */
static int attach_each(struct dt_kernel_bpf *k, struct dt_error *e)
{
	const struct bpf_program *enter = program_of(k, "enter"), *leave = program_of(k, "leave");
	size_t kept = 0;
	int result = 0;

	for (size_t i = 0; i < k->functions; i++) {
		struct dt_bpf_function *f = &k->function[i];
		int rc = attach(enter, BPF_TRACE_FENTRY, f->type, f->fd);

		if (rc >= 0)
			rc = attach(leave, BPF_TRACE_FEXIT, f->type, f->fd + 1);
		if (rc >= 0) {
			k->function[kept++] = *f;
			continue;
		}
		detach(f);
		if ((result = leave_out(k, f, -rc, e)) < 0)
			break;
	}
	k->functions = kept; /* our caller detaches these if it fails */
	return result;
}

/* Attaches a program to n functions, from the first on. Returns 0 or an error number. */
static int attach_many(struct dt_kernel_bpf *k, const char *program, const unsigned long *address,
		       size_t n, uint32_t flags)
{
	struct bpf_link_create_opts o = {.sz = sizeof(o)};
	int fd;

	if (k->links == k->link_room) {
		size_t room = k->link_room ? 2 * k->link_room : 16;
		int *more = realloc(k->link, room * sizeof(*more));

		if (!more)
			return ENOMEM;
		k->link = more;
		k->link_room = room;
	}
	o.kprobe_multi.flags = flags;
	o.kprobe_multi.cnt = (uint32_t)n;
	o.kprobe_multi.addrs = address;
	fd = dt_bpf.bpf_link_create(dt_bpf.bpf_program__fd(program_of(k, program)), 0,
				    BPF_TRACE_KPROBE_MULTI, &o);
	if (fd < 0)
		return -fd;
	k->link[k->links++] = fd;
	return 0;
}

/*
 * Attaches the programs to the functions from `at' on. If the kernel refuses some of them it does
 * not say which: they are found by halves.
 */
static int attach_halves(struct dt_kernel_bpf *k, const unsigned long *address, size_t at, size_t n,
			 struct dt_error *e)
{
	int rc = attach_many(k, "entered", address + at, n, 0);

	if (rc == 0) {
		rc = attach_many(k, "left", address + at, n, BPF_F_KPROBE_MULTI_RETURN);
		if (rc == 0)
			return 0;
		close(k->link[--k->links]);
	}
	if (n == 1 || rc == EMFILE || rc == ENFILE || rc == ENOMEM)
		return leave_out(k, &k->function[at], rc, e);
	if (attach_halves(k, address, at, n / 2, e) < 0)
		return -1;
	return attach_halves(k, address, at + n / 2, n - n / 2, e);
}

int dt_bpf_functions_attach(struct dt_kernel_bpf *k, struct dt_error *e)
{
	unsigned long *address = calloc(k->functions + 1, sizeof(*address));
	int rc;

	if (!address)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < k->functions; i++)
		address[i] = k->function[i].symbol.address;
	rc = k->functions ? attach_many(k, "entered", address, 1, 0) : 0;
	k->multi = rc != EOPNOTSUPP;
	if (rc == 0 && k->functions)
		close(k->link[--k->links]);
	if (k->functions && k->multi)
		rc = attach_halves(k, address, 0, k->functions, e);
	else if (k->functions)
		rc = dt_bpf_choose_typed(k, e) < 0 ? -1 : attach_each(k, e);
	free(address);
	return rc;
}

static int attach_tracepoints(struct dt_kernel_bpf *k, struct dt_error *e)
{
	const struct {
		const char *program, *name; /* name NULL: the program says it */
		bool wanted;
	} all[] = {{"forked", NULL, !k->wanted->everybody},
		   {"freed", NULL, !k->wanted->everybody || k->choosing.sum},
		   {"signalled", "signal_deliver", k->full},
		   {"switched", NULL, k->threads},
		   {"waking", NULL, k->threads},
		   {"born", NULL, k->threads},
		   {"renamed", NULL, k->names_told},
		   {"ended", NULL, k->names_told},
		   {"executed", NULL, k->names_told},
		   {"called", NULL, k->calls || k->full},
		   {"call", NULL, k->calls || k->full}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!all[i].wanted)
			continue;
		k->tracepoint[i] = dt_bpf.bpf_raw_tracepoint_open(
			all[i].name, dt_bpf.bpf_program__fd(program_of(k, all[i].program)));
		if (k->tracepoint[i] < 0)
			return refused("the kernel's tracepoints can not be used",
				       -k->tracepoint[i], e);
	}
	return 0;
}

/* Forgets the functions, for which the kernel loads no programs. -1 and an error: one was asked for
 * by its name, or nothing else is recorded. */
static int leave_functions(struct dt_kernel_bpf *k, const char *why, struct dt_error *e)
{
	const struct dt_bpf_function *f = &k->function[0];

	for (size_t i = 0; i < k->functions; i++) {
		dt_bpf_leave_out(&k->refused, k->function[i].symbol.name);
		if (k->function[i].exact)
			f = &k->function[i];
	}
	if (f->exact || !(k->calls || k->full || k->tracepoints->n || k->threads))
		return dt_fail(e, "BPF may not probe the kernel's functions, such as '%s': %s",
			       f->symbol.name, why);
	k->functions = 0;
	dt_format(k->forbidden, sizeof(k->forbidden), "%s", why);
	return 0;
}

/*
 * Loads all programs. Where that fails, the kernel may forbid those for functions, and allow the
 * others: kernels that are locked down for integrity do.
 */
static int load(struct dt_kernel_bpf *k, struct dt_error *e)
{
	struct dt_error why;
	size_t reason;

	if (load_object(k, &why) == 0)
		return 0;
	if (!k->functions || !may() || is_locked_down())
		return dt_fail(e, "%s", why.text);
	/* what is not loaded is said again */
	reason = strncmp(why.text, UNLOADED, strlen(UNLOADED)) ? 0 : strlen(UNLOADED ": ");
	dt_bpf.bpf_object__close(k->object);
	k->object = NULL;
	if (leave_functions(k, why.text + reason, e) < 0)
		return -1;
	said[0] = '\0'; /* that was about what is left out now */
	return load_object(k, e);
}

int dt_bpf_programs_load(struct dt_kernel_bpf *k, struct dt_error *e)
{
	libbpf_print_fn_t before;
	int rc = -1;

	if (!dt_bpf_image_size)
		return dt_fail(e, "this devtrace was built without clang, which makes the programs "
				  "for it");
	said[0] = '\0';
	before = dt_bpf.libbpf_set_print(on_print);
	if (load(k, e) == 0 && map_rings(k, e) == 0 && find_calls(k, e) == 0 &&
	    dt_bpf_functions_attach(k, e) == 0)
		rc = attach_tracepoints(k, e);
	if (rc == 0 && k->tracepoints->n)
		rc = dt_bpf_tracepoints_attach(k, map_fd(k, "tracepoints"),
					       dt_bpf.bpf_program__fd(program_of(k, "happened")),
					       e);
	dt_bpf.libbpf_set_print(before);
	return rc;
}

void dt_bpf_functions_detach(struct dt_kernel_bpf *k)
{
	while (k->links)
		close(k->link[--k->links]);
	free(k->link);
	k->link = NULL;
	k->link_room = 0;
	for (size_t i = 0; i < k->functions; i++)
		detach(&k->function[i]);
}

void dt_bpf_programs_unload(struct dt_kernel_bpf *k)
{
	dt_bpf_tracepoints_detach(k);
	for (unsigned i = sizeof(k->tracepoint) / sizeof(*k->tracepoint); i-- > 0;)
		if (k->tracepoint[i] >= 0)
			close(k->tracepoint[i]);
	dt_bpf_functions_detach(k);
	if (k->state)
		munmap(k->state, sizeof(*k->state));
	if (k->head)
		munmap(k->head, rings_of(k) * sizeof(*k->head));
	if (k->records)
		munmap(k->records, ((size_t)rings_of(k) << k->shift) * sizeof(*k->records));
	if (k->blocks)
		munmap(k->blocks, DT_BPF_BLOCKS * sizeof(*k->blocks));
	if (k->choosing.row)
		munmap(k->choosing.row, sum_rows_of(k) * sizeof(*k->choosing.row));
	if (k->object)
		dt_bpf.bpf_object__close(k->object);
}

/* Returns how often the kernel has not run a program because it was running on that core. */
static uint64_t missed(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return fd < 0 || dt_bpf.bpf_obj_get_info_by_fd(fd, &info, &size) < 0
		       ? 0
		       : info.recursion_misses;
}

/* Returns how many calls the kernel had no room for, to return by us; from 6.7 on it tells. */
static uint64_t crowded(int fd)
{
	/* struct bpf_link_info of newer kernels than our headers may be of: type, id, program; of
	 * kprobe.multi: addresses, their number, flags, missed */
	uint64_t info[16] = {0};
	uint32_t size = sizeof(info);

	return dt_bpf.bpf_obj_get_info_by_fd(fd, info, &size) < 0 ? 0 : info[4];
}

uint64_t dt_bpf_links_missed(const struct dt_kernel_bpf *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < k->functions && !k->multi; i++)
		n += missed(k->function[i].fd[0]) + missed(k->function[i].fd[1]);
	for (size_t i = 0; i < k->links; i++)
		n += crowded(k->link[i]);
	return n;
}

uint64_t dt_bpf_programs_missed(const struct dt_kernel_bpf *k)
{
	static const char *const other[] = {"call", "called",	"entered", "left",
					    "born", "switched", "waking",  "happened"};
	uint64_t n = dt_bpf_links_missed(k);

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		n += missed(dt_bpf.bpf_program__fd(
			dt_bpf.bpf_object__find_program_by_name(k->object, other[i])));
	return n;
}
