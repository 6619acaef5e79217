#!/bin/sh
# SPDX-License-Identifier: MIT
# Figure 7 of devtrace's paper: the state while a range of the kernel is traced for one process, which waits.
# As root, with devtrace.ko loaded.
# usage: watched.sh PID
set -e
set -- "$1" $(sed -n '/ [tT] vfs_read$/s/ .*//p; / [tT] vfs_write$/s/ .*//p' /proc/kallsyms)
trap 'echo stop >/dev/tracectl; echo watch 0 >/dev/tracectl; echo trace v remove >/dev/tracectl' EXIT

echo watch "$1" >/dev/tracectl
echo trace "$2" "$3" new v >/dev/tracectl
echo trace v on >/dev/tracectl
echo start >/dev/tracectl
cat /dev/tracectl
