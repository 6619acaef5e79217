# SPDX-License-Identifier: MIT
# devtrace merge: traces of several machines as one. What is true is known from test/cases/merge.py, which makes
# machines up, or because both traces are of this machine.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	mkdir usual
	machines usual
	"$dt" merge -o usual/fleet.db usual/alpha.db usual/beta.db >usual/said
	gcc -O1 -g -o work -x c - <<-'C'
		__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
		int main(void) { int n = 0; while (n < 100) n = work(n); return 0; }
	C
}

teardown_file() {
	# where the case that made them did not come to its end
	for n in $(cat "$dir/namespaces" 2>/dev/null); do ip netns del "$n" 2>/dev/null || true; done
	rm -rf "$dir"
}

setup() {
	cd "$dir"
	rm -rf made fleet.db fleet t.db* u.db*
}

# machines FOLDER HOW...: alpha.db and beta.db there
machines() {
	python3 "$root/test/cases/merge.py" make "$1" "${@:2}"
	for host in alpha beta; do
		rm -f "$1/$host.db"
		"$root/build/test/tool/writetrace" "$1/$host.db" <"$1/$host.txt"
	done
}

# made HOW...: a fleet of such machines, made/fleet.db; what merge has said is in $output
made() {
	mkdir made
	machines made "$@"
	run "$dt" merge -o made/fleet.db made/alpha.db made/beta.db
}

# query FLEET QUERY: lines with commas
query() {
	"$dt" sql --csv -n "$@" | tr -d '\r'
}

# value KEY: of what merge.py has printed
value() {
	sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$checked"
}

checks() {
	checked=$(python3 "$root/test/cases/merge.py" check "$1" "$dt" "$2")
	echo "$checked"
	[ "$(value outside)" = 0 ]
}

@test "merge: check-124: the time of each record of two machines is right within its bounds; lines sorted, with names" {
	checks usual usual/fleet.db
	[ "$(value records)" = "$(value bounded)" ]
	# a round trip takes 40 us and more: so half of it is what is left open
	awk -v w="$(value width_us)" -v o="$(value off_us)" 'BEGIN { exit !(w < 60 && o < 30) }'
	"$dt" cat -k usual/fleet.db >lines
	[ "$(grep -c '^alpha ' lines)" = "$("$dt" cat usual/alpha.db | wc -l)" ]
	[ "$(grep -c '^beta ' lines)" = "$("$dt" cat usual/beta.db | wc -l)" ]
	# a line has the time of day, and what it is after the line before: both to whole us
	awk '{ split($5, t, ":"); now = 3600 * t[1] + 60 * t[2] + t[3]; d = substr($6, 2) + 0
		if (NR > 1 && (now < last || now - last - d > 1.5e-6 || d - (now - last) > 1.5e-6)) { print; exit 1 }
		last = now }' lines
}

@test "merge: check-124: a fleet of shifted traces has the calls of one that is not shifted, in the same order" {
	made offset=0 drift=0 wall=0 boot=11111111-2222-3333-4444-555555555555
	[ "$status" = 0 ]
	[[ $output == *'same clock'* ]]
	checks made made/fleet.db
	[ "$(value width_us)" = 0.0 ] || awk -v w="$(value width_us)" 'BEGIN { exit !(w < 0.01) }'
	"$dt" calls made/fleet.db | sed -E 's/^ *[0-9.]+ us/ us/; s/^ +//' >one
	"$dt" calls usual/fleet.db | sed -E 's/^ *[0-9.]+ us/ us/; s/^ +//' >other
	[ "$(wc -l <one)" -gt 2000 ]
	diff one other
}

@test "merge: check-125: a skew of 5 ms is found from calls that nest, within 100 us" {
	made messages=0 drift=0 wall=5000000
	[[ $output == *'is unknown'*--nest* ]]
	run "$dt" merge -o fleet.db --nest 'alpha:call beta:serve' made/alpha.db made/beta.db
	[ "$status" = 0 ]
	checks made fleet.db
	awk -v o="$(value off_us)" 'BEGIN { exit !(o < 100) }'
	# the wall clocks are 5 ms apart, and this is what it says
	ahead=$(awk '$1 == "beta" && $4 == "ms" { print $3 }' <<<"$output")
	awk -v a="$ahead" 'BEGIN { exit !(a > 4.9 && a < 5.1) }'
}

