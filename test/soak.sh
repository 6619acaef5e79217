#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What takes too long for every change: make soak. TAP, as real.t.
# usage: soak.sh [NAME...]   only these of redis, python, bash, exceptions, git, postgresql, nginx,
#                            zstd, cpython, zstd-probed, sqlite-probed, git-probed, redis-probed, redis-units,
#                            storm, csmith, csmith-points, kills, oracle, align, engines, hostile, corpus,
#                            suites, python-tests, programs, prototypes, found, arm64, kernel, packages, rpm,
#                            static, old-libc, fuzz, limits, sanitizers, whole, before, mutate
#   - attach and detach 1,000 times to a Redis under load (SOAK_ATTACHES)
#   - the same for Python, bash, git and a C++ program with exceptions, with all of their own functions and
#     libc's probed; each runs for SOAK_SECONDS, and again, until it has been attached to so often
#   - the same 1,000 times each for PostgreSQL under pgbench with a new connection for each transaction,
#     and nginx under ab, all their processes attached to, those too that they fork meanwhile
#   - tests of CPython's own, of zstd, SQLite, git (SOAK_GIT_SCRIPTS of its t0* and t3*) and Redis, with every
#     function of theirs and of libc probed
#   - zstd's whole fuzzer start and stream tests, everything traced (a trace of a gigabyte)
#   - more of Redis's own units, everything traced
#   - a Go program with goroutines whose stacks grow while C functions are called, 50 times with its C code
#     and libc probed; names of functions in stripped Go programs against nm
#   - ten minutes of test/probe/storm.t: functions switched, planted and let go of under load
#   - csmith programs with everything probed (SOAK_SEEDS: 2,000, from FIRST on); the same with random
#     tracepoints set, changed and deleted in them meanwhile
#   - 1,000 SIGKILLs at random of the program, and of the controller (test/stress/kill.t)
#   - programs that count themselves under random combinations of options and commands, 10,000 in all
#     (SOAK_COMBINATIONS, from FIRST on): test/oracle/run.py
#   - clocks of machines that are simulated, SOAK_ALIGN times (1,000, from FIRST on): the truth is inside the bars, no message goes
#     backward: test/unit/test-align.c
#   - a fleet's calls on two ClickHouse servers of Debian's package, and in DuckDB: what these say is what devtrace sql says
#     (ENGINES_RECORDS of each of two made-up traces: 3,000,000): test/real/engines.sh
#   - programs that write into the session's memory what they like, SOAK_HOSTILE minutes (60): test/hostile/hostile.t
#   - encoders, OpenSSL's algorithms, packers, and programs of ten languages, all functions of theirs and of their
#     libraries probed: output and status as alone (what is installed of them; nine minutes): test/real/corpus.sh
#   - the own test suites of GMP, OpenSSL, nettle, libjpeg-turbo, zlib, libdeflate and ISA-L, from Debian's sources, built as
#     they are and with sleds, everything probed: test/real/suites.sh (SUITES: only these). What has been tried is kept in
#     build/suites.state: when it is broken off, the next one with the same devtrace goes on there
#   - Python's own tests, all files, each recorded with options chosen at random: the same cases end in the same way
#     (PYTHON_TESTS: only so many, at random): test/real/python-tests.py; some hours
#   - every program of this system with an option that does no harm, recorded with options chosen at random: output and status as
#     alone, and the trace is sound: test/real/programs.py (some twenty minutes for a thousand)
#   - the tables of prototypes, made anew from the headers of this system, are those of the tree (what they need is installed)
#   - programs, ours and Debian's, without symbols and unwind tables: what is found and recorded of them, against
#     what it is with them: test/found/found.t
#   - devtrace built for aarch64, under qemu-user: it prints of traces from here what it prints here; a million stretches of code
#     moved (test/aarch64/; some three quarters of an hour)
#   - the fuzzers of test/fuzz/, each for an hour of processor time (SOAK_FUZZ_SECONDS: 3,600; SOAK_FUZZERS: only these);
#     what they have found of new code is kept in build/fuzz/corpus, where the next soak goes on
#   - those inputs, and what the fuzzers begin with, through plain commands, each with 10 s of processor time and 1 GB of
#     address space: test/fuzz/limits.sh (MOST: at most so many inputs of each fuzzer)
#   - Debian's packages (make deb): lintian, and a fresh Debian in which they are installed, work and are purged, with nothing left
#     (test/packages/chroot.sh), and devtrace@NAME.service under a running systemd (test/packages/systemd.sh; some 300 MB are downloaded, the kernel's headers and DKMS among them); those for RPM (make rpm):
#     what is in them
#   - the static program (make static) in a folder with nothing but a program to trace, and in seven distributions of 2020 to now (test/packages/static.sh, distributions.sh; some 600 MB are downloaded once)
#   - programs with the glibc of Debian 11, which registers no rseq: test/real/old-libc.sh (3 MB are downloaded)
#   - all of the commands' cases with sanitizers, those that take long too
#   - the campaigns of which `make check' tries a share each time (test/share.bash), whole
#   - the cases that show what was wrong at an older commit, with the devtrace of that commit: each of them fails (test/before/)
#   - faults that are put in on purpose, in a random order for SOAK_MUTATE minutes (120): test/mutate/mutate.py, as make mutate
#   - the kernel's module: everything traced for ten seconds; loaded, with everything traced, and unloaded
#     100 times under load (SOAK_LOADS)
set -uo pipefail
. "$(dirname "$0")/real/common.sh"

