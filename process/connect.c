/* SPDX-License-Identifier: MIT */
/* Leading five functions of libc and the dynamic linker through the area. */
#include "process/connect.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "process/memory.h"

#define JUMP 5 /* bytes of a jmp rel32 */
#define PATCHES (sizeof(((struct dt_blob *)0)->patch) / sizeof(((struct dt_blob *)0)->patch[0]))

static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

struct connection {
	const char *name;
	unsigned char head[12]; /* the function's first bytes, behind an endbr64 if it has one */
	size_t head_size;
	uint32_t stub;	 /* offset of the stub in the area */
	size_t back_at;	 /* offset in struct dt_blob of the field that leads back; 0: none */
	size_t back;	 /* bytes from what is replaced to where the stub returns to */
	bool linker;	 /* in the dynamic linker, otherwise in libc */
	bool needs_rseq; /* of use only where threads have rseq */
	size_t at;	 /* bytes from the head to what is replaced */
};

#define CONNECTIONS 6

static void connections(struct connection c[CONNECTIONS])
{
	const struct dt_blob *b = dt_blob_head();
	const struct connection all[CONNECTIONS] = {
		/* ret; the rest up to the next 16 bytes is padding */
		{"_dl_debug_state", {0xc3}, 1, b->modules, 0, 0, true, false, 0},
		/* mov $59, %eax; syscall */
		{"execve",
		 {0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05},
		 7,
		 b->execve,
		 offsetof(struct dt_blob, execve_back),
		 7,
		 false,
		 false,
		 0},
		/* musl: sub $8, %rsp in front */
		{"execve",
		 {0x48, 0x83, 0xec, 0x08, 0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05},
		 11,
		 b->execve,
		 offsetof(struct dt_blob, execve_back),
		 7,
		 false,
		 false,
		 4},
		/* mov %rcx, %r10; mov $322, %eax; syscall */
		{"execveat",
		 {0x49, 0x89, 0xca, 0xb8, 0x42, 0x01, 0, 0, 0x0f, 0x05},
		 10,
		 b->execveat,
		 offsetof(struct dt_blob, execveat_back),
		 10,
		 false,
		 false,
		 0},
		/* pop %rdi; mov $58, %eax; syscall; push %rdi */
		{"vfork",
		 {0x5f, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x57},
		 9,
		 b->vfork,
		 offsetof(struct dt_blob, vfork_back),
		 9,
		 false,
		 true,
		 0},
		/* mov $-22, %rax */
		{"clone",
		 {0x48, 0xc7, 0xc0, 0xea, 0xff, 0xff, 0xff},
		 7,
		 b->clone,
		 offsetof(struct dt_blob, clone_back),
		 7,
		 false,
		 true,
		 0},
	};

	memcpy(c, all, sizeof(all));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool may_hold(const struct dt_file *f, const struct connection *c)
{
	const char *name = base_name(f->path);

	if (!f->elf)
		return false;
	if (strncmp(name, "ld-musl", 7) == 0)
		return true; /* linker and libc in one */
	if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2", 4) == 0 ||
	    strcmp(name, "ld.so") == 0)
		return c->linker;
	if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0)
		return !c->linker;
	/* a static program is its own libc */
	return !c->linker && f->elf->entry && !f->elf->interp && f->elf->type != 0 &&
	       strstr(name, ".so") == NULL;
}

