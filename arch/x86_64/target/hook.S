/* SPDX-License-Identifier: MIT */
/*
 * The append, and the stubs that libc and the dynamic linker are led through. All of this runs in
 * somebody else's process: every register is kept, vector registers are only ever stored, the stack
 * is used only below a point where the caller has nothing (a function's entry, the instruction in
 * front of its return), and nothing waits unless the session's policy is to wait.
 *
 * A hook is called by a sled through the module's thunk:
 *	0(%rsp)  pc: return address into the traced function
 *	8(%rsp)  the traced function's own return address; its address is the record's sp
 * Flags are dead at a sled and are not kept.
 *
 * The append is one restartable sequence (rseq(2)): from `start' to `commit' the thread stays on its
 * core undisturbed, or continues at `abort' and begins again. Nothing before the last instruction
 * can be seen by a reader: pos is stored once, last, after the record (x86 stores are seen in order).
 * `jae' out of the sequence is allowed: leaving it without the last store appends nothing.
 */
#include "arch/x86_64/area.h"

#define SIGNATURE 0x53053053	/* glibc's RSEQ_SIG; replaced by the controller when another is used */
#define POS	  0
#define LIMIT	  8
#define HEAD	  4096		/* DT_RING_HEAD */
#define UNKNOWN	  0x01000000	/* displacements from %fs that the controller replaces */

	.section .head, "a"
	.globl	blob
blob:
	.quad	DT_BLOB_MAGIC
	.long	blob_end
	.long	entry, exit, entry_slow, exit_slow
	.long	modules, execve, execveat, vfork
	.long	entry_cs, exit_cs
	.long	code_begin, code_end
	.long	entry_tid - 4, exit_tid - 4, 0, 0, 0, 0, 0, 0
	.long	entry_cpu - 4, exit_cpu - 4, vfork_cpu1 - 8, vfork_cpu2 - 5, 0, 0, 0, 0
	.long	entry_set - 4, exit_set - 4, 0, 0, 0, 0, 0, 0
	.long	0
	.globl	constants
constants:				/* "filled by the controller" in struct dt_blob */
	.quad	0, 0, 0
execve_back:
	.quad	0
execveat_back:
	.quad	0
vfork_back:
	.quad	0
	.quad	0
	.quad	0
	.fill	8 * 24, 1, 0

	.balign	32
entry_cs:
	.long	0, 0
	.quad	entry_start, entry_commit - entry_start, entry_abort
	.balign	32
exit_cs:
	.long	0, 0
	.quad	exit_start, exit_commit - exit_start, exit_abort

	.text
	.globl	code_begin
code_begin:

/* meta: kind and flags as they stand in the record's second word, the core above them */
.macro hook name, meta
	.balign	64
	.globl	\name
\name:
	push	%rax
	push	%rdx
	push	%r10
	push	%r11
.L\name\()_again:
	lea	\name\()_cs(%rip), %rax
	mov	%rax, %fs:UNKNOWN			/* rseq->rseq_cs: the sequence is armed */
\name\()_set:
\name\()_start:
	mov	%fs:UNKNOWN, %r11d			/* rseq->cpu_id; negative: none */
\name\()_cpu:
	cmp	process_block(%rip), %r11d
	jae	.L\name\()_slow
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%r11d, %edx
	shl	$16, %edx
	add	$\meta, %edx
	imul	process_block+8(%rip), %r11		/* stride */
	lea	rings(%rip), %r10
	add	%r10, %r11
	mov	POS(%r11), %r10
	cmp	LIMIT(%r11), %r10
	jae	.L\name\()_slow
	and	process_block+16(%rip), %r10		/* mask */
	add	%r11, %r10
	mov	%rax, HEAD+0(%r10)			/* ticks */
	mov	32(%rsp), %rax
	mov	%rax, HEAD+8(%r10)			/* pc */
	mov	%fs:UNKNOWN, %eax
\name\()_tid:
	mov	%eax, HEAD+16(%r10)
	mov	%edx, HEAD+20(%r10)			/* kind, flags, core */
	lea	40(%rsp), %rax
	mov	%rax, HEAD+24(%r10)			/* sp */
	\name\()_values
	addq	$64, POS(%r11)				/* the commit */
\name\()_commit:
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret

	/* the kernel checks these four bytes before it continues at an abort address */
	.byte	0x0f, 0xb9, 0x3d			/* ud1, so that the bytes decode as one */
\name\()_signature:
	.long	SIGNATURE
\name\()_abort:
	jmp	.L\name\()_again

.L\name\()_slow:
	sub	$64, %rsp
	movl	$\meta, 20(%rsp)
	\name\()_values_slow
	call	slow_path
	jne	.L\name\()_again
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret

	.globl	\name\()_slow
\name\()_slow:						/* the hook of a process without rseq */
	push	%rax
	push	%rdx
	push	%r10
	push	%r11
1:	sub	$64, %rsp
	movl	$\meta | 0xffff0000, 20(%rsp)		/* core DT_SHARED_CORE: see dt_slow() */
	\name\()_values_slow
	call	slow_path
	jne	1b
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret
.endm

