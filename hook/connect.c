/* SPDX-License-Identifier: MIT */
/* Leading a few functions of libc and the dynamic linker through the area, as well as the gates:
 * places where a program forbids itself what the hooks need (elf/gates.h). */
#include "hook/connect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/memory.h"

#define PATCHES DT_PATCHES

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Looks by the file's name whether the file may have the function to be connected. */
static bool may_hold(const struct dt_file *f, const struct dt_connection *c)
{
	const char *name = base_name(f->path);

	if (!f->elf)
		return false;
	/* musl's linker and libc in one, and the file that this is a link to on Debian */
	if (strncmp(name, "ld-musl", 7) == 0 || strcmp(name, "libc.so") == 0)
		return true;
	if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2", 4) == 0 ||
	    strcmp(name, "ld.so") == 0)
		return c->linker;
	if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0)
		return !c->linker;
	/* a static program is its own libc */
	return !c->linker && f->elf->entry && !f->elf->interp && f->elf->type != 0 &&
	       strstr(name, ".so") == NULL;
}

/* Returns the only place in n bytes of text where c's head stands; NULL: there is none, or several.
 */
static const unsigned char *only(const unsigned char *text, size_t n, const struct dt_connection *c)
{
	const unsigned char *at = memmem(text, n, c->head, c->head_size);

	if (!at || memmem(at + 1, n - (size_t)(at + 1 - text), c->head, c->head_size))
		return NULL;
	return at;
}

/* Returns the address of the bytes to be replaced if the function is exactly as expected, else 0.
 */
static uint64_t find(struct dt_target *t, const struct dt_module *m, const struct dt_connection *c)
{
	unsigned char text[0x60];
	const unsigned char *at;
	uint64_t address, size = 0, skip = 0;

	if (c->unnamed) {
		address = dt_file_clone3(m->file) + m->bias;
		return address != m->bias &&
				       dt_memory_read(t->mem, address, text, c->head_size) == 0 &&
				       memcmp(text, c->head, c->head_size) == 0
			       ? address
			       : 0;
	}
	if (dt_elf_symbol(m->file->elf, c->name, &address, &size) < 0)
		return 0;
	address += m->bias;
	if (dt_memory_read(t->mem, address, text, sizeof(text)) < 0)
		return 0;
	skip = dt_landing_pad(text, sizeof(text));
	at = only(text + skip, c->within + c->head_size, c);
	if (!at || (!c->within && at != text + skip))
		return 0;
	if (c->linker) {
		/* an empty function, and room for the jump before the next can begin */
		if (size > skip + c->head_size ||
		    (DT_LEAD > c->head_size && ((address & 15) != 0 || skip + DT_LEAD > 16)))
			return 0;
	}
	return address + (uint64_t)(at - text) + c->at;
}

size_t dt_connected(const struct dt_target *t)
{
	struct dt_blob head;
	size_t n = 0;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return PATCHES;
	while (n < PATCHES && head.patch[n].length)
		n++;
	return n;
}

/* Looks whether the stub is in use already. A second libc (dlmopen) is left alone, since each stub
 * knows only one place to go back to. */
static bool stub_taken(struct dt_target *t, const struct dt_connection *c)
{
	uint64_t back = 0;

	return c->back_at &&
	       (dt_memory_read(t->mem, t->area + c->back_at, &back, sizeof(back)) < 0 || back);
}

/* Looks whether the jump that was planted at address is still there: its module may have been
 * unmapped, and another mapped in its place. */
static bool leads_here(const struct dt_target *t, const struct dt_blob *head, uint64_t address)
{
	unsigned char now[DT_LEAD];
	uint64_t to;

	if (dt_memory_read(t->mem, address, now, sizeof(now)) < 0 ||
	    !dt_lead_read(now, address, &to))
		return false;
	return to - t->area < DT_CODE_SIZE || (head->jumps[0] && to - head->jumps[0] < 4096) ||
	       (head->jumps[1] && to - head->jumps[1] < 4096);
}

/* Looks whether address is led through the area already (or the area can not be read). */
static bool planted(struct dt_target *t, uint64_t address)
{
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return true;
	for (size_t i = 0; i < PATCHES; i++)
		if (head.patch[i].length && head.patch[i].address == address)
			return leads_here(t, &head, address);
	return false;
}

