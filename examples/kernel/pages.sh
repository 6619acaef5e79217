#!/bin/sh
# SPDX-License-Identifier: MIT
# Which pages of its memory a command has the kernel read files into, and how often: the busiest first.
# As root, with devtrace.ko loaded.
# usage: pages.sh COMMAND [ARG]...
set -e
ctl=/dev/tracectl
trap 'echo stop >$ctl; echo watch 0 >$ctl; echo trace reads remove >$ctl' EXIT
echo 'size 16' >$ctl
echo 'trace vfs_read new reads ENTRY' >$ctl
echo 'trace reads on' >$ctl
sh -c 'echo watch $$ >/dev/tracectl; echo start >/dev/tracectl; exec "$@"' sh "$@" >/dev/null
echo stop >$ctl
# thread, and the second argument, which is the buffer, without its last three digits
cut -d' ' -f4,6 /dev/trace | sed 's/...$//' | sort | uniq -c | sort -rn