@test "merge: F14: F19: F26: offset and drift by themselves, with the error that is left" {
	line=$(grep '^beta' usual/said)
	# 3 ms, and 50 ppm of the second until the middle
	awk '{ exit !($3 > 3.04 && $3 < 3.06 && $4 == "ms" && $5 < 30 && $6 == "us" && $7 < $5) }' <<<"$line"
	run query usual/fleet.db "SELECT round((max(ticks) - min(ticks)) * 1e6 / (max(at) - min(at)) - 1e6)
		FROM alignment WHERE host = 'beta'"
	[ "$output" = 50.0 ]
	"$dt" check -q usual/fleet.db
}

@test "merge: markers by hand give what they say, and no more" {
	made messages=0 drift=0 offset=5000000000
	run "$dt" merge -o fleet.db --marker 'alpha@1000000 beta@5001000000 10us' made/alpha.db made/beta.db
	[ "$status" = 0 ]
	checks made fleet.db
	# 250 ppm of two seconds, and the error
	awk -v w="$(value width_us)" 'BEGIN { exit !(w > 500 && w < 1100) }'
	run "$dt" merge -o fleet.db --marker 'alpha@1000000 gamma@5 10us' made/alpha.db made/beta.db
	[ "$status" != 0 ]
	[ "$output" = "devtrace: there is no machine 'gamma': name a trace so, as gamma=FILE" ]
	run "$dt" merge -o fleet.db --marker 'alpha@1000000' made/alpha.db made/beta.db
	[ "$output" = "devtrace: 'alpha@1000000' is not a marker: say A@TIME B@TIME ERROR" ]
}

@test "merge: a clock that is set by a second is named within 100 ms, and the bounds stay true" {
	made step=1000000000 drift=10
	[ "$status" = 0 ]
	[[ $output == *'the clock of beta stepped'*'by +1.000 s'* ]]
	checks made made/fleet.db
	run query made/fleet.db "SELECT kind, host, (to_ticks - from_ticks - 1000000000) < 100000000,
		6000000000 BETWEEN from_ticks AND to_ticks FROM contradictions"
	[ "$output" = "step,beta,1,1" ]
	"$dt" check -q made/fleet.db
}

@test "merge: real time: used with its bound, never without, not believed against messages" {
	made messages=0 real=1000000,500000
	[ "$status" = 0 ]
	[[ $output != *unknown* ]]
	checks made made/fleet.db
	awk -v w="$(value width_us)" 'BEGIN { exit !(w > 1000 && w < 4100) }'
	rm -r made
	made messages=0 real=-1,0
	[[ $output == *'is unknown'* ]]
	checks made made/fleet.db
	rm -r made
	# 50 ms wrong, and said to be right to 1 ms
	made real=1000000,50000000
	[[ $output == *'not believed, since it contradicts the rest by'*'real time'* ]]
	checks made made/fleet.db
	awk -v w="$(value width_us)" 'BEGIN { exit !(w < 60) }'
}

@test "merge: pings in the files are evidence" {
	made messages=0 drift=0
	for n in $(seq 1 20); do
		t=$((n * 100000000))
		echo "sync sent q:$n $t $((t + 10)) 0 0" >>made/alpha.txt
		echo "sync received q:$n $((5000000000 + t + 20000)) $((5000000000 + t + 20010)) 0 0" >>made/beta.txt
		echo "sync sent r:$n $((5000000000 + t + 30000)) $((5000000000 + t + 30010)) 0 0" >>made/beta.txt
		echo "sync received r:$n $((t + 50000)) $((t + 50010)) 0 0" >>made/alpha.txt
	done
	for host in alpha beta; do
		rm made/$host.db
		"$root/build/test/tool/writetrace" made/$host.db <made/$host.txt
	done
	rm made/fleet.db
	"$dt" merge -o made/fleet.db made/alpha.db made/beta.db
	checks made made/fleet.db
	awk -v w="$(value width_us)" 'BEGIN { exit !(w > 30 && w < 200) }'
}

