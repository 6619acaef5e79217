/* SPDX-License-Identifier: MIT */
/*
 * Functions as no compiler makes them, each the answer to a question that the planner must get
 * right. test/unit/test-plan.c knows what it should make of each; test/probe/odd.c calls them.
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

/* long enough for anything */
	.p2align 4
	function plain
	mov	%rdi, %rax
	add	$1000, %rax
	ret
	end	plain

/* one byte, and no room: the next one begins behind it */
	.p2align 4
	function one_byte
	ret
	end	one_byte
	function two_bytes
	nop
	ret
	end	two_bytes

/* one byte, and filler behind */
	.p2align 4
	function one_byte_padded
	ret
	end	one_byte_padded
	.p2align 4

/* the loop's head is the function's first instruction */
	.p2align 4
	function loop_to_entry
	dec	%edi
	lea	3(%rsi), %rsi
	test	%edi, %edi
	jg	loop_to_entry
	mov	%rsi, %rax
	ret
	end	loop_to_entry
	.p2align 4

/* the same, and the branch must be moved along with the exit behind it */
	function loop_moved
	dec	%edi
	lea	7(%rsi), %rsi
	mov	%rsi, %rax
	test	%edi, %edi
	jg	loop_moved
	ret
	end	loop_moved
	function behind_loop_moved
	mov	$8, %eax
	ret
	end	behind_loop_moved
	.p2align 4

/* the branch far from everything else */
	function far_loop_to_entry
	dec	%edi
	lea	5(%rsi), %rsi
	test	%edi, %edi
	jle	1f
	.rept 40
	lea	1(%rsi), %rsi
	.endr
	jmp	far_loop_to_entry
1:	mov	%rsi, %rax
	nopw	0x100(%rax)
	ret
	end	far_loop_to_entry
	.p2align 4

/* two bytes in, there is a target: room for a short jump only */
	function target_inside
	xor	%eax, %eax
1:	inc	%eax
	.rept 20
	lea	(%rax,%rdi), %rax
	.endr
	cmp	%esi, %eax
	jl	1b
	ret
	end	target_inside
	.p2align 4

/* an exit that branches from everywhere share, with little in front */
	function shared_exit
	mov	%rdi, %rax
	test	%rdi, %rdi
	js	1f
	.rept 30
	lea	1(%rax), %rax
	.endr
	cmp	$77, %rsi
	je	1f
	.rept 40
	lea	2(%rax), %rax
	.endr
	imul	%rsi, %rax
1:	ret
	end	shared_exit
/* so that there is nothing behind it */
	function behind_shared_exit
	mov	$5, %eax
	ret
	end	behind_shared_exit

/* the same, with short branches that need a springboard each */
	.p2align 6, 0xcc
	function shared_exit_short
	mov	%rdi, %rax
	test	%rdi, %rdi
	js	1f
	.rept 20
	lea	1(%rax), %rax
	.endr
	imul	%rsi, %rax
1:	ret
	end	shared_exit_short
	function behind_shared_exit_short
	mov	$6, %eax
	ret
	end	behind_shared_exit_short

/* blocks that are only jumped to, too small for a jump */
	.p2align 4
	function cold_exits
	test	%rdi, %rdi
	js	1f
	jz	2f
	.rept 40
	lea	1(%rdi), %rdi
	.endr
	mov	%rdi, %rax
	ret
1:	or	$-1, %eax
	ret
2:	xor	%eax, %eax
	ret
	end	cold_exits
	function behind_cold_exits
	mov	$7, %eax
	ret
	end	behind_cold_exits

/* conditional tail calls */
	.p2align 4
	function branches_out
	test	%rdi, %rdi
	jz	plain
	cmp	$3, %rdi
	jb	plain
	lea	7(%rdi), %rax
	ret
	end	branches_out
	.p2align 4

/* a jump over a prefix: two instructions share bytes, and end together */
	function skips_lock
	lea	-8(%rsp), %rax
	mov	%rdi, (%rax)
	cmp	$0, %esi
	je	1f
	.byte	0xf0 /* lock */
1:	incq	(%rax)
	mov	(%rax), %rax
	ret
	end	skips_lock
	.p2align 4

/* the same where the instruction has no other prefix */
	function skips_lock_alone
	lea	-8(%rsp), %rax
	mov	%rdi, (%rax)
	cmp	$0, %esi
	je	1f
	.byte	0xf0 /* lock */
1:	incl	(%rax)
	mov	(%rax), %rax
	ret
	end	skips_lock_alone
	.p2align 4

