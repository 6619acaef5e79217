#!/bin/bash
# SPDX-License-Identifier: MIT
# Two programs, built in every way with sleds: every site is right, and the output is that of the
# program without sleds: with all sites off, all on, and all being switched while it runs.
# usage: matrix.t            everything
#        matrix.t --one COMPILER SOURCE FLAGS...
if [ "${1-}" != --one ]; then
	. "$(dirname "$0")/lib.sh"
	. "$here/../share.bash"
	tools
	export SLED_TOOLS=$tmp
	gcc -O1 -w "$here/calls.c" -o calls.ref && ./calls.ref >calls.expected &&
		g++ -std=c++17 -O1 "$here/classes.cc" -o classes.ref && ./classes.ref >classes.expected || {
		echo "not ok - the reference programs cannot be built"
		exit 1
	}
	both='-O0 -g;-O1;-O2 -g;-O3 -march=native;-Os;-O2 -static;-O2 -fcf-protection=full
-O2 -ffunction-sections -Wl,--gc-sections;-O2 -ffunction-sections -Wl,--gc-sections -fuse-ld=lld'
	c='-O2;-O2 -fPIE -pie;-O2 -fno-pie -no-pie;-O2 -fPIC -fno-plt;-O0 -static -g;-O0 -fcf-protection=full
-O2 -fno-asynchronous-unwind-tables -fuse-ld=gold;-O2 -fpatchable-function-entry=5,2 -pipe
-O2 -pg;-O2 -fstack-protector-all -fno-omit-frame-pointer;-O2 -Wa,-mbranches-within-32B-boundaries'
	gcc='-O0 -flto -g;-O2 -pg -mfentry;-O2 -static-pie;-O2 -fsplit-stack
-O2 -mfunction-return=thunk -mindirect-branch=thunk -fcf-protection=none'
	each() { tr ';' '\n' <<<"$2" | sed "s/^/$compiler $1 /"; }
	for compiler in gcc clang clang-19; do
		command -v $compiler >/dev/null || continue
		case $compiler in
		gcc)
			each calls.c "$both;$c;$gcc"
			each classes.cc "$both"
			;;
		clang)
			each calls.c "$both;$c;-O2 -mretpoline"
			each classes.cc "$both"
			;;
		*)
			each calls.c '-O0;-O2 -g;-O3 -fcf-protection=full'
			each classes.cc '-O2'
			;;
		esac
		[ $compiler = gcc ] && each calls.c '-O2 -flto;-O2 -g -masm=intel' &&
			each classes.cc '-O2 -flto;-O2 -g -masm=intel'
	done | share | xargs -P "$(nproc)" -I{} bash -c "exec bash '$here/matrix.t' --one {}"
	exit
fi

shift
compiler=$1 source=$2
shift 2
tools=$SLED_TOOLS name="$compiler $source $*"
. "$(dirname "$0")/lib.sh"
what=${source%.*}
case $source in
*.cc) repeat=4 compiler=${compiler/gcc/g++} compiler=${compiler/clang/clang++} std=-std=c++17 ;;
*) repeat=15 std= ;;
esac

build() {
	cc "$compiler" $std -w "$@" -c "$here/$source" -o main.o || return 1
	# with LTO the object has no code yet
	case $name in
	*-flto*) ;;
	*) nm main.o | sed -n 's/^[0-9a-f]* [tTwW] //p' | grep -v '\.cold$' >names ;;
	esac
	case $name in
	*-static*) cc "$compiler" -w "$@" main.o "$tools/harness.o" -o with ;;
	*) cc "$compiler" -w "$@" main.o -o with ;;
	esac
}
check() {
	local options=
	case $name in
	*-fno-plt*) options=-J ;; # the linker makes direct jumps of indirect ones
	*-fsplit-stack*) options=-R ;; # __morestack resumes behind a ret
	esac
	if [ -e names ]; then
		"$tools/sledcheck" -a assembly $options -f names with
	else
		"$tools/sledcheck" -a assembly with
	fi
}
run() {
	case $name in
	*-static*) env "$@" ./with >out ;;
	*) env "$@" LD_PRELOAD="$tools/harness.so" ./with >out ;;
	esac
}
same() { run "$@" && diff "$tools/$what.expected" out; }
# every call is entered and left, but for those that an exception leaves
balanced() {
	read -r _ sites _ e _ x <count
	cat count
	[ "$sites" -gt 20 ] && [ "$e" -gt 10000 ] || return 1
	case $name in
	*function-return=thunk* | *-fno-plt*) ;; # indirect jumps that leave have no sled
	*calls.c*) [ "$e" = "$x" ] ;;
	*) [ "$e" -ge "$x" ] ;;
	esac
}
toggled() {
	read -r _ _ _ e _ _ <count
	[ "$e" -gt 0 ]
}
all() {
	build "$@" && check && ./with >out && diff "$tools/$what.expected" out &&
		same SLEDS=on SLEDS_OUT=count && balanced &&
		same SLEDS=toggle SLEDS_OUT=count REPEAT=$repeat && toggled
}
ok "$name" all "$@" | sed 's/^\(not \)*ok [0-9]* /\1ok /'
