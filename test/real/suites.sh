#!/bin/bash
# SPDX-License-Identifier: MIT
# The own test suites of libraries that have much assembler: each command of theirs alone, and with all functions of
# its program and its libraries probed; again with sleds in what is compiled. Output, messages and status have to be the
# same, the program's own functions recorded, and the trace sound (devtrace check).
# usage: suites.sh DEVTRACE [NAME[-VARIANT]...]    without names: all of openssl, nettle, isal, libdeflate, zlib, gmp, jpeg,
#                                                  as they are (plain), then with sleds (sled)
#   SUITE_EVERY=N          every Nth command of each
#   SUITE_ALONE=SECONDS    a command that takes more processor time alone is named, and not tried (30)
#   SUITE_STATE=FILE       what has been tried is written there, and not tried again when a run that was broken off is started
#                          anew with the same devtrace and suites; the file is removed when all has been tried
# The sources are Debian's (fetch.sh, build.sh), in the cache. Standard output has a line for each command that differs or can
# not be compared, and one for each suite; last how many there were. Every half minute a line on standard error says how far it
# is. Status 1 when one differs, or a suite can not be built, or too little of one could be compared.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dt=$(realpath "$1")
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
export XDG_RUNTIME_DIR=$dir
# GMP's tests are random, from a seed that is fixed; how often they try each thing
export GMP_CHECK_REPFACTOR=${GMP_CHECK_REPFACTOR:-0.05}
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
export srcdir=$cache/src/nettle/testsuite # where nettle's look for theirs
patience=${SUITE_ALONE:-30}
bad=0 all=0
names="openssl nettle isal libdeflate zlib gmp jpeg"
# shellcheck disable=SC2086
[ $# != 0 ] || set -- $(printf '%s-plain ' $names) $(printf '%s-sled ' $names)

# what has been tried before: a line a command, its key, seconds and verdict
declare -A before=()
state=${SUITE_STATE-} this=$(sha256sum <"$dt")
if [ -n "$state" ]; then
	touch "$state" || exit 2
	while read -r key seconds verdict; do before[$key]="$seconds $verdict"; done <"$state"
fi

own="module NOT LIKE 'lib%.so%' AND module NOT LIKE 'ld-%'"

# what a program prints of times and addresses is no result of its
settled() { sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/[0-9]+(\.[0-9]+)? ?(ms|us|ns|s|sec|seconds|MB\/s|Megapixels\/sec)\b/TIME/g'; }

# run NAME COMMAND...: what it prints on both, and its status in the last line of NAME
run() {
	local name=$1 status
	shift
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	# devtrace's own lines are on standard error, too
	{
		settled <"$dir/out"
		echo "-- messages"
		sed 's/devtrace[a-z ]*: .*//' "$dir/err" | grep -v '^$' | settled
		echo "-- status $status"
	} >"$dir/$name"
	return $status
}

# by_itself COMMAND...: within its time, of the processor and, ten times as much, of the clock
# shellcheck disable=SC2317 # run calls it
by_itself() (
	ulimit -S -t "$patience"
	exec timeout -k 10 $((10 * patience)) "$@"
)

# same COMMAND...: alone and traced; in $verdict: same, fails (the same, but not 0), varies, slow or differs
same() {
	local alone traced since=$EPOCHSECONDS limit what
	run alone by_itself "$@"
	alone=$?
	case $alone in 124 | 137 | 152) verdict=slow && return ;; esac
	limit=$((300 + 60 * (EPOCHSECONDS - since)))
	rm -f "$dir"/t.db*
	run traced timeout -k 10 $limit "$dt" record -f -p overwrite -b 256K -o "$dir/t.db" -F '*' -F 'lib*:*' -- "$@"
	traced=$?
	tail -n 3 "$dir/err" | cut -c1-300 >"$dir/last"
	verdict=same
	[ $alone = 0 ] || verdict=fails
	if ! cmp -s "$dir/alone" "$dir/traced"; then
		what="status $alone, traced $traced"
		[[ $traced != 124 && $traced != 137 ]] || what="does not end in $limit s"
		# the same program may not print the same twice: then its status has to do
		if [ $alone = $traced ] && {
			run again by_itself "$@"
			! cmp -s "$dir/alone" "$dir/again"
		}; then
			verdict=varies
		else
			differs "$what" "$@"
			diff -a "$dir/alone" "$dir/traced" | head -n 6 | cut -c1-200 | cat -v
			return
		fi
	fi
	# some of its own functions (or of the shell's that starts it), not only libc's; the rings keep only the last
	what=$("$dt" sql -c -n "$dir/t.db" "SELECT count(*) >= 20 AND sum($own) > 0, count(*), sum($own) FROM records" 2>&1)
	[[ $what == 1,* ]] || { differs "recorded, and of its own: ${what%$'\r'}" "$@" && return; }
	"$dt" check -q "$dir/t.db" >"$dir/last" 2>&1 || differs "check finds fault" "$@"
}

# differs WHAT COMMAND...
differs() {
	verdict=differs
	echo "differs: $suite: ${*:2}: $1"
	cut -c1-300 "$dir/last"
}

# tried LINE: the command of that line, unless it has been tried before
tried() {
	local key since=$EPOCHSECONDS
	key=$(sha256sum <<<"$this $list $1" | cut -c1-32)
	if [ -n "${before[$key]-}" ]; then
		read -r seconds verdict <<<"${before[$key]}"
		earlier=$((earlier + 1))
	else
		eval "set -- $1"
		same "$@"
		seconds=$((EPOCHSECONDS - since))
		[ -z "$state" ] || [ "$verdict" = differs ] || echo "$key $seconds $verdict" >>"$state"
	fi
	took=$((took + seconds)) count[$verdict]=$((${count[$verdict]} + 1))
	case $verdict in
	fails) echo "fails by itself: $suite: $*" ;;
	varies) echo "prints something else each time, only its status was compared: $suite: $*" ;;
	slow) echo "takes more than $patience s of the processor by itself, not tried: $suite: $*" ;;
	esac
}

