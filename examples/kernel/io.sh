#!/bin/sh
# SPDX-License-Identifier: MIT
# Figure 11 of devtrace's paper: two traces, of the functions behind pread and pwrite; and what a command's
# calls of them returned, how often. As root, with devtrace.ko loaded.
# usage: io.sh COMMAND [ARG]...
set -e
range() {
	sed -n "/ [tT] $1\$/{s/ .*//p;n;s/ .*//p}" /proc/kallsyms | tr '\n' ' '
}
trap 'echo stop >/dev/tracectl; echo watch 0 >/dev/tracectl
	echo trace pr remove >/dev/tracectl; echo trace pw remove >/dev/tracectl' EXIT

echo trace $(range __x64_sys_pread64) new pr > /dev/tracectl
echo trace $(range __x64_sys_pwrite64) new pw > /dev/tracectl
echo trace pr on > /dev/tracectl
echo trace pw on > /dev/tracectl

sh -c 'echo watch $$ >/dev/tracectl; echo start >/dev/tracectl; exec "$@"' sh "$@" >/dev/null
echo stop >/dev/tracectl
grep '^X' /dev/trace | cut -d' ' -f2,5 | sort | uniq -c
