/* SPDX-License-Identifier: MIT */
/*
 * Probes: sites in a module that was not built with any. The functions that are wanted are planned
 * (arch/plan.h), their trampolines written near the module, and jumps to them planted while
 * all threads are stopped. In a trampoline the call of the hook is a sled of its own, switched by
 * one byte, so from then on sites go on and off without stopping any thread.
 *
 * The sites belong to the file (dt_file_probes()) and have the addresses of the original
 * instructions. The pc that a hook records lies in the trampoline and is translated
 * (dt_probes_site()). Functions that return int return 0, or -1 and the reason in *e.
 */
#ifndef DT_HOOK_PROBES_H
#define DT_HOOK_PROBES_H

#include "arch/arch.h"
#include "hook/target.h"
#include "process/threads.h"

/* Where there are no probes (DT_PROBES): what is said of a file that has no sleds. */
#define DT_SLEDS_ONLY                                                                               \
	"%s: has no sleds, and functions without them can not be traced on " DT_MACHINE_NAME        \
	" yet; build it with CFLAGS=\"$(pkg-config --cflags devtrace)\", or use --follow to trace " \
	"the programs that it runs"

struct dt_probes; /* of one module in one process */

/*
 * Gives a file whose functions have no sleds its probe sites, beside its events. This must happen
 * before anything of the file is chosen, since arrays by site are sized for the sites there are;
 * later calls do nothing. -1: the file can have no probes.
 */
int dt_file_probes(struct dt_file *f, struct dt_error *e);

/*
 * Reads the code of a file into f->code, so that points can be planted in it; sleds are marked as
 * not to be moved. -1: the file has no code that is understood.
 */
int dt_file_code(struct dt_file *f, struct dt_error *e);

/*
 * Switches the module's sites from low to high (the file's addresses, inclusive) on where they are
 * chosen and off elsewhere; all off when the process is silent. Plants what has not been planted
 * yet, for which the process is stopped, unless t->held is its only thread and stopped already.
 */
int dt_probes_sync(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		   struct dt_error *e);

/*
 * Looks whether the probes of a module that was unmapped fit what is mapped at the same place: all
 * bytes to be changed are as they were before planting.
 */
