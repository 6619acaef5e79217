# SPDX-License-Identifier: MIT
# devtrace tui, in a terminal (tmux): what is on the screen is what devtrace calls, graph, report and sql print, and what
# the program itself has counted.
load common

setup() {
	export XDG_RUNTIME_DIR=$dir/run TMUX_TMPDIR=$dir LC_ALL=C.UTF-8
	unset TMUX NO_COLOR
	server=0
	cd "$dir" || return
	[ -e fib.db ] && return
	"$dt" record -o fib.db ./fib 7 >/dev/null || true
	# It says how often it has called what.
	cat >many.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		static long leaves;
		__attribute__((noipa)) long leaf(long n) { leaves++; return n; }
		__attribute__((noipa)) long middle(long n) { long s = 0; for (long i = 0; i < n; i++) s += leaf(i); return s; }
		__attribute__((noipa)) long rare(long n) { return middle(3) + n; }
		int main(int argc, char **argv)
		{
			long turns = atol(argv[1]);
			for (long i = 0; i < turns; i++) {
				middle(i % 10);
				if (i % 5000 == 2500)
					rare(i);
			}
			printf("%ld %ld\n", turns, leaves);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o many many.c
	"$dt" record -o many.db ./many 30000 >many.out
	sqlite3 many.db 'SELECT 1' >/dev/null
}

teardown() {
	tm kill-server 2>/dev/null || true
	check_traces
}

tm() {
	tmux -f /dev/null -L "t$server" "$@"
}

# ends the terminal; the next one has a server of its own, since this one's ends a little later
leave() {
	tm kill-server
	server=$((server + 1))
}

# open [-x COLUMNS] [-y ROWS] ARG...: a terminal with a shell, in which devtrace tui runs
open() {
	local x=130 y=40
	while :; do
		case $1 in
		-x) x=$2 ;;
		-y) y=$2 ;;
		*) break ;;
		esac
		shift 2
	done
	tm new-session -d -x "$x" -y "$y" "env PS1='prompt> ' sh"
	pane=$(tm list-panes -F '#{pane_pid}')
	until_seen 'prompt>'
	type "'$dt' tui $*" Enter
	[ -n "${later-}" ] || until_seen ' help'
	tui=$(pgrep -P "$pane" || true)
}

type() {
	tm send-keys "$@"
}

screen() {
	tm capture-pane -p | sed 's/ *$//'
}

# until_seen [-v] PATTERN: waits until a line of the screen matches, or none does
until_seen() {
	local i
	for ((i = 0; i < 200; i++)); do
		if [ "$1" = -v ]; then
			screen | grep -qE -- "$2" || return 0
		else
			screen | grep -qE -- "$1" && return 0
		fi
		sleep 0.05
	done
	echo "not so: $*"
	screen
	return 1
}

# the rows of the view, without the lines above and below
rows() {
	screen | sed '1,3d;$d' | grep -v '^$'
}

# line of the cursor, by its place in the last line
cursor() {
	screen | tail -n 1 | grep -oE '[0-9]+/[0-9]+$' | cut -d/ -f1
}

# until_cursor N: the cursor is on row N
until_cursor() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ "$(cursor)" = "$1" ] && return 0
		sleep 0.05
	done
	echo "the cursor is on row $(cursor), not $1"
	screen
	return 1
}

# the program has ended, and the terminal is as before
is_restored() {
	until_seen '^prompt> *$|status is'
	[ "$(tm list-panes -F '#{alternate_on} #{cursor_flag}')" = "0 1" ]
	type C-u 'stty -a' Enter
	until_seen ' icanon'
	screen | grep -qE '(^| )echo( |$)'
	screen | grep -qE '(^| )isig( |$)'
}

