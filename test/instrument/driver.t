#!/bin/bash
# SPDX-License-Identifier: MIT
# devtrace-as in front of the assembler: what it leaves alone, errors, options, file forms.
. "$(dirname "$0")/lib.sh"

cat >a.c <<'C'
int g(int);
int f(int x) { return g(x) + 1; }
C
cat >bad.c <<'C'
int f(int x) { __asm__("nonsense %0" : "+r"(x)); return x; }
C
printf '\t.text\n\t.globl f\n\t.type f,@function\nf:\tret\n\t.size f,.-f\n' >hand.s
printf '#define R ret\n\t.globl f\n\t.type f,@function\nf:\tR\n' >pre.S
sed 's/f(/h(/' a.c >b.c
: >empty.s
has_sites() { readelf -SW "$1" | grep -q ' devtrace_sites '; }

untouched() {
	local c=$1
	shift
	"$c" "$@" -o plain.o && cc "$c" "$@" -o with.o && cmp plain.o with.o && ! has_sites with.o
}
for c in gcc clang; do
	[ $c = clang ] && own=-fno-integrated-as || own=
	ok "$c: hand-written .s untouched" untouched $c $own -c hand.s
	ok "$c: hand-written .S untouched" untouched $c $own -c pre.S
	ok "$c: .S with -g untouched" untouched $c $own -g -c pre.S
done
ok "gcc -m16 untouched" untouched gcc -m16 -c a.c
ok "a file without functions is untouched" untouched gcc -x c -c /dev/null

with_sites() { rm -f a.o && cc "$@" && has_sites a.o; }
for c in gcc clang; do
	ok "$c -c -o" with_sites $c -O2 -c a.c -o a.o
	ok "$c -pipe" with_sites $c -pipe -O2 -c a.c -o a.o
	ok "$c -save-temps" with_sites $c -save-temps -O2 -c a.c -o a.o
	ok "$c -Wa options" with_sites $c -O2 -Wa,--noexecstack,-I,. -c a.c -o a.o
	ok "$c -g -gdwarf-5" with_sites $c -g -gdwarf-5 -c a.c -o a.o
	ok "$c, -S and then -c" eval "$c -O2 -S a.c -o s.s && with_sites $c -c s.s -o a.o"
done
ok "-fno-ident" with_sites gcc -fno-ident -c a.c -o a.o
ok "-fverbose-asm" with_sites gcc -fverbose-asm -c a.c -o a.o
two_files() { cc gcc -c a.c b.c && has_sites a.o && has_sites b.o; }
ok "several files" two_files
as_two() { gcc -S a.c && "$lib/as" a.s empty.s -o ab.o && ! has_sites ab.o; }
ok "as with several files is left alone" as_two
listing() { cc gcc -c a.c -o a.o -Wa,-alh=list && grep -q 'call.*g' list; }
ok "a listing" listing
ok "--version" eval '"$lib/as" --version | grep -q "GNU assembler"'

# the same messages and status as without sleds, but for the name of a temporary file
status() {
	local c=$1 expected rc
	shift
	"$c" "$@" -c bad.c -o bad.o >plain 2>&1
	expected=$?
	cc "$c" "${@/#-fno-integrated-as/-O0}" -c bad.c -o bad.o >with 2>&1
	rc=$?
	cat with
	[ $rc = $expected ] && [ $rc != 0 ] && [ ! -e bad.o ] &&
		grep -q "bad.*:[0-9]*: Error: no such instruction: .nonsense" with &&
		diff <(sed 's/[^ ]*\.s:/X:/' plain) <(sed 's/[^ ]*\.s:/X:/' with)
}
ok "gcc: error and status" status gcc
ok "gcc -pipe: error and status" status gcc -pipe
ok "clang: error and status" status clang -fno-integrated-as
missing() {
	"$lib/as" nowhere.s -o x.o 2>with
	[ $? = 1 ] && as nowhere.s -o x.o 2>plain
	diff plain with
}
ok "a missing file" missing
full() { ! cc gcc -c a.c -o /dev/full 2>message && grep -q . message; }
ok "an output that cannot be written" full
none() {
	PATH=$lib "$lib/as" a.s 2>message
	[ $? = 1 ] && grep -q "no assembler 'as' on the PATH" message
}
ok "no assembler" none
chosen() {
	printf '#!/bin/sh\necho mine >&2\nexit 7\n' >my-as && chmod +x my-as
	DEVTRACE_AS=$tmp/my-as "$lib/as" a.s 2>message
	[ $? = 7 ] && grep -q mine message
}
ok "DEVTRACE_AS" chosen
not_found() {
	DEVTRACE_AS=/nowhere "$lib/as" a.s 2>message
	[ $? = 1 ] && grep -q 'cannot run the assembler /nowhere: No such file' message
}
ok "DEVTRACE_AS that does not exist" not_found

# as different files, and one file under two names
copies() {
	mkdir -p one two && cp "$lib/as" one/as && cp "$lib/as" two/as && ln -sf ../one/as two/devtrace-as
	PATH=$tmp/one:$tmp/two:$PATH timeout 20 gcc -B one/ -O2 -c a.c -o a.o && has_sites a.o &&
		objdump -h a.o | awk '$2 == "devtrace_sites" { exit $3 != "00000018" }'
}
ok "several copies on the PATH add sleds once" copies
plan
