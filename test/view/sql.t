#!/bin/bash
# SPDX-License-Identifier: MIT
# Questions in SQL from the page: what is answered, what is not allowed, what becomes of rows.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
for name in made other; do
	"$root/build/test/tool/maketrace" -n 100000 -c 3 -t 6 -s 4 -m 40 "$dir/$name.db" >/dev/null || exit 1
done
cd "$npm" && timeout 300 node "$root/test/view/sql.mjs" "$root/build/devtrace" "$dir/made.db" "$dir/other.db" "$dir"
