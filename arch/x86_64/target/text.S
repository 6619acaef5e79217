/* SPDX-License-Identifier: MIT */
/*
 * Called by points to read the next 32 bytes of a text or stream at rax, to rdi, rsi, rdx and rcx. r9: the
 * bytes that it has at most, from there on; r8: DT_TEXT_... (arch/text.h). rax becomes
 * the address at which the text goes on; 0: it has ended; r8 and r9 what they are there. The carry
 * flag is set if not one byte can be read. All other registers are kept.
 *
 * What most pieces are is read here: the function is sure to read them, their page was there, and 32
 * bytes of that are left. All else is left to target/text.c, which would give the same of these.
 */
#include "arch/area.h"
#include "arch/text.h"

#define PIECE	  32
#define PAGE_BITS 12
#define FLAGS	  80			/* from %rsp, behind two pushes: what the point's code has saved */
#define ALIGNMENT 0x40000		/* in these: unaligned words may not be read */
#define USER_END  (0x800000000000 >> (PAGE_BITS + DT_SEEN_BITS))	/* DT_USER_END */

	.section .rodata
	.balign	64
cut:	.fill	PIECE, 1, 0xff		/* from n bytes before its end on: keeps the first n bytes */
cut_end:
	.fill	PIECE, 1, 0
low:	.fill	8, 1, 0x01
high:	.fill	8, 1, 0x80

	.text

/* Keeps the first n bytes of these words; r11 changes. */
.macro keep_first n, words:vararg
	lea	cut_end(%rip), %r11
	sub	\n, %r11
	.set	word_at, 0
	.irp	word, \words
	and	word_at(%r11), \word
	.set	word_at, word_at + 8
	.endr
.endm

/* Goes to `found' if the word has a NUL, the first of which is the lowest bit in r11. r10: -low. */
.macro find_nul word, found
	lea	(\word, %r10), %r11
	or	\word, %r11
	xor	\word, %r11		/* (word - low) & ~word */
	and	high(%rip), %r11
	jne	\found
.endm

/* Cuts the word off behind the bit in r11. */
.macro cut_word word
	lea	-1(%r11), %r10
	xor	%r11, %r10
	and	%r10, \word
.endm

	.globl	text
text:
	push	%r10
	push	%r11
	mov	%r8d, %r11d
	and	$DT_TEXT_SURE | DT_TEXT_BAD | DT_TEXT_STREAM | DT_TEXT_STACK, %r11d
	dec	%r11d
	cmp	$DT_TEXT_ALL, %r11d
	jae	in_c			/* neither DT_TEXT_FIRST nor DT_TEXT_ALL alone */
	testl	$ALIGNMENT, FLAGS(%rsp)
	jne	in_c
	test	%r9, %r9
	je	in_c
	mov	%eax, %r11d
	and	$(1 << PAGE_BITS) - 1, %r11d
	cmp	$(1 << PAGE_BITS) - PIECE, %r11d
	ja	in_c
	mov	%rax, %r10		/* as was_there() in target/text.c */
	shr	$PAGE_BITS, %r10
	mov	%r10d, %r11d
	and	$DT_SEEN - 1, %r11d
	shr	$DT_SEEN_BITS, %r10
	cmp	$USER_END, %r10
	jae	in_c
	bts	$31, %r10d
	cmp	%r10d, seen_pages(, %r11, 4)
	jne	in_c
	test	$DT_TEXT_HEAD, %r8b
	jne	head
	mov	(%rax), %rdi
	mov	8(%rax), %rsi
	mov	16(%rax), %rdx
	mov	24(%rax), %rcx
	test	$DT_TEXT_BUFFER, %r8b
	jne	buffer
	cmp	$PIECE, %r9
	jae	1f
	keep_first %r9, %rdi, %rsi, %rdx, %rcx
1:	mov	low(%rip), %r10
	neg	%r10
	find_nul %rdi, 2f
	find_nul %rsi, 3f
	find_nul %rdx, 4f
	find_nul %rcx, 5f
	sub	$PIECE, %r9
	lea	PIECE(%rax), %rax
	jne	goes_on
	test	$DT_TEXT_BOUND, %r8b
	jne	goes_on
	jmp	ended
2:	cut_word %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%ecx, %ecx
	jmp	ended
3:	cut_word %rsi
	xor	%edx, %edx
	xor	%ecx, %ecx
	jmp	ended
4:	cut_word %rdx
	xor	%ecx, %ecx
	jmp	ended
5:	cut_word %rcx
ended:	xor	%eax, %eax
	pop	%r11
	pop	%r10
	ret				/* the carry flag is clear here and below */

goes_on:
	or	$DT_TEXT_LONG, %r8d
	test	$(1 << PAGE_BITS) - 1, %eax
	jne	1f
	test	$DT_TEXT_FIRST, %r8b
	je	1f
	or	$DT_TEXT_ASK, %r8d
1:	pop	%r11
	pop	%r10
	ret

head:	mov	(%rax), %rsi
	mov	8(%rax), %rdx
	mov	16(%rax), %rcx
	mov	$PIECE - 8, %r10d
	cmp	%r10, %r9
	cmovb	%r9, %r10
	keep_first %r10, %rsi, %rdx, %rcx
	mov	%r8, %rdi
	shr	$DT_TEXT_LENGTH, %rdi
	mov	$-1, %r11d
	cmp	%r11, %rdi
	cmova	%r11, %rdi
	shl	$32, %rdi
	or	%r9, %rdi
	and	$~DT_TEXT_HEAD, %r8
	jmp	1f
buffer:	mov	$PIECE, %r10d
	cmp	%r10, %r9
	cmovb	%r9, %r10
	keep_first %r10, %rdi, %rsi, %rdx, %rcx
1:	add	%r10, %rax
	sub	%r10, %r9
	je	ended
	jmp	goes_on

in_c:	push	%r8			/* struct text, from its end on */
	push	%r9
	push	%rax
	lea	-32(%rsp), %rsp
	mov	%rsp, %rdx
	lea	dt_piece(%rip), %r10
	call	call_c
	bt	$31, %eax		/* carry: negative */
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	pop	%r9
	pop	%r8
	pop	%r11
	pop	%r10
	ret

	.section .note.GNU-stack, "", @progbits
