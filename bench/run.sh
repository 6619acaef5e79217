#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Measures what devtrace costs, beside its peers where they are installed, and prints one table.
#
# usage: bench/run.sh [PART...]      (make bench runs all parts)
#   call      one traced call over the floor; the same under uftrace and XRay
#   filter    a call that record --filter leaves out over one that is written
#   probes    programs that were not rebuilt: a call beside uftrace's patches and the kernel's
#             uprobes, and Redis with every function traced
#   device    commands and reading with 10,000 ranges; following
#   threads   two threads on two cores over one
#   sites     switching 10,000 sites on in a running process, and how long it stands still
#   lossless  recording everything losslessly, beside uftrace: time and file size
#   size      bytes of trace file a call, for each of the real programs
#   off       what sleds cost while they are off, in the real programs
#   reader    how fast traces are read (bench/reader.sh)
#   python    how many calls the Python module iterates (bench/python.py)
#   live      a picture of a trace while it is recorded: how far it is behind, and its memory
#   view      the time line of VIEW_RECORDS records (100 million): summing up, opening, windows, SQL
#
# Everything that is compared runs in turn, in the same minutes (A B, B A, ...), and what is printed
# are medians of all runs, or of the ratios of each pair of runs. ROUNDS=n changes how many (9).
# The single figures stay in build/bench/PART.raw, the table in build/bench/table.md.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD
build=${DEVTRACE_BUILD:-$root/build}
devtrace=$build/devtrace
rounds=${ROUNDS:-9}
out=$root/build/bench
work=$(mktemp -d) || exit 1
mkdir -p "$out"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

say() { echo "bench: $*" >&2; }
have() { command -v "$1" >/dev/null; }

# ---- figures ----------------------------------------------------------------------------------

# median of the numbers on standard input; "?" when there is none
median() {
	sort -g | awk '{ v[NR] = $1 } END {
		print NR == 0 ? "?" : NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
# calc EXPRESSION [FORMAT]: "?" when a figure in it is missing
calc() {
	case $1 in
	*\?*) echo "?" ;;
	*) awk "BEGIN { printf \"${2-%.2f}\", $1 }" ;;
	esac
}
# field NAME: the value behind NAME= in the lines on standard input
field() { sed -nE "s/(^|.* )$1=([-0-9.e+]+).*/\\2/p"; }
# raw PART KEY VALUE: keeps a single figure; figures PART KEY: gives them back
raw() { [ -z "$3" ] || echo "$2 $3" >>"$out/$1.raw"; }
figures() { awk -v k="$2" '$1 == k { print $2 }' "$out/$1.raw" 2>/dev/null; }
middle() { figures "$1" "$2" | median; }

rows=$work/rows
: >"$rows"
# row FIGURE REACH MEASURED: one line of the table
row() {
	printf '| %s | %s | %s |\n' "$1" "$2" "$3" >>"$rows"
	printf '  %-66s %-20s %s\n' "$1" "$2" "$3" >&2
}

# ---- running ----------------------------------------------------------------------------------

# timed COMMAND...: runs it silently; sets wall and cpu (user + system, with all children), seconds
timed() {
	local TIMEFORMAT='%3R %3U %3S'
	{ time "$@" >"$work/stdout" 2>"$work/stderr" </dev/null; } 2>"$work/time"
	local rc=$?
	read -r wall user sys < <(tail -n 1 "$work/time")
	cpu=$(awk "BEGIN { print $user + $sys }")
	[ "$rc" = 0 ] || { say "failed with status $rc: $*"; tail -n 5 "$work/stderr" >&2; }
	return "$rc"
}

# until_true COMMAND...: polls it, at most 20 seconds
until_true() {
	local deadline=$((SECONDS + 20))
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.01
	done
}

real() { "$root/test/real/build.sh" "$@"; }

# the size of a trace, whatever lies beside it
bytes() { du -bc "$@" 2>/dev/null | awk 'END { print $1 }'; }

# ---- one call ---------------------------------------------------------------------------------

sled_cc="gcc -B$build/lib"

build_call() {
	local c="$root/bench/call.c" f="-O2 -g -D_GNU_SOURCE"
	gcc $f -o "$work/call-plain" "$c" -lpthread
	$sled_cc $f -o "$work/call-sled" "$c" -lpthread || say "no sleds: devtrace is not measured"
	gcc $f -DEVENTS -I"$root" -o "$work/call-event" "$c" -lpthread
	have uftrace && gcc $f -pg -mfentry -c -o "$work/call.o" "$c" &&
		gcc -o "$work/call-uftrace" "$work/call.o" -lpthread
	have clang-19 && clang-19 $f -fxray-instrument -fxray-instruction-threshold=1 \
		-o "$work/call-xray" "$c" bench/xray.c -lpthread 2>"$work/xray.log" ||
		say "XRay is not measured: $(tail -n 1 "$work/xray.log" 2>/dev/null)"
}