/* Writes a jump to `to' on one of the area's pages of jumps within reach of `from', and sets `jump'
 * to the bytes at `from' that lead there. False: there is no such page. */
static bool far_jump(struct dt_target *t, uint64_t from, uint64_t to, unsigned char jump[DT_LEAD])
{
	unsigned char code[DT_LEAD_FAR];
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return false;
	dt_lead_far(code, to);
	for (int i = 0; i < 2; i++) {
		uint64_t at = head.jumps[i] + t->patches * sizeof(code);

		if (head.jumps[i] && dt_lead_write(jump, from, at))
			return dt_memory_write(t->mem, at, code, sizeof(code)) == 0;
	}
	return false;
}

/* What is to be led through the area: a function, or a gate. */
struct lead {
	uint64_t address;     /* of the bytes that are replaced */
	const char *name;     /* for errors */
	uint32_t length;      /* of a gate: bytes that are moved; 0: it is a function */
	uint32_t stub;	      /* of a function: offset of its stub in the blob */
	size_t back_at, back; /* as in struct dt_connection */
};

static uint64_t gate_at(const struct dt_target *t, size_t i)
{
	return t->area + DT_AREA_GATES + i * DT_GATE_SIZE;
}

/* Finds a free slot for a gate. Slots are used from the first one on, and are never freed, even if
 * the module that led there has been unmapped. */
static bool free_gate(struct dt_target *t, uint64_t *at)
{
	for (size_t i = 0; i < DT_GATES; i++) {
		unsigned char byte;

		*at = gate_at(t, i);
		if (dt_memory_read(t->mem, *at, &byte, 1) == 0 && !byte)
			return true;
	}
	return false;
}

/* Returns the address to which the jump is to lead; a gate's code is written there first. 0: that
 * can not be done. */
static uint64_t make_end(struct dt_target *t, const struct lead *l)
{
	unsigned char moved[DT_GATE_MOVED], gate[DT_GATE_SIZE];
	uint64_t at;

	if (!l->length)
		return t->area + l->stub;
	if (!free_gate(t, &at) || dt_memory_read(t->mem, l->address, moved, l->length) < 0)
		return 0;
	dt_gate_write(gate, at, moved, l->length, t->area + dt_blob_head()->call,
		      l->address + l->length);
	return dt_memory_write(t->mem, at, gate, sizeof(gate)) < 0 ? 0 : at;
}

/* Plants the jump. What it replaces is first noted in the blob's head, so that another controller
 * can put it back if this one is killed. */
static int plant(struct dt_target *t, const struct lead *l, struct dt_error *e)
{
	unsigned char jump[DT_LEAD];
	uint64_t address = l->address, back = address + l->back, entry[3] = {address, 0, DT_LEAD};
	size_t slot = offsetof(struct dt_blob, patch) + t->patches * sizeof(entry);
	uint64_t to;

	if (t->patches == PATCHES || !(to = make_end(t, l)))
		return 0;
	if (!dt_lead_write(jump, address, to) && !far_jump(t, address, to, jump))
		return 0; /* out of reach: this process is not followed there */
	if (dt_memory_read(t->mem, address, &entry[1], sizeof(uint64_t)) < 0)
		return dt_fail(e, "%s of process %d can not be read", l->name, t->pid);
	if (l->back_at && dt_memory_write(t->mem, t->area + l->back_at, &back, sizeof(back)) < 0)
		return dt_fail(e, "the area of process %d can not be written", t->pid);
	if (dt_memory_write(t->mem, t->area + slot, entry, sizeof(entry)) < 0 ||
	    dt_memory_write(t->mem, address, jump, sizeof(jump)) < 0)
		return dt_fail(e, "%s of process %d can not be written", l->name, t->pid);
	t->patches++;
	return 0;
}

/*
 * Sets threads that stand at clone's system call, after the bytes that the jump has replaced, back
 * to the jump, so that they go through the area too; also those that were interrupted in the call
 * and are about to restart it.
 */
