// SPDX-License-Identifier: MIT
/*
 * Linked into a program with sleds, in place of devtrace: switches the sites on and counts what
 * reaches the hooks. SLEDS=on switches every site of every module on before main, SLEDS=toggle
 * lets a second thread switch all of them on and off for as long as the program runs.
 * At the end it writes "sites N entry E exit X" to the file SLEDS_OUT.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((visibility("hidden"))) uint64_t harness_counts[2];
void harness_entry(void);
void harness_exit(void);

/* Hooks that keep every register and the flags, and overwrite the stack below them. */
__asm__(".text\n"
	"harness_entry:\n"
	"	pushfq\n"
	"	lock incq harness_counts(%rip)\n"
	"	jmp 1f\n"
	"harness_exit:\n"
	"	pushfq\n"
	"	lock incq harness_counts+8(%rip)\n"
	"1:	pushq $-1\n"
	"	pushq $-1\n"
	"	addq $16, %rsp\n"
	"	popfq\n"
	"	ret\n");

struct module {
	uint8_t *base;
	int32_t *sites;
	size_t count;
};

static struct module modules[64];
static int module_count;
static pthread_t thread;
static int stop, began;

static const void *map(const char *path, size_t *size)
{
	int fd = open(*path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st)) {
		*size = st.st_size;
		p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static const Elf64_Shdr *section(const Elf64_Ehdr *e, const char *name)
{
	const Elf64_Shdr *s = (const void *)((const char *)e + e->e_shoff);
	const char *names = (const char *)e + s[e->e_shstrndx].sh_offset;

	for (int i = 0; i < e->e_shnum; i++)
		if (!strcmp(names + s[i].sh_name, name))
			return &s[i];
	return NULL;
}

static void writable(uint8_t *p, size_t n)
{
	uintptr_t a = (uintptr_t)p & -4096, e = ((uintptr_t)p + n + 4095) & -4096;

	if (mprotect((void *)a, e - a, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
}

static void switch_module(const struct module *m, int on)
{
	static const uint8_t code[2][4] = {{0, 0xa9, 0xc3, 0xe9}, {0, 0xe8, 0x90, 0xa9}};

	for (size_t i = 0; i < m->count; i++) {
		int32_t *s = m->sites + 3 * i;
		uint8_t *at = (uint8_t *)s + s[0];
		int kind = s[2] & 0xff;

		if (__atomic_load_n(at, __ATOMIC_RELAXED) == code[!on][kind])
			__atomic_store_n(at, code[on][kind], __ATOMIC_RELAXED);
	}
}

/* Sets the hooks of a module that has sleds. A module found before is not taken twice. */
static int take_module(struct dl_phdr_info *info, size_t size, void *on)
{
	size_t length = 0;
	const Elf64_Ehdr *e = map(info->dlpi_name, &length);
	const Elf64_Shdr *sites = e && e->e_shnum ? section(e, "devtrace_sites") : NULL;
	struct module *m = &modules[module_count];
	uint8_t *base = (uint8_t *)info->dlpi_addr;
	void **hooks;

	(void)size;
	hooks = sites ? (void **)(base + section(e, "devtrace_hooks")->sh_addr) : NULL;
	if (hooks && hooks[0] != (void *)harness_entry) {
		if (hooks[0] || hooks[1] || hooks[2] || hooks[3])
			abort();
		hooks[0] = (void *)harness_entry;
		hooks[1] = (void *)harness_exit;
		*m = (struct module){base, (void *)(base + sites->sh_addr), sites->sh_size / 12};
		for (int i = 0; i < info->dlpi_phnum; i++) {
			const ElfW(Phdr) *p = &info->dlpi_phdr[i];
			if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
				writable(base + p->p_vaddr, p->p_memsz);
		}
		module_count++;
		switch_module(m, on != NULL);
	}
	if (e)
		munmap((void *)e, length);
	return 0;
}

/* Called by programs that load modules. */
void harness_rescan(void);
void harness_rescan(void)
{
	if (module_count)
		dl_iterate_phdr(take_module, (void *)1);
}

/* The sites stay on for the first time until one was reached: a short program may otherwise end
 * before this thread has run, or while it was off. */
static void *toggle(void *arg)
{
	for (int on = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); on = !on) {
		for (int i = 0; i < module_count; i++)
			switch_module(&modules[i], on);
		__atomic_store_n(&began, 1, __ATOMIC_RELAXED);
		while (!__atomic_load_n(&harness_counts[0], __ATOMIC_RELAXED) &&
		       !__atomic_load_n(&stop, __ATOMIC_RELAXED))
			sched_yield();
	}
	return arg;
}

__attribute__((constructor(101))) static void begin(void)
{
	const char *mode = getenv("SLEDS");

	if (!mode)
		return;
	dl_iterate_phdr(take_module, strcmp(mode, "on") ? NULL : &stop);
	if (!strcmp(mode, "toggle") && pthread_create(&thread, NULL, toggle, NULL))
		abort();
	while (thread && !__atomic_load_n(&began, __ATOMIC_RELAXED))
		sched_yield();
}

__attribute__((destructor(101))) static void end(void)
{
	const char *path = getenv("SLEDS_OUT");
	FILE *f = path ? fopen(path, "w") : NULL;
	size_t n = 0;

	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	if (thread)
		pthread_join(thread, NULL);
	for (int i = 0; i < module_count; i++)
		n += modules[i].count;
	if (f) {
		fprintf(f, "sites %zu entry %lu exit %lu\n", n, harness_counts[0],
			harness_counts[1]);
		fclose(f);
	}
}
