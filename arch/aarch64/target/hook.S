/* SPDX-License-Identifier: MIT */
/*
 * The append for aarch64. All of this runs in the traced process: every register and the flags are
 * kept, vector registers are only ever stored, memory below the stack pointer is not touched (there
 * is no red zone, but a signal may come at any time), and nothing waits unless the session's policy
 * is to wait.
 *
 * A hook is called by the stub of a site (arch/aarch64/sled.c), which the controller has put within
 * reach of the module:
 *	x30	  pc: return address into the stub; the controller knows which site that is of
 *	x16	  free: where the hook is
 *	0(sp)	  the x16 and x30 that the traced function had
 *	above	  bytes from the hook's sp to that of the function, which is the record's sp
 *
 * The append is one restartable sequence (rseq(2)): from `start' to `commit' the thread stays on
 * its core undisturbed, or continues at `abort' and begins again. The order of its accesses is what
 * test/litmus/ proves for each policy:
 *	- pos is read by an acquiring load: no store of this record is seen before the position that
 *	  the append before it has published (overwrite-aarch64.litmus, pairs with take_overwrite()
 *	  in session/rings.c);
 *	- limit is read before the record is written, since the branch depends on it
 *	  (lossless-aarch64.litmus, pairs with set_limit());
 *	- pos is stored once, last, by a releasing store: who sees it sees the record
 *	  (publish-aarch64.litmus, pairs with the acquiring load in dt_ring_take()).
 *
 * There is one copy of each hook, and not one for each core as on x86-64: the ring is found by one
 * multiplication. So the hooks are in the blob itself, and what they need of the session and of the
 * threads is data (struct dt_hook_data in arch/aarch64/blob.h), which can be changed while threads run
 * them; instructions other than nop, b and bl could not.
 */
#include "arch/aarch64/blob.h"
#include "arch/area.h"

#define SIGNATURE 0xd428bc00	/* glibc's RSEQ_SIG, a brk; replaced when another is used */
#define HEAD	  4096		/* DT_RING_HEAD */
#define FAR	  63		/* the bit by which a difference shows to be negative */
#define SAVED	  32		/* bytes that a hook pushes */
#define RECORD	  64

	/* struct dt_blob, first in the link; offsets into other sections come from blob.ld */
	.text
	.globl	blob
blob:
	.quad	DT_BLOB_MAGIC
	.long	blob_size
	.long	entry_slow - blob, exit_slow - blob, 0, 0 /* events are not there yet */
	.long	jump_slow - blob, exit_errno_slow - blob, entry_from_slow - blob
	.long	exit_from_slow - blob, exit_errno_from_slow - blob, jump_from_slow - blob
	.long	0, 0, 0, 0				/* opt_out, peek, text, crosses: not there yet */
	.long	modules - blob, execve - blob, execveat - blob
	.long	vfork - blob, 0, 0, 0			/* clone, clone3, call: not there yet either */
	.long	code_begin - blob, code_size
	.long	hook_data - blob, hook_data_end - blob
.macro template name
	.long	\name\()_cs - blob, \name - blob, \name\()_again - blob, \name\()_abort - blob
	.long	\name - blob, \name\()_start - blob, \name\()_commit - blob, \name\()_end - blob
.endm
	template entry
	template exit
	.fill	2 * 8, 4, 0
	template jump
	template exit_errno
	template entry_from
	template exit_from
	template exit_errno_from
	template jump_from
	.fill	DT_HOOKS * 8, 4, 0			/* of an rseq of ours: not there yet */
	.balign	8
	.quad	0, 0, 0, 0, 0				/* from here: filled by the controller */
	.fill	DT_HOOKS * 8, 1, 0			/* again */
execve_back:
	.quad	0
execveat_back:
	.quad	0
vfork_back:
	.quad	0
	.quad	0, 0					/* those of clone, clone3 */
	.quad	0, 0, 0, 0, 0, 0, 0			/* up to `reads_pointer' */
	.fill	DT_HOOKS * 8, 1, 0
	.quad	0					/* errno_offset */
	.quad	0, 0					/* exec_site, exec_crossing */
from_modules:
	.fill	DT_FROM_MAX * 16, 1, 0
	.fill	DT_PATCHES * 24, 1, 0
	.quad	0

	.balign	64
hook_data:						/* struct dt_hook_data */
	.fill	DT_HOOK_DATA, 1, 0
	.balign	32
.irp name, entry, exit, event, event4, jump, exit_errno, entry_from, exit_from, exit_errno_from, jump_from
\name\()_cs:						/* struct rseq_cs, in the order of enum dt_hook */
	.quad	0, 0, 0, 0
.endr
hook_data_end:

	.globl	code_begin
code_begin:

/*
 * Returns from the hook, with nothing recorded, unless the function's return address lies in one of
 * the modules in dt_blob.from. It gives the same answer at the entry and at every exit of a call, so
 * nothing has to be remembered between. The address may be signed (PAC): xpaclri, a hint, which
 * older processors pass over, takes the signature off x30.
 */
