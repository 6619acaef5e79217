/* SPDX-License-Identifier: MIT */
/*
 * Functions in which there is no room for a jump: it goes by way of the filler behind them, whose
 * last bytes, run by themselves, write to where rax points.
 */
	.text
	.macro filler
	.byte 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.endm

/* int NAME(int n): n plus what is left of it when 3 has been taken away until it is not positive; 12 bytes */
	.macro loops name
	.globl \name
	.type \name, @function
\name:
	mov %edi, %eax
1:	sub $3, %edi
	jg 1b
	jz 2f
	add %edi, %eax
2:	ret
	.size \name, .-\name
	.endm

/* A function that nobody calls, up to BEFORE bytes before a page begins */
	.macro up_to_page before
	.type to_page_\@, @function
to_page_\@:
	.skip 4096 - \before - (. - page) % 4096 - 1, 0x90
	ret
	.size to_page_\@, .-to_page_\@
	.endm

	.p2align 12
page:
	loops looped
	filler
	filler

/* int twice(int n): 2n, and one more when bit 3 of n is set */
	.globl twice
	.type twice, @function
twice:
	lea (%rdi, %rdi), %eax
	test $8, %edi
	jnz 1f
	ret
1:	inc %eax
	ret
	.size twice, .-twice
	filler
	filler

/* int sum(int n): 3n, and one more as above. Few bytes behind the calls, and no filler near: room is
 * made among other instructions */
	.p2align 9
	.type far_before, @function
far_before:
	.skip 160, 0xf8
	ret
	.size far_before, .-far_before
	.globl sum
	.type sum, @function
sum:
	push %rbp
	mov %rsp, %rbp
	sub $16, %rsp
	mov %edi, -4(%rbp)
	mov -4(%rbp), %esi
	mov %esi, %edi
	mov %edi, -8(%rbp)
	call added
	leave
	ret
	.size sum, .-sum
	.type added, @function
added:
	push %rsi
	mov %edi, %esi
	mov %esi, %edi
	call twice
	pop %rsi
	add %esi, %eax
	ret
	.size added, .-added
	.type far_behind, @function
far_behind:
	.skip 160, 0xf8
	ret
	.size far_behind, .-far_behind

/* The last bytes of a page, and what is written last: the way on is in the next one. */
	up_to_page 12
	loops page_ends
	filler
	filler

/* The first bytes of a page; the way on is in the one before. */
	up_to_page 20
	filler
	filler
	loops page_begins
	up_to_page 0

	.section .note.GNU-stack, "", @progbits
