/* SPDX-License-Identifier: MIT */
/* What an import leaves out, in words. */
#include "import/calls.h"

const char *dt_import_left_words(enum dt_import_left kind)
{
	static const char *const words[DT_LEFTS] = {
		[DT_LEFT_ENDS] = "%lu ends of calls without a beginning are left out",
		[DT_LEFT_CROSSED] = "%lu calls are left out, since they begin in another call of "
				    "their thread and end after it",
		[DT_LEFT_DEEP] = "%lu calls are left out, since they are in 65,536 others",
		[DT_LEFT_CUT] = "%lu calls end up to 2 ns earlier, with their callers: times were "
				"rounded",
		[DT_LEFT_RENAMED] = "%lu ends have other names than the calls that they end, the "
				    "innermost ones",
		[DT_LEFT_ROUNDED] = "%lu times are rounded to nanoseconds",
		[DT_LEFT_NO_TIME] = "%lu events are left out, since their time or length is "
				    "missing, or is none",
		[DT_LEFT_ARGUMENTS] = "%lu calls and events are without their args",
		[DT_LEFT_ASYNC] =
			"%lu asynchronous events (b, n, e, S, T, p, F) are left out: they "
			"are no calls of a thread",
		[DT_LEFT_FRACTIONS] = "%lu values of counters are rounded to whole numbers",
		[DT_LEFT_WIDE] = "%lu values of counters are left out: they are no numbers, or "
				 "beyond 64 bits",
		[DT_LEFT_KINDS] = "%lu events are left out: there are more than 65,536 names",
		[DT_LEFT_OBJECTS] = "%lu objects' states (N, O, D) are left out",
		[DT_LEFT_SAMPLES] = "%lu samples (P) are left out: they are no calls",
		[DT_LEFT_MEMORY] = "%lu memory dumps (v, V) are left out",
		[DT_LEFT_CLOCKS] = "%lu readings of clocks (c) are left out",
		[DT_LEFT_METADATA] = "%lu facts about threads and processes (M) other than names "
				     "are left out",
		[DT_LEFT_UNKNOWN] = "%lu events are left out, since their \"ph\" is missing or not "
				    "known",
		[DT_LEFT_SECTIONS] = "%lu parts of the file beside traceEvents are left out, as "
				     "samples and systemTraceEvents",
		[DT_LEFT_LOST] = "%lu notes of lost records are left out: calls near them may be "
				 "wrong",
		[DT_LEFT_OPEN_END] = "%lu closing bracket is missing: the file may be cut off",
		[DT_LEFT_NO_NAME] = "%lu names are not in the file, as when its beginning was "
				    "overwritten: their numbers are shown",
		[DT_LEFT_NO_CLOCK] =
			"%lu events are left out, since no reading of clocks says what "
			"their clock is to that of the others",
		[DT_LEFT_PACKETS] =
			"%lu packets have data of other kinds, as settings, statistics, "
			"samples or memory, which is left out",
		[DT_LEFT_PACKED] = "%lu groups of packets are compressed, and left out: decompress "
				   "the file first (traceconv decompress_packets)",
		[DT_LEFT_LEGACY] = "%lu events are left out, since they have the form that "
				   "legacy_event describes",
		[DT_LEFT_KERNEL] = "%lu events of the kernel other than switches are left out",
		[DT_LEFT_SWITCHES] =
			"%lu switches are left out, since their core is none, or beyond "
			"the 4,096th",
		[DT_LEFT_NO_END] = "%lu calls have no end in the file: they end when their caller "
				   "goes on",
		[DT_LEFT_BACK] =
			"%lu records are earlier than those before them: they are put where "
			"those are",
		[DT_LEFT_FRAMES] =
			"%lu callers in the stacks of samples are left out: of each sample "
			"only the innermost function is kept",
		[DT_LEFT_LINES] = "%lu lines are left out, since they are not understood",
		[DT_LEFT_NUMBERS] =
			"%lu file has functions without names, by number: give the program "
			"that was recorded (--program)",
		[DT_LEFT_KERNEL_FILES] =
			"%lu files of the kernel's functions and of other events are "
			"left out",
	};

	return words[kind];
}
