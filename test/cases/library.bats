# SPDX-License-Identifier: MIT
# libdevtrace and the Python module on it: what they give is what the commands and programs say; what is installed is
# enough; damaged files and other versions are errors of one line.
load read-helper
bats_require_minimum_version 1.5.0

export PYTHONDONTWRITEBYTECODE=1

setup_file() {
	export root
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	# the library and its module are not built with sanitizers: test/tool/walk-library.c is, for hostile files
	export plain=$root/build installed=$BATS_FILE_TMPDIR/installed
	[[ ${DEVTRACE_BUILD-} == *san* ]] || make -C "$root" -s install-library DESTDIR="$installed" PREFIX=/usr PYTHONDIR=/usr/python >&2
}

# python SCRIPT ARGUMENT...: with what has been installed, and nothing else of the tree
python() {
	env -u DEVTRACE_LIBRARY PYTHONPATH="$installed/usr/python" DEVTRACE_LIBRARY="${library-$installed/usr/lib/libdevtrace.so.1}" \
		DEVTRACE_SQLITE="$plain/libdevtrace-sqlite.so" /usr/bin/python3 -W "${warn:-ignore}" "$@"
}

skip_sanitized() {
	[[ $build != *san* ]] || skip "the library is not built with sanitizers"
}

@test "library: only what the header declares is exported, each by the version DEVTRACE_1" {
	skip_sanitized
	local so=$installed/usr/lib/libdevtrace.so.1
	nm -D --defined-only "$so" | awk '$2 != "A" {print $3}' | sort >exported
	grep -oE '\bdevtrace_\w+\(' "$installed/usr/include/libdevtrace.h" | grep -v 'devtrace_.*_flag' | tr -d '(' | sort -u | sed 's/$/@@DEVTRACE_1/' >declared
	# what a comment mentions is declared, too
	diff declared exported
	[ "$(wc -l <exported)" -gt 20 ]
	[ "$(readelf -d "$so" | grep -c 'SONAME.*\[libdevtrace.so.1\]')" = 1 ]
	# it ends no program, forks none, and has nothing to do with signals and the network
	run ! grep -E '^(_?exit|abort|v?fork|exec.*|kill|raise|signal|sigaction|socket|connect|system|pthread_create|setenv|chdir)(@|$)' < <(
		nm -D --undefined-only "$so" | awk '{print $2}' | grep -v '^exit@')
	# only the demangler's allocation might exit, which nothing of ours calls
	nm -u "$plain"/reader/library/*.o | awk 'NF > 1 {print $2}' | sort -u >own
	run ! grep -xE '_?exit|abort|.*printf(_chk)?|puts|fwrite|stdout|stderr' own
}

@test "library: a program in C, built with installed files only, has the calls of export" {
	skip_sanitized
	sample s.db
	maketrace -n 60000 -c 2 -t 3 -l 5000 a.db >made
	cp "$root/examples/read-trace.c" .
	sed "s|^prefix=.*|prefix=$installed/usr|; s|^libdir=.*|libdir=$installed/usr/lib|" "$installed/usr/lib/pkgconfig/libdevtrace.pc" >libdevtrace.pc
	export PKG_CONFIG_PATH=$PWD LD_LIBRARY_PATH=$installed/usr/lib
	# shellcheck disable=SC2046 # words
	gcc -Wall -Wextra -Werror -o read-trace read-trace.c $(pkg-config --cflags --libs libdevtrace)
	# shellcheck disable=SC2046
	g++ -Wall -Wextra -Werror -x c++ -fsyntax-only -include libdevtrace.h /dev/null $(pkg-config --cflags libdevtrace)
	for f in s.db a.db; do
		devtrace export --csv $f 2>err | tail -n +2 | tr -d '\r' | cut -d, -f1-5,8-12 | sort >want
		./read-trace $f | sort >got
		diff want got | head >differs
		[ ! -s differs ] || { cat differs; return 1; }
	done
	[ "$(wc -l <got)" -gt 29000 ]
	run ./read-trace no.db
	[ "$status" = 1 ]
	[ "$output" = "no.db: no such file; \`devtrace record\` writes one" ]
}

@test "library: the example of the man page is a program" {
	skip_sanitized
	sample s.db
	man -l --encoding=UTF-8 "$installed/usr/share/man/man3/libdevtrace.3" >/dev/null
	sed -n '/^\.RS/,/^\.RE/p' "$installed/usr/share/man/man3/libdevtrace.3" | sed '/^\.R[SE]/d; s/\\-/-/g; s/\\e/\\/g' >example.c
	gcc -Wall -Wextra -Werror -I"$installed/usr/include" -o example example.c -L"$installed/usr/lib" -ldevtrace
	LD_LIBRARY_PATH=$installed/usr/lib run ./example s.db
	echo "$output"
	[ "$status" = 0 ]
	[ "$(LD_LIBRARY_PATH=$installed/usr/lib ./example no.db 2>&1)" = "no.db: no such file; \`devtrace record\` writes one" ]
}

@test "library: Python iterates the calls of sql, and columns are the same" {
	skip_sanitized
	sample s.db
	maketrace -n 60000 -c 2 -t 3 -l 5000 a.db >made
	maketrace -n 60000 -c 3 -t 7 -p 9000 b.db >made
	for f in s.db a.db b.db; do
		python "$BATS_TEST_DIRNAME/library.py" same $f
	done
	[ "$(warn=error python "$BATS_TEST_DIRNAME/library.py" lost a.db)" = "IncompleteWarning: a.db: $(devtrace sql -n a.db 'SELECT sum(records) FROM lost' | tr -d ' ') records were lost: calls are missing, or have the flag 64" ]
}
