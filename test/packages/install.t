#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `make install' puts somewhere, `make uninstall' takes away, and nothing else; what is installed belongs to exactly one
# package; the packages say which libraries are loaded; files for systemd and rpm can be read; the session of a service records.
# TAP. The packages themselves are made and tried by `make soak S=packages'.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
n=0
result() { # STATUS NAME
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" && return
	echo "not ok $n - $2"
	sed 's/^/# /' "$work/log" | head -n 30
}
skip() { n=$((n + 1)) && echo "ok $n - $1 # SKIP $2"; }
: >"$work/log"
files() { (cd "$1" && find . ! -type d | sort); }
version=$(sed -n 's/^#define DT_VERSION "\(.*\)"/\1/p' core/version.h)

# Root installs in place, where /usr/local is a folder of the test's and /etc a copy, and the loader is told; others by DESTDIR.
mkdir -p "$work/a/usr/local/bin" "$work/a/usr/local/lib/python3/dist-packages"
echo other | tee "$work/a/usr/local/bin/other" >"$work/a/usr/local/lib/libdevtrace.so.0"
files "$work/a" >"$work/before"
python=PYTHONDIR=/usr/local/lib/python3/dist-packages
if unshare -m true 2>/dev/null; then
	cp -a /etc "$work/etc"
	# shellcheck disable=SC2016 # the inner shell's
	in_place() { unshare -m sh -c 'mount --bind "$0/etc" /etc && mount --bind "$0/a/usr/local" /usr/local && eval "$1"' "$work" "$1"; }
else
	in_place() { case $1 in make*) $1 DESTDIR="$work/a" ;; *) false ;; esac; }
fi
in_place "make -s install $python" >"$work/log" 2>&1
result $? "make install"
unit=$work/a/usr/local/lib/systemd/system/devtrace@.service
"$work/a/usr/local/bin/devtrace" --version 2>"$work/log" | head -n 1 | diff - <(echo "devtrace $version") >>"$work/log" &&
	PKG_CONFIG_PATH=$work/a/usr/local/lib/pkgconfig pkg-config --modversion devtrace libdevtrace devtrace-clang | sort -u |
	diff - <(echo "$version") >>"$work/log" && ! grep -rn '@[A-Z]*@' "$work/a" --include='*.pc' --include='*.service' >>"$work/log"
result $? "what is installed runs, and has one version"
if [ -d "$work/etc" ]; then
	in_place 'sqlite3 :memory: ".load libdevtrace-sqlite" && ldconfig -p | grep -q "libdevtrace.so.1 " &&
		PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/usr/local/lib/python3/dist-packages /usr/bin/python3 -c "import devtrace; devtrace.library.load()"' >"$work/log" 2>&1
	result $? "the loader finds the libraries after make install"
else
	skip "the loader finds the libraries" "only root can try it"
fi
if command -v systemd-analyze >/dev/null; then
	# as it would be found, were the folder /
	sed "s|=/usr/local|=$work/a/usr/local|" "$unit" >"$work/devtrace@.service"
	systemd-analyze verify --man=no "$work/devtrace@x.service" >"$work/log" 2>&1 && [ ! -s "$work/log" ]
	result $? "systemd-analyze verify finds nothing in devtrace@.service"
else
	skip "systemd-analyze verify" "there is no systemd-analyze"
fi
# Python that has used the module leaves compiled files
mkdir -p "$work/a/usr/local/lib/python3/dist-packages/devtrace/__pycache__"
echo >"$work/a/usr/local/lib/python3/dist-packages/devtrace/__pycache__/trace.cpython-311.pyc"
in_place "make -s uninstall $python" >"$work/log" 2>&1 && files "$work/a" | diff "$work/before" - >>"$work/log" &&
	[ -z "$(find "$work/a" -type d -name '*devtrace*' | tee -a "$work/log")" ]
result $? "make uninstall leaves what was there, and nothing else"
if [ -d "$work/etc" ]; then
	in_place 'ldconfig -p' | grep -F -e libdevtrace.so.1 -e libdevtrace-sqlite >"$work/log"
	[ ! -s "$work/log" ]
	result $? "and the loader knows of nothing"
fi

