#!/bin/bash
# SPDX-License-Identifier: MIT
# Exported traces, opened by the tools that they are for.
set -u
root=${DEVTRACE_ROOT:-$PWD}
. "$root/test/view/npm.sh"
dir=$(mktemp -d) && trap 'sweep "$dir"' EXIT
. "$root/test/sound.bash"
npm_has playwright-core@1.56.1 speedscope@1.25.0 || exit 1
"$root/build/test/tool/maketrace" -n 40000 -c 2 -t 3 "$dir/made.db" >/dev/null || exit 1
for format in chrome:json speedscope:speedscope.json folded:txt callgrind:callgrind.out; do
	"$root/build/devtrace" export --"${format%%:*}" -o "$dir/${format%%:*}.${format#*:}" "$dir/made.db" || exit 1
done
cd "$npm" && timeout 500 node "$root/test/view/readers.mjs" "$npm/node_modules/speedscope/dist/release" \
	"$dir"/chrome.json "$dir"/speedscope.speedscope.json "$dir"/folded.txt "$dir"/callgrind.callgrind.out
