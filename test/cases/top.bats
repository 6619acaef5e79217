# SPDX-License-Identifier: MIT
# devtrace top, report --live: the table of a trace that is being recorded.
load common
load wait

setup() {
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
		import fcntl, os, pty, re, select, signal, struct, sys, termios, time
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
		assert ">     total" in s[2], s
		os.write(master, b"c")
		s = until(lambda s: len(s) > 3 and ">     calls" in s[2])
		assert s[3].endswith(" turn"), s
		os.write(master, b"\033[D")
		until(lambda s: len(s) > 3 and (">      self" in s[2] or ">      wait" in s[2]))
		os.write(master, b"/dOz\177z")
		until(lambda s: "filter: dOz_" in s[1])
		os.write(master, b"\033")
		until(lambda s: any(x.endswith(" turn") for x in s))
		os.write(master, b"/oz\n")
		until(lambda s: "filter: oz" in s[1] and not any(x.endswith(" turn") for x in s) and s[3].endswith(" doze"))
		if how == "q":
		    os.write(master, b"q")
		elif how == "^C":
		    os.write(master, b"\x03")
		else:
		    os.kill(pid, getattr(signal, how))
		read(0.5)
		for i in range(200):
		    done, status = os.waitpid(pid, os.WNOHANG)
		    if done:
		        break
		    read(0.1)
		assert done and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, (done, status, out[-300:])
		read(0.3)
		assert b"\033[?25h\033[?1049l" in out
		after = termios.tcgetattr(slave)
		assert after == before, (before, after)
		PY
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
	local folders=$(find /tmp -maxdepth 1 -name 'devtrace-view.*' | wc -l)
	python3 "$dir/screen.py" 100 q "$dt" top "$pid"
	python3 "$dir/screen.py" 40 ^C "$dt" top "$pid"
	python3 "$dir/screen.py" 80 SIGTERM "$dt" top -S "$pid"
	# it goes on, and is not traced any more
	kill -0 "$pid"
	[ "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")" = 0 ]
	[ "$(find /tmp -maxdepth 1 -name 'devtrace-view.*' | wc -l)" -le "$folders" ]
	stop_turns
}

@test "report --live and top as plain text: the counts are the program's own" {
	"$dt" record -o "$dir/l.db" "$dir/turns" >"$dir/said" &
	local recorder=$!
	until_true test -s "$dir/l.db-wal"
	sleep 1
	TERM=dumb timeout 60 "$dt" report --live "$dir/l.db" >"$dir/live" </dev/null &
	local live=$!
	sleep 4
	pid=$(pgrep -P $recorder -f "$dir/turns" | head -1)
	kill -USR1 "$pid"
	wait $recorder
	sleep 2
	kill -TERM $live
	wait $live
	[ "$(grep -c $'\033' "$dir/live")" = 0 ]
	read -r works turns <"$dir/said"
	[ "$(grep -c '^>     total' "$dir/live")" -ge 3 ]
	# counts grow, up to those that the program says
	awk -v works="$works" -v turns="$turns" '{ for (i = 1; i < NF; i++) { if ($NF == "work" && $i == works) saw_works = 1
		if ($NF == "turn" && $i == turns) saw_turns = 1 } } END { exit !saw_works || !saw_turns }' "$dir/live"
	start_turns
	"$dt" top -n 2 -F work "$pid" >"$dir/top" </dev/null
	[ "$(grep -c '^>     total' "$dir/top")" = 2 ]
	grep -q ' work$' "$dir/top"
	[ "$(grep -c ' turn$' "$dir/top")" = 0 ]
	stop_turns
	run "$dt" top 999999999
	[ "$status" = 1 ]
	[[ "$output" == *"no process"* || "$output" == *"process"* ]]
	run "$dt" top
	[ "$status" = 2 ]
}