part_call() {
	build_call
	for ((i = 0; i < rounds; i++)); do
		"$work/call-plain" floor 0.4 >"$work/floor"
		raw call floor "$(field floor <"$work/floor")"
		cat "$work/floor" >>"$out/call.forms"
		raw call plain "$("$work/call-plain" call 0.1 | field call)"
		if [ -x "$work/call-sled" ]; then
			raw call off "$("$work/call-sled" call 0.1 | field call)"
			rm -f "$work"/t.db*
			raw call devtrace "$("$devtrace" record -p overwrite -o "$work/t.db" \
				"$work/call-sled" call 0.3 2>"$work/stderr" | field call)"
		fi
		rm -f "$work"/t.db*
		raw call probe "$("$devtrace" record -p overwrite -F call-plain:leaf -o "$work/t.db" \
			"$work/call-plain" call 0.3 2>"$work/stderr" | field call)"
		for point in 'none ' 'registers REG rdi REG rsi REG rdx REG rcx' 'stack STACK 0' 'far LOC environ'; do
			rm -f "$work"/t.db*
			raw call "point_${point%% *}" "$("$devtrace" record -p overwrite -T "leaf+4 ${point#* }" \
				-o "$work/t.db" "$work/call-plain" call 0.3 2>"$work/stderr" | field call)"
		done
		raw call event_off "$("$work/call-event" event 0.1 | field cost)"
		rm -f "$work"/t.db*
		raw call event "$("$devtrace" record -p overwrite -F '9:*' -o "$work/t.db" \
			"$work/call-event" event 0.3 2>"$work/stderr" | field cost)"
		if [ -x "$work/call-uftrace" ]; then
			raw call uftrace "$(uftrace record -d "$work/u.data" \
				"$work/call-uftrace" call 0.3 2>/dev/null | field call)"
			rm -rf "$work"/u.data*
		fi
		if [ -x "$work/call-xray" ]; then
			raw call xray "$(XRAY_OPTIONS="xray_logfile_base=$work/x." \
				"$work/call-xray" call 0.3 2>/dev/null | field call)"
			ls "$work"/x.* >/dev/null 2>&1 || say "XRay wrote no log"
			rm -f "$work"/x.*
		fi
	done
	local floor plain d u x p
	floor=$(middle call floor) plain=$(middle call plain)
	d=$(calc "$(middle call devtrace) - $plain")
	u=$(calc "$(middle call uftrace) - $plain")
	x=$(calc "$(middle call xray) - $plain")
	row "plain call; with a sled that is off" "" "$plain ns; $(middle call off) ns"
	row "floor: 2 x (rdtsc + 64-byte store)" "" "$floor ns"
	row "traced call less the plain call" "" "$d ns"
	row "... over the floor" "at most 1.15" "$(calc "$d / $floor")"
	p=$(calc "$(middle call probe) - $plain")
	row "the same without a rebuild, by probes" "" "$p ns"
	row "... over the floor" "at most 1.35" "$(calc "$p / $floor")"
	row "a tracepoint, less the plain call; with four registers; with a word of the stack" "" \
		"$(for p in none registers stack; do calc "$(middle call "point_$p") - $plain"; done | paste -sd';' | sed 's/;/ ns; /g') ns"
	row "... with a word of another file's memory, by a system call" "" \
		"$(calc "$(middle call point_far) - $plain") ns"
	row "an event that is off; on" "0.3 ns; " "$(middle call event_off) ns; $(middle call event) ns"
	row "... on, over half the floor (one record)" "at most 1.15" \
		"$(calc "$(middle call event) / ($floor / 2)")"
	row "... uftrace's over devtrace's" "at least 4" "$(calc "$u / $d") ($u ns)"
	row "... XRay flight recorder's over devtrace's" "at least 3" "$(calc "$x / $d") ($x ns)"
}

# filtered KEY [OPTION...]: ns of a call where nothing is lost, so that the program waits for devtrace
filtered() {
	local key=$1
	shift
	rm -f "$work"/t.db*
	raw filter "$key" "$("$devtrace" record -p wait -F call-plain:leaf -o "$work/t.db" "$@" \
		"$work/call-plain" call 0.5 2>"$work/stderr" | field call)"
}

