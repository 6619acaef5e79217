/* SPDX-License-Identifier: MIT */
/*
 * Probes: sites in a module that was not built with any. The functions that are wanted are planned
 * (arch/x86_64/plan.h), their trampolines written near the module, and jumps to them planted while
 * all threads are stopped. In a trampoline the hook's call is a sled of its own, one byte to be
 * switched, so from then on sites go on and off without anybody stopping.
 *
 * The sites themselves are the file's (dt_file_probes()), with the addresses of the instructions
 * that they are at; what a hook records as pc lies in the trampoline and is translated.
 */
#ifndef DT_HOOK_PROBES_H
#define DT_HOOK_PROBES_H

#include "hook/target.h"
#include "process/threads.h"

struct dt_probes; /* of one module in one process */

/*
 * Gives a file whose functions have no sleds sites of this kind, beside its events, once and before
 * anything of it is chosen: what is by site is by the sites there are. -1 and the reason: it can
 * have none.
 */
int dt_file_probes(struct dt_file *f, struct dt_error *e);

/*
 * Reads the code of a file, so that points can be planted in it; one with sleds keeps those. -1 and
 * the reason: it has none that is understood.
 */
int dt_file_code(struct dt_file *f, struct dt_error *e);

/*
 * Has the module's sites from low to high (the file's addresses) follow what is chosen; none when
 * the process is not watched. Plants what has not been planted yet, stopping the process, unless
 * t->held is a thread of it that is stopped already, the only one there is.
 */
int dt_probes_sync(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		   struct dt_error *e);

/*
 * A module's probes from when it was mapped there before, and unmapped: is the code as it was then?
 * dt_probes_again() writes their jumps once more; the trampolines are there.
 */
bool dt_probes_fit(struct dt_target *t, const struct dt_probes *p);
int dt_probes_again(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/* Would that plant something, so stop the process? */
bool dt_probes_wants(const struct dt_target *t, const struct dt_module *m, uint64_t low,
		     uint64_t high);

/* Has them lead to the process's hooks as they are now. */
int dt_probes_hook(struct dt_target *t, const struct dt_probes *p, struct dt_error *e);

/* Has anything been planted? */
bool dt_probes_any(const struct dt_probes *p);

/* Switches every site off. */
int dt_probes_off(struct dt_target *t, const struct dt_probes *p, struct dt_error *e);

/* The process is left: points go off, and the semaphores that were raised for them are lowered. */
int dt_probes_rest(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/* Where code of ours is that a thread can be in; false: no more. */
bool dt_probes_code(const struct dt_probes *p, unsigned i, uint64_t *low, uint64_t *high);

/* Is a thread there, or will one return there from a signal handler; or at a springboard? p may be
 * NULL. */
bool dt_probes_inside(const struct dt_probes *p, const struct dt_ips *ips);

/*
 * Where in the original a thread goes on that is about to run a copied instruction, or to jump to
 * one; only once the bytes are back: until then, a jump may be there. 0: it is not there, or in the
 * middle of a hook, which it will leave by itself. p may be NULL.
 */
uint64_t dt_probes_back(const struct dt_probes *p, uint64_t ip);

/*
 * Puts every byte back and checks it, while all threads are stopped, and none is inside but where
 * dt_probes_back() knows the way: they go on there.
 */
int dt_probes_remove(struct dt_target *t, struct dt_probes *p, const struct dt_threads *threads,
		     struct dt_error *e);

/*
 * What is planted in the process and not known as one of its modules': by a controller that was
 * killed, or, in a forked child, what its parent has not got any more or had not got alone.
 * Everything needed to take it away stands in the trampolines' memory. *list is the caller's, to be
 * freed with each of its elements.
 */
int dt_probes_recover(struct dt_target *t, struct dt_probes ***list, size_t *n, struct dt_error *e);

/* The module of a forked child has what its parent's has, as far as the parent had it then. */
int dt_probes_inherit(struct dt_target *t, struct dt_module *m, const struct dt_module *parent);

/* Its process has ended: all but what tells whose a pc is is freed. p may be NULL. */
void dt_probes_fold(struct dt_probes *p);
void dt_probes_free(struct dt_probes *p);
/* Before they are freed: the file remembers what was hooked. */
void dt_probes_remember(const struct dt_module *m);

/* The site whose hook records this pc, and its index in the file's; NULL: none of this module. */
const struct dt_elf_site *dt_probes_site(const struct dt_module *m, uint64_t pc);

/* The pc that a hook records for a site of the file; 0: it is not planted. */
uint64_t dt_probes_pc(const struct dt_module *m, size_t site);

/*
 * The point that records this pc; NULL: none. *first: of its items, the record's first one; or,
 * with *text, that whose text it has.
 */
const struct dt_point *dt_probes_point(const struct dt_module *m, uint64_t pc, unsigned *first,
				       bool *text);

/* The pcs of a point as it is planted now; how many, at most `most'. */
size_t dt_probes_point_pcs(const struct dt_module *m, uint32_t id, uint64_t *pc, size_t most);

/* Why a point could not be planted, in a line; NULL: it was, or has not been tried. *near: the
 * beginning of the instruction that it is inside of (the file's address), or 0. */
const char *dt_probes_refused(const struct dt_module *m, uint32_t id, uint64_t *near);

struct dt_probe_way {
	const char
		*how; /* the tactic of its most expensive site, or why it is not hooked; one line */
	bool hooked;
	bool startup; /* start-up code: chosen by its exact name only */
	bool crowded; /* of the planning itself: there was no room for it */
};

/*
 * What becomes of each function when all of a file are hooked in a process that has room on both
 * sides of it: by index in f->code, which dt_file_probes() has made. To be freed; NULL: no memory.
 */
struct dt_probe_way *dt_file_probe_ways(struct dt_file *f, struct dt_error *e);

#endif
