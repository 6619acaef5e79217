	.file	"sections.c"
	.text
	.section	.text._Z1fv,"axG",@progbits,_Z1fv,comdat
	.globl	_Z1fv
	.type	_Z1fv, @function
_Z1fv:
	ret
	.size	_Z1fv, .-_Z1fv
	.section	.text.notrace,"ax",@progbits
	.globl	quiet
	.type	quiet, @function
quiet:
	ret
	.size	quiet, .-quiet
	.section	mine,"ax",@progbits
	.globl	mine
	.type	mine, @function
mine:
	ret
	.text
	.globl	back
	.type	back, @function
back:
	ret
	.section	mine
	.globl	again
	.type	again, @function
again:
	ret
	.pushsection .text.pushed,"ax",@progbits
	.globl	pushed
	.type	pushed, @function
pushed:
	ret
	.popsection
	.globl	popped
	.type	popped, @function
popped:
	ret
	.section	.text._Z1gv,"axo",@progbits,x
	.globl	odd
	.type	odd, @function
odd:
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