.macro check_from
	mov	x13, x30
	ldr	x30, [sp, #SAVED + 8]
	hint	#7					/* xpaclri */
	mov	x14, x30
	mov	x30, x13
	adr	x17, from_modules
	.rept	DT_FROM_MAX
	ldp	x15, x13, [x17], #16			/* [begin, begin + size); size 0: none */
	sub	x15, x14, x15
	sub	x13, x15, x13
	bic	x13, x13, x15				/* 0 <= x15 and x15 < size */
	tbnz	x13, #FAR, 8f
	.endr
	ldp	x17, x13, [sp, #16]
	ldp	x14, x15, [sp], #SAVED
	ret
8:
.endm

/*
 * A hook: the append, what it does if that can not be, and the hook of a process without any rseq.
 * meta: kind, flags and core as they stand in the record's word at offset 20. values: macros of that
 * name store the record's values. No flag is changed, so none is kept.
 */
.macro hook name, meta, values, above, from=0
	.balign	64
	.long	SIGNATURE				/* must be before an abort address */
\name\()_abort:
	b	\name\()_again
\name:
	stp	x14, x15, [sp, #-SAVED]!
	stp	x17, x13, [sp, #16]
	.if \from
	check_from
	.endif
\name\()_again:
	adr	x17, hook_data
	mrs	x16, tpidr_el0
	ldp	x14, x15, [x17, #DT_HOOK_RSEQ]		/* rseq and the thread id, from x16 */
	add	x14, x14, x16
	adr	x17, \name\()_cs
	str	x17, [x14, #8]				/* rseq->rseq_cs: the sequence is armed */
\name\()_start:
	ldr	w17, [x14, #4]				/* rseq->cpu_id; negative: none */
	ldr	w13, process_block			/* cores; 0 in a forked child */
	sub	x13, x17, x13
	tbz	x13, #FAR, \name\()_out
	ldr	w16, [x16, x15]				/* thread id */
	adr	x14, hook_data
	ldp	x13, x15, [x14, #DT_HOOK_RINGS]		/* the first ring, and from one to the next */
	umaddl	x13, w17, w15, x13
	ldar	x15, [x13]				/* pos */
	ldr	x17, [x13, #8]				/* limit */
	sub	x17, x15, x17
	tbz	x17, #FAR, \name\()_out
	ldp	x17, x14, [x14, #DT_HOOK_MASK]		/* and the tag */
	and	x17, x17, x15
	add	x17, x17, x13
	add	x17, x17, #HEAD
	orr	w16, w16, w14
	mov	w14, #\meta
	stp	w16, w14, [x17, #16]
	add	x14, sp, #SAVED + \above
	str	x14, [x17, #24]				/* sp */
	\values\()_values \above
	mrs	x14, cntvct_el0
	stp	x14, x30, [x17]				/* ticks, pc */
	add	x15, x15, #RECORD
	stlr	x15, [x13]				/* the commit */
\name\()_commit:
	ldp	x17, x13, [sp, #16]
	ldp	x14, x15, [sp], #SAVED
	ret
\name\()_end:

\name\()_out:
	slow_record \meta, 0, \values, \above
	cbnz	w16, \name\()_again
	ldp	x17, x13, [sp, #16]
	ldp	x14, x15, [sp], #SAVED
	ret

	.globl	\name\()_slow
\name\()_slow:						/* the hook of a process without rseq */
	stp	x14, x15, [sp, #-SAVED]!
	stp	x17, x13, [sp, #16]
	.if \from
	check_from
	.endif
2:	slow_record \meta, 0xffff, \values, \above	/* core DT_SHARED_CORE: see dt_slow() */
	cbnz	w16, 2b
	ldp	x17, x13, [sp, #16]
	ldp	x14, x15, [sp], #SAVED
	ret
.endm

/* Builds the record on the stack, hands it to dt_slow(), and takes it off again. w16: whether the
 * hook is to try again. x17 may be used. */
.macro slow_record meta, core, values, above
	sub	sp, sp, #RECORD
	mov	w16, #\meta
	.if \core
	movk	w16, #\core, lsl #16
	.endif
	str	w16, [sp, #20]
	add	x16, sp, #RECORD + SAVED + \above
	str	x16, [sp, #24]
	str	x30, [sp, #8]
	mov	x17, sp
	\values\()_values_slow \above
	bl	slow_path
	ldr	x30, [sp, #8]
	add	sp, sp, #RECORD
.endm

/* The values of E: x0 x1 x2 x3. x17: the record; x14 and x16 may be used by all of these */
.macro entry_values above
	stp	x0, x1, [x17, #32]
	stp	x2, x3, [x17, #48]
.endm
.macro entry_values_slow above
	entry_values
.endm
/* The values of X: x0 x1 q0 */
.macro exit_values above
	stp	x0, x1, [x17, #32]
	str	q0, [x17, #48]
.endm
.macro exit_values_slow above
	exit_values
.endm
/* The values of X of a function that says by errno why it has failed: x0 x1, the low half of q0,
 * errno; 0 while it is not known where threads have that. */
.macro exit_errno_values above
	stp	x0, x1, [x17, #32]
	str	d0, [x17, #48]
	ldr	x14, hook_data + DT_HOOK_ERRNO
	cbz	x14, 7f
	mrs	x16, tpidr_el0
	ldr	w14, [x16, x14]
7:	str	x14, [x17, #56]
.endm
/* x14 is saved already, and its value of no use any more */
.macro exit_errno_values_slow above
	exit_errno_values
.endm
/* The value of X of a function that jumps on through a register: where to, which the stub has
 * pushed. The record's count of values is 0, which tells it from an exit with a result. */
.macro jump_values above
	ldr	x14, [sp, #SAVED + 16]
	stp	x14, xzr, [x17, #32]
	stp	xzr, xzr, [x17, #48]
.endm
.macro jump_values_slow above
	ldr	x14, [sp, #RECORD + SAVED + 16]
	stp	x14, xzr, [x17, #32]
	stp	xzr, xzr, [x17, #48]
.endm

	hook	entry, 0x0445, entry, DT_STUB_FRAME	/* 'E', 4 values */
	hook	exit, 0x0158, exit, DT_STUB_FRAME	/* 'X', 1 value */
	hook	jump, 0x0058, jump, DT_STUB_FRAME_JUMP	/* 'X', no value */
	hook	exit_errno, 0x0158, exit_errno, DT_STUB_FRAME
	hook	entry_from, 0x0445, entry, DT_STUB_FRAME, 1
	hook	exit_from, 0x0158, exit, DT_STUB_FRAME, 1
	hook	exit_errno_from, 0x0158, exit_errno, DT_STUB_FRAME, 1
	hook	jump_from, 0x0058, jump, DT_STUB_FRAME_JUMP, 1

/* Save, and restore, every register but x16, and the flags: around a call of C code, which uses no
 * vector register (target.mk). x0 to x17 are from KEPT(sp) on. */
#define KEPT 16
#define KEEP 176
.macro keep
	stp	x29, x30, [sp, #-KEEP]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x9, [sp, #80]
	stp	x10, x11, [sp, #96]
	stp	x12, x13, [sp, #112]
	stp	x14, x15, [sp, #128]
	mrs	x16, nzcv
	stp	x17, x18, [sp, #144]
	str	x16, [sp, #160]
.endm
.macro give
	ldr	x16, [sp, #160]
	msr	nzcv, x16
	give_registers
.endm
.macro give_registers
	ldp	x17, x18, [sp, #144]
	ldp	x14, x15, [sp, #128]
	ldp	x12, x13, [sp, #112]
	ldp	x10, x11, [sp, #96]
	ldp	x8, x9, [sp, #80]
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #KEEP
.endm

/* Called by a hook with a half-filled record at sp. Hands it to dt_slow(). w16: its result. */
slow_path:
	keep
	add	x0, sp, #KEEP
	bl	dt_slow
	ldr	x16, [sp, #160]
	msr	nzcv, x16
	mov	w16, w0
	give_registers
	ret

/* The dynamic linker's _dl_debug_state, an empty function, jumps here. */
	.globl	modules
modules:
	keep
	bl	dt_modules_changed
	give
	ret

/* libc's execve and execveat jump here from before their system call, whose arguments are in
 * registers already. x16 is free where a function begins. It is ret, not br, that goes back: it needs
 * no landing pad there. */
.macro execute name, nr
	mov	x8, #\nr
	svc	#0
	keep
	bl	dt_after_exec
	give
	ldr	x16, \name\()_back
	ret	x16
.endm
	.globl	execve
execve:
	keep
	bl	dt_before_exec
	give
	execute	execve, 221

	.globl	execveat
execveat:
	keep
	add	x0, sp, #KEPT
	bl	dt_before_execat
	give
	execute	execveat, 281

/*
 * libc's vfork jumps here from before its system call. What is done in the child, and afterwards in
 * the parent, and why, is said in x86_64/target/hook.S. x9 keeps the time before the call for the
 * child; the kernel keeps it, and libc does not use it.
 */
	.globl	vfork
vfork:
	keep
	bl	dt_before_vfork
	str	x0, [sp, #KEPT + 9 * 8]
	give
	mov	x8, #220				/* clone */
	svc	#0
	adr	x16, hook_data
	ldr	x16, [x16, #DT_HOOK_RSEQ]
	mrs	x10, tpidr_el0
	add	x10, x10, x16
	cbnz	x0, 1f
	mov	w16, #-1
	str	w16, [x10, #4]				/* rseq->cpu_id: none is registered */
	keep
	mov	x0, x9
	bl	dt_born
	give
	b	2f
1:	ldr	w16, [x10, #4]
	add	w16, w16, #1
	cbnz	w16, 2f
	keep
	bl	dt_after_vfork
	give
2:	ldr	x16, vfork_back
	ret	x16

	.section .note.GNU-stack, "", @progbits
