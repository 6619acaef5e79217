#!/bin/bash
# SPDX-License-Identifier: MIT
# Known answers: every program in test/programs is built with sleds by gcc and clang at several
# levels, linked in several ways, and run alone and traced. Output and exit status must be the same,
# and the trace must be what the program says of itself (test/tool/compare-truth.c).
# usage: known.t [WORD...]   only the cases whose name contains every WORD
# B: the build directory (build); KEEP=1: leave the directory of a failed case behind.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build} KEEP=${KEEP:-} PROBES=${PROBES:-}
case $B in /*) ;; *) B=$PWD/$B ;; esac
for tool in devtrace lib/as test/tool/compare-truth test/tool/toggler test/tool/limit; do
	[ -x "$B/$tool" ] || { echo "not ok - $B/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-known.XXXXXX) && trap '[ -n "$KEEP" ] || sweep "$dir"' EXIT
. "$root/test/sound.bash"
. "$root/test/share.bash"
export dir

# Builds source.* into $to with sleds. $4...: more flags
build() {
	local source=$1 compiler=$2 level=$3 cc=$2 flags=(-w -g)
	[ -n "$PROBES" ] || flags+=("-B$B/lib")
	shift 3
	case $source in *.cc) [ "$cc" = gcc ] && cc=g++ || cc=clang++ ;; esac
	[ "$compiler" = clang ] && [ -z "$PROBES" ] && flags+=(-fno-integrated-as)
	[ "$compiler" = musl-gcc ] && cc=musl-gcc
	$cc "$level" "${flags[@]}" -o "$to" "$root/test/programs/$source" "$@" -pthread -lm
}

# Runs it alone and traced: same output, same status, and the trace is the truth.
judge() {
	local alone traced choice=()
	if [ -n "$PROBES" ]; then
		choice=(-F 'prog:*' -F 'plugin.so:*' -F 'other.so:*')
	fi
	./prog "$@" >alone.out 2>alone.err
	alone=$?
	DT_TRUTH=$PWD/truth "$B/test/tool/limit" 120 "$B/devtrace" record "${choice[@]}" -o trace.db ./prog "$@" >traced.out 2>traced.err
	traced=$?
	if [ "$alone" != "$traced" ]; then
		echo "# exit status $alone alone, $traced traced"
		tail -n 80 traced.err | sed 's/^/# /'
		return 1
	fi
	if ! cmp -s alone.out traced.out; then
		echo "# the output differs:"
		diff alone.out traced.out | head -n 6 | sed 's/^/# /'
		return 1
	fi
	if [ ! -e truth ] && [ "$source" != hostile.c ]; then
		echo "# the program told nothing"
		return 1
	fi
	"$B/test/tool/limit" 120 "$B/test/tool/compare-truth" ${PROBES:+-p} trace.db truth >compare.out || {
		cat compare.out
		return 1
	}
}

# One case: NAME|SOURCE|COMPILER|LEVEL|FLAGS|ARGUMENTS|what to do after building
run_case() {
	local name source compiler level flags arguments after ok
	IFS='|' read -r name source compiler level flags arguments after <<<"$1"
	local here=$dir/${name//[ \/]/_}
	mkdir -p "$here" && cd "$here" || return
	{
		to=prog build "$source" "$compiler" "$level" $flags &&
			if [ -n "$after" ]; then eval "$after"; fi && judge $arguments
	} >log 2>&1
	ok=$?
	# clang's code for thread-local data makes the assembler grumble
	if [ "$ok" = 0 ]; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		grep -v 'stand-alone .data16\|Assembler messages' log | sed 's/^[^#]/# &/' | head -n 100
	fi
	cd "$dir" && { [ "$ok" != 0 ] && [ -n "$KEEP" ] || sweep "$here"; }
}
export -f build judge run_case

plugin() { # makes plugin.so as the case is made
	echo "to=$3.so build plugin.c $1 $2 -fPIC -shared $4"
}

cases() {
	local compiler level source n how
	for compiler in gcc clang; do
		for level in -O0 -O2 -O3; do
			for source in recursion.c deep.c tail.c jump.c exception.cc threads.c coroutine.c \
				signals.c values.c vector.c leaf.c processes.c raw.c init.c migrate.c \
				frames.c stacks.c contexts.c; do
				echo "${source%.*} $compiler $level|$source|$compiler|$level|||"
			done
			echo "hostile $compiler $level|hostile.c|$compiler|$level|||"
			echo "hostile seccomp $compiler $level|hostile.c|$compiler|$level||seccomp|"
			[ $compiler = gcc ] && echo "nested gcc $level|nested.c|gcc|$level|||"
			echo "loader $compiler $level|loader.c|$compiler|$level|-rdynamic -ldl||$(plugin $compiler $level plugin '')"
			echo "loader two $compiler $level|loader.c|$compiler|$level|-rdynamic -ldl|./plugin.so ./other.so|$(plugin $compiler $level plugin '') && $(plugin $compiler $level other -DOTHER)"
		done
		for how in none exit _exit quick abort segv ill kill term thread trap; do
			echo "endings $how $compiler|endings.c|$compiler|-O2||$how|"
		done
		echo "linked $compiler|linked.c|$compiler|-O2|-rdynamic -Wl,--unresolved-symbols=ignore-all||$(plugin $compiler -O2 plugin '') && to=prog build linked.c $compiler -O2 -rdynamic ./plugin.so -Wl,-rpath,."
		for source in recursion.c tail.c jump.c exception.cc threads.c signals.c processes.c init.c; do
			n="${source%.*} $compiler"
			echo "$n static|$source|$compiler|-O2|-static||"
			echo "$n static-pie|$source|$compiler|-O2|-static-pie -fPIE||"
			echo "$n fixed|$source|$compiler|-O2|-no-pie -fno-pie||"
		done
		for source in threads.c signals.c coroutine.c contexts.c migrate.c processes.c; do
			# libc registers no thread for restartable sequences then, and devtrace does, or does not either
			echo "${source%.*} $compiler ourrseq|$source|$compiler|-O2|||export GLIBC_TUNABLES=glibc.pthread.rseq=0"
			echo "${source%.*} $compiler norseq|$source|$compiler|-O2|||export GLIBC_TUNABLES=glibc.pthread.rseq=0 DEVTRACE_NO_RSEQ=1"
		done
		for source in recursion.c tail.c exception.cc threads.c leaf.c; do
			n="${source%.*} $compiler"
			echo "$n cet|$source|$compiler|-O2|-fcf-protection=full||"
			echo "$n sections|$source|$compiler|-O2|-ffunction-sections -Wl,--gc-sections||"
			echo "$n protector|$source|$compiler|-O2|-fstack-protector-all -D_FORTIFY_SOURCE=2||"
			echo "$n size|$source|$compiler|-Os|-fomit-frame-pointer||"
			echo "$n stripped|$source|$compiler|-O2|||objcopy --only-keep-debug prog prog.debug && strip prog && objcopy --add-gnu-debuglink=prog.debug prog"
			echo "$n compressed|$source|$compiler|-O2|-gz -gdwarf-4||"
		done
		echo "recursion $compiler gold|recursion.c|$compiler|-O2|-fuse-ld=gold||"
		echo "exception $compiler lld|exception.cc|$compiler|-O2|-fuse-ld=lld||"
	done
	for source in recursion.c tail.c jump.c threads.c values.c processes.c; do
		echo "${source%.*} musl|$source|musl-gcc|-O2|-static||"
		echo "${source%.*} musl dynamic|$source|musl-gcc|-O2|||"
	done
	for source in recursion.c tail.c threads.c; do
		echo "${source%.*} lto|$source|gcc|-O2|-flto||"
		echo "${source%.*} asan|$source|gcc|-O1|-fsanitize=address,undefined||"
	done
}

selected() {
	local line word
	while IFS= read -r line; do
		for word; do
			case ${line%%|*} in *"$word"*) ;; *) continue 2 ;; esac
		done
		printf '%s\0' "$line"
	done
}

cases | share "" 2 | selected "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_case "$1" >"$dir/out.$$"; cat "$dir/out.$$"; rm -f "$dir/out.$$"' case
