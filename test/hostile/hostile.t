#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of an ordinary user, traced by root, that write into the session's memory whatever they like: devtrace
# ends in order, soon after them, and what it has written is a sound trace or says what it does not know.
# usage: hostile.t    HOSTILE_SECONDS=n: of each kind (0.5); HOSTILE_SEED=n: where to begin (anew each time)
#	HOSTILE_ONLY=WORD: of the first kinds only those of which that is a part
#	HOSTILE_KEEP=DIR: traces of what fails are kept there
set -u
root=${DEVTRACE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
seconds=${HOSTILE_SECONDS:-0.5}
seed=${HOSTILE_SEED:-$RANDOM}
SHARE=${SHARE:-1}
. "$root/test/share.bash"
dir=$(mktemp -d) && chmod 711 "$dir" || exit 1
# also what it was doing when it is ended itself
# shellcheck disable=SC2046 # numbers
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
export XDG_RUNTIME_DIR=$dir/run
# as who has not been asked: a hostile program's own switches are recorded, too
export DEVTRACE_SWITCHES=yes
mkdir -m 700 "$dir/run"
n=0

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$dir/log" | head -n 60
		[ -z "${HOSTILE_KEEP-}" ] || cp "$dir/t.db" "$HOSTILE_KEEP/$n.db"
	fi
}

gcc -O2 -w -pthread -I"$root" -o "$dir/scribble" "$root"/test/hostile/{scribble,code,lives,requests}.c || exit 1
gcc -O2 -o "$dir/neighbour" "$root/test/hostile/neighbour.c" || exit 1
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cd "$dir" || exit 1

# one BUILD POLICY WHAT SECONDS
one() {
	local dt=$root/$1/devtrace status=0
	rm -f t.db*
	timeout -k 5 60 "$dt" record -p "$2" -b 64K -o t.db -F 'scribble:leaf' "${as[@]}" ./scribble "$seed" "$4" "$3" >log 2>&1
	status=$?
	echo "status $status, seed $seed" >>log
	! grep -q 'AddressSanitizer\|runtime error\|could be truncated' log || return 1
	# the program's own end, or one that its broken rings brought it, or its broken code (142: it hung itself up, and has an alarm); never ours, nor none
	case $status in
	7 | 139 | 1) ;;
	132 | 133 | 135 | 136 | 142) [ "$3" = code ] || return 1 ;;
	# libc's stack protector, in the program: the file says that it was that which aborted
	134) [ "$3" = code ] && [ "$(sqlite3 -readonly t.db "SELECT count(*) FROM process WHERE status = 6")" = 1 ] || return 1 ;;
	*) return 1 ;;
	esac
	[ ! -e t.db ] || sound "$dt"
}

# sound DEVTRACE: whatever it has written, the file is sound, and says what is not known
sound() {
	timeout -k 5 60 "$1" check t.db >>log 2>&1
	local status=$?
	echo "check: status $status" >>log
	[ "$status" = 0 ] && ! grep -q 'AddressSanitizer\|runtime error' log
}

# lies BUILD WHAT: a program's untruth is not in the file, and that something was untrue is
lies() {
	local dt=$root/$1/devtrace
	local -x DEVTRACE_SWITCHES=yes
	# those that are forged must be the only ones that there could be
	[ "$2" != switch ] || DEVTRACE_SWITCHES=no
	one "$1" wait "lie-$2" "$seconds" || return 1
	[ -e t.db ] || return 1
	# of some seconds, of one process's threads, of what is hooked; and losses that there can have been
	timeout 60 "$dt" sql -n -c t.db "WITH its AS (SELECT * FROM records WHERE kind NOT IN ('S', 'R', 'W'))
		SELECT (SELECT max(time) FROM records) < 60e9, (SELECT count(*) > 0 FROM its),
		(SELECT count(*) FROM its WHERE function != 'leaf') +
			('$DEVTRACE_SWITCHES' = 'no') * (SELECT count(*) FROM records WHERE kind IN ('S', 'R', 'W')),
		(SELECT count(DISTINCT thread) FROM its),
		(SELECT total(records) < 1e10 FROM lost)" 2>>log | tr -d "\r" >rows
	echo "within a minute, some records, not of leaf, threads, losses: $(cat rows)" >>log
	grep -qE "^1,1,0,[12],1\$" rows || return 1
	grep -q 'has written into the memory of the rings' log
}

# caught BUILD: one that is attached to has the memory open for a moment
caught() {
	local dt=$root/$1/devtrace pid tries
	rm -f t.db* out
	"${as[@]}" ./scribble 1 1 catch >out 2>log &
	pid=$!
	timeout -k 5 60 "$dt" attach -b 64K -o t.db -F 'scribble:leaf' "$pid" >>log 2>&1
	tries=$?
	wait "$pid"
	cat out >>log
	echo "status $tries" >>log
	[ "$tries" = 0 ] && grep -q 'truncated 0' out && sound "$dt"
}