/* Address of the head if the function is exactly as expected, else 0. */
static uint64_t find(struct dt_target *t, const struct dt_module *m, const struct connection *c)
{
	unsigned char text[32];
	uint64_t address, size = 0, skip = 0;

	if (dt_elf_symbol(m->file->elf, c->name, &address, &size) < 0)
		return 0;
	address += m->bias;
	if (dt_memory_read(t->mem, address, text, sizeof(text)) < 0)
		return 0;
	if (memcmp(text, endbr64, sizeof(endbr64)) == 0)
		skip = sizeof(endbr64);
	if (memcmp(text + skip, c->head, c->head_size) != 0)
		return 0;
	if (c->linker) {
		/* an empty function, and room for the jump before the next can begin */
		if (size > skip + 1 || (address & 15) != 0 || skip + JUMP > 16)
			return 0;
	}
	return address + skip + c->at;
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

/* A second libc (dlmopen) is left alone: each stub knows one place to go back to. */
static bool stub_taken(struct dt_target *t, const struct connection *c)
{
	uint64_t back = 0;

	return c->back_at &&
	       (dt_memory_read(t->mem, t->area + c->back_at, &back, sizeof(back)) < 0 || back);
}

static bool planted(struct dt_target *t, uint64_t address)
{
	struct dt_blob head;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return true;
	for (size_t i = 0; i < PATCHES; i++)
		if (head.patch[i].length && head.patch[i].address == address)
			return true;
	return false;
}

/* A jump to `to' on the page near libc: jmp *0(%rip), and the address. 0: there is no such page. */
static uint64_t far_jump(struct dt_target *t, uint64_t to)
{
	unsigned char code[16] = {0xff, 0x25, 0, 0, 0, 0};
	struct dt_blob head;
	uint64_t at;

	if (dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0 || !head.jumps)
		return 0;
	at = head.jumps + t->patches * sizeof(code);
	memcpy(code + 6, &to, sizeof(to));
	return dt_memory_write(t->mem, at, code, sizeof(code)) < 0 ? 0 : at;
}

/* Writes down what will be replaced before replacing it: whoever comes after us can put it back. */
static int plant(struct dt_target *t, uint64_t address, const struct connection *c,
		 struct dt_error *e)
{
	unsigned char jump[JUMP] = {0xe9};
	uint64_t back = address + c->back, entry[3] = {address, 0, JUMP}, to = t->area + c->stub;
	size_t slot = offsetof(struct dt_blob, patch) + t->patches * sizeof(entry);
	int64_t distance;
	int32_t rel;

	if (t->patches == PATCHES)
		return 0;
	if (to + 0x7fff0000ull < address && (to = far_jump(t, to)) == 0)
		return 0; /* out of reach: this process is not followed there */
	distance = (int64_t)to - (int64_t)(address + JUMP);
	rel = (int32_t)distance;
	if (rel != distance)
		return 0;
	memcpy(jump + 1, &rel, sizeof(rel));
	if (dt_memory_read(t->mem, address, &entry[1], sizeof(uint64_t)) < 0)
		return dt_fail(e, "%s of process %d can not be read", c->name, t->pid);
	if (c->back_at && dt_memory_write(t->mem, t->area + c->back_at, &back, sizeof(back)) < 0)
		return dt_fail(e, "the area of process %d can not be written", t->pid);
	if (dt_memory_write(t->mem, t->area + slot, entry, sizeof(entry)) < 0 ||
	    dt_memory_write(t->mem, address, jump, sizeof(jump)) < 0)
		return dt_fail(e, "%s of process %d can not be written", c->name, t->pid);
	t->patches++;
	return 0;
}

int dt_connect(struct dt_target *t, bool still, struct dt_error *e)
{
	struct {
		uint64_t address;
		struct connection c;
	} todo[PATCHES];
	struct connection c[CONNECTIONS];
	size_t n = 0;
	struct dt_threads threads;
	int rc = 0;

	connections(c);
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < CONNECTIONS; k++) {
			uint64_t address;

			if (!may_hold(t->module[i].file, &c[k]) || (c[k].needs_rseq && !t->fast))
				continue;
			address = find(t, &t->module[i], &c[k]);
			if (!address || planted(t, address) || stub_taken(t, &c[k]) || n == PATCHES)
				continue;
			todo[n].address = address;
			todo[n++].c = c[k];
		}
	}
	if (n == 0)
		return 0;
	/* nobody may stand between the bytes that are replaced */
	for (int tries = 0; !still; tries++) {
		bool between = false;

		if (dt_threads_stop(t->pid, &threads, e) < 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			between = between || dt_threads_inside(&threads, t->mem, todo[i].address + 1,
							       todo[i].address + JUMP);
		if (!between)
			break;
		dt_threads_release(&threads);
		if (tries == 1000)
			return dt_fail(e, "a thread of process %d does not leave libc's %s", t->pid,
				       todo[0].c.name);
		usleep(50);
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = plant(t, todo[i].address, &todo[i].c, e);
	if (!still) {
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
		if (dt_memory_write(t->mem, address, &head.patch[i].old, head.patch[i].length) < 0 ||
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
