#!/bin/bash
# SPDX-License-Identifier: MIT
# The panel of a call: what it waited for, its exact rank, the text of its source; beside what the program did.
set -u
root=${DEVTRACE_ROOT:-$PWD}
. "$root/test/view/npm.sh"
dir=${KEEP:-$(mktemp -d)} && trap '[ -n "${KEEP-}" ] || sweep "$dir"' EXIT
. "$root/test/sound.bash"
npm_has playwright-core@1.56.1 || exit 1
mkdir -p "$dir/src/deep" "$dir/outside" && cp "$root/test/programs/waiter.c" "$dir/src/deep" &&
	gcc -g -O1 -o "$dir/waiter" "$dir/src/deep/waiter.c" -pthread &&
	timeout 60 "$root/build/devtrace" record -S -F '*' -F 'libc*:read' -F 'libc*:pthread_mutex_lock' -o "$dir/waits.db" "$dir/waiter" >"$dir/out" || exit 1
echo 'int secret;' >"$dir/outside/secret.c" && echo 'not code' >"$dir/src/notes.txt" && ln -s "$dir/outside/secret.c" "$dir/src/link.c" &&
	ln -s "$dir/outside" "$dir/src/away" && mkfifo "$dir/src/fifo.c" || exit 1
cd "$npm" && timeout 300 node "$root/test/view/waits.mjs" "$root/build/devtrace" "$dir/waits.db" "$dir"
