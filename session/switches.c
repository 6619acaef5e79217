/* SPDX-License-Identifier: MIT */
/* Reads context switches by perf_event_open(2). */
#include "session/switches.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/arch.h"
#include "session/clock-pair.h"
#include "session/switch-event.h"

#define PAGE 4096u
/*
 * Bytes of a core's buffer, a power of two: the least is some 3,000 switches and within the usual
 * limit of a user, the most is some 50,000: threads that hand a core to each other make so many in
 * 50 ms, and so long the recorder may have to wait for a core, too.
 */
#define BUFFER_LEAST (1u << 17)
#define BUFFER_MOST  (1u << 21)

#define KEPT (1u << 18) /* records of a core that are kept when nobody takes them: 18 MiB */

/*
 * Limits of what nobody has asked for (doc/dev/decisions.md has what was measured). With the head
 * of its buffer a core's is what the kernel grants a user for each core (516 KiB). So many records
 * of a core in a second take 1.2 % of its time; a burst may be larger. There is an event for each
 * thread on each core: for a new thread the kernel makes as many.
 */
#define CHEAP_BUFFER  (1u << 19)
#define CHEAP_RATE    50000u
#define CHEAP_BURST   10000
#define CHEAP_CORES   16u
#define CHEAP_EVENTS  4096u
#define CHEAP_KEPT_NS 200000000 /* before there are records: longer than one lies in a ring */
#define SPARE_FDS     256u	/* that devtrace may need besides */

struct core {
	int fd; /* the event that owns the core's buffer; -1: there is none yet */
	struct perf_event_mmap_page *page; /* the head of the buffer; the records are behind it */
	size_t size;			   /* bytes of records */
	struct dt_switch *pending; /* R records, and switches not taken yet; in the order of time */
	size_t n, room;
	uint64_t lost;		   /* records missing after the last of them */
	uint64_t written, dropped; /* in all: that came, that the kernel reported missing */
	uint32_t running;	   /* the thread that runs on the core, as far as known */
	int64_t may;		   /* cheap: so many more may come at once... */
	uint64_t looked;	   /* ...since this tick */
	size_t forget_at;	   /* `begun' is false: when there are so many, old ones go */
};

struct dt_switches {
	pthread_mutex_t lock;
	unsigned cores;
	struct core *core;
	struct dt_switch *out; /* the records taken last; recorder thread only */
	size_t out_room;
	int *fd; /* all events that own no buffer */
	size_t fds, room;
	/* 1/1024 of a core's buffer: the most that was found in one since dt_switches_patience() */
	uint64_t filled;
	int wait_ms; /* until the next look; short at first, since a burst may come */
	/* Two readings of the clocks, the first and the latest: ticks, and ns of
	 * CLOCK_MONOTONIC_RAW. */
	uint64_t ticks, raw, first_ticks, first_raw;
	uint64_t stolen; /* all_stolen() when it was opened */
	enum dt_switches_how how;
	struct dt_switch_event first;
	uint64_t most;	      /* cheap: events that there may be */
	uint64_t over_at;     /* cheap: from which tick on switches are not known; 0: they are */
	struct dt_error over; /* why */
	bool ended;	      /* so there are no events any more */
	/* cheap: there is a record that somebody has asked for. Until then nothing is given out,
	 * and old ones are forgotten: a trace begins with what it is of */
	bool begun;
};

/* Returns the ticks of a nanosecond, which are known better with time. */
static double rate_of(const struct dt_switches *w)
{
	return (double)(w->ticks - w->first_ticks) / (double)(w->raw - w->first_raw);
}

/* Turns raw nanoseconds into ticks, starting from the latest reading. */
static uint64_t to_ticks(const struct dt_switches *w, uint64_t ns)
{
	return w->ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - w->raw) * rate_of(w));
}

/*
 * Returns how many bytes each core's buffer may have: half of what the kernel lets a user lock
 * (perf_event_open(2): kernel.perf_event_mlock_kb for each core, and RLIMIT_MEMLOCK), since others
 * may need some.
 */
static size_t buffer_size(unsigned cores)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_mlock_kb", "re");
	unsigned long kb = 0;
	struct rlimit limit;
	uint64_t all;
	size_t size = BUFFER_MOST;

	if (f) {
		if (fscanf(f, "%lu", &kb) != 1)
			kb = 0;
		fclose(f);
	}
	all = (uint64_t)kb * 1024 * cores;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		all = limit.rlim_cur > UINT64_MAX - all ? UINT64_MAX : all + limit.rlim_cur;
	while (size > BUFFER_LEAST && size > all / 2 / cores)
		size /= 2;
	return size;
}

