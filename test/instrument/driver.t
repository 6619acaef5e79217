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
has_copies() {
	mkdir -p one two && cp "$lib/as" one/as && cp "$lib/as" two/as && ln -sf ../one/as two/devtrace-as
	PATH=$tmp/one:$tmp/two:$PATH timeout 20 gcc -B one/ -O2 -c a.c -o a.o && has_sites a.o &&
		objdump -h a.o | awk '$2 == "devtrace_sites" { exit $3 != "00000018" }'
}
ok "several copies on the PATH add sleds once" copies
plan
