#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Calls that end in a tail call: a result and a full time belong to the call that was made, in every
# command that shows calls.
load read-helper

# build COMPILER OUT [FLAG]...: tail calls that are direct, in a chain, on a condition, in a circle
build() {
	cat >tail.c <<-'C'
		#include <stdlib.h>
		#include <time.h>
		#define FN __attribute__((noinline, noclone))
		#define KEEP __asm__ volatile("" ::: "memory")
		static int sum;
		FN int slow(int x)
		{
			nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
			sum += x;
			return x * 3;
		}
		FN int middle(int x) { KEEP; return slow(x + 1); }
		FN int first(int x) { KEEP; return middle(x + 1); }
		FN int either(int x) { KEEP; if (x & 1) return slow(x); KEEP; return x; }
		FN int pong(int n, int s);
		FN int ping(int n, int s) { KEEP; if (n <= 0) return s; return pong(n - 1, s + n); }
		FN int pong(int n, int s) { KEEP; if (n <= 0) return -s; return ping(n - 1, s ^ n); }
		FN int outside(const char *text) { KEEP; return abs(atoi(text)) > 3 ? atoi(text) : 0; }
		FN int quick(int x) { KEEP; sum ^= x; return x; }
		int main(int argc, char **argv)
		{
			int n = first(100) + either(2) + either(3) + quick(1) + outside("17") + quick(2);
			return (n + ping(argc > 1 ? atoi(argv[1]) : 5, 0) + sum) & 0;
		}
	C
	"$1" -O2 -g -w "${@:3}" -o "$2" tail.c
}

# each_way COMMAND...: by probes and with sleds, as two compilers make it; the trace is t.db
each_way() {
	local compiler
	for compiler in gcc clang; do
		build $compiler probed
		devtrace record -F 'probed:*' -N '_*' -N '*_tm_clones' -N frame_dummy -o t.db ./probed
		"$@" "$compiler, probes"
		if [ $compiler = gcc ]; then
			build gcc sleds "-B$build/lib"
		else
			build clang sleds -fno-integrated-as "-B$build/lib"
		fi
		devtrace record -o t.db ./sleds
		"$@" "$compiler, sleds"
	done
}

ask() {
	devtrace sql -n -c t.db "$1" | tr -d '\r'
}

tree() {
	echo "# $1"
	devtrace calls -F first -F middle -F slow -F either -F quick -F ping -F pong t.db >out
	sed -n '/first/,$p' out | sed 's/^.\{16\}//; s/^ *[0-9.]* us *//' >got
	diff -u - got <<'TEXT'
first(x=100) {
  middle(x=101) {  /* tail-called */
    slow(x=102) = 306  /* tail-called */
  } = 306  /* middle: tail call */
} = 306  /* first: tail call */
either(x=2) = 2
either(x=3) {
  slow(x=3) = 9  /* tail-called */
} = 9  /* either: tail call */
quick(x=1) = 1
quick(x=2) = 2
ping(n=5, s=0) {
  pong(n=4, s=5) {  /* tail-called */
    ping(n=3, s=1) {  /* tail-called */
      pong(n=2, s=4) {  /* tail-called */
        ping(n=1, s=6) {  /* tail-called */
          pong(n=0, s=7) = -7  /* tail-called */
        } = -7  /* ping: tail call */
      } = -7  /* pong: tail call */
    } = -7  /* ping: tail call */
  } = -7  /* pong: tail call */
} = -7  /* ping: tail call */
TEXT
}

@test "tail calls: calls shows what was called in what called it, with result and time" {
	each_way tree
}

