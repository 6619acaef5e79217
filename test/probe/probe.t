#!/bin/bash
# SPDX-License-Identifier: MIT
# Probes in programs that were compiled without sleds, as far as the planner goes: programs are run
# with every function of theirs and of their libraries probed, and must do what they do alone;
# every function must be left as often as it was entered; and no window may hold what the compiler
# has put a label on. Also what is hooked of Debian's own binaries.
# usage: probe.t [WORD...]   only the cases whose name contains every WORD
# B: the build directory (build). SEEDS: how many csmith programs (30), FIRST: the first seed.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
for tool in probe-run check-plan plan-stats; do
	[ -x "$B/test/tool/$tool" ] || { echo "not ok - $B/test/tool/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-probe.XXXXXX) && trap 'rm -rf "$dir"' EXIT
. "$root/test/share.bash"
export dir

# what is entered and not left when a program ends, or left by those who jump into its middle
usual=' (_start|_Exit|exit|main|__run_exit_handlers|__libc_start_main|__libc_start_call_main|start_thread'
usual+='|__libc_start_main_impl|_IO_cleanup|__memcpy_[a-z0-9_]*|__memset_[a-z0-9_]*|memcpy|vfork|execve) |[?] [0-9a-f]*: 1 entries, 0 exits'
export usual

# Runs "$@" alone and probed: same output, same status; with $compare set also entries and exits.
judge() {
	local alone probed
	"$B/test/tool/limit" 60 "$@" >alone.out 2>alone.err </dev/null
	alone=$?
	"$B/test/tool/limit" 120 "$B/test/tool/probe-run" $flags -o probe.out "$@" >probed.out 2>probed.err </dev/null
	probed=$?
	if [ "$alone" != "$probed" ]; then
		echo "# exit status $alone alone, $probed probed"
		grep -h ^signal probe.out | head -n 3 | sed 's/^/# /'
		tail -n 120 probed.err | sed 's/^/# /'
		return 1
	fi
	if ! cmp -s alone.out probed.out; then
		echo "# the output differs:"
		diff alone.out probed.out | head -n 6 | sed 's/^/# /'
		return 1
	fi
	# it was really done; a program that execs another takes its counters along
	if [ "$name" = "${name#processes}" ] && ! grep -qE '^[1-9][0-9]+ calls of [1-9]' probe.out; then
		echo "# nothing was counted"
		return 1
	fi
	[ -n "$compare" ] || return 0
	if grep '^differ ' probe.out | grep -vE "$usual" | sed 's/^/# /' | grep .; then
		return 1
	fi
}

# One case: NAME|SOURCES|COMPILER|FLAGS|compare or nothing|flags of probe-run
run_case() {
	local name sources compiler cflags compare flags cc ok=1 s
	IFS='|' read -r name sources compiler cflags compare flags <<<"$1"
	local here=$dir/${name//[ \/]/_}
	mkdir -p "$here" && cd "$here" || return
	export compare flags name
	{
		cc=$compiler
		case $sources in *.cc*) [ "$compiler" = gcc ] && cc=g++ || cc=clang++ ;; esac
		for s in $sources; do
			case $s in
			*.S) $cc $cflags -c -o "$(basename "$s").o" "$root/$s" || ok= ;;
			*) $cc $cflags -w -I"$root" -I/usr/include/csmith -S -o "$(basename "$s").s" "$s" &&
				$cc $cflags -c -Wa,-L -o "$(basename "$s").o" "$(basename "$s").s" || ok= ;;
			esac
		done
		if [ -n "$ok" ]; then
			$cc $cflags -Wl,--discard-none -o prog ./*.o -pthread -lm || ok=
		fi
		cat ./*.s >all.s
		if [ -n "$ok" ]; then
			timeout 60 "$B/test/tool/check-plan" prog all.s >check.out || { ok= && head -n 5 check.out; }
			judge ./prog || ok=
		fi
	} >log 2>&1
	if [ -n "$ok" ]; then
		echo "ok - $name"
	else
		sed 's/^\([^#]\)/# \1/' log | tail -n 20
		echo "not ok - $name"
	fi
	cd "$dir" && rm -rf "$here"
}
export -f run_case judge

wanted() {
	local w
	for w in "${words[@]}"; do case $1 in *"$w"*) ;; *) return 1 ;; esac; done
}
words=("$@")

cases() {
	local cc level p
	for cc in gcc clang; do
		for level in -O0 -O1 -O2 -O3 -Os; do
			echo "switch.c $cc $level|$root/test/probe/switch.c|$cc|$level|compare|"
		done
		for level in "-O2 -fno-pie -no-pie" "-O2 -static" "-O2 -fcf-protection=full" "-O3 -march=native" \
			"-O2 -fPIC -pie -Wl,-z,pack-relative-relocs"; do
			echo "switch.c $cc $level|$root/test/probe/switch.c|$cc|$level|compare|"
		done
		echo "switch.c $cc -O2, int3 for all|$root/test/probe/switch.c|$cc|-O2|compare|-t"
		echo "odd.S $cc|$root/test/probe/odd.c test/probe/odd.S|$cc|-O1||"
	done
	# how these leave functions is another matter: output and status alone
	for p in contexts.c coroutine.c deep.c endings.c exception.cc frames.c init.c jump.c leaf.c migrate.c processes.c \
		recursion.c signals.c stacks.c tail.c threads.c values.c vector.c; do
		for cc in "gcc|-O0" "gcc|-O2" "clang|-O1" "clang|-O3"; do
			echo "$p ${cc/|/ }|$root/test/programs/$p|$cc||"
		done
	done
}

csmith_cases() {
	local seed n=${SEEDS:-30} first=${FIRST:-1}
	for seed in $(seq "$first" $((first + n - 1)) | share); do
		(cd "$dir" && csmith --seed "$seed" --max-funcs 10 -o "$seed.c") || continue
		case $((seed % 2)) in 0) cc=gcc ;; *) cc=clang ;; esac
		# those that run long say no more than the others
		"$cc" "-O$((seed / 2 % 4))" -w -I/usr/include/csmith -o "$dir/plain" "$dir/$seed.c" 2>/dev/null &&
			timeout 1 "$dir/plain" >/dev/null 2>&1
		[ $? -lt 124 ] || continue
		echo "csmith seed $seed $cc -O$((seed / 2 % 4))|$dir/$seed.c|$cc|-O$((seed / 2 % 4))|compare|"
	done
}

{ cases | share "" 2; csmith_cases; } | while read -r line; do
	wanted "${line%%|*}" && printf '%s\0' "$line"
done | xargs -0 -r -n 1 -P 2 bash -c 'run_case "$1"' _

# Debian's own: programs under a load, with all their libraries
cat >"$dir/load.py" <<'EOF'
import decimal, hashlib, json, os, random, re, threading, time, zlib
d = [{"a": i, "b": [str(j) * 3 for j in range(5)]} for i in range(300)]
s = json.dumps(d)
assert json.loads(s) == d
print(hashlib.sha256(s.encode()).hexdigest(), len(re.findall(r'"(\w)\1+"', s)), zlib.crc32(s.encode()))
def f(n):
    if n == 0:
        raise ValueError("x")
    try:
        f(n - 1)
    finally:
        pass
for i in range(50):
    try:
        f(20)
    except ValueError:
        pass
r = []
t = [threading.Thread(target=lambda k=k: r.append(sum(range(k * 1000)))) for k in range(8)]
[x.start() for x in t]
[x.join() for x in t]
# join returns while the thread is still in the function that lets it: the end must not come before its exits
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)
random.seed(5)
print(sorted(r), decimal.Decimal(2).sqrt(), sorted(random.random() for _ in range(1000))[500])
EOF
echo "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<3000)
insert into t select x, hex(x*7919%1000) from c; create index i on t(b);
select count(*),sum(t.a),max(b) from t join t t2 using(b) where t.a<2000;" >"$dir/load.sql"
gcc -E -o "$dir/load.i" "$root/test/probe/switch.c"
cd "$dir" || exit 1
loads() {
	echo "python3|compare|/usr/bin/python3 $dir/load.py"
	echo "sqlite3|compare|/usr/bin/sqlite3 :memory: '.read $dir/load.sql'"
	echo "bash||bash -c 'x=0; for i in 1 2 3; do x=\$((x+i)); done; echo \$x; ls / | sort | wc -l; (exit 3); echo \$?'"
	echo "cc1|compare|$(gcc -print-prog-name=cc1) -quiet -fpreprocessed -O2 $dir/load.i -o /dev/stdout"
}
loads | while IFS='|' read -r name compare command; do
	wanted "$name" || continue
	export compare name flags=
	eval "judge $command" >log 2>&1 && echo "ok - $name with all its libraries" || {
		cat log
		echo "not ok - $name with all its libraries"
	}
done

# Of programs that were built for debuggers, too: what gcc -O0 makes has little room at its exits
if wanted "gcc -O0 programs"; then
	for p in "$root"/test/programs/*.c "$root"/test/probe/switch.c "$root"/test/probe/storm.c; do
		gcc -O0 -w -o debugged "$p" -pthread -lm -ldl 2>/dev/null && "$B/test/tool/plan-stats" ./debugged
	done | awk '/^functions/ { gsub(/[(%]/, ""); n += $2; for (i = 1; i < NF; i++) if ($i == "int3") t += $(i + 1) }
		END { print n " functions, an int3 in " t; exit !(n > 300 && t <= n * .02) }' >stats &&
		echo "ok - gcc -O0 programs are hooked: $(cat stats)" || echo "not ok - gcc -O0 programs are hooked: $(cat stats)"
fi

# How much of Debian's binaries is hooked, and at what price: at least 99.5 % of functions, and at
# most 1 % with an int3
lib=/usr/lib/x86_64-linux-gnu
for file in $lib/libc.so.6 $lib/ld-linux-x86-64.so.2 $lib/libsqlite3.so.0 $lib/libstdc++.so.6 $lib/libm.so.6; do
	wanted "${file##*/}" || continue
	"$B/test/tool/plan-stats" "$file" >stats 2>&1
	awk '/^functions/ { gsub(/[(%]/, ""); for (i = 1; i < NF; i++) { if ($i == "hooked") h = $(i + 2)
		if ($i == "int3") t = $(i + 2) } } END { exit !(h >= 99.5 && t <= 1) }' stats &&
		echo "ok - ${file##*/} is hooked" || { sed 's/^/# /' stats; echo "not ok - ${file##*/} is hooked"; }
done
