# SPDX-License-Identifier: MIT
# Signal frames that stand on a stack with an address in them at which devtrace changes code: of handlers that
# run, and of such that have returned. Neither keeps functions from being hooked, or devtrace from leaving.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -D_GNU_SOURCE -O1 -g -fno-stack-protector -fno-stack-clash-protection -fcf-protection=none \
		-o "$dir/returns" "$root/test/programs/returns.c"
	"$dir/returns" old <<<ab >"$dir/alone"
	for mode in live spent late; do "$dir/returns" $mode <<<ab | cmp - "$dir/alone"; done
}

teardown_file() {
	rm -rf "$dir"
}

# seen WORD: the program has printed it within ten seconds
seen() {
	for _ in $(seq 500); do
		if grep -q "$1" "$dir/out"; then return 0; fi
		sleep 0.02
	done
	return 1
}

# Attaches to returns MODE before its first calls of f(), and leaves it before the last ones.
attach_to() {
	local session=returns$$ status=0
	rm -f "$dir"/t.db* "$dir/go"
	mkfifo "$dir/go"
	"$dir/returns" "$1" <"$dir/go" >"$dir/out" 3>&- &
	local pid=$!
	exec {go}>"$dir/go"
	seen here
	cp "/proc/$pid/maps" "$dir/maps"
	"$dt" attach -d -s "$session" -F returns:f -o "$dir/t.db" "$pid" >"$dir/name" 2>"$dir/err" 3>&- {go}>&-
	echo -n a >&$go
	seen there
	"$dt" ctl -s "$session" quit
	for _ in $(seq 500); do
		if ! "$dt" ctl -s "$session" status >"$dir/said" 2>&1; then break; fi
		sleep 0.02
	done
	# nothing of devtrace's stays in it
	"$dt" check -q "$dir/t.db"
	cp "/proc/$pid/maps" "$dir/maps.then"
	echo -n b >&$go
	exec {go}>&-
	wait "$pid" || status=$?
	[ "$status" = 0 ]
	cmp "$dir/alone" "$dir/out"
	run grep -c . "$dir/err"
	[ "$output" = 0 ]
	diff <(awk '{ print $1, $2 }' "$dir/maps" | grep x) <(awk '{ print $1, $2 }' "$dir/maps.then" | grep x)
}

# recorded E X: so many entries and exits
recorded() {
	run "$dt" sql -n -c "$dir/t.db" "SELECT sum(kind = 'E'), sum(kind = 'X') FROM records"
	[ "${output%$'\r'}" = "$1,$2" ]
}

@test "returns: what a handler that has returned left on the stack keeps nothing from being hooked" {
	attach_to old
	recorded 1000 1000
}

@test "returns: a handler that runs while functions are hooked returns to the right place" {
	attach_to live
	# it returns into f(), which began before devtrace came
	recorded 1000 1001
}

@test "returns: what a handler that has returned left on the stack does not keep devtrace from leaving" {
	attach_to spent
	recorded 1001 1001
}

@test "returns: a handler that runs while devtrace leaves returns to the right place" {
	attach_to late
	# what it returns into ends when devtrace has left
	recorded 1001 1000
}