@test "tui: without a terminal, or on one that is not known, it says so in one line" {
	run "$dt" tui fib.db </dev/null
	[ "$status" = 1 ]
	one_line terminal "devtrace calls"
	run script -qec "TERM= '$dt' tui fib.db" /dev/null
	[ "$status" = 1 ]
	one_line "TERM is not set"
	run script -qec "TERM=no-such '$dt' tui fib.db" /dev/null
	[ "$status" = 1 ]
	one_line "'no-such'" "not known"
	run script -qec "TERM=dumb '$dt' tui fib.db" /dev/null
	[ "$status" = 1 ]
	one_line "'dumb'"
	run "$dt" tui fib.db many.db
	[ "$status" = 2 ]
	[[ $output == *"one trace file at a time"* ]]
	run "$dt" tui --help
	[ "$status" = 0 ]
	[[ $output == *"usage: devtrace tui"* ]]
}

@test "tui: without the library that draws the rest works" {
	ldd "$dt" >libraries
	[ "$(grep -c ncurses libraries)" = 0 ]
	: >empty
	library=$(ldconfig -p | sed -n 's/.*libncursesw.so.6 .*x86-64.* => //p')
	[ -n "$library" ]
	cat >without <<-S
		#!/bin/sh
		mount --bind '$dir/empty' "\$(readlink -f '$library')" && exec "\$@"
	S
	chmod +x without
	unshare -m ./without "$dt" report fib.db >report
	"$dt" report fib.db | cmp - report
	run script -qec "TERM=xterm unshare -m ./without '$dt' tui fib.db" /dev/null
	[ "$status" = 1 ]
	one_line "libncursesw.so.6: file too short; it is in Debian's libncursesw6"
}

@test "tui: a file that is no trace, and wrong words, are said after the terminal is restored" {
	later=1 open nowhere.db
	until_seen 'devtrace: nowhere.db: '
	is_restored
	leave
	echo no trace >text
	later=1 open text
	until_seen 'devtrace: text: '
	is_restored
	leave
	later=1 open -f "'time>'" fib.db
	until_seen 'devtrace: -f: .*time'
	is_restored
}

@test "tui: the tree of calls has every call, in order, as devtrace sql has them" {
	open -y 200 fib.db
	until_seen 'main\('
	type e
	until_seen 'fib\(n=0\) = 0'
	type Home
	until_seen '^ *- thread'
	"$dt" sql -n fib.db "SELECT depth || ' ' || text FROM calls ORDER BY begin_ticks" >wanted
	rows | sed -n '2,$p' | cut -c26- | sed -E 's/^( *)[-+ ] (.*)/\1|\2/' |
		awk -F'|' '{ print length($1) / 2 - 1 " " $2 }' | sed -E 's|  /\* .*||' >found
	diff wanted found
	# 41 calls of fib(7), and main
	[ "$(wc -l <found)" = 42 ]
	# the times are those of devtrace calls
	"$dt" calls fib.db | grep -oE '^ +[0-9.]+ us' | tr -d ' ' | sort >wanted
	rows | sed -n '2,$p' | cut -c13-23 | grep us | tr -d ' ' | sort >found
	[ "$(grep -cvxFf found wanted)" -le 1 ] || diff wanted found # main may take milliseconds
	[ "$(wc -l <found)" -ge 41 ]
}

# makes rich.db: losses, pauses, tail calls, calls without an exit or an entry, several threads
rich() {
	[ -e rich.db ] || python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True
import traces; print(traces.rich(), end="")' "$root/test/golden" | "$root/build/test/tool/writetrace" rich.db
}

@test "tui: calls of several threads, with what is not known of them" {
	rich
	open -x 250 -y 500 rich.db
	until_seen '^13 records were lost'
	type 3
	until_seen ' work  .1 unwound, 4 tail, 1 unfinished, 4 with losses, 3 over a pause'
	"$dt" report rich.db 2>/dev/null | grep -vE 'waiting for devtrace|^beside' | sed '1d; s/  */ /g; s/^ //' >wanted
	# without the column for self wait
	rows | sed 's/  */ /g; s/^ //' >found
	diff <(awk '{ $9 = $10 = ""; print }' wanted | sed 's/  */ /g') <(sed 's/  */ /g' found)
	# all threads, from the last to the first
	type 1 End
	until_cursor 5
	for n in 4 3 2 1; do
		type e
		until_seen '^ *- thread'
		type Up
		until_cursor "$n"
	done
	type e
	until_seen '^ {24,}- thread 102'
	"$dt" sql -n rich.db "SELECT thread || ' ' || text FROM calls WHERE thread != 0" | sort >wanted
	rows | cut -c26- | sed -E 's|  /\* .*||; s/^ *[-+] thread ([0-9]+).*/thread \1/; s/^ *([-+] )?//' |
		awk '/^thread [0-9]+$/ { t = $2; next } { print t " " $0 }' | sort >found
	diff wanted found
	# each mark ends
	[ "$(rows | grep -c '/[*]')" -gt 3 ]
	[ -z "$(rows | grep '/[*]' | grep -v '[*]/ *$')" ]
	rows | grep 'records lost meanwhile'
	rows | grep 'not finished'
	rows | grep 'recording paused meanwhile'
	rows | grep 'tail call'
	rows | grep 'waited'
}

