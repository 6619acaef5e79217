# SPDX-License-Identifier: MIT
# devtrace shell: Kitrace's commands; the papers' figures as far as function entries allow.
load session

setup() {
	export XDG_RUNTIME_DIR=$dir/run XDG_STATE_HOME=$BATS_TEST_TMPDIR/state TZ=UTC
	obeyers=() sessions=()
	cd "$BATS_TEST_TMPDIR" || return 1
	start_obey
	begin t "$pid"
	ctl start
}

kit() {
	local c arguments=()
	for c; do arguments+=(-c "$c"); done
	"$dt" shell -s t "${arguments[@]}"
}

# lines without what no one can know: times and differences
plain() {
	sed -E 's/[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} \([0-9.]*\)/T/'
}

same() {
	diff <(echo "$1") <(echo "$2")
}

@test "figure 1: a tracepoint at sync; print shows symbol, time and an empty parenthesis first" {
	kit 'trace sync'
	act sync 3
	run kit print
	[ "${#lines[@]}" = 3 ]
	[[ ${lines[0]} =~ ^sync\ [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\ \(\) ]]
	[[ ${lines[1]} =~ ^sync\ [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\ \(0\.[0-9]{6}\) ]]
	# the time is that of the clock on the wall
	now=$(date +%s)
	then=$(date -d "$(date +%F) $(cut -d' ' -f2 <<<"${lines[0]}")" +%s)
	[ $((now - then)) -ge -2 ] && [ $((now - then)) -le 10 ]
}

@test "figure 2: setting it again updates, all options being replaced" {
	kit 'trace sync PID'
	[ "$(kit list)" = "sync                     PID" ]
	act sync 1
	same "$(kit printclear | plain)" "sync T pid $pid"
	[ "$(kit 'trace sync')" = "kitrace: Tracepoint at sync already exists, updating" ]
	[ "$(kit list)" = sync ]
}

@test "figure 3: several tracepoints in one command, options bind to the one before" {
	kit 'trace sync PID getpid link PID'
	act sync 1
	act link 1
	act sync 1
	same "$(kit print | plain)" "sync T pid $pid
link T pid $pid
sync T pid $pid"
}

@test "figure 4: list and delete several" {
	kit 'trace sync link unlink'
	[ "$(kit list | xargs)" = "sync link unlink" ]
	kit 'delete sync unlink'
	[ "$(kit list)" = link ]
	act sync 3
	[ -z "$(kit print)" ]
}

@test "figure 5: FREEZE keeps its own record, UNFREEZE goes on, flags are shown" {
	kit 'trace sync UNFREEZE PID link FREEZE PID getpid PID'
	kit freeze
	act link 2
	act sync 1
	act link 1
	act link 5
	same "$(kit print | plain)" "sync T UNFREEZE pid $pid
link T FREEZE pid $pid"
}

@test "figure 6: records of a tracepoint that was deleted still print" {
	kit 'trace sync CONST 0x77 add'
	act sync 1
	act add 2
	kit 'delete sync add'
	# what the compiler passes in the other registers is not ours to know
	same "$(kit print | plain | sed 's/ rdx=.*//')" "sync T const=77
add T rdi=0 rsi=0
add T rdi=1 rsi=2"
}

@test "figure 7, check-085: BASE and ADJACENT; LATEFREEZE that is never reached" {
	kit 'trace sync BASE PID link PID unlink ADJACENT PID getpid LATEFREEZE 50 PID'
	act sync 1
	act link 1
	act link 1
	act sync 1
	act link 1
	act unlink 1
	act link 1
	kit print >out
	us() { awk -v n="$1" 'NR == n { split($2, t, ":"); printf "%.0f", ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000000 }' out; }
	delta() { awk -v n="$1" 'NR == n { gsub(/[().]/, "", $3); print $3 + 0 }' out; }
	[ "$(awk '{ print $1 }' out | xargs)" = "sync link link sync link unlink link" ]
	of=(0 0 1 1 1 4 4 6) # what each line is counted from
	for i in 2 3 4 5 6 7; do
		[ "$(delta "$i")" = $(($(us "$i") - $(us "${of[i]}"))) ] || { echo "line $i"; cat out; return 1; }
	done
	[ "$(sed -n '1p;4p' out | plain | sort -u)" = "sync T BASE pid $pid" ]
	act getpid 1
	act link 20
	ctl status | grep -q '^recording'
}

@test "check-068-print: does not consume; printclear loses none; check-067-clear only what was seen" {
	kit 'trace add'
	act add 2
	kit print >one
	kit print >two
	diff <(plain <one) <(plain <two)
	[ "$(wc -l <one)" = 2 ]
	# more come after the print, before the clear
	mkfifo commands
	"$dt" shell -s t <commands >out 3>&- &
	shell=$!
	exec {c}>commands
	echo print >&"$c"
	until_true has_lines out 2
	act add 3
	echo clear >&"$c"
	echo print >&"$c"
	until_true has_lines out 5
	echo printclear >&"$c"
	until_true has_lines out 8
	act add 1
	echo print >&"$c"
	until_true has_lines out 9
	exec {c}>&-
	wait "$shell"
	[ "$(sed -E 's/.*rdi=(.*) rsi.*/\1/' out | xargs)" = "0 1 0 1 2 0 1 2 0" ]
	# without a print, all there is
	kit clear
	[ -z "$(kit print)" ]
}

has_lines() { [ "$(wc -l <"$1")" = "$2" ]; }

@test "check-069-seen: the position survives the shell, and nothing is taken twice" {
	kit 'trace add'
	act add 3
	kit printclear >one
	act add 2
	kit printclear >two
	kit print >three
	[ "$(cat one two three | wc -l)" = 5 ]
}

@test "check-065-lost: the warning has the exact count; 64 are printed of 100" {
	kit 'size 6' 'trace add'
	act add 100
	kit print >out 2>err
	[ "$(wc -l <out)" = 64 ]
	[ "$(cat err)" = "kitrace: warning: 36 records were lost" ]
	kit 'size 7'
	act add 100
	kit print >out 2>err
	[ "$(wc -l <out)" = 100 ]
	[ ! -s err ]
}

@test "printclear under load: nothing is lost, nothing doubled" {
	kit 'size 20' 'policy wait' 'trace add'
	echo 'add 100000' >&"$to"
	for i in 1 2 3 4 5 6; do kit printclear; done >out
	read -r -t 60 answer <&"$from"
	kit printclear printclear >>out
	[ "$(wc -l <out)" = 100000 ]
	[ "$(sed -E 's/.*rdi=(.*) rsi.*/\1/' out | sort -u | wc -l)" = 100000 ]
}

@test "follow: records as they come, Ctrl-C ends it, no time is used meanwhile" {
	kit 'trace add PID'
	env --default-signal=INT "$dt" shell -s t -c follow -c 'status' >out 3>&- &
	shell=$!
	act add 2
	until_true has_lines out 2
	ticks() { awk '{ print $14 + $15 }' "/proc/$shell/stat"; }
	before=$(ticks)
	sleep 1
	[ $(($(ticks) - before)) -le 2 ]
	act add 1
	until_true has_lines out 3
	kill -INT "$shell"
	wait "$shell"
	grep -q '^recording' out
	[ -z "$(kit print)" ]
}

@test "check-079-command-line: help, status, errors; from a pipe too" {
	run kit help
	[[ $output == *printclear* && $output == *testtracein* ]]
	run kit 'status'
	[[ $output == recording* ]]
	run kit 'trace no_such_function'
	[ "$status" = 1 ]
	one_line no_such_function
	run kit 'print all'
	[ "$status" = 1 ]
	one_line "usage: print"
	printf 'trace add\n# nothing\n\nlist\nquit\nlist\n' | "$dt" shell -s t >out
	[ "$(cat out)" = add ]
	run "$dt" shell -s none -c list
	[ "$status" = 1 ]
	one_line "no session"
	run "$dt" shell --what
	[ "$status" = 2 ]
	# a session and a process, or two of these, can not both be meant
	run "$dt" shell -s t -c list $$
	[ "$status" = 2 ]
	[[ "$output" == *"devtrace shell --help"* ]]
	run "$dt" shell -c list $$ $$
	[ "$status" = 2 ]
	[[ "$output" == *"devtrace shell --help"* ]]
	run "$dt" shell -c list 12x
	[ "$status" = 2 ] && one_line "not a process id"
}

@test "a process is attached to, and let go at the end; one that is traced keeps its session" {
	start_obey
	run "$dt" shell -c 'trace add' -c list "$pid" 3>&-
	[ "$status" = 0 ]
	[ "$output" = add ]
	alone() { [ "$("$dt" list 2>/dev/null | wc -l)" = 1 ]; }
	until_true alone
	run "$dt" shell -c 'trace link' -c list "${obeyers[0]}" 3>&-
	[ "$output" = link ]
	[ "$(ctl list)" = link ]
}

@test "at a terminal: prompt, history, completion of commands and symbols" {
	cat >type.py <<-'P'
		import os, pty, sys, time, select
		def talk(steps):
		    pid, fd = pty.fork()
		    if pid == 0:
		        os.environ["TERM"] = "xterm"
		        os.execv(sys.argv[1], [sys.argv[1], "shell", "-s", "t"])
		    text = b""
		    def until(what):
		        nonlocal text
		        end = time.time() + 20
		        while what not in text:
		            if time.time() > end or not select.select([fd], [], [], 20)[0]:
		                sys.exit("no %r in %r" % (what, text))
		            text += os.read(fd, 4096)
		        text = text[text.index(what) + len(what):]
		    until(b"(kitrace) ")
		    for keys, what in steps:
		        os.write(fd, keys)
		        until(what)
		    os.write(fd, b"quit\n")
		    try:
		        while os.read(fd, 4096):
		            pass
		    except OSError:
		        pass
		    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert talk([(b"trace unl\t\n", b"ink"), (b"", b"(kitrace) "), (b"list\n", b"unlink\r\n"), (b"", b"(kitrace) "),
		             (b"printcl\t\n", b"ear"), (b"", b"(kitrace) ")]) == 0
		# the arrow up: what was said in the shell before
		assert talk([(b"\x1b[A", b"quit"), (b"\x1b[A", b"printclear"), (b"\n", b"(kitrace) ")]) == 0
	P
	python3 type.py "$dt" 3>&-
	[ "$(stat -c %a state/devtrace/shell_history)" = 600 ]
	[ "$(ctl list)" = unlink ]
}

# own ARGUMENTS...: devtrace where no other session is
own() {
	env XDG_RUNTIME_DIR="$BATS_TEST_TMPDIR/own" "$dt" "$@"
}

@test "shell PID: the session that it began ends with it, by SIGTERM and SIGHUP too" {
	mkdir -m 700 own
	sleep 100 3>&- &
	target=$!
	for signal in TERM HUP; do
		mkfifo in.$signal
		env XDG_RUNTIME_DIR="$PWD/own" "$dt" shell "$target" <in.$signal >out 3>&- &
		shell=$!
		exec 5>in.$signal
		echo 'trace libc.so.6:sync' >&5
		for _ in $(seq 300); do
			own ctl </dev/null 2>/dev/null | grep -q sync && break
			sleep 0.02
		done
		own ctl </dev/null | grep -q sync
		kill -$signal "$shell"
		status=0
		wait "$shell" || status=$?
		[ "$status" = $((128 + $(kill -l $signal))) ]
		exec 5>&-
		for _ in $(seq 300); do
			[ -n "$(ls own/devtrace/*.sock 2>/dev/null)" ] || break
			sleep 0.02
		done
		[ -z "$(ls own/devtrace/*.sock 2>/dev/null)" ]
	done
	kill "$target"
}

@test "of several sessions ctl means the one whose process has not ended" {
	mkdir -m 700 own
	sleep 100 3>&- &
	ended=$!
	sleep 100 3>&- &
	lives=$!
	own attach -d -s ended "$ended" 3>&-
	own attach -d -s lives "$lives" 3>&-
	run own ctl </dev/null
	[ "$status" = 1 ]
	one_line "2 sessions run"
	kill "$ended"
	wait "$ended" || true
	for _ in $(seq 300); do
		own ctl </dev/null >/dev/null 2>&1 && break
		sleep 0.02
	done
	own ctl </dev/null >/dev/null
	own ctl quit
	for _ in $(seq 300); do
		[ -S own/devtrace/lives.sock ] || break
		sleep 0.02
	done
	[ ! -S own/devtrace/lives.sock ]
	[ -S own/devtrace/ended.sock ]
	own ctl quit
	kill "$lives"
}
