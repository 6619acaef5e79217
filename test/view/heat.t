#!/bin/bash
# SPDX-License-Identifier: MIT
# Durations over time: what the page draws and picks, beside what is computed from the calls one by one.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 200000 -c 3 -t 6 -s 4 -m 40 "$dir/made.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 1300000 -c 3 -t 6 -s 9 -m 400 "$dir/long.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/heat.mjs" "$root/build/devtrace" "$dir/made.db" "$dir" "$dir/long.db"