static void lead_back(const struct dt_threads *threads, uint64_t address)
{
	for (size_t i = 0; i < threads->n; i++) {
		struct dt_regs r;
		uint64_t ip;

		if (dt_regs_get(threads->tid[i], &r) < 0)
			continue;
		ip = dt_regs_ip(&r);
		if (ip != address + DT_LEAD &&
		    (ip != address + DT_LEAD + DT_SYSCALL || !dt_regs_begins_anew(&r)))
			continue;
		dt_regs_set_ip(&r, address);
		dt_regs_leave_call(&r);
		dt_regs_set(threads->tid[i], &r);
	}
}

/*
 * Marks the rseq blocks of threads that have no rseq as unregistered: they may still name a core,
 * that of an earlier thread on the same stack. Threads begun later mark themselves (hook.S, clone);
 * these exist already. Where a thread has no block of libc's, the hooks look into none.
 */
static void mark_unregistered(struct dt_target *t, const struct dt_threads *threads)
{
	bool strange = false;
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0 || !head.hook[0])
		return;
	for (size_t i = 0; i < threads->n; i++) {
		uint64_t fs = dt_thread_pointer(threads->tid[i]), word[3], at, none = 0;
		uint32_t size, signature;
		int32_t cpu, unset = -1;

		/* libc's thread block points to itself, if it is above where the thread pointer
		 * leads; glibc's in the third word, too */
		if (dt_memory_read(t->mem, fs, word, sizeof(word)) < 0 || word[0] != fs ||
		    (head.own != DT_OWN_TABLE && word[2] != fs)) {
			strange = strange || (!DT_THREAD_BELOW && threads->tid[i] != t->pid);
			continue;
		}
		at = fs + (uint64_t)head.rseq_offset;
		if (head.own == DT_OWN_TABLE ||
		    dt_thread_rseq(threads->tid[i], &none, &size, &signature) ||
		    dt_memory_read(t->mem, at + 4, &cpu, sizeof(cpu)) < 0 || cpu < 0)
			continue;
		none = 0;
		dt_memory_write(t->mem, at + 8, &none, sizeof(none));
		dt_memory_write(t->mem, at + 4, &unset, sizeof(unset));
	}
	/* the first thread may not have come so far that it has one */
	if (strange && dt_area_note_strange(t->mem, t->area, NULL) == 0)
		dt_format(t->slow, sizeof(t->slow), "%s", DT_SLOW_STRANGE);
}

/* Looks whether the bytes of a gate are in memory as in the file. A gate that somebody else has
 * changed is left alone. */
static bool is_as_in_file(struct dt_target *t, const struct dt_module *m, const struct dt_gate *g)
{
	unsigned char now[DT_GATE_MOVED + 2];
	size_t size = g->length + 2;
	struct dt_gate again;

	return dt_memory_read(t->mem, m->bias + g->at, now, size) == 0 &&
	       dt_gate_function(now, size, &again) && again.at + again.length == g->length;
}

/* Adds the module's gates that are not led through the area yet to the n in todo. Returns how many
 * there are then. */
static size_t find_gates(struct dt_target *t, struct dt_module *m, struct lead *todo, size_t n)
{
	if (!m->file->elf)
		return n;
	dt_gates_read(&m->file->gates, m->file->elf);
	for (size_t i = 0; i < m->file->gates.n && n < PATCHES; i++) {
		const struct dt_gate *g = &m->file->gates.gate[i];

		if (!planted(t, m->bias + g->at) && is_as_in_file(t, m, g))
			todo[n++] = (struct lead){.address = m->bias + g->at,
						  .name = "a system call",
						  .length = g->length};
	}
	return n;
}

/* Returns whether children mark rseq blocks, which are at the same place in each thread's. */
static bool marks_blocks(const struct dt_target *t)
{
	struct dt_blob head;

	return t->fast && dt_memory_read(t->mem, t->area, &head, sizeof(head)) == 0 &&
	       head.rseq_offset;
}

bool dt_connect_has_gates(struct dt_target *t, const struct dt_module *m)
{
	for (size_t i = 0; i < m->file->gates.n; i++)
		if (!planted(t, m->bias + m->file->gates.gate[i].at))
			return false;
	return !m->file->gates.more;
}

