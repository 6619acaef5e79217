#!/bin/bash
# SPDX-License-Identifier: MIT
# The own test suites of libraries that have much assembler: each program of theirs alone, and with all functions of
# it and its libraries probed; again with sleds in what is compiled. Output and status have to be the same.
# usage: suites.sh DEVTRACE [NAME[-VARIANT]...]    without names: all of gmp, openssl, nettle, jpeg, zlib, libdeflate, isal;
#                                                  SUITE_EVERY=N: every Nth command of each
# The sources are Debian's (fetch.sh, build.sh), in the cache. A line for each suite, with the seconds that it took, and one
# for each command that differs; last how many there were. Status 1 when one differs, or a suite can not be built.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dt=$(realpath "$1")
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR=$dir
# GMP's tests are random, from a seed that is fixed; how often they try each thing
export GMP_CHECK_REPFACTOR=${GMP_CHECK_REPFACTOR:-0.05}
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
export srcdir=$cache/src/nettle/testsuite # where nettle's look for theirs
bad=0 all=0
[ $# != 0 ] || set -- gmp-plain gmp-sled openssl-plain nettle-plain nettle-sled jpeg-plain jpeg-sled zlib-plain zlib-sled \
	libdeflate-plain libdeflate-sled isal-plain isal-sled

# what a program prints of times and addresses is no result of its
settled() { sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/[0-9]+(\.[0-9]+)? ?(ms|us|ns|s|sec|seconds|MB\/s|Megapixels\/sec)\b/TIME/g'; }

# same LINE: alone, and traced
same() {
	local alone traced records
	eval "set -- $1"
	timeout 120 "$@" >"$dir/out" 2>"$dir/err" </dev/null
	alone=$?
	settled <"$dir/out" >"$dir/alone"
	# too long by itself, or wants what is not there: said, not left out
	if [ $alone = 124 ]; then
		skipped=$((skipped + 1))
		return
	fi
	timeout 600 "$dt" record -f -p overwrite -b 256K -o "$dir/t.db" -F '*' -F 'lib*:*' -- "$@" >"$dir/out" 2>"$dir/err" </dev/null
	traced=$?
	settled <"$dir/out" >"$dir/traced"
	if [ $alone != $traced ] || ! cmp -s "$dir/alone" "$dir/traced"; then
		bad=1 differ=$((differ + 1))
		echo "differs: $suite: $*: status $alone, traced $traced; $(cmp "$dir/alone" "$dir/traced" 2>&1)"
		tail -n 3 "$dir/err" | cut -c1-300
	elif ! records=$("$dt" sql -c -n "$dir/t.db" 'SELECT count(*) FROM records' 2>&1) || [ "${records%$'\r'}" -lt 20 ]; then
		bad=1 differ=$((differ + 1))
		echo "differs: $suite: $*: recorded are $records"
	fi
	[ $alone = 0 ] || failing=$((failing + 1))
	rm -f "$dir"/t.db*
}

for suite; do
	[[ $suite == *-* ]] || suite=$suite-plain
	if ! list=$("$here/build.sh" "${suite%%-*}" "${suite#*-}" 2>"$dir/err"); then
		echo "not built: $suite: $(tail -n 1 "$dir/err")"
		bad=1
		continue
	fi
	cd "${list%/*}" || exit 1
	n=0 differ=0 failing=0 skipped=0 since=$SECONDS k=0
	while read -r line <&3; do
		k=$((k + 1))
		[ $((k % ${SUITE_EVERY:-1})) = 0 ] || continue
		n=$((n + 1))
		same "$line"
	done 3<"$list"
	all=$((all + n))
	echo "$suite: $n commands, $differ differ, $failing fail by themselves, $skipped take longer than two minutes by themselves; $((SECONDS - since)) s"
	[ $((failing + skipped)) -lt $(((n + 3) / 4)) ] || { echo "not tried: too many of $suite fail by themselves"; bad=1; }
done
echo "$all commands of suites, $([ $bad = 0 ] && echo none differs || echo some differ)"
exit $bad
