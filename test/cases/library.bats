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

teardown() {
	[ -z "${recorder-}" ] || kill "$recorder" 2>/dev/null || true
	check_traces
}

# python SCRIPT ARGUMENT...: with what has been installed, and nothing else of the tree
python() {
	env -u DEVTRACE_LIBRARY PYTHONPATH="${installed_more-}${installed_more:+:}$installed/usr/python" DEVTRACE_LIBRARY="${library-$installed/usr/lib/libdevtrace.so.1}" \
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

@test "library: records, spans, named tuples and closing, as sql has them" {
	skip_sanitized
	sample s.db
	maketrace -n 60000 -c 2 -t 3 -l 5000 a.db >made
	maketrace -n 60000 -c 3 -t 7 -p 9000 b.db >made
	for f in s.db a.db b.db; do
		python "$BATS_TEST_DIRNAME/library.py" records $f
		python "$BATS_TEST_DIRNAME/library.py" spans $f
	done
	[ "$(python "$BATS_TEST_DIRNAME/library.py" named b.db)" = "'result' has not been read: calls(fields=(..., 'result'))
a call has no 'nonsense'; its fields are name, id, parent, begin_ticks, end_ticks, begin_ns, end_ns, duration_ns, self_ns, thread, process, function, depth, flags, core, arguments_known, results_known, args, result, text, arguments" ]
	[ "$(python "$BATS_TEST_DIRNAME/library.py" closed b.db)" = "b.db: the trace has been closed
b.db: the trace has been closed" ]
}

@test "library: columns are numpy's, frames pandas', equal to sql; without these, arrays" {
	skip_sanitized
	maketrace -n 60000 -c 3 -t 7 -p 9000 b.db >made
	mkdir without
	echo 'raise ImportError("not here")' | tee without/numpy.py >without/pandas.py
	for what in "same b.db" "without b.db"; do
		# shellcheck disable=SC2086 # words
		installed_more=$PWD/without python "$BATS_TEST_DIRNAME/library.py" $what >got
	done
	[ "$(cat got)" = "$(devtrace sql -n b.db 'SELECT count(*) FROM calls' | tr -d ' ') calls
to_pandas() needs pandas, which is not installed (Debian: python3-pandas); columns() does without" ]
	/usr/bin/python3 -c 'import numpy, pandas' 2>/dev/null || skip "there is no numpy, or no pandas (apt-get install python3-pandas)"
	[ "$(python "$BATS_TEST_DIRNAME/library.py" pandas b.db)" = "$(devtrace sql -n b.db 'SELECT count(*) FROM calls' | tr -d ' ') rows" ]
}

@test "library: a program's own count of its calls, at the end and while the trace grows" {
	skip_sanitized
	gcc -O2 -g -pthread -o churn "$root/test/counted/churn.c"
	devtrace record -o t.db -F 'churn:*' ./churn 30 >out 2>err
	[ "$(python "$BATS_TEST_DIRNAME/library.py" count t.db)" = "$(cat out) $(cat out)" ]
	rm -f t.db*
	# it waits for the file `go', then counts its calls of leaf()
	devtrace record -o t.db -F 'churn:*' ./churn 30 go >out 2>err 3>&- &
	recorder=$!
	until [ "$(sqlite3 t.db 'SELECT count(*) FROM chunk' 2>/dev/null || echo 0)" -gt 0 ]; do
		kill -0 "$recorder" || { cat err; false; }
		sleep 0.02
	done
	{ tail --pid="$recorder" -f /dev/null; echo ended; } | python "$BATS_TEST_DIRNAME/library.py" growing t.db go >got
	tail -n 1 out
	[ "$(cat got)" = "$(tail -n 1 out)" ]
}

@test "library: another version, another library, or none: one line" {
	skip_sanitized
	maketrace -n 1000 b.db >made
	try='import devtrace
try:
	devtrace.open("b.db")
	print("opened")
except devtrace.LibraryError as e:
	print(e)'
	grep -oE '\bdevtrace_\w+\(' "$installed/usr/include/libdevtrace.h" | grep -v 'devtrace_.*_flag' | tr -d '(' | sort -u >functions
	# one without a function, an older interface, a newer one (which has all that this one has), none of ours, no library
	sed 's/.*/int &(void) { return 0; }/' functions >all.c
	grep -v devtrace_calls_fill all.c >less.c
	sed 's/\(interface.*\)return 0/\1return 2/' all.c >newer.c
	for c in all less newer; do gcc -shared -fPIC -Wl,-soname,libdevtrace.so.1 -o $c.so $c.c; done
	echo text >text.so
	other="install the library and this module from the same devtrace"
	[ "$(library=$PWD/all.so python -c "$try")" = "$PWD/all.so is of interface 0, this module needs 1 or later: $other" ]
	[ "$(library=$PWD/less.so python -c "$try")" = "$PWD/less.so has no devtrace_calls_fill(): it is not libdevtrace, or one of another version; $other" ]
	# a later one is taken
	[ "$(library=$PWD/newer.so python -c "from devtrace import library; print(library.load().devtrace_interface())")" = 2 ]
	[ "$(library=libm.so.6 python -c "$try")" = "libm.so.6 has no devtrace_interface(): it is not libdevtrace, or one of another version; $other" ]
	for l in text.so none.so; do
		library=$PWD/$l run python -c "$try"
		[ "${#lines[@]}" = 1 ]
		[[ $output == "libdevtrace can not be loaded ($PWD/$l: "*"): \`make install' of devtrace installs it; DEVTRACE_LIBRARY can name another place" ]]
	done
	# installed beside the module, but with another soname: it is not taken for this one
	if ! /sbin/ldconfig -p | grep -q libdevtrace.so.1; then
		mkdir -p d/lib/python3/dist-packages
		cp -r "$installed/usr/python/devtrace" d/lib/python3/dist-packages
		cp "$installed/usr/lib/libdevtrace.so.1" d/lib/libdevtrace.so.2
		PYTHONPATH=$PWD/d/lib/python3/dist-packages run /usr/bin/python3 -c "$try"
		[[ $output == "libdevtrace can not be loaded (libdevtrace.so.1: "*"): "* ]]
		mv d/lib/libdevtrace.so.2 d/lib/libdevtrace.so.1
		[ "$(PYTHONPATH=$PWD/d/lib/python3/dist-packages /usr/bin/python3 -c "$try")" = opened ]
	fi
	# an extension for SQLite that is none
	run env PYTHONPATH="$installed/usr/python" DEVTRACE_LIBRARY="$installed/usr/lib/libdevtrace.so.1" DEVTRACE_SQLITE=text.so /usr/bin/python3 -c '
import devtrace
try:
	devtrace.open("b.db").sql("SELECT 1")
except devtrace.LibraryError as e:
	print(e)'
	[ "${#lines[@]}" = 1 ]
	[[ $output == "the extension for SQLite can not be loaded ("*"DEVTRACE_SQLITE can name another place" ]]
}