@test "tui: graph, table, callers and callees are those of devtrace graph and report, and of the program" {
	local turns leaves
	read -r turns leaves <many.out
	open many.db
	type 3
	until_seen ' leaf$'
	# all columns, as they are in devtrace report
	"$dt" report many.db | awk 'NR > 1 && !/waiting for devtrace/' | sed 's/  */ /g; s/^ //' >wanted
	rows | sed 's/  */ /g; s/^ //' >found
	diff wanted found
	grep -E " $leaves .* leaf$" found
	# sorted by calls, and the other way round
	type s
	until_seen 'sort by: .* c calls'
	type c
	until_seen '> +calls'
	rows | awk '{ print $NF }' >found
	"$dt" report -s calls many.db | awk 'NR > 1 && !/waiting for devtrace/ { print $NF }' | diff - found
	type r
	tac found >wanted
	for _ in {1..50}; do
		rows | awk '{ print $NF }' >found
		cmp -s wanted found && break
		sleep 0.05
	done
	diff wanted found
	# the graph, all unfolded
	type 2
	until_seen 'share'
	type e
	until_seen ' leaf$'
	"$dt" graph -m 0 many.db | sed 's/[├└─│]/ /g; s/  */ /g; s/^ //' | sed 1d >wanted
	rows | sed -E 's/ [-+] / /; s/  */ /g; s/^ //' >found
	diff wanted found
	# callers and callees of middle
	type /
	type mid Enter
	until_cursor 2
	type g
	until_seen '^ *called by'
	until_seen '^ *calls$'
	"$dt" graph -m 0 -D 1 many.db middle | sed -n '/^called by/,$p' | grep -vE '^ +total|^$' | sed 's/  */ /g; s/^ //' >wanted
	rows | sed 1d | sed -E 's/ [-+] / /; s/  */ /g; s/^ //' >found
	diff wanted found
	grep -E " $leaves .*leaf" found
	grep -E " $turns .*main" found
	type q
	until_seen '> +total .*share'
	type q
	is_restored
}

@test "tui: of very many calls those that follow each other are put together, and none is missing" {
	local turns leaves n
	read -r turns leaves <many.out
	open -y 3000 many.db
	until_seen 'calls, mostly'
	# all calls that main has made
	n=$(rows | sed 1,2d | awk '/calls, mostly/ { for (i = 1; i < NF; i++) if ($(i + 1) == "calls,") n += $i; next } { n++ } END { print n }')
	[ "$n" = $((turns + turns / 5000)) ]
	# the next ones of a name, and those before
	type q
	is_restored
	leave
	open many.db
	until_seen 'calls, mostly'
	type /
	type rare Enter
	until_seen 'rare\(n=2500\)'
	type n
	until_seen 'rare\(n=7500\)'
	type N N
	until_seen 'searched on from the other end'
	until_seen 'rare\(n=27500\)'
	# what is in it, and its caller, and the caller of that
	n=$(cursor)
	type Enter
	until_seen '- rare\(n=27500\)'
	until_seen ' middle\(n=3\) = 3'
	type Down u
	until_cursor "$n"
	type u
	until_cursor 2
	type /
	type nothing-like-that Enter
	until_seen "no function has 'nothing-like-that' in its name"
}