@test "merge: what cannot be merged is refused in a line" {
	made boot=11111111-2222-3333-4444-555555555555 offset=0 drift=0 step=0
	cp made/alpha.db made/again.db
	run "$dt" merge -o fleet.db made/alpha.db made/again.db
	[ "$status" = 1 ]
	[ "$output" = "devtrace: made/alpha.db and made/again.db are the same trace: name it once" ]
	[ ! -e fleet.db ]
	# a copy of a machine: its boot, and another clock
	machines made boot=11111111-2222-3333-4444-555555555555 offset=7000000000
	run "$dt" merge -o fleet.db made/alpha.db made/beta.db
	[ "$status" = 0 ]
	[[ $output == *'devtrace: note: alpha and beta are of the same boot of a machine, but their wall clocks do not go together'* ]]
	checks made fleet.db
	run "$dt" merge -o fleet.db usual/alpha.db
	[ "$status" = 2 ]
	run "$dt" merge -o fleet.db usual/alpha.db work
	[ "$status" = 1 ]
	[[ $output == *'work: is not a devtrace trace'* ]]
	sqlite3 made/beta.db 'PRAGMA user_version=99'
	run "$dt" merge -o fleet.db usual/alpha.db made/beta.db
	[ "$status" = 1 ]
	[[ $output == *'written by a newer devtrace'* ]]
	rm made/beta.db
	run "$dt" merge -o fleet.db x=usual/alpha.db x=usual/beta.db
	[ "$output" = "devtrace: two machines are called 'x'" ]
	# a trace is never overwritten
	run "$dt" merge -o usual/alpha.db usual/alpha.db usual/beta.db
	[ "$output" = "devtrace: usual/alpha.db: exists and is not a fleet; not overwritten" ]
}

@test "merge: a fleet is refused in a line by what cannot read several traces, and when its traces are others" {
	for command in 'cat -c' 'calls --fields duration' 'graph --by host --dot'; do
		run "$dt" $command usual/fleet.db
		[ "$status" != 0 ]
		[[ $output == *fleet* ]]
		[ "$(wc -l <<<"$output")" = 1 ]
	done
	made
	rm made/beta.db
	run "$dt" cat made/fleet.db
	[ "$status" = 1 ]
	[[ $output == *'made/beta.db: no such file'* ]]
	cp made/alpha.db made/beta.db
	sqlite3 made/beta.db 'UPDATE chunk SET max_ticks = max_ticks + 1'
	run "$dt" calls made/fleet.db
	[ "$status" = 1 ]
	[[ $output == *'is not the trace that was merged as beta'*'merge anew'* ]]
	rm made/beta.db
}

@test "merge: --copy makes a folder that can be moved; no file is left when merging fails" {
	run "$dt" merge --copy -o fleet usual/alpha.db usual/beta.db
	[ "$status" = 0 ]
	mv fleet moved
	cmp moved/alpha.db usual/alpha.db
	(cd / && "$dt" cat "$dir/moved/fleet.db") >lines
	"$dt" cat usual/fleet.db | cmp - lines
	rm -r moved
	run "$dt" merge --copy -o fleet usual/alpha.db usual/alpha.db
	[ "$status" = 1 ]
	[ ! -e fleet ]
	[ -z "$(ls -d -- *new* 2>/dev/null)" ]
}

@test "merge: report, sql and calls of a fleet say what those of its traces say" {
	for host in alpha beta; do
		"$dt" report usual/$host.db | awk '$NF == "call" || $NF == "serve"' | awk '{ print $1, $2, $5, $NF }'
	done | sort >each
	"$dt" report usual/fleet.db | awk '$NF == "call" || $NF == "serve"' | awk '{ print $1, $2, $5, $NF }' | sort | diff each -
	"$dt" report --by host,function usual/fleet.db | grep -q 'alpha  call'
	run query usual/fleet.db 'SELECT host, function, count(*) FROM calls GROUP BY 1, 2'
	[ "$output" = $'alpha,call,399\nbeta,serve,399' ]
	# no message takes less than nothing, and each at least as long as it may have
	run query usual/fleet.db 'SELECT count(*), min(duration) >= 0, min(duration - least) >= 0,
		min(greatest - duration) >= 0 FROM messages'
	[ "$output" = 798,1,1,1 ]
	"$dt" calls --from 1s --to 1.01s usual/fleet.db | grep -q 'beta:200 *serve(i='
}

@test "merge: two recordings of this machine have the same clock, exactly" {
	"$dt" record -o t.db -F work ./work
	"$dt" record -o u.db -F work ./work
	run "$dt" merge -o fleet.db first=t.db second=u.db
	[ "$status" = 0 ]
	[[ $output == *second*'same clock'* ]]
	[ "$(sqlite3 t.db "SELECT value FROM meta WHERE key='boot_id'")" = "$(cat /proc/sys/kernel/random/boot_id)" ]
	[ "$(sqlite3 t.db "SELECT count(*) > 0 FROM sync WHERE kind='realtime'")" = 1 ]
	# the second one began when the first one was over
	"$dt" calls fleet.db | grep -oE '(first|second):' | uniq | tr -d '\n' | grep -q '^first:second:$'
}

