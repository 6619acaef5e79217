/* SPDX-License-Identifier: MIT */
/*
 * Functions that change nothing at all: no register, no flag. What a hook changes shows behind them.
 * They are such that each way of hooking an exit, and an entry, is needed for one of them; kept.c
 * calls them, and test/cases/kept.bats knows the ways.
 */
	.text

	.macro function name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm
	.macro long_way count=1
	.rept \count
	lea	0x1000(%rax), %rax
	lea	-0x1000(%rax), %rax
	.endr
	.endm
	.macro far_from_filler name
	function \name
	long_way 12
	ret
	end	\name
	.endm

	.p2align 4
	function by_jump
	long_way
	ret
	end	by_jump
	function by_jump_after
	long_way
	ret
	end	by_jump_after
	.p2align 4

/* the exit is branched to, and has filler behind it */
	function padded
	long_way
	js	1f
	long_way 20
1:	ret
	end	padded
	.p2align 4

/* the same without filler: who branches there is sent to a copy */
	function shared
	long_way
	js	1f
	long_way 20
1:	ret
	end	shared
	function behind_shared
	long_way
	ret
	end	behind_shared
	.p2align 4

/* two bytes that are returned to, with filler near */
	function short_way
	push	%rax
	call	by_jump
	pop	%rax
	ret
	end	short_way
	function behind_short_way
	long_way
	ret
	end	behind_short_way
	.p2align 5, 0xcc

/* the entry has two bytes, then something jumps there */
	function short_entry
	push	%rcx
	push	%rax
1:	lea	-1(%rcx), %rcx
	jrcxz	2f
	mov	$1, %ecx
	jmp	1b
2:	pop	%rax
	pop	%rcx
	ret
	end	short_entry
	.p2align 5, 0xcc

/* no filler near: room is made among other instructions */
	.p2align 9, 0xcc
	far_from_filler before_rooms
	function inner
	push	%rbp
	mov	%rsp, %rbp
	lea	-16(%rsp), %rsp
	mov	%rdi, -8(%rbp)
	mov	-8(%rbp), %rdi
	call	by_jump
	leave
	ret
	end	inner
	function inner_elsewhere
	push	%rbp
	mov	%rsp, %rbp
	lea	-16(%rsp), %rsp
	js	1f
	long_way 4
	jmp	2f
1:	xchg	%rax, %rdi
	xchg	%rax, %rdi
2:	leave
	ret
	end	inner_elsewhere
	far_from_filler behind_rooms
	.p2align 4

/* leaves by jumps to others */
	function tail
	long_way
	jmp	by_jump
	end	tail
	function tails_if
	long_way
	jc	by_jump
	jz	by_jump
	jo	by_jump
	long_way
	ret
	end	tails_if
	.p2align 4
	function tails_by_pointer
	long_way
	jmp	*pointer(%rip)
	end	tails_by_pointer
	.p2align 4

	function has_endbr
	endbr64
	long_way
	ret
	end	has_endbr
	.p2align 4

/* its argument is pushed by who calls it */
	function calls_popper
	push	%rax
	call	popper
	ret
	end	calls_popper
	.p2align 4
	function popper
	long_way
	ret	$8
	end	popper
	.p2align 4

/* calls, loops to itself */
	function nested
	push	%rcx
	mov	$3, %ecx
1:	call	by_jump_after
	loop	1b
	pop	%rcx
	ret
	end	nested
	.p2align 4

/*
 * Two bytes that are returned to: a jump's distance begins in them, and ends in the instruction behind,
 * of which three bytes say that it is some 90 MB
 */
	.p2align 9, 0xcc
	far_from_filler before_punned
	function punned
	push	%rax
	long_way
	js	1f
	call	by_jump
	pop	%rax
	ret
1:	lea	pointer(%rip), %rax
	long_way
	pop	%rax
	ret
	end	punned
	far_from_filler behind_punned

/*
 * void around(void): calls kept_function with all that kept_in and kept_area hold, notes in kept_out
 * and kept_area_out what there is behind the call.
 */
	.p2align 4
	function around
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, stack(%rip)
	mov	$0xe7, %eax			/* x87, SSE, AVX, AVX-512; what the processor has of it */
	xor	%edx, %edx
	mov	kept_area(%rip), %rcx
	xrstor64 (%rcx)
	.macro each_register what
	\what	%rbx, 8
	\what	%rcx, 16
	\what	%rdx, 24
	\what	%rsi, 32
	\what	%rdi, 40
	\what	%rbp, 48
	\what	%r8, 56
	\what	%r9, 64
	\what	%r10, 72
	\what	%r11, 80
	\what	%r12, 88
	\what	%r13, 96
	\what	%r14, 104
	\what	%r15, 112
	.endm
	.macro load register, offset
	mov	kept_in+\offset(%rip), \register
	.endm
	.macro store register, offset
	mov	\register, kept_out+\offset(%rip)
	.endm
	each_register load
	push	kept_in+120(%rip)
	mov	kept_in(%rip), %rax
	popfq
	call	*kept_function(%rip)
	mov	%rax, kept_out(%rip)
	pushfq
	pop	kept_out+120(%rip)
	push	$0x202
	popfq
	each_register store
	mov	%rsp, kept_out+128(%rip)
	mov	$0xe7, %eax
	xor	%edx, %edx
	mov	kept_area_out(%rip), %rcx
	xsave64	(%rcx)
	fninit
	ldmxcsr	usual(%rip)
	mov	stack(%rip), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	end	around

	.data
	.p2align 3
pointer:
	.quad	by_jump
usual:
	.long	0x1f80
	.bss
	.p2align 3
stack:	.quad	0

	.section .note.GNU-stack, "", @progbits
