# SPDX-License-Identifier: MIT
# Events by <devtrace.h>: what the commands do with them; and USDT probes in the list.
load common

setup() {
	[ -e "$dir/shop.c" ] && return
	cat >"$dir/shop.c" <<-'C'
		#include <devtrace.h>
		#include <stdio.h>
		enum { SHOP = 7, TILL = 300 };
		enum { ENTER = 1, PAY = 2, NOTE = 3 };
		__attribute__((noinline)) int pay(int sum)
		{
			DT_EVENT(TILL, PAY, sum, sum + 1, -1);
			DT_TEXT(SHOP, NOTE, "a \"note\"\n", 9);
			return sum * 2;
		}
		int main(void)
		{
			static char much[DT_TEXT_MAX + 10];
			DT_EVENT(SHOP, ENTER, 17);
			DT_EVENT(0xa000, 1, 17);
			DT_EVENT(65535, 65535, 0xffffffff);
			DT_TEXT(SHOP, NOTE, much, sizeof(much));
			DT_SEND(0x12345);
			DT_RECEIVE(0x12345);
			printf("%d\n", pay(3));
			return 0;
		}
	C
	gcc -O2 -g -B"$root/build/lib" -I"$root/include" -o "$dir/shop" "$dir/shop.c"
	gcc -O2 -g -I"$root/include" -o "$dir/shop-plain" "$dir/shop.c"
	for p in switched disable; do
		gcc -O2 -g -I"$root/include" -o "$dir/$p" "$root/test/events/$p.c"
	done
	gcc -O2 -g -B"$root/build/lib" -I"$root/include" -o "$dir/disable-sleds" "$root/test/events/disable.c"
}

# kinds of the records in $1, counted: "2E 2X 3V"
kinds() {
	"$dt" cat "$1" | cut -c1 | sort | uniq -c | awk '{ printf "%s%d%s", s, $1, $2; s = " " }'
}

bodies() {
	"$dt" cat "$1" | grep '^[VMN]' | cut -d' ' -f5 | tr '\n' ' '
}

@test "events: a program without sleds is recorded; bodies to the bit (rows 26, 28, 30)" {
	run "$dt" record -p wait -o "$dir/t.db" "$dir/shop-plain"
	[ "$status" = 0 ]
	[ "$output" = 6 ]
	run bodies "$dir/t.db"
	[ "$output" = "0007000100000011 a000000100000011 ffffffffffffffff 000700030001000a ea00000012345000 eb00000012345000 012c000200000003 0007000300000009 " ]
}

@test "events: calls shows them in their call, with texts, what is cut of them, and names" {
	"$dt" record -o "$dir/t.db" "$dir/shop"
	run "$dt" calls "$dir/t.db"
	[[ $output == *"main() {"* ]]
	[[ $output == *"* SHOP:ENTER(17)"* ]]
	[[ $output == *"* 40960:1(17)"* ]]
	[[ $output == *"* 65535:65535(4294967295)"* ]]
	# four characters for each byte, nothing left out
	[[ $output != *"cannot write"* ]]
	note=$(grep -F '* SHOP:NOTE("\x00' <<<"$output")
	[[ $note == *'\x00"... 65536 of 65546 bytes)' ]]
	[ "$(grep -oF '\x00' <<<"$note" | wc -l)" = 65536 ]
	[[ $output == *"* send(0x12345)"*"* receive(0x12345)"* ]]
	in_pay=$(sed -n '/pay(sum=3) {/,/} = 6/p' <<<"$output")
	[[ $in_pay == *"    * TILL:PAY(3, 0x4, 0xffffffffffffffff)"* ]]
	[[ $in_pay == *'    * SHOP:NOTE("a \"note\"\n")'* ]]
	[[ $output == *"} = 0  /* main */"* ]]
}

