/* SPDX-License-Identifier: MIT */
#include "session/jit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/now.h"
#include "process/rights.h"
#include "process/run-time.h"
#include "process/threads.h"
#include "session/state.h"
#include "symbols/jit.h"

#define LOOK_NS 1000000000u /* between two looks for files, at least */
/* Mappings are looked through for a jitdump at the first few looks, and at every fifth later on. */
#define FIRST_LOOKS 4
#define MAPS_LOOKS  5

/* What is known of a process. */
struct dt_session_jit {
	struct dt_session_jit *next;
	pid_t pid;
	uint32_t id; /* of the process: session/lives.h */
	bool here;   /* it sees the same files as we do, by the same numbers; and acts as `user' */
	uid_t user;
	unsigned looks; /* how often has been looked */
	struct {
		int file; /* -1: none */
		struct dt_jit *names;
	} of[2]; /* by enum dt_jit_kind */
};

/* Does the process have our root folder, mounts and numbers of processes? */
static bool is_here(pid_t pid)
{
	static const char *const what[] = {"root", "ns/mnt", "ns/pid"};

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		struct stat ours, its;
		char path[64];

		dt_format(path, sizeof(path), "/proc/self/%s", what[i]);
		if (stat(path, &ours) < 0)
			return false;
		dt_format(path, sizeof(path), "/proc/%d/%s", pid, what[i]);
		if (stat(path, &its) < 0 || its.st_dev != ours.st_dev || its.st_ino != ours.st_ino)
			return false;
	}
	return true;
}

void dt_session_jit_begin(struct dt_session *s, const struct dt_target *t)
{
	pid_t pid = t->pid;
	struct dt_session_jit *m = dt_session_has_file(s) ? calloc(1, sizeof(*m)) : NULL;
	struct dt_rights rights;

	if (!m)
		return;
	m->pid = pid;
	m->id = t->id;
	m->of[0].file = m->of[1].file = -1;
	m->here = is_here(pid) && dt_rights_of(pid, &rights);
	m->user = m->here ? rights.user[1] : 0;
	m->next = s->jit;
	s->jit = m;
}

static void read_file(struct dt_session_jit *m, enum dt_jit_kind kind)
{
	if (m->of[kind].file < 0)
		return;
	if (!m->of[kind].names)
		m->of[kind].names = dt_jit_new(kind);
	if (m->of[kind].names)
		dt_jit_read(m->of[kind].names, m->of[kind].file);
}

/* Keeps the file, unless it is none: what is open stays, as the process may have removed its file.
 */
static void take(struct dt_session_jit *m, enum dt_jit_kind kind, int file)
{
	if (file < 0)
		return;
	if (m->of[kind].file >= 0)
		close(m->of[kind].file);
	m->of[kind].file = file;
}

static void look_at(struct dt_session_jit *m, bool mappings)
{
	struct dt_maps maps;

	take(m, DT_JIT_MAP, dt_run_time_map(m->pid));
	if (mappings && m->of[DT_JIT_DUMP].file < 0 && dt_maps_read(m->pid, &maps, NULL) == 0) {
		take(m, DT_JIT_DUMP, dt_run_time_dump(m->pid, &maps));
		dt_maps_free(&maps);
	}
	read_file(m, DT_JIT_MAP);
	read_file(m, DT_JIT_DUMP);
}

void dt_session_jit_look(struct dt_session *s)
{
	uint64_t now;

	if (!s->jit)
		return;
	now = dt_now_ns();
	if (now - s->jit_looked < LOOK_NS)
		return;
	s->jit_looked = now;
	for (struct dt_session_jit *m = s->jit; m; m = m->next)
		look_at(m, ++m->looks <= FIRST_LOOKS || m->looks % MAPS_LOOKS == 0);
}

/* Opens the map file of a process that has ended before anybody looked: nothing in /proc leads
 * there any more. */
static int open_left(const struct dt_session_jit *m)
{
	struct stat st;
	char path[64];
	int file;

	if (!m->here)
		return -1;
	dt_format(path, sizeof(path), "/tmp/perf-%d.map", m->pid);
	file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
	    (!st.st_uid || st.st_uid == m->user))
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

/* Writes the names to the trace file, and frees them. */
static void finish(struct dt_session *s, struct dt_session_jit *m)
{
	look_at(m, true);
	if (m->of[DT_JIT_MAP].file < 0) {
		take(m, DT_JIT_MAP, open_left(m));
		read_file(m, DT_JIT_MAP);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct dt_jit_code *code;
		size_t n = 0;

		code = m->of[i].names ? dt_jit_all(m->of[i].names, &n) : NULL;
		for (size_t k = 0; code && k < n && s->store; k++)
			dt_store_jit(s->store, m->id, &code[k], NULL);
		if (m->of[i].names)
			s->results.jit_unread += dt_jit_unread(m->of[i].names);
		dt_jit_free(m->of[i].names);
		if (m->of[i].file >= 0)
			close(m->of[i].file);
	}
	free(m);
}

void dt_session_jit_end(struct dt_session *s, pid_t pid)
{
	for (struct dt_session_jit **p = &s->jit, *m; (m = *p);) {
		if (pid && m->pid != pid) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		finish(s, m);
	}
}
