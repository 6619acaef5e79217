#!/bin/bash
# SPDX-License-Identifier: MIT
# The time line of a session that is recording, in a real browser.
set -u
root=${DEVTRACE_ROOT:-$PWD}
. "$root/test/view/npm.sh"
dir=$(mktemp -d)
program=
trap '[ -z "$program" ] || kill "$program"; sweep "$dir"' EXIT
. "$root/test/sound.bash"
npm_has playwright-core@1.56.1 || exit 1
export XDG_RUNTIME_DIR=$dir
cat >"$dir/ticker.c" <<'C'
#include <unistd.h>
__attribute__((noinline)) int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
__attribute__((noinline)) int step(int i) { return work(i % 100) + work(10); }
__attribute__((noinline)) int rare(int i) { volatile int s = work(i % 7); return s + work(s); }
int main(void) { for (int i = 0;; i++) { step(i); if (i % 50 == 0) { rare(i); usleep(500); } } }
C
gcc -O1 -g -o "$dir/ticker" "$dir/ticker.c" || exit 1
"$dir/ticker" &
program=$!
cd "$npm" && timeout 500 node "$root/test/view/live.mjs" "$root/build/devtrace" "$dir" "$program"
