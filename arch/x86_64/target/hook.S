/* SPDX-License-Identifier: MIT */
/*
 * The append, and the stubs that libc and the dynamic linker are led through. All of this runs in
 * the traced process: every register is kept, vector registers are only ever stored, the stack is
 * used only where the caller has nothing below the stack pointer (at a function's entry, and at the
 * instruction before its return), and nothing waits unless the session's policy is to wait.
 *
 * A hook is called by a sled through the module's thunk:
 *	0(%rsp)  pc: return address into the traced function
 *	8(%rsp)  the traced function's own return address; its address is the record's sp
 * Flags are kept: a function written in assembler may return values in them, and read those that it
 * was called with. Next to reading the clock, keeping them has no measurable cost. The hooks of
 * events are called in the same way by the stub of a site (include/devtrace.h): there the bytes
 * after the call, which are the operand of an instruction without effect, give the record's kind
 * and count of values; the compiler knows that such a site changes flags, so they are not kept.
 *
 * The append is one restartable sequence (rseq(2)): from `start' to `commit' the thread stays on
 * its core undisturbed, or continues at `abort' and begins again. Nothing before the last
 * instruction can be seen by a reader: pos is stored once, last, after the record (x86 stores are
 * seen in order). `jae' out of the sequence is allowed: leaving it without the last store appends
 * nothing.
 */
#include "arch/area.h"

#define SIGNATURE 0x53053053	/* glibc's RSEQ_SIG; replaced by the controller when another is used */
#define HEAD	  4096		/* DT_RING_HEAD */
#define UNKNOWN	  0x12345678	/* stands where a fixup will put something */
#define STUB	  192		/* bytes of stack that the stub of an event takes: DT_FRAME_ */
#define DIRECTION 0x400		/* in rflags */
#define ALIGNMENT 0x40000
#define NO_ERRNO  0x38		/* from %fs: see DT_NO_ERRNO */

	/* struct dt_blob, first in the link; offsets into other sections come from blob.ld */
	.text
	.globl	blob