bool dt_connect_has_clones(struct dt_target *t)
{
	static const char *const name[] = {"vfork", "clone"};
	const uint64_t *back[2];
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return false;
	back[0] = &head.vfork_back;
	back[1] = &head.clone_back;
	for (size_t i = 0; i < t->n; i++) {
		struct dt_elf *elf = t->module[i].file->elf;
		uint64_t at;

		for (int k = 0; elf && k < 2; k++)
			if (dt_elf_symbol(elf, name[k], &at, NULL) == 0 && !*back[k])
				return false;
	}
	return true;
}

/* Collects what is not led through the area yet, and returns how many that are. */
static size_t find_leads(struct dt_target *t, struct lead todo[PATCHES])
{
	struct dt_connection c[DT_CONNECTIONS];
	bool marks = marks_blocks(t);
	size_t n = 0, all = dt_connections(dt_blob_head(), c);

	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < all; k++) {
			uint64_t address;

			if (!may_hold(t->module[i].file, &c[k]) || (c[k].needs_rseq && !marks))
				continue;
			address = find(t, &t->module[i], &c[k]);
			if (!address || planted(t, address) || stub_taken(t, &c[k]) || n == PATCHES)
				continue;
			todo[n++] = (struct lead){.address = address,
						  .name = c[k].name,
						  .stub = c[k].stub,
						  .back_at = c[k].back_at,
						  .back = c[k].back};
		}
	}
	for (size_t i = 0; i < t->n; i++)
		n = find_gates(t, &t->module[i], todo, n);
	return n;
}

int dt_connect(struct dt_target *t, bool still, struct dt_error *e)
{
	struct lead todo[PATCHES];
	struct dt_threads threads;
	size_t n = find_leads(t, todo);
	int rc = 0;

	if (n == 0)
		return 0;
	/* no thread may stand in the middle of the bytes that are replaced */
	for (int tries = 0; !still; tries++) {
		bool between = false;

		if (dt_threads_stop(t->pid, &threads, e) < 0) {
			t->busy = true;
			return -1;
		}
		for (size_t i = 0; i < n; i++)
			between =
				between || dt_threads_inside(&threads, t->mem, todo[i].address + 1,
							     todo[i].address + DT_LEAD);
		if (!between)
			break;
		dt_threads_release(&threads);
		if (tries == 1000)
			return dt_fail(e, "a thread of process %d does not leave libc's %s", t->pid,
				       todo[0].name);
		usleep(50);
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = plant(t, &todo[i], e);
	if (!still) {
		for (size_t i = 0; i < n && rc == 0; i++)
			if (todo[i].stub == dt_blob_head()->clone ||
			    todo[i].stub == dt_blob_head()->clone3)
				lead_back(&threads, todo[i].address);
		mark_unregistered(t, &threads);
		dt_threads_release(&threads);
		if (threads.stopped_for > t->stop_ns)
			t->stop_ns = threads.stopped_for;
	}
	return rc;
}

int dt_disconnect(struct dt_target *t, struct dt_error *e)
{
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return dt_fail(e, "the area of process %d can not be read", t->pid);
	for (size_t i = PATCHES; i-- > 0;) {
		uint64_t address = head.patch[i].address, zero[3] = {0};
		unsigned char now[8];

		if (!head.patch[i].length || head.patch[i].length > 8)
			continue;
		/* its module has been unmapped, and what is there now is not ours */
		if (!leads_here(t, &head, address))
			continue;
		if (dt_memory_write(t->mem, address, &head.patch[i].old, head.patch[i].length) <
			    0 ||
		    dt_memory_read(t->mem, address, now, sizeof(now)) < 0)
			continue; /* its module has been unmapped */
		if (memcmp(now, &head.patch[i].old, head.patch[i].length) != 0)
			return dt_fail(e, "process %d: the bytes at 0x%lx could not be put back",
				       t->pid, (unsigned long)address);
		dt_memory_write(t->mem,
				t->area + offsetof(struct dt_blob, patch) + i * sizeof(zero), zero,
				sizeof(zero));
	}
	t->patches = 0;
	return 0;
}