# what is built meanwhile is not what is tried
cp "$devtrace" "$work/devtrace-soak" && devtrace=$work/devtrace-soak
attaches=${SOAK_ATTACHES:-1000}
names=("$@")

# campaign NAME DESCRIPTION COMMAND...
campaign() {
	local name=$1 what=$2 n wanted=${#names[@]}
	shift 2
	for n in "${names[@]}"; do [ "$n" != "$name" ] || wanted=0; done
	[ "$wanted" = 0 ] || return 0
	"$@"
	result $? "$what"
}

go_and_c() {
	local alone i
	mkdir -p "$work/go" && cat >"$work/go/main.go" <<-'G' || return
		package main

		/*
		#include <stdlib.h>
		__attribute__((noinline)) long thrice(long n) { char *p = malloc(n + 1); *p = 3; long r = n * *p; free(p); return r; }
		*/
		import "C"

		func grow(n int) int {
			var a [100]int
			for i := range a { a[i] = n }
			if n == 0 { return 0 }
			return grow(n-1) + a[n%100]
		}

		func main() {
			c := make(chan int)
			for i := 0; i < 20; i++ {
				go func(i int) {
					s := 0
					for k := 0; k < 100; k++ { s += int(C.thrice(C.long(k))) + grow(10 * (k % i + i)) }
					c <- s
				}(i + 1)
			}
			s := 0
			for i := 0; i < 20; i++ { s += <-c }
			println(s)
		}
	G
	(cd "$work/go" && GOCACHE=$work/go/cache GO111MODULE=off go build -o cg main.go) || return
	alone=$("$work/go/cg" 2>&1) || return
	! "$devtrace" record -o "$work/g.db" -F 'main.*' "$work/go/cg" >/dev/null 2>&1 || { why "functions of Go were recorded"; return 1; }
	for ((i = 0; i < 50; i++)); do
		[ "$("$devtrace" record -p overwrite -o "$work/g.db" -F 'cg:*' -F 'libc.so.6:*' "$work/go/cg" 2>&1 | grep -v ^devtrace)" = "$alone" ] || { why "another result"; return 1; }
		"$devtrace" record -o "$work/g.db" -F 'cg:thrice' "$work/go/cg" >/dev/null 2>&1 || return
		[ "$("$devtrace" sql -n -c "$work/g.db" "SELECT count(*), sum(ended = 'returned') FROM calls" | tr -d '\r')" = 2000,2000 ] || { why "not 2000 calls"; return 1; }
	done
}
# The names in Go's own table, as nm prints them of the same program before it was stripped. The table has neither what tells the two
# ways of passing arguments apart (.abi0) nor what is between brackets.
go_names() {
	local mode name
	cat >"$work/go/pure.go" <<-'G' || return
		package main

		import "fmt"

		type T struct{ n int }

		//go:noinline
		func (t *T) Grow(n int) int { t.n += n; return t.n }

		//go:noinline
		func add[X int | float64](a, b X) X { return a + b }

		func main() {
			t := &T{1}
			fmt.Println(t.Grow(2), add(1, 2), add(1.5, 2.0))
		}
	G
	for mode in exe pie; do
		for name in main pure; do
			(
				cd "$work/go" || exit
				export GOCACHE=$work/go/cache GO111MODULE=off
				go build -buildmode=$mode -o whole "$name.go" && go build -buildmode=$mode -ldflags='-s -w' -o stripped "$name.go"
			) || return
			nm "$work/go/whole" | awk '$2 ~ /[tT]/' | sed -E 's/^0*//; s/ [tT] / /; s/\.abi0$//; s/\[.*\]/[...]/' | sort -u >"$work/go/nm"
			"$devtrace" list -v "$work/go/stripped" 2>/dev/null | awk -F'\t' '{ sub(/^[^:]*:/, "", $1); print substr($2, 3) " " $1 }' |
				sed -E 's/\[.*\]/[...]/' | sort -u >"$work/go/listed"
			[ "$(grep -c ' runtime\.' "$work/go/listed")" -gt 500 ] || { why "$mode $name: hardly a name"; return 1; }
			# what is listed without a name is the C library's start-up code
			[ -z "$(comm -13 "$work/go/nm" <(grep -v '^.* stripped+0x' "$work/go/listed") | grep -v ' _start$\| main$')" ] || { why "$mode $name: a wrong name"; return 1; }
			# runtime.text and runtime.etext are marks of the linker
			[ -z "$(comm -23 <(grep -E '^[0-9a-f]+ (main|runtime|fmt|internal/[a-z]*)\.' "$work/go/nm" | grep -vE ' runtime\.e?text$') "$work/go/listed")" ] || { why "$mode $name: a name is missing"; return 1; }
		done
	done
}

campaign go "Go: the same with its C code and libc probed, and each call of C is recorded" go_and_c
campaign go "Go: names of functions in stripped programs are those of nm before" go_names

campaign redis "Redis: attached and detached $attaches times under load; no error, no lost connection" \
	attach_under_load "$attaches"

# storm NAME COMMAND...: attached to and detached from again and again, $attaches times, while it runs, and is
# run again when it ends; each time its output is what it is without. Prints how often.
storm() {
	local name=$1 pid n=0 runs=0 session="storm-$$-$1"
	shift
	"$@" >"$work/alone" 2>&1 </dev/null
	while [ "$n" -lt "$attaches" ]; do
		"$@" >"$work/storm" 2>&1 </dev/null &
		pid=$!
		while kill -0 "$pid" 2>/dev/null && [ "$n" -lt "$attaches" ]; do
			"$devtrace" attach -d -s "$session" -p drop -F '*' -F 'libc.so.6:*' "$pid" >/dev/null 2>>"$work/why" || continue
			n=$((n + 1))
			[ $((n % 100)) != 0 ] || echo "# $name: $n times" >&2
			"$devtrace" ctl -s "$session" start 2>/dev/null
			"$devtrace" ctl -s "$session" quit 2>/dev/null
		done
		wait "$pid" || { why "$name ended with status $?"; return 1; }
		runs=$((runs + 1))
		cmp "$work/alone" "$work/storm" || return
		# a program that can not be attached to at all would go on for ever
		[ $runs -lt $((n + 20)) ] || return
	done
	echo "# $name: $n times, in $runs runs" >&2
}

seconds=${SOAK_SECONDS:-60}
cat >"$work/load.py" <<-'P'
	import hashlib, json, re, sys
	h = hashlib.sha256()
	for i in range(int(sys.argv[1]) * 1500):
	    d = {str(k): [k * i, 'x' * (k % 7)] for k in range(40)}
	    try:
	        h.update(json.dumps(json.loads(json.dumps(d, sort_keys=True)), sort_keys=True).encode())
	        if i % 3 == 0: raise ValueError(i)
	    except ValueError as e:
	        h.update(re.sub(r'(\d)(\d)', r'\2\1', str(e)).encode())
	print(h.hexdigest())
P
campaign python "Python: the same output, attached to and detached from $attaches times" \
	storm python /usr/bin/python3 "$work/load.py" "$seconds"
campaign bash "bash: the same" storm bash bash -c 'n=0; for ((i = 0; i < '"$seconds"' * 60000; i++)); do ((n = (n * 31 + i) % 1000003)); [[ $n =~ 77 ]] && n=${n/7/1}; done; echo $n'
g++ -O2 -o "$work/throws" "$(dirname "$0")/programs/throws.cc"
campaign exceptions "C++ with exceptions: the same" storm exceptions "$work/throws" "$seconds"
git init -q "$work/repo" && (cd "$work/repo" && for i in $(seq 300); do echo "$i" >>f && git add f &&
	git -c user.name=x -c user.email=x@y commit -qm "$i"; done)
campaign git "git, run by a shell: the same" storm git bash -c 'for ((i = 0; i < '"$seconds"' * 4; i++)); do git -C "'"$work"'/repo" log -p --stat; done | sha256sum'

# server_storm N COMMAND MASTER PROGRAM: N times attached to MASTER and its children under the load
# COMMAND, everything of PROGRAM and libc hooked, and detached from. Every process that is still there
# has its code as it was.
server_storm() {
	local n=$1 command=$2 master=$3 program=$4 session="server-$$" done=0 none=0 load before after p
	before=$(code_of "$master")
	while [ ! -e "$work/enough" ]; do bash -c "$command" >>"$work/load.out" 2>&1 || echo "status $?" >>"$work/load.bad"; done &
	load=$!
	while [ "$done" -lt "$n" ] && [ "$none" -lt 100 ] && kill -0 "$master"; do
		# one of the children may have ended in between
		# shellcheck disable=SC2046
		"$devtrace" attach -d -s "$session" -p drop -F "$program:*" -F 'libc.so.6:*' "$master" $(pgrep -P "$master") \
			>/dev/null 2>"$work/attach.log" && done=$((done + 1)) ||
			{ none=$((none + 1)); grep -qiE 'no such process|has ended|ended' "$work/attach.log" || cat "$work/attach.log" >>"$work/why"; }
		"$devtrace" ctl -s "$session" start 2>/dev/null
		"$devtrace" ctl -s "$session" quit 2>/dev/null
		[ $((done % 100)) != 0 ] || echo "# $program: $done times" >&2
	done
	: >"$work/enough"
	wait "$load"
	rm "$work/enough"
	after=$(code_of "$master")
	echo "# $program: $done times, $none times a process was gone" >&2
	[ "$done" -ge "$n" ] && [ ! -s "$work/load.bad" ] && [ "$before" = "$after" ] && return
	cat "$work/load.bad" >>"$work/why" 2>/dev/null
	tail -n 5 "$work/load.out" >>"$work/why"
	return 1
}

# a PostgreSQL of an ordinary user
postgresql() {
	local sums rc
	. "$(dirname "$0")/real/postgresql.sh"
	chmod 755 "$work" && postgresql_start "$work/pg" && pg "$postgresql_bin/pgbench" -i -q >>"$work/pg/log" 2>&1 || return
	export -f pg && export postgresql_bin postgresql_folder work
	server_storm "$1" "pg $postgresql_bin/pgbench -C -c 4 -T 5 postgres | tee $work/pgbench.out | grep -q 'failed transactions: 0 '" \
		"$postgresql_master" postgres
	rc=$?
	# what each transaction has added to one account, teller and branch
	sums=$(pg psql -At -c 'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches), (SELECT count(*) > 0 FROM pgbench_history)')
	postgresql_stop || rc=1
	[ "$sums" = 't|t|t' ] || { why "PostgreSQL's sums: $sums"; rc=1; }
	! grep -E 'PANIC|FATAL|terminated by signal|crash' "$work/pg/data/log" >>"$work/why" || rc=1
	return $rc
}
rm -f "$work"/load.* "$work/enough"
campaign postgresql "PostgreSQL: $attaches times under pgbench; no failed transaction, its sums are right" \
	postgresql "$attaches"

nginx() {
	local port=$((20000 + RANDOM % 10000)) rc
	mkdir "$work/nginx" && head -c 5000 /dev/urandom >"$work/nginx/file" && chmod -R 755 "$work" "$work/nginx" || return
	cat >"$work/nginx/conf" <<-C
		worker_processes 2;
		pid $work/nginx/pid;
		error_log $work/nginx/error.log;
		events { worker_connections 256; }
		http { access_log off; server { listen 127.0.0.1:$port; root $work/nginx; } }
	C
	/usr/sbin/nginx -c "$work/nginx/conf" || return
	server_storm "$1" "ab -q -k -c 8 -n 20000 http://127.0.0.1:$port/file >$work/ab.out; grep -q 'Failed requests: *0$' $work/ab.out && ! grep -q 'Non-2xx' $work/ab.out" \
		"$(cat "$work/nginx/pid")" nginx
	rc=$?
	cmp "$work/nginx/file" <(curl -s --noproxy '*' "http://127.0.0.1:$port/file") || rc=1
	/usr/sbin/nginx -c "$work/nginx/conf" -s stop
	! grep -E 'exited on signal|alert|emerg' "$work/nginx/error.log" >>"$work/why" || rc=1
	return $rc
}
rm -f "$work"/load.* "$work/enough"
campaign nginx "nginx: $attaches times under ab; no failed request" nginx "$attaches"

# build VARIANT: sets zstd and redis
build() {
	[ "$variant" = "$1" ] || { zstd=$(program zstd "$1") && redis=$(program redis "$1") && variant=$1; }
}
variant='' zstd='' redis=''
zstd_traced() {
	build sled || return
	rm -f "$work"/z.db*
	# shellcheck disable=SC2086
	timeout 1200 "$devtrace" record -o "$work/z.db" "$(dirname "$zstd")/../tests/"$1 >"$work/log" 2>&1 &&
		complete "$work/z.db" || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
}
for t in "fuzzer -i200 -s7" "zstreamtest -i50 -s7"; do
	campaign zstd "zstd: $t passes traced" zstd_traced "$t"
done
rm -f "$work"/z.db*

# The same of programs without sleds: every function of theirs and of libc by probes.
cpython_probed() {
	rm -f "$work"/p.db*
	timeout 1800 "$devtrace" record -f -p overwrite -F 'python3*:*' -F 'libc.so.6:*' -o "$work/p.db" \
		/usr/bin/python3 -m test "$1" >"$work/log" 2>&1 && grep -q 'Tests result: SUCCESS' "$work/log" ||
		{ tail -n 15 "$work/log" >>"$work/why"; return 1; }
}
for t in test_json test_re test_dict test_exceptions test_generators test_threading; do
	campaign cpython "CPython: $t passes with everything probed" cpython_probed "$t"
done

zstd_probed() {
	build plain || return
	rm -f "$work"/p.db*
	# shellcheck disable=SC2086
	timeout 1200 "$devtrace" record -p overwrite -F "${1%% *}:*" -F 'libc.so.6:*' -o "$work/p.db" \
		"$(dirname "$zstd")/../tests/"$1 >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
}
for t in "fuzzer -i100 -s7" "zstreamtest -i20 -s7"; do
	campaign zstd-probed "zstd: $t passes with everything probed" zstd_probed "$t"
done

# redis_unit UNIT COMMAND...: one of Redis's own, by COMMAND and alone: each of its tests ends the same. All
# pass, as a rule; Debian's corrections have changed a message that unit/dump looks for.
redis_unit() {
	local unit=$1 bind=(--config bind 127.0.0.1) alone traced
	shift
	[ "$unit" != unit/introspection ] || bind=() # it connects to another address of this machine
	alone=$(redis_run "$unit" env && grep -c . "$work/outcome")
	mv "$work/outcome" "$work/alone"
	traced=$(redis_run "$unit" "$@" && grep -c . "$work/outcome")
	[ "${alone:-0}" -gt 0 ] && [ "$alone" = "$traced" ] && cmp -s "$work/alone" "$work/outcome" && return
	diff "$work/alone" "$work/outcome" >>"$work/why"
	grep -vE '\[.*ok.*\]' "$work/log" >>"$work/why"
	return 1
}
redis_run() {
	(cd "$(dirname "$redis")/.." && timeout 900 "${@:2}" ./runtest --clients 2 "${bind[@]}" --single "$1" >"$work/log" 2>&1)
	# each test's name and how it ended, without colours and times
	sed 's/\x1b\[[0-9;]*m//g' "$work/log" | sed -nE 's/ \([0-9]+ ms\)$//; /^\[(ok|err|ignore|exception)\]/p; /All tests passed/p' >"$work/outcome"
	grep -q 'The End' "$work/log"
}

sqlite_probed() {
	local speedtest
	speedtest=$(program sqlite plain) || return
	rm -f "$work"/p.db*
	"$speedtest" --size 10 --verify --output "$work/sql.alone" :memory: >/dev/null &&
		timeout 900 "$devtrace" record -p overwrite -F 'speedtest1:*' -F 'libc.so.6:*' -o "$work/p.db" \
			"$speedtest" --size 10 --verify --output "$work/sql.traced" :memory: >"$work/log" 2>&1 &&
		cmp "$work/sql.alone" "$work/sql.traced" >>"$work/why" || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
}
campaign sqlite-probed "SQLite: speedtest1 has the same results with everything probed" sqlite_probed

# git_probed SCRIPT: one of git's own, all that it starts with every function of git and of libc probed: each of
# its cases ends as it does without
git_probed() {
	local git
	git=$(program git plain) || return
	rm -f "$work"/p.db*
	git_run "$1" "$work/alone" env
	git_run "$1" "$work/traced" timeout 1800 "$devtrace" record -f -p overwrite -F 'git:*' -F 'libc.so.6:*' -o "$work/p.db"
	grep -q '^ok' "$work/alone" && diff "$work/alone" "$work/traced" >>"$work/why" && return
	tail -n 5 "$work/log" >>"$work/why"
	return 1
}
git_run() {
	(cd "$(dirname "$git")/t" && "${@:3}" sh "./$1" --root="$work/trash" >"$work/log" 2>&1)
	grep -aE '^(ok|not ok|1\.\.|# passed|# failed)' "$work/log" >"$2"
	rm -rf "$work/trash"
}
git_scripts() { (cd "$(dirname "$(program git plain)")/t" && ls t0[0-9]*.sh t3[0-9]*.sh) | awk -v n="$1" '{ all[NR] = $1 } END { for (i = 0; i < n; i++) print all[int(i * NR / n) + 1] }'; }
case " ${names[*]:-git-probed} " in
*" git-probed "*)
	for t in $(git_scripts "${SOAK_GIT_SCRIPTS:-20}"); do
		campaign git-probed "git: $t ends the same with everything probed" git_probed "$t"
	done
	;;