blob:
	.quad	DT_BLOB_MAGIC
	.long	blob_size
	.long	entry_slow - blob, exit_slow - blob, event_slow - blob, event4_slow - blob
	.long	jump_slow - blob, exit_errno_slow - blob, entry_from_slow - blob
	.long	exit_from_slow - blob, exit_errno_from_slow - blob, jump_from_slow - blob
	.long	opt_out - blob, peek - blob, text - blob, crosses - blob
	.long	modules - blob, execve - blob, execveat - blob, vfork - blob, clone - blob
	.long	clone3 - blob, call - blob
	.long	code_begin - blob, code_size
	.long	fixups_begin, fixups_end
	.long	entry_head - blob, entry - blob, entry_again - blob, entry_abort - blob
	.long	entry_copy - blob, entry_start - blob, entry_commit - blob, entry_end - blob
	.long	exit_head - blob, exit - blob, exit_again - blob, exit_abort - blob
	.long	exit_copy - blob, exit_start - blob, exit_commit - blob, exit_end - blob
	.long	event_head - blob, event - blob, event_again - blob, event_abort - blob
	.long	event_copy - blob, event_start - blob, event_commit - blob, event_end - blob
	.long	event4_head - blob, event4 - blob, event4_again - blob, event4_abort - blob
	.long	event4_copy - blob, event4_start - blob, event4_commit - blob, event4_end - blob
	.long	jump_head - blob, jump - blob, jump_again - blob, jump_abort - blob
	.long	jump_copy - blob, jump_start - blob, jump_commit - blob, jump_end - blob
	.long	exit_errno_head - blob, exit_errno - blob, exit_errno_again - blob, exit_errno_abort - blob
	.long	exit_errno_copy - blob, exit_errno_start - blob, exit_errno_commit - blob, exit_errno_end - blob
	.long	entry_from_head - blob, entry_from - blob, entry_from_again - blob, entry_from_abort - blob
	.long	entry_from_copy - blob, entry_from_start - blob, entry_from_commit - blob, entry_from_end - blob
	.long	exit_from_head - blob, exit_from - blob, exit_from_again - blob, exit_from_abort - blob
	.long	exit_from_copy - blob, exit_from_start - blob, exit_from_commit - blob, exit_from_end - blob
	.long	exit_errno_from_head - blob, exit_errno_from - blob, exit_errno_from_again - blob, exit_errno_from_abort - blob
	.long	exit_errno_from_copy - blob, exit_errno_from_start - blob, exit_errno_from_commit - blob, exit_errno_from_end - blob
	.long	jump_from_head - blob, jump_from - blob, jump_from_again - blob, jump_from_abort - blob
	.long	jump_from_copy - blob, jump_from_start - blob, jump_from_commit - blob, jump_from_end - blob
	.long	own_entry_head - blob, own_entry - blob, own_entry_again - blob, own_entry_abort - blob
	.long	own_entry_copy - blob, own_entry_start - blob, own_entry_commit - blob, own_entry_end - blob
	.long	own_exit_head - blob, own_exit - blob, own_exit_again - blob, own_exit_abort - blob
	.long	own_exit_copy - blob, own_exit_start - blob, own_exit_commit - blob, own_exit_end - blob
	.long	own_event_head - blob, own_event - blob, own_event_again - blob, own_event_abort - blob
	.long	own_event_copy - blob, own_event_start - blob, own_event_commit - blob, own_event_end - blob
	.long	own_event4_head - blob, own_event4 - blob, own_event4_again - blob, own_event4_abort - blob
	.long	own_event4_copy - blob, own_event4_start - blob, own_event4_commit - blob, own_event4_end - blob
	.long	own_jump_head - blob, own_jump - blob, own_jump_again - blob, own_jump_abort - blob
	.long	own_jump_copy - blob, own_jump_start - blob, own_jump_commit - blob, own_jump_end - blob
	.long	own_exit_errno_head - blob, own_exit_errno - blob, own_exit_errno_again - blob, own_exit_errno_abort - blob
	.long	own_exit_errno_copy - blob, own_exit_errno_start - blob, own_exit_errno_commit - blob, own_exit_errno_end - blob
	.long	own_entry_from_head - blob, own_entry_from - blob, own_entry_from_again - blob, own_entry_from_abort - blob
	.long	own_entry_from_copy - blob, own_entry_from_start - blob, own_entry_from_commit - blob, own_entry_from_end - blob
	.long	own_exit_from_head - blob, own_exit_from - blob, own_exit_from_again - blob, own_exit_from_abort - blob
	.long	own_exit_from_copy - blob, own_exit_from_start - blob, own_exit_from_commit - blob, own_exit_from_end - blob
	.long	own_exit_errno_from_head - blob, own_exit_errno_from - blob, own_exit_errno_from_again - blob, own_exit_errno_from_abort - blob
	.long	own_exit_errno_from_copy - blob, own_exit_errno_from_start - blob, own_exit_errno_from_commit - blob, own_exit_errno_from_end - blob
	.long	own_jump_from_head - blob, own_jump_from - blob, own_jump_from_again - blob, own_jump_from_abort - blob
	.long	own_jump_from_copy - blob, own_jump_from_start - blob, own_jump_from_commit - blob, own_jump_from_end - blob
	.balign	8
	.quad	0, 0, 0, 0, 0				/* from here: filled by the controller */
entry_retry:
	.quad	0
exit_retry:
	.quad	0
event_retry:
	.quad	0
event4_retry:
	.quad	0
jump_retry:
	.quad	0
exit_errno_retry:
	.quad	0
entry_from_retry:
	.quad	0
exit_from_retry:
	.quad	0
exit_errno_from_retry:
	.quad	0
jump_from_retry:
	.quad	0
execve_back:
	.quad	0
execveat_back:
	.quad	0
vfork_back:
	.quad	0
clone_back:
	.quad	0
clone3_back:
	.quad	0
	.quad	0, 0, 0, 0, 0, 0, 0			/* up to `reads_pointer' */
	.fill	DT_HOOKS * 8, 1, 0
errno_offset:
	.quad	0
	.quad	0, 0					/* exec_site, exec_crossing */
