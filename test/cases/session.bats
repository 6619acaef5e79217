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
		ended() { ! kill -0 "$server" 2>/dev/null; }
		until_true ended
	done
}
