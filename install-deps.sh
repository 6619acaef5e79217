#!/bin/sh
# What building devtrace and its tests needs.
# usage: install-deps.sh missing              says what building needs and is not there, and the command for it; installs nothing
#        install-deps.sh build|aarch64|unit|cases|lint|prototypes|check|kernel|demo|bench|soak|engines|static|deb|packages...
#                                             installs the Debian packages that these need and that are missing, saying so
set -eu
# Of each header or program that building needs: the packages that have it in Debian and Ubuntu, in Fedora, in Alpine and
# in openSUSE. Only Debian's have been tried.
needs='
dwarf.h                    libdw-dev           elfutils-devel        elfutils-dev       libdw-devel
elfutils/libdw.h           libdw-dev           elfutils-devel        elfutils-dev       libdw-devel
gelf.h                     libelf-dev          elfutils-libelf-devel elfutils-dev       libelf-devel
lzma.h                     liblzma-dev         xz-devel              xz-dev             xz-devel
sqlite3.h                  libsqlite3-dev      sqlite-devel          sqlite-dev         sqlite3-devel
zstd.h                     libzstd-dev         libzstd-devel         zstd-dev           libzstd-devel
libiberty/demangle.h       libiberty-dev       binutils-devel        binutils-dev       binutils-devel
Zydis/Zydis.h              libzydis-dev        zydis-devel           zydis-dev          zydis-devel
seccomp.h                  libseccomp-dev      libseccomp-devel      libseccomp-dev     libseccomp-devel
fuse3/fuse_lowlevel.h      libfuse3-dev        fuse3-devel           fuse3-dev          fuse3-devel
editline/readline.h        libedit-dev         libedit-devel         libedit-dev        libedit-devel
curses.h                   libncurses-dev      ncurses-devel         ncurses-dev        ncurses-devel
bpf/btf.h                  libbpf-dev          libbpf-devel          libbpf-dev         libbpf-devel
microhttpd.h               libmicrohttpd-dev   libmicrohttpd-devel   libmicrohttpd-dev  libmicrohttpd-devel
babeltrace2/babeltrace.h   libbabeltrace2-dev  libbabeltrace2-devel  babeltrace-dev     babeltrace2-devel
'
# only x86-64's instructions are decoded by a library
[ "${ARCH:-x86_64}" = x86_64 ] || needs=$(echo "$needs" | grep -v '^Zydis/')
# column N: the packages of that column, each once
column() { echo "$needs" | awk -v n="$1" 'NF && !seen[$n]++ { printf "%s%s", found++ ? " " : "", $n }'; }

# of the distribution: the column above, and what installs packages
distribution() {
	ids=$(. /etc/os-release 2>/dev/null && echo "${ID-} ${ID_LIKE-}")
	case " $ids " in
	*' debian '* | *' ubuntu '*) n=2 install='apt-get install' ;;
	*' fedora '* | *' rhel '* | *' centos '*) n=3 install='dnf install' ;;
	*' alpine '*) n=4 install='apk add' ;;
	*suse*) n=5 install='zypper install' ;;
	*) n=2 install='' ;;
	esac
}

# Asks the compiler, which looks where the headers will be looked for: whoever has them from somewhere else is served, too.
missing() {
	distribution
	lacks=
	compiler=${CC:-gcc}
	for tool in "${compiler%% *}" make ld objcopy; do
		command -v "$tool" >/dev/null && continue
		case $tool in ld | objcopy) tool=binutils ;; cc) tool=gcc ;; esac
		case " $lacks " in *" $tool "*) ;; *) lacks="$lacks $tool" ;; esac
	done
	# the numbers of the lines above whose header is not found
	lacks="$lacks $(echo "$needs" | awk 'NF { print "#if !__has_include(<" $1 ">)\n:" NR "\n#endif" }' | $compiler -E -P - 2>/dev/null |
		tr -d ' :' | while read -r line; do echo "$needs" | awk -v r="$line" -v n="$n" 'NR == r { print $n }'; done | sort -u | tr '\n' ' ')"
	# without a compiler all of them are asked for
	command -v "${compiler%% *}" >/dev/null || lacks="$lacks $(column $n)"
	# shellcheck disable=SC2086 # words
	set -- $lacks
	[ $# != 0 ] || return 0
	echo "devtrace can not be built yet: what these packages have is missing: $*" >&2
	case $install in
	apt*) echo "'make deps' installs them (as root, or with sudo: $install $*)" >&2 ;;
	?*) echo "to install them, as root: $install $*" >&2 ;;
	*) echo "these are Debian's names; look for the packages of your distribution with the same headers" >&2 ;;
	esac
	return 1
}
[ "${1-}" != missing ] || { missing; exit; }