part_filter() {
	local words=('-*' 'time>10ms' 'result=7' 'arg1>1000000000' 'depth>9' 'caller:nobody' failed 'error=ENOENT') reach word
	local sums=('count by function' 'hist(time) by caller' 'arg1 by arg1')
	gcc -O2 -g -D_GNU_SOURCE -o "$work/call-plain" "$root/bench/call.c" -lpthread
	for ((i = 0; i < rounds; i++)); do
		filtered written
		for word in "${words[@]}"; do filtered "$word" --filter "$word"; done
		for word in "${sums[@]}"; do filtered "sum:${word// /_}" --sum "$word"; done
	done
	row "a call that is written, where the program waits for devtrace" "" "$(middle filter written) ns"
	for word in "${words[@]}"; do
		case $word in depth* | caller*) reach=1.1 ;; *) reach=1.3 ;; esac
		row "... one that --filter '$word' leaves out, over that" "at most $reach" \
			"$(calc "$(middle filter "$word") / $(middle filter written)") ($(middle filter "$word") ns)"
	done
	for word in "${sums[@]}"; do
		row "... one that --sum '$word' counts, over that" "" \
			"$(calc "$(middle filter "sum:${word// /_}") / $(middle filter written)") ($(middle filter "sum:${word// /_}") ns)"
	done
}

# ---- the device -------------------------------------------------------------------------------

# milliseconds that a command takes
took() {
	local begin=$EPOCHREALTIME
	"$@" >"$work/took.out" 2>&1 || say "failed: $*"
	awk "BEGIN { printf \"%.2f\", ($EPOCHREALTIME - $begin) * 1000 }"
}

# A program of 10,000 functions and a session with a range for each of them.
part_device() {
	local n=10000 pid start
	awk -v n=$n 'BEGIN {
		print "#include <unistd.h>"
		for (i = 0; i < n; i++) printf "__attribute__((noipa)) int f%d(int a) { return a + %d; }\n", i, i
		print "int main(void) { volatile int s = 0;"
		for (i = 0; i < n; i++) printf "s += f%d(s);\n", i
		print "for (int i = 0; i < 3000; i++) usleep(100000); return s; }"
	}' >"$work/many.c"
	$sled_cc -O1 -o "$work/many" "$work/many.c" || return
	"$work/many" &
	server=$!
	pid=$server
	for ((i = 0; i < n; i++)); do echo "trace f$i new f$i"; done >"$work/new"
	for ((i = 0; i < n; i++)); do echo "trace f$i on"; done >"$work/on"
	for ((i = 0; i < n; i++)); do echo "trace f$i remove"; done >"$work/remove"
	"$devtrace" attach -d -s bench.$$ "$pid" >/dev/null || return
	ctl() { "$devtrace" ctl -s bench.$$ "$@"; }
	for ((i = 0; i < 5; i++)); do
		raw device new "$(calc "$(took ctl - <"$work/new") * 1000 / $n")"
		raw device on "$(calc "$(took ctl - <"$work/on") * 1000 / $n")"
		raw device read "$(took ctl)"
		cp "$work/took.out" "$work/ctl"
		raw device remove "$(calc "$(took ctl - <"$work/remove") * 1000 / $n")"
		raw device replay "$(took ctl - <"$work/ctl")"
		ctl - <"$work/remove"
	done
	# a full log
	ctl trace f0 new a && ctl trace a on && ctl stop
	for ((i = 0; i < 5; i++)); do
		for ((k = 0; k < 8192; k++)); do echo "testtracein f0 1 2 3 4"; done | ctl -
		raw device cat "$(took "$devtrace" cat -s bench.$$)"
		[ "$(wc -l <"$work/took.out")" = 8192 ] || say "cat gave $(wc -l <"$work/took.out") lines"
	done
	# a follower while nothing happens: processor time of it and of the session
	ctl start
	"$devtrace" cat -f -s bench.$$ >/dev/null &
	local follower=$! session
	session=$(pgrep -f "attach -d -s bench.$$" | head -1)
	cpu() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
	start=$(($(cpu "$follower") + $(cpu "$session")))
	sleep 5
	raw device idle "$(calc "($(cpu "$follower") + $(cpu "$session") - $start) * 10 / 5")"
	ctl quit
	wait "$follower"
	kill "$server"
	server=
	row "device: a command with 10,000 ranges: new, on, remove" "under 1 ms" \
		"$(middle device new), $(middle device on), $(middle device remove) us"
	row "device: reading ctl with 10,000 ranges; replaying it" "50 ms; 2 s" \
		"$(middle device read); $(middle device replay) ms"
	row "device: cat of a full log of 8,192 records" "under 10 ms" "$(middle device cat) ms"
	row "device: processor time of following nothing, session included" "none measurable" \
		"$(middle device idle) ms a second"
}

# ---- without a rebuild ------------------------------------------------------------------------

# commands a second that the Redis which runs answers
redis_rate() {
	local begin=$EPOCHREALTIME n=60000
	"$redis_benchmark" -p "$port" -q -n $n -c 20 -P 8 -t get,set,incr,lpush,rpop,sadd,hset >"$work/load" 2>&1 ||
		{ say "redis-benchmark: $(tail -n 1 "$work/load")"; return; }
	awk "BEGIN { printf \"%.0f\", 7 * $n / ($EPOCHREALTIME - $begin) }"
}