# lives_of BUILD POLICY: processes that fork, execute and end, and are killed from outside meanwhile and in the end
lives_of() {
	local dt=$root/$1/devtrace status controller hunter
	rm -f t.db*
	timeout -k 5 90 "$dt" record -f -p "$2" -b 64K -o t.db -F 'scribble:leaf' "${as[@]}" ./scribble "$seed" "$seconds" life >log 2>&1 &
	controller=$!
	"${as[@]}" ./scribble "$seed" "$seconds" hunt "$controller" 2>>log &
	hunter=$!
	wait "$controller"
	status=$?
	wait "$hunter"
	echo "status $status, seed $seed" >>log
	! grep -q 'AddressSanitizer\|runtime error' log || return 1
	# it has ended as another program, by itself, by what it wrote, or was killed
	case $status in 0 | 7 | 1 | 139 | 137) ;; *) return 1 ;; esac
	[ ! -e t.db ] || sound "$dt"
}

# lets_go BUILD HOW POLICY: attach lets a process go whose code another one writes over all the time. LIMIT: seconds;
# a call that is made for us has 10, a stop 2, a thread in a hook half of one
lets_go() {
	local dt=$root/$1/devtrace limit=40 program writer controller k begin status
	rm -f t.db* log
	"${as[@]}" ./scribble "$seed" 100 calls &
	program=$!
	timeout -k 5 90 "$dt" attach -v -p "$3" -o t.db -F 'scribble:leaf' "$program" >log 2>&1 &
	controller=$!
	for ((k = 0; k < 1000; k++)); do
		if grep -q attached log || ! kill -0 "$controller" 2>/dev/null; then break; fi
		sleep 0.02
	done
	"${as[@]}" ./scribble "$seed" 100 "$2" "$program" 2>>log &
	writer=$!
	sleep 0.5
	begin=$EPOCHSECONDS
	kill -INT "$(pgrep -P "$controller")" 2>/dev/null
	wait "$controller"
	status=$?
	echo "status $status, seed $seed, $((EPOCHSECONDS - begin)) s" >>log
	# and what the program was made to start
	# shellcheck disable=SC2046 # numbers
	kill -9 "$writer" $(pgrep -P "$program") "$program" 2>/dev/null
	wait "$writer" "$program" 2>/dev/null
	! grep -q 'AddressSanitizer\|runtime error' log || return 1
	[ $((EPOCHSECONDS - begin)) -le $limit ] || return 1
	# it has said what it has left, unless it has left nothing, or there is nobody any more
	case $status in
	0) ;;
	1) grep -q 'keeps memory of devtrace\|could not be put back\|can not be stopped\|went away\|ended' log || return 1 ;;
	*) return 1 ;;
	esac
	[ ! -e t.db ] || sound "$dt"
}

# found WORD: what had been found of harm does none (findings.sh)
found() {
	ONLY=$1 bash "$root/test/hostile/findings.sh" "$root" >log 2>&1
	grep -q "($1)" log && ! grep -q 'HARM\|not tried' log
}

# answers BUILD: a session answers others while a program has its messages be about a thread that can not stop;
# each time it may be too late to exchange the threads, so some times
answers() {
	local dt=$root/$1/devtrace pid status i k long=2
	# sanitizers are slow, and there may be other work
	[ "$1" = build ] || long=5
	for ((i = 0; i < 4; i++)); do
		rm -f t.db* enough
		timeout -k 5 60 "$dt" record -s hostile -p wait -b 64K -o t.db -F 'scribble:leaf' "${as[@]}" ./scribble \
			"$seed" "$long.5" vfork >log 2>&1 &
		pid=$!
		# until it is there, and the program at it
		for ((k = 0; k < 200; k++)); do
			timeout "$long" "$dt" ctl -s hostile >said 2>&1
			status=$?
			grep -q 'there is no session' said || break
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.01
		done
		sleep 0.5
		[ "$status" != 0 ] || timeout "$long" "$dt" ctl -s hostile >said 2>&1
		status=$?
		cat said >>log
		# more of the same would tell no more
		[ "$status" != 0 ] || : >enough
		wait "$pid" || [ "$?" = 7 ] || { echo "status $?" >>log; return 1; }
		[ "$status" = 0 ] || { echo "no answer in $long s: status $status" >>log; return 1; }
		seed=$((seed + 1))
	done
	sound "$dt"
}