/* Returns for how many ns a hypervisor has had the machine's processors in all; 0: that is not
 * known.
 */
static uint64_t all_stolen(void)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long clocks = 0;
	long second = sysconf(_SC_CLK_TCK);

	if (!f)
		return 0;
	/* user, nice, system, idle, iowait, irq, softirq, steal: hundredths of a second, mostly */
	if (fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &clocks) != 1 || second <= 0)
		clocks = 0;
	fclose(f);
	return second > 0 ? clocks * (1000000000u / (unsigned long)second) : 0;
}

uint64_t dt_switches_stolen(const struct dt_switches *w)
{
	uint64_t now = all_stolen();

	return now > w->stolen ? now - w->stolen : 0;
}

struct dt_switches *dt_switches_open(unsigned cores, enum dt_switches_how how, struct dt_error *e)
{
	struct dt_switches *w = calloc(1, sizeof(*w));
	struct rlimit limit;
	size_t size;

	if (!w || !(w->core = calloc(cores, sizeof(*w->core)))) {
		free(w);
		dt_fail(e, "out of memory");
		return NULL;
	}
	w->cores = cores;
	w->how = how;
	w->wait_ms = 1;
	w->stolen = all_stolen();
	w->begun = how != DT_SWITCHES_CHEAP;
	size = buffer_size(cores);
	if (how == DT_SWITCHES_CHEAP && size > CHEAP_BUFFER)
		size = CHEAP_BUFFER;
	for (unsigned i = 0; i < cores; i++) {
		w->core[i].fd = -1;
		w->core[i].size = size;
		w->core[i].running = DT_NO_TID;
		w->core[i].may = CHEAP_BURST;
	}
	pthread_mutex_init(&w->lock, NULL);
	/* there will be an event for each thread on each core */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		w->most = limit.rlim_cur > SPARE_FDS ? limit.rlim_cur - SPARE_FDS : 0;
	}
	w->most = w->most < CHEAP_EVENTS ? w->most : CHEAP_EVENTS;
	dt_clock_pair(CLOCK_MONOTONIC_RAW, &w->first_ticks, &w->first_raw);
	w->ticks = w->first_ticks;
	w->raw = w->first_raw;
	if (how != DT_SWITCHES_OTHERS)
		dt_switch_event_begin(&w->first);
	return w;
}

/* Lets go of all events; what they have told and nobody has fetched is gone. */
static void end_events(struct dt_switches *w)
{
	dt_switch_event_free(&w->first);
	for (size_t i = 0; i < w->fds; i++)
		close(w->fd[i]);
	w->fds = 0;
	for (unsigned i = 0; i < w->cores; i++) {
		if (w->core[i].page)
			munmap(w->core[i].page, w->core[i].size + PAGE);
		if (w->core[i].fd >= 0)
			close(w->core[i].fd);
		w->core[i].page = NULL;
		w->core[i].fd = -1;
	}
}

void dt_switches_close(struct dt_switches *w)
{
	if (!w)
		return;
	end_events(w);
	for (unsigned i = 0; i < w->cores; i++)
		free(w->core[i].pending);
	pthread_mutex_destroy(&w->lock);
	free(w->fd);
	free(w->out);
	free(w->core);
	free(w);
}

/* Drops the oldest half of the records, as a flight recorder's ring does. */
static void forget_half(struct core *c)
{
	size_t half = c->n / 2;
	uint64_t lost = half;

	for (size_t i = 0; i < half; i++)
		lost += c->pending[i].lost;
	memmove(c->pending, c->pending + half, (c->n - half) * sizeof(*c->pending));
	c->n -= half;
	c->pending[0].lost += lost;
}

/* Forgets what a core did before a tick, but for the last switch until then. */
static void forget_before(struct core *c, uint64_t ticks)
{
	size_t n = 0, last = c->n;

	for (size_t i = 0; i < c->n && c->pending[i].record.ticks <= ticks; i++)
		if (c->pending[i].record.kind == DT_SWITCH)
			last = i;
	for (size_t i = 0; i < c->n; i++)
		if (last == c->n || i >= last || c->pending[i].record.kind != DT_SWITCH)
			c->pending[n++] = c->pending[i];
	c->written -= c->n - n;
	c->n = n;
}