part_probes() {
	local offset redis i c u p plain t pid
	build_call
	gcc -O2 -D_GNU_SOURCE -o "$work/uprobe" bench/uprobe.c || return
	offset=0x$(nm "$work/call-plain" | awk '$3 == "leaf" { print $1 }')
	for ((i = 0; i < rounds; i++)); do
		raw probes plain "$("$work/call-plain" call 0.1 | field call)"
		rm -f "$work"/t.db*
		raw probes devtrace "$("$devtrace" record -p overwrite -F call-plain:leaf -o "$work/t.db" \
			"$work/call-plain" call 0.3 2>"$work/stderr" | field call)"
		have uftrace && raw probes uftrace "$(uftrace record --force -P leaf -d "$work/u.data" \
			"$work/call-plain" call 0.3 2>/dev/null | field call)"
		rm -rf "$work"/u.data*
		# 100,000 calls are a batch, and take seconds
		[ "$i" -ge 3 ] || raw probes uprobe "$("$work/uprobe" "$work/call-plain" "$offset" \
			"$work/call-plain" call 0.1 2>"$work/stderr" | field call)"
		! grep -q '=0' "$work/stderr" || say "the uprobes were not hit: $(cat "$work/stderr")"
	done
	p=$(middle probes plain)
	c=$(calc "$(middle probes devtrace) - $p") u=$(calc "$(middle probes uftrace) - $p")
	row "a call of a program that was not rebuilt: uftrace -P over devtrace" "at least 4" "$(calc "$u / $c") ($u ns, $c ns)"
	u=$(calc "$(middle probes uprobe) - $p")
	row "... a uprobe and a uretprobe that only count, over devtrace" "at least 30" "$(calc "$u / $c" %.0f) ($u ns)"

	find_redis_tools && redis=$(real redis plain) || return
	for ((i = 0; i < (rounds + 2) / 3; i++)); do
		start_redis "$redis" && raw probes redis-plain "$(redis_rate)"
		# attached to meanwhile, some times
		while [ -n "$server" ] && [ "$(figures probes redis-stop | wc -l)" -lt $((4 * i + 4)) ]; do
			"$redis_benchmark" -p "$port" -q -n 1000000 -c 20 -P 8 -t get >/dev/null 2>&1 &
			pid=$!
			rm -f "$work"/t.db*
			t=$EPOCHREALTIME
			"$devtrace" attach -d -s bench.$$ -p overwrite -F "${redis##*/}:*" -o "$work/t.db" "$server" >/dev/null 2>"$work/stderr"
			raw probes redis-attach "$(calc "($EPOCHREALTIME - $t) * 1000" %.1f)"
			"$devtrace" ctl -s bench.$$ quit 2>/dev/null
			until_true eval '! "$devtrace" ctl -s bench.$$ >/dev/null 2>&1'
			raw probes redis-stop "$(sqlite3 -cmd '.timeout 10000' "$work/t.db" "SELECT value FROM meta WHERE key = 'longest_stop'" | awk '{ print $1 / 1e6 }')"
			kill "$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
		done
		stop_redis
		rm -f "$work"/t.db*
		start_redis "$devtrace" record -p overwrite -F "${redis##*/}:*" -o "$work/t.db" "$redis" &&
			raw probes redis-devtrace "$(redis_rate)"
		stop_redis
		if have uftrace; then
			start_redis uftrace record --force -P . -d "$work/u.data" "$redis" &&
				raw probes redis-uftrace "$(redis_rate)"
			stop_redis
			rm -rf "$work"/u.data*
		fi
	done
	rm -f "$work"/t.db*
	p=$(middle probes redis-plain) c=$(middle probes redis-devtrace) u=$(middle probes redis-uftrace)
	row "Redis, every function traced, flight recorder: commands a second over untraced" "" \
		"$(calc "100 * $c / $p" %.0f) % ($c; untraced $p)"
	row "... over what uftrace -P . leaves it" "at least 2.5" "$(calc "$c / $u") ($u)"
	row "attaching to Redis under load, every function: in all; longest stop" "1 s; 10 ms" \
		"$(middle probes redis-attach) ms; $(middle probes redis-stop) ms (worst of $(figures probes redis-stop | wc -l): $(figures probes redis-stop | sort -g | tail -n 1))"
}

# ---- two threads ------------------------------------------------------------------------------

