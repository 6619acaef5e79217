/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the BPF programs of bpf/record.bpf.c and the recorder (session/kernel-bpf.c) share: the
 * rings, which are memory that both have mapped, and what is to be recorded.
 */
#ifndef DT_BPF_RECORD_H
#define DT_BPF_RECORD_H

#include <linux/types.h>

/*
 * The state of a core's ring. Positions count records and only grow; the record of a position is at
 * position & (records of a ring - 1). Two cache lines, since two sides write.
 */
struct dt_bpf_head {
	__u64 end;  /* the next record's position; moved by the programs of this core only */
	__u64 lost; /* records for which there was no room */
	__u64 runs; /* the recorded thread that the core runs; 0: none. This core's programs' only
		     */
	__u64 stranger[5];
	__u64 begin; /* what is below has been read: moved by the recorder */
	__u64 beside[7];
};

/*
 * A record in the ring: as struct dt_record of core/record.h, but with nanoseconds of
 * CLOCK_MONOTONIC for its time. `who' is thread, kind, flags and core as they are there, written
 * last: 0 means that the record is not complete yet, and the recorder sets it to 0 again.
 */
struct dt_bpf_record {
	__u64 ns, pc, who, sp, value[4];
};

#define DT_BPF_WHO(tid, kind, values)                                                              \
	((__u64)(tid) | (__u64)(unsigned char)(kind) << 32 | (__u64)(values) << 40)

/* What stays the same from the loading of the programs on. */
struct dt_bpf_settings {
	__u32 shift;	 /* a ring has 1 << shift records */
	__u32 everybody; /* 1: all processes are recorded, not only those that are watched */
	__u32 inside;	 /* 1: the recorder is in a PID namespace, whose numbers are recorded; */
	__u32 space;	 /* this is its number */
	__u32 self;	 /* the recorder's process, which is never recorded */
	__u32 full;	 /* 1: some system calls are recorded in full */
	__u32 threads;	 /* 1: which thread runs where, and who woke it */
	__u32 spare;
	__u64 cgroup;  /* with everybody: only those of this control group; 0: all */
	__u32 chooses; /* 1: calls are chosen among before they are recorded: bpf/choose.h */
	__u32 cores;   /* the further rings, where there are such, come behind so many */
	__u32 sums;    /* calls that are left out may be summed up: bpf/sums.h; into at most so many
			  rows. 0: none is */
	__u32 apart;
};

#define DT_BPF_SUMS 8u /* sums at a time */

/* What changes. */
struct dt_bpf_state {
	__u32 on;	    /* 1: records are made */
	__u32 level;	    /* how deep the recorder's PID namespace is: by `survey' */
	__u32 cgroup_level; /* how deep the control group is, plus 1; 0: not known yet */
	__u32 choose;	    /* 1: conditions decide; 0: they do not any more */
	__u64 unwatched;    /* processes that are not recorded because there was no memory */
	__u64 unread;	    /* items that could not be read when their calls began, not read yet */
	__u64 unstacked;    /* stacks of the kernel that there was no room for */
	__u64 sum_rows; /* how many rows of sums are used; may be a little more than there are */
	__u64 sum_others[DT_BPF_SUMS]; /* by sum: calls for which there was no row */
};

/*
 * Threads: session/switches.h says what S records are; sp is 0, and value[1] of one that tells that
 * a thread leaves is the number of its stack in the map `stacks' plus one, 0: not known. A W record
 * is about a thread that is woken, and made on the core of the one who wakes it; value[0]: that one
 * (0: a thread that has no number here, or none), its process above; value[1]: its stack,
 * and DT_BPF_WAKE_NEW; value[2], value[3]: its name. Whether it did it itself, or an interrupt in
 * its time, the stack tells: not all kernels let programs know.
 */
#define DT_BPF_WAKE_NEW	   (1ull << 32) /* it has made the thread */
#define DT_BPF_STACK_DEPTH 64u
#define DT_BPF_STACKS	   16384u

/* Threads and processes of which only the kernel is recorded: what they are called (bpf/names.h).
 * Numbers are those of the recorder's PID namespace; 0: it has none there. */
struct dt_bpf_thread_name {
	__u64 began;	       /* when the process did, ns of CLOCK_MONOTONIC */
	__u32 process, parent; /* parent: of the process */
	char name[16];	       /* as the kernel has it, with a NUL */
};

