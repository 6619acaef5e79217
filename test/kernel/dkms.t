#!/bin/bash
# SPDX-License-Identifier: MIT
#
# DKMS builds, from what 'make install-dkms' installs, the module that the other tests load. In folders
# of the test's own: nothing is installed. TAP.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
n=0
version_of_it=$(sed -n 's/^#define DT_VERSION "\(.*\)"/\1/p' "$root/core/version.h")

result() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# code MODULE: the bytes of its functions
code() {
	objcopy -O binary --only-section=.text "$1" "$work/code" && sha256sum <"$work/code"
}

. "$here/../share.bash"
make -s -C "$root" install-dkms DESTDIR="$work" >"$work/log" 2>&1
result $? "make install-dkms"
# the kernel that kernel.t tries, for which build.sh has built or will build it anyway
for version in $(printf '%s\n' 6.12 6.1 | FROM=${FROM:-${KERNEL_FROM-}} share 2); do
	out=$("$here/build.sh" "$version" 2>"$work/log") || { result 1 "Linux $version: build.sh"; sed 's/^/# /' "$work/log"; continue; }
	kernel=${out##*/}
	mkdir -p "$work/tree" "$work/modules"
	args=(-m devtrace -v "$version_of_it" -k "$kernel" --dkmstree "$work/tree" --sourcetree "$work/usr/src"
		--installtree "$work/modules" --kernelsourcedir "$("$here/build.sh" "$version" headers)")
	{ [ -e "$work/tree/devtrace" ] || dkms add "${args[@]}"; dkms build "${args[@]}"; } >"$work/log" 2>&1
	result $? "Linux $version: DKMS builds it"
	built=$(find "$work/tree/devtrace/$version_of_it/$kernel" -name 'devtrace.ko*' 2>/dev/null | head -n 1)
	case $built in
	*.xz) xz -d "$built" && built=${built%.xz} ;;
	esac
	want=$(code "$out/devtrace.ko") && [ -n "$built" ] && [ "$(code "$built")" = "$want" ]
	same=$?
	result $same "Linux $version: its code is what build.sh makes"
	[ $same = 0 ] || tail -n 30 "$work/log" | sed 's/^/# /'
done
echo "1..$n"