part_threads() {
	[ -x "$work/call-plain" ] || build_call
	for ((i = 0; i < rounds; i++)); do
		raw threads plain "$("$work/call-plain" two 0.3 | field ratio)"
		rm -f "$work"/t.db*
		[ ! -x "$work/call-sled" ] ||
			raw threads devtrace "$("$devtrace" record -p overwrite -o "$work/t.db" \
				"$work/call-sled" two 0.9 2>"$work/stderr" | field ratio)"
	done
	row "two threads on two cores, throughput over one" "at least 1.9" \
		"$(middle threads devtrace) (untraced: $(middle threads plain))"
}

# ---- switching --------------------------------------------------------------------------------

part_sites() {
	$sled_cc -O2 -D_GNU_SOURCE -o "$work/sites" bench/sites.c || return
	mkfifo "$work/hold"
	"$work/sites" <"$work/hold" >"$work/sites.out" &
	server=$!
	exec 7>"$work/hold"
	until_true grep -q ready "$work/sites.out"
	local i tracer
	for ((i = 1; i <= rounds; i++)); do
		rm -f "$work"/t.db*
		# a shell starts what it puts aside with SIGINT ignored
		env --default-signal=INT "$devtrace" attach -o "$work/t.db" "$server" \
			>"$work/stdout" 2>"$work/stderr" &
		tracer=$!
		until_true eval "[ \$(grep -c ^on '$work/sites.out') -ge $i ]" ||
			{ say "attach switches nothing on"; tail -n 3 "$work/stderr" >&2; break; }
		kill -INT "$tracer"
		wait "$tracer"
		until_true eval "[ \$(grep -c ^off '$work/sites.out') -ge $i ]" ||
			{ say "detach leaves sites on"; break; }
	done
	exec 7>&-
	wait "$server"
	server=
	local line
	while read -r line; do
		raw sites "${line%% *}" "$(field ms <<<"$line")"
		raw sites "${line%% *}-stopped" "$(field stopped_ms <<<"$line")"
	done < <(grep -E '^(on|off) ' "$work/sites.out")
	row "switching $(field sites <"$work/sites.out" | head -n 1) sites on in a running process" \
		"at most 15 ms" "$(middle sites on) ms"
	row "... and off again" "" "$(middle sites off) ms"
	row "... longest stop of its thread at attach" "at most 10 ms" \
		"$(middle sites on-stopped) ms (worst of $rounds: $(figures sites on-stopped | sort -g | tail -n 1))"
	row "... longest stop at detach" "" "$(middle sites off-stopped) ms"
}

# ---- lossless, beside uftrace -----------------------------------------------------------------

# records in a trace
records() { sqlite3 "file:$1?mode=ro" 'SELECT sum(records) FROM chunk'; }

lossless() { # NAME SLED-PROGRAM UFTRACE-PROGRAM ARGUMENT...
	local name=$1 sled=$2 peer=$3
	shift 3
	local n=$(((rounds + 2) / 3))
	for ((i = 0; i < n; i++)); do
		timed "$sled" "$@" && raw lossless "$name-base" "$wall"
		rm -f "$work"/t.db*
		timed "$devtrace" record -p wait -o "$work/t.db" "$sled" "$@" &&
			raw lossless "$name-devtrace" "$wall" &&
			raw lossless "$name-devtrace-bytes" "$(bytes "$work/t.db"*)"
		if [ -n "$peer" ]; then
			rm -rf "$work"/u.data*
			timed uftrace record -d "$work/u.data" "$peer" "$@" &&
				raw lossless "$name-uftrace" "$wall" &&
				raw lossless "$name-uftrace-bytes" "$(bytes "$work/u.data")"
			rm -rf "$work"/u.data*
		fi
	done
	local b d u db ub
	b=$(middle lossless "$name-base") d=$(middle lossless "$name-devtrace")
	u=$(middle lossless "$name-uftrace")
	db=$(middle lossless "$name-devtrace-bytes") ub=$(middle lossless "$name-uftrace-bytes")
	row "lossless recording of $name, uftrace's time over devtrace's" "at least 2" \
		"$(calc "$u / $d") ($u s, $d s; untraced $b s)"
	row "... uftrace's file over devtrace's" "at least 5" \
		"$(calc "$ub / $db") ($(calc "$ub / 1e6" %.0f) MB, $(calc "$db / 1e6" %.0f) MB)"
}

part_lossless() {
	local s l us='' ul=''
	s=$(real sqlite sled) && l=$(real lua sled) || return
	have uftrace && us=$(real sqlite uftrace) && ul=$(real lua uftrace)
	lossless speedtest1 "$s" "$us" --size 10 :memory:
	lossless Lua "$l" "$ul" bench/work.lua 3
}

# ---- the four programs ------------------------------------------------------------------------

