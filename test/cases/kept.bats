# SPDX-License-Identifier: MIT
# What a hook leaves as it was: flags, registers and all other state, at entries and exits of functions that
# pass and return more than a compiler's do.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -O1 -o "$dir/kept" "$root/test/probe/kept.c" "$root/test/probe/kept.S"
	gcc -O1 -w -o "$dir/odd" "$root/test/probe/odd.c" "$root/test/probe/odd.S"
}

teardown_file() {
	rm -rf "$dir"
}

# each function of kept.S that kept.c knows has been called
all_called() {
	local names called
	names=$(sed -nE 's/^\t(function|far_from_filler)\t?\s*([a-z_]+)$/\2/p' "$root/test/probe/kept.S" | grep -v 'e.*_punned' | sort)
	called=$("$dt" sql -n -c "$dir/t.db" "SELECT DISTINCT function FROM calls" | tr -d '\r' | sort)
	[ "$(comm -23 <(echo "$names") <(echo "$called"))" = "" ]
}

@test "kept: the program has functions for each way of hooking" {
	run "$dt" list -v "$dir/kept"
	for way in jump padded shared short inner punned; do
		[[ $output == *$'\t'"$way "* ]]
	done
	[[ $output != *$'\tnot: '* ]]
	run "$dir/kept"
	[ "$status" = 0 ]
}

@test "kept: flags, registers, vectors, x87, masks and modes at entries and exits" {
	run "$dt" record -p overwrite -F 'kept:*' -o "$dir/t.db" "$dir/kept"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "all is kept" ]
	# rings that are full again and again: the slow path
	run "$dt" record -p wait -b 64K -F 'kept:*' -o "$dir/t.db" "$dir/kept"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "all is kept" ]
	all_called
}

@test "kept: the same in a program that has no rseq" {
	DEVTRACE_NO_RSEQ=1 GLIBC_TUNABLES=glibc.pthread.rseq=0 run "$dt" record -b 64K -F 'kept:*' -o "$dir/t.db" "$dir/kept"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "all is kept" ]
	all_called
}

@test "kept: with tracepoints at and beside entries and exits" {
	run "$dt" record -b 64K -F 'kept:*' -T 'kept:by_jump REG rax' -T 'kept:shared+7 REG rcx STACK 8' -T 'kept:inner+1 REG rsp' \
		-T 'kept:short_way+6 REG rdx' -T 'kept:tail+e REG rdi' -o "$dir/t.db" "$dir/kept"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "all is kept" ]
	all_called
}

@test "kept: while functions are planted, switched off and on, and let go of" {
	"$dir/kept" 0 >"$dir/out" 3>&- &
	pid=$!
	for i in 1 2; do
		"$dt" attach -d -s "kept-$$" -p drop -F 'kept:by_jump' "$pid"
		"$dt" ctl -s "kept-$$" - <<-'CTL'
			start
			trace kept:* new all
			trace all on
			trace all off
		CTL
		sleep 0.1
		"$dt" ctl -s "kept-$$" trace all on
		"$dt" ctl -s "kept-$$" trace all off
		"$dt" ctl -s "kept-$$" quit
		while "$dt" ctl -s "kept-$$" >/dev/null 2>&1; do sleep 0.02; done
	done
	kill "$pid"
	wait "$pid"
	[ "$(cat "$dir/out")" = "all is kept" ]
}

@test "kept: functions as no compiler makes them do what they do alone" {
	run "$dir/odd"
	alone=$output
	[ "$status" = 3 ]
	run "$dt" record -p overwrite -F 'odd:*' -o "$dir/t.db" "$dir/odd"
	[ "$status" = 3 ]
	[ "${output%%devtrace:*}" = "$alone"$'\n' ] || [ "$output" = "$alone" ]
}

# an answer in the flags of code in asm(): in a function of its own, and in one of the compiler's
@test "kept: flags at sleds" {
	cat >"$dir/sled.c" <<-'C'
		#include <stdio.h>
		asm(".text; .type zero, @function; zero: and $7, %edi; nopw 0(%rax,%rax); ret; .size zero, .-zero");
		__attribute__((noinline, noipa)) void carry(int n) { asm volatile("bt $0, %0" : : "r"(n) : "cc"); }
		int main(void)
		{
			int z = 0, c = 0;
			char is;
			for (int i = 0; i < 800; i++) {
				int n = i;
				asm volatile("call zero\n\tsetz %0" : "=a"(is), "+D"(n) : : "cc", "memory");
				z += is;
				n = i;
				asm volatile("call carry\n\tsetc %0" : "=a"(is), "+D"(n) : : "cc", "memory", "rcx", "rdx", "rsi");
				c += is;
			}
			printf("%d %d\n", z, c);
		}
	C
	gcc -O2 -mno-red-zone -o "$dir/plain" "$dir/sled.c"
	gcc -O2 -mno-red-zone -B"$root/build/lib" -o "$dir/sled" "$dir/sled.c"
	for p in plain sled; do
		run "$dir/$p"
		[ "$output" = "100 400" ]
		run "$dt" record -o "$dir/t.db" -F "$p:*" "$dir/$p"
		[ "$output" = "100 400" ]
		[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'carry'" | tr -d '\r')" = 800 ]
	done
}

# assembler of others that answers in ZF: single-threaded, the file is the same each time
@test "kept: libx264's assembler encodes the same, all of it traced" {
	encode=(ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=duration=0.2:size=160x120:rate=25 -c:v libx264 -threads 1 -f md5 -)
	run "${encode[@]}"
	[ "$status" = 0 ]
	alone=$output
	[[ $alone == MD5=* ]]
	run "$dt" record -F 'libx264.so.*:*' -o "$dir/t.db" "${encode[@]}"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "$alone" ]
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) > 100 FROM calls WHERE function GLOB 'x264_8_trellis_bnode_*'" | tr -d '\r')" = 1 ]
}

@test "kept: libtheora's encoder, which reads a buffer below the stack pointer, encodes the same" {
	encode=(ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=duration=0.4:size=320x240:rate=25 -c:v libtheora -threads 1 -f md5 -)
	run "${encode[@]}"
	[ "$status" = 0 ]
	alone=$output
	"$dt" record -F 'libtheoraenc.so.*:*' -o "$dir/t.db" "${encode[@]}" >"$dir/out" 2>"$dir/err"
	[ "$(cat "$dir/out")" = "$alone" ]
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) > 1000 FROM calls" 2>/dev/null | tr -d '\r')" = 1 ]
}
