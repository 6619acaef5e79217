#!/bin/bash
# SPDX-License-Identifier: MIT
# The critical path of a call and of a selected time in the page: beside what devtrace path says.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/writetrace" "$dir/path.db" <<-TEXT || exit 1
	clock 0 1000000
	clock 1000000 1001000000
	kinds
	function work
	function other
	function third
	function hrtimer_wakeup
	thread 11 first
	thread 12 second
	thread 13 third
	waker 12 12 0 0 other 0 second
	waker 13 13 0 0 third 0 third
	waker 0 0 2 0 hrtimer_wakeup 0
	at 0 11
	S S 0 900 11 0 11 4294967295
	E work 0x8000 1000
	at 1 12
	S S 0 905 12 0 12 4294967295
	E other 0x7000 1010
	at 2 13
	S S 0 910 13 0 13 4294967295
	E third 0x6000 1015
	at 0 4294967295
	S S 0 1100 4294967295 0 0 11
	at 1 4294967295
	S S 0 1300 4294967295 0 0 12
	at 2 12
	W W $((1 << 63 | 2)) 1580
	at 1 12
	S S 0 1600 12 0 12 4294967295
	at 1 11
	W W $((1 << 63 | 1)) 1900
	at 0 11
	S S 0 1950 11 0 11 4294967295
	at 0 4294967295
	S S 0 2000 4294967295 0 0 11
	at 0 11
	W W $((1 << 63 | 3)) 2250
	S S 0 2300 11 0 11 4294967295
	X work 0x8000 2600
	at 1 12
	X other 0x7000 2700
	at 2 13
	X third 0x6000 2800
TEXT
printf 'function f\nE f 0x1000 1000\nX f 0x1000 1500\n' | "$root/build/test/tool/writetrace" "$dir/none.db" || exit 1
cd "$npm" && timeout 300 node "$root/test/view/path.mjs" "$root/build/devtrace" "$dir/path.db" "$dir"
