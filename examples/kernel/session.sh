#!/bin/sh
# SPDX-License-Identifier: MIT
# The session of devtrace's paper, Figures 2 and 3: what the kernel calls for one file, by addresses as they
# are typed there: without the digits that all of the kernel's text has in common. As root, with
# devtrace.ko loaded.
set -e
# where a function begins, and the one behind it, from where the kernel's text begins
offsets() {
	text=$(sed -n 's/ T _stext$//p' /proc/kallsyms)
	sed -n "/ [tT] $1\$/{s/ .*//p;n;s/ .*//p}" /proc/kallsyms | while read -r address; do
		printf '%x ' $((0x$address - 0x$text))
	done
}
set -- $(offsets version_proc_show)
trap 'echo trace version remove >/dev/tracectl' EXIT

cat /dev/tracectl
echo trace "$1" "$2" new version >/dev/tracectl
echo trace version on >/dev/tracectl
echo start >/dev/tracectl
cat /proc/version
cat /dev/tracectl
echo stop >/dev/tracectl
cat /dev/trace