declare -A count
for suite; do
	[[ $suite == *-* ]] || suite=$suite-plain
	echo "$suite: building" >&2
	if ! list=$("$here/build.sh" "${suite%%-*}" "${suite#*-}" 2>"$dir/err"); then
		echo "not built: $suite: $(tail -n 1 "$dir/err")"
		bad=1
		continue
	fi
	cd "${list%/*}" || exit 1
	count=([same]=0 [fails]=0 [varies]=0 [slow]=0 [differs]=0)
	n=0 k=0 earlier=0 took=0 said=$EPOCHSECONDS lines=$(wc -l <"$list")
	while read -r line <&3; do
		k=$((k + 1))
		[ $((k % ${SUITE_EVERY:-1})) = 0 ] || continue
		n=$((n + 1))
		tried "$line"
		[ $((EPOCHSECONDS - said)) -lt 30 ] || { said=$EPOCHSECONDS && echo "$suite: $k of $lines, ${count[differs]} differ, $took s" >&2; }
	done 3<"$list"
	all=$((all + n))
	echo "$suite: $n commands, ${count[differs]} differ, ${count[fails]} fail by themselves, ${count[varies]} vary, ${count[slow]} too slow; $took s$([ $earlier = 0 ] || echo ", $earlier of them tried before")"
	[ "${count[differs]}" = 0 ] || bad=1
	[ $((count[fails] + count[slow])) -lt $(((n + 3) / 4)) ] || {
		echo "not enough of $suite could be compared"
		bad=1
	}
done
[ -z "$state" ] || rm -f "$state"
echo "$all commands of suites, $([ $bad = 0 ] && echo none differs || echo some differ)"
exit $bad