esac

redis_probed() {
	build plain || return
	rm -f "$work"/p.db*
	redis_unit "$1" "$devtrace" record -f -p overwrite -F 'redis-server:*' -F 'libc.so.6:*' -o "$work/p.db"
}
for u in unit/type/string unit/type/hash unit/expire unit/scripting unit/introspection; do
	campaign redis-probed "Redis: $u passes with everything probed" redis_probed "$u"
done

redis_traced() {
	build sled || return
	rm -f "$work"/u.db*
	redis_unit "$1" "$devtrace" record -f -F 'redis-*:*' -o "$work/u.db" && complete "$work/u.db"
}
for u in unit/type/string unit/type/list unit/type/set unit/type/zset unit/type/stream unit/scan \
	unit/sort unit/expire unit/introspection unit/dump unit/geo unit/other; do
	campaign redis-units "Redis: $u passes traced" redis_traced "$u"
done

patch_storm() {
	DEVTRACE=$devtrace STORM_SECONDS=$1 "$root/test/probe/storm.t" >"$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
	grep -h 'switchings\|attached' "$work/log" | sed 's/^/# /' >&2
}
campaign storm "a patch storm of ten minutes: switched, planted, let go; no call lost, the code as it was" patch_storm 600
# csmith_programs TEST NUMBER=N: so many of that test's csmith programs
csmith_programs() {
	env "$2" timeout 14400 "$(dirname "$0")/probe/$1" csmith >"$work/log" 2>&1
	echo "# $1: $(grep -c '^ok.*seed' "$work/log") csmith programs" >&2
	grep -q '^ok' "$work/log" && ! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
}
campaign csmith "${SOAK_SEEDS:-2000} csmith seeds: every program with everything probed does what it does alone" \
	csmith_programs probe.t "SEEDS=${SOAK_SEEDS:-2000}"