@test "events: calls shows the longest texts whole, of every thread" {
	cat >"$dir/long.c" <<-'C'
		#include <devtrace.h>
		#include <pthread.h>
		static void *note(void *unused)
		{
			static char much[DT_TEXT_MAX];
			DT_TEXT(7, 1, much, sizeof(much));
			return unused;
		}
		int main(void)
		{
			pthread_t t;
			for (int i = 0; i < 2; i++)
				if (pthread_create(&t, 0, note, 0) || pthread_join(t, 0))
					return 1;
			note(0);
			return 0;
		}
	C
	gcc -O2 -g -B"$root/build/lib" -I"$root/include" -o "$dir/long" "$dir/long.c" -pthread
	"$dt" record -p wait -o "$dir/t.db" "$dir/long"
	"$dt" calls "$dir/t.db" >"$dir/calls" 2>"$dir/err"
	[ ! -s "$dir/err" ]
	# each with nothing but what is around it
	[ "$(awk '/7:1/ { n = gsub(/\\x00/, ""); sub(/^ */, ""); print n $0 }' "$dir/calls" | sort -u)" = '65536* 7:1("")' ]
	[ "$(grep -c '7:1' "$dir/calls")" = 3 ]
}

@test "events: a text with any byte is printed so that it can be read back" {
	cat >"$dir/bytes.c" <<-'C'
		#include <devtrace.h>
		int main(void)
		{
			static char all[256];
			for (int i = 0; i < 256; i++)
				all[i] = (char)i;
			DT_TEXT(7, 1, all, sizeof(all));
			return 0;
		}
	C
	gcc -O2 -g -I"$root/include" -o "$dir/bytes" "$dir/bytes.c"
	"$dt" record -F 7 -o "$dir/t.db" "$dir/bytes" || "$dt" record -o "$dir/t.db" "$dir/bytes"
	"$dt" calls "$dir/t.db" >"$dir/calls"
	"$dt" sql --csv --no-header "$dir/t.db" "SELECT hex(text) FROM events WHERE text IS NOT NULL" >"$dir/hex"
	python3 - "$dir/calls" <<-'P'
		import re, sys
		[line] = [l for l in open(sys.argv[1], "rb").read().split(b"\n") if b"7:1(" in l]
		text = re.search(rb'7:1\("(.*)"\)', line).group(1)
		# nothing that a terminal would obey
		assert not re.search(rb"[\x00-\x1f\x7f]", text), text
		back = re.sub(rb"\\(x(..)|n|.)", lambda m: bytes([int(m[2], 16)]) if m[2] else b"\n" if m[1] == b"n" else m[1], text)
		assert back == bytes(range(256)), back
	P
}

@test "events: a program without sleds has its calls recorded too, as one with sleds" {
	for p in shop shop-plain; do
		"$dt" record -p wait -F main -F pay -F 'SHOP:*' -F 'TILL:*' -o "$dir/t.db" "$dir/$p" >/dev/null
		"$dt" calls "$dir/t.db" | sed '/^#/d; s/^ *[0-9.]* us//; s/^ *//; s/main(.*) {/main() {/' >"$dir/$p.calls"
	done
	grep -q 'pay(sum=3) {' "$dir/shop-plain.calls"
	cmp "$dir/shop.calls" "$dir/shop-plain.calls"
	# one without the other
	"$dt" record -F pay -o "$dir/t.db" "$dir/shop-plain" >/dev/null
	[ "$(kinds "$dir/t.db")" = "1E 1X" ]
	"$dt" record -F 'TILL:*' -o "$dir/t.db" "$dir/shop-plain" >/dev/null
	[ "$(kinds "$dir/t.db")" = "1V" ]
	"$dt" record -N 'SHOP:*' -N 'message:*' -o "$dir/t.db" "$dir/shop-plain" >/dev/null
	[ "$("$dt" cat "$dir/t.db" | grep -c ^V)" = 3 ]
	[ "$("$dt" calls "$dir/t.db" | grep -c 'pay(sum=3) {')" = 1 ]
	# at an instruction
	"$dt" record -T 'pay REG rdi' -F 'TILL:*' -o "$dir/t.db" "$dir/shop-plain" >/dev/null
	[[ $("$dt" calls "$dir/t.db") == *"pay(rdi=0x3)"*"TILL:PAY(3,"* ]]
}

