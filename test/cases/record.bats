# SPDX-License-Identifier: MIT
# devtrace record, devtrace PROG, devtrace list: what they do, and how they answer bad input.
load common
load wait

@test "record: runs the program, exits as it does, writes a trace" {
	run "$dt" record -o "$dir/t.db" "$dir/fib" 10
	[ "$status" = 3 ]
	[ "${lines[0]}" = 55 ]
	run "$dt" report "$dir/t.db"
	[[ $output == *fib* ]]
	[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk')" = $((2 * 177 + 2)) ]
}

@test "record: a killed program gives 128 + its signal" {
	cat >"$dir/die.c" <<-'C'
		#include <stdlib.h>
		int main(void) { abort(); }
	C
	gcc -B"$root/build/lib" -o "$dir/die" "$dir/die.c"
	run "$dt" record -o "$dir/t.db" "$dir/die"
	[ "$status" = 134 ]
}

@test "record: -F and -N choose functions" {
	run "$dt" record -F 'fi*' -o "$dir/t.db" "$dir/fib" 5
	[ "$(sqlite3 "$dir/t.db" 'select group_concat(name) from function')" = fib ]
	run "$dt" record -N fib -o "$dir/t.db" "$dir/fib" 5
	[ "$(sqlite3 "$dir/t.db" 'select group_concat(name) from function')" = main ]
}

@test "devtrace PROG: prints the calls" {
	run "$dt" "$dir/fib" 2
	[ "$status" = 3 ]
	[[ $output == *"fib(n=1) = 1"* ]]
	[[ $output == *"= 3"*main* ]]
}

@test "record: works in a static program, without symbols, and as an ordinary user" {
	gcc -O1 -g -static -B"$root/build/lib" -o "$dir/static" "$dir/fib.c"
	cp "$dir/static" "$dir/stripped"
	strip "$dir/stripped"
	for p in static stripped; do
		run "$dt" record -o "$dir/t.db" "$dir/$p" 10
		[ "$status" = 3 ]
		[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk')" = $((2 * 177 + 2)) ]
		# by rseq, not through the shared ring, apart from what runs before it is registered
		[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk where core < 65535')" -gt 350 ]
	done
	if [ "$(id -u)" = 0 ]; then
		id dtuser 2>/dev/null || useradd -m dtuser
		run su dtuser -c "cd /tmp && '$dt' record -o /tmp/dtuser.$$.db '$dir/fib' 10"
		rm -f "/tmp/dtuser.$$.db"*
		[ "$status" = 3 ]
	fi
}

@test "record: a program without sleds: every call, by probes" {
	for p in plain plain-static; do
		run "$dt" record -F "$p:fib" -F "$p:main" -o "$dir/p.db" "$dir/$p" 10
		[ "$status" = 3 ]
		[ "$output" = 55 ]
		[ "$(sqlite3 "$dir/p.db" 'select sum(records) from chunk')" = $((2 * 177 + 2)) ]
		"$dt" calls "$dir/p.db" | grep -q 'fib(n=10)'
	done
}

@test "record: program that is missing, a directory, not executable, not for this machine" {
	run "$dt" record -o "$dir/none.db" "$dir/missing"
	[ "$status" = 1 ]
	one_line "No such file"
	run "$dt" record -o "$dir/none.db" no-such-program-at-all
	[ "$status" = 1 ]
	one_line "not found in PATH"
	run "$dt" record -o "$dir/none.db" "$dir"
	[ "$status" = 1 ]
	one_line "directory"
	run "$dt" record -o "$dir/none.db" "$dir/fib.c"
	[ "$status" = 1 ]
	one_line "not executable" "chmod"
	cp "$dir/fib" "$dir/other"
	printf '\xb7' | dd of="$dir/other" bs=1 seek=18 conv=notrunc 2>/dev/null
	run "$dt" record -o "$dir/none.db" "$dir/other"
	[ "$status" = 1 ]
	one_line "AArch64"
	# what the kernel refuses
	cp "$dir/fib" "$dir/busy"
	exec {held}>>"$dir/busy"
	run "$dt" record -o "$dir/none.db" "$dir/busy"
	exec {held}>&-
	[ "$status" = 1 ]
	one_line "$dir/busy: Text file busy"
	[ ! -e "$dir/none.db" ]
}

@test "record: what was recorded is in the file a moment later, while the program runs" {
	exec {out}< <(exec "$dt" record -o "$dir/soon.db" "$dir/spin" 3>&-)
	recorder=$!
	read -r ready <&"$out"
	[ "$ready" = ready ]
	# 0.3 s are meant; the machine may be busy
	for _ in $(seq 50); do
		sleep 0.1
		n=$("$dt" calls "$dir/soon.db" 2>/dev/null | grep -c 'turn(' || true)
		[ "$n" -lt 3 ] || break
	done
	kill "$recorder"
	exec {out}<&-
	until_gone "$recorder"
	[ "$n" -ge 3 ]
	# and goes on coming
	"$dt" calls "$dir/soon.db" | grep -q 'turn('
}

@test "record: a script: --follow traces what it runs" {
	printf '#!/bin/sh\n"%s/fib" 10\n' "$dir" >"$dir/script"
	chmod +x "$dir/script"
	run "$dt" record -o "$dir/none.db" "$dir/script"
	[ "$status" = 1 ]
	one_line script --follow
	run "$dt" record --follow -F 'fib:*' -o "$dir/t.db" "$dir/script"
	[ "$status" = 3 ]
	[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk')" = $((2 * 177 + 2)) ]
}

@test "record: more programs one after the other than there are descriptors" {
	run bash -c "ulimit -n 100; '$dt' record -f -F 'fib:*' -o '$dir/t.db' sh -c 'for i in \$(seq 150); do \"$dir/fib\" 2 >/dev/null; done'"
	[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk')" = $((150 * 8)) ]
}

@test "record: a program that only executes the one that is meant need have nothing to be traced" {
	printf '#include <unistd.h>\nint main(int n, char **a) { (void)n; return execv(a[1], a + 1); }\n' >"$dir/execs.c"
	gcc -o "$dir/execs" "$dir/execs.c"
	gcc -static -o "$dir/execs-static" "$dir/execs.c"
	for execs in env "$dir/execs" "$dir/execs-static"; do
		run "$dt" record -F fib:fib -o "$dir/t.db" "$execs" "$dir/fib" 5
		[ "$status" = 3 ]
		[ "$(sqlite3 "$dir/t.db" "select sum(records) from chunk")" = 30 ]
	done
}

@test "record: every exec of one process is followed" {
	run "$dt" record -f -F 'fib:*' -o "$dir/t.db" env env nice env "$dir/fib" 10
	[ "$status" = 3 ]
	[ "$(sqlite3 "$dir/t.db" 'select sum(records) from chunk')" = $((2 * 177 + 2)) ]
}

@test "record: a setuid program" {
	[ "$(id -u)" = 0 ] || skip "needs root to make one"
	id dtuser 2>/dev/null || useradd -m dtuser
	cp "$dir/fib" "$dir/suid"
	chmod 4755 "$dir/suid"
	run su dtuser -c "cd /tmp && '$dt' record -o /tmp/none.$$.db '$dir/suid'"
	[ "$status" = 1 ]
	one_line setuid
	[ ! -e "/tmp/none.$$.db" ]
}

@test "record: a pattern that matches nothing: near names" {
	run "$dt" record -F fibb -o "$dir/t.db" "$dir/fib"
	[[ $output == *"matches 'fibb'"*"fib"* ]]
	[ "$status" != 0 ]
}

@test "record: a pattern for a library without sleds is not said to match nothing" {
	"$dt" record -F 'libc.so.6:printf' -F 'libc.so.6:prntf' -o "$dir/p.db" "$dir/plain" 5 >"$dir/out" 2>"$dir/err" || [ $? = 3 ]
	[ "$(cat "$dir/out")" = 5 ]
	[ "$(sqlite3 "$dir/p.db" 'select sum(records) from chunk')" -ge 2 ]
	[ "$(wc -l <"$dir/err")" = 1 ]
	grep -q "no function matches 'libc.so.6:prntf'.*near names:.*printf" "$dir/err"
}

# bats test_tags=long
@test "record: ring sizes that are not possible" {
	run "$dt" record -b 3000 -o "$dir/none.db" "$dir/fib"
	[ "$status" = 1 ]
	one_line "power of two"
	run "$dt" record -b 1G -o "$dir/none.db" "$dir/fib"
	[ "$status" = 1 ]
	one_line smaller
	run "$dt" record -b 12X -o "$dir/none.db" "$dir/fib"
	[ "$status" = 2 ]
	one_line 12X
	[ ! -e "$dir/none.db" ]
}

@test "record: wrong usage" {
	run "$dt" record
	[ "$status" = 2 ]
	run "$dt" record -p sometimes "$dir/fib"
	[ "$status" = 2 ]
	one_line sometimes overwrite
	run "$dt" record --no-such-option
	[ "$status" = 2 ]
	run "$dt" record -d "$dir/fib"
	[ "$status" = 2 ]
	one_line "for attach"
	run "$dt"
	[ "$status" = 2 ]
	for c in record attach list; do
		run "$dt" $c --help
		[ "$status" = 0 ]
		[[ $output == usage:* ]]
	done
}

@test "record: a full disk" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount a small one"
	mkdir -p "$dir/small"
	mount -t tmpfs -o size=1600k none "$dir/small"
	run "$dt" record -o "$dir/small/t.db" "$dir/fib" 27
	cat <<<"$output"
	after=$("$dt" report "$dir/small/t.db" 2>&1) || true
	umount "$dir/small"
	[ "$status" = 1 ]
	[[ $output == *"space"* ]]
	[[ $output == *196418* ]] # the program itself came to its end
	[[ $after == *fib* ]]
}

@test "record: a trace that was there stays when nothing is traced" {
	run "$dt" record -o "$dir/kept.db" "$dir/fib" 10
	before=$(sha256sum <"$dir/kept.db")
	run "$dt" record -o "$dir/kept.db" "$dir/missing"
	[ "$status" = 1 ]
	run "$dt" attach -o "$dir/kept.db" 4194000
	[ "$status" = 1 ]
	[ "$(sha256sum <"$dir/kept.db")" = "$before" ]
	[ "$(ls "$dir"/kept.db*)" = "$dir/kept.db" ]
}

@test "devtrace PROG: leaves nothing behind when its reader has seen enough" {
	export TMPDIR=$BATS_TEST_TMPDIR/temporary
	mkdir "$TMPDIR"
	"$dt" "$dir/fib" 15 2>/dev/null | head -1
	[ -z "$(ls "$TMPDIR")" ]
	TMPDIR=$dir/nowhere run "$dt" "$dir/fib" 15
	[ "$status" = 1 ]
	one_line "$dir/nowhere/devtrace-" "cannot be made: No such file"
}

@test "record: the times of a trace cut short are right" {
	"$dt" record -o "$dir/cut.db" "$dir/spin" >/dev/null 3>&- &
	tracer=$!
	for i in $(seq 3000); do
		[ "$(sqlite3 "$dir/cut.db" 'select count(*) from chunk' 2>/dev/null || echo 0)" -gt 0 ] && break
		sleep 0.02
	done
	pid=$(pgrep -P "$tracer" spin)
	kill -9 "$tracer"
	kill "$pid"
	# two turns are 20 ms apart and a bit
	"$dt" calls -F turn "$dir/cut.db" >/dev/null
	[ "$(sqlite3 "$dir/cut.db" 'select count(*) from clock')" -ge 2 ]
	hz=$(sqlite3 "$dir/cut.db" 'select (max(ticks) - min(ticks)) * 1000.0 / (max(monotonic_ns) - min(monotonic_ns)) from clock')
	mhz=$(awk '/cpu MHz/ { print $4; exit }' /proc/cpuinfo)
	awk "BEGIN { exit !($hz > 0.5 * $mhz && $hz < 2 * $mhz) }"
}

@test "record: a file that is not ours is not overwritten" {
	echo precious >"$dir/precious"
	run "$dt" record -o "$dir/precious" "$dir/fib"
	[ "$status" = 1 ]
	[ "$(cat "$dir/precious")" = precious ]
}

@test "list: functions with their sites, sources and parameters" {
	run "$dt" list "$dir/fib"
	[ "$status" = 0 ]
	[[ $output == *fib:fib* ]]
	run "$dt" list -v "$dir/fib"
	[[ $output == *"fib.c:3"* ]]
	[[ $output == *"n:i4@0"* ]]
}

@test "list: known functions are as much of the code as readelf and objdump say" {
	# code of no function: no symbol, no unwind table, and nothing leads to it
	for n in 3 30 300; do
		cat >"$dir/part.c" <<-C
			__attribute__((noipa)) int f(int n) { return n + 1; }
			__asm__(".text\\n.p2align 4\\n.rept $n\\npush %rax\\nlea 8(%rdi,%rsi,4), %rax\\nnopw 0(%rax,%rax,1)\\n.endr\\nint3\\njmp *%rax\\n.p2align 4\\n");
			int main(int argc, char **argv) { return f(argc) * f(f(argc)); }
		C
		gcc -O1 -fno-toplevel-reorder -o "$dir/part" "$dir/part.c"
		"$dt" list "$dir/part" 2>&1 | sed -n 's/.*known functions are \(.*\) % of the code$/\1/p'
		"$root/test/cases/share.py" "$dir/part" >>"$dir/shares"
	done >"$dir/said"
	diff "$dir/shares" "$dir/said"
	# from nearly everything to less than a fifth
	awk '{ n[NR] = $1 } END { exit !(NR == 3 && n[1] > 90 && n[2] > 50 && n[2] < 80 && n[3] < 20) }' "$dir/said"
}

@test "list: a program without sleds: how each function is hooked, or why not" {
	"$dt" list "$dir/plain" >"$dir/out" 2>"$dir/err"
	grep -qx plain:fib "$dir/out"
	grep -qx plain:main "$dir/out"
	[ "$(wc -l <"$dir/err")" = 1 ]
	grep -qx "devtrace: $dir/plain: $(wc -l <"$dir/out") functions without sleds can be traced, 0 can not; [1-9][0-9]* of start-up code only by their exact names; known functions are [0-9.]* % of the code" "$dir/err"
	if grep -q frame_dummy "$dir/out"; then false; fi
	"$dt" list -v "$dir/plain" >"$dir/out" 2>"$dir/err"
	grep -q $'^plain:frame_dummy\t.*start-up code: chosen by its exact name only' "$dir/out"
	awk -F'\t' '$1 == "plain:fib" && $3 ~ /^(jump|padded|shared|short|punned) 1\+1\+0$/ &&
		$4 ~ /fib.c:3$/ && $5 ~ /^n:i4@0/ { found = 1 } END { exit !found }' "$dir/out"
	# what list says can be traced is traced
	"$dt" record -v -F plain:fib -F plain:main -o "$dir/p.db" "$dir/plain" 5 || [ $? = 3 ]
	[ "$(sqlite3 "$dir/p.db" "select group_concat(name) from (select name from function order by name)")" = fib,main ]
}

@test "record: start-up code is recorded only when it is asked for by its exact name" {
	recorded() {
		"$dt" record -o "$dir/start.db" "$@" "$dir/plain" 1 >&2 || [ $? = 3 ] || return
		"$dt" sql -n "$dir/start.db" 'SELECT DISTINCT function FROM calls ORDER BY 1' | tr -s '\n ' ' '
	}
	[ "$(recorded)" = "fib main " ]
	[ "$(recorded -F '*')" = "fib main " ]
	[ "$(recorded -F 'plain:*')" = "fib main " ]
	[ "$(recorded -N fib)" = "main " ]
	[[ $(recorded -F 'plain:*' -F frame_dummy) == *"fib frame_dummy main "* ]]
	# what is called _start where nobody's start-up code is, is somebody's own
	printf '.globl _start\n.type _start, @function\n_start: mov $60, %%eax\nxor %%edi, %%edi\nsyscall\n.size _start, . - _start\n' >"$dir/own.s"
	gcc -nostdlib -static -o "$dir/own" "$dir/own.s"
	"$dt" list "$dir/own" | grep -qx own:_start
}

@test "record: functions of sixty exits each have room for all their trampolines" {
	cd "$BATS_TEST_TMPDIR"
	awk 'BEGIN {
		print "volatile int v;"
		for (i = 0; i < 60; i++) {
			printf "__attribute__((noipa)) int f%d(int n) { switch (n) {", i
			for (k = 0; k < 60; k++) printf "case %d: v = %d; __asm__ volatile(\"nop;nop;nop;nop;nop;ret\");", k, k + i
			print "} return n; }"
		}
		printf "int main(void) { int s = 0;"
		for (i = 0; i < 60; i++) printf "s += f%d(99);", i
		print "return s == 0; }"
	}' >many.c
	gcc -O1 -w -o many many.c
	run "$dt" record -o many.db ./many
	[ "$status" = 0 ]
	[ "$("$dt" sql -n many.db 'SELECT count(*) FROM calls')" = 61 ]
}

@test "list: a function that can not be hooked is counted, and -v has the reason" {
	local libc
	libc=$(ldd "$dir/plain" | awk '$1 == "libc.so.6" { print $3 }')
	"$dt" list "$libc" >"$dir/out" 2>"$dir/err"
	grep -qx libc.so.6:malloc "$dir/out"
	! grep -qx libc.so.6:vfork "$dir/out" || false
	"$dt" list -v "$libc" >"$dir/all" 2>>"$dir/err"
	grep -q $'^libc.so.6:.*\tnot: devtrace itself is led through it' "$dir/all"
	not=$(grep -vc '^usdt' <(grep $'\tnot: ' "$dir/all"))
	[ "$not" -gt 0 ]
	can=$(grep -v '^usdt' "$dir/out" | wc -l)
	[ $((can + not)) = "$(grep -vc '^usdt' "$dir/all")" ]
	[ "$(grep -c "$can functions without sleds can be traced, $not can not (-v says why)" "$dir/err")" = 2 ]
}

@test "list, record: a program in which nothing can be traced" {
	cat >"$dir/data.s" <<-'S'
		.globl _start
		.type _start, @function
		_start: mov $60, %eax
			xor %edi, %edi
			syscall
			.byte 6, 6, 6
		.size _start, . - _start
	S
	gcc -nostdlib -static -o "$dir/data" "$dir/data.s"
	run "$dt" list "$dir/data"
	[ "$status" = 1 ]
	one_line "0 functions without sleds can be traced, 1 can not (-v says why)"
	run "$dt" list -v "$dir/data"
	[ "$status" = 0 ]
	[[ ${lines[0]} == data:_start*"not: something in it is not an instruction 1+0+0" ]]
	# not even a name
	strip -o "$dir/nameless" "$dir/data"
	run "$dt" list "$dir/nameless"
	[ "$status" = 1 ]
	one_line "no function in it can be traced"
	run "$dt" record -o "$dir/none.db" "$dir/nameless"
	[ "$status" = 1 ]
	one_line "no function that could be traced" "--follow"
	[ ! -e "$dir/none.db" ]
}

@test "record: a pattern means the functions without a name only where it means their addresses" {
	cat >"$dir/some.c" <<-'C'
		int data;
		__attribute__((noinline, noipa)) int known(int n) { data += n; return data * 3; }
		__attribute__((noinline, noipa)) static int first(int n) { data ^= n; return data + 1; }
		__attribute__((noinline, noipa)) static int second(int n) { data -= n; return data - 1; }
		__attribute__((noinline, noipa)) int known_too(int n) { data |= n; return data * 5; }
		int main(void) { return known(1) + first(2) + second(3) + known_too(4) == 0; }
	C
	gcc -O2 -fno-toplevel-reorder -rdynamic -o "$dir/some" "$dir/some.c"
	local first second
	first=$(nm "$dir/some" | sed -n 's/^0*\([0-9a-f]*\) t first$/0x\1/p')
	second=$(nm "$dir/some" | sed -n 's/^0*\([0-9a-f]*\) t second$/0x\1/p')
	strip "$dir/some"
	recorded() {
		"$dt" record -o "$dir/some.db" "$@" "$dir/some" >&2 || return
		"$dt" sql -n "$dir/some.db" "SELECT function FROM calls WHERE function != 'main' ORDER BY begin_ticks" | sed 's/some+0x/0x/' | tr -s '\n ' ' '
	}
	[ "$(recorded -F 'kno*')" = "known known_too " ]
	[ "$(recorded -F 'some:known')" = "known " ]
	[ "$(recorded -F "$second")" = "$second " ]
	[ "$(recorded -F 'some:0x*')" != "" ]
	[ "$(recorded -F "some+$second")" = "$second " ]
	[ "$(recorded -F 'some+0x*' -N 'some+'"$first")" = "$(recorded -F '0x*' -N "$first")" ]
	[[ $(recorded -F 'some:*') == *"known $first $second known_too "* ]]
	[[ $(recorded -F 'some:*' -N "$first") == *"known $second known_too "* ]]
	[[ $(recorded) == *"known $first $second known_too "* ]]
}

@test "list: a file that is no program" {
	run "$dt" list "$dir/fib.c"
	[ "$status" = 1 ] && one_line fib.c
}

@test "record: what is chosen but can not be hooked is said" {
	cat >"$dir/tiny.S" <<-'S'
		.globl	tiny, other, main
		.type	tiny, @function
		.type	other, @function
		.type	main, @function
	tiny:	ret
		.size	tiny, 1
	other:	ret
		.size	other, 1
	main:	call	tiny
		call	other
		xor	%eax, %eax
		ret
		.size	main, . - main
		.section .note.GNU-stack, "", @progbits
	S
	gcc -o "$dir/tiny" "$dir/tiny.S"
	run "$dt" record -F tiny -o "$dir/tiny.db" "$dir/tiny"
	[ "$status" = 1 ]
	[[ $output == *"no function that was chosen can be hooked"* ]]
	run "$dt" record -F tiny -F main -o "$dir/tiny.db" "$dir/tiny"
	[ "$status" = 0 ]
}

# bats test_tags=long
@test "a trace that is replaced while it is read: no error but that there is none" {
	cd "$dir"
	touch reading
	again() {
		while [ -e reading ]; do
			"$dt" calls replaced.db >/dev/null 2>"bad.$1" || cat "bad.$1" >>bad
		done
	}
	"$dt" record -o replaced.db ./fib >out || true
	again 1 3>&- &
	first=$!
	again 2 3>&- &
	second=$!
	# a share of them for every change: test/share.bash
	for _ in $(seq $((60 / ${SHARE:-1}))); do
		"$dt" record -o replaced.db ./fib >out || true
	done
	rm reading
	wait "$first" "$second"
	# for a moment there is none
	if [ -e bad ]; then
		! grep -v 'no such file' bad
	fi
}

@test "check-002-module: one pattern is a whole module, and nothing outside of it" {
	cd "$BATS_TEST_TMPDIR"
	for m in one two; do
		cat >$m.c <<-C
			static int ${m}_hidden(int a) { return a * 31 / 7 + 1; }
			int (*volatile ${m}_way)(int) = ${m}_hidden;
			__attribute__((noipa)) int ${m}_first(int a) { return ${m}_way(a) + 1; }
			__attribute__((noipa)) int ${m}_second(int a) { return ${m}_first(a) + 1; }
		C
		gcc -O1 -g -shared -fPIC -o lib$m.so $m.c
		gcc -O1 -g -shared -fPIC -B"$root/build/lib" -o libs$m.so $m.c
	done
	cat >main.c <<-'C'
		int one_second(int), two_second(int);
		__attribute__((noipa)) int both(int a) { return one_second(a) + two_second(a); }
		int main(void) { return both(1) == 0; }
	C
	for s in '' s; do
		gcc -O1 -g ${s:+-B"$root/build/lib"} -o main$s main.c -L. -l${s}one -l${s}two -Wl,-rpath,"$PWD"
		"$dt" record -F "lib${s}one.so:*" -o m.db ./main$s
		names=$("$dt" report --json m.db | grep -o '"function": "[a-z_]*"' | sort | tr '\n' ' ')
		[[ "$names" == *'"one_first" "function": "one_hidden" "function": "one_second" '* ]]
		[ "$(sqlite3 m.db "select count(*) from function join module on module.id = module where path not like '%/lib${s}one.so'")" = 0 ]
		# the two others, in the same run
		"$dt" record -F "lib${s}two.so:*" -F "main$s:*" -o m.db ./main$s
		names=$("$dt" report --json m.db | grep -o '"function": "[a-z_]*"' | sort | tr '\n' ' ')
		[[ "$names" == *'"both"'*'"main"'*'"two_first" "function": "two_hidden" "function": "two_second" '* && "$names" != *one_* ]]
	done
}

@test "check-050-core: what runs on one core says so" {
	cd "$BATS_TEST_TMPDIR"
	for core in $(taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i}'); do
		taskset -c "$core" "$dt" record -o c.db "$dir/fib" 12 || [ $? = 3 ]
		[ "$("$dt" cat -l c.db | grep '^kind=[EX]' | grep -o 'core=[0-9]*' | sort -u)" = "core=$core" ]
	done
}

@test "check-051-wall-clock: times are those of another clock, to 10 microseconds" {
	cd "$BATS_TEST_TMPDIR"
	cat >clock.c <<-'C'
		#include <time.h>
		#include <unistd.h>
		__attribute__((noipa)) void at(long before) { __asm__ volatile("" : : "r"(before)); }
		__attribute__((noipa)) void by(long after) { __asm__ volatile("" : : "r"(after)); }
		static long now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_REALTIME, &t);
			return t.tv_sec * 1000000000 + t.tv_nsec;
		}
		int main(void)
		{
			for (int i = 0; i < 200; i++) {
				at(now());
				by(now());
				usleep(10000);
			}
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o clock clock.c
	"$dt" record -o t.db ./clock
	TZ=UTC "$dt" cat -k t.db >out
	# whatever came between: at()'s record is behind the reading before it, and in front of the one after it
	python3 - <<-'PY'
		import datetime
		record, n = None, 0
		for line in open("out"):
		    w = line.split()
		    w[0] = w[0].split("+")[0]
		    if w[0] not in ("at", "by") or "rdi=" not in line:
		        continue
		    t = datetime.datetime.strptime("2000 " + " ".join(w[1:4]), "%Y %b %d %H:%M:%S.%f")
		    us = ((t.hour * 60 + t.minute) * 60 + t.second) * 1000000 + t.microsecond
		    clock = int(line.split("rdi=")[1].split()[0], 16) / 1000 % 86400e6
		    if w[0] == "at":
		        record = us
		        assert -10 <= (us - clock + 43200e6) % 86400e6 - 43200e6, (us, clock)
		    else:
		        assert -10 <= (clock - record + 43200e6) % 86400e6 - 43200e6, (record, clock)
		        n += 1
		assert n == 200, n
	PY
}

@test "record --stopped: nothing is recorded before the start" {
	cd "$BATS_TEST_TMPDIR"
	export XDG_RUNTIME_DIR=$PWD
	"$dt" record --stopped -o none.db "$dir/fib" 10 || [ $? = 3 ]
	[ "$("$dt" cat none.db | wc -l)" = 0 ]
	# the program says when: between its two calls of fib
	cat >begin.c <<-'C'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		__attribute__((noipa)) int before(int a) { return a + 1; }
		__attribute__((noipa)) int after(int a) { return a + 2; }
		int main(void)
		{
			int sum = before(1);
			if (system("exec $DT ctl start"))
				return 1;
			return sum + after(2) == 6 ? 0 : 2;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o begin begin.c
	DT=$dt "$dt" record --stopped -o some.db ./begin
	[ "$("$dt" report --json some.db | grep -c '"before"')" = 0 ]
	"$dt" calls some.db | grep -q 'after(a=2) = 4'
}

@test "check-062-own-core: one core's recording does not slow another's" {
	cd "$BATS_TEST_TMPDIR"
	cat >cores.c <<-'C'
		#include <pthread.h>
		#include <sched.h>
		#include <stdio.h>
		#include <x86intrin.h>
		__attribute__((noipa)) void nothing(void) { __asm__ volatile(""); }
		static int cpu[2];
		static volatile int stop;
		static void on(int c)
		{
			cpu_set_t s;
			CPU_ZERO(&s);
			CPU_SET(c, &s);
			sched_setaffinity(0, sizeof(s), &s);
		}
		static void *other(void *a)
		{
			on(cpu[1]);
			while (!stop)
				nothing();
			return a;
		}
		/* the quickest of many batches: what others take of the machine is not in it */
		static unsigned long quickest(void)
		{
			unsigned long best = ~0ul, t;
			for (int b = 0; b < 20000; b++) {
				t = __rdtsc();
				for (int i = 0; i < 50; i++)
					nothing();
				t = __rdtsc() - t;
				best = t < best ? t : best;
			}
			return best;
		}
		int main(void)
		{
			unsigned long alone, both;
			pthread_t t;
			cpu_set_t s;
			int n = 0;
			sched_getaffinity(0, sizeof(s), &s);
			for (int c = 0; c < CPU_SETSIZE && n < 2; c++)
				if (CPU_ISSET(c, &s))
					cpu[n++] = c;
			on(cpu[0]);
			alone = quickest();
			pthread_create(&t, NULL, other, NULL);
			both = quickest();
			stop = 1;
			pthread_join(t, NULL);
			printf("%lu %lu %d\n", alone, both, n);
			return 0;
		}
	C
	gcc -O1 -D_GNU_SOURCE -pthread -B"$root/build/lib" -o cores cores.c
	"$dt" record -p overwrite -o c.db ./cores >said
	read -r alone both n <said
	echo "$alone alone, $both with another core ($n cores)"
	[ "$n" = 2 ] || skip "one core has nobody to slow"
	# a line shared by the cores costs some hundred cycles for each record
	[ $((both * 2)) -lt $((alone * 3)) ]
}

@test "check-083: a million events take less than 16 MB" {
	cd "$BATS_TEST_TMPDIR"
	cat >events.c <<-'C'
		#include <devtrace.h>
		int main(void)
		{
			unsigned x = 1;
			for (int i = 0; i < 1000000; i++) {
				x = x * 1103515245 + 12345;
				DT_EVENT(3, 5, x, i);
			}
			return 0;
		}
	C
	gcc -O2 -I"$root/include" -o events events.c
	"$dt" record -o e.db ./events
	[ "$("$dt" cat -c e.db | wc -l)" -ge 1000000 ]
	stat -c %s e.db
	[ "$(stat -c %s e.db)" -lt 16000000 ]
}

# bats test_tags=long
@test "record -T: commands that come while the program begins wait, and it does not wait for them" {
	cd "$BATS_TEST_TMPDIR"
	cat >three.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) int turn(int n) { return n + 1; }
		int main(void)
		{
			int n = 0;
			while (n < 3) {
				n = turn(n);
				usleep(1000);
			}
			return 0;
		}
	C
	gcc -O1 -g -o three three.c
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	: >busy
	writers=()
	for i in p e u; do
		(while [ -e busy ]; do
			"$dt" ctl -s while "$(printf 'trace libc.so.6:get%s* new %s\ntrace %s on\n' $i $i $i)" || sleep 0.01
		done) >/dev/null 2>&1 3>&- &
		writers+=($!)
	done
	well=0
	times=$((21 / ${SHARE:-1}))
	for i in $(seq $times); do
		timeout -s KILL 30 "$dt" record -s while -F turn -o w.db -T 'turn REG rdi' ./three 2>err || break
		[ "$("$dt" cat w.db | grep -c ^P)" = 3 ] || break
		well=$((well + 1))
	done
	rm busy
	wait "${writers[@]}" || true
	[ "$well" = $times ] || { cat err; false; }
}

@test "record: a function asked for by its name that has no sled, in a file with others, is told" {
	cd "$BATS_TEST_TMPDIR"
	cat >told.c <<-'C'
		#include <devtrace.h>
		int other(int n);
		__attribute__((noinline)) int told(int n) { DT_EVENT(1, 2, n); return n + 1; }
		int main(void) { return other(1) != 4; }
	C
	printf 'int told(int n);\nint other(int n) { return told(n) * 2; }\n' >other.c
	lib=$(dirname "$dt")/lib
	gcc -O1 -g -B"$lib" -I"$root/include" -c told.c
	gcc -O1 -g -c other.c
	gcc -B"$lib" -o told told.o other.o
	run "$dt" record -F other -o t.db ./told
	[ "$status" = 1 ]
	one_line "told: calls of other are not recorded" "no sled"
	run "$dt" record -F 1:2 -F other -o t.db ./told
	[ "$status" = 0 ]
	one_line "calls of other are not recorded"
	[ "$("$dt" cat t.db | wc -l)" = 1 ]
	# with sleds there is nothing to be told of
	gcc -O1 -g -B"$lib" -o told told.o other.c
	run "$dt" record -F other -F told -o t.db ./told
	[ "$status" = 0 ]
	[ -z "$output" ]
	[ "$("$dt" sql -n t.db 'SELECT count(*) FROM calls')" = 2 ]
}

@test "record: a function asked for by its name that can not be hooked is told, with the reason" {
	cd "$BATS_TEST_TMPDIR"
	cat >short.c <<-'C'
		__attribute__((noipa)) void nothing(void) {}
		__attribute__((noipa)) void outer(void) { nothing(); nothing(); }
		int main(void) { outer(); return 0; }
	C
	gcc -O1 -o short short.c
	run "$dt" record -F outer -F nothing -o s.db ./short
	[ "$status" = 0 ]
	one_line "nothing is not recorded" "no room"
	run "$dt" record -F outer -F 'short:nothing' -o s.db ./short
	[ "$status" = 0 ]
	one_line "nothing is not recorded"
	# of C++ too, by the name as it is written
	printf '%s\n' 'namespace ns { __attribute__((noipa)) void nothing(int) {} __attribute__((noipa)) void outer() { nothing(1); nothing(2); } }' \
		'int main() { ns::outer(); return 0; }' >short.cc
	g++ -O1 -o shortcc short.cc
	run "$dt" record -F ns::outer -F ns::nothing -o s.db ./shortcc
	[ "$status" = 0 ]
	one_line "ns::nothing is not recorded" "no room"
	run "$dt" record -F ns::nothing -o s.db ./shortcc
	[ "$status" = 1 ]
	[[ $output == *"ns::nothing is not recorded"* ]]
	# not what a pattern happens to match, or another's of that name
	run "$dt" record -F outer -F 'n*' -o s.db ./short
	[ "$status" = 0 ]
	[[ $output != *"is not recorded"* ]]
	run "$dt" record -F outer -F malloc -o s.db ./short
	[ "$status" = 0 ] && [ -z "$output" ]
}

@test "record: a static program that makes no system call is recorded, and commands reach its session" {
	local p tries
	cat >"$dir/spin.c" <<-'C'
		__attribute__((noipa)) long f(long n) { return 3 * n + 1; }
		void _start(void) { for (long n = 0;; n = f(n)) ; }
	C
	gcc -O1 -g -nostdlib -static -o "$dir/spin" "$dir/spin.c"
	export XDG_RUNTIME_DIR=$dir/run
	mkdir -p -m 700 "$XDG_RUNTIME_DIR"
	"$dt" record -s spin -p overwrite -b 64K -F none -o "$dir/t.db" "$dir/spin" 3>&- 2>/dev/null &
	p=$!
	for tries in $(seq 100); do
		timeout 1 "$dt" ctl -s spin >/dev/null 2>&1 && break
		sleep 0.1
	done
	# what plants is done by who waits for the program's C library, until it is clear that there is none
	run timeout 60 "$dt" ctl -s spin - <<<$'trace spin:f new p\ntrace p on'
	sleep 0.1
	pkill -P "$p" -x spin
	wait "$p" || true
	[ "$status" = 0 ]
	[ "$(sqlite3 "$dir/t.db" 'select sum(records) > 100 from chunk')" = 1 ]
}

@test "record: the file's clocks are the machine's" {
	"$dt" record -o "$dir/t.db" "$dir/fib" 5 || [ $? = 3 ]
	sqlite3 -readonly -csv "$dir/t.db" "SELECT ticks, monotonic_ns, realtime_ns FROM clock ORDER BY ticks" >"$dir/clocks"
	python3 - "$dir/clocks" <<-'PY'
		import csv, sys, time
		rows = [[int(x) for x in r] for r in csv.reader(open(sys.argv[1]))]
		assert len(rows) >= 2, rows
		apart = time.time_ns() - time.monotonic_ns()
		# a busy machine may be elsewhere between two clocks
		for ticks, monotonic, realtime in rows:
		    assert abs(realtime - monotonic - apart) < 150e6, (realtime - monotonic, apart)
		    assert 0 <= time.monotonic_ns() - monotonic < 60e9, monotonic
		# and they go on together
		(t0, m0, r0), (t1, m1, r1) = rows[0], rows[-1]
		assert t1 > t0 and m1 > m0 and abs((r1 - r0) - (m1 - m0)) < 150e6, rows
	PY
}

# The signals that end a session are caught before its file is made, under another name at first.
@test "record: a signal at any moment of the start leaves no file of another name" {
	mkdir "$dir/early"
	for i in $(seq 0 30); do
		"$dt" record -o "$dir/early/t.db" sleep 100 &
		local recorder=$!
		sleep "$(printf '0.%03d' $((i * 6)))"
		kill -TERM $recorder || true
		wait $recorder || true
		[ -z "$(ls "$dir/early" | grep -vx t.db)" ] || { ls "$dir/early"; false; }
		rm -f "$dir/early/t.db"
	done
}

@test "record, attach: a signal before anything is recorded is said, and gives its status" {
	# strace sends it when the memory of the session's rings is made; leaks can not be looked for
	# in a process that is traced
	local ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
	export ASAN_OPTIONS
	local strace="strace -qq -o $dir/strace -e trace=memfd_create -e inject=memfd_create:signal=TERM:when=1"
	run $strace "$dt" record -o "$dir/none.db" "$dir/fib" 10
	[ "$status" = 143 ]
	[ "$output" = "devtrace: interrupted before anything was recorded: no trace has been made" ]
	sleep 100 &
	local pid=$!
	run $strace "$dt" attach -o "$dir/none.db" $pid
	kill $pid
	[ "$status" = 143 ]
	[ "$output" = "devtrace: interrupted before anything was recorded: no trace has been made" ]
	[ -z "$(ls "$dir" | grep '^none.db')" ]
}

@test "record: --recorder-threads writes the same calls" {
	cat >"$dir/flat.c" <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		__attribute__((noinline)) long f(long a) { __asm__ volatile("" : "+r"(a)); return a * 3; }
		static void *run(void *p) { long x = (long)p; for (int i = 0; i < 150000; i++) x = f(x); return (void *)x; }
		int main(void)
		{
			pthread_t t[2];
			for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, (void *)i);
			for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
			return 0;
		}
	C
	cd "$dir"
	gcc -O1 -g -pthread -o flat flat.c
	for threads in 1 2 8; do
		"$dt" record --recorder-threads=$threads -b 64K -F flat:f -o t.db ./flat
		"$dt" check t.db
		[ "$("$dt" calls -F f t.db | grep -c "f(")" -eq 300000 ]
	done
	for bad in 0 abc 10000 '' -1 4x; do
		run "$dt" record --recorder-threads="$bad" true
		[ "$status" -eq 2 ]
		[ "$output" = "devtrace: --recorder-threads is a number from 1 to 64, not '$bad'" ]
	done
}