agree() {
	echo "# $1"
	# each that ended so ended with what it called, and has its result
	[ "$(ask "SELECT count(*), sum(a.end_ticks = b.end_ticks), sum(a.result = b.result), sum(abs(a.duration - a.self - b.duration) < 2)
		FROM calls a JOIN calls b ON b.parent = a.id WHERE a.ended = 'tail'")" = 8,8,8,8 ]
	[ "$(ask "SELECT min(duration) >= 3000000, count(*) FROM calls WHERE function IN ('first', 'middle', 'slow')")" = 1,4 ]
	# the true callers
	devtrace graph -m 0 t.db >out
	grep -q 's  ├─ first$' out
	grep -A1 'first$' out | grep -q 'middle$'
	grep -A1 'middle$' out | grep -q 'slow$'
	grep -A1 'either$' out | grep -q 'slow$'
	# report, from the same: total and calls
	devtrace report --json t.db | python3 -c '
import json, sys
for f in map(json.loads, sys.stdin):
    if "function" in f: print(f["function"], f["calls"], f["tail"], f["timed"], "%.0f" % f["self_ns"])' | grep -v '^_' | sort >report
	ask "SELECT function, count(*), sum(ended = 'tail'), sum(timed), printf('%.0f', sum(self)) FROM calls GROUP BY 1 ORDER BY 1" | tr , ' ' | grep -v '^_' | sort >sql
	# self times are rounded otherwise
	diff -u <(cut -d' ' -f1-4 sql) <(cut -d' ' -f1-4 report)
	paste -d' ' sql report | awk '{ d = $5 - $10; if (d < -1 || d > 1) exit 1 }'
	grep -q '^middle 1 1 1 ' report
	# the exports, and the flame graph's stacks
	devtrace export --csv t.db -o calls.csv
	[ "$(grep -c ',tail,' calls.csv)" = 8 ]
	devtrace export --folded t.db -o folded
	grep -q 'main;first;middle;slow ' folded
	grep -q 'main;either;slow ' folded
	# the innermost may have begun and ended at one reading of the clock: stacks without time are left out
	grep -q 'main;ping;pong;ping;pong;ping[; ]' folded
}

@test "tail calls: sql, graph, report and the exports say the same" {
	each_way agree
}

@test "tail calls: a circle of three million turns takes no memory" {
	local turns=3000000
	# what it takes there says nothing
	case ${DEVTRACE_BUILD-} in */san) turns=100000 ;; esac
	build gcc probed
	devtrace record -F 'probed:ping' -F 'probed:pong' -o t.db ./probed $turns
	( ldd "$build/devtrace" | grep -q libasan || ulimit -v 400000; devtrace report --json t.db >report ) # a sanitizer reserves terabytes
	python3 - $turns <<-'P'
		import json, sys
		turns = int(sys.argv[1])
		f = {x["function"]: x for x in map(json.loads, open("report")) if "function" in x}
		assert f["ping"]["calls"] + f["pong"]["calls"] == turns + 1, f
		# all but the last one end in a tail call
		assert f["ping"]["tail"] + f["pong"]["tail"] == turns, f
		assert f["ping"]["self_ns"] + f["pong"]["self_ns"] <= f["ping"]["total_ns"] * 1.01, f
	P
	# the first are held open, one in the other, until the end, those behind end with their jump
	[ "$(ask "SELECT max(depth), sum(flags & 512 != 0), sum(ended = 'tail') FROM calls")" = "16,$((turns - 16)),$turns" ]
}

