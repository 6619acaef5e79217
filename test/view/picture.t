#!/bin/bash
# SPDX-License-Identifier: MIT
# Histograms as pictures, in Debian's Chromium.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 40000 -c 2 -t 3 "$dir/made.db" >/dev/null || exit 1
draw() { "$root/build/devtrace" hist -o "$dir/$1.svg" "${@:2}" "$dir/made.db" || exit 1; }
draw durations --durations
draw rare --durations --log
draw exact --durations -b exact --max 100000
draw few --max 20
draw large --value 1 -b log2
draw pages --value 3 -b linear:4096 --max 16000000
cd "$npm" && timeout 500 node "$root/test/view/picture.mjs" "$dir"/*.svg
