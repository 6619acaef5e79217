	.file	"hand.s"
	.text
	.type	f,@function
f:
	ret