@test "tui: a filter shows the calls that devtrace calls -f has, and where they were made" {
	open many.db
	until_seen 'calls, mostly'
	type f
	type 'time>' Enter
	until_seen '^-f: .*time'
	type f
	type rare Enter
	until_seen 'only calls of -f rare'
	until_seen 'rare\(n=27500\)'
	"$dt" calls -f rare many.db | grep -oE 'rare\(n=[0-9]+\)' >wanted
	rows | grep -oE 'rare\(n=[0-9]+\)' | diff wanted -
	[ "$(wc -l <wanted)" = 6 ]
	type 3
	until_seen ' 6 .* rare$'
	[ "$(rows | wc -l)" = 1 ]
	type 2
	until_seen ' 6 .*rare$'
	[ "$(rows | wc -l)" = 1 ]
	# to its caller among all calls, which is main
	type 1
	until_seen 'rare\(n=27500\)'
	type Down Down u
	until_seen 'the filter is off'
	until_seen -v 'only calls of'
	until_cursor 2
	type q
	is_restored
	leave
	# words on the command line: as many as devtrace report counts
	open -f "'middle time<100us'" many.db
	until_seen 'only calls of -f middle time<100us'
	until_seen "thread .*: $("$dt" report -f 'middle time<100us' many.db | awk '$NF == "middle" { print $5 }') calls"
}

@test "tui: the source is shown at the function; what is no source file is not opened" {
	open many.db
	until_seen 'main\('
	type Down o
	until_seen "many.c:[0-9]+"
	until_seen 'int main\(int argc'
	type /
	type 'rare(i)' Enter
	until_seen ' rare\(i\)'
	type q
	until_seen '^ 1 calls'
	type q
	is_restored
	leave
	# whatever the trace says; each name is tried, and none of them holds it up
	mkfifo pipe.c
	ln -s /dev/zero zero.c
	echo secret >key
	for name in "$dir/gone.c" "$dir/pipe.c" "$dir/zero.c" "$dir/key" "$dir" many.c "../many.c"; do
		cp many.db odd.db
		sqlite3 odd.db "UPDATE function SET file = '$name'"
		open odd.db
		until_seen 'main\('
		type Down o
		until_seen 'the source can not be read'
		type q
		is_restored
		leave
	done
	sqlite3 odd.db "UPDATE function SET file = '$dir/many.c', line = 4000"
	open odd.db
	until_seen 'main\('
	type Down o
	until_seen 'the file has only [0-9]+ lines'
	rm -f pipe.c zero.c
}

@test "tui: names in a trace can not control the terminal" {
	cp fib.db hostile.db
	sqlite3 hostile.db "UPDATE function SET name = char(27) || ']0;taken' || char(7) || 'a' || char(10) || char(155) || '31m' || char(8238) || 'z' WHERE name = 'fib'"
	sqlite3 hostile.db "UPDATE thread SET name = char(27) || '[2Jx'"
	printf '#define X\n\033]0;taken\007\033[31m\n' >hostile.c
	sqlite3 hostile.db "UPDATE function SET file = '$dir/hostile.c', line = 2"
	open hostile.db
	tm pipe-pane "cat >raw"
	until_seen 'taken'
	type e
	until_seen 'n=0'
	type 2
	until_seen share
	type e 3
	until_seen 'max'
	type 1 Down o
	until_seen 'hostile.c'
	until_seen 'taken'
	type q q
	is_restored
	tm pipe-pane
	run grep -aqP '\x1b\]|\x07|\xc2\x9b|\xe2\x80\xae|\x1b\[2Jx' raw
	[ "$status" = 1 ]
	[ "$(tm display-message -p '#{pane_title}')" != taken ]
	# neither can they where text is not UTF-8
	leave
	export LC_ALL=C
	open hostile.db
	tm pipe-pane "cat >raw"
	until_seen 'taken'
	type 3
	until_seen max
	type q
	is_restored
	tm pipe-pane
	run grep -aqP '[\x80-\x9f]' raw
	[ "$status" = 1 ]
}

