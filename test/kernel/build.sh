#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds devtrace.ko, and the module that the tests trace, for one of Debian's kernels, and prints the
# folder that holds them and that kernel's vmlinuz. Neither the kernel nor its headers are installed:
# the packages are fetched and unpacked in the cache. The exact version is what Debian has now.
#
# usage: test/kernel/build.sh 6.1|6.12 [headers]    headers: prints where the kernel's are instead
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}/kernel

die() {
	echo "build.sh: $*" >&2
	exit 1
}

case ${1-} in
6.1) meta=linux-headers-cloud-amd64 ;;
6.12) meta=linux-headers-6.12-cloud-amd64 ;;
*) die "usage: test/kernel/build.sh 6.1|6.12 [headers]" ;;
esac

# the package that the newest headers are in: linux-headers-VERSION-cloud-amd64
newest() {
	apt-cache depends --no-recommends --no-suggests "$meta" 2>/dev/null |
		awk '$1 == "Depends:" && $2 ~ /^linux-headers-[0-9].*-cloud-amd64$/ {print $2; exit}'
}
headers=$(newest)
if [ -z "$headers" ]; then # the lists may be absent
	$([ "$(id -u)" = 0 ] || echo sudo) apt-get -qq update >&2 || true
	headers=$(newest)
fi
[ -n "$headers" ] || die "apt knows no $meta: run 'apt-get update'; 6.12 is in bookworm-security and bookworm-backports"
version=${headers#linux-headers-}
tree=$cache/$version

# everything the headers need, and the image
fetch() {
	local d
	rm -rf "$tree.part" && mkdir -p "$tree.part/deb"
	image=linux-image-$version
	apt-cache show "$image" >/dev/null 2>&1 || image=$image-unsigned
	read -ra needs <<<"$(apt-cache depends --no-recommends --no-suggests "$headers" |
		awk '$1 == "Depends:" && $2 ~ /^linux-(headers|kbuild)/ {printf "%s ", $2}')"
	(cd "$tree.part/deb" && apt-get -qq -o APT::Sandbox::User=root download "$headers" "$image" "${needs[@]}") >&2 ||
		die "the packages of Linux $version can not be fetched"
	for d in "$tree.part"/deb/*.deb; do
		case $d in
		*/linux-image*) dpkg --fsys-tarfile "$d" | tar x -C "$tree.part" --wildcards './boot/vmlinuz*' '*/fs/fuse' ;;
		*) dpkg -x "$d" "$tree.part" ;;
		esac
	done
	rm -rf "$tree.part/deb"
	# for the mount; newer kernels have it in themselves
	find "$tree.part" -mindepth 2 -name 'fuse.ko*' -exec cp {} "$tree.part/" \;
	: >"$tree.part/complete"
	# the one absolute path in them
	sed -i "s,/usr/src,$tree/usr/src," "$tree.part/usr/src/$headers/Makefile"
	mv "$tree.part" "$tree"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -e "$tree/complete" ] || { rm -rf "$tree" && fetch; }
flock -u 9

[ "${2-}" != headers ] || { echo "$tree/usr/src/$headers"; exit; }
out=$root/build/kernel/$version
make -s -C "$root/kernel" KDIR="$tree/usr/src/$headers" OUT="$out" >&2
mkdir -p "$out/test"
ln -sf "$here/traced.c" "$here/gone.c" "$out/test/"
echo "obj-m := traced.o gone.o
ccflags-y := -I$root
KBUILD_EXTRA_SYMBOLS := $out/Module.symvers" >"$out/test/Kbuild"
make -s -C "$tree/usr/src/$headers" M="$out/test" CONFIG_DEBUG_INFO_BTF_MODULES= modules >&2
rm -f "$out/fuse.ko"
[ ! -e "$tree/fuse.ko" ] || ln -sf "$tree/fuse.ko" "$out/fuse.ko"
ln -sf "$tree/boot/vmlinuz-$version" "$out/vmlinuz"
echo "$out"
