#!/bin/bash
# SPDX-License-Identifier: MIT
# How many functions can not be hooked, of the programs of the other cases here (test/programs,
# generate.py, csmith) and of shapes that have little room, as gcc and clang make them at each level:
# at most 3 in a thousand, or one. Says which, where there are more. Nothing is run but `devtrace list -v`.
# SEEDS: random programs of each kind (3). B: the build directory (build).
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ -x "$B/devtrace" ] || { echo "not ok - $B/devtrace is missing: make"; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/devtrace-cover.XXXXXX") && trap 'rm -rf "$dir"' EXIT
export dir
. test/share.bash

# Small functions side by side, as in no program, but as in every program somewhere.
shapes() {
	cat <<-'END'
		#define N __attribute__((noinline, noipa))
		#include <stdio.h>
N int f(int x) { return x + 1; }
N int g(int x) { return x * 5; }
N int h(int x) { return g(x) + f(x); }
N void empty(int *p) { ++*p; }
N int calls(int *p) { empty(p); return 0; }
N void one(void) { puts(""); }
N void two(void) { one(); }
N void three(void) { two(); }
N int early(int *p, int n) { if (!p) return 0; while (n--) *p += n; return *p; }
		int main(int n, char **v) { int s = h(n); calls(&s); three(); return early(&s, n) == 7; }
	END
}

# Prints "left of FILE NAME REASON", and how many there are.
build() {
	local file=$1 compiler=$2 level=$3 cc=$2 more="" name
	[ "$compiler ${file##*/}" = "clang nested.c" ] && return # functions in functions
	name=${file##*/} name=${name//./_}$level-$compiler
	case $file in *.cc) [ "$cc" = gcc ] && cc=g++ || cc=clang++ ;; esac
	case ${file##*/} in
	plugin.c) more="-fPIC -shared" ;;
	linked.c) more="-rdynamic -Wl,--unresolved-symbols=ignore-all" ;;
	esac
	$cc "$level" -w -I"$root/test/programs" -I/usr/include/csmith -o "$dir/$name" "$file" $more -pthread -lm 2>"$dir/$name.err" ||
		{ echo "broken ${file##*/} $compiler $level: $(head -n 1 "$dir/$name.err")"; return; }
	"$B/devtrace" list -v "$dir/$name" 2>/dev/null | awk -F'\t' -v of="${file##*/} $compiler $level" '
		/^event |^usdt / || $3 ~ /start-up code/ { next }
		{ n++ }
		$3 ~ /^not: / { print "left " of " " $1 ": " $3 }
		END { print "all " of " " n + 0 }'
	rm -f "$dir/$name" "$dir/$name.err"
}
export -f build

for ((seed = 1; seed <= ${SEEDS:-3}; seed++)); do
	test/known/generate.py "$seed" c >"$dir/c$seed.c" && test/known/generate.py "$seed" c++ >"$dir/cxx$seed.cc" &&
		(cd "$dir" && csmith --seed "$seed" --max-funcs 12 -o "$dir/csmith$seed.c") || { echo "not ok - no random programs"; exit 1; }
done
shapes >"$dir/shapes.c"

for compiler in gcc clang; do
	for level in -O0 -O1 -O2 -O3 -Os; do echo "$compiler $level"; done
done | share 5 2 >"$dir/ways"

# known.t's, and the others; enums.c has empty functions of one byte side by side, forbid.c one that is little
# more than a syscall, which is not moved along
sources=$(printf '%s\n' "$dir"/*.c "$dir"/*.cc test/programs/*.c test/programs/*.cc | grep -v '/enums.c\|/forbid.c')
for source in $sources; do
	while read -r how; do echo "$source $how"; done <"$dir/ways"
done | xargs -L 1 -P "$(nproc)" bash -c 'out=$(build "$1" "$2" "$3"); echo "$out"' build >"$dir/log"

if grep ^broken "$dir/log" | sed 's/^/# /' | grep .; then
	echo "not ok - cover: a program does not compile"
fi
while read -r compiler level; do
	all=$(awk -v k="$compiler $level" '/^all / && index($0, k " ") { n += $NF } END { print n + 0 }' "$dir/log")
	left=$(grep -c "^left [^ ]* $compiler $level " "$dir/log")
	if [ "$all" -gt 200 ] && { [ "$left" -le 1 ] || [ $((left * 1000)) -le $((all * 3)) ]; }; then
		echo "ok - cover: $compiler $level: $left of $all functions are left out"
	else
		grep "^left [^ ]* $compiler $level " "$dir/log" | head -n 20 | sed 's/^/# /'
		echo "not ok - cover: $compiler $level: $left of $all functions are left out"
	fi
done <"$dir/ways"
