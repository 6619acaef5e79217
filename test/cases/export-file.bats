#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace export: where it writes: a file is there when it is complete, or not at all; progress.
load read-helper

formats="chrome perfetto speedscope folded callgrind csv barrelfish"

@test "export -o: the same bytes as on standard output, under the usual mode, through a link" {
	maketrace -n 20000 t.db
	umask 027
	for f in $formats; do
		devtrace export --$f t.db >want 2>/dev/null
		devtrace export --$f -o got t.db 2>/dev/null
		cmp want got
		[ "$(stat -c %a got)" = 640 ]
		rm got
	done
	echo old >real
	ln -s real link
	devtrace export --csv -o link t.db
	[ -L link ]
	devtrace export --csv t.db | cmp - real
	# what is no file is written to directly
	mkfifo pipe
	cat pipe >through &
	devtrace export --csv -o pipe t.db
	wait
	cmp through real
	devtrace export --csv -o /dev/stdout t.db | cmp - real
	[ "$(ls -A | tr '\n' ' ')" = "link pipe real t.db through want " ]
}

@test "export: a full disk is told, in all formats, and leaves what was there" {
	unsound t.db
	maketrace -n 200000 t.db
	echo old >out
	for f in $formats; do
		[ $f = barrelfish ] || [ $f = folded ] || [ $f = callgrind ] || (
			trap '' XFSZ
			ulimit -f 64
			run devtrace export --$f -o out t.db
			[ "$status" = 1 ]
			[ "${#lines[@]}" = 1 ]
			# speedscope's waits in /tmp first
			[ $f = speedscope ] || [ "$output" = "devtrace: out: cannot write: File too large" ]
		)
		run devtrace export --$f -o /dev/full t.db
		[ "$status" = 1 ]
		[[ "$output" == "devtrace: /dev/full: cannot write: No space left on device" ]]
		run bash -c "devtrace export --$f t.db >/dev/full"
		[ "$status" = 1 ]
		[[ "$output" == "devtrace: standard output: cannot write: No space left on device" ]]
		[ "$(cat out)" = old ]
	done
	# a trace that turns out to be damaged
	sqlite3 t.db 'UPDATE chunk SET events = zeroblob(100) WHERE id = (SELECT max(id) FROM chunk)'
	for f in $formats; do
		run devtrace export --$f -o out t.db
		[ "$status" = 1 ]
		[[ "$output" == *"chunk"* ]]
		[ "$(cat out)" = old ]
	done
	run devtrace export --ctf folder t.db
	[ "$status" = 1 ]
	[[ "$output" == "devtrace: folder: t.db: chunk"* ]]
	[ "$(ls -A | tr '\n' ' ')" = "out t.db " ]
}

# bats test_tags=long
@test "export: progress on a terminal, none otherwise; an interrupted one leaves nothing" {
	export RECORDS=1800000
	maketrace -n $RECORDS t.db
	cat >run.py <<-'P'
		# run.py INTERRUPT COMMAND...: its standard error is a terminal; prints what came there, then how it ended
		import os, pty, re, signal, subprocess, sys
		interrupt, command = sys.argv[1], sys.argv[2:]
		master, slave = pty.openpty()
		# what a shell begins in the background ignores it
		def heeds(): signal.signal(signal.SIGINT, signal.SIG_DFL)
		p = subprocess.Popen(command, stderr=slave, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=heeds)
		os.close(slave)
		said, sent = b"", False
		while True:
		    try: more = os.read(master, 4096)
		    except OSError: break
		    if not more: break
		    said += more
		    # a first percent has been said, it is far from the end
		    if interrupt != "0" and not sent and b"% of" in said:
		        p.send_signal(int(interrupt)); sent = True
		p.wait()
		seen = [int(x) for x in re.findall(rb"\r *(\d+) %% of %s records" % os.environ["RECORDS"].encode(), said)]
		assert seen == sorted(set(seen)), seen
		print(len(seen), seen[-1] if seen else "-", "line" if said.endswith(b"\r\n") else "open", p.returncode)
	P
	for f in perfetto csv barrelfish; do
		python3 run.py 0 devtrace export --$f -o out.$f t.db >ended
		read -r n last line rc <ended
		[ "$n" -ge 20 ]
		[ "$last $line $rc" = "100 line 0" ]
		devtrace export --$f -o again t.db 2>said
		! grep -q % said || false
		cmp again out.$f
		rm again out.$f
	done
	for signal in 2 15; do
		for to in "--perfetto -o out" "--csv -o out" "--ctf out"; do
			python3 run.py $signal devtrace export $to t.db >ended
			read -r n last line rc <ended
			[ "$last" -lt 100 ]
			[ "$rc" = "-$signal" ]
			[ "$(ls -A | tr '\n' ' ')" = "ended run.py said t.db " ]
		done
	done
	# somebody else takes the name meanwhile
	python3 - <<-'P'
		import os, signal, subprocess
		before = set(os.listdir("."))
		p = subprocess.Popen(["devtrace", "export", "--csv", "-o", "taken", "t.db"], stderr=subprocess.PIPE)
		while set(os.listdir(".")) == before: assert p.poll() is None
		p.send_signal(signal.SIGSTOP)
		os.makedirs("taken/in it")
		p.send_signal(signal.SIGCONT)
		said = p.stderr.read()
		assert p.wait() == 1, p.returncode
		assert said == b"devtrace: taken: Is a directory\n", said
		assert set(os.listdir(".")) == before | {"taken"}, os.listdir(".")
	P
}
