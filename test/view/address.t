#!/bin/bash
# SPDX-License-Identifier: MIT
# The address: the browser goes back and forth through what was looked at, and a view is the same in another run.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 60000 -c 3 -t 6 -s 4 -m 40 "$dir/made.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/address.mjs" "$root/build/devtrace" "$dir/made.db" "$dir"
