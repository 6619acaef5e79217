# SPDX-License-Identifier: MIT
# A fleet where a command reads one trace. What is true is counted from the made-up machines' own text (merge.py), or by
# the program.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	mkdir made tmp
	python3 "$root/test/cases/merge.py" make made
	for host in alpha beta; do "$root/build/test/tool/writetrace" "made/$host.db" <"made/$host.txt"; done
	"$dt" merge -o made/fleet.db made/alpha.db made/beta.db >/dev/null
	cat >work.c <<-'C'
		#include <pthread.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
		__attribute__((noinline)) int mid(int n) { int s = 0; for (int i = 0; i < n; i++) s = leaf(s); return s; }
		#ifdef OTHER /* one machine has types that the other has not, in front of those that both have */
		enum only { NEVER, ONCE };
		__attribute__((noinline)) int given_only(enum only o) { __asm__ volatile("" : "+r"(o)); return o == ONCE ? 5 : 6; }
		#endif
		enum both { FIRST, SECOND };
		__attribute__((noinline)) int given_both(enum both b) { __asm__ volatile("" : "+r"(b)); return b == SECOND ? 5 : 6; }
		static void *thread(void *a) { for (int i = 0; i < 70; i++) mid(i % 7); return a; }
		int main(void) {
			pthread_t t[3];
			given_both(SECOND);
		#ifdef OTHER
			given_only(ONCE);
		#endif
			for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, 0);
			for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
			if (!fork()) { thread(0); execl("/bin/true", "true", (char *)0); }
			return wait(0) < 0;
		}
	C
	gcc -O1 -g -pthread -o work work.c
	"$dt" record -S -o a.db ./work 2>/dev/null
	gcc -O1 -g -pthread -DOTHER -o work work.c
	"$dt" record -S -o b.db ./work 2>/dev/null
	"$dt" merge -o both.db A=a.db B=b.db >/dev/null
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir"
	export TMPDIR=$dir/tmp
	rm -rf tmp/* one.db
}

# counted HOST FUNCTION: calls, and their ns on that machine's clock, from the text that it was made of
counted() {
	awk -v f="$2" '$1 == "E" && $2 == f { b = $4 } $1 == "X" && $2 == f { n++; t += $4 - b } END { print n, t }' "made/$1.txt"
}

# close_to A B: within 60 ppm, by which beta's clock is fast, and what drawing it adds
close_to() {
	awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 6e-5 * b + 1 && -d < 6e-5 * b + 1) }'
}

@test "fleet: one trace of all is sound, and has what each has: calls, threads, switches, types, waits" {
	"$dt" merge --one one.db both.db
	"$dt" check one.db
	# what the program does: four threads of 70 calls, and each of them 0 to 6 more; on two machines
	run "$dt" sql --csv -n one.db "SELECT function, count(*) FROM calls WHERE function IN ('leaf', 'mid') GROUP BY 1"
	[ "${lines[0]%$'\r'}" = leaf,1680 ]
	[ "${lines[1]%$'\r'}" = mid,560 ]
	for what in 'count(*) FROM records' "count(*) FROM records WHERE kind = 'switch'" 'count(DISTINCT thread) FROM calls'; do
		one=$("$dt" sql --csv -n one.db "SELECT $what")
		each=$(for t in a b; do "$dt" sql --csv -n $t.db "SELECT $what"; done | awk '{ n += $1 } END { print n }')
		[ "$((${one%$'\r'}))" = "$each" ]
	done
	# the same lines, but for times and numbers of threads
	lines_of() { for t; do "$dt" calls "$t"; done | sed -E 's/^ *[0-9.]+ [a-z]+ / /; s/^ +//' | grep -v 'thread\|^$\|runs on core' | sed 's/waited .*//' | sort; }
	diff <(lines_of one.db) <(lines_of a.db b.db)
	[ "$("$dt" calls one.db | grep -c 'given_both(b=SECOND)')" = 2 ]
	"$dt" calls one.db | grep -q "given_only(o=ONCE)"
	[ "$(sqlite3 one.db "SELECT count(*) FROM again WHERE tid NOT BETWEEN 1073741824 AND 1073741900")" = 0 ]
}