campaign csmith-points "${SOAK_SEEDS:-2000} csmith seeds: the same, with random tracepoints set, changed and deleted meanwhile" \
	csmith_programs points.t "CSMITH=${SOAK_SEEDS:-2000}"
random_kills() {
	RANDOM_KILLS=$1 timeout 3600 "$(dirname "$0")/stress/kill.t" >"$work/log" 2>&1 &&
		! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
}
campaign kills "1,000 random SIGKILLs of the program, as many of the controller" random_kills 1000
# lib/as beside the devtrace that is tried
oracle() {
	cp -r "$root/build/lib" "$work/"
	python3 "$root/test/oracle/run.py" --devtrace "$devtrace" --total "$1" ${FIRST:+--seed "$FIRST"} >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
	tail -n 1 "$work/log" | sed 's/^/# /' >&2
}
campaign oracle "programs that count themselves, ${SOAK_COMBINATIONS:-10000} combinations: calls made = recorded + said to be lost" \
	oracle "${SOAK_COMBINATIONS:-10000}"
align() {
	make -s -C "$root" build/test/unit/test-align >"$work/log" 2>&1 &&
		ALIGN_SIMULATIONS=$1 timeout 3600 "$root/build/test/unit/test-align" >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
	grep 'simulations: ' "$work/log" | sed 's/^/# /' >&2
}
campaign align "machines' clocks, ${SOAK_ALIGN:-1000} simulations: the truth is inside the bars everywhere, no message goes backward" \
	align "${SOAK_ALIGN:-1000}"
