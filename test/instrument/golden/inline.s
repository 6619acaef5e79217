	.file	"inline.c"
	.text
	.globl	inl
	.type	inl, @function
inl:
#APP
# 3 "inline.c" 1
	nop
	ret
	jmp other
# 0 "" 2
#NO_APP
	movl	%eax, %ebx
#APP
	ret
#NO_APP
	ret
	.size	inl, .-inl
	.globl	naked
	.type	naked, @function
naked:
	.cfi_startproc
#APP
	popq %rax
	ret
#NO_APP
	nop
	ud2
	.cfi_endproc
	.size	naked, .-naked
	.globl	plainasm
	.type	plainasm, @function
plainasm:
#APP
	syscall
#NO_APP
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