struct dt_bpf_program_name {
	__u64 ns;   /* when the process executed it, of CLOCK_MONOTONIC */
	__u32 size; /* bytes of the arguments; 0: they could not be read */
	__u32 spare;
	char program[256];   /* up to a NUL, or as far as there was room */
	char arguments[256]; /* a NUL after each */
};

#define DT_BPF_NAMES 16384u /* threads, and processes, that are kept until the recorder looks */

#define DT_BPF_CALLS   1024u /* numbers of system calls of one kind of caller are below */
#define DT_BPF_KINDS   3u    /* 64-bit, 32-bit and x32 */
#define DT_BPF_WATCHED 65536u

/*
 * System calls in full (symbols/call.h): beside its values, what they lead to is recorded, when the
 * call begins or when it returns. All records of a call have this address, and its further ones in
 * the low 16 bits which of its items they are of, and which part. It is no address of the kernel.
 */
#define DT_BPF_CALL_PC(kind, nr) (1ull << 63 | 1ull << 56 | (__u64)(kind) << 48 | (__u64)(nr) << 16)
#define DT_BPF_IS_CALL(pc)	 ((pc) >> 56 == 0x81)
#define DT_BPF_CALL_KIND(pc)	 ((unsigned)((pc) >> 48) & 0xff)
#define DT_BPF_CALL_NUMBER(pc)	 ((unsigned)((pc) >> 16) & 0xffff)
#define DT_BPF_PART(item, part)	 ((item) << 8 | (part))
#define DT_BPF_PART_ITEM(pc)	 ((unsigned)((pc) >> 8) & 0xff)
#define DT_BPF_PART_OF(pc)	 ((unsigned)(pc)&0xff)
#define DT_BPF_SIGNALS		 1023 /* in place of a number: a signal is delivered */

enum dt_bpf_part {
	DT_BPF_HEAD =
		1,	/* the first of an item's: bytes that follow, bytes that there are, bytes */
	DT_BPF_PIECE,	/* 32 more of them */
	DT_BPF_FURTHER, /* the fifth and sixth argument */
	DT_BPF_LEAVING, /* the call has been done: what follows is what it has filled in */
};

/* What an item of a system call is. */
enum dt_bpf_what {
	DT_BPF_NOTHING,
	DT_BPF_TEXT,	/* up to a NUL */
	DT_BPF_BYTES,	/* count * size of them */
	DT_BPF_TEXTS,	/* an array of pointers to texts, up to a NULL: a stream (core/stream.h) */
	DT_BPF_FILE,	/* the name of what a file descriptor stands for */
	DT_BPF_PIECES,	/* an array of struct iovec: of each DT_BPF_PIECE_HEAD and its bytes */
	DT_BPF_MESSAGE, /* struct msghdr: itself, its address, its pieces */
};

/* When it is read. */
enum dt_bpf_when {
	DT_BPF_ENTRY,
	DT_BPF_SOUND,	 /* the call returns no error, */
	DT_BPF_ZERO,	 /* 0, */
	DT_BPF_POSITIVE, /* more than 0 */
};

/* in dt_bpf_item: in place of an argument's number */
#define DT_BPF_RESULT 6
#define DT_BPF_LEADS  16 /* added: the argument leads to a number of 4 bytes */
#define DT_BPF_NONE   0xff

struct dt_bpf_item {
	__u8 what;     /* enum dt_bpf_what */
	__u8 argument; /* that it is found by: 0 to 5, or DT_BPF_RESULT */
	__u8 when;     /* enum dt_bpf_when */
	__u8 count;    /* the argument that says how many there are; DT_BPF_NONE: one */
	__u8 test;     /* only if this argument, its low 4 bytes, is `value'; DT_BPF_NONE: always */
	__u8 spare;
	__u16 size; /* bytes of one */
	__u32 value;
};

#define DT_BPF_ITEMS 16

/* A system call, by kind * DT_BPF_CALLS + number. */
struct dt_bpf_call {
	__u32 wanted;	 /* 1: it is recorded in full */
	__u32 arguments; /* how many it has */
	__u32 items;
	__u32 at_exit; /* 1: some of them are read when it returns */
	struct dt_bpf_item item[DT_BPF_ITEMS];
};

/* Bytes that are recorded of one item, at most: of a path, a list, a structure; and of a buffer. */
#define DT_BPF_MOST   4096
#define DT_BPF_BUFFER 256

