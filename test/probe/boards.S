/* SPDX-License-Identifier: MIT */
/*
 * Functions in which there is no room for a jump: it goes by way of the filler behind them, whose
 * last bytes, run by themselves, write to where rax points.
 */
	.text
	.macro filler
	.byte 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.endm

/* int looped(int n): n plus what is left of it when 3 has been taken away until it is not positive */
	.globl looped
	.type looped, @function
looped:
	mov %edi, %eax
1:	sub $3, %edi
	jg 1b
	jz 2f
	add %edi, %eax
2:	ret
	.size looped, .-looped
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
	.section .note.GNU-stack, "", @progbits
