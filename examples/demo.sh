#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The main job from start to picture, on a real program: Lua, built from Debian's source with sleds.
# usage: examples/demo.sh      (make demo builds devtrace first)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${DEVTRACE_BUILD:-build}
devtrace=$build/devtrace

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n== %s\n' "$*"; }
# run COMMAND...: says what it runs, without the folders
run() {
	local a line='$'
	for a; do
		case $a in */lua | */devtrace | */demo.*) a=${a##*/} ;; esac
		line+=" $a"
	done
	echo "$line"
	"$@"
}

step "1. Build Lua from Debian's source, with sleds (gcc -B build/lib; the first time takes a minute)"
lua=$(test/real/build.sh lua sled)
echo "$lua"
echo "$("$devtrace" list "$lua" | wc -l) functions can be traced"

step "2. Run a script, every function of the interpreter traced"
run "$devtrace" record -v -o "$build/demo.db" "$lua" examples/words.lua

step "3. The tree of calls: its beginning, three levels deep"
run "$devtrace" calls -D 3 "$build/demo.db" | head -n 24

step "4. Where the time went: the ten functions with most time of their own"
run "$devtrace" report -s self -n 10 "$build/demo.db"

step "5. How often, and how long: one function, chosen by a pattern"
run "$devtrace" report -F 'luaV_execute' "$build/demo.db"

step "6. The picture: a row for each call, time from left to right"
run "$devtrace" plot -o "$build/demo.svg" "$build/demo.db"
run "$devtrace" plot -o "$build/demo.png" "$build/demo.db"

step "Done. The trace is $build/demo.db, the picture $build/demo.svg and $build/demo.png."
echo "Your own program: see README.md, 'Your own program'."