hostile() {
	local until=$((SECONDS + 60 * $1)) rounds=0
	while [ $SECONDS -lt $until ]; do
		HOSTILE_SECONDS=3 bash "$root/test/hostile/hostile.t" >"$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" ||
			{ grep -A 62 '^not ok' "$work/log" >>"$work/why" || tail -n 20 "$work/log" >>"$work/why"; return 1; }
		rounds=$((rounds + 1))
	done
	echo "# $rounds rounds" >&2
}
campaign hostile "programs that write into the session's memory, ${SOAK_HOSTILE:-60} minutes: devtrace ends in order, traces can be checked" \
	hostile "${SOAK_HOSTILE:-60}"
corpus() {
	bash "$root/test/real/corpus.sh" "$devtrace" >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
	tail -n 1 "$work/log" | sed 's/^/# /' >&2
}
campaign corpus "assembler-heavy and foreign programs, all probed: output and status as alone" corpus
# how far they are is said meanwhile
suites() {
	# shellcheck disable=SC2086
	SUITE_STATE=$root/build/suites.state bash "$root/test/real/suites.sh" "$devtrace" ${SUITES-} 2> >(sed -u 's/^/# /' >&2) |
		tee "$work/log" | sed -u 's/^/# /' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || { grep -A 8 '^differs\|^not ' "$work/log" >>"$work/why"; return 1; }
}
campaign suites "the own test suites of libraries with assembler, all probed: output and status as alone" suites
python_tests() {
	"$root/test/real/python-tests.py" "$devtrace" ${FIRST-} | tee "$work/log" | sed -u 's/^/# /' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || { grep -A 6 '^differs' "$work/log" >>"$work/why"; return 1; }
}
campaign python-tests "Python's own tests with options at random: the same cases end in the same way" python_tests
programs() {
	"$root/test/real/programs.py" "$devtrace" ${FIRST-} | tee "$work/log" | sed -u 's/^/# /' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || { grep -E '^(differs|not sound|cannot be read)' "$work/log" >>"$work/why"; return 1; }
}
campaign programs "every program of this system with options at random: output and status as alone, and its trace is sound" programs
prototypes() {
	local f
	sh "$root/install-deps.sh" prototypes >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	# the script writes beside itself
	mkdir -p "$work/tree/symbols" && cp -r "$root/symbols/prototypes" "$work/tree/symbols/" && rm "$work/tree/symbols/prototypes/"*.def || return
	/usr/bin/python3 "$work/tree/symbols/prototypes/make.py" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	for f in "$work/tree/symbols/prototypes/"*.def; do
		diff "$root/symbols/prototypes/${f##*/}" "$f" | head -n 20 >>"$work/why"
	done
	[ ! -s "$work/why" ]
}
campaign prototypes "prototypes made anew are those of the tree" prototypes

