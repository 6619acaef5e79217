/* SPDX-License-Identifier: MIT */
/*
 * The area: what a traced process has mapped while it is traced. One stretch of addresses:
 *
 *	+0x0000  code    r-x private  the blob below, relocated for this process
 *	+0x2000  process rw- private  struct dt_process_block; zero in a forked child
 *	+0x3000  guard   --- unused
 *	+0x4000  session rw- shared   struct dt_control and the rings (core/ring.h)
 *
 * The blob is position independent apart from the fields of its header, which the controller fills
 * before the code is reachable: target/blob.ld lays it out, target/hook.S and target/slow.c are it.
 */
#ifndef DT_ARCH_AREA_H
#define DT_ARCH_AREA_H

#define DT_AREA_CODE 0x0000
#define DT_AREA_PROCESS 0x2000
#define DT_AREA_SESSION 0x4000
#define DT_CODE_SIZE 0x2000
#define DT_BLOB_MAGIC 0x31626f6c62747664

#ifndef __ASSEMBLER__
#include "core/types.h"

/* Read by every append. Filled by the controller, or by the slow path in a forked child. */
struct dt_process_block {
	uint32_t cores; /* 0: not filled in, take the slow path. Otherwise rings there are */
	uint32_t pid;
	uint64_t stride; /* from one ring to the next */
	uint64_t mask;	 /* ring size - 1 */
};

#define DT_FIXUPS 8

/* Head of the blob, at the start of the code. Offsets are from the start of the area. */
struct dt_blob {
	uint64_t magic;
	/* --- given by the blob */
	uint32_t size;
	uint32_t entry, exit;		/* hooks that append by rseq */
	uint32_t entry_slow, exit_slow; /* hooks for a process without rseq */
	uint32_t modules;		/* jumped to from the dynamic linker's _dl_debug_state */
	uint32_t execve, execveat, vfork; /* jumped to from libc's functions of these names */
	uint32_t cs[2];			/* struct rseq_cs, whose addresses are relocated */
	uint32_t code_begin, code_end;	/* instructions: where a thread's ip can be */
	uint32_t tid_fixup[DT_FIXUPS];	/* 32-bit displacements from %fs to be replaced, 0 ends */
	uint32_t cpu_fixup[DT_FIXUPS];
	uint32_t rseq_cs_fixup[DT_FIXUPS];
	uint32_t pad;
	/* --- filled by the controller */
	uint64_t cores, stride, mask;	/* what a forked child's dt_process_block is filled from */
	uint64_t execve_back, execveat_back; /* the instruction after libc's syscall */
	uint64_t vfork_back;		/* the instruction after vfork's `push %rdi' */
	int64_t rseq_offset;		/* struct rseq from %fs, 0: none */
	uint32_t rseq_signature, rseq_size;
	/* what was replaced, so that a later controller can put it back: address, 8 old bytes */
	struct {
		uint64_t address, old, length;
	} patch[8];
};

/* The blob as built; copied, never executed in the controller. */
extern const unsigned char dt_blob_image[];
extern const unsigned char dt_blob_image_end[];
#endif
#endif