@test "merge: two network namespaces that ping each other, one of them shifted by 5 s and 50 ppm" {
	[ "$(id -u)" = 0 ] || skip "namespaces need root"
	local a=dta$$ b=dtb$$ n
	gcc -O1 -g -o slow -x c - <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
		int main(void) { int n = 0; while (n < 150) { n = work(n); usleep(10000); } return 0; }
	C
	echo $a $b >namespaces
	ip netns add $a && ip netns add $b || skip "no network namespaces here"
	ip link add veth0 netns $a type veth peer name veth0 netns $b
	for n in $a $b; do
		ip -n $n addr add 10.77.1.$([ $n = $a ] && echo 1 || echo 2)/24 dev veth0
		ip -n $n link set veth0 up
	done
	export DEVTRACE_PING_WORD='only for this test'
	ip netns exec $b "$dt" record --pong 10.77.1.2:7777 -F work -o u.db ./slow 3>&- &
	ip netns exec $a "$dt" record --ping 10.77.1.2:7777 -F work -o t.db ./slow || status=1
	wait $!
	ip netns del $a
	ip netns del $b
	cp u.db v.db
	"$root/build/test/tool/shifttrace" v.db 10000000000 50
	"$dt" check -q v.db
	"$dt" merge -o fleet.db one=t.db other=v.db
	checked=$(python3 "$root/test/cases/merge.py" same "$dt" fleet.db one other u.db)
	echo "$checked"
	[ "$(value outside)" = 0 ]
	# on a machine with nothing else to do, 26 and 1
	awk -v w="$(value width_us)" -v o="$(value off_us)" 'BEGIN { exit !(w < 2000 && o < 1000) }'
	rm v.db
}

@test "merge: a trace of which all has been read is not looked at again for each record of the others" {
	local i
	for i in $(seq 20); do
		"$root/build/test/tool/maketrace" -n $((200 + 20 * i)) -s "$i" "u.db$i" >/dev/null
	done
	"$dt" merge -o fleet.db u.db?* >/dev/null 2>&1
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -e trace=fcntl -o locks "$dt" calls fleet.db >made
	# SQLite's locks: some for each file, whatever it has
	echo "$(wc -l <locks) locks, $(wc -l <made) lines"
	[ "$(wc -l <locks)" -lt 4000 ]
	[ "$(wc -l <made)" -gt 4000 ]
}

@test "merge: pings need a word, an address, and a file" {
	run env -u DEVTRACE_PING_WORD "$dt" record --ping 127.0.0.1:7 -F work -o t.db ./work
	[ "$status" = 1 ]
	[[ $output == *'set DEVTRACE_PING_WORD to a word of 8 to 32 letters'* ]]
	export DEVTRACE_PING_WORD='only for this test'
	run "$dt" record --pong nowhere -F work -o t.db ./work
	[ "$status" = 1 ]
	[[ $output == *"'nowhere' is not ADDRESS:PORT"* ]]
}

@test "merge: the word of pings is not in the environment of the traced program" {
	export DEVTRACE_PING_WORD='only for this test'
	env | grep -q '^DEVTRACE_PING_WORD='
	"$dt" record --pong 127.0.0.1:0 -l -o t.db env >said
	grep -q '^PATH=' said
	[ "$(grep -c PING said)" = 0 ]
	# also where there are no pings
	"$dt" record -l -o t.db env >said
	[ "$(grep -c PING said)" = 0 ]
}

@test "merge: a fleet from anybody is read or refused" {
	for n in $(seq 1 60); do
		python3 "$root/test/cases/merge.py" damage usual/fleet.db fleet.db "$n"
		run timeout 20 "$dt" sql fleet.db 'SELECT count(*), max(at), min(early), max(late) FROM records'
		[ "$status" -le 1 ]
	done
	rm fleet.db
	sqlite3 usual/fleet.db .dump | sqlite3 fleet.db
	sqlite3 fleet.db "PRAGMA application_id=1685349996; PRAGMA user_version=7"
	run "$dt" cat fleet.db
	[[ $output == *'a fleet of another format (7'* ]]
	sqlite3 fleet.db "PRAGMA user_version=1; UPDATE host SET ns_per_tick=1e300"
	run "$dt" cat fleet.db
	[ "$status" = 1 ]
	[[ $output == *'the fleet is damaged'* ]]
}
