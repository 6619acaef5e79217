# SPDX-License-Identifier: MIT
# What the tests of the sleds share: the wrapper's folder, a scratch folder with the tools, TAP.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${DEVTRACE_ROOT:-$(cd "$here/../.." && pwd)}
lib=${DEVTRACE_LIB:-$root/build/lib}
unset DEVTRACE_AS DEVTRACE_AS_SKIP SLEDS SLEDS_OUT
export LC_ALL=C
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
count=0

[ -x "$lib/as" ] || {
	echo "not ok 1 - $lib/as has not been built"
	exit 1
}

# ok NAME COMMAND...: one test; what the command prints is shown when it fails
ok() {
	local name=$1 log=$tmp/log.$BASHPID rc
	shift
	"$@" >"$log" 2>&1 && rc=0 || rc=1
	count=$((count + 1))
	if [ $rc = 0 ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		head -30 "$log" | sed 's/^/# /'
	fi
	rm -f "$log"
	return $rc
}

plan() {
	echo "1..$count"
}

tools() {
	gcc -O1 -Wall -Wextra -o sledcheck "$here/sledcheck.c" -lelf &&
		gcc -O2 -Wall -Wextra -fPIC -c -o harness.o "$here/harness.c" &&
		gcc -shared -o harness.so harness.o || {
		echo "not ok 1 - the test's tools cannot be built"
		exit 1
	}
}

# cc COMPILER ARG...: compiles with sleds; COMPILER is gcc, g++, clang-14, clang++-14...
cc() {
	local compiler=$1
	shift
	case $compiler in
	clang*) "$compiler" -fno-integrated-as -B "$lib" "$@" ;;
	*) "$compiler" -B "$lib" "$@" ;;
	esac
}

# the text with sleds of an assembly file
text() {
	DEVTRACE_AS=/bin/cat "$lib/as" "$@"
}
