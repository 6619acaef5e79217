	.text
	.file	"clang.c"
                                        # Start of file scope inline assembly
	.type	raw,@function
raw:
	ret
                                        # End of file scope inline assembly
	.globl	f                               # -- Begin function f
	.p2align	4, 0x90
	.type	f,@function
f:                                      # @f
.Lf$local:
	.type	.Lf$local,@function
.Lfunc_begin0:
	.loc	1 3 0                           # t.c:3:0
	.cfi_startproc
# %bb.0:
	#DEBUG_VALUE: f:x <- $edi
	.loc	1 3 18 prologue_end             # t.c:3:18
	testl	%edi, %edi
	je	.Lf$local                       # TAILCALL
	jmp	.Lprivate                       # TAILCALL
.Ltmp6:
	jmp	.LBB0_3
	.p2align	4, 0x90
.LBB0_3:
	#APP
	ret
	#NO_APP
	retq
.Lfunc_end0:
	.size	f, .Lfunc_end0-f
	.cfi_endproc
                                        # -- End function
	.type	x,@function
x:
	.cfi_startproc
	.p2align	1, 0x90
.Lxray_sled_0:
	.ascii	"\353\t"
	nopw	512(%rax,%rax)
	incl	%eax
	.p2align	1, 0x90
.Lxray_sled_1:
	retq
	nopw	%cs:512(%rax,%rax)
.Lfunc_end1:
	.size	x, .Lfunc_end1-x
	.type	f.cold.1,@function
f.cold.1:
	retq
.Lfunc_end2:
	.size	f.cold.1, .Lfunc_end2-f.cold.1
	.ident	"clang version 14.0.6"
	.section	".note.GNU-stack","",@progbits
	.addrsig
