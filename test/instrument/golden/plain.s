	.file	"plain.c"
	.text
	.globl	plain
	.type	plain, @function
plain:
.LFB0:
	.loc 1 3 1 view -0
	.cfi_startproc
	.loc 1 4 2 view .LVU1
	pushq	%rbx
	.cfi_def_cfa_offset 16
	je	.L2
	popq	%rbx
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	ret
.L2:
	.cfi_restore_state
	popq	%rbx
	rep ret
	.cfi_endproc
.LFE0:
	.size	plain, .-plain
	.section	.rodata
	.type	table, @object
	.size	table, 8
table:
	.quad	plain
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
