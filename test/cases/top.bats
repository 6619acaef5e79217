# SPDX-License-Identifier: MIT
# devtrace top, report --live: the table of a trace that is being recorded.
load session

setup() {
	export XDG_RUNTIME_DIR=$dir/run
	sessions=() obeyers=()
	[ -e "$dir/turns" ] && return
	# It says at its end how often it has called what.
	cat >"$dir/turns.c" <<-'C'
		#include <signal.h>
		#include <stdio.h>
		#include <unistd.h>
		static volatile sig_atomic_t over;
		static void stop(int s) { over = s; }
		__attribute__((noinline)) int turn(volatile int *n) { return ++*n; }
		__attribute__((noinline)) int work(volatile int *n)
		{
			for (int i = 0; i < 100; i++)
				turn(n);
			return *n;
		}
		__attribute__((noinline)) void doze(void) { usleep(10000); }
		int main(void)
		{
			volatile int n = 0;
			int works = 0;
			signal(SIGUSR1, stop);
			/* ends by itself should its test not end it */
			for (int i = 0; i < 6000 && !over; i++, works++) {
				work(&n);
				doze();
			}
			printf("%d %d\n", works, n);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/turns" "$dir/turns.c"
	# the screen as a terminal of so many columns shows it, what keys do, and how the terminal is left
	cat >"$dir/screen.py" <<-'PY'
		import fcntl, glob, os, pty, re, select, signal, struct, sys, termios, time
		columns, how, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
		master, slave = pty.openpty()
		fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
		before = termios.tcgetattr(slave)
		pid = os.fork()
		if pid == 0:
		    os.setsid()
		    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
		    for fd in 0, 1, 2:
		        os.dup2(slave, fd)
		    os.environ["TERM"], os.environ["LC_ALL"] = "xterm", "C.UTF-8"
		    if how == "hang":
		        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
		    os.execv(argv[0], argv)
		out = b""
		def read(seconds):
		    global out
		    end = time.time() + seconds
		    while time.time() < end:
		        if select.select([master], [], [], 0.1)[0]:
		            out += os.read(master, 65536)
		def screen():
		    text = out.decode(errors="replace").split("\033[?1049l")[0].split("\033[H")[-1]
		    return [re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", x) for x in text.split("\r\n")]
		def until(test):
		    for i in range(150):
		        read(0.2)
		        if test(screen()):
		            return screen()
		    sys.exit("not seen: " + "\n".join(screen()))
		s = until(lambda s: any(x.endswith(" work") for x in s) and any(x.endswith(" turn") for x in s))
		assert all(len(x) <= columns for x in s), s
		assert ("▁" in "".join(s) or "█" in "".join(s) or "▂" in "".join(s)) == (columns == 100), s
		assert ">      total" in s[2], s
		def keys():
		    os.write(master, b"c")
		    s = until(lambda s: len(s) > 3 and ">      calls" in s[2])
		    assert s[3].endswith(" turn"), s
		    os.write(master, b"\033[D")
		    until(lambda s: len(s) > 3 and (">       self" in s[2] or ">       wait" in s[2]))
		    os.write(master, b"/dOz\177z")
		    until(lambda s: "filter: dOz_" in s[1])
		    os.write(master, b"\033")
		    until(lambda s: any(x.endswith(" turn") for x in s))
		    os.write(master, b"/oz\n")
		    until(lambda s: "filter: oz" in s[1] and not any(x.endswith(" turn") for x in s) and s[3].endswith(" doze"))
		def children(pid):
		    for path in glob.glob("/proc/%d/task/*/children" % pid):
		        for child in open(path).read().split():
		            yield int(child), open("/proc/%s/cmdline" % child).read().split("\0")
		typed = {"q": b"q", "^C": b"\x03", "^\\": b"\x1c"}
		wanted = 0
		if columns in (100, 40) or how == "SIGTERM":
		    keys()
		if how in typed:
		    os.write(master, typed[how])
		elif how == "hang":
		    # the process that draws does nothing any more
		    table = [child for child, argv in children(pid) if argv[1] != "attach"]
		    assert len(table) == 1, list(children(pid))
		    os.kill(table[0], signal.SIGSTOP)
		    os.write(master, b"\x03")
		    read(0.5)
		    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
		    os.write(master, b"\x03")
		    wanted = 1
		else:
		    os.kill(pid, getattr(signal, how))
		read(0.5)
		for i in range(200):
		    done, status = os.waitpid(pid, os.WNOHANG)
		    if done:
		        break
		    read(0.1)
		assert done and os.WIFEXITED(status) and os.WEXITSTATUS(status) == wanted, (done, status, out[-300:])
		read(0.3)
		# the head stands out, if that is wanted
		assert (b"\033[7m" in out) == ("NO_COLOR" not in os.environ and "never" not in argv), out[:300]
		end = out.split(b"\033[?25h\033[?1049l")
		assert len(end) == 2, out[-300:]
		if how == "hang":
		    assert b"devtrace: the table did not end at the first signal, and was killed at the next\r\n" in end[1], end[1]
		after = termios.tcgetattr(slave)
		assert after == before, (before, after)
		PY
}

# counts FUNCTION FILE: its calls in each table of the file, a line each
counts() {
	awk -v name="$1" '$NF == name { print $5 }' "$2"
}

# is_called FUNCTION: it is called, and there is a table of top that has it
is_called() {
	echo "$1 1" >&"$orders"
	grep -q " $1\$" "$dir/top"
}

# is_over PID: the process has ended, though its parent may not know yet
is_over() {
	! readlink "/proc/$1/exe"
}

start_turns() {
	"$dir/turns" >"$dir/said" &
	pid=$!
	until_true test -d "/proc/$pid/task"
}

stop_turns() {
	kill -USR1 "$pid"
	wait "$pid"
}

@test "top: a table on a terminal of 80 and of 40 columns; keys; the terminal as it was on each way out" {
	start_turns
	# others make such folders in /tmp meanwhile
	mkdir -p "$dir/own"
	export TMPDIR=$dir/own
	python3 "$dir/screen.py" 100 q "$dt" top "$pid"
	python3 "$dir/screen.py" 40 ^C "$dt" top "$pid"
	NO_COLOR=1 python3 "$dir/screen.py" 20 q "$dt" top "$pid"
	python3 "$dir/screen.py" 27 q "$dt" top --color never "$pid"
	python3 "$dir/screen.py" 80 SIGTERM "$dt" top -S "$pid"
	python3 "$dir/screen.py" 80 '^\' "$dt" top "$pid"
	python3 "$dir/screen.py" 80 SIGQUIT "$dt" top "$pid"
	python3 "$dir/screen.py" 80 hang "$dt" top "$pid"
	# it goes on, and is not traced any more
	kill -0 "$pid"
	[ "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")" = 0 ]
	[ -z "$(ls -A "$TMPDIR")" ]
	stop_turns
}

@test "report --live and top as plain text: the counts are the program's own" {
	"$dt" record -o "$dir/l.db" "$dir/turns" >"$dir/said" &
	local recorder=$!
	until_true test -s "$dir/l.db-wal"
	sleep 1
	TERM=dumb timeout 60 "$dt" report --live "$dir/l.db" >"$dir/live" </dev/null &
	local live=$!
	timeout 60 "$dt" report --live --json -F work -F turn "$dir/l.db" >"$dir/live.json" </dev/null &
	local lines=$!
	sleep 4
	pid=$(pgrep -P $recorder -f "$dir/turns" | head -1)
	kill -USR1 "$pid"
	wait $recorder
	sleep 2
	kill -TERM $live $lines
	wait $live
	wait $lines
	[ "$(grep -c $'\033' "$dir/live")" = 0 ]
	read -r works turns <"$dir/said"
	[ "$(grep -c '^>      total' "$dir/live")" -ge 3 ]
	# a table has fewer than the next while the program runs, and the last what the program says
	[ "$(counts work "$dir/live" | tail -1)" = "$works" ]
	[ "$(counts turn "$dir/live" | tail -1)" = "$turns" ]
	[ "$(counts turn "$dir/live" | head -1)" -lt "$(counts turn "$dir/live" | sed -n 2p)" ]
	[ "$(counts turn "$dir/live" | sed -n 2p)" -lt "$turns" ]
	python3 - "$works" "$turns" "$dir/live.json" <<-'P'
	import json, sys
	lines = [json.loads(l) for l in open(sys.argv[3])]
	said = {f: [l["calls"] for l in lines if l["type"] == "function" and l["function"] == f] for f in ("work", "turn")}
	assert [said["work"][-1], said["turn"][-1]] == [int(a) for a in sys.argv[1:3]], said
	assert said["turn"] == sorted(said["turn"]) and said["turn"][0] < said["turn"][-1], said
	assert [l["turn"] for l in lines if l["type"] == "turn"] == list(range(1, 1 + sum(l["type"] == "turn" for l in lines)))
	assert {l["function"] for l in lines if l["type"] == "function"} == {"work", "turn"}
	P
	start_turns
	"$dt" top -n 2 -F work "$pid" >"$dir/top" </dev/null
	! grep $'\033' "$dir/top" || false
	# where it is no terminal, nothing is left out for its width
	grep -q '^>      total .* max self, by turn *function$' "$dir/top"
	"$dt" top --color always -n 1 -F work "$pid" </dev/null | grep -q $'^\033\\[7m>'
	for wrong in red ''; do
		run "$dt" top --color "$wrong" "$pid"
		[ "$status" = 2 ]
		one_line "auto, always or never"
	done
	[ "$(grep -c '^>      total' "$dir/top")" = 2 ]
	grep -q ' work$' "$dir/top"
	[ "$(grep -c ' turn$' "$dir/top")" = 0 ]
	# the only table has a turn's calls; what attach says of a pattern is not kept back
	"$dt" top -n 1 -F work -F nowhere "$pid" >"$dir/top" 2>"$dir/err" </dev/null
	[ "$(grep -c '^>      total' "$dir/top")" = 1 ]
	[ "$(counts work "$dir/top")" -gt 0 ]
	grep -q "^devtrace: .*nowhere" "$dir/err"
	stop_turns
	run "$dt" top 999999999
	[ "$status" = 1 ]
	[ "$output" = "devtrace: there is no process 999999999" ]
	run "$dt" top
	[ "$status" = 2 ]
	run "$dt" top -n 0 1
	[ "$status" = 2 ]
	[ "$output" = "devtrace: '0' is not a number of seconds" ]
}

@test "top: the last table has all calls of a process that ends" {
	mkfifo "$dir/orders"
	"$dir/obey" <"$dir/orders" >"$dir/answers" &
	pid=$!
	exec {orders}>"$dir/orders"
	"$dt" top -F add -F busy "$pid" >"$dir/top" </dev/null {orders}>&- &
	local top=$!
	until_true is_called busy
	echo "add 23456" >&"$orders"
	exec {orders}>&-
	wait "$pid"
	wait "$top"
	[ "$(counts add "$dir/top" | tail -1)" = 23456 ]
	tail -n +2 "$dir/top" | grep -q '\[recording has ended\]'
}

@test "report --live: says how many records were lost" {
	"$root/build/test/tool/writetrace" "$dir/lost.db" <<-'TEXT'
		function f
		at 0 1
		E f 1000 0x7fff1000
		X f 2000 0x7fff1000
		lost 5
		E f 3000 0x7fff1000
		X f 4000 0x7fff1000
		lost 2
	TEXT
	TERM=dumb "$dt" report --live "$dir/lost.db" >"$dir/live" </dev/null &
	local live=$!
	until_true grep -q ' f$' "$dir/live"
	kill -QUIT $live
	wait $live
	head -1 "$dir/live" | grep -q '  \[7 records lost\]$'
}

@test "top: a signal ends it before there is a table, too; SIGKILL ends the attach" {
	start_turns
	mkdir -p "$dir/tmp"
	# one that is pending from the beginning, and is still blocked at the end
	python3 - "$dt" "$pid" "$dir/tmp" <<-'PY'
		import os, signal, subprocess, sys, time
		top, tmp = [sys.argv[1], "top", sys.argv[2]], sys.argv[3]
		os.environ["TMPDIR"] = tmp
		for s in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
		    def pending():
		        signal.pthread_sigmask(signal.SIG_BLOCK, [s])
		        os.kill(os.getpid(), s)
		    p = subprocess.run(top, preexec_fn=pending, stdout=subprocess.PIPE, timeout=30)
		    assert (p.returncode, p.stdout) == (1, b""), p
		    assert os.listdir(tmp) == [], os.listdir(tmp)
		    # one that comes while the process is being attached, or soon after that
		    p = subprocess.Popen(top, stdout=subprocess.DEVNULL)
		    while not os.listdir(tmp):
		        time.sleep(0.001)
		    p.send_signal(s)
		    assert p.wait(30) in (-s, 0, 1), p.returncode
		    assert os.listdir(tmp) == [], os.listdir(tmp)
	PY
	TMPDIR=$dir/tmp "$dt" top "$pid" >"$dir/top" </dev/null &
	local top=$! attach table
	until_true grep -q ' work$' "$dir/top"
	attach=$(pgrep -P $top -f 'devtrace attach')
	table=$(pgrep -P $top -f "top $pid")
	kill -KILL $top
	wait $top || true
	until_true is_over "$attach"
	until_true is_over "$table"
	# it has detached: the trace does not grow
	local size=$(stat -c %s "$dir"/tmp/devtrace-view.*/trace.db)
	sleep 0.5
	[ "$(stat -c %s "$dir"/tmp/devtrace-view.*/trace.db)" = "$size" ]
	stop_turns
}
