#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Gets herd7, which says what a memory model allows, and prints the command that runs it. It is in a newer Debian than 12
# (herdtools7, of sid), so it comes with that one's libc, unpacked in the cache, by an apt with lists of its own.
# usage: fetch.sh
set -euo pipefail
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}/herd
apt=(-q -o Dir::Etc::SourceList="$cache/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o Dir::State::Lists="$cache/lists" -o Dir::Cache="$cache/cache" -o Dir::State::status=/dev/null
	-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3)

if [ ! -e "$cache/done" ]; then
	mkdir -p "$cache/lists/partial" "$cache/cache/archives/partial" "$cache/root"
	exec 9>"$cache/lock"
	flock 9
fi
if [ ! -e "$cache/done" ]; then
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main" >"$cache/sources.list"
	(cd "$cache" && rm -f ./*.deb && apt-get "${apt[@]}" update && apt-get "${apt[@]}" download herdtools7 libc6 libgmp10 &&
		for deb in ./*.deb; do dpkg -x "$deb" root || exit 1; done && rm -f ./*.deb) >"$cache/log" 2>&1 || {
		tail -n 3 "$cache/log" >&2
		exit 1
	}
	touch "$cache/done"
fi
lib=$cache/root/usr/lib/x86_64-linux-gnu
echo "$lib/ld-linux-x86-64.so.2 --library-path $lib $cache/root/usr/bin/herd7 -set-libdir $cache/root/usr/share/herdtools7/herd"
