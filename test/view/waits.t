#!/bin/bash
# SPDX-License-Identifier: MIT
# The panel of a call: what it waited for, its exact rank, the text of its source; beside what the program did.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
mkdir -p "$dir/src/deep" "$dir/outside" && cp "$root/test/programs/waiter.c" "$dir/src/deep" &&
	gcc -g -O1 -o "$dir/waiter" "$dir/src/deep/waiter.c" -pthread &&
	timeout 60 "$root/build/devtrace" record -S -F '*' -F 'libc*:read' -F 'libc*:pthread_mutex_lock' -o "$dir/waits.db" "$dir/waiter" >"$dir/out" || exit 1
"$root/build/test/tool/writetrace" "$dir/woken.db" <<-TEXT || exit 1
	clock 0 0
	clock 1000000 1000000000
	kinds
	thread 1 main
	function f
	function g
	waker 2 2 0 0 g 0 other
	S S 0 900 1 0 1
	E f 0x1000 1000
	at 0 4294967295
	S S 0 1100 4294967295 0 0 1
	at 0 1
	W W $((1 << 63 | 1)) 1200
	S S 0 1300 1 0 1
	X f 0x1000 1500
TEXT
# two threads of which each wakes the other, and an interrupt; then 2,500 wake-ups close together
{
	cat <<-TEXT
		clock 0 0
		clock 1000000 1000000000
		kinds
		thread 1 main
		thread 2 other
		function f
		function g
		waker 2 2 0 0 g 0 other
		waker 1 1 0 0 f 0 main
		waker 2 2 2 0 g 0 other
		at 0 1
		E f 0x1000 1000
		at 1 2
		E g 0x2000 1010
		at 1 1
		W W $((1 << 63 | 1)) 1200
		at 0 2
		W W $((1 << 63 | 2)) 1300
		at 1 1
		W W $((1 << 63 | 3)) 1400
	TEXT
	for ((i = 0; i < 2500; i++)); do echo "W W $((1 << 63 | 1)) $((2000 + i))"; done
	printf 'at 1 2\nX g 0x2000 5000\nat 0 1\nX f 0x1000 5010\n'
} | "$root/build/test/tool/writetrace" "$dir/arrows.db" || exit 1
echo 'int secret;' >"$dir/outside/secret.c" && echo 'not code' >"$dir/src/notes.txt" && ln -s "$dir/outside/secret.c" "$dir/src/link.c" &&
	ln -s "$dir/outside" "$dir/src/away" && mkfifo "$dir/src/fifo.c" || exit 1
cd "$npm" && timeout 300 node "$root/test/view/waits.mjs" "$root/build/devtrace" "$dir/waits.db" "$dir"
