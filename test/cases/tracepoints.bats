# SPDX-License-Identifier: MIT
# The kernel's own tracepoints on this machine's kernel: a line for a hit, with all its fields and the words that
# ftrace prints, compared field by field with ftrace's own lines of the same hits.
load check-traces

setup_file() {
	# ftrace's own folder, also where nobody has mounted it
	mkdir "$BATS_FILE_TMPDIR/ftrace"
	mount -t tracefs none "$BATS_FILE_TMPDIR/ftrace" 2>/dev/null || true
}

teardown_file() {
	umount "$BATS_FILE_TMPDIR/ftrace" 2>/dev/null || true
}

setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
	K=$PWD/ftrace/instances/devtrace-$$
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the BPF programs are for x86-64"
	[ -s t.db ] || recorded || skip "this kernel has no tracefs, or no BPF: $(tail -n 1 err)"
}

teardown() {
	[ ! -d "$K" ] || rmdir "$K"
	check_traces
}

# recorded: one run of a program, by ftrace and by devtrace. The calls of sched_get_priority_max(77) say where to begin and where to end.
recorded() {
	local event
	set --
	mkdir "$K" 2>err && echo 8192 >"$K/buffer_size_kb" || return 1
	for event in sched/sched_switch sched/sched_waking irq/softirq_raise irq/irq_handler_exit kmem/mm_page_alloc timer/hrtimer_start raw_syscalls/sys_enter; do
		echo 1 >"$K/events/$event/enable"
		set -- "$@" -T "tracepoint:${event%/*}:${event#*/}"
	done
	cat >run.py <<-'END'
		import mmap, os, time
		def mark():
		    try:
		        os.sched_get_priority_max(77)
		    except OSError:
		        pass
		mark()
		for i in range(30):
		    m = mmap.mmap(-1, 65536)
		    m.write(b"x" * 65536)
		    m.close()
		    time.sleep(0.002)
		    os.stat("/etc/passwd")
		mark()
		open("thread", "w").write(str(os.getpid()))
	END
	timeout -k 5 60 devtrace record "$@" -o t.db /usr/bin/python3 run.py 2>err || { rm -f t.db; return 1; }
	echo 0 >"$K/events/enable"
	cat "$K/trace" >trace
}

@test "a hit is one line, with ftrace's fields and words" {
	cat >compare.py <<-'END'
		import json, re, subprocess, sys
		thread = open("thread").read()
		# a field that ftrace prints otherwise: by the name that it has there
		def of_ftrace(name, text):
		    if name == "sys_enter":
		        nr, args = re.fullmatch(r"NR (-?\d+) \((.*)\)", text).groups()
		        return {"id": nr, **{"args%d" % i: str(int(a, 16)) for i, a in enumerate(args.split(", "))}}
		    if name == "softirq_raise":
		        return {"vec": re.search(r"action=(\w+)", text).group(1)}
		    f = dict(re.findall(r"(\w+)=(\S*)", text))
		    for k in f:
		        if re.fullmatch("0[0-9]+", f[k]):
		            f[k] = str(int(f[k]))
		    if "pfn" in f:
		        f["pfn"] = str(int(f["pfn"], 16))
		    # addresses that it prints otherwise
		    for k in ("page", "hrtimer", "function"):
		        f.pop(k, None)
		    return f
		def text_of(v):
		    t = v["text"]
		    return t.strip('"') if v["value"] is None else t.replace("|+", "+")
		theirs = []
		for line in open("trace"):
		    m = re.match(r"\s*.*-(\d+)\s+\[\d+\] \S+ +[\d.]+: (\w+): (.*)", line)
		    if m and m.group(1) == thread:
		        theirs.append((m.group(2), of_ftrace(m.group(2), m.group(3))))
		ours = []
		for line in subprocess.run(["devtrace", "calls", "--json", "--thread", thread, "t.db"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
		    j = json.loads(line)
		    assert j["type"] != "more", line
		    if j["type"] == "point":
		        ours.append((j["function"].split(":")[1], {v["name"]: text_of(v) for v in j["values"]}))
		is_mark = lambda h: h[0] == "sys_enter" and (h[1]["id"], h[1]["args0"]) == ("146", "77")
		def between(hits):
		    marks = [i for i, h in enumerate(hits) if is_mark(h)]
		    return hits[marks[0]:marks[-1] + 1]
		theirs, ours = between(theirs), between(ours)
		# the kernel runs one program at a time on a core: hits that interrupts cause meanwhile are lost, and told
		lost = int(re.search(r"(\d+) lost", subprocess.run(["devtrace", "check", "t.db"], stdout=subprocess.PIPE, text=True).stdout).group(1))
		# each event's by themselves: an interrupt may come between the two records of a hit
		missing = 0
		for event in sorted(set(h[0] for h in theirs + ours)):
		    rest = [f for n, f in theirs if n == event]
		    for name, fields in ours:
		        if name != event:
		            continue
		        while rest and any(fields.get(k) != v for k, v in rest[0].items()):
		            missing += 1
		            dropped = rest.pop(0)
		            assert missing <= lost, (name, fields, dropped)
		        assert rest, (name, fields)
		        rest.pop(0)
		    missing += len(rest)
		assert missing <= lost, missing
		count = lambda n: sum(h[0] == n for h in ours)
		print(len(ours), "hits,", missing, "missing,", {n: count(n) for n in set(h[0] for h in ours)})
		assert count("sys_enter") > 100 and count("mm_page_alloc") > 400 and count("sched_switch") >= 30
		assert any(h[0] == "sched_switch" and h[1]["prev_state"] == "S" for h in ours)
		# by a constant of which the kernel's text has the name alone
		assert any(h[0] == "hrtimer_start" and h[1]["mode"].startswith("ABS") for h in ours)
		assert any("__GFP_ZERO" in h[1].get("gfp_flags", "") for h in ours)
	END
	python3 compare.py
}

@test "a hit is a row of events, with its fields in the tracepoint's order" {
	devtrace sql --csv --no-header t.db "SELECT DISTINCT kind FROM events" | tr -d '\r' >kinds
	[ "$(cat kinds)" = point ]
	# as many rows as first records
	[ "$(devtrace sql --csv --no-header t.db "SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM records WHERE kind = 'P')" | tr -d '\r')" = 0 ]
	devtrace sql --csv --no-header t.db "SELECT group_concat(key, ' ') FROM (SELECT arguments a FROM events WHERE event = 'sched:sched_switch' LIMIT 1), json_each(a)" | tr -d '\r' >order
	[ "$(cat order)" = "prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio" ]
	# in the first line, too, and as the file alone tells it: it is read in an empty name space
	mkdir -p elsewhere
	cp t.db elsewhere
	unshare -m sh -c 'mount -t tmpfs none /sys && devtrace calls elsewhere/t.db' >lines
	grep -q '^ *\* sched:sched_switch(prev_comm="python3", prev_pid=[0-9]*, prev_prio=[0-9]*, prev_state=S, next_comm=".*", next_pid=[0-9]*, next_prio=[0-9]*)$' lines
	[ "$(grep -c '^ *\*  ' lines)" = 0 ]
}
