#!/bin/bash
# SPDX-License-Identifier: MIT
# Random programs that tell the truth about their calls (generate.py), built with sleds by gcc and
# clang at random levels: output and status must be the same alone, traced, and while another
# process switches the sleds on and off; the trace must be the truth, call by call.
# SECONDS_MAX: for how long (20). SEEDS: a first seed other than 1, or "fresh". B: build directory.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build} limit=${SECONDS_MAX:-20} first=${SEEDS:-1}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ "$first" = fresh ] && first=$((RANDOM * 32768 + RANDOM))
for tool in devtrace lib/as test/tool/compare-truth test/tool/toggler; do
	[ -x "$B/$tool" ] || { echo "not ok - $B/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-random.XXXXXX) && trap 'sweep "$dir"' EXIT
. "$root/test/sound.bash"
export dir deadline=$((EPOCHSECONDS + limit))

try() {
	local seed=$1 here=$dir/$1 status
	local language=$((seed % 2)) compiler=$((seed / 2 % 2)) level=$((seed / 4 % 5))
	level=$(set -- -O0 -O1 -O2 -O3 -Os; shift $level; echo "$1")
	local command file
	if [ $language = 0 ]; then
		language=c file=p.c command=$([ $compiler = 0 ] && echo gcc || echo clang)
	else
		language=c++ file=p.cc command=$([ $compiler = 0 ] && echo g++ || echo clang++)
	fi
	command+=" $level -w -g -B$B/lib -I$root/test/programs"
	[ $compiler = 1 ] && command+=" -fno-integrated-as"
	[ $((seed / 20 % 3)) = 1 ] && command+=" -fcf-protection=full"
	[ $((seed / 20 % 3)) = 2 ] && command+=" -static"
	[ "$EPOCHSECONDS" -lt "$deadline" ] || return 0
	mkdir -p "$here" && cd "$here" || return
	"$root/test/known/generate.py" "$seed" "$language" >$file
	if ! timeout 60 $command -o prog $file -pthread >log 2>&1; then
		echo "not ok - random seed $seed $language $level: it does not compile"
		head -n 5 log | sed 's/^/# /'
		cd "$dir" && return
	fi
	timeout 60 ./prog >alone 2>&1
	status=$?
	compare traced "$B/test/tool/limit" 120 env DT_TRUTH="$PWD/truth" "$B/devtrace" record -o trace.db ./prog
	compare toggled "$B/test/tool/limit" 120 "$B/test/tool/toggler" ./prog "$B/devtrace" record -o toggled.trace ./prog
	if "$B/test/tool/limit" 120 "$B/test/tool/compare-truth" trace.db truth >log 2>&1; then
		echo "ok - random seed $seed ${command%% -w*} the trace is true"
	else
		echo "not ok - random seed $seed ${command%% -w*} the trace is true"
		echo "# test/known/generate.py $seed $language >$file; $command -o prog $file -pthread"
		cat log
	fi
	cd "$dir" && sweep "$here"
}

# compare HOW COMMAND...: the same output and status as alone
compare() {
	local how=$1 is
	shift
	"$@" >out 2>err
	is=$?
	if [ "$is" = "$status" ] && cmp -s alone out; then
		echo "ok - random seed $seed ${command%% -w*} $how"
	else
		echo "not ok - random seed $seed ${command%% -w*} $how: status $status became $is, $(head -c 60 alone) became $(head -c 60 out)"
		echo "# test/known/generate.py $seed $language >$file; $command -o prog $file -pthread"
		tail -n 120 err | sed 's/^/# /'
	fi
}
export -f try compare

seq "$first" $((first + 100000)) | xargs -n 1 -P "$(nproc)" bash -c '
	try "$1" >"$dir/log.$$" 2>&1; cat "$dir/log.$$"; rm -f "$dir/log.$$"
	[ "$EPOCHSECONDS" -lt "$deadline" ] || exit 255' case 2>/dev/null | tee "$dir/all"
done=$(grep -c 'is true$' "$dir/all")
[ "$done" -ge $((limit / 10)) ] && echo "ok - random: $done programs" ||
	echo "not ok - random: only $done programs in $limit s"