# other places: those of Debian's packages (packaging/deb/rules)
eval "debian=($(sed -n 's/^WHERE = //p' packaging/deb/rules | sed 's/\$(DEB_HOST_MULTIARCH)/x86_64-linux-gnu/'))"
make -s install install-dkms "${debian[@]}" DESTDIR="$work/b" >"$work/log" 2>&1
result $? "make install install-dkms, elsewhere"
# PACKAGE.install has patterns as dh_install reads them
for list in packaging/deb/*.install; do
	while read -r pattern; do
		# shellcheck disable=SC2086 # it is a pattern
		(cd "$work/b" && find $pattern ! -type d) || echo "$list: there is no $pattern"
	done <"$list"
done 2>&1 | sort >"$work/packaged"
files "$work/b" | sed 's|^\./||' | diff "$work/packaged" - >"$work/log"
result $? "every file that is installed is in exactly one of Debian's packages"
make -s uninstall uninstall-dkms "${debian[@]}" DESTDIR="$work/b" >"$work/log" 2>&1 && [ -z "$(files "$work/b" | tee -a "$work/log")" ] &&
	[ -z "$(find "$work/b" -name '*devtrace*' | tee -a "$work/log")" ]
result $? "and all of it is taken away from there"

# what is loaded while it runs is not seen by dpkg-shlibdeps: the names that the messages have
grep -rhoE --include='*.c' --exclude-dir=build '\.package = "[^"]+"|Debian has it in [a-z0-9-]+' . | sed -E 's/.*[" ]([a-z0-9-]+)"?$/\1/' | sort -u >"$work/loaded"
field() { awk -v field="$1:" '/^[A-Z]/ { on = $1 == field; sub(/^[^ ]*/, "") } on { gsub(/[ ,]+/, "\n"); print }' packaging/deb/control.in | grep '^lib' | sort -u; }
field Recommends | diff "$work/loaded" - >"$work/log"
result $? "the libraries that are loaded are Recommends"
# of each header that building needs, Debian's package
sed -n "/^needs='/,/^'/p" install-deps.sh | awk 'NF > 3 { print $2 }' | sort -u >"$work/needed"
field Build-Depends | diff "$work/needed" - >"$work/log"
result $? "Build-Depends are what install-deps.sh installs"
if command -v rpmspec >/dev/null; then
	sed "s|@VERSION@|$version|" packaging/rpm/devtrace.spec.in >"$work/devtrace.spec" &&
		rpmspec --parse "$work/devtrace.spec" >"$work/spec" 2>"$work/log" && [ ! -s "$work/log" ] &&
		rpmspec -q "$work/devtrace.spec" --qf '%{name}\n' | sort | diff - <(printf '%s\n' devtrace devtrace-dkms libdevtrace libdevtrace-devel python3-devtrace) >"$work/log"
	result $? "rpmspec reads the RPM's specification"
else
	skip "rpmspec" "there is no rpmspec (apt-get install rpm)"
fi

# what devtrace@NAME.service runs, without systemd: a process, a snapshot, its end; the trace of an earlier run is kept
mkdir "$work/state"
# in a subshell; a shell lets what it runs beside itself ignore SIGINT, systemd does not
session() { exec env --default-signal=INT STATE_DIRECTORY="$work/state" DEVTRACE="$root/build/devtrace" XDG_RUNTIME_DIR="$work" "${@:2}" packaging/systemd/session "$1" it; }
cat >"$work/turn.c" <<'C'
#include <unistd.h>
__attribute__((noinline)) void turn(void) { usleep(1000); }
int main(void) { for (int i = 0; i < 60000; i++) turn(); return 0; }
C
gcc -O1 -o "$work/turn" "$work/turn.c"
turns() { build/devtrace report --json "$1" 2>/dev/null | grep -q '"turn"'; }
until_there() { local i; for ((i = 0; i < 300; i++)); do "$@" && return; sleep 0.1; done; return 1; }
records() { XDG_RUNTIME_DIR="$work" build/devtrace ctl -s it status 2>/dev/null | grep -qE '^[1-9][0-9]* records|	[1-9][0-9]* records'; }
one_session() { # its end is asked for as systemd does
	session run "$@" >"$work/log" 2>&1 &
	local s=$!
	until_there records && (session snapshot) >>"$work/log" 2>&1 && kill -INT $s $(pgrep -P $s)
	local asked=$?
	[ $asked = 0 ] || kill $s
	wait $s
	local status=$?
	[ $asked = 0 ] && { [ $status = 0 ] || [ $status = 130 ]; }
}
"$work/turn" &
turner=$!
one_session PID=$turner OPTIONS="-F turn --last '5s'" && turns "$work/state/it.db" && turns "$work/state/it-snapshot.db" && kill -0 $turner
result $? "the session of a process that runs: snapshot and end; the process goes on"
kill $turner
one_session COMMAND="'$work/turn' 'one word'" OPTIONS="-F turn --last 5s" KEEP=1 && turns "$work/state/it.db" && turns "$work/state/it.1.db" && turns "$work/state/it-snapshot.1.db"
result $? "the session of a command; the traces before are kept"
(session run KEEP=x) >"$work/log" 2>&1
[ $? = 2 ] && grep -q 'KEEP=x' "$work/log" && ! packaging/systemd/session run ../x 2>>"$work/log"
result $? "what can not be is refused"
echo "1..$n"