from_modules:
	.fill	DT_FROM_MAX * 16, 1, 0
	.fill	DT_PATCHES * 24, 1, 0
	.quad	0

	.globl	code_begin
code_begin:

/* One instruction with a fixup: 32 bits for the controller to fill, then `behind' more bytes. */
.macro fix type, behind, insn:vararg
	\insn
777:
	.pushsection .fixups, "a"
	.long	777b - blob - 4 - \behind, \type
	.popsection
.endm

/* One whose operand is in struct dt_own_rseq. */
.macro fix_own type, behind, insn:vararg
666:	.byte	0x64
	fix \type, \behind, \insn
	.pushsection .fixups, "a"
	.long	666b - blob, DT_FIX_OWN_SEGMENT
	.popsection
.endm

/*
 * The check of a hook that records only calls made by certain modules: returns from the hook, with
 * nothing recorded, unless the function's return address lies in one of them. It gives the same
 * answer at the entry and at every exit of a call, so nothing has to be remembered between. rax, rdx
 * and the flags have been saved, and are free.
 */
.macro check_from meta, above
	.set	from_at, from_modules
	.rept	DT_FROM_MAX
	mov	\above+8(%rsp), %rdx
	sub	from_at, %rdx				/* [begin, begin + size); size 0: none */
	cmp	from_at + 8, %rdx
	jb	8f
	.set	from_at, from_at + 16
	.endr
	mov	-24(%rsp), %rdx
	give_flags \meta
	mov	-8(%rsp), %rax
	ret
8:
.endm

/*
 * Makes the template of a hook. meta: kind and flags as they stand in the record's word at offset
 * 20; 0: they are after the call. The reader, who knows whose ring it is, adds the core. Three
 * registers, and with meta the flags (the low byte of rflags in ah, as lahf has it, OF in al), are
 * saved in the red zone, which signal handlers keep clear of.
 * The record's sp is the hook's own: 8 below the traced function's at its entry and its return; an
 * event's is 8 below its function's too, whatever the stub has put in between. above: bytes that
 * the caller has between the hook's return address and the function's. from: only calls that certain
 * modules make are recorded (check_from).
 *
 * The controller makes the hook from this template: its head, then a copy of the append for every
 * core, with that core's ring in its addresses. So a processor that has predicted the right copy
 * need not wait for the core's number to find the ring, which cost 1.5 ns a record. (That was
 * measured, as was the reason for reading the clock last: what follows the microcode of rdtsc waits
 * for it.) A copy that is not the core's jumps to the next one, the last one to the head. The core
 * is looked at once more inside the sequence, since the thread may have been moved meanwhile.
 */
/*
 * The code of a hook. own: for an rseq of ours (struct dt_own_rseq), to which rdx leads: it is that
 * from %fs on, or an address, as the instructions' prefix says.
 */
.macro hook_code label, name, meta, above, from, own=0
	.balign	64
\label\()_head:
	.byte	0x0f, 0xb9, 0x3d			/* ud1, so that the bytes decode as one */
	fix DT_FIX_SIGNATURE, 0, .long SIGNATURE	/* must be before an abort address */
\label\()_abort:
	jmp	\label\()_again
	.balign	32
\label:
	mov	%rax, -8(%rsp)
	mov	%r11, -16(%rsp)
	mov	%rdx, -24(%rsp)
	keep_flags \meta
	.if \from
	check_from \meta, \above
	.endif
\label\()_again:
	.if \own
	fix DT_FIX_OWN_AT, 0, mov %fs:UNKNOWN, %edx
	fix DT_FIX_TID, 0, mov %fs:UNKNOWN, %r11d
	inc	%r11d
	fix_own DT_FIX_OWN_CHECK, 0, cmp %r11d, UNKNOWN(%rdx)
	fix DT_FIX_REL, -4, .byte 0x0f, 0x85		/* jne; its displacement follows */
	.long \name\()_out - . - 4
	fix_own DT_FIX_OWN_CPU, 0, mov UNKNOWN(%rdx), %r11d
	.else
	fix DT_FIX_CPU, 0, mov %fs:UNKNOWN, %r11d	/* rseq->cpu_id; negative: none */
	.endif
	cmp	process_block, %r11d			/* 0 in a forked child */
	fix DT_FIX_REL, -4, .byte 0x0f, 0x83		/* jae; its displacement follows */
	.long \name\()_out - . - 4
