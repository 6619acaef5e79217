# SPDX-License-Identifier: MIT
# What happens to sessions when those that they trace are killed.
load session

# A race: seen once in a hundred runs of the tests before, so this does not always fail without the fix.
@test "session: ends although processes with threads are killed while they are detached" {
	ended() { ! grep -qs '^State:.[^Z]' "/proc/$server/status"; }
	for i in 1 2 3 4 5 6; do
		pids=()
		for _ in 1 2 3 4; do
			start_obey
			act hold 0
			pids+=("$pid")
		done
		begin "s$i" "${pids[@]}"
		"$dt" ctl -s "s$i" - <<<$'trace * new all\ntrace all on\nstart'
		server=$(pgrep -f "attach -d -s s$i ${pids[0]}")
		# they are detached one after the other: somewhere in it
		"$dt" ctl -s "s$i" quit
		for pid in "${pids[@]}"; do
			kill -9 "$pid"
		done
		until_true ended
	done
}

@test "session: what a killed one has left goes away, a fresh one stays" {
	start_obey
	begin t "$pid"
	kill -9 "$(pgrep -f "attach -d -s t $pid")"
	socket=$XDG_RUNTIME_DIR/devtrace/t.sock
	"$dt" list || true
	[ -S "$socket" ] # it could be about to begin
	touch -d '1 minute ago' "$socket"
	run "$dt" list
	[ ! -e "$socket" ]
}
