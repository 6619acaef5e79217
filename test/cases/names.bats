#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names of functions for which a file has no symbol: from its code, and from other files.
load devtrace

setup() {
	dir=$(mktemp -d)
	cd "$dir"
}

teardown() {
	check_traces
	rm -rf "$dir"
	cd /
}

# address FILE SYMBOL: as nm has it, 0x1139
address() {
	nm "$1" | awk -v name="$2" '$3 == name { sub(/^0*/, "", $1); print "0x" $1 }'
}

@test "names: _start and main of a stripped program, however it is linked" {
	cat >two.c <<-'C'
		#include <stdlib.h>
		__attribute__((noinline, noipa)) static int twice(int n) { return 2 * n; }
		int main(int argc, char **argv) { return twice(atoi(argv[1])) + 2; }
	C
	local options name main start
	for options in "-O2" "-O0 -no-pie" "-O2 -static" "-O2 -static-pie" "-O1 -fcf-protection=none" "-O2 -Wl,-z,now -fno-plt" \
		"-O2 -fno-asynchronous-unwind-tables" "-O2 -no-pie -fno-asynchronous-unwind-tables" "-O0 -fcf-protection -Wl,-z,lazy"; do
		name="two ${options// /}"
		gcc $options -o "$name" two.c
		main=$(address "$name" main) start=$(address "$name" _start)
		strip "$name"
		"$dt" list -v "$name" >list
		[ "$(awk -F'\t' -v f="$name" '$1 == f ":main" { print $2 } ' list)" = "$main" ] || { echo "$name"; false; }
		[ "$(awk -F'\t' -v f="$name" '$1 == f ":_start" { print $2 } ' list)" = "$start" ]
		grep -q '	.*start-up code: chosen by its exact name only' list
		# main is hooked, also if no table says where it ends; _start is no part of everything
		run "$dt" record -o t.db -F '*' "./$name" 20
		[ "$status" = 42 ]
		[ "$("$dt" sql -n t.db "SELECT group_concat(result) FROM calls WHERE function = 'main'")" = 42 ] || { echo "$name"; false; }
		[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = '_start'")" = 0 ]
		run "$dt" record -o t.db -F _start "./$name" 20
		[ "$("$dt" sql -n t.db "SELECT group_concat(DISTINCT function) FROM calls")" = _start ]
	done
	# an address inside of main is in main, and what follows main is not
	gcc -O0 -o two two.c
	main=$(address two main)
	strip two
	run "$dt" record -o t.db -T "main+4" ./two 1
	"$dt" sql -n t.db "SELECT DISTINCT event FROM events" | grep -x 'main+4'
	"$dt" list two | grep -c '^two+0x'
}

@test "names: what only looks like _start gives main no name" {
	cat >like.S <<-'S'
		.globl like
		.text
		like:
			xor %ebp, %ebp
			mov %rdx, %r9
			pop %rsi
			mov %rsp, %rdx
			and $-16, %rsp
			push %rax
			push %rsp
			xor %r8d, %r8d
			xor %ecx, %ecx
			lea TARGET(%rip), %rdi
			call *CALLED@GOTPCREL(%rip)
			hlt
			.fill 8, 1, 0xcc
			.cfi_startproc
		work:	xor %eax, %eax
		inside:	ret
			.cfi_endproc
			.section .note.GNU-stack
	S
	link() {
		gcc -c -DTARGET="$1" -DCALLED="$2" -o like.o like.S
		gcc -nostartfiles -Wl,-e,like,-z,norelro,--no-relax -o "like-$1-$2" like.o
		strip "like-$1-$2"
		"$dt" list -v "like-$1-$2" 2>&1 | grep -cE ':(main|_start)' || true
	}
	[ "$(link work __libc_start_main)" = 2 ]
	[ "$(link work atexit)" = 0 ]
	[ "$(link inside __libc_start_main)" = 0 ]
	[ "$(link environ __libc_start_main)" = 0 ]
}
