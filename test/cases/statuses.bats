# SPDX-License-Identifier: MIT
# Exit statuses: each row of the table in devtrace(1), and no row that is not shown here; how messages begin; commands
# that have the name of a program.
load common

table() {
	sed -n '/^\.SH EXIT STATUS/,/^\.SH ENV/p' "$root/man/devtrace.1"
}

# row STATUS WORDS: the table has a row of this status with these words
row() {
	table | awk -v n="$1" '/^\.TP/ { getline; now = $2 } now == n' | sed 's/\\//g; s/^\.[BI]*R\? //' | tr '\n' ' ' |
		grep -qF -e "$2" || { echo "devtrace(1) has no row $1 with '$2'"; return 1; }
}

# ends STATUS COMMAND...
ends() {
	local want=$1
	shift
	run "$@" </dev/null
	[ "$status" = "$want" ] || { echo "$* ended with $status, not $want: $output"; return 1; }
}

setup() {
	cd "$dir"
	[ -e t.db ] || "$dt" record -o t.db ./fib 5 >/dev/null || true
}

@test "statuses: 0, and 2 for wrong usage" {
	row 0 "done"
	ends 0 "$dt" calls t.db
	ends 0 "$dt" --help
	row 2 "wrong usage"
	ends 2 "$dt"
	for command in record attach ctl mount shell list cat calls report sum top tui graph diff view flame sql plot check \
		hist count export import serve fetch events; do
		ends 2 "$dt" "$command" --no-such-option
		[ "${lines[0]}" = "devtrace: unrecognized option '--no-such-option'" ]
		[[ "${lines[1]}" == "Try \`devtrace $command --help\`."* ]]
		ends 0 "$dt" "$command" --help
	done
	ends 2 "$dt" --no-such-option ls
	[ "$output" = "devtrace: unrecognized option '--no-such-option'"$'\n'"Try \`devtrace --help\`." ]
}

@test "statuses: that of the program, of a signal, of devtrace when it can not trace" {
	row N "program's own"
	ends 3 "$dt" ./fib
	ends 3 "$dt" record -o own.db ./fib
	ends 77 "$dt" -l sh -c 'exit 77'
	row 128+N "ended by signal"
	ends 137 "$dt" record -o own.db sh -c 'kill -KILL $$'
	ends 143 "$dt" -l sh -c 'kill $$'
	row 1 "cannot be traced"
	ends 1 "$dt" ./no-such-program
	ends 1 "$dt" attach 999999999
}

@test "statuses: interrupted before anything was recorded, and after" {
	row 128+N "before anything was recorded"
	start_spin
	"$dt" attach -o attached.db -F turn "$pid" 2>err &
	controller=$!
	# the file is there before its first record
	until "$dt" cat attached.db 2>/dev/null | grep -q '^E '; do
		kill -0 "$controller"
		sleep 0.1
	done
	kill -INT "$controller"
	wait "$controller"
	row 0 "Ctrl-C"
	stop_spin
	# that one before is said, and gives its status: record.bats, "a signal before anything is recorded"
	grep -q '^@test "record, attach: a signal before anything is recorded is said, and gives its status"' \
		"$root/test/cases/record.bats"
}

@test "statuses: a trace that can not be read, is damaged, has nothing of what was asked for" {
	row 1 "cannot be read"
	echo text >text
	for command in calls cat report graph flame plot hist count check "export --csv" view; do
		# shellcheck disable=SC2086 # words
		ends 1 "$dt" $command text
	done
	ends 1 "$dt" sql text 'SELECT 1'
	ends 1 "$dt" diff t.db text
	row 1 "is not sound"
	cp t.db bad.db
	sqlite3 bad.db "UPDATE chunk SET records = records - 1 WHERE id = (SELECT min(id) FROM chunk)"
	ends 1 "$dt" check bad.db
	rm bad.db
	ends 0 "$dt" check t.db
	row 1 "nothing"
	ends 1 "$dt" hist -F no_such -o none.svg t.db
	ends 1 "$dt" graph t.db no_such
	ends 1 "$dt" sum t.db
	ends 1 "$dt" list text
	row 1 "SQL"
	ends 1 "$dt" sql t.db 'SELECT nothing FROM nowhere'
	row 1 "no terminal"
	ends 1 "$dt" tui t.db
	row 1 "cannot be written"
	ends 1 sh -c "'$dt' calls t.db >/dev/full"
}

