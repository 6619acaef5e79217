#!/bin/bash
# SPDX-License-Identifier: MIT
# Debuggers and unwinders see a program with sleds as they see it without: line numbers, call
# frames, breakpoints, backtraces with the sleds on, and C++ exceptions.
. "$(dirname "$0")/lib.sh"
tools

cat >lines.c <<'C'
#include <stdio.h>
int depth;
__attribute__((noinline)) int bottom(int x)
{
	depth = x;
	return x + 1;
}
__attribute__((noinline)) int middle(int x)
{
	int y = bottom(x + 2);
	return y * 3;
}
__attribute__((noinline)) int tail(int x)
{
	if (x > 100)
		return 5;
	return middle(x + 1);
}
int main(int argc, char **argv)
{
	int r = middle(argc) + tail(argc);
	printf("%d\n", r);
	return 0;
}
C

# The source line of every instruction, without the sleds (test is the first instruction of a
# function then) and without padding
source_lines() {
	objdump -dl --no-show-raw-insn "$1" | awk -v sleds="$2" '
		/^[0-9a-f]+ <.*>:/ { first = sleds }
		/^[^ ]*lines\.c:[0-9]+/ { sub(/.*lines\.c:/, ""); line = $1 + 0 }
		/^ *[0-9a-f]+:/ && line && !/nop|data16|\tcs|xchg +%ax,%ax/ {
			if (first && $2 == "test") { first = 0; next }
			if ($2 != "endbr64") first = 0
			if (/__devtrace_exit/) { skip = 1; next }
			if (skip) { skip = 0; next }
			print line, $2
		}
		/^$/ { line = 0 }'
}
plain() {
	case $1 in
	clang*) "$1" -fno-integrated-as "${@:2}" ;;
	*) "$@" ;;
	esac
}
same_lines() {
	plain "$@" lines.c -o plain && cc "$@" lines.c -o with && source_lines plain 0 >plain.lines &&
		source_lines with 1 >with.lines && [ "$(wc -l <plain.lines)" -gt 20 ] &&
		diff plain.lines with.lines
}
for c in gcc clang; do
	for f in -O0 -Og -O2; do
		ok "$c -g $f: every instruction keeps its line" same_lines $c -g $f
	done
done
ok "gcc -g -gdwarf-4 -O2: every instruction keeps its line" same_lines gcc -gdwarf-4 -O2

# What gdb prints, without addresses
session() {
	local program=$1
	shift
	gdb -nx -batch -ex 'set startup-with-shell off' -ex 'set debuginfod enabled off' \
		-ex "set env LD_PRELOAD $tmp/harness.so" "$@" "./$program" 2>&1 |
		sed -E 's/0x[0-9a-f]+ in //; s/0x[0-9a-f]+/ADDR/g; s/process [0-9]+/process/'
}
# sessions MODES COMPILER FLAGS...: the same session with a program without sleds and with sleds
sessions() {
	local modes=$1 compiler=$2 flags=$3 mode
	shift 3
	plain "$compiler" -g $flags lines.c -o plain && cc "$compiler" -g $flags lines.c -o with &&
		session plain "$@" >plain.out && grep -q 'exited normally' plain.out || return 1
	for mode in $modes; do
		session with -ex "set env SLEDS $mode" "$@" >with.out
		diff plain.out with.out || return 1
	done
}
# stops in the innermost of three calls and goes out again, one of them by a tail jump
walk=(-ex 'break lines.c:6' -ex run -ex bt -ex 'p depth' -ex finish -ex bt -ex continue -ex bt
	-ex up -ex delete -ex continue)
steps=(-ex 'break lines.c:21' -ex run -ex step -ex step -ex step -ex next -ex next -ex bt -ex next
	-ex next -ex next -ex step -ex delete -ex continue)
functions=(-ex 'break middle' -ex 'break tail' -ex run -ex bt -ex 'p x' -ex next -ex continue -ex bt
	-ex next -ex delete -ex continue)
over=(-ex 'break lines.c:21' -ex run -ex next -ex next -ex bt -ex delete -ex continue)
for c in gcc clang; do
	for f in -O0 -O2; do
		ok "$c $f: gdb walks out of calls" sessions 'off on' $c $f "${walk[@]}"
		ok "$c $f: gdb steps over calls" sessions 'off on' $c $f "${over[@]}"
		# gdb 13 looks for "push %rbp" at the function's first instruction: doc/sleds.md
		[ $f = -O0 ] && continue
		ok "$c $f: gdb steps into calls" sessions off $c $f "${steps[@]}"
		ok "$c $f: gdb stops at functions" sessions 'off on' $c $f "${functions[@]}"
	done
done

cat >unwind.cc <<'C'
#include <cstdio>
#include <execinfo.h>
#include <unwind.h>
__attribute__((noinline)) int frames()
{
	void *at[16];
	return backtrace(at, 16);
}
__attribute__((noinline)) int one(int x) { return frames() + x; }
__attribute__((noinline)) int two(int x) { return one(x) * 2; }
struct Big {
	int n;
	~Big() { std::printf("~%d\n", n); }
};
__attribute__((noinline)) void thrower(int n)
{
	Big b{n};
	if (n == 0)
		throw 7;
	thrower(n - 1);
}
int main()
{
	int n = frames(), m = two(0) / 2;
	std::printf("%d\n", m - n);
	try {
		thrower(3);
	} catch (int i) {
		std::printf("caught %d\n", i);
	}
}
C
unwinds() {
	printf '2\n~0\n~1\n~2\n~3\ncaught 7\n' >expected
	cc "$@" unwind.cc -o with && ./with | diff expected - &&
		SLEDS=on LD_PRELOAD=$tmp/harness.so ./with | diff expected -
}
ok "gcc: backtrace() and exceptions" unwinds g++ -O2
ok "clang: backtrace() and exceptions" unwinds clang++ -O2
ok "gcc -O0: backtrace() and exceptions" unwinds g++ -O0
plan