@test "tui: the size of the terminal may change, and may be too small" {
	open -x 100 -y 20 many.db
	until_seen 'calls, mostly'
	tm resize-window -x 60 -y 10
	until_seen '>$'
	[ "$(screen | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 60 ]
	tm resize-window -x 30 -y 10
	until_seen 'too small'
	until_seen '40x6 needed'
	tm resize-window -x 140 -y 30
	until_seen 'calls, mostly'
	type End
	until_seen ' ([0-9]+)/\1$'
	type 3
	until_seen p99
	tm resize-window -x 80 -y 24
	until_seen -v p99
	type q
	is_restored
}

@test "tui: without colours where NO_COLOR is set" {
	# where records were lost, there is something to be coloured
	rich
	for colour in 1 ""; do
		tm new-session -d -x 100 -y 20 "env PS1='prompt> ' NO_COLOR=$colour TERM=xterm-256color sh"
		until_seen 'prompt>'
		tm pipe-pane "cat >raw$colour"
		type "'$dt' tui rich.db" Enter
		until_seen '13 records were lost'
		type q
		pane=$(tm list-panes -F '#{pane_pid}')
		is_restored
		leave
	done
	run grep -aqP '\x1b\[[0-9;]*3[0-7]m' raw1
	[ "$status" = 1 ]
	grep -aqP '\x1b\[[0-9;]*33m' raw
}

@test "tui: however it ends, the terminal is restored" {
	local how child
	for how in q C-c TERM INT HUP QUIT child; do
		open fib.db
		until_seen 'fib\('
		[ -n "$tui" ]
		[ "$(tm list-panes -F '#{alternate_on}')" = 1 ]
		case $how in
		q | C-c) type $how ;;
		child)
			child=$(pgrep -P "$tui")
			[ -n "$child" ]
			kill -KILL "$child"
			until_seen 'ended by signal 9'
			;;
		*) kill -"$how" "$tui" ;;
		esac
		is_restored
		leave
	done
	# also in the middle of a long step
	[ -e long.db ] || "$dt" record -o long.db ./many 1000000 >/dev/null
	open long.db
	[ -n "$tui" ]
	type 2
	kill -TERM "$tui"
	is_restored
}

@test "tui: a long trace is on the screen at once, and what takes long can be stopped" {
	[ -e long.db ] || "$dt" record -o long.db ./many 1000000 >/dev/null
	local begun
	begun=$(date +%s%N)
	open long.db
	until_seen 'thread [0-9]+'
	[ $((($(date +%s%N) - begun) / 1000000)) -lt 4000 ]
	# the graph is read in one go: stopped, the view is the one before
	type 2 Escape
	until_seen 'stopped|share'
	# meanwhile it goes on reading for the tree
	type 1
	until_seen 'calls, mostly'
	type 2
	until_seen 'middle$'
	type 1
	until_seen 'begin +time'
	type q
	is_restored
}

# bats test_tags=long
@test "tui: the tree of calls against every call of long traces, and searching in it" {
	PATH=${dt%/*}/test/tool:$PATH
	# one thread; several, with losses; bursts
	maketrace -n 60000 -s 2 a.db >made
	check-outline a.db 60
	maketrace -n 60000 -c 4 -t 9 -l 20000 -s 3 b.db >made
	check-outline b.db 60
	maketrace -n 60000 -c 3 -t 5 -p 40000 -s 5 c.db >made
	check-outline c.db 60
	# calls one directly after the other, with thousands of short ones in each
	cat >turns.c <<-'C'
		__attribute__((noipa)) long leaf(long n) { return n; }
		__attribute__((noipa)) long outer(long n) { long s = 0; for (long i = 0; i < n; i++) s += leaf(i); return s; }
		int main(void) { for (int i = 0; i < 20; i++) outer(3000 + 10 * i); return 0; }
	C
	gcc -O1 -g -B"$root/build/lib" -o turns turns.c
	"$dt" record -o turns.db ./turns
	check-outline turns.db 60
	rich
	check-outline rich.db 200
	# as a filter has them
	for filter in 'function12*' 'time>5us time<1ms' 'result>0' 'depth<4' 'in:function3*'; do
		check-outline -f "$filter" b.db 40
	done
}
