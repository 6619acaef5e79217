	.file	"crlf.c"
	.text
	.globl	crlf
	.type	crlf, @function
crlf:
	nop
	je	other@PLT
	ret
	.size	crlf, .-crlf
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
