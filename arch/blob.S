/* SPDX-License-Identifier: MIT */
/* The blob's two images as data of the controller: see arch/area.h. */
	.section .rodata
	.balign	64
	.globl	dt_blob_image, dt_blob_image_end, dt_blob_other
dt_blob_image:
	.incbin	"blob.bin"
dt_blob_image_end:
	.balign	64
dt_blob_other:
	.incbin	"other.bin"
	.section .note.GNU-stack, "", @progbits