@test "fleet: graph, flame, hist, sum, plot and exports have the sums of all hosts, FLEET@HOST those of one" {
	read -r calls took <<<"$(counted alpha call)"
	read -r serves served <<<"$(counted beta serve)"
	graph() { "$dt" graph --json "$1" | python3 -c 'import json, sys
for line in sys.stdin:
	n = json.loads(line)
	if "calls" in n: print(n.get("name") or n.get("function"), n["calls"])' | sort -u; }
	[[ $(graph made/fleet.db) == *"call $calls"*"serve $serves"* ]]
	[[ $(graph made/fleet.db@beta) != *call* ]]
	"$dt" export --csv made/fleet.db >csv
	[ "$(grep -c '"call"' csv)" = "$calls" ]
	close_to "$(awk -F, '/"call"/ { t += $10 } END { print t }' csv)" "$took"
	close_to "$(awk -F, '/"serve"/ { t += $10 } END { print t }' csv)" "$served"
	close_to "$("$dt" export --folded made/fleet.db | awk '/serve/ { t += $NF } END { print t }')" "$served"
	# whose calls they are is in a column, and in the names of threads and processes
	for host in alpha beta; do
		"$dt" export --csv made/fleet.db@$host | tr -d '\r' | awk -F, 'NR > 1 { print $1, $2, $6 }' | sort >own
		tr -d '\r' <csv | awk -F, -v h="\"$host\"" '$NF == h { print $1, $2, $6 }' | sort | diff own -
		[ -s own ]
		"$dt" export --folded made/fleet.db@$host | sed "s/^/$host: /" | cut -d' ' -f1-2 | sort >own
		"$dt" export --folded made/fleet.db | grep "^$host: " | cut -d' ' -f1-2 | sort | diff own -
		"$dt" export --chrome made/fleet.db | grep '"thread_name"' | grep -qF "{\"name\":\"$host\"}"
		"$dt" export --speedscope made/fleet.db | grep -qF "\"name\":\"$host: "
		"$dt" export --perfetto made/fleet.db | grep -qa "$host"
	done
	"$dt" flame -o flame.svg made/fleet.db
	grep -q serve flame.svg
	"$dt" hist -F serve made/fleet.db | grep -q "$serves"
	[ -z "$(ls -A tmp)" ]
}

@test "fleet: graph --by host has each machine's own graph, in its own time" {
	local host function calls took
	for host in 'alpha call' 'beta serve'; do
		read -r host function <<<"$host"
		read -r calls took <<<"$(counted $host $function)"
		"$dt" graph --by host --json made/fleet.db | python3 -c 'import json, sys
for n in map(json.loads, sys.stdin):
	if n["host"] == sys.argv[1]: print(n["function"], n["calls"])' $host >got
		[ "$(cat got)" = "$function $calls" ]
		"$dt" graph --by host made/fleet.db | awk -v h=$host '$1 == "host" { on = $2 == h; next } on && NF' >got
		"$dt" graph made/$host.db | awk NF | diff got -
	done
	[ "$("$dt" graph --by host made/fleet.db serve | sed -n '1,2p')" = $'host alpha\nno calls of these functions' ]
	run "$dt" graph --by host made/fleet.db nothing
	[ "$status" = 1 ]
	[[ $output == *"no function that was called on any of the machines is 'nothing'"* ]]
	run "$dt" graph --by host made/alpha.db
	[ "$status" = 2 ]
	one_line 'is no fleet'
	run "$dt" graph --by thread made/fleet.db
	[ "$status" = 2 ]
}

@test "fleet: report and graph between two times of the fleet have the calls of all machines in between" {
	# from between two calls to between two others: the truth is in the text that the traces are made of
	read -r from to <<<"$(awk 'BEGIN { n = 0 } $2 == "call" && $1 == "E" { e[n] = $4 } $2 == "call" && $1 == "X" { x[n++] = $4 }
		END { printf "%d %d", (x[50] + e[51]) / 2 - e[0], (x[150] + e[151]) / 2 - e[0] }' made/alpha.txt)"
	"$dt" report --by host,function --from ${from}ns --to ${to}ns made/fleet.db >got
	[ "$(awk '$NF == "call" || $NF == "serve" { print $(NF - 1), $NF }' got | sort | tr '\n' ' ')" = 'alpha call beta serve ' ]
	[ "$(grep -cE ' 100 .*(call|serve)$' got)" = 2 ]
	"$dt" graph --by host --json --from ${from}ns --to ${to}ns made/fleet.db | grep -c '"calls": 100,' | grep -qx 2
	run "$dt" report --from 5 made/fleet.db
	[ "$status" = 2 ]
	one_line "a fleet's times are from its first record on"
}

@test "fleet: cat --json says of each record whose it is, and when that was" {
	"$dt" cat --json made/fleet.db >got
	[ "$(grep -c '"host": "alpha"' got)" = "$("$dt" cat made/alpha.db | wc -l)" ]
	[ "$(grep -c '"host": "beta"' got)" = "$("$dt" cat made/beta.db | wc -l)" ]
	python3 -c 'import json, sys
last = 0
for n in map(json.loads, sys.stdin):
	assert n["early_ns"] <= n["fleet_ns"] <= n["late_ns"] and last <= n["fleet_ns"]
	last = n["fleet_ns"]
	print(n["host"], n["ticks"], n["fleet_ns"], n["early_ns"], n["late_ns"])' <got >each
	"$dt" cat -l made/fleet.db | sed -E 's/.* ticks=([0-9]+) .* host=([a-z]+) at=(.*) early=(.*) late=(.*)/\2 \1 \3 \4 \5/' | cmp - each
	# nothing is known of the other one: null
	mkdir -p unknown
	python3 "$root/test/cases/merge.py" make unknown messages=0
	for host in alpha beta; do "$root/build/test/tool/writetrace" "unknown/$host.db" <"unknown/$host.txt"; done
	"$dt" merge -o unknown/fleet.db unknown/alpha.db unknown/beta.db >/dev/null 2>&1
	"$dt" cat --json unknown/fleet.db | grep beta | grep -q '"early_ns": null, "late_ns": null}$'
	rm -r unknown
}

@test "fleet: calls --json and report --json are those of its machines, which they name" {
	local host
	"$dt" calls --json made/fleet.db >all.json
	for host in alpha beta; do "$dt" calls --json made/fleet.db@$host >$host.json; done
	"$dt" report --by host,function --json made/fleet.db >report.json
	python3 - <<-'PY'
		import json
		read = lambda f: [json.loads(l) for l in open(f)]
		all, report = read("all.json"), read("report.json")
		own = {h: read(h + ".json") for h in ("alpha", "beta")}
		def what(l):
		    return json.dumps([l[k] for k in ("type", "function", "module", "thread", "process", "core", "depth", "arguments", "result", "flags")])
		for h, lines in own.items():
		    mine = [l for l in all if l.get("host") == h and l["type"] == "call"]
		    theirs = [l for l in lines if l["type"] == "call"]
		    assert len(mine) == len(theirs) > 0 and not any("host" in l for l in lines)
		    assert sorted(map(what, mine)) == sorted(map(what, theirs))
		    # each thread's calls in their order, as long as they were
		    for a, b in zip(sorted(mine, key=lambda l: (l["thread"], l["end_ns"])), sorted(theirs, key=lambda l: (l["thread"], l["end_ns"]))):
		        assert abs(a["duration_ns"] - b["duration_ns"]) <= 2 + 1e-3 * b["duration_ns"], (a, b)
		    for f in {l["function"] for l in theirs}:
		        rows = [r for r in report if r.get("host") == h and r.get("function") == f]
		        assert [r["calls"] for r in rows] == [sum(l["function"] == f for l in theirs)], (h, f, rows)
		assert len([l for l in all if l["type"] == "call"]) == sum(l["type"] == "call" for v in own.values() for l in v)
	PY
	# the same of a trace that was made of a fleet, as text
	"$dt" merge --one one.db made/fleet.db
	"$dt" report --by host,function one.db | awk '/alpha|beta/ { print $(NF - 1), $NF, $3 }' | sort >got
	"$dt" report --by host,function made/fleet.db | awk '/alpha|beta/ { print $(NF - 1), $NF, $3 }' | sort | diff - got
	run "$dt" calls --fields since made/fleet.db
	[ "$status" = 2 ]
	one_line 'say made/fleet.db@HOST'
	# threads, by their numbers, of all hosts: the lines that have them
	run "$dt" calls --thread 999999 --thread 999998 made/fleet.db
	[ "$status" = 1 ]
	[ "${lines[0]}" = 'devtrace: --thread 999999: no host of the fleet has such a thread' ]
	[ "${lines[1]}" = 'devtrace: --thread 999998: no host of the fleet has such a thread' ]
	"$dt" calls --json made/fleet.db >all.json
	for t in $(python3 -c 'import json; print(*sorted({l["thread"] for l in map(json.loads, open("all.json")) if l["type"] == "call"}))'); do
		"$dt" calls --json --thread "$t" made/fleet.db >got.json
		# calls are numbered among those of this thread
		python3 - "$t" <<-'P'
			import json, sys
			def calls(path): return [{k: v for k, v in l.items() if k not in ("id", "parent")} for l in map(json.loads, open(path)) if l["type"] == "call" and l["thread"] == int(sys.argv[1])]
			got, want = calls("got.json"), calls("all.json")
			assert len(got) == len(want) > 0 and all(a == b for a, b in zip(got, want)), (len(got), len(want))
			assert len(got) == sum(json.loads(l)["type"] == "call" for l in open("got.json"))
		P
	done
	rm -f all.json got.json
	rm -f one.db*
}

@test "fleet: diff of two hosts, and of a host with all, names what the other has not" {
	run "$dt" diff made/fleet.db@alpha made/fleet.db
	[ "$status" = 0 ]
	[[ $output == *new*serve* ]]
	run "$dt" diff both.db@A both.db@B
	[ "$status" = 0 ]
	[[ $output == *'1 new, 0 gone'* ]]
	[[ $output == *new*given_only* ]]
	[ -z "$(ls -A tmp)" ]
}

@test "fleet: a call of one host is drawn in that of another host that waits for it; the wait is the network's" {
	"$dt" export --csv made/fleet.db >csv
	# times from the first record on; messages keep each of beta's calls inside alpha's
	awk -F, '/"call"/ { b[$2, ++n] = $8; e[n] = $9; from[n] = $8 } /"serve"/ { sb[++m] = $8; se[m] = $9 }
		END { if (n != m || !n) exit 1; for (i = 1; i <= n; i++) if (sb[i] < from[i] || se[i] > e[i]) exit 1 }' \
		<(sort -t, -k8,8n csv)
}

@test "fleet: a clock that was set makes one trace that is in order" {
	mkdir -p stepped
	python3 "$root/test/cases/merge.py" make stepped step=1000000000 drift=10
	for host in alpha beta; do rm -f stepped/$host.db; "$root/build/test/tool/writetrace" stepped/$host.db <stepped/$host.txt; done
	"$dt" merge -o stepped/fleet.db stepped/alpha.db stepped/beta.db >/dev/null 2>&1
	"$dt" merge --one one.db stepped/fleet.db
	"$dt" check -q one.db
}

@test "fleet: who is told: no such machine, no fleet, a trace that has gone; nothing is left behind" {
	run "$dt" graph made/fleet.db@gamma
	[ "$status" = 1 ]
	one_line "has no machine 'gamma'" 'merge made/fleet.db'
	run "$dt" merge --one one.db made/alpha.db
	[ "$status" = 2 ]
	"$dt" merge --copy -o moved made/alpha.db made/beta.db >/dev/null
	rm moved/beta.db
	run "$dt" export --csv moved/fleet.db
	[ "$status" = 1 ]
	one_line beta.db
	[ -z "$(ls -A tmp)" ]
	# killed in the middle: the page is served until then
	"$dt" view -n made/fleet.db >address &
	pid=$!
	for i in $(seq 100); do [ -s address ] && break; sleep 0.05; done
	[ -n "$(ls -A tmp)" ]
	kill -9 $pid
	for i in $(seq 100); do [ -z "$(ls -A tmp/devtrace-view* 2>/dev/null)" ] && break; sleep 0.05; done
	[ -z "$(ls -d tmp/devtrace-view* 2>/dev/null)" ]
}
