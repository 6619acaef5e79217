# SPDX-License-Identifier: MIT
# Structures by value, made by chance (structures.py): in which registers they are, and the numbers between them, is the
# compiler's word. The seed is printed where something differs.
load devtrace

setup() {
	dir=$(mktemp -d)
}

teardown() {
	rm -rf "$dir"
}

# shown SEED COMPILER...: a program of that seed, made by that compiler
shown() {
	local seed=$1 more=()
	shift
	[[ $1 != *++ ]] || more=(--cxx)
	echo "seed $seed: $*"
	"$root/test/cases/structures.py" make "$seed" "${more[@]}" >"$dir/s.c"
	"$@" -w -Wno-psabi -g -o "$dir/s" "$dir/s.c"
	"$dt" -A 'f*' "$dir/s" >"$dir/calls" 2>"$dir/messages"
	"$root/test/cases/structures.py" check "$seed" "${more[@]}" <"$dir/calls"
}

@test "structures by value, and what comes behind them: no value is another one; gcc" {
	shown 1 gcc -O0
	shown $RANDOM gcc -O1
	shown $RANDOM gcc -O2 -mavx
}

@test "structures by value, and what comes behind them: no value is another one; clang" {
	shown 1 clang -O0
	shown $RANDOM clang -O1
	shown $RANDOM clang -O2 -mavx
}

@test "structures by value, and what comes behind them: no value is another one; C++" {
	shown $RANDOM g++ -O1 -x c++
	shown $RANDOM clang++ -O0 -x c++
}
