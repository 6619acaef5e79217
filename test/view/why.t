#!/bin/bash
# SPDX-License-Identifier: MIT
# Why a call took long: what the page says, beside what SQL computes of the same trace.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 300000 -c 3 -t 6 -s 4 -m 40 "$dir/made.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/why.mjs" "$root/build/devtrace" "$dir/made.db" "$dir"