found() {
	FOUND_ALL=1 bash "$root/test/found/found.t" >"$work/log" 2>&1 && ! grep '^not ok' "$work/log" >>"$work/why"
}
campaign found "functions found by calls only: as many, and as often called, as with symbols" found

arm64() {
	sh "$root/install-deps.sh" aarch64 && make -s -C "$root" -j2 ARCH=aarch64 >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	bash "$root/test/aarch64/read.sh" >"$work/log" 2>&1 && ! grep -A 6 '^not ok' "$work/log" >>"$work/why" || return 1
	ROUNDS=1000000 "$root/test/aarch64/relocate.t" >"$work/log" 2>&1 && ! grep -A 6 '^not ok' "$work/log" >>"$work/why" || return 1
	MANY=20 "$root/test/aarch64/record.t" >"$work/log" 2>&1 && ! grep -B 6 '^not ok' "$work/log" >>"$work/why" || return 1
	RECORDS=10000000 "$root/test/aarch64/sleds.t" >"$work/log" 2>&1 || { grep '^not ok\|^# not ok' "$work/log" >>"$work/why"; return 1; }
	ALL=1 RECORDS=1000000 "$root/test/aarch64/sleds.t" >"$work/log" 2>&1 || { grep '^not ok\|^# not ok' "$work/log" >>"$work/why"; return 1; }
}
campaign arm64 "aarch64: what was recorded here is read there; programs are recorded there; a million moved stretches of code; ten million records of sleds" arm64

