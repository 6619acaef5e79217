	.file	"previous.c"
	.text
	.type	f, @function
f:
	ret
	.size	f, .-f
	.data
	.byte	1
	.previous
	.type	g, @function
g:
	ret
	.size	g, .-g
	.previous
	.type	d, @function
d:
	ret
	.size	d, .-d
	.previous
	.type	h, @function
h:
	ret
	.size	h, .-h
	.section	.text.other,"ax",@progbits
	.section	.rodata
	.previous
	.type	i, @function
i:
	ret
	.size	i, .-i
	.previous
	ret
	.pushsection .text
	.previous
	ret
	.popsection
	ret
	.previous
	.type	j, @function
j:
	ret
	.size	j, .-j
	.ident	"GCC: (Debian 12.2.0) 12.2.0"