@test "events: a library's are recorded, its functions without sleds when they are asked for" {
	cat >"$dir/lib.c" <<-'C'
		#include <devtrace.h>
		__attribute__((noinline)) int store(int n) { return n ^ 5; }
		int keep(int n)
		{
			int r = store(n);
			DT_EVENT(9, 1, r);
			return store(r);
		}
	C
	printf 'int keep(int);\nint main(void) { return keep(3) != 3; }\n' >"$dir/user.c"
	gcc -O1 -g -fPIC -shared -I"$root/include" -o "$dir/libstore.so" "$dir/lib.c"
	gcc -O1 -g -o "$dir/user" "$dir/user.c" -L"$dir" -lstore -Wl,-rpath,"$dir"
	"$dt" record -o "$dir/t.db" "$dir/user"
	[[ $("$dt" calls "$dir/t.db") == *"main("*"* 9:1("* ]]
	[[ $("$dt" calls "$dir/t.db") != *keep* ]]
	"$dt" record -F 'libstore.so:*' -o "$dir/t.db" "$dir/user"
	[ "$("$dt" sql -n "$dir/t.db" "SELECT count(*) FROM calls WHERE function IN ('keep', 'store')")" = 3 ]
	"$dt" record -F '9:*' -o "$dir/t.db" "$dir/user"
	[ "$(kinds "$dir/t.db")" = "1V" ]
}

@test "events: cat: the line of 121 bytes, and names in the long one" {
	"$dt" record -F 'TILL:*' -o "$dir/t.db" "$dir/shop"
	line=$("$dt" cat "$dir/t.db")
	[ "${#line}" = 120 ]
	[[ $line == "V "*" 012c000200000003 0000000000000004 ffffffffffffffff 0000000000000000" ]]
	run "$dt" cat -l "$dir/t.db"
	[[ $output == *"kind=V"*"function=pay v0=0x12c000200000003 v1=0x4 v2=0xffffffffffffffff event=TILL:PAY" ]]
}

@test "events: -F and -N choose by subsystem:event, names or numbers (row 27)" {
	want() {
		"$dt" record "${@:2}" -o "$dir/t.db" "$dir/shop" >/dev/null
		[ "$(kinds "$dir/t.db")" = "$1" ] || { echo "${*:2}: $(kinds "$dir/t.db")"; return 1; }
	}
	want "1V" -F SHOP:ENTER
	want "1V" -F 7:1
	want "3V 2048c" -F 'SHOP:*'
	want "1E 1M 1N 3V 1X" -F pay -F 'message:*' -F '*:*' -N 'SHOP:*' -N shop:main
	want "2E 1M 1N 3V 2X" -N '7:*'
	want "1M" -F message:send
	want "1V" -F 65535:65535
	run "$dt" record -F SHOP:ENTRE -o "$dir/t.db" "$dir/shop"
	[ "$status" != 0 ]
	[[ $output == *"no event"*ENTER* ]]
}

@test "events: a subsystem is switched while the program runs (row 27), raw events are not (row 28)" {
	run "$root/build/test/tool/switch" "$dir/t.db" "$dir/switched"
	[ "$status" = 6 ]
	[ "$output" = "0: 1 1 1 0
1: 1 0 1 0
2: 1 1 1 0
3: 1 0 0 0
4: 1 0 0 0
5: 1 0 1 0
6: 1 0 1 0
7: 1 1 1 0
8: 1 1 1 0" ]
	got=$("$dt" cat "$dir/t.db" | grep '^V' | cut -d' ' -f5 | sort | cut -c1-8,13-16 | tr '\n' ' ')
	# by body: subsystem and event, then the step
	[ "$got" = "000700010000 000700010002 000700010007 000700010008 000700020004 000700020004 000700020004 000700020004 000700630000 000700630001 000700630002 000700630003 000700630004 000700630005 000700630006 000700630007 000700630008 000800010000 000800010001 000800010002 000800010005 000800010006 000800010007 000800010008 " ]
	[ "$("$dt" cat "$dir/t.db" | grep -c '^M')" = 9 ]
}

@test "events: a process that opts out adds nothing, nor do its children (row 45)" {
	for p in disable disable-sleds; do
		run "$dt" record -p wait -o "$dir/t.db" "$dir/$p"
		[ "$status" = 4 ]
		[ "$output" = "before 1 1
after 0 0
child 0 0" ]
		case $p in
		disable) # by probes, others of its functions too
			[[ $(kinds "$dir/t.db") == *" 2V "* ]]
			# behind the events at most the exit of the function that they are in
			[[ $("$dt" cat -l "$dir/t.db" | tail -n 1) =~ ^kind=(V|X)\ .*\ function=called\  ]]
			;;
		*) [ "$(kinds "$dir/t.db")" = "2E 2V 1X" ] ;;
		esac
	done
	# also when the controller does nothing about it, so that the sites stay on
	run timeout -k 1 30 "$dt" record -p wait -o "$dir/t.db" "$dir/disable-sleds" alone
	[ "$status" = 4 ]
	[ "$(kinds "$dir/t.db")" = "2E 2V 1X" ]
	# without rseq too
	DEVTRACE_NO_RSEQ=1 GLIBC_TUNABLES=glibc.pthread.rseq=0 run "$dt" record -p wait -o "$dir/t.db" "$dir/disable-sleds"
	[ "$(kinds "$dir/t.db")" = "2E 2V 1X" ]
}

