#!/bin/bash
# SPDX-License-Identifier: MIT
# Events: programs that include <devtrace.h>, built by gcc and clang as C and C++ at several levels and
# linked in several ways, run alone and traced. What they print must be the same, and the records
# exactly those they tell of themselves, in the order of each thread.
# usage: events.t [WORD...]   only the cases whose name contains every WORD
# B: the build directory (build); KEEP=1: leave the directory of a failed case behind.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build} KEEP=${KEEP:-}
case $B in /*) ;; *) B=$PWD/$B ;; esac
for tool in devtrace lib/as test/tool/toggler test/tool/switch; do
	[ -x "$B/$tool" ] || { echo "not ok - $B/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-events.XXXXXX) && trap '[ -n "$KEEP" ] || sweep "$dir"' EXIT
. "$root/test/sound.bash"
. "$root/test/share.bash"
export dir

# builds $1 into $2 with the compiler $3; $4...: flags
build() {
	local source=$1 to=$2 compiler=$3
	shift 3
	case $compiler in
	*++) set -- -x c++ -std=gnu++17 "$@" ;;
	*) set -- -std=gnu11 "$@" ;;
	esac
	$compiler -Wall -Wextra -Werror -Wno-unused-parameter -Wno-format -Wno-unused-function -Wno-unknown-warning-option -Wno-unused-command-line-argument -g -I"$root/include" \
		-I"$root/test/events" "$@" -o "$to" "$root/test/events/$source" -pthread -ldl
}
export -f build

# the records of events in a trace, as "program tell" prints them
records() {
	"$B/devtrace" cat "$1" | grep -v '^[EX]' | awk '
		{
			tid = $4
			# texts in a handler go on in records without a subsystem: those behind one of it
			if ($1 == "V") async[tid, $2] = 0
			a = $1 == "V" && substr($5, 1, 4) == "00c8"
			print tid (a ? "a" : ""), $1, $5, $6, $7, $8
		}'
}
export -f records

# per thread, and apart what comes at any time
in_order() {
	sort -s -k1,1
}
export -f in_order

# texts are compared by their own records: drop the continuation from both where handlers interrupt
no_more() {
	if [ -n "$interrupted" ]; then grep -v ' c '; else cat; fi
}
export -f no_more

compare() {
	./prog tell truth | no_more | in_order >told
	records trace.db | no_more | in_order >recorded
	[ -s told ] || { echo "# the program told nothing"; return 1; }
	cmp -s told recorded && return 0
	echo "# told (<) and recorded (>) differ:"
	diff told recorded | head -n 6 | sed 's/^/# /'
	return 1
}
export -f compare

# the events of a function that the linker has dropped are gone, with their code; of none that is kept
collected() {
	"$B/devtrace" list -v prog >list 2>list.err
	if grep -v 'functions* without sleds can be traced' list.err >list.bad; then
		sed 's/^/# /' list.bad
		return 1
	fi
	build program.c whole "$compiler" -O2 || return
	"$B/devtrace" list -v whole >list.whole
	if grep -q '4243:' list || ! grep -q '4243:' list.whole; then
		echo "# events of a function that was not linked are listed"
		return 1
	fi
	if readelf -p devtrace_events prog | grep -q 4243; then
		echo "# a table entry of a function that was not linked is there"
		return 1
	fi
}
export -f collected

# $*: the program's arguments
judge() {
	local alone traced
	./prog "$@" >alone.out 2>alone.err
	alone=$?
	if [ -n "$toggle" ]; then
		# while some thread toggles every site at random: nothing may be different but the records
		"$B/test/tool/limit" 120 "$B/test/tool/toggler" ./prog "$B/devtrace" record -o toggled.trace ./prog "$@" >traced.out 2>traced.err
		traced=$?
		# nothing has been tried unless it toggled
		[ "$(sed -n 's/toggler: //p' traced.err)" -gt 100 ] || { echo "# no toggles"; return 1; }
	else
		DT_TRUTH=$PWD/truth "$B/test/tool/limit" 120 "$B/devtrace" record -p wait -o trace.db ./prog "$@" >traced.out 2>traced.err
		traced=$?
	fi
	if [ "$alone" != "$traced" ]; then
		echo "# exit status $alone alone, $traced traced"
		tail -n 3 traced.err | sed 's/^/# /'
		return 1
	fi
	if ! cmp -s alone.out traced.out; then
		echo "# the output differs:"
		diff alone.out traced.out | head -n 6 | sed 's/^/# /'
		return 1
	fi
	[ -n "$toggle" ] || compare
}
export -f judge

# One case: NAME|COMPILER|FLAGS|ARGUMENTS|before
run_case() {
	local name compiler flags arguments before ok here interrupted="" toggle=""
	IFS='|' read -r name compiler flags arguments before <<<"$1"
	here=$dir/${name// /-}
	export interrupted toggle
	case " $arguments " in *" signals "*) interrupted=1 ;; esac
	case $name in *toggled*) toggle=1 ;; esac
	mkdir -p "$here" && cd "$here" || return
	{
		build program.c prog "$compiler" $flags &&
			{ [[ $arguments != *plugin* ]] || build plugin.c plugin.so "$compiler" $flags -fPIC -shared; } &&
			eval "${before:-:}" && judge $arguments
	} >log 2>&1
	ok=$?
	if [ "$ok" = 0 ]; then
		echo "ok - events $name"
	else
		echo "not ok - events $name"
		grep -v 'Assembler messages' log | sed 's/^[^#]/# &/' | head -n 20
	fi
	cd "$dir" && { [ "$ok" != 0 ] && [ -n "$KEEP" ] || sweep "$here"; }
}
export -f run_case

cases() {
	local compiler level all="texts signals threads forks" sleds
	for compiler in gcc clang g++ clang++; do
		case $compiler in clang*) sleds="-fno-integrated-as -B$B/lib" ;; *) sleds="-B$B/lib" ;; esac
		for level in -O0 -O1 -O2 -O3 -Os; do
			echo "$compiler $level|$compiler|$level|texts threads forks ./plugin.so|"
		done
		echo "$compiler signals|$compiler|-O2|signals|"
		echo "$compiler no rseq|$compiler|-O2|$all ./plugin.so|export GLIBC_TUNABLES=glibc.pthread.rseq=0 DEVTRACE_NO_RSEQ=1"
		echo "$compiler static|$compiler|-O2 -static|texts threads forks|"
		echo "$compiler static-pie|$compiler|-O2 -static-pie -fPIE|texts threads forks|"
		echo "$compiler fixed|$compiler|-O2 -no-pie -fno-pie|texts threads|"
		echo "$compiler frame|$compiler|-O2 -fno-omit-frame-pointer -fstack-protector-all|texts threads forks|"
		echo "$compiler cet|$compiler|-O2 -fcf-protection=full|texts threads|"
		echo "$compiler sections|$compiler|-O2 -ffunction-sections -Wl,--gc-sections|texts threads ./plugin.so|collected"
		echo "$compiler lld|$compiler|-O2 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections|texts threads ./plugin.so|collected"
		echo "$compiler sleds|$compiler|-O2 $sleds|texts threads forks ./plugin.so|"
		echo "$compiler sleds signals|$compiler|-O2 $sleds|signals|"
		echo "$compiler stripped|$compiler|-O2|texts threads|strip prog"
		echo "$compiler toggled|$compiler|-O2|texts signals threads forks long long|"
		echo "$compiler toggled sleds|$compiler|-O2 $sleds|texts signals threads long long|"
	done
	for compiler in gcc g++; do
		echo "$compiler lto|$compiler|-O2 -flto|texts threads forks ./plugin.so|"
		echo "$compiler gold|$compiler|-O2 -fuse-ld=gold|texts threads|"
		echo "$compiler medium|$compiler|-O2 -mcmodel=medium|texts threads|"
		echo "$compiler sanitizers|$compiler|-O1 -fsanitize=address,undefined -fno-sanitize=float-cast-overflow|threads|export ASAN_OPTIONS=detect_leaks=0"
	done
	for compiler in clang clang++; do
		echo "$compiler lto|$compiler|-O2 -flto -fuse-ld=lld|texts threads forks ./plugin.so|"
		echo "$compiler no integrated as|$compiler|-O2 -fno-integrated-as|texts threads ./plugin.so|"
	done
}

selected() {
	local line word
	while IFS= read -r line; do
		for word; do
			case ${line%%|*} in *"$word"*) ;; *) continue 2 ;; esac
		done
		printf '%s\0' "$line"
	done
}

cases | share | selected "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_case "$1" >"$dir/out.$$"; cat "$dir/out.$$"; rm -f "$dir/out.$$"' case
