# SPDX-License-Identifier: MIT
# A program for `session --family': makes threads, children and other programs, as each letter on its standard input, or in
# its first argument, says. It waits for what it has made, so that all that is recorded comes in one order.
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

	.macro call_kernel number
	mov $\number, %eax
	syscall
	.endm

	function leaf			# leaf(n) = 2 n
	lea (%rdi, %rdi), %rax
	nopl 0(%rax)
	ret
	ends leaf

	function work			# work(n) = leaf(n) + leaf(n + 1)
	push %rbx
	push %r12
	mov %rdi, %rbx
	call leaf
	mov %rax, %r12
	lea 1(%rbx), %rdi
	call leaf
	add %r12, %rax
	pop %r12
	pop %rbx
	ret
	ends work

	function leave			# leave(status)
	call_kernel 60
	hlt
	ends leave

	function await			# await(pid): its status
	sub $24, %rsp
	lea 8(%rsp), %rsi
	xor %edx, %edx
	xor %r10d, %r10d
	call_kernel 61
	mov 8(%rsp), %eax
	add $24, %rsp
	ret
	ends await

	function child			# child(): forks one that works, and waits for it
	call_kernel 57
	test %eax, %eax
	je 1f
	mov %rax, %rdi
	sub $8, %rsp
	call await
	add $8, %rsp
	ret
1:	mov $20, %edi
	call work
	mov $3, %edi
	call leave
	ends child

	function grandchild		# one that forks itself
	call_kernel 57
	test %eax, %eax
	je 1f
	mov %rax, %rdi
	sub $8, %rsp
	call await
	add $8, %rsp
	ret
1:	call child
	mov $30, %edi
	call leaf
	xor %edi, %edi
	call leave
	ends grandchild

	function killed			# one that ends by a signal, in the middle of a call
	call_kernel 57
	test %eax, %eax
	je 1f
	mov %rax, %rdi
	sub $8, %rsp
	call await
	add $8, %rsp
	ret
1:	mov $40, %edi
	call work
	call_kernel 39
	mov %eax, %edi
	mov $9, %esi
	call_kernel 62
	hlt
	ends killed

	function another		# one that executes this program: it works, and ends
	call_kernel 57
	test %eax, %eax
	je 1f
	mov %rax, %rdi
	sub $8, %rsp
	call await
	add $8, %rsp
	ret
1:	mov $50, %edi
	call leaf
	lea self(%rip), %rdi
	lea arguments(%rip), %rsi
	xor %edx, %edx
	call_kernel 59
	mov $127, %edi
	call leave
	ends another

	function sharing		# one that shares its maker's memory and stack: as vfork
	pop %r12			# whose return address it would write over
	mov $0x4111, %edi		# CLONE_VM | CLONE_VFORK | SIGCHLD
	xor %esi, %esi
	xor %edx, %edx
	xor %r10d, %r10d
	xor %r8d, %r8d
	call_kernel 56
	push %r12
	test %eax, %eax
	je 1f
	mov %rax, %rdi
	call await
	ret
1:	mov $60, %edi
	call work
	mov $4, %edi
	call leave
	ends sharing

	function thread			# thread(): another one works; waits for its end
	movl $1, number(%rip)
	mov $0x350f00, %edi		# CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, PARENT_SETTID, CHILD_CLEARTID
	lea stack_end(%rip), %rsi
	lea other(%rip), %rdx
	lea number(%rip), %r10
	xor %r8d, %r8d
	call_kernel 56
	test %eax, %eax
	je 2f
1:	mov number(%rip), %edx
	test %edx, %edx
	je 3f
	lea number(%rip), %rdi
	xor %esi, %esi
	xor %r10d, %r10d
	call_kernel 202
	jmp 1b
2:	mov $70, %edi
	call work
	xor %edi, %edi
	call leave
3:	xor %eax, %eax			# whether it has waited or not
	xor %esi, %esi
	xor %ecx, %ecx
	ret
	ends thread

	function handler		# handler(signal)
	push %rdi
	mov $80, %edi
	call leaf
	pop %rdi
	ret
	ends handler

	function restorer
	call_kernel 15
	hlt
	ends restorer

	function signal			# a signal whose handler works
	sub $8, %rsp
	mov $23, %edi			# SIGURG
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	call_kernel 13
	call_kernel 39
	mov %eax, %edi
	mov $23, %esi
	call_kernel 62
	add $8, %rsp
	ret
	ends signal

	function obey			# obey(letter)
	push %rbx
	mov %rdi, %rbx
	sub $'a', %edi
	cmp $26, %edi
	jae 1f
	lea what(%rip), %rax
	mov (%rax, %rdi, 8), %rax
	test %rax, %rax
	je 1f
	mov $7, %edi
	call *%rax
1:	pop %rbx
	ret
	ends obey

	function _start
	mov 16(%rsp), %rbp		# the first argument
	cmpl $2, (%rsp)
	jae 3f
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
2:	xor %edi, %edi			# exit_group(0)
	call_kernel 231
	hlt
3:	movzbl (%rbp), %edi
	test %edi, %edi
	je 4f
	inc %rbp
	call obey
	jmp 3b
4:	mov $5, %edi
	call_kernel 231
	hlt
	ends _start

	.data
	.p2align 3
what:	.quad 0, 0, child, 0, 0, 0, grandchild, 0, 0, 0, killed, leaf, 0, another, 0, 0, 0, 0, signal, thread, 0, sharing, work, 0, 0, 0
action:	.quad handler, 0x4000000, restorer, 0
arguments: .quad self, letters, 0
self:	.asciz "/proc/self/exe"
letters: .asciz "lwt"
	.p2align 2
number:	.long 0
other:	.long 0
	.globl letter
	.type letter, @object
	.size letter, 1
letter:	.byte 0
	.bss
	.p2align 4
	.skip 65536
stack_end: .skip 16
	.section .note.GNU-stack, "", @progbits