want=
# any Node.js will do: Debian's, when there is none
node_packages() { { command -v node && command -v npm; } >/dev/null || echo nodejs npm; }
for group; do
	case $group in
	build) want="$want gcc make pkg-config clang $(column 2)" ;; # clang: for BPF only; devtrace can be built without
	check) want="$want g++ xz-utils clang-format cppcheck shellcheck git shfmt protobuf-compiler python3-protobuf python3-numpy python3-pandas babeltrace2 clang bats tmux libcmocka-dev csmith libcsmith-dev gdb dpkg-dev sqlite3 systemtap-sdt-dev gnuplot-nox musl-tools libclang-rt-14-dev python3 lld ltrace strace tcl fuse3 socat iproute2 netcat-openbsd openssh-client openssh-server chromium curl debuginfod libdebuginfod1 dwz uftrace ffmpeg valgrind graphviz libxml2-utils postgresql $(node_packages)" ;;
	prototypes) want="$want gcc binutils python3 python3-clang-14 zlib1g-dev libssl-dev libsqlite3-dev libselinux1-dev libpcre2-dev liblzma-dev libzstd-dev libcurl4-openssl-dev" ;;
	lint) want="$want clang-format cppcheck shellcheck python3 git $(node_packages)" ;;
	# to build for that processor on another one, and to run what was built
	aarch64) want="$want gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static qemu-system-arm cpio" ;;
	unit) want="$want libcmocka-dev" ;;
	cases) want="$want bats tmux xz-utils g++ gdb ltrace uftrace python3 python3-numpy python3-pandas sqlite3 strace curl debuginfod libdebuginfod1 dwz" ;;
	kernel) want="$want qemu-system-x86 busybox-static cpio binutils dkms" ;;
	demo) want="$want dpkg-dev systemtap-sdt-dev gnuplot-nox ca-certificates" ;;
	engines) want="$want clickhouse-server clickhouse-client" ;;
	soak) want="$want postgresql nginx-light apache2-utils curl git libpython3.11-testsuite golang-go dpkg-dev m4 nasm cmake" ;;
	bench) want="$want dpkg-dev uftrace clang-19 libclang-rt-19-dev clang valgrind tcl sqlite3 python3" ;;
	# Zydis is built from its source, since Debian has it as a shared library only
	static) want="$want dpkg-dev libzycore-dev libbsd-dev libmd-dev zlib1g-dev libbz2-dev" ;;
	deb) want="$want build-essential debhelper dh-dkms dh-python" ;;
	packages) want="$want debootstrap lintian rpm zsh fish" ;;
	*) echo "install-deps.sh: unknown group '$group'" >&2; exit 2 ;;
	esac
done
command -v dpkg-query >/dev/null || {
	missing && [ "$*" = build ] || echo "install-deps.sh: installs packages on Debian and what is made of it only" >&2
	exit 1
}
missing=
for p in $want; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
echo "devtrace needs these Debian packages; installing them:$missing" >&2
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
# a test's PostgreSQL runs in a folder of its own: none is to be set up for the machine
case $missing in
*postgresql*)
	conf=/etc/postgresql-common/createcluster.conf
	[ -e $conf ] || { $as_root mkdir -p ${conf%/*} && echo 'create_main_cluster = false' | $as_root tee $conf >/dev/null; }
	;;
esac
apt_get() { DEBIAN_FRONTEND=noninteractive $as_root apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >&2; }
# lists may be absent or old: refresh them only when the first try fails
apt_get install -y --no-install-recommends $missing 2>/dev/null ||
	{ apt_get update && apt_get install -y --no-install-recommends $missing; }
