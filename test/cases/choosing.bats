#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Sums, triggers and filters by ctl, while a session runs. What is right: what the program has been told to do, and what
# /proc says of it.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$(mktemp -d)
	cat >"$dir/phases.c" <<-'C'
		#include <stdio.h>
		#include <string.h>
		__attribute__((noipa)) int leaf(int n) { return n + 1; }
		__attribute__((noipa)) int work(int n) { return leaf(n) * 2; }
		__attribute__((noipa)) int text(const char *name, int n) { return name[0] + n; }
		__attribute__((noipa)) int held(int n)
		{
			int m;
			/* open until the next phase */
			printf("%d held\n", n);
			fflush(stdout);
			while (scanf("%d", &m) == 1 && m) {
				for (int k = 0; k < m; k++)
					work(k);
				printf("%d done\n", m);
				fflush(stdout);
			}
			return n;
		}
		int main(void)
		{
			int n;
			while (scanf("%d", &n) == 1) {
				if (n < 0) {
					held(-n);
					printf("%d over\n", -n);
				} else if (n >= 10000) {
					for (int k = 0; k < n - 10000; k++)
						text(k % 3 ? "odd" : "a\tb", k);
					printf("%d done\n", n);
				} else {
					for (int k = 0; k < n; k++)
						work(k);
					printf("%d done\n", n);
				}
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/phases" "$dir/phases.c"
}

teardown_file() {
	rm -rf "$dir"
}

teardown() {
	[ -z "$to" ] || exec {to}>&-
	[ -z "$session" ] || wait $session || true
	check_traces
}

# begin [OPTION...]: a session `live', which writes p.db, of a program that waits for its phases
begin() {
	rm -f fifo said p.db
	mkfifo fifo
	export XDG_RUNTIME_DIR=$PWD
	devtrace record -s live "$@" -o p.db "$dir/phases" <fifo >said 2>err 3>&- &
	session=$!
	exec {to}>fifo
	until devtrace ctl -s live status >/dev/null 2>&1; do
		kill -0 $session || { cat err; false; }
		sleep 0.02
	done
}

# phase N [WORDS]: the program calls work, and leaf in it, N times; or other things, and says WORDS
phase() {
	local n i said=${2:-$1 done}
	n=$(grep -c "^$said" said || true)
	echo "$1" >&"$to"
	for ((i = 0; i < 1000; i++)); do
		[ "$(grep -c "^$said" said || true)" -gt "$n" ] && return
		sleep 0.02
	done
	echo "phase $1: $said is not said"
	return 1
}

end() {
	exec {to}>&-
	to=
	wait $session
	session=
	devtrace check p.db >checked 2>&1 || { cat checked; false; }
}

ctl() {
	devtrace ctl -s live "$@"
}

# count NAME [KEY]: the calls of a sum, as ctl has them: all, or those of a row
count() {
	ctl sum "$1" | awk -v key="$2" 'NR > 2 && (key == "" || $NF == key) && $1 ~ /^[0-9]+$/ {n += $1} END {print n + 0}'
}

@test "choosing: sums by ctl: added, read, cleared, removed, in a session that writes all calls" {
	begin
	phase 100
	[ "$(ctl sum)" = 'there are no sums' ]
	ctl sum byname new count by function
	phase 200
	[ "$(ctl 'sum result if work n>49')" = 1 ]
	phase 60
	ctl sum >listed
	diff listed - <<-'TEXT'
		byname: count by function: 520 calls counted
		1: result if work n>49: 10 calls counted
	TEXT
	ctl sum byname >table
	diff <(sed 's/ *$//' table) - <<-'TEXT'
		count by function
		       calls  function
		         260  leaf
		         260  work
	TEXT
	# 50 to 59, plus 1, twice
	[ "$(ctl sum 1 | awk 'NR == 3 {print $1, $2, $4, $5}')" = '10 1110 102 120' ]
	ctl sum byname clear
	[ "$(count byname)" = 0 ]
	ctl sum byname | grep -q '^no call counted$'
	phase 30
	[ "$(count byname work)" = 30 ]
	[ "$(count 1)" = 10 ]
	ctl sum 1 remove
	[ "$(ctl sum)" = 'byname: count by function: 60 calls counted' ]
	# the numbers of names go on
	[ "$(ctl 'sum count')" = 2 ] || [ "$(ctl 'sum count by thread')" = 2 ]
	phase 5
	[ "$(count 2)" = 10 ]
	end
	# all calls are in the file, and the sums that there were at the end
	[ "$(devtrace sql -n p.db "SELECT count(*) FROM calls WHERE function = 'work'")" = 395 ]
	devtrace sum --json p.db | nested | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert [x["sum"] for x in s] == ["count by function", "count by thread"], s
assert {r["key"]["function"]: r["calls"] for r in s[0]["rows"]}["work"] == 35 and s[1]["calls"] == 10 + 0, s'
	[ "$(sqlite3 p.db "SELECT count(*) FROM change WHERE command LIKE 'sum %'")" = 5 ]
}

@test "choosing: calls that are open when a sum comes are the callers of those in them, and do not count" {
	begin
	# from here on it looks at calls: of those that were open before, such as main, it does not know
	ctl sum first new count
	phase -7 '7 held'
	ctl sum new1 new count by function
	ctl sum inside new 'count by function if in:held'
	ctl sum caller new 'count by caller if caller:held'
	ctl sum deep new 'count by depth if work'
	phase 40
	[ "$(ctl sum inside | awk 'NR > 2 {print $1, $2}' | sort)" = $'40 leaf\n40 work' ]
	[ "$(count caller held)" = 40 ]
	# one is taken away in the middle of an open call: what the others know of it stays
	ctl sum new1 remove
	phase 11
	[ "$(count inside work)" = 51 ]
	[ "$(count caller held)" = 51 ]
	[ "$(count deep)" = 51 ]
	ctl sum last new 'time by function if held'
	phase 0 '7 over'
	[ "$(count inside)" = 102 ]
	[ "$(count last)" = 0 ]
	end
}

@test "choosing: sums by ctl beside those of options: without --filter still no call is written" {
	begin --sum 'count by function' --signal 'URG if leaf n=1000'
	phase 50
	[ "$(count 1 leaf)" = 50 ]
	ctl sum more new 'hist(n) if leaf'
	phase 1
	phase 2
	ctl sum more >table
	[ "$(head -n 1 table)" = 'hist(n) if leaf' ]
	[ "$(awk '/\[0, 1\)/ {print $3}' table)" = 2 ] || { cat table; false; }
	[ "$(awk '/\[1, 2\)/ {print $3}' table)" = 1 ]
	[ "$(ctl signal)" = 'URG if leaf n=1000' ]
	# those of options go, too
	ctl sum 1 remove
	phase 3
	[ "$(count more)" = 6 ]
	end
	[ "$(devtrace sql -n p.db 'SELECT count(*) FROM calls')" = 0 ]
}

@test "choosing: texts, keys and threads in a table of ctl are what they are in the file" {
	begin -A text
	ctl sum texts new 'count by name, error if text'
	ctl sum who new 'count by thread, process, function, core if text'
	ctl sum path new 'count by callers if text'
	phase 10030
	ctl sum texts >table
	# a tabulator is written as in C
	diff <(sed 's/ *$//; s/^ *//' table | tail -n +3 | sort) - <<-'TEXT'
		10  "a\tb"  ?
		20  "odd"  ?
	TEXT
	for s in texts who path; do ctl sum $s | sed 's/ *$//' >$s.live; done
	grep -qE ' 30  [0-9]+ phases  [0-9]+ phases  text  [0-9]+$' who.live || { cat who.live; false; }
	end
	devtrace sum p.db 2>/dev/null | sed 's/ *$//' >kept
	for s in texts who path; do cat $s.live; [ $s = path ] || echo; done | diff kept - || { cat kept; false; }
}

@test "choosing: a trigger by ctl: the signal is sent once, and again when it is set again; until ends the recording" {
	begin
	phase 20
	ctl 'signal STOP if leaf n=30'
	ctl signal | grep -qx 'STOP if leaf n=30'
	phase 30
	local pid i
	pid=$(pgrep -P "$session" -x phases)
	for round in 1 2; do
		echo 40 >&"$to"
		for ((i = 0; i < 300; i++)); do
			[ "$(awk '{print $3}' /proc/$pid/stat)" = T ] && break
			sleep 0.01
		done
		[ "$(awk '{print $3}' /proc/$pid/stat)" = T ]
		[ "$(ctl signal)" = 'STOP if leaf n=30: it has been sent' ]
		kill -CONT $pid
		phase 41
		[ "$(awk '{print $3}' /proc/$pid/stat)" != T ]
		ctl signal STOP if 'leaf n=30'
	done
	ctl signal -
	[ "$(ctl signal)" = 'no signal is to be sent' ]
	phase 50
	[ "$(awk '{print $3}' /proc/$pid/stat)" != T ]
	ctl until 'leaf n=1000'
	ctl until 'leaf n=60'
	[ "$(ctl until)" = 'leaf n=60' ]
	ctl until -
	phase 70
	[ "$(ctl until)" = 'there are no words that end the recording' ]
	ctl until 'leaf n=80'
	phase 90
	for ((i = 0; i < 300; i++)); do
		devtrace ctl -s live status 2>&1 | grep -q "there is no session" && break
		sleep 0.01
	done
	phase 95
	end
	grep -q 'ended as --until says, with a call of leaf' err || { cat err; false; }
	[ "$(devtrace sql -n p.db "SELECT max(arg0) FROM calls WHERE function = 'leaf'")" = 89 ]
}

@test "choosing: a command that is wrong changes nothing, and says in one line what would be right" {
	begin --sum 'count by function'
	phase 10
	ctl >before
	ctl sum 1 >table
	local words want
	while IFS='|' read -r words want; do
		run -1 devtrace ctl -s live "$words"
		[ "${#lines[@]}" = 1 ] && [[ $output == *"$want"* ]] || { echo "$words: $output"; false; }
	done <<-'TEXT'
		sum other|sum: there is none called 'other'; sum without words lists them
		sum count|sum: there is none called 'count'
		sum other clear|sum: there is none called 'other'
		sum other remove|sum: there is none called 'other'
		sum 1 new count|there is one called '1' already
		sum a/b new count|'a/b' is no name
		sum x new|a sum is WHAT
		sum x new by function|a sum is WHAT
		sum x new count by time|there would be a row for each time
		sum x new count if time>|a time is wanted
		sum x new count if event:net:*|only readers of a trace choose by that
		sum count by|by: a key is wanted
		until time>5|a time is wanted
		until event:x|only readers
		signal NOSUCH if leaf|NOSUCH is no signal
		signal STOP|words are wanted
		signal STOP leaf|words are wanted
		signal STOP if leaf n>>|
	TEXT
	for i in 2 3 4 5 6 7 8; do
		ctl "sum s$i new count"
	done
	run -1 devtrace ctl -s live 'sum s9 new count'
	[[ $output == *'8 of them together at most'* ]]
	run -1 devtrace ctl -s live 'until leaf'
	[[ $output == *'8 of them together at most'* ]]
	for i in 2 3 4 5 6 7 8; do
		ctl "sum s$i remove"
	done
	ctl | grep -v "^#" | diff <(grep -v "^#" before) -
	ctl sum 1 | diff table -
	end
	[ "$(devtrace sum --json p.db | nested | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" = 1 ]
	# a session that reads its records at the end can not sum them up
	begin -p overwrite
	run -1 devtrace ctl -s live sum x new count
	[[ $output == *'sum: this session reads its records at the end only (-p overwrite)'* ]]
	end
}

@test "choosing: what ctl shows restores what is chosen" {
	begin --filter "work n>5" --sum 'count by function if leaf' --signal 'URG if name=a*b' --until 'leaf n=12345'
	ctl "sum quoted new 'count if name=it''s'"
	ctl >saved
	grep -qx "filter 'work n>5'" saved
	grep -qx "sum 1 new 'count by function if leaf'" saved
	grep -qxF "sum quoted new 'count if name=it''s'" saved
	grep -qx "until 'leaf n=12345'" saved
	grep -qxF "signal URG if 'name=a*b'" saved
	end
	begin
	grep -E '^(filter|sum|until|signal) ' saved | ctl -
	phase 20
	ctl >again
	diff <(grep -E '^(filter|sum|until|signal) ' saved) <(grep -E '^(filter|sum|until|signal) ' again)
	[ "$(count 1)" = 20 ]
	end
	[ "$(devtrace sql -n p.db 'SELECT count(*) FROM calls WHERE arg0 <= 5')" = 0 ]
}

@test "choosing: a hundred sums come and go while calls are made by several threads" {
	gcc -O1 -g -pthread -fno-optimize-sibling-calls -o chosen "$BATS_TEST_DIRNAME/../programs/chosen.c"
	export XDG_RUNTIME_DIR=$PWD
	devtrace record -s live -o p.db --sum 'count by function' ./chosen 60000 3 >out 2>err 3>&- &
	session=$!
	local n=0
	until devtrace ctl -s live status >/dev/null 2>&1; do sleep 0.02; done
	while ((n < 100)) && ctl "sum a$n new count by caller if in:parse" 2>/dev/null; do
		ctl "sum b$n new 'hist(size) if get depth<5'" 2>/dev/null || true
		ctl "sum a$n" >/dev/null 2>&1 || true
		ctl "sum a$n remove" 2>/dev/null || true
		ctl "sum b$n clear" 2>/dev/null || true
		ctl "sum b$n remove" 2>/dev/null || true
		n=$((n + 1))
	done
	wait $session
	session=
	[ "$n" -gt 5 ]
	devtrace check p.db
	# the first one has counted all, undisturbed
	devtrace sum --json p.db | nested >s.json
	python3 - <<-'PY'
		import json
		n = {k: int(v) for k, v in (l.split() for l in open("out"))}
		s = json.load(open("s.json"))
		rows = {r["key"]["function"]: r["calls"] for r in s[0]["rows"]}
		for f in ("get", "leaf", "slow"):
		    assert rows[f] == n[f], (f, rows, n)
	PY
}