@test "statuses: of diff --first" {
	row 3 "diff"
	"$dt" record -o u.db ./fib 6 >/dev/null || true
	ends 3 "$dt" diff --first t.db u.db
	ends 0 "$dt" diff --first t.db t.db
	ends 0 "$dt" diff t.db u.db
}

@test "statuses: of a session's commands" {
	row 1 "session"
	ends 1 "$dt" ctl -s no-such start
	start_spin
	"$dt" attach -d -s "statuses$$" "$pid" >/dev/null
	ends 0 "$dt" ctl -s "statuses$$" start
	ends 1 "$dt" ctl -s "statuses$$" trace nothing on
	[[ "$output" == "devtrace: trace not found: 'nothing'"* ]]
	ends 1 "$dt" shell -s "statuses$$" -c 'trace nothing on'
	ends 0 "$dt" ctl -s "statuses$$" quit
	stop_spin
}

@test "statuses: a reader that has seen enough" {
	row 141 "reader"
	"$dt" record -o long.db -F fib ./fib 20 >/dev/null || true
	run bash -c "'$dt' calls long.db | head -n 1 >/dev/null; exit \${PIPESTATUS[0]}"
	[ "$status" = 141 ]
}

@test "messages: one prefix, also where a session or the language has answered" {
	start_spin
	ends 1 "$dt" record -T 'no_such+1' -o x.db ./fib
	[[ "${lines[-1]}" == "devtrace: start address not in recognized format"* ]]
	stop_spin
	for command in "record -o x.db ./none" "attach none" "ctl -s none" "shell none" "list none" "calls none" "diff none none" \
		"report none" "sql none x" "check none" "tui none" "export none" "import none" "serve none" "events none" "fetch"; do
		# shellcheck disable=SC2086 # words
		run "$dt" $command </dev/null
		[ "$status" != 0 ]
		# check names the file that it is about, as it does of each file
		[[ "${lines[0]}" == "devtrace: "* ]] || [ "$command" = "check none" ]
		[[ "$output" != *"devtrace: devtrace: "* ]]
		[[ "$output" != *"devtrace: ${command%% *}: "* ]]
	done
}

@test "names of programs: a file that is no trace may have been meant for the program" {
	echo text >text
	ends 1 "$dt" cat text
	[ "$output" = "devtrace: text: is not a devtrace trace (the program cat is traced by: devtrace -- cat text)" ]
	ends 1 "$dt" diff text 'a text'
	[[ "$output" == *"devtrace -- diff text 'a text')" ]]
	ends 1 "$dt" sum text
	[[ "$output" == *"devtrace -- sum text)" ]]
	ends 1 "$dt" mount text
	[[ "$output" == *"devtrace -- mount text)" ]]
	ends 2 "$dt" top -b -n 1
	[[ "$output" == *"devtrace -- top -b -n 1)" ]]
	# what it says works, without a program of that name nothing is said, and what can not be written is left out
	ends 0 "$dt" -- cat text
	[[ "$output" == text* ]]
	ends 1 "$dt" calls text
	[ "$output" = "devtrace: text: is not a devtrace trace" ]
	PATH=/nowhere ends 1 "$dt" cat text
	[ "$output" = "devtrace: text: is not a devtrace trace" ]
	ends 1 "$dt" cat "$(printf 'a%.0s' {1..400})"
	[[ "$output" == *"devtrace -- cat ...)" ]]
	ends 1 "$dt" cat $'\e[31m'
	[[ "$output" == *"devtrace -- cat ...)" ]]
	[[ "$output" != *$'\e'* ]]
	# a trace is a trace
	ends 0 "$dt" cat t.db
}
