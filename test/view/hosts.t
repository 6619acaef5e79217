#!/bin/bash
# SPDX-License-Identifier: MIT
# A fleet in the page: machines as groups, error bars, arrows across; beside what merge.py knows of the machines that it made up.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
python3 "$root/test/cases/merge.py" make "$dir" || exit 1
for host in alpha beta; do "$root/build/test/tool/writetrace" "$dir/$host.db" <"$dir/$host.txt" || exit 1; done
"$root/build/devtrace" merge -o "$dir/fleet.db" "$dir/alpha.db" "$dir/beta.db" >"$dir/said" || exit 1
cd "$npm" && timeout 120 node "$root/test/view/hosts.mjs" "$root/build/devtrace" "$dir"