/* In front of each piece of memory: where it is, its bytes, and how many of them follow. */
struct dt_bpf_piece {
	__u64 base, length, n;
};

/* At the beginning of a message; the address follows, then the pieces. */
struct dt_bpf_message {
	__u64 name, pieces, control; /* addresses */
	__u64 count, control_length;
	__u32 name_length, name_n; /* name_n bytes of the address follow */
	__u32 flags, spare;
};

/*
 * Tracepoints that the kernel itself has, such as sched:sched_switch. All records of a hit have the
 * address of DT_BPF_TRACEPOINT_PC(), the further ones with which part they are in its low 16 bits:
 * the further values (DT_BPF_FURTHER), and each text as the items of system calls are.
 */
#define DT_BPF_TRACEPOINT_PC(i)	 (1ull << 63 | 1ull << 57 | (__u64)(i) << 16)
#define DT_BPF_IS_TRACEPOINT(pc) ((pc) >> 56 == 0x82)
#define DT_BPF_TRACEPOINT_OF(pc) ((__u32)((pc) >> 16))

#define DT_BPF_TRACEPOINTS     4096u /* can be recorded at once */
#define DT_BPF_FIELDS	       48    /* of a tracepoint */
#define DT_BPF_TRACEPOINT_MOST 1024  /* bytes in front of the texts of variable length */
#define DT_BPF_TRACEPOINT_TEXT 256   /* bytes of a text that are recorded */

/* What a field of a tracepoint is. */
enum dt_bpf_field_is {
	DT_BPF_FIELD_UNSIGNED, /* a value of 1 to 8 bytes */
	DT_BPF_FIELD_SIGNED,
	DT_BPF_FIELD_TEXT,  /* an array of characters, up to a NUL */
	DT_BPF_FIELD_BYTES, /* another array */
};

/* Where it is found. */
enum dt_bpf_field_at {
	DT_BPF_FIELD_HERE,
	DT_BPF_FIELD_THERE,  /* here is where it is, and of how many bytes: __data_loc */
	DT_BPF_FIELD_BEHIND, /* the same, counted from behind this: __rel_loc */
};

struct dt_bpf_field {
	__u16 offset, size;
	__u8 is; /* enum dt_bpf_field_is */
	__u8 at; /* enum dt_bpf_field_at */
	__u16 spare;
};

/* A tracepoint: first its values, then its texts. */
struct dt_bpf_tracepoint {
	__u32 bytes; /* in front of the texts of variable length */
	__u32 values, texts;
	struct dt_bpf_field field[DT_BPF_FIELDS];
};

/* ---- choosing among calls: bpf/choose.h ---- */

#define DT_BPF_CHOSEN	  65536u /* functions that have conditions, at most */
#define DT_BPF_BLOCKS	  2048u	 /* threads that are in calls at a time, each in its place */
#define DT_BPF_FRAMES	  16u	 /* open calls of each; deeper ones are always recorded */
#define DT_BPF_CONDITIONS 6

/* dt_bpf_condition.op, beside '=', '!', '<' and '>' */
#define DT_BPF_FAILED 'k' /* -4095 to -1: a negated error; */
#define DT_BPF_GOOD   'g' /* it is none of these */

/* A condition on a value of a record. */
struct dt_bpf_condition {
	__u8 at;       /* index of the value */
	__u8 shift;    /* 64 - its bits */
	__u8 has_sign; /* 1: it and the number have one */
	__u8 op;
	__u32 of_exit; /* 1: the exit's, 0: the entry's */
	__u64 number;
};

/* What is wanted of a function's calls. All of it has to be true. */
struct dt_bpf_chosen {
	__u32 never; /* 1: none of them */
	__u32 ends;  /* 1: what is known at the end decides: their length or result */
	__u64 least; /* ns that they take */
	__u32 n;
	__u32 sums; /* 1: what is left out is summed up: it is in the map `summing' */
	struct dt_bpf_condition condition[DT_BPF_CONDITIONS];
};

/* What was left out of a function on one core, in ns: as struct dt_left_out_row has it, but `min'
 * is one more than it is, and 0 if there is none. */
struct dt_bpf_left {
	__u64 calls, untimed, total, self, min, max;
};