bool dt_probes_fit(struct dt_target *t, const struct dt_probes *p);
/* Writes the jumps of such probes (m->probes) once more; their trampolines are still there. */
int dt_probes_again(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/* Looks whether dt_probes_sync() would plant something, and so stop the process. */
bool dt_probes_wants(const struct dt_target *t, const struct dt_module *m, uint64_t low,
		     uint64_t high);

/* Makes the trampolines call the process's present hooks (slow or rseq). */
int dt_probes_hook(struct dt_target *t, const struct dt_probes *p, struct dt_error *e);

/* Looks whether anything is planted. p may be NULL. */
bool dt_probes_any(const struct dt_probes *p);

/* Switches every site off. */
int dt_probes_off(struct dt_target *t, const struct dt_probes *p, struct dt_error *e);

/* Before the process is detached: switches all points off, and lowers the semaphores that were
 * raised for them. */
int dt_probes_rest(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/* Sets [*low, *high) to the i-th region of trampolines, which a thread can be in; false: there are
 * no more. p may be NULL. */
bool dt_probes_code(const struct dt_probes *p, unsigned i, uint64_t *low, uint64_t *high);

/* Looks whether one of the addresses in ips (where threads are, or will return to from a signal
 * handler) is in a trampoline or at a springboard; also true if ips is incomplete. p may be NULL.
 */
bool dt_probes_inside(const struct dt_probes *p, const struct dt_ips *ips);

/*
 * Returns the address in the original code at which a thread at ip, which is in a copy or at a
 * springboard, goes on. It may be sent there only once the original bytes are back: until then, a
 * jump may be there. 0: ip is elsewhere, or in the middle of a hook, which the thread leaves by
 * itself. p may be NULL.
 */
uint64_t dt_probes_back(const struct dt_probes *p, uint64_t ip);

/* Puts the bytes of a process's code back whose threads are stopped. The trampolines stay, for
 * threads that may still return there. */
int dt_probes_put_back(struct dt_target *t, struct dt_probes *p, const struct dt_threads *threads,
		       struct dt_error *e);
/*
 * Puts every byte back, checks it, and unmaps the trampolines. All threads are stopped, and those
 * inside are at places for which dt_probes_back() has an address: they go on there.
 */
int dt_probes_remove(struct dt_target *t, struct dt_probes *p, const struct dt_threads *threads,
		     struct dt_error *e);

/*
 * Finds probes that are planted in the process but belong to none of its known modules: those of a
 * controller that was killed, or, in a forked child, those that were not inherited. All that is
 * needed to remove them is read from the trampolines' memory. Also lowers the semaphores that were
 * raised for them. *list belongs to the caller, who frees it and its *n elements.
 */
int dt_probes_recover(struct dt_target *t, struct dt_probes ***list, size_t *n, struct dt_error *e);

/* Gives the module of a forked child a copy of its parent's probes. -1, without a reason: they are
 * not all planted in the child's memory, or no memory. */
int dt_probes_inherit(struct dt_target *t, struct dt_module *m, const struct dt_module *parent);

/*
 * Keeps what was made for a module of a process that has ended, for processes that execute the same
 * file: it is moved from the module's probes to the file. There is a limit for all files together.
 */
void dt_probes_donate(struct dt_module *m, struct dt_files *files);
/* Frees what was kept of all files, and what dt_file.refused says with it. */
void dt_probes_free_donors(struct dt_files *files);

/* Keeps what was made for a module in the user's folder of memos, for later runs of devtrace, if
 * it was much work. To be called before the probes are folded or freed. */
void dt_probes_keep(const struct dt_module *m);

/* Frees everything that is not needed for translating a recorded pc: the process has ended. p may
 * be NULL. */
void dt_probes_fold(struct dt_probes *p);
/* Frees the probes, without touching the process. p may be NULL. */
void dt_probes_free(struct dt_probes *p);
/* Notes in the file (f->hooked) which sites are hooked. To be called before the probes are freed.
 */
void dt_probes_remember(const struct dt_module *m);

/* Returns the site whose hook records this pc; NULL: none of this module. */
const struct dt_elf_site *dt_probes_site(const struct dt_module *m, uint64_t pc);

/* Returns the pc that a hook records for a site (index in the file's sites); 0: the site is not
 * planted. */
uint64_t dt_probes_pc(const struct dt_module *m, size_t site);

/*
 * Returns the point that records this pc; NULL: none. *first is the index of the first of its items
 * that the record holds; with *text (enum dt_capture_text), of the item whose text the record
 * holds.
 */
const struct dt_point *dt_probes_point(const struct dt_module *m, uint64_t pc, unsigned *first,
				       unsigned *text);

/* Stores the pcs of a point as it is planted at present, `most' at the most, and returns how many.
 */
size_t dt_probes_point_pcs(const struct dt_module *m, uint32_t id, uint64_t *pc, size_t most);

/* Returns one line saying why a point could not be planted; NULL: it was, or has not been tried.
 * *near is the file's address of the instruction in whose middle the point would be, or 0. */
const char *dt_probes_refused(const struct dt_module *m, uint32_t id, uint64_t *near);

/* How a function would be hooked. */
struct dt_probe_way {
	const char
		*how; /* the tactic of its most expensive site, or why it is not hooked; one line */
	bool hooked;
	bool startup; /* start-up code: chosen by its exact name only */
	bool crowded; /* there was no room for it (used while planning) */
};

/*
 * Returns what would become of each function if all functions of the file were hooked, in a process
 * that has room on both sides of it: an array by index in f->code, which dt_file_probes() has made.
 * The caller frees it. NULL and the reason: no memory.
 */
struct dt_probe_way *dt_file_probe_ways(struct dt_file *f, struct dt_error *e);

#endif