@test "of a function whose entries alone are recorded calls have no time" {
	cat >alone.c <<-'C'
		#include <time.h>
		#define FN __attribute__((noinline, noclone))
		FN int bar(int x) { __asm__ volatile(""); return x; }
		FN int baz(int x) { __asm__ volatile(""); return x + 1; }
		int main(void)
		{
			int n = 0;
			for (int i = 0; i < 5; i++) {
				n += bar(i);
				nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
				n += baz(i);
			}
			return n & 0;
		}
	C
	gcc -O2 -g -o alone alone.c
	devtrace record -T 'alone:bar ENTRY' -F 'alone:baz' -F 'alone:main' -o t.db ./alone
	devtrace report t.db >out
	grep -qE '^ +- +- +5 +- +- +- +- +-  bar  \(5 without exits\)$' out
	grep -qE ' 5 .* baz$' out
	devtrace calls t.db >out
	[ "$(grep -cE '^ +bar\(x=[0-4]\)  /\* exits are not recorded \*/$' out)" = 5 ]
	[ "$(ask "SELECT count(*), count(duration), count(\"end\"), sum(timed) FROM calls WHERE function = 'bar'")" = 5,0,0,0 ]
	# its caller keeps the time
	[ "$(ask "SELECT self > 5000000 FROM calls WHERE function = 'main'")" = 1 ]
	devtrace graph -m 0 t.db >out
	grep -qE ' - +- +- +5 +-  .* bar  \(5 of unknown time\)$' out
	[ "$(devtrace export --csv t.db | grep -c ',unseen,')" = 5 ]
}

@test "a call that jumps through a register is no caller of what comes later" {
	cat >jumps.c <<-'C'
		#include <stdlib.h>
		#include <time.h>
		#define FN __attribute__((noinline, noclone))
		struct four { long a, b, c, d; };
		static int hidden(int x) { __asm__ volatile(""); return x + 1; }
		int (*volatile to)(int) = hidden;
		FN int through(int x) { return to(x); }
		/* its arguments are on the stack: it begins below where the call before did */
		FN long late(int a, int b, int c, int d, int e, int f, struct four g, struct four h)
		{
			nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
			return a + b + c + d + e + f + g.a + h.d;
		}
		FN int plain(int x) { __asm__ volatile(""); return x; }
		int main(void)
		{
			long n = 0;
			for (int i = 0; i < 3; i++) {
				struct four f = {i, i, i, i};
				n += through(i);
				n += late(i, i, i, i, i, i, f, f);
				n += plain(i);
			}
			return n & 0;
		}
	C
	for compiler in gcc clang; do
		$compiler -O2 -g -o jumps jumps.c
		devtrace record -F 'jumps:main' -F through -F late -F plain -o t.db ./jumps
		ask "SELECT DISTINCT c.function, p.function, c.ended FROM calls c LEFT JOIN calls p ON c.parent = p.id ORDER BY 1" >got
		diff -u - got <<-'TEXT'
		late,main,returned
		main,,returned
		plain,main,returned
		through,main,tail
		TEXT
		# its time is that to its jump, which is said, and so is that it may have made the next
		[ "$(ask "SELECT max(duration) < 1000000, min(flags & 512), count(*) FROM calls WHERE function = 'through'")" = 1,512,3 ]
		[ "$(ask "SELECT min(flags & 1024), count(*) FROM calls WHERE function = 'late'")" = 1024,3 ]
		devtrace calls t.db >out
		[ "$(grep -c 'through(x=[0-2])  /\* tail call: time to its jump \*/' out)" = 3 ]
	done
}

# jumps OUT COMPILER [FLAG]...: tail calls through registers and memory of every kind
jumps() {
	cat >jumps.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#define FN __attribute__((noinline, noclone))
		#define KEEP __asm__ volatile("" ::: "memory")
		typedef int fn(int);
		FN int slow(int x) { nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); return x * 3; }
		FN int quick(int x) { KEEP; return x + 7; }
		FN int neg(int x) { KEEP; return -x; }
		struct ops { long a; fn *f[3]; } ops = {1, {slow, quick, neg}}, *volatile po = &ops;
		fn *volatile hook = quick;
		FN int by_register(int x, fn *f) { KEEP; return f(x); }
		FN int by_memory(int x, struct ops *o) { KEEP; return o->f[1](x); }
		FN int by_table(int x, struct ops *o, int i) { KEEP; return o->f[i](x); }
		FN int by_global(int x) { KEEP; return po->f[2](x); }
		FN int by_hook(int x) { KEEP; return hook(x); }
		FN int outside(const char *s, int (*f)(const char *)) { KEEP; return f(s); }
		FN int chosen(int x, int y)
		{
			switch (x) {
			case 0: return y * 3;
			case 1: return y - 1;
			case 2: return y * y;
			case 3: return po->f[1](y);
			case 4: return y / 3;
			case 5: return neg(y);
			case 6: return y + 6;
			}
			return 0;
		}
		/* a loop that comes to the same jump and the same target again and again */
		FN int again(int x, fn *f) { KEEP; return f(x); }
		int main(void)
		{
			int n = by_register(5, slow) + by_register(6, quick) + by_memory(1, po);
			for (int i = 0; i < 3; i++) n += by_table(10 + i, po, i);
			n += by_global(3) + by_hook(4) + outside("17", atoi) + quick(99);
			for (int i = 0; i < 7; i++) n += chosen(i, 40 + i);
			for (int i = 0; i < 1000; i++) n += again(i, i % 3 ? quick : neg) + quick(i);
			printf("%d\n", n);
			return 0;
		}
	C
	"$2" -O2 -g -w "${@:3}" -o "$1" jumps.c
}

