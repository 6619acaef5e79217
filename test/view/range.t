#!/bin/bash
# SPDX-License-Identifier: MIT
# What ran in a range, clipped to it: what the page says, beside what is computed from the calls one by one.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 100000 -c 3 -t 6 -s 4 -m 40 "$dir/made.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/range.mjs" "$root/build/devtrace" "$dir/made.db" "$dir"
