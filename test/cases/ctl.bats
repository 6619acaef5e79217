# SPDX-License-Identifier: MIT
# The device language, told to a session: what doc/language.md says of each command.
load session

setup() {
	export XDG_RUNTIME_DIR=$dir/run
	obeyers=() sessions=()
	cd "$BATS_TEST_TMPDIR" || return 1
	start_obey
	begin t "$pid"
}

not() {
	! "$@"
}

# how many records of each kind and function are in the log, taking them: "E add 3"
taken() {
	"$dt" cat -s t -l 2>/dev/null | sed 's/kind=\(.\).*function=\([^ ]*\).*/\1 \2/' | sort | uniq -c |
		awk '{ printf "%s%s %s %s", (NR > 1 ? ", " : ""), $2, $3, $1 }'
}

# expect "what taken prints"
expect() {
	local got
	got=$(taken)
	[ "$got" = "$1" ] || { echo "expected '$1', got '$got'"; return 1; }
}

# a command that must fail with this text in its one line, and change nothing
bad() {
	local before after text=$1
	before=$(state)
	shift
	run ctl "$@"
	[ "$status" = 1 ] || { echo "accepted: $*"; return 1; }
	one_line "$text" || return 1
	after=$(ctl)
	[ "$(lasting <<<"$after")" = "$before" ] || { echo "changed by: $*"; return 1; }
	# the language's own messages have the prefix already
	[[ ${after##*$'\n'} == @("#error $output"|"#error ${output#devtrace: }") ]]
}

@test "check-061-fresh: eight lines, in this order" {
	run ctl
	[ "${#lines[@]}" = 8 ]
	[ "${lines[0]}" = "logsize 8192" ]
	[ "${lines[1]}" = "#tracehits 0, in queue 0" ]
	[[ ${lines[2]} =~ ^#tracelog\ [0-9a-f]{16}$ ]]
	[ "${lines[3]}" = "#newplfail 0" ]
	[ "${lines[4]}" = "#traceactive 0" ]
	[ "${lines[5]}" = "#slothits 0" ]
	[ "${lines[6]}" = "#traceinhits 0" ]
	[ "${lines[7]}" = "watch 0" ]
}

@test "a program with events and no sleds: both, switched one without the other, and nothing of it stays" {
	sed 's/return add(n, 1) + add(n, 2);/long r = add(n, 1); DT_EVENT(7, 1, n); return r + add(n, 2);/' "$dir/obey.c" >events.c
	gcc -O1 -g -pthread -I"$root/include" -include devtrace.h -o events events.c
	start_obey ./events
	code() {
		dd if="/proc/$pid/mem" bs=4096 iflag=skip_bytes,count_bytes status=none count=4096 \
			skip=$((0x$(awk '/r-xp.*events$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps"))) | sha256sum
	}
	areas() { grep -c 'r-xp 00000000 00:00 0 *$' "/proc/$pid/maps"; }
	before=$(code)
	for turn in 1 2; do
		begin e "$pid"
		t() { "$dt" ctl -s e "$@"; }
		got() { "$dt" cat -s e 2>/dev/null | cut -c1 | sort | uniq -c | awk '{ printf "%s%d%s", s, $1, $2; s = " " }'; }
		before_events=$(areas)
		t trace '7:*' new events
		t trace events on
		t start
		act outer 3
		[ "$(got)" = 3V ]
		# nothing has been planted for that
		[ "$(areas)" = "$before_events" ]
		t trace 'outer add' new calls
		t trace calls on
		act outer 5
		[ "$(got)" = "15E 5V 15X" ]
		[ "$(areas)" -gt "$before_events" ]
		t subsystem 7 off
		act outer 2
		[ "$(got)" = "6E 6X" ]
		t subsystem 7 on
		t trace calls off
		act outer 4 2
		[ "$(got)" = 8V ]
		t trace calls on
		t trace outer REG rdi
		act outer 1
		[ "$(got)" = "3E 1P 1V 3X" ]
		t quit
		until_true test ! -S "$XDG_RUNTIME_DIR/devtrace/e.sock"
		while [ "$(areas)" != 0 ]; do sleep 0.02; done
		[ "$(code)" = "$before" ]
		act outer 2
		[ "$answer" = done ]
	done
}

@test "a program with sleds and a tracepoint is left without a pointer to where devtrace was" {
	slots() {
		local address low
		address=$(readelf -SW "$dir/obey" | awk '$0 ~ / devtrace_hooks / { sub(/.*devtrace_hooks /, ""); print $2 }')
		low=$(awk '/obey$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps")
		dd if="/proc/$pid/mem" bs=32 count=1 iflag=skip_bytes skip=$((0x$low + 0x$address)) status=none | od -An -v -tx8 | xargs
	}
	none='0000000000000000 0000000000000000 0000000000000000 0000000000000000'
	ctl trace 'outer add' new calls
	ctl trace calls on
	ctl trace outer REG rdi
	ctl start
	act outer 2
	[ "$(taken)" = "E add 4, E outer 2, P outer 2, X add 4, X outer 2" ]
	[ "$(slots)" != "$none" ]
	ctl quit
	while grep -q 'r-xp 00000000 00:00 0 *$' "/proc/$pid/maps"; do sleep 0.02; done
	[ "$(slots)" = "$none" ]
	act outer 2
	[ "$answer" = done ]
}

@test "everything is of the program only, also when some library's functions have been chosen before" {
	ctl trace 'libc.so*:getppid' new one
	ctl trace one on
	ctl trace '*' new all
	ctl trace all on
	ctl start
	act add 2
	ctl stop
	"$dt" cat -s t -l >all
	[ "$(grep -c 'function=add ' all)" = 4 ]
	! grep -qE 'function=(_IO_)?(puts|fgets|strcmp|memcpy)' all
}

@test "check-075-counters: the paper's figure 2, every number known beforehand" {
	ctl trace add new rtc
	ctl trace rtc on
	ctl start
	act add 181
	act sync 7
	run ctl
	[[ ${lines[1]} =~ ^trace\ [0-9a-f]{16}\ [0-9a-f]{16}\ new\ rtc$ ]]
	[[ ${lines[2]} =~ ^#trace\ [0-9a-f]{16}\ traced\?\ 0*1$ ]]
	[ "${lines[3]}" = "trace rtc on" ]
	[ "${lines[4]}" = "#tracehits 362, in queue 362" ]
	[ "${lines[6]}" = "#newplfail 0" ]
	[ "${lines[7]}" = "#traceactive 1" ]
	[ "${lines[8]}" = "#slothits 363" ] # and the look-up of this reading
	[ "${lines[9]}" = "#traceinhits 181" ]
	[ "${lines[10]}" = "watch 0" ]
	[ "${lines[11]}" = "#traceouthits 181" ]
	[ "${lines[12]}" = "start" ]
	ctl query add
	ctl query sync
	[ "$(count slothits)" = 365 ]
	[ "$("$dt" cat -s t | head -c 1210 | wc -l)" = 10 ]
	ctl | grep -qx '#tracehits 362, in queue 0'
	act add 9
	ctl | grep -qx '#tracehits 380, in queue 18'
	[ "$(count traceinhits) $(count traceouthits)" = "190 190" ]
}

@test "check-007-life-of-a-range: create, on, off, rename, remove; check-013-rename" {
	ctl start
	ctl trace add new a
	act add 1
	expect ""
	ctl trace a on
	ctl trace a on
	act add 2
	expect "E add 2, X add 2"
	ctl trace a off
	act add 3
	expect ""
	ctl trace a on
	ctl trace a rename fifteen-letters
	bad "trace not found: 'a'" trace a off
	act add 1
	expect "E add 1, X add 1"
	act add 1
	ctl trace fifteen-letters remove
	act add 5
	expect "E add 1, X add 1" # what was there can still be read
	not grep -q add <(ctl)
	ctl trace add new fifteen-letters
}

@test "check-008-batch: a thousand definitions, ten of them on" {
	seq -f 'trace zz_* new n%.0f' 991 >many
	for f in sync getpid link unlink add outer busy main work; do echo "trace $f new r$f"; done >>many
	ctl - <many
	ctl start
	act add 2
	expect ""
	[ "$(ctl | grep -c ' new ')" = 1000 ]
	printf 'trace radd on\ntrace rlink on\n' | ctl -
	act add 2
	act link 1
	act sync 5
	expect "E add 2, E link 1, X add 2, X link 1"
	[ "$(ctl | grep ' new ' | sed -n '1p;991p' | cut -d' ' -f4 | xargs)" = "n1 n991" ]
}

@test "check-001-range: by addresses, all in it and nothing else; check-005 entries or exits only" {
	address() { nm "$dir/obey" | sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p"; }
	# the functions lie in the order of the source
	ctl trace "$(address link)" "$(printf %x $((0x$(address add) - 1)))" new two
	ctl trace two on
	ctl start
	for f in sync link unlink add; do act "$f" 5; done
	expect "E link 5, E unlink 5, X link 5, X unlink 5"
	ctl trace two remove
	ctl trace add new in ENTRY
	ctl trace sync new out EXIT
	ctl trace in on
	ctl trace out on
	act add 3
	act sync 2
	expect "E add 3, X sync 2"
}

@test "check-018-addresses: symbol first, 0x forces a number, sums; check-017 short and full" {
	range_of() { ctl | sed -n "s/^trace \([0-9a-f]*\) \([0-9a-f]*\) new $1\$/\1 \2/p"; }
	ctl trace add add+3 new symbol
	start=$(range_of symbol | cut -d' ' -f1)
	ctl trace symbol remove
	offset=$(nm "$dir/obey" | sed -n 's/^0*\([0-9a-f]*\) . add$/\1/p')
	for form in "$offset" "0x$offset" "$start" "0x$start" "obey:add" "obey.c:$(grep -n 'FN long add' "$dir/obey.c" | cut -d: -f1)"; do
		case $form in *:*) ctl trace "$form" new f ;; *) ctl trace "$form" "$form" new f ;; esac
		[ "$(range_of f | cut -d' ' -f1)" = "$start" ] || { echo "$form"; return 1; }
		ctl trace f remove
	done
	bad "$(printf %x $((0x$start - 0x$offset + 0xadd))) is not code" trace 0xadd 0xadd new number
	ctl trace sync+10 sync+10 new sum
	ctl trace sync sync new zero
	[ $((0x$(range_of sum | cut -d' ' -f1) - 0x$(range_of zero | cut -d' ' -f1))) = 16 ]
}

@test "check-014-overlap: closed intervals; adjacent ones are not" {
	ctl trace main+10 main+20 new old
	for r in "10 20" "8 10" "20 28" "8 28" "12 14" "10 12" "14 20" "10 10" "20 20"; do
		bad "given range overlaps with existing trace 'old'" trace "main+${r% *}" "main+${r#* }" new n
	done
	ctl trace main+8 main+f new before
	ctl trace main+21 main+28 new behind
	bad "overlaps" trace main new all
}

@test "check-016-bad-ranges and check-015-names: each with its error, nothing changed" {
	ctl trace add new a
	bad "invalid address range" trace main+8 main+4 new n
	bad "invalid address range" trace 1000000000 1000000001 new n
	bad "start address not in recognized format: 'no_such'" trace no_such main new n
	bad "end address not in recognized format: 'no_such'" trace main no_such new n
	bad "start address not in recognized format: 'no_such'" trace no_such new n
	bad "trace with that name already exists: 'a'" trace main new a
	bad "trace already exists: 'a'" trace a main new n
	bad "usage: trace <ktextstart> <ktextend> new <name>" trace main main+1 new
	bad "at most 63" trace main new "$(printf %064d 0)"
	bad "needs a name" trace main new ''
	bad "control character" trace main new $'a\tb'
	ctl trace main new "$(printf %063d 0)"
}

# bats test_tags=long
@test "check-091-errors: unknown, too few, too many, out of range: nothing changes" {
	ctl trace add new a
	ctl trace a on
	ctl watch 7
	bad "unknown command 'bogus'" bogus
	bad "unknown command 'TRACE'" TRACE add
	bad "usage: trace" trace
	bad "trace not found: 'none'" trace none on
	bad "trace not found: 'none'" trace none off
	bad "trace not found: 'none'" trace none remove
	bad "trace not found: 'none'" trace none rename x
	bad "trace with that name already exists" trace a rename a
	bad "usage: trace <name> on" trace a on now
	bad "usage: trace <name> rename" trace a rename
	bad "usage: trace <name> rename" trace a rename b c
	bad "no option of a trace" trace main new m WHAT
	bad "usage: size <exponent>" size
	bad "usage: size <exponent>" size 4 5
	bad "size not in recognized format: 'x'" size x
	bad "size not in recognized format: '-1'" size -1
	bad "can't allocate that much" size 27
	bad "can't allocate that much" size 18446744073709551615
	bad "size not in recognized format" size 99999999999999999999999
	bad "usage: logsize" logsize
	bad "no power of two" logsize 100
	bad "no power of two" logsize 0
	bad "usage: query <addr>" query
	bad "usage: query <addr>" query a b
	bad "not in recognized format" query no_such
	bad "usage: testtracein" testtracein add 1 2 3
	bad "usage: testtracein" testtracein add 1 2 3 4 5
	bad "no hexadecimal number" testtracein add 1 2 3 x
	bad "usage: watch" watch
	bad "PID must be greater than zero" watch -1
	bad "no process or thread id" watch x
	bad "no process or thread id" watch 4294967296
	bad "stands alone" watch 0 5
	bad "usage: start" start now
	bad "usage: stop" stop now
	bad "usage: all" all now
	bad "usage: freeze" freeze now
	bad "usage: unfreeze" unfreeze now
	bad "usage: reset" reset now
	bad "usage: uniform" uniform maybe
	bad "usage: policy" policy
	bad "usage: policy" policy best
	bad "usage: events" events -1
	bad "usage: events" events
	bad "usage: delete" delete
	bad "trace not found" delete a none
	bad "usage: list" list all
	bad "usage: status" status now
	bad "usage: quit" quit now
	bad "usage: attach" attach
	bad "usage: attach" attach 1 2
	for number in 0 -1 x 1x 2147483648 4294967296 4294967297 18446744073709551617; do
		bad "usage: attach" attach $number
		bad "usage: detach" detach $number
	done
	bad "no process" attach 4194000
	bad "is not traced here" detach 4194000
	bad "LATEFREEZE needs a number" trace add LATEFREEZE
	bad "LATEFREEZE needs a number" trace add LATEFREEZE x
	bad "ONLYPID" trace add ONLYPID 0
	bad "contradict" trace add BASE ADJACENT
	bad "contradict" trace add FREEZE LATEFREEZE 3
	bad "REG needs a register" trace add REG
	bad "STACK needs an offset" trace add STACK
	bad "for tracepoints" trace add new b REG rax
	bad "usage: subsystem" subsystem
	bad "there is none of that name" subsystem nosuch on
	bad "there are 65536" subsystem 65536 on
}

@test "check-091-bytes: empty, NUL, a megabyte, quotes, too many words" {
	before=$(state)
	run "$dt" ctl -s t - </dev/null
	[ "$status" = 1 ]
	one_line "empty command"
	run "$dt" ctl -s t - < <(printf 'sta\0rt')
	[ "$status" = 1 ]
	one_line "NUL byte"
	head -c 1000000 /dev/zero | tr '\0' x >line
	run "$dt" ctl -s t - <line
	[ "$status" = 1 ]
	one_line "unknown command 'xxxx"
	[ "${#output}" -lt 200 ]
	run "$dt" ctl -s t - < <(printf 'trace %s new n' "$(cat line | head -c 10000)")
	[ "$status" = 1 ]
	one_line "too long for an address"
	run "$dt" ctl -s t - < <(printf "trace 'main new n")
	[ "$status" = 1 ]
	one_line "quote"
	run "$dt" ctl -s t - < <(seq -f 'w%.0f' 300 | xargs)
	[ "$status" = 1 ]
	one_line "words"
	[ "$(state)" = "$before" ]
	# these are accepted: what programs write; comments, empty lines
	printf 'start\0' | ctl -
	printf '\n\n# a comment\n   \nstop\n' | ctl -
	# the first that fails ends it, and says where
	run "$dt" ctl -s t - < <(printf 'start\n\nbogus\nstop\n')
	[ "$status" = 1 ]
	one_line "line 3: " "unknown command 'bogus'"
	[ "$(count traceactive)" = 1 ]
}

@test "check-091-two-functions: a symbol that is two lists them" {
	echo '__attribute__((noipa)) static int twin(int n) { return n + 1; } int one(int n) { return twin(n); }' >one.c
	cat >two.c <<-'C'
		#include <stdio.h>
		int one(int);
		__attribute__((noipa)) static int twin(int n) { return n + 2; }
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			return getchar() + one(1) + twin(1);
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o twins one.c two.c
	start_obey ./twins
	begin u "$pid"
	run "$dt" ctl -s u trace twin new n
	[ "$status" = 1 ]
	one_line "'twin' names 2 functions" "twins:"
	address=$(sed 's/.*twins:\([0-9a-f]*\).*/\1/' <<<"$output")
	"$dt" ctl -s u trace "$address" "$address" new n
	not grep -q '#error' <("$dt" ctl -s u)
	# a constructor has two names, which are read alike
	cat >shop.cc <<-'C'
		#include <cstdio>
		struct Shop { int n; Shop(int n); };
		Shop::Shop(int n) : n(n) { __asm__ volatile(""); }
		int main() { puts("ready"); fflush(stdout); Shop s(getchar()); return s.n; }
	C
	g++ -O1 -g -B"$root/build/lib" -o shop shop.cc
	start_obey ./shop
	begin v "$pid"
	"$dt" ctl -s v trace Shop::Shop new s
	not grep -q '#error' <("$dt" ctl -s v)
	[ "$("$dt" ctl -s v | grep -c '^trace .* new s$')" = 1 ]
}

@test "check-077-replay: a hundred ranges, ten PIDs, everything else: written back it is equal" {
	for i in $(seq 0 99); do printf 'trace main+%x main+%x new r%d\n' $((i * 4)) $((i * 4 + 3)) "$i"; done >many
	cat >>many <<-'T'
		trace r3 on
		trace r99 on
		trace r5 rename 'with a blank and ''quotes'''
		trace 'a* !add' new 'set of them' ENTRY
		trace 'set of them' on
		trace sync FREEZE PID link LATEFREEZE 7 BASE
		trace unlink COUNT
		trace unlink off
		trace getpid CONST 0x77 ADJACENT
		trace getpid rename who
		watch 11 12 13 14 15
		watch 16
		watch 17 18 19 20
		size 6
		policy drop
		subsystem all off
		subsystem 7 on
		events 1000000
		uniform on
		start
	T
	ctl - <many
	keep() { "$dt" ctl -s "$1" | grep -v -e '^#tracehits' -e '^#tracelog' -e '^#slothits' -e '^#trace[io]'; }
	keep t >saved
	[ "$(grep -c '^trace.* new ' saved)" = 101 ]
	[ "$(grep -c '^watch' saved)" = 10 ]
	grep -qx "trace 'a\* !add' new 'set of them' ENTRY" saved
	ctl quit
	until_true not ctl
	begin t "$pid"
	"$dt" ctl -s t - <saved
	keep t >again
	diff saved again
	# written over itself, it fails at the first definition and changes nothing
	run "$dt" ctl -s t - <saved
	[ "$status" = 1 ]
	diff saved <(keep t | grep -v '^#error')
}

@test "check-031-query and check-032-testtracein" {
	[ "$(ctl query add)" = "Probing is disabled" ]
	ctl trace add new a
	[ "$(ctl query add)" = "Probing is disabled" ]
	ctl trace a on
	[ "$(ctl query add)" = "Probing is enabled" ]
	[ "$(ctl query add+1)" = "Probing is enabled" ]
	ctl testtracein add 7be 1234567890abcdef 0 ffffffffffffffff
	ctl testtracein sync 1 2 3 4
	"$dt" cat -s t >line
	[ "$(wc -l <line)" = 1 ]
	[ "$(cut -c1,53- line)" = "E 00000000000007be 1234567890abcdef 0000000000000000 ffffffffffffffff" ]
	# the filter is that of whoever writes
	ctl watch 1
	ctl testtracein add 1 2 3 4
	[ -z "$("$dt" cat -s t)" ]
}

@test "check-033-start-stop and check-034: nothing before, nothing behind; enabling while running" {
	ctl trace add new a
	ctl trace a on
	act add 4
	expect ""
	ctl start
	act add 4
	ctl stop
	act add 4
	expect "E add 4, X add 4"
	ctl trace a off
	ctl start
	ctl trace a on
	act add 1
	expect "E add 1, X add 1"
}

@test "check-060-size and check-063-overwrite: the newest 16 of 100, 84 lost" {
	ctl size 4
	ctl | grep -qx 'logsize 16'
	ctl trace add new a ENTRY
	ctl trace a on
	ctl start
	act add 100
	ctl | grep -qx '#tracehits 100, in queue 16'
	[ "$(count newplfail)" = 84 ]
	run "$dt" cat -s t
	[ "${#lines[@]}" = 17 ]
	[ "$(printf '%s\n' "${lines[@]}" | grep '^E' | cut -c54-69 | xargs)" = "$(seq -f %.0f 84 99 | xargs printf '%016x ' | xargs)" ]
	[[ $output == *"84 records are missing"* ]]
	ctl size 0
	act add 3
	ctl | grep -qx '#tracehits 3, in queue 1'
	ctl size 13
	ctl | grep -qx 'logsize 8192'
	ctl | grep -qx '#tracehits 0, in queue 0'
}

@test "check-064-drop: the first 16 of 100, 84 lost; check-074-reset" {
	ctl size 4
	ctl policy drop
	ctl trace add new a ENTRY
	ctl trace a on
	ctl start
	act add 100
	ctl | grep -qx '#tracehits 100, in queue 16'
	[ "$(count newplfail)" = 84 ]
	[ "$("$dt" cat -s t 2>/dev/null | cut -c54-69 | xargs)" = "$(seq -f %.0f 0 15 | xargs printf '%016x ' | xargs)" ]
	ctl reset
	ctl | grep -qx '#tracehits 0, in queue 0'
	[ "$(count newplfail) $(count traceinhits)" = "0 0" ]
	act add 2
	expect "E add 2"
}

@test "policy wait: the program waits, nothing is lost" {
	start_obey
	begin w -b 64K "$pid" # smaller rings than what comes
	printf 'size 8\npolicy wait\ntrace add new a ENTRY\ntrace a on\nstart\n' | "$dt" ctl -s w -
	echo 'add 20000' >&"$to"
	is_full() { "$dt" ctl -s w | grep -q 'in queue 256'; }
	until_true is_full
	"$dt" cat -s w -f >all 3>&- &
	reader=$!
	read -r -t 60 answer <&"$from"
	has_all() { [ "$(wc -l <all)" = 20000 ]; }
	until_true has_all
	"$dt" ctl -s w | grep -qx '#newplfail 0'
	[ "$(cut -c54-69 all | sort -u | wc -l)" = 20000 ]
	"$dt" ctl -s w quit
	wait "$reader"
}

@test "check-065-events: exactly so many" {
	ctl trace add new a ENTRY
	ctl trace a on
	ctl events 10
	ctl start
	act add 100 4
	ctl wait
	expect "E add 10"
	[ "$(count traceinhits)" = 10 ] # frozen, nothing is counted
}

@test "check-020-watch: two of four processes, watch 0, a thread" {
	pids=("$pid") tos=("$to") froms=("$from")
	for i in 1 2 3; do
		start_obey
		ctl attach "$pid"
		pids+=("$pid") tos+=("$to") froms+=("$from")
	done
	all() {
		for i in 0 1 2 3; do
			to=${tos[i]} from=${froms[i]}
			act add 5
		done
	}
	tids() { "$dt" cat -s t -l | sed 's/.*tid=\([0-9]*\) .*/\1/' | sort -n | uniq -c | awk '{ print $2 ":" $1 }' | xargs; }
	sorted() { for p; do echo "$p"; done | sort -n | sed "s/\$/:5/" | xargs; }
	ctl trace add new a ENTRY
	ctl trace a on
	ctl start
	ctl watch "${pids[1]}" "${pids[3]}"
	all
	[ "$(tids)" = "$(sorted "${pids[1]}" "${pids[3]}")" ]
	ctl | grep -qx "watch ${pids[1]}"
	ctl watch "${pids[0]}"
	all
	[ "$(tids)" = "$(sorted "${pids[0]}" "${pids[1]}" "${pids[3]}")" ]
	ctl all
	all
	[ "$(tids)" = "$(sorted "${pids[@]}")" ]
	ctl stop
	ctl start
	ctl watch 0
	all
	[ "$(tids)" = "$(sorted "${pids[@]}")" ]
	# one thread of a process
	act hold 0
	held=$answer
	ctl watch "$held"
	act add 5
	act add 5 -1
	[ "$(tids)" = "$held:5" ]
	# 64 of them, and more
	ctl watch 0
	seq -f 'watch %.0f' 100 199 | ctl -
	[ "$(ctl | grep -c '^watch')" = 100 ]
}

@test "freeze and unfreeze stop all recording" {
	ctl trace add new a ENTRY
	ctl trace a on
	ctl start
	ctl freeze
	act add 5
	ctl | grep -qx freeze
	ctl unfreeze
	act add 2
	expect "E add 2"
}

@test "FREEZE: the record itself is the last, also with four threads" {
	ctl trace add new a ENTRY
	ctl trace a on
	ctl trace link FREEZE
	ctl start
	act add 3
	act link 1
	act add 100 4
	act link 100 4
	expect "E add 3, E link 1"
	ctl unfreeze
	act link 100 4
	expect "E link 1"
}

@test "UNFREEZE: recording goes on with its record" {
	ctl trace add new a ENTRY
	ctl trace a on
	ctl trace link UNFREEZE unlink FREEZE
	ctl start
	ctl freeze
	act add 100 4
	act link 1
	act add 3
	act unlink 1
	act add 100 4
	expect "E add 3, E link 1, E unlink 1"
}

@test "LATEFREEZE: exactly so many records behind it, with four threads" {
	for n in 0 1 10 1000; do
		ctl reset
		printf 'trace add new a ENTRY\ntrace a on\ntrace link LATEFREEZE %d\nstart\nunfreeze\n' $n | ctl -
		act link 1
		act add 2000 4
		ctl stop
		expect "E add $n, E link 1" || [ "$n" = 0 ]
		ctl trace a remove
		ctl delete link
	done
	# constants do not count, neither the trigger's nor those of the records behind it
	printf 'trace add CONST 5 link LATEFREEZE 6 CONST 9\nstart\nunfreeze\n' | ctl -
	act link 1
	act add 20
	expect "E add 6, E link 1, c add 6, c link 1"
	ctl delete link add
	ctl trace add new a ENTRY
	ctl trace a on
	# hit again when it is frozen, or is about to be: nothing begins anew
	printf 'trace link LATEFREEZE 3\nunfreeze\n' | ctl -
	act link 2
	act add 1
	act link 4
	act add 9
	expect "E add 1, E link 3"
	ctl trace a remove
	ctl delete link
	# never reached: never frozen
	printf 'trace add new a ENTRY\ntrace a on\ntrace link LATEFREEZE 50\nstart\nunfreeze\n' | ctl -
	act link 1
	act add 23
	expect "E add 23, E link 1"
	act add 27
	act add 5
	expect "E add 27"
}

@test "a process that cannot be stopped just now is refused, and goes on when it can" {
	cat >vforks.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			puts("begun");
			fflush(stdout);
			if (vfork() == 0) {
				sleep(8); /* attach waits for five */
				_exit(0);
			}
			puts("behind it");
			return 0;
		}
	C
	gcc -o vforks vforks.c
	./vforks >out 3>&- &
	vforks=$!
	until grep -q begun out; do sleep 0.02; done
	run "$dt" ctl -s t attach "$vforks"
	[ "$status" != 0 ]
	[[ "$output" == *"can not be stopped"* ]]
	for _ in $(seq 100); do [ -e "/proc/$vforks/exe" ] || break; sleep 0.1; done
	ended=$(cat out)
	kill -KILL "$vforks" || true
	[ "$ended" = "begun
behind it" ]
}

@test "check-022-onlypid: each point for its own process" {
	one=$pid to1=$to from1=$from
	start_obey
	ctl attach "$pid"
	ctl trace add ONLYPID "$one" sync ONLYPID "$pid"
	ctl start
	act add 2
	act sync 3
	to=$to1 from=$from1
	act add 5
	act sync 7
	expect "E add 5, E sync 3"
}

@test "COUNT: counted, not recorded" {
	ctl trace add new c COUNT
	ctl trace link new l
	printf 'trace c on\ntrace l on\nstart\n' | ctl -
	act add 500 4
	act link 3
	[ "$(count traceinhits) $(count traceouthits)" = "2003 2003" ]
	ctl | grep -qx '#tracehits 6, in queue 6'
	expect "E link 3, X link 3"
}

@test "uniform: what is not traced is not recorded" {
	ctl trace add new a
	ctl trace a on
	ctl uniform on
	ctl start
	act add 5
	act link 50 2
	expect "E add 5, X add 5"
	[ "$(count traceinhits)" = 5 ]
	ctl uniform off
	act add 1
	act link 5
	expect "E add 1, X add 1"
}

@test "check-093-uniform: what is not traced costs what is, within a third" {
	case ${DEVTRACE_BUILD-} in */san) skip "the program is the same, and this recorder does not keep up with it" ;; esac
	cat >costs.c <<-'C'
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <x86intrin.h>
		#define ROUNDS 10001
		__attribute__((noinline)) int traced(int x) { __asm__ volatile(""); return x + 1; }
		__attribute__((noinline)) int untraced(int x) { __asm__ volatile(""); return x + 1; }
		static int compare(const void *a, const void *b)
		{
			uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
			return x < y ? -1 : x > y;
		}
		int main(void)
		{
			static uint64_t ticks[2][ROUNDS];
			int sum = 0;
			while (getchar() == '\n') {
				for (int k = 0; k < ROUNDS; k++)
					for (int i = 0; i < 2; i++) {
						uint64_t begin = __rdtsc();
						for (int j = 0; j < 10; j++)
							sum += i ? untraced(j) : traced(j);
						ticks[i][k] = __rdtsc() - begin;
					}
				for (int i = 0; i < 2; i++)
					qsort(ticks[i], ROUNDS, sizeof(**ticks), compare);
				printf("%lu %lu\n", ticks[0][ROUNDS / 2], ticks[1][ROUNDS / 2]);
				fflush(stdout);
			}
			return sum == 0;
		}
	C
	ctl quit
	for how in "-B$root/build/lib" -O2; do
		for policy in overwrite drop wait; do
			gcc -O2 "$how" -o costs costs.c
			coproc costs { exec ./costs; }
			"$dt" attach -d -s t -o t.db -p $policy -F none "$costs_PID" >/dev/null 2>&1 3>&-
			ctl trace traced new a
			ctl trace untraced new b
			ctl trace a on
			ctl start
			for uniform in off on; do
				ctl uniform $uniform
				# a machine that others use too may spoil some rounds, not all
				for round in 1 2 3 4 5 6 7 8 9 10; do
					echo >&"${costs[1]}"
					read -r -t 60 yes no <&"${costs[0]}"
					echo "# $how $policy, uniform $uniform: traced $yes, untraced $no ticks for ten calls" >&3
					if [ $uniform = off ]; then
						((yes > no * 4)) && break
					else
						((no * 3 >= yes * 2 && yes * 3 >= no * 2)) && break
					fi
					[ $round != 10 ]
				done
			done
			ctl quit
			"$dt" report t.db >report
			grep -q ' traced' report
			not grep -q untraced report
			pid=$costs_PID
			eval "exec ${costs[1]}>&-"
			wait "$pid"
			rm -f t.db*
		done
	done
}

@test "check-012-update and check-011-delete: points are replaced, several go at once" {
	ctl trace sync PID
	[ "$(ctl trace sync BASE UNFREEZE)" = "kitrace: Tracepoint at sync already exists, updating" ]
	[ "$(ctl list | xargs)" = "sync UNFREEZE BASE" ]
	ctl trace link FREEZE unlink
	[ "$(ctl list | wc -l)" = 3 ]
	ctl delete sync link
	[ "$(ctl list)" = unlink ]
}

@test "check-080-list: round-trips into trace commands" {
	ctl trace sync FREEZE PID link LATEFREEZE 7 BASE unlink CONST 0x77 add ONLYPID 77 ADJACENT getpid UNFREEZE
	ctl list >first
	ctl delete sync link unlink add getpid
	[ -z "$(ctl list)" ]
	sed 's/^/trace /' first | ctl -
	ctl list | diff first -
}

@test "permissions: another user gets nothing" {
	[ "$(id -u)" = 0 ] || skip "needs root to be someone else"
	id dtuser 2>/dev/null || useradd -m dtuser
	socket=$XDG_RUNTIME_DIR/devtrace/t.sock
	[ "$(stat -c %a "$socket")" = 600 ]
	[ "$(stat -c %a "${socket%/*}")" = 700 ]
	chmod 711 "$XDG_RUNTIME_DIR"
	run su dtuser -c "cd /; '$dt' ctl -s '$socket'"
	[ "$status" = 1 ]
	one_line "another user"
	run su dtuser -c "cd /; '$dt' cat -s '$socket'"
	[ "$status" = 1 ]
	run su dtuser -c "cd /; '$dt' ctl -s t start"
	[ "$status" = 1 ]
	one_line "no session 't'"
	# also when the socket itself is reached, it is asked who comes
	chmod 711 "${socket%/*}"
	chmod 666 "$socket"
	run su dtuser -c "cd /; '$dt' ctl -s '$socket' start"
	chmod 700 "${socket%/*}" "$XDG_RUNTIME_DIR"
	[ "$status" = 1 ]
	[ "$(count traceactive)" = 0 ]
}

@test "several sessions: each its own; two can not have one name" {
	start_obey
	begin u "$pid"
	run "$dt" ctl
	[ "$status" = 1 ]
	one_line "2 sessions run" "-s"
	run "$dt" attach -d -s u 4194000 3>&-
	[ "$status" = 1 ]
	"$dt" ctl -s u trace add new a
	not grep -q add <(ctl)
	run "$dt" list
	[[ $output == *"t	process"*"u	process $pid"* || $output == *"u	process $pid"*"t	process"* ]]
	run "$dt" ctl -s none
	[ "$status" = 1 ] && one_line "no session 'none'"
}

@test "ten thousand ranges: made, read and replayed within the limits" {
	cat >big.py <<-'P'
		print("#include <stdio.h>")
		for i in range(2000): print("__attribute__((noipa)) int fn%d(int a) { return a + %d; }" % (i, i))
		print('int main(void) { puts("ready"); fflush(stdout); return getchar(); }')
	P
	python3 big.py >big.c
	gcc -O1 -B"$root/build/lib" -o big big.c
	start_obey ./big
	begin u "$pid"
	python3 -c 'for i in range(10000): print("trace fn%d+%d fn%d+%d new r%d" % (i // 5, i % 5, i // 5, i % 5, i))' >many
	"$dt" ctl -s u - <many
	"$dt" ctl -s u >saved
	[ "$(grep -c ' new ' saved)" = 10000 ]
	"$dt" ctl -s u quit
	gone() { ! "$dt" ctl -s u >/dev/null 2>&1; }
	until_true gone
	begin u "$pid"
	server=$(pgrep -f "attach -d -s u $pid")
	# processor time, in ms: the machine may be busy. Also of threads that have ended
	used() { awk '{print 10 * ($14 + $15)}' "/proc/$server/stat"; }
	before=$(used)
	"$dt" ctl -s u - <saved
	took=$(($(used) - before))
	echo "replayed in $took ms"
	# 10 ms, 50 with sanitizers; some 2500 when every number was looked for among all symbols
	[ "$took" -lt 1000 ]
	cmp <(grep trace saved | grep -v '^#') <("$dt" ctl -s u | grep trace | grep -v '^#')
}

# nothing of devtrace's is mapped in the process any more
maps_clean() { ! grep -q 'rw-s.*\(memfd:devtrace\|/dev/shm\)' "/proc/$pid/maps"; }

@test "attach -d -p: the policy is the log's" {
	start_obey
	for p in overwrite drop wait; do
		begin "policy-$p" -p "$p" "$pid"
		run "$dt" ctl -s "policy-$p"
		if [ "$p" = overwrite ]; then # as it is in the beginning: there is no line
			[[ $output != *policy* ]]
		else
			[[ $output == *"policy $p"* ]]
		fi
		"$dt" ctl -s "policy-$p" quit
		until_true test ! -e "$XDG_RUNTIME_DIR/devtrace/policy-$p.sock"
		until_true maps_clean
	done
}

@test "ctl: a name that can not be hooked is told of, with the reason" {
	cat >"$dir/last.c" <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		int main(void) { for (long i = 0; i < 20000; i++) { work(i); usleep(3000); } return 0; }
		/* one byte, and nothing behind it but zeros */
		__asm__(".text\n.p2align 4\n.globl last\n.type last, @function\nlast: ret\n.size last, . - last\n");
	C
	gcc -O2 -fno-toplevel-reorder -o "$dir/last" "$dir/last.c"
	"$dir/last" 3>&- &
	local pid=$!
	until_true test "/proc/$pid/exe" -ef "$dir/last"
	begin last "$pid"
	"$dt" ctl -s last - <<<$'trace work\ntrace last\nstart'
	"$dt" ctl -s last >"$dir/state"
	kill "$pid"
	cat "$dir/state"
	[ "$(grep -c 'can not be hooked' "$dir/state")" = 1 ]
	grep -q '^#trace last: not recorded, can not be hooked: there is no room for a jump' "$dir/state"
}
