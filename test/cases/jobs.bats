#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reading on several threads (-j): what is printed is what one thread prints, byte by byte.
load read-helper

# same FILE COMMAND...: what it prints with so many threads is what it prints with one; without
# --anyway it refuses some, in the same line
same() {
	local file=$1 j
	shift
	devtrace "$@" -j 1 "$file" >one 2>one.said || true
	for j in 2 3 16; do
		devtrace "$@" -j "$j" "$file" >many 2>many.said || true
		cmp one many
		cmp one.said many.said
	done
}

@test "report -j and check -j print the same of made-up calls of several cores and threads" {
	maketrace -n 200000 -c 3 -t 5 t.db
	same t.db report
	same t.db report --json
	maketrace -n 200000 -c 2 -t 3 -l 50000 -p 20000 -m 500 t.db
	same t.db report --json
	same t.db check
}

@test "report -j and check -j print the same of random calls" {
	local seed first=$RANDOM
	for seed in $(seq $first $((first + 19))); do
		echo "random-calls.py $seed 1500"
		rm -f t.db
		python3 "$BATS_TEST_DIRNAME/random-calls.py" "$seed" 1500 | writetrace t.db
		[ $((seed % 2)) = 0 ] || sqlite3 t.db 'DELETE FROM lost_switches' # none of the losses are of switches
		same t.db report --json --anyway
		same t.db report
		same t.db check
	done
	rm t.db # most of these are not sound, on purpose
}

@test "-j takes a number of threads" {
	maketrace -n 1000 t.db
	for j in 0 -1 257 x 1x ''; do
		for command in report check; do
			run devtrace $command -j "$j" t.db
			[ "$status" = 2 ]
			[ "$output" = "devtrace: '$j' is not a number of threads: say 1 to 256" ]
		done
	done
}
