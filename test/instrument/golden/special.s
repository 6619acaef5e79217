	.file	"special.c"
	.text
	.globl	special
	.type	special, @function
special:
	cmpq	%fs:112, %rsp
	jae	.L8
	movl	$8, %r10d
	call	__morestack
	ret
.L8:
	call	other
	ret
	jmp	.LIND1
.LIND0:
	call	.LIND3
.LIND2:
	pause
	jmp	.LIND2
.LIND3:
	mov	%rax, (%rsp)
	ret
.LIND1:
	call	.LIND0
	ret
	ret	$8
	iretq
	.macro	M
	ret
	.endm
	rep	movsb
	repz; ret
	bnd ret
	retq
	rep stosb
	.size	special, .-special
	.globl	__x86_indirect_thunk_rax
	.type	__x86_indirect_thunk_rax, @function
__x86_indirect_thunk_rax:
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
