	.file	"tail.c"
	.text
	.globl	tail
	.type	tail, @function
tail:
	testl	%edi, %edi
	je	other@PLT
	jg	tail
	jle	.L5
	jmp	local
.L5:
	jmp	*%rax
	jmp	*table(,%rdi,8)
	notrack jmp	*%rax
	jmp	*f@GOTPCREL(%rip)
	jmp	__x86_return_thunk
	jmp	__x86_indirect_thunk_rax
	jmp	tail+4
	jmp	1f
	jrcxz	other
	jne,pt	other
	jmpq	other	# comment
	.size	tail, .-tail
	.globl	unseen
	.type	unseen, @function
unseen:
	testl	%edi, %edi
	notrack jmp	*.L6(,%rdx,8)
.L7:
	.section	.rodata
.L6:
	.quad	.L7
	.text
	.size	unseen, .-unseen
	.globl	seen
	.type	seen, @function
seen:
	testl	%edi, %edi
	jmp	seen
	.size	seen, .-seen
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