\label\()_copy:
	fix DT_FIX_CORE, 0, cmp $UNKNOWN, %r11d
	fix DT_FIX_NEXT, -4, .byte 0x0f, 0x85		/* jne */
	.long 0
	.if \own
	fix_own DT_FIX_OWN_ARM, 4, movq $UNKNOWN, UNKNOWN(%rdx)
	fix DT_FIX_CS, 0
	.else
	fix DT_FIX_ARM, 4, movq $UNKNOWN, %fs:UNKNOWN	/* rseq->rseq_cs: the sequence is armed */
	fix DT_FIX_CS, 0
	.endif
\label\()_start:
	.if \own
	fix_own DT_FIX_OWN_CPU, 4, cmpl $UNKNOWN, UNKNOWN(%rdx)
	.else
	fix DT_FIX_CPU, 4, cmpl $UNKNOWN, %fs:UNKNOWN
	.endif
	fix DT_FIX_CORE, 0
	fix DT_FIX_NEXT, -4, .byte 0x0f, 0x85		/* jne */
	.long 0
	fix DT_FIX_RING, 0, mov 0, %r11			/* pos */
	fix DT_FIX_RING, 0, cmp 8, %r11			/* limit */
	fix DT_FIX_REL, -4, .byte 0x0f, 0x83		/* jae; its displacement follows */
	.long \name\()_out - . - 4
	fix DT_FIX_MASK, 0, and $UNKNOWN, %r11d		/* ring size - 1 */
	.if \meta
	fix DT_FIX_RING, 4, movl $\meta, HEAD+20(%r11)	/* kind, flags */
	.if \above
	lea	\above(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+24(%r11)	/* sp */
	.else
	fix DT_FIX_RING, 0, mov %rsp, HEAD+24(%r11)	/* sp */
	.endif
	.else
	mov	(%rsp), %rax
	movzwl	1(%rax), %eax
	fix DT_FIX_RING, 0, mov %eax, HEAD+20(%r11)
	lea	STUB(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+24(%r11)
	.endif
	\name\()_values
	mov	(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+8(%r11)	/* pc */
	.if \own
	fix_own DT_FIX_OWN_TID, 0, mov UNKNOWN(%rdx), %eax
	.else
	fix DT_FIX_TID, 0, mov %fs:UNKNOWN, %eax
	.endif
	fix DT_FIX_TAG, 0, or $UNKNOWN, %eax
	fix DT_FIX_RING, 0, mov %eax, HEAD+16(%r11)
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD(%r11)	/* ticks */
	fix DT_FIX_RING, 1, addq $64, 0			/* the commit */
\label\()_commit:
	mov	-24(%rsp), %rdx
	mov	-16(%rsp), %r11
	give_flags \meta
	mov	-8(%rsp), %rax
	ret
\label\()_end:
.endm

/* A hook of both kinds, what both do if they can not append, and the hook of a process without any
 * rseq. */
.macro hook name, meta, above=0, from=0
	hook_code \name, \name, \meta, \above, \from
	hook_code own_\name, \name, \meta, \above, \from, 1

\name\()_out:
	lea	-32-64(%rsp), %rsp
	slow_meta \meta, 0, \above
	\name\()_values_slow
	call	slow_path
	mov	8(%rsp), %rdx
	mov	16(%rsp), %r11
	mov	24(%rsp), %rax
	lea	32(%rsp), %rsp				/* what is saved stays where it is */
	je	1f
	jmp	*\name\()_retry(%rip)
1:	give_flags \meta
	mov	-8(%rsp), %rax
	ret

	.globl	\name\()_slow
\name\()_slow:						/* the hook of a process without rseq */
	mov	%rax, -8(%rsp)
	mov	%r11, -16(%rsp)
	mov	%rdx, -24(%rsp)
	keep_flags \meta
	.if \from
	check_from \meta, \above
	.endif
2:	lea	-32-64(%rsp), %rsp
	slow_meta \meta, 0xffff0000, \above		/* core DT_SHARED_CORE: see dt_slow() */
	\name\()_values_slow
	call	slow_path
	mov	8(%rsp), %rdx
	mov	16(%rsp), %r11
	mov	24(%rsp), %rax
	lea	32(%rsp), %rsp
	jne	2b
	give_flags \meta
	mov	-8(%rsp), %rax
	ret
.endm

/* The six flags of arithmetic; rax may be used. No hook changes the others. */
.macro keep_flags meta
	.if \meta
	lahf
	seto	%al
	mov	%eax, -32(%rsp)
	.endif
.endm
.macro give_flags meta
	.if \meta
	mov	-32(%rsp), %eax
	add	$0x7f, %al				/* OF again */
	sahf
	.endif
.endm

/* Sets kind, flags, core and sp of the record that is built on the stack for the slow path; rax may
 * be used. */
.macro slow_meta meta, core, above
	.if \meta
	movl	$\meta | \core, 20(%rsp)
	lea	64+32+\above(%rsp), %rax			/* sp */
	.else
	mov	64+32(%rsp), %rax
	movzwl	1(%rax), %eax
	or	$\core, %eax
	mov	%eax, 20(%rsp)
	lea	64+32+STUB(%rsp), %rax
	.endif
	mov	%rax, 24(%rsp)
.endm

/* The values of E: rdi rsi rdx rcx; rax may be used */
.macro entry_values
	fix DT_FIX_RING, 0, mov %rdi, HEAD+32(%r11)
	fix DT_FIX_RING, 0, mov %rsi, HEAD+40(%r11)
	mov	-24(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+48(%r11)
	fix DT_FIX_RING, 0, mov %rcx, HEAD+56(%r11)
.endm
.macro entry_values_slow
	mov	%rdi, 32(%rsp)
	mov	%rsi, 40(%rsp)
	mov	64+8(%rsp), %rdx
	mov	%rdx, 48(%rsp)
	mov	%rcx, 56(%rsp)
.endm
/* The values of X: rax rdx xmm0 */
.macro exit_values
	mov	-8(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+32(%r11)
	mov	-24(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+40(%r11)
	fix DT_FIX_RING, 0, movups %xmm0, HEAD+48(%r11)
.endm
.macro exit_values_slow
	mov	64+24(%rsp), %rax
	mov	%rax, 32(%rsp)
	mov	64+8(%rsp), %rdx
	mov	%rdx, 40(%rsp)
	movlps	%xmm0, 48(%rsp)				/* not movups: alignment may be checked */
	movhps	%xmm0, 56(%rsp)
.endm

/*
 * The values of X of a function that says by errno why it has failed: rax rdx, the low half of xmm0,
 * errno. Until it is known where threads have their errno, a word is read that is 0 in every thread
 * block of glibc's.
 */
.macro exit_errno_values
	mov	-8(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+32(%r11)
	mov	-24(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+40(%r11)
	fix DT_FIX_RING, 0, movlps %xmm0, HEAD+48(%r11)
	fix DT_FIX_ERRNO, 0, mov %fs:NO_ERRNO, %eax
	fix DT_FIX_RING, 0, mov %rax, HEAD+56(%r11)
.endm
.macro exit_errno_values_slow
	exit_values_slow
	mov	errno_offset, %rax
	test	%rax, %rax				/* 0: not known */
	je	7f
	cmpl	$0, kept_block + DT_KEPT_STRANGE	/* nor is it where there may be no block */
	mov	$0, %eax
	jne	7f
	mov	errno_offset, %rax
	mov	%fs:(%rax), %eax
7:	mov	%rax, 56(%rsp)
.endm

/*
 * The value of X of a function that jumps on through a register or memory: where to. The site has
 * pushed that, and takes it off the stack again. The record's count of values is 0, which tells it
 * from an exit with a result.
 */
.macro jump_values
	mov	8(%rsp), %rax
	fix DT_FIX_RING, 0, mov %rax, HEAD+32(%r11)
.endm
.macro jump_values_slow
	mov	64+32+8(%rsp), %rax
	mov	%rax, 32(%rsp)
	movq	$0, 40(%rsp)
	movq	$0, 48(%rsp)
	movq	$0, 56(%rsp)
.endm

.macro entry_from_values
	entry_values
.endm
.macro entry_from_values_slow
	entry_values_slow
.endm
.macro exit_from_values
	exit_values
.endm
.macro exit_from_values_slow
	exit_values_slow
.endm
.macro exit_errno_from_values
	exit_errno_values
.endm
.macro exit_errno_from_values_slow
	exit_errno_values_slow
.endm
.macro jump_from_values
	jump_values
.endm
.macro jump_from_values_slow
	jump_values_slow
.endm

/* The value of an event, its body: rdi. The record's other values are left as they were in its
 * place; they mean nothing. */
.macro event_values
	fix DT_FIX_RING, 0, mov %rdi, HEAD+32(%r11)
.endm
.macro event_values_slow
	mov	%rdi, 32(%rsp)
	movq	$0, 40(%rsp)
	movq	$0, 48(%rsp)
	movq	$0, 56(%rsp)
.endm
/* The values of events with more of them: rdi rsi rdx rcx, as at an entry */
.macro event4_values
	entry_values
.endm
.macro event4_values_slow
	entry_values_slow
.endm

	hook	entry, 0x0445				/* 'E', 4 values */
	hook	exit, 0x0158				/* 'X', 1 value */
	hook	event, 0
	hook	event4, 0
	hook	jump, 0x0058, 8				/* 'X', no value */
	hook	exit_errno, 0x0158
	hook	entry_from, 0x0445, 0, 1
	hook	exit_from, 0x0158, 0, 1
	hook	exit_errno_from, 0x0158, 0, 1
	hook	jump_from, 0x0058, 8, 1

/*
 * Called by a hook with a half-filled record (kind, flags, values) on the stack, and the saved
 * flags and registers above it. Completes the record, hands it to dt_slow(), and takes it off the
 * stack; returns with ZF clear when the hook is to try again. Every register but rax, rdx, r11 is
 * kept.
 */
slow_path:
	pop	%rax					/* return address; the record is at (%rsp) */
	mov	64+32(%rsp), %rdx
	mov	%rdx, 8(%rsp)				/* pc */
	mov	%rsp, %rdx
	push	%rax
	push	%r10
	lea	dt_slow(%rip), %r10
	call	call_c
	pop	%r10
	pop	%rdx					/* return address */
	lea	64(%rsp), %rsp
	test	%eax, %eax
	jmp	*%rdx

/*
 * Calls the C function at r10 with rdx as its argument. rax is its result; rdx, r10, r11 and the
 * flags of arithmetic are lost; all else is kept. The stack is aligned. The direction flag and the
 * alignment check are cleared meanwhile: C code wants that, and a traced function in assembler may
 * copy backwards, or have alignment checked.
 */
	.globl	call_c
	.hidden	call_c
call_c:
	push	%rbp
	mov	%rsp, %rbp
	push	%rcx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	pushfq
	and	$-16, %rsp
	testl	$DIRECTION | ALIGNMENT, -48(%rbp)
	jne	3f
1:	mov	%rdx, %rdi
	call	*%r10
	testl	$DIRECTION | ALIGNMENT, -48(%rbp)
	jne	4f
2:	lea	-40(%rbp), %rsp
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rcx
	pop	%rbp
	ret
3:	mov	-48(%rbp), %r11
	and	$~(DIRECTION | ALIGNMENT), %r11
	push	%r11
	popfq
	jmp	1b
4:	push	-48(%rbp)
	popfq
	jmp	2b

/* Called by DT_DISABLE_PROCESS(), which expects its flags to change and nothing else. */
	.globl	opt_out
opt_out:
	push	%rax
	push	%rdx
	push	%r10
	push	%r11
	lea	dt_opt_out(%rip), %r10
	call	call_c
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret

/*
 * Called by points (arch/x86_64/capture.c) to read memory that may not be mapped. rax: the address,
 * r9d: the size, 1 to 8, plus 256 if it is signed. It returns the value in rax, or DT_CAPTURE_BAD
 * there and 1 in r8d. Flags change; all other registers are kept.
 */
	.globl	peek
peek:
	push	%rdx
	push	%r10
	push	%r11
	push	%r9
	push	%rax
	mov	%rsp, %rdx
	lea	dt_peek(%rip), %r10
	call	call_c
	test	%eax, %eax
	mov	$1, %eax
	cmovz	%eax, %r8d
	pop	%rax
	pop	%r9
	pop	%r11
	pop	%r10
	pop	%rdx
	ret

/*
 * Called by points that are recorded only in calls which certain modules make. rax: the function's
 * return address. It returns with the carry flag set if the address lies in one of these modules.
 * rcx and the flags change; all else is kept.
 */
	.globl	crosses
crosses:
	.set	from_at, from_modules
	.rept	DT_FROM_MAX
	mov	%rax, %rcx
	sub	from_at, %rcx
	cmp	from_at + 8, %rcx
	jb	1f
	.set	from_at, from_at + 16
	.endr
1:	ret

/* The dynamic linker's _dl_debug_state, an empty function, jumps here. */
	.globl	modules
modules:
	push	%rax
	push	%rdx
	push	%r10
	push	%r11
	lea	dt_modules_changed(%rip), %r10
	call	call_c
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret

/*
 * libc's execve jumps here from its `mov $nr, %eax', its execveat from its start.
 * The kernel keeps everything but rax, rcx and r11; so does this.
 */
	.globl	execve
execve:
	push	%r10
	push	%rdx
	push	%rsi
	push	%rdi
	mov	%rsp, %rdx				/* struct dt_exec_call */
	lea	dt_exec_entered(%rip), %r10
	call	call_c
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%r10
	mov	$59, %eax
	syscall
	push	%r10
	push	%rdx
	push	%rsi
	push	%rax
	mov	%rsp, %rdx				/* the same, but for its path: the result */
	lea	dt_exec_failed(%rip), %r10
	call	call_c
	pop	%rax
	pop	%rsi
	pop	%rdx
	pop	%r10
	jmp	*execve_back(%rip)

	.globl	execveat
execveat:
	push	%rdx
	push	%rsi
	push	%rdi
	mov	%rsp, %rdx
	lea	dt_before_execat(%rip), %r10
	call	call_c
	pop	%rdi
	pop	%rsi
	pop	%rdx
	mov	%rcx, %r10
	mov	$322, %eax
	syscall
	push	%rdx
	push	%r10
	push	%rax
	lea	dt_after_exec(%rip), %r10
	call	call_c
	pop	%rax
	pop	%r10
	pop	%rdx
	jmp	*execveat_back(%rip)

/*
 * libc's vfork jumps here from its start. The child runs in its parent's memory and thread block,
 * but the kernel has taken its rseq registration away: an append by rseq would not be protected.
 * So the child marks the block as unregistered, and appends to the shared ring. The parent sleeps
 * meanwhile; when it runs again the kernel stores its core number anew. Some kernels omit that
 * store; then dt_after_vfork() makes the kernel do it.
 */
	.globl	vfork
vfork:
	lea	dt_before_vfork(%rip), %r10
	call	call_c
	mov	%rax, %r9
	pop	%rdi
	mov	$58, %eax
	syscall
	push	%rdi
	test	%eax, %eax
	jne	1f
	cmpl	$0, kept_block + DT_KEPT_STRANGE
	jne	3f
	fix DT_FIX_CPU, 4, movl $-1, %fs:UNKNOWN
3:	mov	%r9, %rdx
	lea	dt_born(%rip), %r10
	call	call_c
	xor	%eax, %eax
	jmp	*vfork_back(%rip)
1:	cmpl	$0, kept_block + DT_KEPT_STRANGE
	jne	2f
	fix DT_FIX_CPU, 1, cmpl $-1, %fs:UNKNOWN
	jne	2f
	push	%rax
	lea	dt_after_vfork(%rip), %r10
	call	call_c
	pop	%rax
2:	jmp	*vfork_back(%rip)

/*
 * libc's clone and clone3 jump here from their `mov $nr, %eax'. A new thread runs for a while
 * before libc registers its rseq block. That block is as an earlier thread left it on this stack,
 * or zero: both name a core, though nothing protects an append there. So the first thing that a
 * child does is to mark its block as unregistered: it appends to the shared ring until the kernel
 * stores a core number. The child does that itself, since its maker may be moved to another core in
 * between, and the kernel would then store the number anew in a block that is the maker's (as in
 * vfork). A pointer to a sequence that the earlier thread left is cleared too: kernels before 6.14
 * would follow it once more.
 *
 * Only thread blocks of libc's, whose first and third word point to themselves, are written to.
 * Then a child that has its maker's memory tells of its birth; a process with memory of its own does
 * so at its first record (target/append.c, begin_process()).
 */
.macro clone_call name, nr
	.globl	\name
\name:
	push	%rdx
	push	%r10
	push	%r8
	push	%rdi
	\name\()_argument
	lea	dt_before_\name(%rip), %r10
	call	call_c
	mov	%rax, %r9				/* for the child; libc does not use it any more */
	lea	16(%rsp), %rsp
	pop	%r10
	pop	%rdx
	mov	$\nr, %eax
	syscall
	test	%rax, %rax
	jne	1f
	\name\()_child
	cmpl	$0, kept_block + DT_KEPT_STRANGE	/* it may be its maker's, and that none of libc's */
	jne	4f
	fix DT_FIX_CPU, 4, movl $-1, %fs:UNKNOWN
4:	push	%rdx
	push	%r10
	mov	%r9, %rdx
	lea	dt_born(%rip), %r10
	call	call_c
	pop	%r10
	pop	%rdx
	xor	%eax, %eax
	jmp	3f
1:	\name\()_vforked				/* CLONE_VFORK: the child had the block */
	je	3f
	cmpl	$0, kept_block + DT_KEPT_STRANGE
	jne	3f
	fix DT_FIX_CPU, 1, cmpl $-1, %fs:UNKNOWN
	jne	3f
	push	%rax
	lea	dt_after_vfork(%rip), %r10
	call	call_c
	pop	%rax
3:	jmp	*\name\()_back(%rip)
.endm

/* rdi: the flags, r8: the thread block, which dt_before_clone() has looked at, where it could */
.macro clone_argument
	mov	%rsp, %rdx
.endm
.macro clone_child
	test	$0x00000100, %edi			/* CLONE_VM */
	je	3f
	test	$0x00080000, %edi			/* CLONE_SETTLS */
	je	2f
	btr	$63, %r9				/* DT_CHILD_FOREIGN */
	jc	4f
	cmp	%r8, %fs:0
	jne	4f
	cmp	%r8, %fs:16
	jne	4f
	fix DT_FIX_ARM, 4, movq $0, %fs:UNKNOWN
2:
.endm
.macro clone_vforked
	test	$0x00004000, %edi
.endm
.macro clone3_argument
	mov	%rdi, %rdx
.endm
/* Only libc itself calls clone3, for a thread of its own or in place of vfork. In the child, its
 * arguments may be gone. */
.macro clone3_child
	fix DT_FIX_ARM, 4, movq $0, %fs:UNKNOWN
.endm
.macro clone3_vforked
	testl	$0x00004000, (%rdi)
.endm

	clone_call clone, 56
	clone_call clone3, 435

/*
 * Called by gates (arch/gate.h) before a system call whose number and arguments are in their
 * registers. Everything is kept. Only the calls that may take something from the hooks are looked
 * at: prctl and seccomp, and musl's clone and vfork.
 */
	.globl	call
call:
	pushf
	cmp	$56, %rax
	je	1f
	cmp	$58, %rax
	je	1f
	cmp	$157, %rax
	je	1f
	cmp	$317, %rax
	jne	2f
1:	push	%r11
	push	%r8
	push	%r10
	push	%rdx
	push	%rsi
	push	%rdi
	push	%rax
	mov	%rsp, %rdx
	lea	dt_before_call(%rip), %r10
	call	call_c
	pop	%rax
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%r10
	lea	8(%rsp), %rsp				/* r8 is kept */
	pop	%r11
2:	popf
	ret

	.section .note.GNU-stack, "", @progbits