/* E: rdi rsi rdx rcx. rdx is at 16(%rsp) of the four pushed registers. */
.macro entry_values
	mov	%rdi, HEAD+32(%r10)
	mov	%rsi, HEAD+40(%r10)
	mov	16(%rsp), %rdx
	mov	%rdx, HEAD+48(%r10)
	mov	%rcx, HEAD+56(%r10)
.endm
.macro entry_values_slow
	mov	%rdi, 32(%rsp)
	mov	%rsi, 40(%rsp)
	mov	64+16(%rsp), %rdx
	mov	%rdx, 48(%rsp)
	mov	%rcx, 56(%rsp)
.endm
/* X: rax rdx xmm0 */
.macro exit_values
	mov	24(%rsp), %rax
	mov	%rax, HEAD+32(%r10)
	mov	16(%rsp), %rdx
	mov	%rdx, HEAD+40(%r10)
	movups	%xmm0, HEAD+48(%r10)
.endm
.macro exit_values_slow
	mov	64+24(%rsp), %rax
	mov	%rax, 32(%rsp)
	mov	64+16(%rsp), %rdx
	mov	%rdx, 40(%rsp)
	movups	%xmm0, 48(%rsp)
.endm

	hook	entry, 0x0445				/* 'E', 4 values */
	hook	exit, 0x0158				/* 'X', 1 value */

/*
 * Called by a hook with a half-filled record (kind, flags, values) and the four pushed registers
 * above it. Completes it and hands it to dt_slow(). Takes the record off the stack; returns with ZF
 * clear when the hook is to try again. Every register but rax, rdx, r10, r11 is kept.
 */
slow_path:
	pop	%rax					/* return address; the record is at (%rsp) */
	mov	64+32(%rsp), %rdx
	mov	%rdx, 8(%rsp)				/* pc */
	lea	64+40(%rsp), %rdx
	mov	%rdx, 24(%rsp)				/* sp */
	mov	%rsp, %rdx
	push	%rax
	call	call_c
	.long	dt_slow - .
	pop	%rdx					/* return address */
	lea	64(%rsp), %rsp
	test	%eax, %eax
	jmp	*%rdx

/*
 * Calls the C function whose offset stands behind the call instruction with rdx as its argument.
 * rax is its result; rdx, r10, r11 are lost; all other registers are kept. It aligns the stack.
 */
call_c:
	push	%rbp
	mov	%rsp, %rbp
	push	%rcx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	sub	$8, %rsp
	and	$-16, %rsp
	cld
	mov	8(%rbp), %r11
	movslq	(%r11), %r10
	add	%r11, %r10
	add	$4, %r11
	mov	%r11, 8(%rbp)
	mov	%rdx, %rdi
	call	*%r10
	lea	-40(%rbp), %rsp
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rcx
	pop	%rbp
	ret

/* The dynamic linker's _dl_debug_state, an empty function, jumps here. */
	.globl	modules
modules:
	push	%rax
	push	%rdx
	push	%r10
	push	%r11
	call	call_c
	.long	dt_modules_changed - .
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rax
	ret

/*
 * libc's execve and execveat jump here from their `mov $nr, %eax' (for execveat, from their start).
 * The kernel keeps everything but rax, rcx and r11; so does this.
 */
	.globl	execve
execve:
	push	%rdx
	push	%r10
	call	call_c
	.long	dt_before_exec - .
	pop	%r10
	pop	%rdx
	mov	$59, %eax
	syscall
	push	%rdx
	push	%r10
	push	%rax
	call	call_c
	.long	dt_after_exec - .
	pop	%rax
	pop	%r10
	pop	%rdx
	jmp	*execve_back(%rip)

	.globl	execveat
execveat:
	push	%rdx
	call	call_c
	.long	dt_before_exec - .
	pop	%rdx
	mov	%rcx, %r10
	mov	$322, %eax
	syscall
	push	%rdx
	push	%r10
	push	%rax
	call	call_c
	.long	dt_after_exec - .
	pop	%rax
	pop	%r10
	pop	%rdx
	jmp	*execveat_back(%rip)

/*
 * libc's vfork jumps here from its start. The child runs in its parent's memory and thread block,
 * but the kernel has taken its rseq registration away: an append by rseq would not be protected.
 * So the child marks the block as unregistered, and appends to the shared ring. The parent sleeps
 * meanwhile; when it runs again the kernel stores its core number anew, or, where a kernel
 * saves itself that store, dt_after_vfork() has it do so.
 */
	.globl	vfork
vfork:
	pop	%rdi
	mov	$58, %eax
	syscall
	push	%rdi
	test	%eax, %eax
	jne	1f
	movl	$-1, %fs:UNKNOWN
vfork_cpu1:
	jmp	*vfork_back(%rip)
1:	cmpl	$-1, %fs:UNKNOWN
vfork_cpu2:
	jne	2f
	push	%rax
	call	call_c
	.long	dt_after_vfork - .
	pop	%rax
2:	jmp	*vfork_back(%rip)

	.globl	code_end_asm
code_end_asm:
	.section .note.GNU-stack, "", @progbits
