#!/bin/bash
# SPDX-License-Identifier: MIT
# Tracks: processes as groups and packed, what is pinned, moved, hidden; beside what is computed from the calls one by one.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 150000 -c 3 -t 26 -P 6 -s 4 "$dir/some.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 700000 -c 4 -t 4006 -P 6 -s 5 "$dir/many.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 700000 -c 4 -t 2001 -P 2000 -s 6 "$dir/threads.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/tracks.mjs" "$root/build/devtrace" "$dir"
