# SPDX-License-Identifier: MIT
# What real.t and test/soak.sh share: TAP lines, traced runs, a Redis under load.
# shellcheck shell=bash
root=${DEVTRACE_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
devtrace=${DEVTRACE:-${DEVTRACE_BUILD:-$root/build}/devtrace}
work=$(mktemp -d) || exit 1
tests=0 server='' load='' tracer=''

cleanup() {
	local p
	for p in $tracer $load $server; do kill "$p" 2>/dev/null; done
	wait 2>/dev/null
	sweep "$work"
}
. "$root/test/sound.bash"
trap cleanup EXIT
trap 'exit 1' INT TERM

# result STATUS DESCRIPTION: one TAP line; what was said in $work/why explains a failure
result() {
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		[ ! -s "$work/why" ] || tail -n 25 "$work/why" | sed 's/^/# /'
	fi
	: >"$work/why"
}
why() { echo "$*" >>"$work/why"; }

# within SECONDS COMMAND...: polls it until it holds
within() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || { why "not within its time: $*"; return 1; }
		sleep 0.01
	done
}

program() { "$root/test/real/build.sh" "$@" 2>>"$work/why"; }

# query TRACE SQL
query() { sqlite3 "file:$1?mode=ro" "$2" 2>>"$work/why"; }
records() { query "$1" 'SELECT coalesce(sum(records), 0) FROM chunk'; }
lost() { query "$1" 'SELECT coalesce(sum(lost), 0) FROM loss'; }

# complete TRACE: it has records, and lost none
complete() {
	local n l
	n=$(records "$1") l=$(lost "$1")
	[ "${n:-0}" -gt 0 ] && [ "$l" = 0 ] && return
	why "$1: ${n:-no} records, ${l:-?} lost"
	return 1
}

# same NAME PROGRAM ARGUMENT...: the program says the same, and ends the same, traced and untraced;
# the trace, complete, is $work/NAME.db
same() {
	local name=$1 a b
	shift
	"$@" >"$work/$name.plain" </dev/null 2>"$work/$name.plain2"
	a=$?
	sweep "$work/$name.db"*
	timeout 120 "$devtrace" record -o "$work/$name.db" "$@" >"$work/$name.traced" \
		</dev/null 2>"$work/$name.traced2"
	b=$?
	[ $a = $b ] || why "untraced it ends with status $a, traced with $b"
	diff "$work/$name.plain" "$work/$name.traced" >>"$work/why" &&
		diff "$work/$name.plain2" "$work/$name.traced2" >>"$work/why" && [ $a = $b ] &&
		complete "$work/$name.db"
}

# ---- Redis ------------------------------------------------------------------------------------

# A server on a free loopback port, without files. Sets server, port, redis (its tools' folder).
start_redis() {
	local binary
	binary=$(program redis sled) || return
	redis=$(dirname "$binary")
	for _ in 1 2 3; do
		port=$((20000 + RANDOM % 12000))
		"$binary" --port "$port" --bind 127.0.0.1 --save '' --appendonly no \
			--dir "$work" >"$work/redis.log" 2>&1 </dev/null &
		server=$!
		within 60 redis_answers && return
		kill "$server" 2>/dev/null
		wait "$server"
	done
	cat "$work/redis.log" >>"$work/why"
	return 1
}
redis_answers() { [ "$("$redis/redis-cli" -p "$port" ping 2>/dev/null)" = PONG ]; }
redis_info() { "$redis/redis-cli" -p "$port" info "$1" | tr -d '\r' | sed -n "s/^$2://p"; }

# Load without end, in one connection each for 10 clients, until $work/enough is there. Every error
# reply and every lost connection ends redis-benchmark with a message and a status that is not 0.
start_load() {
	(
		while [ ! -e "$work/enough" ]; do
			timeout 60 "$redis/redis-benchmark" -h 127.0.0.1 -p "$port" -c 10 -n 20000 -P 4 \
				-t set,get,incr,lpush,rpop,sadd,hset,zadd -q >"$work/load.out" 2>&1 ||
				{ echo "status $?"; tail -n 3 "$work/load.out"; } >>"$work/load.bad"
			echo round >>"$work/load.rounds"
		done
	) &
	load=$!
}

# attached_now: the process has sites that are on. The controller says so with -v.
attached_now() { grep -q 'attached' "$work/attach.log" 2>/dev/null; }

# Attaches to the server, lets it run until the load has got on, detaches. Arguments go to attach.
attach_once() {
	sweep "$work/attach.db"*
	: >"$work/attach.log"
	# a shell starts what it puts aside with SIGINT ignored
	env --default-signal=INT "$devtrace" attach -v -o "$work/attach.db" "$@" "$server" \
		2>"$work/attach.log" >&2 &
	tracer=$!
	if ! within 60 attached_now; then
		cat "$work/attach.log" >>"$work/why"
		kill "$tracer"
		wait "$tracer"
		tracer=''
		return 1
	fi
	kill -INT "$tracer"
	wait "$tracer"
	local rc=$?
	tracer=''
	[ $rc = 0 ] || { why "attach ended with status $rc"; cat "$work/attach.log" >>"$work/why"; }
	return $rc
}

# attach_under_load N: N times, with patterns now and then; nobody must notice
attach_under_load() {
	local i errors rounds bad=0 taken=0 before after
	rm -f "$work"/load.* "$work/enough"
	start_redis || return
	before=$(code_of "$server")
	start_load
	for ((i = 0; i < $1; i++)); do
		case $((i % 4)) in
		3) attach_once -F 'dict*' -F 'process*' -p overwrite ;;
		2) attach_once -p drop ;;
		*) attach_once ;;
		esac || { bad=1; break; }
		taken=$((taken + $(sed -nE 's/.*: ([0-9]+) records.*/\1/p' "$work/attach.log" | tail -n 1)))
		kill -0 "$server" 2>/dev/null || { why "the server died at attach $i"; bad=1; break; }
	done
	: >"$work/enough"
	wait "$load"
	load=''
	errors=$(redis_info stats total_error_replies)
	after=$(code_of "$server")
	rounds=$(wc -l <"$work/load.rounds")
	kill "$server" 2>/dev/null
	wait "$server"
	server=''
	[ -s "$work/load.bad" ] && { cat "$work/load.bad" >>"$work/why"; bad=1; }
	[ "$errors" = 0 ] || { why "error replies: '$errors'"; bad=1; }
	[ "$before" = "$after" ] || { why "the server's code is not as it was"; bad=1; }
	[ "$taken" -gt 0 ] || { why "no record was taken"; bad=1; }
	why "$i attached, $taken records, $rounds rounds of load"
	return $bad
}

# A checksum of a process's code, as it stands in memory.
code_of() {
	local range access path
	while read -r range access _ _ _ path; do
		case $access:$path in
		*x*:/*) dd if="/proc/$1/mem" bs=4096 iflag=fullblock status=none \
			skip=$((0x${range%-*} / 4096)) \
			count=$(((0x${range#*-} - 0x${range%-*}) / 4096)) ;;
		esac
	done <"/proc/$1/maps" 2>>"$work/why" | sha256sum
}
