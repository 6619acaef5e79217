#!/bin/bash
# SPDX-License-Identifier: MIT
# The parts of the page one by one, in a real browser, with made-up input: what they say, find and draw is known.
set -u
root=${DEVTRACE_ROOT:-$PWD}
. "$root/test/view/npm.sh"
dir=$(mktemp -d) && trap 'sweep "$dir"' EXIT
. "$root/test/sound.bash"
npm_has playwright-core@1.56.1 || exit 1
"$root/build/test/tool/maketrace" -n 1500 -c 2 -t 3 -s 7 -m 40 "$dir/small.db" >/dev/null || exit 1
cd "$npm" && timeout 120 node "$root/test/view/parts.mjs" "$root/build/devtrace" "$dir/small.db" "$root"
