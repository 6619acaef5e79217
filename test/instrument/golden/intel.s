	.file	"intel.c"
	.text
	.intel_syntax noprefix
	.globl	intel
	.type	intel, @function
intel:
	mov	eax, edi
	jmp	rax
	jmp	r11
	jmp	[QWORD PTR f@GOTPCREL[rip]]
	je	other@PLT
	jmp	other
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
