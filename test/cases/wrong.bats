# SPDX-License-Identifier: MIT
# What is asked wrongly of a trace gets one line, whatever else there would be to say of the trace; what is asked rightly
# and finds nothing says that.
load read-helper

bats_require_minimum_version 1.5.0

# wrong WORD COMMAND...: fails with usage's status and one line, which has the word
wrong() {
	run --separate-stderr "${@:2}"
	[ "$status" = 2 ] || { echo "${*:2}: status $status"; return 1; }
	[ -z "$output" ] || { echo "${*:2}: printed: $output"; return 1; }
	case $stderr in *"$1"*) ;; *) echo "${*:2}: no '$1' in: $stderr"; return 1 ;; esac
	[ "$(grep -vc '^Try .devtrace' <<<"$stderr")" = 1 ] || { echo "${*:2}: more than a line: $stderr"; return 1; }
}

# nothing WORD COMMAND...: finds nothing, and says so
nothing() {
	run "${@:2}"
	case $output in *"$1"*) ;; *) echo "${*:2}: no '$1' in: $output"; return 1 ;; esac
}

@test "wrong: a bound, a time, a word or a sum that is none gets one line, also of a trace with losses" {
	sample t.db
	devtrace report t.db 2>&1 | grep -q 'records were lost'
	for command in calls report graph cat "diff t.db" hist count plot "flame -o f.svg" "sum -e count"; do
		# shellcheck disable=SC2086 # words
		wrong "'later' is not a time" devtrace $command --from later t.db
		# shellcheck disable=SC2086
		wrong '--from 9us is after --to 3us' devtrace $command --from 9us --to 3us t.db
	done
	for command in calls report graph "diff t.db" hist count "flame -o f.svg" "export --csv -o f.csv"; do
		# shellcheck disable=SC2086
		wrong 'time>: a time is wanted' devtrace $command -f 'time>' t.db
	done
	wrong "'5parsecs' is not a time" devtrace calls -t 5parsecs t.db
	wrong 'words of a filter are wanted' devtrace sum -e 'count if' t.db
}

@test "wrong: the bounds may be one instant, and ticks" {
	sample t.db
	devtrace calls --from 1100 --to 1100 t.db >out 2>err
	grep -q add out
	wrong '--from 1101 is after --to 1100' devtrace calls --from 1101 --to 1100 t.db
}

@test "wrong: a value that no function has is named, with near ones" {
	sample t.db
	for command in "hist --value" "count -k"; do
		# shellcheck disable=SC2086 # words
		nothing "no function that was recorded has an argument 'argd'; near names: arg" devtrace $command argd t.db
		# shellcheck disable=SC2086
		nothing "has an argument 'what'" devtrace $command what -F add t.db
		# shellcheck disable=SC2086
		run devtrace $command a t.db
		[ "$status" = 0 ]
		[[ $output != *'no function'* ]]
	done
}

@test "wrong: that no call is meant, or is known to have failed, is said" {
	sample t.db
	nothing 'no call is one that -f means' devtrace calls -f 'time>5s' t.db
	nothing 'no call is known to have failed' devtrace calls --failed t.db
	run devtrace calls -f add t.db
	[[ $output != *'no call'* ]]
}

@test "wrong: a command that is mistyped is not only a program that is not found" {
	run devtrace reprot t.db
	[ "$status" = 1 ]
	[ "$output" = 'devtrace: reprot: not found in PATH, nor is it a command of devtrace; near names: report' ]
	run devtrace record -b 5 true
	[ "$output" = 'devtrace: a ring of 5 bytes: it must be a power of two from 64K to 1G' ]
}

@test "wrong: of a fleet, too" {
	for host in alpha beta; do
		python3 -S -c "
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, '$BATS_TEST_DIRNAME/../golden')
import traces
print(traces.$host() + 'lost 3')" | writetrace $host.db
	done
	devtrace merge -o f.db alpha.db beta.db >/dev/null
	devtrace report f.db 2>&1 | grep -q lost
	for command in calls report graph cat "sum -e count" "flame -o f.svg"; do
		# shellcheck disable=SC2086 # words
		wrong '--from 9us is after --to 3us' devtrace $command --from 9us --to 3us f.db
		# shellcheck disable=SC2086
		wrong "'later' is not a time" devtrace $command --from later f.db
	done
	nothing 'no call is one that -f means' devtrace calls -f nosuch f.db
	nothing 'no call is known to have failed' devtrace calls --failed f.db
	devtrace calls --from 1ms --to 1ms f.db
}