@test "events: who opted out is not recorded by a later session either" {
	rm -f "$dir/t.db" # one with records stays when there is nothing to record
	export XDG_RUNTIME_DIR=$dir
	start_spin "$dir/disable" 500
	"$dt" attach -d -s out -o "$dir/t.db" "$pid" 3>&-
	# and has turned more than once since
	turns=0
	while [ $turns -lt 5 ] && read -r line <&"$out"; do
		case $line in turn*) turns=$((turns + 1)) ;; esac
	done
	for i in 1 2 3; do read -r line <&"$out"; done
	"$dt" ctl -s out >"$dir/state"
	"$dt" ctl -s out quit
	stop_spin
	grep -qx '#tracehits 0, in queue 0' "$dir/state"
	grep -qx '#traceactive 1' "$dir/state"
	while [ -S "$dir/devtrace/out.sock" ]; do sleep 0.02; done
	[ -z "$(kinds "$dir/t.db")" ]
}

@test "events: attached to and detached from, again and again" {
	cat >"$dir/busy.c" <<-'C'
		#include <devtrace.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			alarm(100); /* ends by itself should its test not end it */
			for (unsigned i = 0;; i++) {
				DT_EVENT(1, 2, i);
				DT_EVENT(1, 3, i, i, i, i);
				DT_TEXT(1, 4, "some text in more than one of the records", 41);
			}
		}
	C
	gcc -O2 -I"$root/include" -o "$dir/busy" "$dir/busy.c"
	start_spin "$dir/busy"
	rm -f "$dir/t.db"
	for i in 1 2 3 4 5 6; do
		"$dt" attach -p drop -o "$dir/t.db" "$pid" 2>/dev/null 3>&- &
		tracer=$!
		for k in $(seq 500); do
			[ "$(sqlite3 "file:$dir/t.db?mode=ro" 'select count(*) from chunk' 2>/dev/null || echo 0)" -gt 0 ] && break
			sleep 0.02
		done
		kill -INT "$tracer"
		wait "$tracer"
		[ "$("$dt" cat "$dir/t.db" 2>/dev/null | head -3 | grep -c '^[Vc]')" = 3 ]
		kill -0 "$pid"
		rm -f "$dir/t.db"
	done
	stop_spin
}

@test "events: numbers that are none are refused by the compiler, in one line" {
	for bad in 'DT_EVENT(70000, 1, 1)' 'DT_EVENT(1, -1, 1)' 'DT_EVENT(n, 1, 1)'; do
		printf '#include <devtrace.h>\nvoid f(int n) { %s; (void)n; }\n' "$bad" >"$dir/bad.c"
		for cc in gcc clang; do
			run $cc -c -I"$root/include" -o "$dir/bad.o" "$dir/bad.c"
			[ "$status" != 0 ]
			[[ $output == *constant* ]]
		done
	done
}

@test "events: left out by DEVTRACE_NO_EVENTS, they evaluate their values and no more" {
	gcc -O2 -DDEVTRACE_NO_EVENTS -I"$root/include" -o "$dir/none" "$dir/shop.c"
	run "$dir/none"
	[ "$output" = 6 ]
	run readelf -SW "$dir/none"
	[[ $output != *devtrace* ]]
	g++ -x c++ -std=c++17 -Wall -Wextra -Werror -DDEVTRACE_NO_EVENTS -I"$root/include" -o "$dir/none" "$root/test/events/switched.c"
}

