/* SPDX-License-Identifier: MIT */
/* The BPF programs as data of the controller; nothing where they could not be compiled. */
	.section .rodata
	.balign	64
	.globl	dt_bpf_image, dt_bpf_image_size
dt_bpf_image:
#ifdef DT_HAS_BPF
	.incbin	"record.bpf.o"
#endif
end:
	.balign	8
dt_bpf_image_size:
	.quad	end - dt_bpf_image
	.section .note.GNU-stack, "", @progbits