jumps_known() {
	local f
	echo "# $1"
	devtrace calls -N main -N _start t.db >out
	sed -e '/^#/d; s/^ *[0-9.]* us *//; s/^ *//' -e 's/, [of]=0x[0-9a-f]* <[a-z]*>//' out | sed '/^again/,$d' >got
	cat >want <<-'TEXT'
		by_register(x=5) {
		slow(x=5) = 15  /* tail-called */
		} = 15  /* by_register: tail call */
		by_register(x=6) {
		quick(x=6) = 13  /* tail-called */
		} = 13  /* by_register: tail call */
		by_memory(x=1) {
		quick(x=1) = 8  /* tail-called */
		} = 8  /* by_memory: tail call */
		by_table(x=10, i=0) {
		slow(x=10) = 30  /* tail-called */
		} = 30  /* by_table: tail call */
		by_table(x=11, i=1) {
		quick(x=11) = 18  /* tail-called */
		} = 18  /* by_table: tail call */
		by_table(x=12, i=2) {
		neg(x=12) = -12  /* tail-called */
		} = -12  /* by_table: tail call */
		by_global(x=3) {
		neg(x=3) = -3  /* tail-called */
		} = -3  /* by_global: tail call */
		by_hook(x=4) {
		quick(x=4) = 11  /* tail-called */
		} = 11  /* by_hook: tail call */
	TEXT
	diff -u want <(head -n 24 got)
	# where what was jumped to is not recorded, its result is not known, and it is said
	[[ $(sed -n 25p got) == "outside("*"/* tail call: time to its jump */" ]]
	[[ $(sed -n 26p got) == "quick(x=99) = 106  /* perhaps called from the tail call before it */" ]]
	# jumps of a switch are none
	[ "$(ask "SELECT count(*), sum(ended = 'returned'), sum(ended = 'tail') FROM calls WHERE function = 'chosen'")" = 7,5,2 ]
	# as many of each as there were, each with its caller and its result
	[ "$(ask "CREATE TEMP TABLE c AS SELECT id, parent, function, result FROM calls; CREATE INDEX temp.i ON c(id);
		SELECT sum(a.function = 'neg' AND b.function = 'again'),
			sum(a.function = 'neg' AND b.function = 'again' AND a.result = b.result),
			sum(a.function = 'quick' AND b.function = 'again'),
			sum(a.function = 'quick' AND b.function = 'again' AND a.result = b.result),
			sum(a.function = 'quick' AND b.function = 'main') FROM c a JOIN c b ON a.parent = b.id")" = 334,334,666,666,1001 ]
	devtrace check t.db
}