@test "events: notes that other tools read" {
	run readelf -n "$dir/shop-plain"
	[[ $output == *"Provider: SHOP"*"Name: ENTER"*"Arguments: 2@\$7 2@\$1 4@\$17"* ]]
	[[ $output == *"Provider: devtrace"*"Name: event_65535_65535"* ]]
	[[ $output == *"Provider: TILL"*"Name: PAY"* ]]
	[[ $output == *"Provider: devtrace"*"Name: send"* ]]
	! [[ $output == *orrupt* ]] || false
	command -v perf >/dev/null || return 0
	perf --buildid-dir "$dir/perf" buildid-cache --add "$dir/shop-plain"
	run perf --buildid-dir "$dir/perf" list sdt
	[[ $output == *"sdt_SHOP:ENTER"* ]]
}

@test "list: events with their places, numbers and kinds" {
	run "$dt" list "$dir/shop-plain"
	[ "$status" = 0 ]
	[[ $output == *"shop-plain:main"* && $output == *"shop-plain:pay"* ]]
	[ "$(grep '^event' <<<"$output")" = "event 0xa000:1
event 65535:65535
event SHOP:ENTER
event SHOP:NOTE
event TILL:PAY
event message:receive
event message:send" ]
	run "$dt" list -v "$dir/shop"
	[[ $output == *"event SHOP:NOTE	0x"*"	shop:main	7:3	text"* ]]
	[[ $output == *"event SHOP:NOTE	0x"*"	shop:pay	7:3	text"* ]]
	[[ $output == *"event TILL:PAY	0x"*"	shop:pay	300:2	3 values"* ]]
	[[ $output != *usdt* ]]
}

@test "list: USDT probes of Debian's own programs, every argument understood" {
	n=0
	for f in /usr/lib/postgresql/15/bin/postgres /usr/bin/python3.11 /usr/lib/x86_64-linux-gnu/libstdc++.so.6; do
		[ -e "$f" ] || continue
		"$dt" list -v "$f" >"$dir/list" 2>"$dir/err"
		run grep '^usdt ' "$dir/list" # without its functions
		[[ $output != *'?'* ]]
		# as many as readelf counts
		[ "${#lines[@]}" = "$(readelf -n "$f" 2>/dev/null | grep -c NT_STAPSDT)" ]
		# and as many arguments
		have=$(grep -o '[suf][1248] [%[0-9a-zA-Z_-]' <<<"$output" | wc -l)
		[ "$have" = "$(readelf -n "$f" 2>/dev/null | grep Arguments: | grep -o @ | wc -l)" ]
		n=$((n + 1))
	done
	[ "$n" -gt 0 ]
	run "$dt" list -v /usr/lib/x86_64-linux-gnu/libstdc++.so.6
	[[ $output == *"usdt libstdcxx:throw"*"__cxa_throw	u8 %rdi, u8 %rsi"* ]]
}

@test "events: the example" {
	run "$root/examples/events.sh"
	[ "$status" = 0 ]
	[[ $output == *"event SHOP:ARRIVE"* ]]
	[[ $output == *"6 served, and recorded"* ]]
	[[ $output == *'* SHOP:NOTE("has not got enough")'* ]]
	[[ $output == *"event=TILL:PAID"* ]]
	[ "$(grep -c 'kind=M' <<<"$output")" = 6 ]
	[ "$(grep -c 'kind=N' <<<"$output")" = 6 ]
}

@test "events: the header is installed, and found by pkg-config" {
	make -C "$root" -s install DESTDIR="$dir/root" PREFIX=/opt/dt
	flags=$(PKG_CONFIG_PATH=$dir/root/opt/dt/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/root pkg-config --cflags devtrace)
	[[ $flags == *"-I"*"/opt/dt/include"* ]]
	cmp "$dir/root/opt/dt/include/devtrace.h" "$root/include/devtrace.h"
	gcc -I"$dir/root/opt/dt/include" -o "$dir/shop-installed" "$dir/shop.c"
}
