#!/bin/sh
# SPDX-License-Identifier: MIT
# How many bytes the reads of a command return: a histogram by powers of two. As root, with devtrace.ko
# loaded.
# usage: sizes.sh COMMAND [ARG]...
set -e
ctl=/dev/tracectl
trap 'echo stop >$ctl; echo watch 0 >$ctl; echo trace reads remove >$ctl' EXIT
echo 'size 16' >$ctl
echo 'trace vfs_read new reads EXIT' >$ctl
echo 'trace reads on' >$ctl
sh -c 'echo watch $$ >/dev/tracectl; echo start >/dev/tracectl; exec "$@"' sh "$@" >/dev/null
echo stop >$ctl
# the fifth word of a line is the result; a negative one is an error
# (cat, because the file gives whole lines only, and a shell reads byte by byte)
cat /dev/trace | while read -r kind pc ticks thread result rest; do
	case $result in
	ffffffff*) echo error && continue ;;
	esac
	n=$((0x$result)) bucket=1
	while [ $bucket -le $n ]; do bucket=$((2 * bucket)); done
	echo "below $bucket"
done | sort | uniq -c | sort -k3n