@test "tail calls through registers and memory have the result and the time of what they led to" {
	local compiler
	for compiler in gcc clang; do
		jumps probed $compiler
		[ "$(devtrace record -F 'probed:*' -o t.db ./probed)" = "$(./probed)" ]
		jumps_known "$compiler, probes"
		for f in "" -fno-plt -fcf-protection -fno-pic\ -no-pie; do
			# shellcheck disable=SC2086
			if [ $compiler = gcc ]; then
				jumps sleds gcc "-B$build/lib" $f
			else
				jumps sleds clang -fno-integrated-as "-B$build/lib" $f
			fi
			[ "$(devtrace record -o t.db ./sleds)" = "$(./sleds)" ]
			jumps_known "$compiler, sleds $f"
		done
	done
}

@test "tail calls through the table of addresses, also where the linker makes them direct" {
	cat >one.c <<-'C'
		int far(int x) { return x * 3; }
		int left(const char *s, int n) { int far(int); return n ? far(n) : *s; }
	C
	cat >two.c <<-'C'
		#include <stdlib.h>
		int left(const char *s, int n);
		int number(const char *s) { return atoi(s); }
		int both(const char *s, int n) { return n & 1 ? left(s, n) : atoi(s); }
		int main(int argc, char **argv) { return number("17") + left(argv[0], argc + 4) + both("5", 1) + both("5", 2) - 40; }
	C
	gcc -O2 -g -fno-plt -fno-inline -fPIC -fno-ipa-icf "-B$build/lib" -c one.c
	gcc -O2 -g -fno-plt -fno-inline -fPIC -fno-ipa-icf "-B$build/lib" -c two.c
	gcc -o linked one.o two.o
	# both kinds are there: the linker's and the table's
	objdump -d linked >code
	[ "$(grep -c 'jmp  *\*0x.*GLIBC' code)" -ge 4 ]
	grep -A1 'jmp .*<left>' code | grep -q nop
	devtrace record -F 'linked:*' -F libc.so.6:atoi -o t.db ./linked
	devtrace calls -N main t.db | sed -e '/^#/d; s/^ *[0-9.]* us *//; s/^ *//; s/0x[0-9a-f]*/P/' >got
	cat >want <<-'TEXT'
		number(s=P) {
		atoi(nptr=P) = 17  /* tail-called */
		} = 17  /* number: tail call */
		left(s=P, n=5) {
		far(x=5) = 15  /* tail-called */
		} = 15  /* left: tail call */
		both(s=P, n=1) {
		left(s=P, n=1) {  /* tail-called */
		far(x=1) = 3  /* tail-called */
		} = 3  /* left: tail call */
		} = 3  /* both: tail call */
		both(s=P, n=2) {
		atoi(nptr=P) = 5  /* tail-called */
		} = 5  /* both: tail call */
	TEXT
	diff -u want got
	devtrace check t.db
}

@test "a function that saves registers and jumps into the middle of another one is no exit without an entry" {
	cat >into.S <<-'S'
		.text
		.p2align 4
		.globl carry
		.type carry, @function
		carry: push %rbx
			push %rbp
			lea 1(%rdi), %rbx
			nopl 0(%rax)
			jmp middle
			.size carry, . - carry
		.p2align 4
		.globl plain
		.type plain, @function
		plain: push %rbx
			push %rbp
			mov %rdi, %rbx
			nopl 0(%rax)
		middle: mov %rbx, %rax
			shl $1, %rax
			nopl 0(%rax)
			pop %rbp
			pop %rbx
			ret
			.size plain, . - plain
		.section .note.GNU-stack, "", @progbits
	S
	cat >by.c <<-'C'
		long carry(long), plain(long);
		int main(void)
		{
			long sum = 0;
			for (int i = 0; i < 1000; i++)
				sum += carry(i) - plain(i);
			return sum != 2000;
		}
	C
	gcc -O1 -o into by.c into.S
	devtrace record -o t.db -F carry -F plain ./into
	devtrace check -q t.db
	[ "$(devtrace sql -c -n t.db "SELECT count(*) || ' ' || sum(ended = 'tail') || ' ' || sum(begin IS NOT NULL) FROM calls WHERE function = 'carry'" | tr -d '\r')" = "1000 1000 1000" ]
}
