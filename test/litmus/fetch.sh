#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Gets herd7, which says what a memory model allows, and prints the command that runs it. It is in a newer Debian than 12
# (herdtools7, of sid), so it comes with that one's libc, unpacked in the cache.
# usage: fetch.sh
set -u
. "$(dirname "$0")/../unpacked.bash"
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}/herd
unpacked "$cache" sid herdtools7 libc6 libgmp10 || {
	tail -n 3 "$cache/log" >&2
	exit 1
}
lib=$cache/root/usr/lib/x86_64-linux-gnu
echo "$lib/ld-linux-x86-64.so.2 --library-path $lib $cache/root/usr/bin/herd7 -set-libdir $cache/root/usr/share/herdtools7/herd"
