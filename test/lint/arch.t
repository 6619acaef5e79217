#!/bin/bash
# SPDX-License-Identifier: MIT
# What knows the processor stands in arch/: nothing else names its registers, its instructions, its object files or the
# library that decodes it, or includes more of arch/ than arch/arch.h. And who looks for such finds it.
. "$(dirname "$0")/common.bash"
echo 1..3
rooms=(core target elf process symbols hook session store analyse show export sql view remote cmd)
# names of registers count as words in quotes, or with a % in front: elsewhere they may be something else
names='rdtsc|Zydis|ZYDIS|EM_X86|R_X86|user_regs_struct|fs_base|endbr|__x86_64__|x86intrin|\brexw?\b|ModRM|modrm|[^a-z_]opcode[^,]'
names+='|["%](r[abcd]x|e[abcd]x|r[sd]i|e[sd]i|r[sb]p|e[sb]p|rip|eflags|rflags|r(8|9|1[0-5])[dwb]?|xmm)[0-9]*"'
bytes='0x(e8|e9|eb|cc|c3|66)\b *[,;})]|0x0f, *0x|0xff, *0x[0-9a-f]{2}\b|\\x(e8|e9|eb|cc|c3|0f|ff\\x25)'
# find_x86 FOLDER...: lines of code, not of remarks, that give it away
find_x86() {
	grep -rnE --include='*.c' --include='*.h' "$names|$bytes" "$@" |
		grep -vE '^[^:]*:[0-9]+:\s*(/?\*|//)' | grep -vE '^[^:]*:[0-9]+:[^"]*/\*[^"]*$'
}
# Left, each with its reason:
#  core/capture.[ch]   words of the language that ask for registers; the kernel's module is made of it too
#  core/processor.c    what the registers of all processors are called in files
#  cmd/record.c        the help's examples of these
#  symbols/prototype.c a prototype with a parameter of that name
left='^(core/capture\.[ch]|core/processor\.c|cmd/record\.c|symbols/prototype\.c):'
is 1 "nothing outside of arch/ gives the processor away" "$(find_x86 "${rooms[@]}" | grep -vE "$left")"
is 2 "all include arch/arch.h, and no file of a processor's" \
	"$(grep -rnE '#include "arch/[^"]+"' "${rooms[@]}" kernel instrument | grep -v '"arch/arch\.h"' |
		grep -vE '^target/.*"arch/inside\.h"')"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/room"
cat >"$scratch/room/a.c" <<'C'
static const uint8_t call[] = {0xe8, 0, 0, 0, 0}; // bad
dt_emit_bytes(o, "\xff\x25", 2); // bad
struct user_regs_struct r; // bad
if (h->e_machine == EM_X86_64) // bad
	return "rax"; // bad
uint64_t t = __rdtsc(); // bad
/* rdtsc and "rax" in a remark */
uint8_t low = v & 0x3f;
char *name = "max";
C
is 3 "what gives it away is found, and nothing else" "$(diff <(grep -n '// bad' "$scratch/room/a.c" | cut -d: -f1) \
	<(cd "$scratch" && find_x86 room | cut -d: -f2))"
