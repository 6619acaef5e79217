# SPDX-License-Identifier: MIT
# Functions at the edges: of the code, of tables, of filler. Some are only led to by pointers, some by what follows a call that
# does not come back. Linked in several ways, and without symbols, by test/golden/commands.
	.text
	.macro function name align=16
	.balign \align, 0x90
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro ends name
	.size \name, . - \name
	.endm

	function first			# at the first byte; only a pointer leads there
	lea 1(%rdi), %rax
	mov %rax, %rdx
	ret
	ends first

	.balign 16, 0			# behind zeros
	function zeros
	mov %rdi, %rax
	call stops			# nothing comes back: zeros follow
	ends zeros
	.balign 32, 0

	function behind_zeros
	mov $2, %eax
	nopl 0(%rax)
	ret
	ends behind_zeros

	function stops			# it never returns
	mov $231, %eax
	xor %edi, %edi
	syscall
	hlt
	ends stops

	function switch			# a table of distances, which lies in the code behind it
	cmp $5, %edi
	ja 9f
	lea 8f(%rip), %rdx
	movslq (%rdx, %rdi, 4), %rax
	add %rdx, %rax
	jmp *%rax
1:	mov $1, %eax
	ret
2:	mov $2, %eax
	ret
3:	call behind_zeros
9:	xor %eax, %eax
	ret
	.balign 4
8:	.long 1b - 8b, 2b - 8b, 3b - 8b, 9b - 8b, 1b - 8b, 2b - 8b
	ends switch

	function table			# a table of addresses, in other data
	cmp $3, %rdi
	jae 9f
	lea addresses(%rip), %rdx
	jmp *(%rdx, %rdi, 8)
.Lone:	mov $1, %eax
	ret
.Ltwo:	mov $2, %eax
	nop
9:	xor %eax, %eax
.Lthree: ret
	ends table

	function shared_end		# jumps into the next one's end
	test %rdi, %rdi
	je into
	lea 7(%rdi), %rax
	ret
	ends shared_end
	function has_end
	push %rbx
	mov %rdi, %rbx
	call behind_zeros
	mov %rbx, %rax
	pop %rbx
into:	mov $3, %ecx
	ret
	ends has_end

	function tail 1			# not aligned: behind the one before
	add $4, %rdi
	jmp has_end
	ends tail

	function cold_caller		# its cold part is elsewhere
	test %edi, %edi
	jne cold_part
1:	lea 5(%rdi), %eax
	ret
	ends cold_caller

	function loops			# it jumps to its own beginning
	dec %rdi
	jne loops
	mov %rdi, %rax
	ret
	ends loops

	function aligns			# its frame is aligned anew
	push %rbp
	mov %rsp, %rbp
	and $-32, %rsp
	sub $64, %rsp
	mov %rdi, (%rsp)
	call behind_zeros
	add (%rsp), %rax
	leave
	ret
	ends aligns

	function takes			# the address of another one
	lea pointed(%rip), %rax
	mov %rax, kept(%rip)
	ret
	ends takes

	.hidden pointed
	function pointed
	mov %edi, %eax
	shl $2, %eax
	ret
	ends pointed

	function short_one		# shorter than a jump
	ret
	ends short_one
	function short_two 1
	xor %eax, %eax
	ret
	ends short_two

	function prefixed		# bytes that are seldom met
	endbr64
	data16 lea 3(%rdi), %rax
	rep ret
	ends prefixed

	.globl _start
	function _start
	xor %ebp, %ebp
	mov (%rsp), %rdi
	call zeros
	call switch
	call table
	call shared_end
	call tail
	call cold_caller
	call loops
	call aligns
	call takes
	call short_one
	call short_two
	call prefixed
	call last
	mov pointers(%rip), %rax
	call *%rax
	call stops
	ends _start

	.balign 16, 0xcc
cold_part:
	mov $9, %eax
	jmp cold_caller

	function last			# at the last byte of the code
	mov $1, %eax
	jmp behind_zeros
	ends last

	.section .data.rel.ro, "aw"
	.balign 8
pointers: .quad first, pointed, switch + 2, last
addresses: .quad .Lone, .Ltwo, .Lthree
	.data
	.balign 8
	.quad 0, first - 1, first
	.skip 600
	.quad pointed, prefixed
kept:	.quad 0
	.section .note.GNU-stack, "", @progbits
