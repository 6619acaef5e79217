#!/bin/bash
# SPDX-License-Identifier: MIT
# What the fuzzers have found of inputs, through plain commands, each with 10 s of processor time and 1 GB of address
# space: that is the most that an input of 1 MB may cost. Prints the worst of each command, and fails if one was ended.
# usage: limits.sh [CORPUS...]    folders with a folder for each fuzzer (build/fuzz/corpus, build/fuzz/seeds)
#	MOST=N: of each fuzzer's inputs at most so many, evenly chosen (all)
# Of chunk, rings, language, page, serve, jit and apart there is no command that reads such a file.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD dt=$PWD/${DEVTRACE_BUILD:-build}/devtrace
[ $# -gt 0 ] || set -- build/fuzz/corpus build/fuzz/seeds test/fuzz/corpus
from=()
for f in "$@"; do [ ! -d "$f" ] || from+=("$(realpath "$f")"); done
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work XDG_CACHE_HOME=$work/cache TMPDIR=$work
cd "$work" || exit 1
failed=0

# inputs NAME: paths, MOST of them
inputs() {
	local f
	for f in "${from[@]}"; do find "$f/$1" -maxdepth 1 -type f -size -1025k 2>/dev/null; done | sort |
		awk -v most="${MOST:-0}" '{ line[NR] = $0 }
			END { for (i = 1; i <= NR; i++) if (!most || NR <= most || int(i * most / NR) != int((i - 1) * most / NR)) print line[i] }'
}

# cost INPUT COMMAND...: runs it, adds a line "ticks KB status INPUT" to costs
cost() {
	local input=$1 status
	shift
	(ulimit -t 10 -v 1048576 && exec /usr/bin/time -o spent -f '%U %S %M' "$@") >out 2>&1 </dev/null
	status=$?
	read -r user system peak < <(tail -n 1 spent)
	# beyond a limit: ended by a signal, or it says that there is no memory
	if [ $status -gt 128 ] || grep -qi 'terminated by signal' spent; then
		echo "not ok - $input: ${*#"$dt"}: status $status, $(head -n 1 spent)"
		failed=1
	elif grep -qi 'out of memory\|cannot allocate\|ended, or did not answer' out; then
		echo "# $input: ${*#"$dt"}: $(grep -i -m 1 'out of memory\|cannot allocate\|did not answer' out | cut -c1-160)"
	fi
	echo "$user $system ${peak:-0} $input" >>costs
}

# worst NAME: of what is in costs
worst() {
	[ -s costs ] || { echo "# $1: there are no inputs"; return; }
	awk -v name="$1" '{ t = $1 + $2; if (t > most) { most = t; who = $4 } if ($3 > peak) { peak = $3; big = $4 } }
		END { n = split(who, a, "/"); m = split(big, b, "/")
			printf "%s: %d inputs, at most %.2f s (%s), %d MB (%s)\n", name, NR, most, a[n], peak / 1024, b[m] }' costs
	rm costs
}

# each NAME SKIP COMMAND...: for each input, without its first SKIP bytes, as the file `input'
each() {
	local name=$1 skip=$2 f
	shift 2
	while read -r f; do
		tail -c +$((skip + 1)) "$f" >input
		chmod 755 input
		rm -rf made*
		cost "$f" "$dt" "$@"
	done < <(inputs "$name")
	worst "$name: devtrace $*"
}

for c in check report calls "graph -D 3" cat "view -i" "sql input SELECT(count(*))FROM(calls)" "report --waits" "export --chrome -o made"; do
	case $c in sql*) ;; *) c="$c input" ;; esac
	# shellcheck disable=SC2086
	each file 0 $c
done
each elf 0 list -v ./input
each dwarf 0 list -v ./input
each dump 1 import --barrelfish -o made.db input
each dump 1 plot -t 1 --text input
each import 1 import -o made.db input
each events 0 events --json made input
each text 1 hist --value 1 input
exit $failed