static int keep(struct core *c, const struct dt_record *r)
{
	size_t i;

	if (c->n == KEPT)
		forget_half(c);
	i = c->n;
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 256;
		struct dt_switch *more = realloc(c->pending, room * sizeof(*more));

		if (!more) {
			c->lost++;
			return -1;
		}
		c->pending = more;
		c->room = room;
	}
	/* an R record may belong between others, and so may a switch whose time was computed by a
	 * better rate */
	while (i && c->pending[i - 1].record.ticks > r->ticks) {
		c->pending[i] = c->pending[i - 1];
		i--;
	}
	/* what was lost came after all that are there */
	c->pending[i] = (struct dt_switch){*r, i == c->n ? c->lost : 0};
	if (i == c->n)
		c->lost = 0;
	c->n++;
	return 0;
}

/* ---- the end of cheap ones */

/* Notes that from a tick on they are not known. With the lock, as what follows. */
static void stop_at(struct dt_switches *w, uint64_t ticks, const char *why)
{
	if (w->over_at && w->over_at <= ticks)
		return;
	w->over_at = ticks ? ticks : 1;
	dt_format(w->over.text, sizeof(w->over.text), "%s", why);
}

static void read_kernel(struct dt_switches *w, struct core *c);

/* Ends them, if that has been noted: even events that tell nothing make switches slower. */
static void end_cheap(struct dt_switches *w)
{
	if (!w->over_at || w->ended)
		return;
	/* one of these may have to stop earlier */
	for (unsigned i = 0; i < w->cores; i++)
		read_kernel(w, &w->core[i]);
	end_events(w);
	w->ended = true;
}

/* Notes how many more records of a core have come. */
static void count_cheap(struct dt_switches *w, struct core *c, uint64_t more)
{
	uint64_t now = dt_ticks();
	double ns = (double)(now - c->looked) / rate_of(w);

	/* the first look is at what came since it began */
	c->may += c->looked ? (int64_t)(ns * CHEAP_RATE / 1e9) : 0;
	c->may = (c->may < CHEAP_BURST ? c->may : CHEAP_BURST) - (int64_t)more;
	c->looked = now;
	if (c->may < 0)
		stop_at(w, now,
			"they came so often that to record them would have slowed the program "
			"down; with -S they are recorded all the same");
}

const char *dt_switches_over(struct dt_switches *w, uint64_t *ticks)
{
	const char *why;

	pthread_mutex_lock(&w->lock);
	*ticks = w->over_at;
	why = w->ended ? w->over.text : NULL;
	pthread_mutex_unlock(&w->lock);
	return why;
}

/* ---- following */

