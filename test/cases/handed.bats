# SPDX-License-Identifier: MIT
# Functions that jump on with an address in the frame that they have given back: the program's own
# sum says whether a hook has overwritten what is there.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	cat >handed.S <<-'S'
		# Each makes eight words of its argument in its frame, and jumps on with the address: at once,
		# in a register that the compiler knows a function to keep, by way of another, by a branch,
		# and with the address in it from a loop.
		.macro fill to
			sub	$0x58, %rsp
			.cfi_adjust_cfa_offset 0x58
			mov	%rsp, \to
			xor	%ecx, %ecx
		77:	mov	%rdi, (%rsp, %rcx, 8)
			add	$3, %rdi
			inc	%ecx
			cmp	$8, %ecx
			jne	77b
		.endm
		.macro release
			add	$0x58, %rsp
			.cfi_adjust_cfa_offset -0x58
		.endm
		.macro begin name
			.text
			.balign	16
			.globl	\name
			.type	\name, @function
		\name:	.cfi_startproc
		.endm
		.macro end name
			.cfi_endproc
			.size	\name, . - \name
		.endm
		begin at_once
			fill	%rsi
			release
			jmp	taker
		end at_once
		begin kept
			fill	%r10
			call	leaf
			mov	%r10, %rsi
			release
			jmp	taker
		end kept
		begin by_way
			fill	%rsi
			release
			jmp	way
		end by_way
		begin by_branch
			fill	%rsi
			release
			test	%rsi, %rsi
			jne	taker
			ret
		end by_branch
		# hooked, all of these: what they hand on is not in their frames, or is not used
		begin argument
			sub	$8, %rsp
			.cfi_adjust_cfa_offset 8
			lea	16(%rsp), %rsi
			add	$8, %rsp
			.cfi_adjust_cfa_offset -8
			jmp	none
		end argument
		begin cleared
			fill	%rsi
			mov	$1, %esi
			release
			jmp	second
		end cleared
		begin unused
			fill	%rsi
			release
			jmp	none
		end unused
		begin way
			add	$0, %rdi
			jmp	taker
		end way
		begin leaf
			xor	%eax, %eax
			ret
		end leaf
		begin none
			mov	$5, %eax
			ret
		end none
		begin second
			mov	%rsi, %rax
			ret
		end second
		begin taker
			xor	%eax, %eax
			xor	%ecx, %ecx
		1:	add	(%rsi, %rcx, 8), %rax
			inc	%ecx
			cmp	$8, %ecx
			jne	1b
			ret
		end taker
		.section .note.GNU-stack, "", @progbits
	S
	# read only behind a jump backwards; by a function that calls itself first; behind twelve jumps
	{
		sed '/^begin at_once/,/^end taker/d; /note.GNU-stack/d' handed.S
		cat <<-'S'
			begin to_turned
				fill	%rsi
				release
				jmp	turned
			end to_turned
			begin turned
				jmp	2f
			1:	add	(%rsi, %rcx, 8), %rax
				inc	%ecx
				cmp	$8, %ecx
				jne	1b
				ret
			2:	xor	%eax, %eax
				xor	%ecx, %ecx
				jmp	1b
			end turned
			begin to_itself
				fill	%rsi
				release
				jmp	itself
			end to_itself
			begin itself
				test	%rsi, %rsi
				je	3f
				jmp	turned
			3:	call	itself
				ret
			end itself
			begin to_deep
				fill	%rsi
				release
				jmp	deep1
			end to_deep
			.macro deep from to
			begin deep\from
				add	$0, %rdi
				jmp	\to
			end deep\from
			.endm
			deep 1 deep2
			deep 2 deep3
			deep 3 deep4
			deep 4 deep5
			deep 5 deep6
			deep 6 deep7
			deep 7 deep8
			deep 8 deep9
			deep 9 deep10
			deep 10 deep11
			deep 11 deep12
			deep 12 turned
			.section .note.GNU-stack, "", @progbits
		S
	} >loops.S
	cat >loops.c <<-'C'
		#include <stdio.h>
		unsigned long to_turned(unsigned long), to_itself(unsigned long), to_deep(unsigned long);
		int main(void)
		{
			unsigned long sum[3] = {0};
			for (unsigned long i = 0; i < 1000; i++) {
				sum[0] += to_turned(i);
				sum[1] += to_itself(i);
				sum[2] += to_deep(i);
			}
			for (int i = 0; i < 3; i++)
				printf("%lu\n", sum[i]);
			return 0;
		}
	C
	gcc -O2 -o loops loops.c loops.S
	cat >main.c <<-'C'
		#include <stdio.h>
		unsigned long at_once(unsigned long), kept(unsigned long), by_way(unsigned long);
		unsigned long by_branch(unsigned long), argument(unsigned long), cleared(unsigned long);
		unsigned long unused(unsigned long);
		int main(void)
		{
			unsigned long sum[7] = {0};
			for (unsigned long i = 0; i < 1000; i++) {
				sum[0] += at_once(i);
				sum[1] += kept(i);
				sum[2] += by_way(i);
				sum[3] += by_branch(i);
				sum[4] += argument(i);
				sum[5] += cleared(i);
				sum[6] += unused(i);
			}
			for (int i = 0; i < 7; i++)
				printf("%lu\n", sum[i]);
			return 0;
		}
	C
	gcc -O2 -o handed main.c handed.S
	./handed >alone
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir" || return
}

@test "handed: what is below the stack pointer stays" {
	[ "$(xargs <alone)" = "4080000 4080000 4080000 4080000 5000 1000 5000" ]
	for policy in wait overwrite; do
		"$dt" record -p $policy -o t.db -F 'handed:*' ./handed >traced 2>err
		diff alone traced
	done
	# one at a time
	for f in at_once kept by_way by_branch taker way; do
		"$dt" record -o t.db -F main -F $f ./handed >traced 2>err
		diff alone traced
	done
}

@test "handed: what is not hooked is named, with the reason; all else is hooked" {
	"$dt" record -v -o t.db -F 'handed:*' ./handed >traced 2>err
	grep -q '6 not: at_once, kept, by_way, by_branch, way, taker' err
	"$dt" list -v handed >list
	for f in at_once kept by_way by_branch; do
		grep -q "$f.*it jumps on with an address in its own frame" list || { cat list; false; }
	done
	for f in taker way; do
		grep -q "$f.*it is jumped to with an address in a frame" list || { cat list; false; }
	done
	[ "$("$dt" sql -n t.db "SELECT function, count(*) FROM records WHERE kind = 'E' AND function <> 'main' GROUP BY 1 ORDER BY 1" | xargs)" = "argument 1000 cleared 1000 leaf 1000 none 2000 second 1000 unused 1000" ]
}

@test "handed: a use is found behind a jump backwards, a call of itself, twelve jumps" {
	[ "$(./loops | xargs)" = "4080000 4080000 4080000" ]
	"$dt" record -o t.db -F 'loops:*' ./loops >traced 2>err
	[ "$(xargs <traced)" = "4080000 4080000 4080000" ]
	for f in turned itself deep1 deep7 deep12; do
		"$dt" record -o t.db -F main -F $f ./loops >traced 2>err || true
		[ "$(xargs <traced)" = "4080000 4080000 4080000" ]
	done
	"$dt" list -v loops >list
	for f in to_turned to_itself to_deep; do
		grep -q "$f.*it jumps on with an address in its own frame" list || { cat list; false; }
	done
	for f in turned itself deep1 deep12; do
		grep -q "$f.*it is jumped to with an address in a frame" list || { cat list; false; }
	done
}