/* jrcxz and loop at the entry; a call that is moved; a call for the address */
	function counts_down
	mov	%rsi, %rcx
	jrcxz	2f
1:	inc	%rdi
	loop	1b
2:	mov	%rdi, %rax
	ret
	end	counts_down
	.p2align 4
	function calls_first
	call	plain
	lea	1(%rax), %rax
	ret
	end	calls_first
	.p2align 4
	function asks_address
	call	1f
1:	pop	%rax
	lea	-5(%rax), %rax
	ret
	end	asks_address
	.p2align 4

/* endbr64 stays in its place */
	function has_endbr
	endbr64
	mov	%rdi, %rax
	add	$77, %rax
	ret
	end	has_endbr
	.p2align 4

/* the flags are the result */
	function flags_result
	cmp	%rsi, %rdi
	nopl	0x100(%rax)
	ret
	end	flags_result
	.p2align 4
	function uses_flags
	xor	%eax, %eax
	call	flags_result
	seta	%al
	ret
	end	uses_flags
	.p2align 4

/* the red zone is in use at the exit's neighbours */
	function red_zone
	mov	%rdi, -8(%rsp)
	mov	%rsi, -16(%rsp)
	mov	-8(%rsp), %rax
	sub	-16(%rsp), %rax
	ret
	end	red_zone
	.p2align 4

/* pops its argument */
	function pops
	mov	8(%rsp), %rax
	add	%rdi, %rax
	ret	$8
	end	pops
	.p2align 4

/* a constant behind the return, which could be taken for returns */
	function reads_itself
	mov	1f(%rip), %eax
	ret
1:	.byte	0xc3, 0x90, 0x90, 0xc3
	end	reads_itself
	.p2align 4

/*
 * Exits of two bytes that others jump or return to, with the next function right behind them and no
 * filler near: room for the jump is made of other instructions.
 */
	.macro far_from_filler name
	function \name
	.rept 40
	lea	1(%rdi), %rdi
	.endr
	mov	%rdi, %rax
	ret
	end	\name
	.endm
	.macro frame /* eight bytes */
	push	%rbp
	mov	%rsp, %rbp
	sub	$16, %rsp
	.endm

	.p2align 9
	far_from_filler before_rooms
/* in front of the call, which stays where it is */
	function returns_to_two
	frame
	mov	%rdi, -8(%rbp)
	mov	-8(%rbp), %rdi
	lea	1(%rdi), %rdi
	call	plain
	leave
	ret
	end	returns_to_two
/* with the call */
	function moves_call
	frame
	mov	$5, %edi
	call	plain
	leave
	ret
	end	moves_call
/* with all there is */
	function moves_entry
	frame
	call	plain
	leave
	ret
	end	moves_entry
/* what is in front runs into it */
	function runs_into_two
	frame
	mov	%rdi, %rax
	test	%rdi, %rdi
	js	1f
	.rept 14
	lea	1(%rax), %rax
	.endr
1:	leave
	ret
	end	runs_into_two
/* the way there is too short */
	function room_elsewhere
	frame
	mov	%rdi, %rax
	test	%rdi, %rdi
	js	1f
	.rept 14
	lea	2(%rax), %rax
	.endr
	jmp	2f
1:	xor	$1, %eax
2:	leave
	ret
	end	room_elsewhere
	far_from_filler behind_rooms

/* The room would be in another page: whoever is killed between the two would leave half of it. */
	.p2align 12
	.rept (4096 - 15) / 4
	lea	1(%rdi), %rdi
	.endr
	.byte	0x0f, 0x1f, 0
	function across_page
	frame
	call	plain
	leave
	ret
	end	across_page
	far_from_filler behind_across

	.p2align 4
/* --- refused */

/* the same, but nobody knows how much of it is read */
	function takes_itself
	lea	1f(%rip), %rax
	mov	(%rax,%rdi), %eax
	ret
1:	.byte	0xc3, 0x90, 0x90, 0xc3, 0xc3, 0x90, 0x90, 0xc3
	end	takes_itself
	.p2align 4

	function traps
	ud2
	end	traps
	.p2align 4
	function has_data
	jmp	1f
	.byte	0x06, 0x07, 0x0e
1:	mov	$1, %eax
	ret
	end	has_data
	.p2align 4
	function overlaps
	mov	$1, %eax
	jmp	1f + 2
1:	mov	$0x90c3, %ecx
	ret
	end	overlaps
	.p2align 4
	function far_return
	lretq
	end	far_return
	.p2align 4

	.section .note.GNU-stack, "", @progbits