/* Maps a core's buffer, which is smaller where the kernel gives no more. */
static void *map_buffer(struct core *c, int fd)
{
	for (;;) {
		void *page = mmap(NULL, c->size + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (page != MAP_FAILED || c->size == BUFFER_LEAST)
			return page;
		c->size /= 2;
	}
}

static int open_event(struct dt_switches *w, pid_t tid, unsigned core, struct dt_error *e)
{
	struct core *c = &w->core[core];
	struct perf_event_attr a = dt_switch_event_of(c->size);
	int fd = (int)syscall(SYS_perf_event_open, &a, tid, (int)core, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return dt_switch_event_forbidden(e);
	if (fd < 0 && (errno == ESRCH || errno == ENODEV)) /* it has ended; core is off line */
		return 0;
	if (fd < 0)
		return dt_fail(e, "context switches of thread %d: %s", tid, strerror(errno));
	if (c->fd < 0) {
		page = map_buffer(c, fd);
		if (page == MAP_FAILED) {
			dt_fail(e,
				"no buffer for context switches: %s; kernel.perf_event_mlock_kb "
				"limits it",
				strerror(errno));
			close(fd);
			return -1;
		}
		c->fd = fd;
		c->page = page;
		return 0;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd) < 0) {
		dt_fail(e, "context switches of thread %d: %s", tid, strerror(errno));
		close(fd);
		return -1;
	}
	if (w->fds == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		int *more = realloc(w->fd, room * sizeof(*more));

		if (!more) {
			close(fd);
			return dt_fail(e, "out of memory");
		}
		w->fd = more;
		w->room = room;
	}
	w->fd[w->fds++] = fd;
	return 0;
}

/* Reads from /proc a thread's name, the core that it is or was on, and whether it is running there,
 * into an R record. False: it has gone. */
static bool look(pid_t pid, pid_t tid, struct dt_record *r, unsigned *core)
{
	char path[64], line[1024], *open, *p;
	FILE *f;
	size_t n;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	open = strchr(line, '(');
	p = strrchr(line, ')'); /* a name may have parentheses in it */
	if (!open || !p || p < open || p[1] != ' ')
		return false;
	*r = (struct dt_record){.ticks = dt_ticks(),
				.tid = (uint32_t)tid,
				.kind = DT_RUNDOWN,
				.flags = 4,
				.value = {(uint64_t)tid, 0, (uint64_t)pid, p[2] == 'R'}};
	n = (size_t)(p - open - 1);
	memcpy(&r->value[1], open + 1, n < 8 ? n : 8);
	p += 2;
	for (int field = 3; field < 39 && p; field++) /* proc(5): 39 is the processor */
		p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL;
	*core = p ? (unsigned)strtoul(p, NULL, 10) : 0;
	return true;
}

int dt_switches_ready(struct dt_switches *w, struct dt_error *e)
{
	int failed = w->how == DT_SWITCHES_OTHERS ? 0 : dt_switch_event_end(&w->first, e);

	do
		dt_clock_pair(CLOCK_MONOTONIC_RAW, &w->ticks, &w->raw);
	while (w->raw - w->first_raw < 2000000);
	if (w->how != DT_SWITCHES_CHEAP)
		return 0;
	if (w->cores > CHEAP_CORES)
		return dt_fail(e,
			       "on a machine of %u processors they would make new threads slow; "
			       "with -S they are recorded all the same",
			       w->cores);
	return failed;
}

/* Opens the events of a thread. */
static int follow(struct dt_switches *w, pid_t tid, struct dt_error *e)
{
	if (w->how == DT_SWITCHES_OTHERS)
		return 0;
	if (w->how == DT_SWITCHES_CHEAP && w->fds + w->cores > w->most)
		return dt_fail(
			e, "these are too many threads and processes, of which each needs a file "
			   "descriptor for each processor; with -S they are recorded all the "
			   "same, as far as ulimit -n allows it");
	for (unsigned i = 0; i < w->cores; i++)
		if (open_event(w, tid, i, e))
			return -1;
	return 0;
}

/* Follows the threads of a process. With the lock. */
static int add(struct dt_switches *w, pid_t pid, bool has, DIR *threads, struct dt_error *e)
{
	struct dirent *entry;

	while ((entry = readdir(threads)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		struct dt_record r;
		unsigned core;

		if (tid <= 0)
			continue;
		if (!has && follow(w, tid, e))
			return -1;
		if (!look(pid, tid, &r, &core))
			continue;
		w->core[core % w->cores].written++;
		if (keep(&w->core[core % w->cores], &r) < 0)
			return dt_fail(e, "out of memory");
	}
	return 0;
}

int dt_switches_add(struct dt_switches *w, pid_t pid, bool has, struct dt_error *e)
{
	uint64_t now = dt_ticks();
	char path[64];
	DIR *d;
	int rc = 0;

	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0;
	pthread_mutex_lock(&w->lock);
	if (!w->ended)
		rc = add(w, pid, has, d, e);
	if (rc && w->how == DT_SWITCHES_CHEAP) {
		stop_at(w, now, e->text);
		end_cheap(w);
		rc = 0;
	}
	pthread_mutex_unlock(&w->lock);
	closedir(d);
	return rc;
}

/* ---- taking */

/* Copies out a perf record, which may wrap around the buffer's end. */
static void copy_out(const struct core *c, uint64_t at, void *out, size_t n)
{
	const char *data = (const char *)c->page + PAGE;
	size_t from = at % c->size, head = c->size - from < n ? c->size - from : n;

	memcpy(out, data + from, head);
	memcpy((char *)out + head, data, n - head);
}

struct perf_switch {
	struct perf_event_header head;
	uint32_t pid, tid; /* the thread that comes or goes: sample_id_all */
	uint64_t time;
	uint32_t cpu, pad;
};

struct perf_lost {
	struct perf_event_header head;
	uint64_t id, lost;
};

static void note_switch(struct dt_switches *w, struct core *c, const struct perf_switch *s)
{
	bool out = s->head.misc & PERF_RECORD_MISC_SWITCH_OUT;
	uint32_t tid = out ? DT_NO_TID : s->tid;
	struct dt_record r = {.ticks = to_ticks(w, s->time),
			      .tid = tid,
			      .kind = DT_SWITCH,
			      .flags = 4,
			      .value = {tid, 0, out ? 0 : s->pid, out ? s->tid : c->running}};

	if (out && (s->head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)) {
		r.value[3] |= 1ull << 32;
		r.flags |= DT_PREEMPTED;
	}
	c->running = tid;
	c->written++;
	/* a record may be in a ring by now that has not been read */
	if (!w->begun && c->n >= c->forget_at) {
		forget_before(c, dt_ticks() - (uint64_t)(CHEAP_KEPT_NS * rate_of(w)));
		c->forget_at = 2 * c->n + 256;
	}
	keep(c, &r);
}

static void read_kernel(struct dt_switches *w, struct core *c)
{
	uint64_t head, tail, came = 0, last = c->looked;

	if (!c->page)
		return;
	head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);
	tail = c->page->data_tail;
	if (w->filled < (head - tail) * 1024 / c->size)
		w->filled = (head - tail) * 1024 / c->size;
	while (tail < head) {
		struct perf_event_header h;
		union {
			struct perf_switch s;
			struct perf_lost l;
		} u;

		copy_out(c, tail, &h, sizeof(h));
		if (!h.size)
			break;
		memset(&u, 0, sizeof(u));
		copy_out(c, tail, &u, h.size < sizeof(u) ? h.size : sizeof(u));
		if (h.type == PERF_RECORD_SWITCH) {
			note_switch(w, c, &u.s);
			came++;
			last = to_ticks(w, u.s.time);
		} else if (h.type == PERF_RECORD_LOST && w->how == DT_SWITCHES_CHEAP) {
			/* what came behind it is of no use */
			stop_at(w, last,
				"they came faster than they were fetched; with -S there is "
				"more room for them");
			tail = head;
			break;
		} else if (h.type == PERF_RECORD_LOST) {
			c->lost += u.l.lost;
			c->dropped += u.l.lost;
		}
		tail += h.size;
	}
	__atomic_store_n(&c->page->data_tail, tail, __ATOMIC_RELEASE);
	if (w->how == DT_SWITCHES_CHEAP)
		count_cheap(w, c, came);
}

/* Takes a new latest reading of the clocks: the further apart the two are, the better the rate is
 * known. */
static void look_at_clocks(struct dt_switches *w)
{
	uint64_t ticks, raw;

	dt_clock_pair(CLOCK_MONOTONIC_RAW, &ticks, &raw);
	if (raw - w->raw > 100000000) {
		w->ticks = ticks;
		w->raw = raw;
	}
}

void dt_switches_keep(struct dt_switches *w)
{
	pthread_mutex_lock(&w->lock);
	look_at_clocks(w);
	for (unsigned i = 0; i < w->cores; i++) {
		read_kernel(w, &w->core[i]);
	}
	end_cheap(w);
	pthread_mutex_unlock(&w->lock);
}

void dt_switches_begin(struct dt_switches *w, uint64_t ticks)
{
	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; !w->begun && i < w->cores; i++) {
		struct core *c = &w->core[i];

		read_kernel(w, c);
		forget_before(c, ticks);
		for (size_t k = 0; k < c->n && c->pending[k].record.ticks < ticks; k++)
			c->pending[k].record.ticks = ticks;
	}
	w->begun = true;
	pthread_mutex_unlock(&w->lock);
}

