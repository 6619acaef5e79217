#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Prints the folder with the libraries of another processor that devtrace is linked with, and that its tests there use. They
# are Debian's packages, unpacked in the cache; the first call fetches them (some 25 MB).
# usage: sysroot.sh aarch64
set -u
. "$(dirname "$0")/../../test/unpacked.bash"
[ "${1-}" = aarch64 ] || {
	echo "usage: sysroot.sh aarch64" >&2
	exit 2
}
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}/$1
[ -e "$cache/done" ] || echo "fetching Debian's libraries for $1 into $cache" >&2
# libraries to link with; libraries that are loaded when they are needed, by their headers; for tests
ARCHITECTURE=arm64 unpacked "$cache" bookworm libc6 libc6-dev libcrypt1 linux-libc-dev libgcc-s1 \
	libdw1 libdw-dev libelf1 libelf-dev liblzma5 liblzma-dev zlib1g zlib1g-dev libbz2-1.0 libsqlite3-0 libsqlite3-dev \
	libzstd1 libzstd-dev libiberty-dev libseccomp2 libseccomp-dev \
	libfuse3-3 libfuse3-dev libedit2 libedit-dev libbsd0 libmd0 libncurses6 libncursesw6 libtinfo6 libncurses-dev \
	libgnutls30 libp11-kit0 libidn2-0 libunistring2 libtasn1-6 libnettle8 libhogweed6 libgmp10 libffi8 \
	libglib2.0-0 libpcre2-8-0 libmount1 libblkid1 libselinux1 libuuid1 \
	libbpf1 libbpf-dev libmicrohttpd12 libmicrohttpd-dev libbabeltrace2-0 libbabeltrace2-dev \
	libcmocka0 libcmocka-dev libstdc++6 python3.11-minimal || {
	tail -n 3 "$cache/log" >&2
	exit 1
}
echo "$cache/root"