# bats has its own TAP: shown where it fails
sanitizers() {
	local t failed=0 n=0
	make -s -C "$root" -j2 SAN=1 tests >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	for t in "$root"/test/cases/*.bats; do
		DEVTRACE_ROOT=$root DEVTRACE_BUILD=$root/build/san ASAN_OPTIONS=handle_sigill=1 bats --tap "$t" >"$work/log" 2>&1 || failed=1
		n=$((n + $(grep -c '^ok' "$work/log")))
		grep -A 20 '^not ok' "$work/log" >>"$work/why"
	done
	echo "# $n cases" >&2
	[ $failed = 0 ] && [ $n -gt 0 ]
}
campaign sanitizers "the commands' cases, with sanitizers" sanitizers

whole() {
	local t n=0 failed=0
	make -s -C "$root" -j2 tests >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	for t in instrument/matrix.t events/events.t known/known.t known/probes.t known/cover.t probe/probe.t probe/points.t kernel/dkms.t kernel/kernel.t \
		stress/kill.t stress/export.t real/real.t; do
		SHARE=1 "$root/test/$t" >"$work/log" 2>&1 || failed=1
		n=$((n + $(grep -c '^ok' "$work/log")))
		! grep -A 20 '^not ok' "$work/log" >>"$work/why" || failed=1
	done
	echo "# $n cases" >&2
	[ $failed = 0 ] && [ $n -gt 0 ]
}
campaign whole "the campaigns of which a share is tried for every change, whole" whole

before() {
	make -s -C "$root" -j2 all tests >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	"$root/test/before/run.sh" >"$work/log" 2>&1
	echo "# $(grep -c '^ok' "$work/log") cases fail there" >&2
	! grep -A 3 '^not ok' "$work/log" >>"$work/why" && grep -q '^ok' "$work/log"
}
campaign before "what was wrong at an older commit: with its devtrace each case that shows it fails" before

mutate() {
	python3 "$root/test/mutate/mutate.py" --minutes "$1" --seed "${FIRST:-$RANDOM}" 2>&1 | tee "$work/log" | sed -u 's/^/# /' >&2
	[ "${PIPESTATUS[0]}" = 0 ] && ! grep 'NOT CAUGHT' "$work/log" >>"$work/why"
}
campaign mutate "faults put in on purpose, ${SOAK_MUTATE:-120} minutes: those that are tried are caught" mutate "${SOAK_MUTATE:-120}"

# in_kernels CASE N: one of those that test/kernel/guest/ has for the soak
in_kernels() {
	SOAK=$1 LOADS=$2 SECONDS_OF_ALL=$2 LIMIT=3000 "$(dirname "$0")/kernel/kernel.t" >"$work/log" 2>&1 &&
		! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
}
campaign kernel "Linux: everything traced in every context for ten seconds under load, each hit recorded or counted" \
	in_kernels soak_everything 10
campaign kernel "Linux: who wakes threads, a million times, against the kernel's own events" in_kernels soak_wakes 1
campaign kernel "Linux: of wake-ups that find no room it is known how many" in_kernels soak_lost_wakes 1
campaign kernel "Linux: devtrace.ko loaded and unloaded ${SOAK_LOADS:-100} times with everything traced" \
	in_kernels soak_load_and_unload "${SOAK_LOADS:-100}"
packages() {
	make -s -C "$root" deb >"$work/log" 2>&1 || { tail -n 20 "$work/log" >>"$work/why"; return 1; }
	(cd "$root/build/deb" && lintian --allow-root ./*.deb ./*.changes) >"$work/log" 2>&1 && [ ! -s "$work/log" ] || { cat "$work/log" >>"$work/why"; return 1; }
	"$root/test/packages/chroot.sh" "$root/build/deb" >"$work/log" 2>&1
	local status=$?
	"$root/test/packages/systemd.sh" "$root/build/deb" >>"$work/log" 2>&1 || status=1
	sed 's/^/# /' "$work/log" >&2
	return $status
}
campaign packages "Debian's packages: lintian finds nothing; installed in a fresh Debian they work, and purged leave nothing" packages
# as many files as make install has, each in one package
rpm_packages() {
	make -s -C "$root" rpm >"$work/log" 2>&1 || { tail -n 20 "$work/log" >>"$work/why"; return 1; }
	find "$root/build/rpm/RPMS" -name '*.rpm' ! -name '*debug*' -exec rpm -qp --nosignature --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' {} + 2>>"$work/why" |
		sed -n '/^d/!s/^[^ ]* //p' | grep -vE '^/usr/share/(doc|licenses)/|/\.build-id/' | sort >"$work/in-rpm"
	make -s -C "$root" install install-dkms DESTDIR="$work/rpm" PREFIX=/usr LIBDIR=/usr/lib64 PYTHONDIR="$(rpm --eval "$(sed -n 's/^%.*python3_sitelib \(%(.*)\)}/\1/p' "$root/packaging/rpm/devtrace.spec.in")")" >>"$work/why" 2>&1
	(cd "$work/rpm" && find . ! -type d | sed 's/^\.//' | sort) | sed -E 's|(/man/.*\.[138])$|\1.gz|' | diff - <(sed -E 's|(/man/.*\.[138])$|\1.gz|' "$work/in-rpm") >>"$work/why"
}
campaign rpm "packages for RPM can be made, and have all files" rpm_packages
static_program() {
	make -s -C "$root" static >"$work/log" 2>&1 || { tail -n 20 "$work/log" >>"$work/why"; return 1; }
	"$root/test/packages/static.sh" "$root/build/static/devtrace" >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
	"$root/test/packages/distributions.sh" "$root/build/static/devtrace" >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
}
old_libc() {
	bash "$root/test/real/old-libc.sh" "$devtrace" >"$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
}
engines() {
	bash "$root/test/real/engines.sh" "$devtrace" >"$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
}
campaign engines "a fleet's calls on two ClickHouse servers and in DuckDB are those of devtrace sql" engines
campaign old-libc "programs with glibc 2.31: every call, and the threads' own ids" old_libc
campaign static "the static program works where there is nothing but a program to trace" static_program
fuzzer() {
	[ -n "${fuzzers_built:-}" ] || make -s -C "$root" -j2 FUZZ=1 fuzzers >"$work/log" 2>&1 || { tail -n 5 "$work/log" >>"$work/why"; return 1; }
	fuzzers_built=1
	"$root/test/fuzz/run.sh" "$1" "$2" keep >"$work/log" || { cat "$work/log" >>"$work/why"; return 1; }
	cat "$work/log" >&2
}
limits() {
	bash "$root/test/fuzz/limits.sh" >"$work/log" 2>&1 || { cat "$work/log" >>"$work/why"; return 1; }
	sed 's/^/# /' "$work/log" >&2
}
campaign limits "what the fuzzers have found costs no command more than 10 s and 1 GB" limits
for f in ${SOAK_FUZZERS:-$(cd "$root/test/fuzz" && basename -s .c ./*.c)}; do
	campaign fuzz "the fuzzer of $f finds nothing in ${SOAK_FUZZ_SECONDS:-3600} s" fuzzer "$f" "${SOAK_FUZZ_SECONDS:-3600}"
done
echo "1..$tests"
