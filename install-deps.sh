#!/bin/sh
# Installs the Debian packages that the named groups need and that are missing, saying so.
# usage: install-deps.sh build|unit|cases|lint|prototypes|check|kernel|demo|bench|soak...
set -eu
want=
# any Node.js will do: Debian's, when there is none
node_packages() { { command -v node && command -v npm; } >/dev/null || echo nodejs npm; }
for group; do
	case $group in
	build) want="$want gcc make pkg-config libelf-dev libdw-dev liblzma-dev libsqlite3-dev libzstd-dev libiberty-dev libzydis-dev libfuse3-dev libedit-dev libncurses-dev libbpf-dev libmicrohttpd-dev libbabeltrace2-dev libseccomp-dev" ;;
	check) want="$want g++ xz-utils clang-format cppcheck shellcheck git shfmt protobuf-compiler python3-protobuf babeltrace2 clang bats tmux libcmocka-dev csmith libcsmith-dev gdb dpkg-dev sqlite3 systemtap-sdt-dev gnuplot-nox musl-tools libclang-rt-14-dev python3 lld ltrace strace tcl fuse3 socat iproute2 netcat-openbsd openssh-client openssh-server chromium curl debuginfod libdebuginfod1 dwz ffmpeg valgrind graphviz libxml2-utils postgresql $(node_packages)" ;;
	prototypes) want="$want gcc binutils python3 python3-clang-14 zlib1g-dev libssl-dev libsqlite3-dev libselinux1-dev libpcre2-dev liblzma-dev libzstd-dev libcurl4-openssl-dev" ;;
	lint) want="$want clang-format cppcheck shellcheck python3 git $(node_packages)" ;;
	unit) want="$want libcmocka-dev" ;;
	cases) want="$want bats tmux xz-utils g++ gdb ltrace python3 sqlite3 strace curl debuginfod libdebuginfod1 dwz" ;;
	kernel) want="$want qemu-system-x86 busybox-static cpio binutils dkms" ;;
	demo) want="$want dpkg-dev systemtap-sdt-dev gnuplot-nox ca-certificates" ;;
	soak) want="$want postgresql nginx-light apache2-utils curl git libpython3.11-testsuite golang-go dpkg-dev m4 nasm cmake" ;;
	bench) want="$want dpkg-dev uftrace clang-19 libclang-rt-19-dev clang valgrind tcl sqlite3 python3" ;;
	*) echo "install-deps.sh: unknown group '$group'" >&2; exit 2 ;;
	esac
done
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
