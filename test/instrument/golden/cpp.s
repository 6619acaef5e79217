# 0 "hand.S"
# 1 "<built-in>"
	.file	"x.c"
	.text
	.type	f, @function
f:
	ret
	.ident	"GCC: (GNU) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