int dt_switches_patience(struct dt_switches *w, int ms)
{
	pthread_mutex_lock(&w->lock);
	if (w->filled > 256)
		w->wait_ms = w->wait_ms > 1 ? w->wait_ms / 2 : 1;
	else if (w->filled < 64)
		w->wait_ms = 2 * w->wait_ms < ms ? 2 * w->wait_ms : ms;
	w->filled = 0;
	ms = w->wait_ms < ms ? w->wait_ms : ms;
	pthread_mutex_unlock(&w->lock);
	return ms;
}

void dt_switches_written(struct dt_switches *w, unsigned core, uint64_t *records, uint64_t *dropped)
{
	pthread_mutex_lock(&w->lock);
	*records = w->begun ? w->core[core].written : 0;
	*dropped = w->core[core].dropped;
	pthread_mutex_unlock(&w->lock);
}

const struct dt_switch *dt_switches_take(struct dt_switches *w, unsigned core, uint64_t until,
					 size_t *n, uint64_t *lost)
{
	struct core *c = &w->core[core];

	*n = 0;
	*lost = 0;
	pthread_mutex_lock(&w->lock);
	look_at_clocks(w);
	read_kernel(w, c);
	end_cheap(w);
	while (w->begun && *n < c->n && c->pending[*n].record.ticks <= until)
		++*n;
	if (*n > w->out_room) {
		struct dt_switch *more = realloc(w->out, 2 * *n * sizeof(*more));

		*n = more ? *n : w->out_room;
		w->out = more ? more : w->out;
		w->out_room = more ? 2 * *n : w->out_room;
	}
	if (*n)
		memcpy(w->out, c->pending, *n * sizeof(*w->out));
	c->n -= *n;
	if (*n)
		memmove(c->pending, c->pending + *n, c->n * sizeof(*c->pending));
	if (until == ~0ull && !c->n) {
		*lost = c->lost;
		c->lost = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return w->out;
}
