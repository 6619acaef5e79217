#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What takes too long for every change: make soak. TAP, as real.t.
#   - attach and detach 1,000 times to a Redis under load (SOAK_ATTACHES)
#   - attach to and detach from Python, bash, git and a C++ program with exceptions, with all of their own
#     functions and libc's probed, until they have ended (SOAK_SECONDS each)
#   - zstd's whole fuzzer start and stream tests, everything traced (a trace of a gigabyte)
#   - more of Redis's own units, everything traced
set -uo pipefail
. "$(dirname "$0")/real/common.sh"

attaches=${SOAK_ATTACHES:-1000}
attach_under_load "$attaches"
result $? "Redis: attached and detached $attaches times under load; no error, no lost connection"

# storm NAME COMMAND...: attached to and detached from again and again until it ends; its output is
# what it is without. Prints how often.
storm() {
	local name=$1 pid n=0 session="storm-$$-$1"
	shift
	"$@" >"$work/alone" 2>&1 </dev/null
	"$@" >"$work/storm" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		"$devtrace" attach -d -s "$session" -p drop -F '*' -F 'libc.so.6:*' "$pid" >/dev/null 2>>"$work/why" || continue
		n=$((n + 1))
		"$devtrace" ctl -s "$session" start 2>/dev/null
		"$devtrace" ctl -s "$session" quit 2>/dev/null
		while "$devtrace" ctl -s "$session" >/dev/null 2>&1; do sleep 0.01; done
	done
	wait "$pid" || return 1
	echo "# $name: $n times" >&2
	[ "$n" -ge 5 ] && cmp "$work/alone" "$work/storm"
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
storm python /usr/bin/python3 "$work/load.py" "$seconds"
result $? "Python: the same output, attached to and detached from all the time"
storm bash bash -c 'n=0; for ((i = 0; i < '"$seconds"' * 60000; i++)); do ((n = (n * 31 + i) % 1000003)); [[ $n =~ 77 ]] && n=${n/7/1}; done; echo $n'
result $? "bash: the same"
g++ -O2 -o "$work/throws" "$(dirname "$0")/programs/throws.cc"
storm exceptions "$work/throws" "$seconds"
result $? "C++ with exceptions: the same"
git init -q "$work/repo" && (cd "$work/repo" && for i in $(seq 300); do echo "$i" >>f && git add f &&
	git -c user.name=x -c user.email=x@y commit -qm "$i"; done)
storm git bash -c 'for ((i = 0; i < '"$seconds"' * 4; i++)); do git -C "'"$work"'/repo" log -p --stat; done | sha256sum'
result $? "git, run by a shell: the same"

zstd=$(program zstd sled) && redis=$(program redis sled)
result $? "zstd and Redis build with sleds"
for t in "fuzzer -i200 -s7" "zstreamtest -i50 -s7"; do
	rm -f "$work"/z.db*
	# shellcheck disable=SC2086
	timeout 1200 "$devtrace" record -o "$work/z.db" "$(dirname "$zstd")/../tests/"$t >"$work/log" 2>&1 &&
		complete "$work/z.db" || { tail -n 5 "$work/log" >>"$work/why"; false; }
	result $? "zstd: $t passes traced"
done
rm -f "$work"/z.db*

for u in unit/type/string unit/type/list unit/type/set unit/type/zset unit/type/stream unit/scan \
	unit/sort unit/expire unit/introspection unit/dump unit/geo unit/other; do
	rm -f "$work"/u.db*
	(cd "$(dirname "$redis")/.." && timeout 900 "$devtrace" record -f -o "$work/u.db" \
		./runtest --clients 2 --config bind 127.0.0.1 --single "$u" >"$work/log" 2>&1) &&
		grep -q 'All tests passed' "$work/log" && complete "$work/u.db" ||
		{ grep -vE '\[.*ok.*\]' "$work/log" >>"$work/why"; false; }
	result $? "Redis: $u passes traced"
done
echo "1..$tests"
