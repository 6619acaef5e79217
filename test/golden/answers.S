# SPDX-License-Identifier: MIT
# A program for `session': does what each letter on its standard input says, and then waits for the next one. All calls have
# the arguments that are here, and it is linked at the same addresses each time.
	.text
	.macro function name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	endbr64
	.endm
	.macro ends name
	.size \name, . - \name
	.endm

	function leaf			# leaf(n, 2, 3, 4) = 2 n
	lea (%rdi, %rdi), %rax
	nopl 0(%rax)
	ret
	ends leaf

	function minus			# minus(n) = -1
	mov $-1, %eax
	nopl 0(%rax)
	ret
	ends minus

	function twice			# calls leaf for n and n + 1
	push %rbx
	mov %rdi, %rbx
	mov $2, %esi
	mov $3, %edx
	mov $4, %ecx
	call leaf
	lea 1(%rbx), %rdi
	call leaf
	pop %rbx
	ret
	ends twice

	function down			# down(n) = down(n - 1) + 1
	push %rbx
	mov %rdi, %rbx
	xor %eax, %eax
	test %rdi, %rdi
	je 1f
	lea -1(%rdi), %rdi
	call down
	inc %rax
1:	pop %rbx
	ret
	ends down

	function jumps			# jumps(n) is leaf(n + 100)
	add $100, %rdi
	nopl 0(%rax)
	jmp leaf
	ends jumps

	function many			# leaf for 100 to 1
	push %rbx
	mov $100, %ebx
1:	mov %rbx, %rdi
	mov $2, %esi
	mov $3, %edx
	mov $4, %ecx
	call leaf
	dec %ebx
	jne 1b
	pop %rbx
	ret
	ends many

	function obey			# obey(letter)
	push %rbx
	mov %rdi, %rbx
	mov %edi, %eax
	xor %esi, %esi
	xor %edx, %edx
	xor %ecx, %ecx
	mov $7, %edi
	cmp $'l', %eax
	je 1f
	cmp $'m', %eax
	je 2f
	cmp $'t', %eax
	je 3f
	cmp $'d', %eax
	je 4f
	cmp $'j', %eax
	je 5f
	cmp $'M', %eax
	je 6f
	pop %rbx
	ret
1:	call leaf
	pop %rbx
	ret
2:	call minus
	pop %rbx
	ret
3:	call twice
	pop %rbx
	ret
4:	mov $3, %edi
	call down
	pop %rbx
	ret
5:	call jumps
	pop %rbx
	ret
6:	call many
	pop %rbx
	ret
	ends obey

	function _start
1:	xor %eax, %eax			# read(0, letter, 1)
	xor %edi, %edi
	lea letter(%rip), %rsi
	mov $1, %edx
	syscall
	cmp $1, %rax
	jne 2f
	movzbl letter(%rip), %edi
	call obey
	jmp 1b
2:	mov $231, %eax			# exit_group(0)
	xor %edi, %edi
	syscall
	hlt
	ends _start

	.data
	.globl letter
	.type letter, @object
	.size letter, 1
letter:	.byte 0
	.section .note.GNU-stack, "", @progbits