# A redis-server on a socket of its own, without a file: sets server, port.
start_redis() { # COMMAND... of the server
	port=$((20000 + RANDOM % 10000))
	"$@" --port "$port" --bind 127.0.0.1 --save '' --appendonly no --daemonize no \
		--dir "$work" >"$work/redis.log" 2>&1 </dev/null &
	server=$!
	until_true "$redis_cli" -p "$port" ping >/dev/null 2>&1 ||
		{ say "redis-server does not start"; tail -n 3 "$work/redis.log" >&2; return 1; }
}

# The load; bounded, mixed commands. Fails when one command fails.
load_redis() {
	"$redis_benchmark" -p "$port" -q -n "$1" -c 20 -P 8 \
		-t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100 >"$work/load" 2>&1
}

stop_redis() {
	"$redis_cli" -p "$port" shutdown nosave >/dev/null 2>&1
	wait "$server"
	server=
}

# seconds of processor time that a process has used so far, to the nanosecond
ran() { awk '{ s += $1 } END { printf "%.6f", s / 1e9 }' /proc/"$1"/task/*/schedstat; }

find_redis_tools() {
	local s
	s=$(dirname "$(real redis plain)") || return
	redis_cli=$s/redis-cli redis_benchmark=$s/redis-benchmark
}

# the same input for every zstd
zstd_input() {
	[ -e "$work/zstd.in" ] ||
		"$(dirname "$(real zstd plain)")/../tests/datagen" -g60000000 -P45 >"$work/zstd.in"
}

# One run of a program's work: sets cpu. off_run PROGRAM BINARY
off_run() {
	case $1 in
	lua) timed "$2" bench/work.lua 5 ;;
	zstd) timed "$2" -5 -f -q --single-thread "$work/zstd.in" -o "$work/zstd.out" ;;
	sqlite) timed "$2" --size 40 :memory: ;;
	redis)
		start_redis "$2" || return
		load_redis 3000
		local before
		before=$(ran "$server")
		load_redis 30000 || say "redis-benchmark: $(tail -n 1 "$work/load")"
		cpu=$(calc "$(ran "$server") - $before" %.6f)
		stop_redis
		;;
	esac
}

part_off() {
	find_redis_tools && zstd_input || return
	local p plain sled a b i
	for p in lua zstd sqlite redis; do
		plain=$(real $p plain) && sled=$(real $p sled) || continue
		off_run $p "$plain" # files into memory
		for ((i = 0; i < rounds; i++)); do
			if [ $((i % 2)) = 0 ]; then
				off_run $p "$plain"; a=$cpu
				off_run $p "$sled"; b=$cpu
			else
				off_run $p "$sled"; b=$cpu
				off_run $p "$plain"; a=$cpu
			fi
			raw off $p-plain "$a"
			raw off $p-sled "$b"
			raw off $p-ratio "$(calc "$b / $a" %.5f)"
		done
		a=$(middle off $p-ratio)
		b=$(calc "$(figures off $p-sled | sort -g | head -n 1) / \
			$(figures off $p-plain | sort -g | head -n 1)" %.5f)
		row "sleds off, $p: processor time over the plain build" "" \
			"$(calc "($a - 1) * 100" %+.2f) % (of the best runs: $(calc "($b - 1) * 100" %+.2f) %)"
		echo "$a $b" >>"$work/off.ratios"
	done
	[ -s "$work/off.ratios" ] || return
	row "... geometric mean" "at most 0.5 %" "$(awk '{ s += log($1); t += log($2) } END {
		printf "%+.2f %% (of the best runs: %+.2f %%)", (exp(s / NR) - 1) * 100, (exp(t / NR) - 1) * 100 }' \
		"$work/off.ratios")"
	row "... worst" "at most 1.5 %" "$(awk 'NR == 1 || $1 > w { w = $1 } NR == 1 || $2 > v { v = $2 } END {
		printf "%+.2f %% (of the best runs: %+.2f %%)", (w - 1) * 100, (v - 1) * 100 }' "$work/off.ratios")"
}

size_row() { # NAME TRACE
	local n b
	n=$(records "$2") b=$(bytes "$2"*)
	row "bytes of trace a call, $1, with arguments and results" "at most $3" \
		"$(calc "$b / (${n:-?} / 2)") ($(calc "${n:-?} / 2e6" %.1f) million calls)"
}

part_size() {
	find_redis_tools && zstd_input || return
	local lua zstd sqlite redis
	lua=$(real lua sled) && zstd=$(real zstd sled) && sqlite=$(real sqlite sled) &&
		redis=$(real redis sled) || return
	rm -f "$work"/t.db*
	timed "$devtrace" record -o "$work/t.db" "$lua" bench/work.lua && size_row Lua "$work/t.db" 4
	rm -f "$work"/t.db*
	head -c 20000000 "$work/zstd.in" >"$work/less.in"
	timed "$devtrace" record -o "$work/t.db" "$zstd" -5 -f -q --single-thread "$work/less.in" \
		-o "$work/zstd.out" && size_row zstd "$work/t.db" 8
	rm -f "$work"/t.db*
	timed "$devtrace" record -o "$work/t.db" "$sqlite" --size 10 :memory: &&
		size_row speedtest1 "$work/t.db" 8
	rm -f "$work"/t.db*
	start_redis "$devtrace" record -o "$work/t.db" "$redis" || return
	load_redis 5000
	stop_redis
	size_row Redis "$work/t.db" 8
}

part_reader() {
	[ -x bench/reader.sh ] || return
	make -s "$build/test/tool/maketrace" B="$build" >&2 || return
	local what rate rest reach
	# lines of: what, two blanks or more, figure, unit
	DEVTRACE_BUILD=$build timeout 240 ./bench/reader.sh "${RECORDS:-100000000}" |
		sed -E 's/^(.*[^ ])  +([0-9.]+) (.*)$/\1\t\2\t\3/' >"$work/reader"
	while IFS=$'\t' read -r what rate rest; do
		case $what in
		report | calls) reach='at least 20, in 512 MB' ;;
		encode) reach='at least 30' ;;
		*) reach='' ;;
		esac
		row "reading and writing ${RECORDS:-100000000} records: $what" "$reach" "$rate $rest"
	done <"$work/reader"
}

part_python() {
	local name clock processor alone
	"$build/test/tool/maketrace" -b -n "${PYTHON_RECORDS:-8000000}" "$work/python.db" >/dev/null &&
		PYTHONPATH=$root/python DEVTRACE_LIBRARY=$root/build/libdevtrace.so.1 bench/python.py "$work/python.db" |
		sed -nE '2,$s/^(.*[^ ])  +([0-9.]+) +([0-9.]+) +([-0-9.]+) +(.*)$/\1\t\2\t\3\t\4 \5/p' >"$work/python"
	while IFS=$'\t' read -r name clock processor alone; do
		[ "$name" = "calls()" ] && reach='at least 2' || reach=''
		row "Python: $name, million calls a second" "$reach" "$clock by the clock, $processor of processor time, alone: $alone"
	done <"$work/python"
	rm -f "$work/python.db"
}

# ---- main -------------------------------------------------------------------------------------

# seconds COMMAND...: how long it took
seconds() {
	local t=$EPOCHREALTIME
	"$@" >/dev/null 2>&1
	calc "$EPOCHREALTIME - $t" %.3f
}
# until the page's server answers that all is summed up
view_complete() { curl -s "$1get/trace" | grep -q '"complete":true'; }
# until there is a first picture of the whole
view_picture() {
	until curl -s "$1get/trace" | grep -q '"tracks":\[{'; do :; done
	curl -s -o /dev/null "$1get/window?from=0&to=$2&cells=1920&tracks=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17&depths=12"
}
part_view() {
	local n=${VIEW_RECORDS:-100000000} t=$work/view.db address length took i middle server_rss
	say "making a trace of $n records"
	"$build/test/tool/maketrace" -n "$n" -c 16 -t 64 "$t" >/dev/null || return
	took=$("$build/test/tool/check-pyramid" -b -k "$t" 300)
	row "time line of $n records, 16 cores, 64 threads: summing up" "under 15 s" "$(awk '$1 == "build_s" { print $2 }' <<<"$took") s, and $(awk '$1 == "save_s" { print $2 }' <<<"$took") s to keep it"
	row "... window of 1,920 pixels and 18 tracks, any" "under 20 ms, 50 ms worst" "$(sed -n 's/^window_ms //p' <<<"$took")"
	row "... memory" "under 1 GB" "$(awk '$1 == "memory_mb" { print $2 }' <<<"$took") MB"
	for i in 1 2 3 4 5; do
		mkfifo "$work/address"
		"$devtrace" view -n "$t" >"$work/address" 3>&- &
		server=$!
		read -r address <"$work/address"
		rm "$work/address"
		length=$(curl -s "${address}get/trace" | sed 's/.*"length":\([0-9]*\).*/\1/')
		raw view picture "$(seconds view_picture "$address" "$length")"
		server_rss=$(awk '$1 == "VmHWM:" { print $2 / 1024 }' "/proc/$server/status")
		kill "$server"
		wait "$server"
		server=
	done
	row "... first picture of the whole, from the server" "under 0.5 s" "$(middle view picture) s ($server_rss MB)"
	middle=$("$devtrace" sql --csv "$t" "SELECT max(end) / 2 FROM calls WHERE depth = 0" | tail -n 1)
	for i in 1 2 3 4 5; do
		raw view select "$(seconds "$devtrace" sql "$t" "SELECT count(*) FROM calls WHERE function = 'function100' AND begin BETWEEN $middle AND $middle + $middle / 50")"
	done
	row "... one function's calls in 1 % of the time, by SQL" "under 0.2 s" "$(middle view select) s"
	rm -f "$t"
}

