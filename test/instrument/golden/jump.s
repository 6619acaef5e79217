	.file	"jump.c"
	.text
	.globl	switched
	.type	switched, @function
switched:
	leaq	.L4(%rip), %rdx
	movslq	(%rdx,%rdi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
.L4:
	.long	.L3-.L4
	.long	.L5-.L4
	.text
.L3:
	jmp	*8(%rsi)
.L5:
	jmp	*f@GOTPCREL(%rip)
.L10:
	movq	16(%rdi), %rax
	movl	%esi, %edi
	jmp	*%rax
.L11:
	movq	8(%rdi,%rsi,8), %rax
	jmp	*%rax
.L12:
	movq	8(%rdi), %rax
	movl	$0, %eax
	jmp	*%rax
.L13:
	movq	8(%rdi), %r10
	addq	%rdx, %rax
	popq	%rbx
	jmp	*%r10
.L14:
	movq	8(%rdi), %r10
	call	f
	jmp	*%r10
	.size	switched, .-switched
	.globl	threaded
	.type	threaded, @function
threaded:
	jmp	*labels(,%rdi,8)
.L7:
	ret
	.size	threaded, .-threaded
	.data
labels:
	.quad	.L7
	.text
	.type	far, @function
far:
	movq	8(%rdi), %rdx
	movq	16(%rdi), %rsp
	jmp	*%rdx
	.size	far, .-far
	.type	array, @function
array:
	movq	%rbp, %rsp
	popq	%rbp
	jmp	*%rax
	.size	array, .-array
	.type	plain, @function
plain:
	.cfi_startproc
	testl	%edi, %edi
	je	.L9
	movq	(%rdi), %rax
	notrack jmp	*16(%rax)	# virtual
.L9:
	bnd jmp	*%r11
	.cfi_endproc
	.size	plain, .-plain
	.section	.debug_info,"",@progbits
	.quad	.L9
	.section	.gcc_except_table,"a",@progbits
	.uleb128 .L9-plain
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