# beside BUILD WHAT: a program of another user that is recorded with the hostile one has each of its calls in the
# file, with its arguments, and the hostile one has seen none of them
beside() {
	local dt=$root/$1/devtrace status calls
	rm -f t.db* out
	cat >both.sh <<-END
		setpriv --reuid=65533 --regid=65533 --clear-groups ./neighbour $seconds >out &
		setpriv --reuid=65534 --regid=65534 --clear-groups ./scribble $seed $seconds $2 \$! &
		wait \$!
		echo "hostile \$?" >>status
		wait
	END
	rm -f status
	timeout -k 5 60 "$dt" record -f -p wait -b 64K -o t.db -F 'scribble:leaf' -F 'neighbour:mine' sh both.sh >log 2>&1
	status=$?
	echo "status $status, seed $seed" >>log
	cat out status >>log
	! grep -q 'AddressSanitizer\|runtime error' log || return 1
	[ "$status" = 0 ] && grep -q '^mine' out || return 1
	# 9: it has found a secret in its memory
	! grep -q 'hostile 9' status || return 1
	calls=$(timeout 60 "$dt" export --csv t.db 2>>log | python3 -c '
import csv, sys
n = 0
for r in csv.DictReader(sys.stdin):
    if r["function"] == "mine":
        assert r["text"].startswith("mine(0x5ec4e75ec4e75ec4, 0x%x" % n), (n, r)
        n += 1
print(n)')
	echo "calls of mine in the file: $calls" >>log
	[ "mine $calls" = "$(cat out)" ] || return 1
	# no wait, and no pause, but those that there were
	sqlite3 -readonly t.db "SELECT count(*) FROM hold h WHERE why = 'exec' AND end_ticks - begin_ticks = 100000000 AND
		tid IN (SELECT tid FROM thread WHERE name = 'neighbour');
		SELECT count(*) FROM pause" >rows
	echo "waits and pauses: $(cat rows)" >>log
	[ "$(tr '\n' ' ' <rows)" = '0 0 ' ] || return 1
	# nor a record of its threads but its own
	timeout 60 "$dt" sql -n t.db "SELECT count(*) FROM records WHERE function = 'leaf' AND thread IN
		(SELECT DISTINCT thread FROM records WHERE function = 'mine')" >rows 2>>log
	echo "records that are forged: $(cat rows)" >>log
	[ "$(tr -d ' \n' <rows)" = 0 ] && sound "$dt"
}

for build in build build/san; do
	[ -x "$root/$build/devtrace" ] || continue
	# with sanitizers all takes five times as long: less of it each time
	less=1
	[ $build = build ] || less=2
	mapfile -t ways < <(printf '%s\n' {wait,drop,overwrite}" "{control,rings,records,all,old,request,code,life,loops,stub} |
		grep -e "${HOSTILE_ONLY-}" | if [ "$SHARE" = 1 ]; then cat; else shuf -n $((3 - less)); fi)
	for way in "${ways[@]}"; do
		policy=${way% *} what=${way#* }
		case $what in
		life) lives_of $build $policy ;;
		loops | stub) lets_go $build $what $policy ;;
		*) one $build $policy $what "$seconds" ;;
		esac
		result $? "$build, $policy: writes to $what do no harm, seed $seed"
		seed=$((seed + 1))
	done
	[ -z "${HOSTILE_ONLY-}" ] || continue
	one $build wait truncate 1
	result $? "$build: the memory can not be taken away"
	mapfile -t whats < <(printf '%s\n' future past back nowhere namespace switch losses counts | share 3)
	for what in "${whats[@]}"; do
		[ "$(id -u)" = 0 ] && [ $build = build ] || break
		lies $build $what
		result $? "$build: what is untrue of records or losses is not believed: $what, seed $seed"
	done
	mapfile -t whats < <(printf '%s\n' bytes stride ring_size cores pointers users setuid position |
		if [ "$SHARE" = 1 ]; then cat; else shuf -n 2; fi)
	for what in "${whats[@]}"; do
		[ "$(id -u)" = 0 ] && [ $build = build ] || break
		found "$what"
		result $? "$build: what was found of harm at first does none: $what"
	done
	answers $build
	result $? "$build: messages about a thread that does not stop hold nobody"
	mapfile -t whats < <(printf '%s\n' control rings records all forge old request | if [ $build = build ]; then share 3; else share 6; fi)
	for what in "${whats[@]}"; do
		[ "$(id -u)" = 0 ] || break
		beside $build $what
		result $? "$build: writes to $what do no harm to another user's program, and nothing of it is seen, seed $seed"
		seed=$((seed + 1))
	done
	caught $build
	result $? "$build: nor by one that catches it while it is mapped"
done
echo "1..$n"
