	.file	"entry.c"
	.text
	.globl	loop
	.type	loop, @function
loop:
.LVL0:
.L2:
	decl	%edi
	jne	.L2
	ret
	.size	loop, .-loop
	.globl	cet
	.type	cet, @function
cet:
	endbr64
.LVL1:
	ret
	.size	cet, .-cet
	.globl	patch
	.type	patch, @function
patch:
.LFB7:
	.section	__patchable_function_entries,"awo",@progbits,.LPFE1
	.align 8
	.quad	.LPFE1
	.text
.LPFE1:
	nop
	nop
	movl	%edi, %eax
	ret
	.size	patch, .-patch
	.globl	fentry
	.type	fentry, @function
fentry:
.LFB8:
1:	call	__fentry__
	.section __mcount_loc, "a",@progbits
	.quad 1b
	.previous
	ret
	.size	fentry, .-fentry
	.globl	empty
	.type	empty, @function
empty:
	.globl	last
	.type	last, @function
last:
	.p2align 4
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
