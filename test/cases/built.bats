#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What is built is protected against those who overwrite its memory: readelf and nm look at the files.
root=${DEVTRACE_ROOT:-$PWD}
build=${DEVTRACE_BUILD:-$root/build}

# protected FILE: of a program or a library
protected() {
	readelf -hdlW "$1" >"$BATS_TEST_TMPDIR/elf"
	# with sanitizers commands begin sooner so (Makefile)
	[ "$build" != "$root/build" ] || grep -q 'Type: *DYN ' "$BATS_TEST_TMPDIR/elf" || { echo "$1 has one place in memory"; return 1; }
	grep -q 'GNU_RELRO' "$BATS_TEST_TMPDIR/elf" || { echo "$1 has no RELRO"; return 1; }
	grep -q 'BIND_NOW' "$BATS_TEST_TMPDIR/elf" || { echo "$1 binds late"; return 1; }
	grep -q 'GNU_STACK.* RW ' "$BATS_TEST_TMPDIR/elf" || { echo "the stack of $1 is executable"; return 1; }
	if grep -q 'TEXTREL' "$BATS_TEST_TMPDIR/elf"; then echo "the code of $1 is written to"; return 1; fi
	# what can be written and executed
	if grep -q 'LOAD.* RWE ' "$BATS_TEST_TMPDIR/elf"; then echo "$1 has code that can be written"; return 1; fi
}

# asks FILE WORD: does it take such a name from its libraries?
asks() {
	nm -D --undefined-only "$1" >"$BATS_TEST_TMPDIR/names"
	grep -q " $2" "$BATS_TEST_TMPDIR/names" || { echo "$1 has no $2"; return 1; }
}

# with sanitizers there is no library (Makefile)
files="devtrace lib/as"
[ "$build" != "$root/build" ] || files+=" libdevtrace-sqlite.so"

@test "programs and the library: any place in memory, nothing bound late, no stack that is executed" {
	for f in $files; do
		protected "$build/$f"
		asks "$build/$f" __stack_chk_fail
	done
}

@test "calls of libc that overflow are caught" {
	[ "$build" = "$root/build" ] || skip "the sanitizers do that"
	for f in $files; do
		asks "$build/$f" '__[a-z]*printf_chk'
	done
	asks "$build/devtrace" '__\(memcpy\|read\|strcpy\)_chk'
}

@test "each object file has targets of jumps marked; what goes into a traced process does not" {
	echo 'int f(int (*g)(void)) { return g(); }' >"$BATS_TEST_TMPDIR/f.c"
	gcc -fcf-protection -c -o "$BATS_TEST_TMPDIR/f.o" "$BATS_TEST_TMPDIR/f.c" || skip "the compiler has no such thing"
	find "$build"/{core,process,session,store,analyse,view,remote,cmd,sql,sqlite,instrument} -name '*.o' >"$BATS_TEST_TMPDIR/files" || [ ! -d "$build/sqlite" ]
	# one process looks at all of them: it says of which file what follows is
	xargs readelf -nW <"$BATS_TEST_TMPDIR/files" |
		awk '/^File: / { file = $2; files[file] } /x86 feature: IBT, SHSTK/ { marked[file] } END { for (f in files) if (!(f in marked)) print f, "has no marks"; print length(files) }' >"$BATS_TEST_TMPDIR/found"
	n=$(wc -l <"$BATS_TEST_TMPDIR/files")
	[ "$(<"$BATS_TEST_TMPDIR/found")" = "$n" ] || { cat "$BATS_TEST_TMPDIR/found"; false; }
	[ "$n" -gt "$([ "$build" = "$root/build" ] && echo 300 || echo 150)" ]
	# the words of the blob are those that its own flags give: no protector, no marks, nothing outside it
	for f in "$build"/arch/x86_64/target/*.o "$build"/target/*.o; do
		readelf -nW "$f" >"$BATS_TEST_TMPDIR/notes"
		run grep 'x86 feature' "$BATS_TEST_TMPDIR/notes"
		[ "$status" = 1 ]
		nm --undefined-only "$f" >"$BATS_TEST_TMPDIR/names"
		run grep '__stack_chk\|_chk$' "$BATS_TEST_TMPDIR/names"
		[ "$status" = 1 ]
	done
	objdump -d "$build/arch/x86_64/target/blob.elf" >"$BATS_TEST_TMPDIR/code"
	run grep -c endbr64 "$BATS_TEST_TMPDIR/code"
	[ "$output" = 0 ]
}

@test "large frames are touched page by page" {
	[ "$build" = "$root/build" ] || skip "not with the sanitizers"
	objdump -d "$build/devtrace" >"$BATS_TEST_TMPDIR/code"
	grep -q 'orq  *\$0x0,(%rsp)' "$BATS_TEST_TMPDIR/code"
}
