#!/bin/bash
# SPDX-License-Identifier: MIT
# What devtrace-as makes of assembly text, case by case.
. "$(dirname "$0")/lib.sh"

for s in "$here"/golden/*.s; do
	n=${s##*/}
	text <"$s" >got
	ok "text of ${n%.s}" diff "${s%.s}.out" got
done

# an instruction that no assembler knows, at the end of every case, is reported with its line
line_kept() {
	local at
	sed '/\.ident/i\	nonsense' "$here/golden/$1.s" >case.s
	at=$(grep -n nonsense case.s | cut -d: -f1)
	"$lib/as" -o case.o case.s 2>&1 | grep "^case.s:$at: Error: no such instruction: .nonsense" &&
		"$lib/as" -o case.o <case.s 2>&1 |
		grep "^{standard input}:$at: Error: no such instruction: .nonsense"
}
for n in cold entry special intel crlf clang; do
	ok "line numbers of $n" line_kept $n
done

# short jumps that no longer reach are errors, never wrong code
out_of_reach() {
	{
		printf '\t.file\t"x.c"\n\t.text\n\t.type\tf, @function\nf:\n.L1:\n'
		for i in $(seq 10); do printf '\tje\tg\n'; done
		printf '\tloop\t.L1\n\tret\n\t.ident\t"GCC: (x) 12"\n'
	} >reach.s
	as -o reach.o reach.s && ! "$lib/as" -o reach.o reach.s 2>message &&
		grep 'too large for field of 1 byte' message
}
ok "a loop instruction out of reach is an error" out_of_reach

long_lines() {
	{
		printf '\t.file\t"x.c"\n\t.text\n\t.type\tf, @function\nf:\n\tret\n\t.data\n\t.ascii\t"'
		head -c 3000000 /dev/zero | tr '\0' a
		printf '"\n\t.ident\t"GCC: (x) 12"'
	} >long.s
	text <long.s | grep -c Ldtr_1 && "$lib/as" -o long.o long.s && size long.o
}
ok "long lines, no newline at the end" long_lines

# whatever comes in, what is not recognised goes out as it came
noise() {
	for i in 1 2 3 4 5 6; do
		head -c $((i * 1000)) "$lib/as" >noise
		text <noise | cmp - noise || return 1
	done
	: >empty
	text <empty | cmp - empty
}
ok "anything else is copied" noise

# cut anywhere, compiler output neither crashes the wrapper nor loses text
cut_short() {
	local size i
	size=$(wc -c <"$here/golden/clang.s")
	for ((i = 40; i < size; i += 23)); do
		{
			head -c $i "$here/golden/clang.s"
			printf '\n\t.ident\t"clang version 14"\n'
		} >cut.s
		text <cut.s >cut.out || return 1
		[ "$(wc -l <cut.out)" -ge "$(wc -l <cut.s)" ] || return 1
	done
}
ok "input cut anywhere" cut_short
# one SECTION LINES...: the text of a function with these lines in front of its instructions, in the section that is given
one() {
	printf '\t.file\t"x.c"\n\t%s\n\t.type\tf, @function\nf:\n' "$1"
	shift
	printf '\t%s\n' "$@" 'movl %edi, %eax' ret '.size f, .-f' $'.ident\t"GCC: (x) 12"'
}

# what takes room is no part of what a function begins with: the sled stands before it, whichever directive it is
room_first() {
	local d said bad=0
	for d in '.byte 144' '.short 1' '.value 1' '.string "a"' '.ascii "a"' '.skip 2' '.zero 2' '.fill 3' '.nops 3' '.nop' \
		'.org 9' '.align 8' '.balign 8' '.balignw 8,0' '.p2align 3' '.p2align 4,,10'; do
		said=$(one .text "$d" | text | grep -F "$d")
		[[ $said == *devtrace_entry* ]] || { echo "$d: $said"; bad=1; }
	done
	return $bad
}
ok "whatever takes room at a function's beginning has the sled before it" room_first

# only sections whose flags say so hold code, whatever their name; without flags those of .text
sections_with_code() {
	local s want n bad=0
	while IFS='|' read -r want s; do
		n=$(one "$s" | text | grep -c devtrace_entry-)
		[ "$n" = "$want" ] || { echo "$s: $n"; bad=1; }
	done <<-'E'
		1|.section .odd,"ax",@progbits
		1|.section .odd,"xa"
		1|.section .odd,"axG",@progbits,group,comdat
		1|.section .odd,"Gax",@progbits,group
		1|.section .odd,"awx",@progbits
		1|.section .odd,"axR",@progbits
		1|.section .text.odd
		1|.section .text
		0|.section .odd
		0|.section .odd,"a",@progbits
		0|.section .odd,"aw",@progbits
		0|.section .odd,"w"
		0|.section .odd,"",@progbits
		0|.section .text.odd,"a",@progbits
		0|.section .odd,"aG",@progbits,group,comdat
		0|.section .odd,"awG",@progbits,group
		0|.section .odd,"axG",@progbits
		0|.section .odd,"axo",@progbits,f
		0|.section .notrace.text,"ax",@progbits
		0|.section .noinstr.text,"ax",@progbits
		0|.data
		0|.bss
	E
	return $bad
}
ok "functions in sections of any flags" sections_with_code

plan