/* dt_bpf_frame.state: 0: nothing is there; else when the call began (ns), and one of these. A
 * frame is its thread's; only the recorder changes a state, too, from WAITS to WRITTEN. */
#define DT_BPF_STATE_BITS 3
#define DT_BPF_STATE(s)	  ((s) & ((1u << DT_BPF_STATE_BITS) - 1))
enum dt_bpf_state_is {
	DT_BPF_PASSED = 1, /* its entry has been written when it was made */
	DT_BPF_LEFT,	   /* the call is left out */
	DT_BPF_WAITS,	   /* its entry is only here */
	DT_BPF_COMES,	   /* it is being written to the further ring */
	DT_BPF_WRITTEN,	   /* the recorder has taken it from here */
	DT_BPF_SUMMED,	   /* the call is left out, and is summed up when it ends */
	DT_BPF_DONE,	   /* it has been counted already, its exit is left out */
};

struct dt_bpf_frame {
	__u64 state, pc, sp, who, core, value[4];
	__u64 children; /* ns in calls that it has made */
};

/* A call that has ended, while it is summed up: here, since a program's stack is small. */
struct dt_bpf_ended {
	__u64 value[4]; /* the entry's */
	__u64 result;
	__u64 took, self; /* ns */
	__u32 tid, process;
	__u32 has_result, timed; /* 1: it is known */
};

/* The open calls of a thread. */
struct dt_bpf_thread {
	__u64 owner; /* its number in the initial PID namespace; 0: nobody has the block */
	__u64 n;     /* frames, the outermost first */
	__u64 busy;  /* 1: a program is at it; what the kernel does meanwhile for that is recorded
			without it */
	__u64 met; /* the last thread of which a call was recorded, so that the recorder knows it */
	__u64 process; /* its number where the recorder is */
	/* the outermost call for which there was no frame: where it is (0: there is none), and when
	 * it began */
	__u64 deep_sp, deep_ns;
	struct dt_bpf_ended ended;
	__u64 spare[6];
	struct dt_bpf_frame frame[DT_BPF_FRAMES];
};

/* ---- sums of what is left out: bpf/sums.h ---- */

#define DT_BPF_SUM_KEYS	 4u
#define DT_BPF_NO_BUCKET 0xffffu

/* What a value is, or a key. */
enum dt_bpf_sum_from {
	DT_BPF_SUM_NOTHING, /* such a call has none */
	DT_BPF_SUM_TIME,    /* ns */
	DT_BPF_SUM_SELF,
	DT_BPF_SUM_ARGUMENT,
	DT_BPF_SUM_RESULT,
	DT_BPF_SUM_ERROR, /* of a negated error that number, else 0 */
	DT_BPF_SUM_THREAD,
	DT_BPF_SUM_PROCESS,
};

struct dt_bpf_sum_value {
	__u8 from;     /* enum dt_bpf_sum_from */
	__u8 at;       /* index of an argument */
	__u8 shift;    /* 64 - its bits */
	__u8 has_sign; /* 1: it has one */
};

/* What a sum wants of the calls of a function. All conditions have to be true. */
struct dt_bpf_sum {
	__u32 number; /* of the sum, below DT_BPF_SUMS */
	__u32 n, keys;
	__u32 counts;	    /* 1: there is no value */
	__u32 hist;	    /* 1: each bucket has a row of its own */
	__u64 above, below; /* ns: it takes more than the one, and less than the other */
	struct dt_bpf_sum_value value, key[DT_BPF_SUM_KEYS];
	struct dt_bpf_condition condition[DT_BPF_CONDITIONS];
};

/* By function. */
struct dt_bpf_summing {
	__u32 function; /* the recorder's number of it */
	__u32 n;
	struct dt_bpf_sum sum[DT_BPF_SUMS];
};

/* Calls that have the same of all of these are one row. */
struct dt_bpf_sum_key {
	__u32 function;
	__u16 sum, bucket;
	__u32 core;    /* each has rows of its own */
	__u32 unknown; /* bits: these keys are not known */
	__u64 key[DT_BPF_SUM_KEYS];
};

struct dt_bpf_sum_row {
	struct dt_bpf_sum_key key;
	__u64 used; /* 1: what is above is complete. Some rows never are */
	__u64 calls, unknown;
	__u64 sum, high; /* of 128 bits */
	/* of values with a sign, these are 1 << 63 more */
	__u64 least, greatest;
	__u64 spare;
};

#endif
