# SPDX-License-Identifier: MIT
# What happens to sessions when those that they trace are killed.
load session

@test "session: ends although a process with threads is killed while it is detached" {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_obey
		act hold 0
		begin "s$i" "$pid"
		"$dt" ctl -s "s$i" - <<<$'trace * new all\ntrace all on\nstart'
		server=$(pgrep -f "attach -d -s s$i $pid")
		"$dt" ctl -s "s$i" quit
		kill -9 "$pid"
		ended() { ! grep -qs '^State:.[^Z]' "/proc/$server/status"; }
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
