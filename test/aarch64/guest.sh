#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs a script in a machine of its own: Debian's kernel for arm64 in qemu-system-aarch64, two cores, with busybox and the
# programs named, and prints what its console shows. Kernel and busybox are Debian's packages, unpacked in the cache; the first
# call fetches them (some 30 MB). From boot to power off it takes some seconds.
# One thread for both cores: with two, QEMU 7.2 can go on executing code that has been replaced, for good.
#
# usage: guest.sh SCRIPT PROGRAM...    programs for aarch64, which are put into /bin, with the libraries that they need;
#                                      SCRIPT runs in busybox's shell. LIMIT: most seconds; OPTIONS: for the kernel;
#                                      CPU: QEMU's -cpu
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. test/unpacked.bash
die() {
	echo "guest.sh: $*" >&2
	exit 1
}
[ $# -ge 1 ] || die "usage: guest.sh SCRIPT PROGRAM..."
for p in qemu-system-aarch64 cpio aarch64-linux-gnu-readelf; do
	command -v $p >/dev/null || die "$p is missing: ./install-deps.sh aarch64"
done
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
sysroot=$(packaging/cross/sysroot.sh aarch64) || exit 1
ONLY='./boot/vmlinuz*' ARCHITECTURE=arm64 unpacked "$cache/aarch64-kernel" bookworm =linux-image-cloud-arm64 ||
	die "the kernel can not be fetched: $(tail -n 3 "$cache/aarch64-kernel/log")"
ONLY='./bin/busybox' ARCHITECTURE=arm64 unpacked "$cache/aarch64-busybox" bookworm busybox-static ||
	die "busybox can not be fetched: $(tail -n 3 "$cache/aarch64-busybox/log")"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,etc,lib,run} || exit 1
cp "$cache/aarch64-busybox/root/bin/busybox" "$root/bin/" && cp "$1" "$root/run.sh" || exit 1
shift

# with_libraries FILE: copies what a program or library needs, and what that needs; all are in two folders of the sysroot
with_libraries() {
	local name lib
	for name in $(aarch64-linux-gnu-readelf -dl "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p; s,.*interpreter: /lib/\(.*\)\],\1,p'); do
		[ ! -e "$root/lib/$name" ] || continue
		for lib in "$sysroot"/{lib/aarch64-linux-gnu,usr/lib/aarch64-linux-gnu}/"$name" "${1%/*}/$name"; do
			[ ! -e "$lib" ] || { cp -L "$lib" "$root/lib/$name" && with_libraries "$lib" && break; }
		done
	done
}
for f; do
	aarch64-linux-gnu-strip --strip-debug -o "$root/bin/${f##*/}" "$f" || exit 1
	with_libraries "$f"
done
# libgcc_s is loaded when a thread ends
cp -L "$sysroot/lib/aarch64-linux-gnu/libgcc_s.so.1" "$root/lib/" || exit 1
cat >"$root/init" <<'I'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib HOME=/tmp XDG_RUNTIME_DIR=/run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
sh /run.sh
echo "RUN-RC $?"
poweroff -f
I
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/initrd" || exit 1
set -- "$cache"/aarch64-kernel/root/boot/vmlinuz-*
timeout "${LIMIT:-300}" qemu-system-aarch64 -nodefaults -no-user-config -display none -no-reboot -serial stdio \
	-M virt -m 1024 -smp 2 -cpu "${CPU:-max,pauth-impdef=on}" -accel tcg,thread=single -kernel "${!#}" -initrd "$work/initrd" \
	-append "console=ttyAMA0 norandmaps cryptomgr.notests quiet panic=-1 ${OPTIONS-}" </dev/null 2>&1 | sed -u 's,\r,,g'
