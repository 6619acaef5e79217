#!/bin/bash
# SPDX-License-Identifier: MIT
# What axe-core, which looks for what keeps people out, finds in the page: nothing.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
npm_has axe-core@4.14.1 || exit 1
"$root/build/test/tool/maketrace" -n 3000 -c 2 -t 3 -s 7 -m 40 "$dir/made.db" >/dev/null || exit 1
cd "$npm" && timeout 300 node "$root/test/view/axe.mjs" "$root/build/devtrace" "$dir/made.db"
