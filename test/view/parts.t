#!/bin/bash
# SPDX-License-Identifier: MIT
# The parts of the page one by one, in a real browser, with made-up input: what they say, find and draw is known.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 1500 -c 2 -t 3 -s 7 -m 40 "$dir/small.db" >/dev/null || exit 1
cd "$npm" && timeout 120 node "$root/test/view/parts.mjs" "$root/build/devtrace" "$dir/small.db" "$root"