# a program that calls three functions 867,000 times a second: 5.2 million records
# at each SIGUSR1 it says what a step has taken of its own processor time since the last one, in ns
live_program() {
	cat <<-'C'
	#include <signal.h>
	#include <stdio.h>
	#include <time.h>
	#include <unistd.h>
	static volatile sig_atomic_t asked;
	static void ask(int sig) { asked = sig; }
	static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
	__attribute__((noipa)) int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
	__attribute__((noipa)) int step(int i) { int n = work(i % 100); return 100 * n + work(10) / 3; }
	int main(void)
	{
		double since = now();
		long last = 0;
		struct timespec at;
		clock_gettime(CLOCK_MONOTONIC, &at);
		signal(SIGUSR1, ask);
		for (long i = 0;; i++) {
			step((int)(i % 100000));
			if (i % 867 == 0) {
				at.tv_nsec += 1000000;
				if (at.tv_nsec >= 1000000000)
					at.tv_sec++, at.tv_nsec -= 1000000000;
				clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
			}
			if (asked) {
				double t = now();
				asked = 0;
				printf("%.1f\n", (t - since) / (double)(i - last));
				fflush(stdout);
				since = t;
				last = i;
			}
		}
	}
	C
}
part_live() {
	local pid address trace i rss=() began
	live_program | gcc -O1 -g -x c -o "$work/ticker" - || return
	mkfifo "$work/steps"
	"$work/ticker" >"$work/steps" &
	pid=$!
	exec 4<"$work/steps"
	"$devtrace" attach -d -s bench-live -o "$work/live.db" -F step -F work "$pid" >/dev/null || { kill "$pid"; return; }
	mkfifo "$work/address"
	"$devtrace" view -n -s bench-live >"$work/address" 3>&- &
	server=$!
	read -r address <"$work/address"
	rm "$work/address"
	for i in {1..30}; do
		sleep 1
		trace=$(curl -s "${address}get/trace")
		# the newest record that is drawn, by the wall clock
		raw live behind "$(sed -E 's/.*"ns_per_tick":([0-9.]+),"length":([0-9]+).*"wall_ns":"([0-9]+)".*/\1 \2 \3/' <<<"$trace" |
			awk -v now="$(date +%s%N)" '{ printf "%.3f", (now - $3 - $1 * $2) / 1e9 }')"
		rss[i]=$(awk '$1 == "VmRSS:" { printf "%d", $2 / 1024 }' "/proc/$server/status")
	done
	row "live: records a second" "" "$(calc "$(records "$work/live.db") / 30 / 1000000") million"
	row "... the newest one drawn is behind" "at most 0.5 s" "$(middle live behind) s, worst of 30 $(figures live behind | sort -g | tail -n 1) s"
	row "... memory of the server after 10, 20, 30 s" "no growth" "${rss[10]}, ${rss[20]}, ${rss[30]} MB"
	# its own processor time for a step, looked at and not, in turn
	step_of() { kill -USR1 "$pid" && read -r _ <&4; sleep 2; kill -USR1 "$pid" && read -r step <&4; raw live "$1" "$step"; }
	for ((i = 0; i < rounds; i++)); do
		step_of looked
		kill -STOP "$server"
		step_of alone
		kill -CONT "$server"
		sleep 1
		raw live cost "$(calc "$(figures live looked | tail -n 1) / $(figures live alone | tail -n 1)" %.3f)"
	done
	row "... a traced step's processor time, looked at over not" "1" "$(middle live cost) ($(middle live looked) ns, $(middle live alone) ns)"
	"$devtrace" ctl -s bench-live quit
	kill "$pid" "$server"
	exec 4<&-
	wait "$server"
	server=
}

parts=(call filter probes device threads sites lossless size off reader python live view)
[ $# = 0 ] || parts=("$@")
for p in "${parts[@]}"; do
	declare -F "part_$p" >/dev/null || { sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
done
machine() {
	echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
		"Linux $(uname -r), $(gcc --version | head -n 1), $(date +%F)"
	echo "load average at the start: $(cut -d' ' -f1-3 /proc/loadavg); devtrace $(git describe --always --dirty 2>/dev/null)"
}
head=$(machine)
echo "$head" >&2
for p in "${parts[@]}"; do
	say "$p"
	rm -f "$out/$p".*
	start=$SECONDS
	"part_$p"
	say "$p took $((SECONDS - start)) s"
done
{
	echo "$head"
	echo
	echo "| figure | reach | measured |"
	echo "|---|---|---|"
	cat "$rows"
} | tee "$out/table.md"
