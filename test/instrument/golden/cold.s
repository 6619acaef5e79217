	.file	"cold.c"
	.text
	.globl	hot
	.type	hot, @function
hot:
.LFB0:
	testl	%edi, %edi
	jne	.L3
	jmp	hot.cold
	je	hot.cold
	.section	.text.unlikely,"ax",@progbits
	.type	hot.cold, @function
hot.cold:
.LFSB0:
.L3:
	pushq	%rax
	jmp	.L4
	popq	%rax
	ret
	jmp	other
	.text
	.size	hot, .-hot
	.section	.text.unlikely
	.size	hot.cold, .-hot.cold
	.text
	.globl	next
	.type	next, @function
next:
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
