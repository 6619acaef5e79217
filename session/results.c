/* SPDX-License-Identifier: MIT */
/* Tells the user what is missing from a trace. */
#include "session/results.h"

#include "core/text.h"
#include "process/pid-namespace.h"

#define SLOW_MANY 10000 /* so many slow records are mentioned */

static void say_broken(const struct dt_results *r, const struct dt_say *say)
{
	char rings[512];

	if (!r->broken[0])
		return;
	dt_text_rings(rings, sizeof(rings), r->broken, r->cores, r->domains[0] ? r->domains : NULL);
	dt_say(say,
	       "a traced program has written into the memory of the rings: what was recorded there "
	       "from then on is not known, and what was before may be wrong: %s",
	       rings);
}

/* Is something chosen that only programs have which were named? */
static bool means_programs(const struct dt_options *o)
{
	bool any = o->libcalls || (!o->select.n && !o->points && !o->arguments && !o->sockets);

	for (size_t i = 0; i < o->select.n; i++)
		any = any || (!o->select.pattern[i].remove && !o->select.pattern[i].module);
	return any && !o->kernel;
}

/* Processes of which not all could be recorded. */
static void say_processes(const struct dt_results *r, const struct dt_options *o,
			  const struct dt_say *say)
{
	if (r->users > 1)
		dt_say(say,
		       "processes changed their user while they were traced (%u, %u%s): whoever "
		       "they are now could go on reading and changing the records of the user they "
		       "were",
		       r->user[0], r->user[1], r->users > 2 ? ", ..." : "");
	if (r->clockless)
		dt_say(say,
		       "%lu calls are not recorded: the program had forbidden itself to read the "
		       "clock then (prctl PR_SET_TSC, or strict seccomp)",
		       (unsigned long)r->clockless);
	if (r->unknown_tids)
		dt_say(say,
		       "%zu threads of other PID namespaces ended before their numbers here were "
		       "known: they stand as their own ones, with %u and more added",
		       r->unknown_tids, 1u << DT_TAG_SHIFT);
	if (r->births_missed)
		dt_say(say,
		       "%u threads or processes began unseen: where one of them has a number that "
		       "another had before, its calls are shown as that one's",
		       r->births_missed);
	if (r->jit_unread)
		dt_say(say,
		       "%zu lines of files that name code made at run time (perf-PID.map, "
		       "jit-PID.dump) were not understood, or too many",
		       r->jit_unread);
	if (r->unopened)
		dt_say(say,
		       "of %lu processes only the calls of functions that their parents had are "
		       "recorded, not what they loaded, nor whether they still run: %s",
		       (unsigned long)r->unopened, r->unopened_why.text);
	if (r->unfollowed)
		dt_say(say,
		       "%lu program%s that processes executed %s not recorded%s process %d: %s",
		       (unsigned long)r->unfollowed, r->unfollowed == 1 ? "" : "s",
		       r->unfollowed == 1 ? "is" : "are",
		       r->unfollowed == 1 ? ", of" : "; the first, of", r->unfollowed_pid,
		       r->unfollowed_why.text);
	if (r->executed && means_programs(o))
		dt_say(say,
		       "process %d executed %s%s: of what children execute only functions that are "
		       "chosen by module are recorded; -f follows them",
		       r->executed_pid, r->executed_path[0] ? r->executed_path : "a program",
		       r->executed > 1 ? ", the first of several" : "");
	if (r->unsent)
		dt_say(say,
		       "what a process did that had confined itself by seccomp was not followed %lu "
		       "times: a library it loaded, a child, or a program it executed",
		       (unsigned long)r->unsent);
}

/* Calls whose stacks could not be kept. */
static void say_stacks(const struct dt_results *r, const struct dt_options *o,
		       const struct dt_say *say)
{
	if (!o->backtrace)
		return;
	if (!r->stack_functions)
		dt_say(say,
		       "--backtrace: no function that was recorded is meant by '%s'; it is the names "
		       "that calls are shown by which count, and functions with sleds have no stacks",
		       o->backtrace);
	else if (!r->stacks && !r->stackless)
		dt_say(say, "no call was what --backtrace says: '%s'", o->backtrace);
	if (r->stackless && r->stack_functions)
		dt_say(say,
		       "%lu of %lu calls that --backtrace means have no stack: they did not end where "
		       "their functions return (by a jump to another file, longjmp, an exit), have "
		       "sleds, or records were lost",
		       (unsigned long)r->stackless, (unsigned long)(r->stacks + r->stackless));
}

/* What was not recorded because of the budget. */
static void say_budget(const struct dt_results *r, const struct dt_options *o,
		       const struct dt_say *say)
{
	if (r->kept_share > 0)
		dt_say(say,
		       "--budget: functions that --until, --signal or --snapshot wait for are "
		       "never off; recording these alone took %lu.%lu %% of the program's processor "
		       "time, more than the budget: fewer of them keep to it",
		       (unsigned long)(r->kept_share * 100),
		       (unsigned long)(r->kept_share * 1000) % 10);
	if (!r->off_functions)
		return;
	if (r->off_all)
		dt_say(say, "--budget: in the end all functions were off: each costs more than the "
			    "budget allows; a larger one, or fewer functions (-F), record some");
	dt_say(say,
	       "%lu function%s switched off for part of the time to keep to the budget, with some "
	       "%lu calls%s%s: devtrace report --budget %s",
	       (unsigned long)r->off_functions, r->off_functions == 1 ? " was" : "s were",
	       (unsigned long)r->off_calls, r->off_most[0] ? ", most of them of " : "", r->off_most,
	       o->output);
}

/* Records that took ten times as long as others do. */
static void say_slow(const struct dt_results *r, const struct dt_say *say)
{
	if (r->shared < SLOW_MANY || r->shared < r->taken / 100)
		return;
	dt_say(say,
	       "%lu of %lu records took some 0.4 us each, ten times what others do, since the kernel "
	       "keeps no rseq for the threads that made them%s%s (doc/probes.md, \"Threads without "
	       "rseq\")",
	       (unsigned long)r->shared, (unsigned long)r->taken, r->slow[0] ? ": " : "", r->slow);
}

void dt_results_say(const struct dt_results *r, const struct dt_options *o,
		    const struct dt_say *say)
{
	if (r->note[0])
		dt_say(say, "%s", r->note);
	say_processes(r, o, say);
	say_broken(r, say);
	say_stacks(r, o, say);
	say_budget(r, o, say);
	say_slow(r, say);
	if (r->lost)
		dt_say(say, "%lu records, %lu lost: larger rings (-b) lose fewer, -p wait none%s",
		       (unsigned long)r->taken, (unsigned long)r->lost,
		       o->kernel ? " of the processes'; the kernel does not wait" : "");
	else if (r->left_as_it_was)
		dt_say(say, "nothing was recorded; %s is the trace that it was", o->output);
}
