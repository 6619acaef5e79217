/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/trial.h"

void dt_trial_call(uint64_t hook, const struct dt_trial_registers *in,
		   struct dt_trial_registers *out)
{
	__asm__ volatile("push %%rbp\n\t"
			 "push %%rbx\n\t"
			 "sub $128, %%rsp\n\t" /* our own red zone */
			 "push %%rdi\n\t"      /* out */
			 "push %%rax\n\t"      /* hook */
			 "mov %%rsi, %%rax\n\t"
			 "mov 8(%%rax), %%rbx\n\t"
			 "mov 16(%%rax), %%rcx\n\t"
			 "mov 24(%%rax), %%rdx\n\t"
			 "mov 32(%%rax), %%rsi\n\t"
			 "mov 40(%%rax), %%rdi\n\t"
			 "mov 48(%%rax), %%rbp\n\t"
			 "mov 56(%%rax), %%r8\n\t"
			 "mov 64(%%rax), %%r9\n\t"
			 "mov 72(%%rax), %%r10\n\t"
			 "mov 80(%%rax), %%r11\n\t"
			 "mov 88(%%rax), %%r12\n\t"
			 "mov 96(%%rax), %%r13\n\t"
			 "mov 104(%%rax), %%r14\n\t"
			 "mov 112(%%rax), %%r15\n\t"
			 "mov (%%rax), %%rax\n\t"
			 "call *(%%rsp)\n\t"
			 "mov %%rax, (%%rsp)\n\t"
			 "mov 8(%%rsp), %%rax\n\t"
			 "pop (%%rax)\n\t"
			 "mov %%rbx, 8(%%rax)\n\t"
			 "mov %%rcx, 16(%%rax)\n\t"
			 "mov %%rdx, 24(%%rax)\n\t"
			 "mov %%rsi, 32(%%rax)\n\t"
			 "mov %%rdi, 40(%%rax)\n\t"
			 "mov %%rbp, 48(%%rax)\n\t"
			 "mov %%r8, 56(%%rax)\n\t"
			 "mov %%r9, 64(%%rax)\n\t"
			 "mov %%r10, 72(%%rax)\n\t"
			 "mov %%r11, 80(%%rax)\n\t"
			 "mov %%r12, 88(%%rax)\n\t"
			 "mov %%r13, 96(%%rax)\n\t"
			 "mov %%r14, 104(%%rax)\n\t"
			 "mov %%r15, 112(%%rax)\n\t"
			 "add $136, %%rsp\n\t"
			 "pop %%rbx\n\t"
			 "pop %%rbp\n\t"
			 : "+a"(hook), "+S"(in), "+D"(out)
			 :
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
			   "memory", "cc");
}

void dt_trial_event(uint64_t hook, uint64_t body, uint64_t more)
{
	uint64_t rsi = more, rcx = ~more, rdx = more + 1;

	__asm__ volatile("lea -256(%%rsp), %%rsp\n\t"
			 "call *%%rax\n\t"
			 ".byte 0xa9\n\t"
			 ".long 0x0456\n\t"
			 "lea 256(%%rsp), %%rsp\n\t"
			 : "+a"(hook), "+D"(body), "+S"(rsi), "+c"(rcx), "+d"(rdx)
			 :
			 : "memory", "cc");
}
