# SPDX-License-Identifier: MIT
# Programs that take their own code for data, as modules for FIPS 140 do, which check it before they begin, and copies of
# pieces of code: each says what it has found there. What stands in the file is another program's to say (objcopy).
bats_require_minimum_version 1.5.0
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	# the code of one file, whose bytes are added up when it runs, between two labels; and code outside
	cat >module.c <<-'C'
		__attribute__((noinline, noclone)) int inside(int n) { return n * 3 + 1; }
		__attribute__((noinline, noclone)) int inner(int n) { return inside(n) - inside(n + 1) + 5; }
	C
	printf '\t.globl module_%s\n\t.hidden module_%s\nmodule_%s:\tnop\n\t.section .note.GNU-stack,"",@progbits\n' begin begin begin >begin.S
	sed 's/begin/end/g' begin.S >end.S
	cat >own.c <<-'C'
		#include <stdio.h>
		#define HIDDEN __attribute__((visibility("hidden")))
		extern HIDDEN const unsigned char module_begin[], module_end[];
		extern int inner(int n);
		__attribute__((noinline)) unsigned long sum(const unsigned char *p, unsigned long n)
		{
			unsigned long s = n;

			while (n--)
				s = s * 31 + *p++;
			return s;
		}
		__attribute__((noinline)) int outside(int n) { return inner(n) + 1; }
		int main(void)
		{
			int n = 0;

			for (int i = 0; i < 10; i++)
				n += outside(i);
			printf("%lx %d\n", sum(module_begin, (unsigned long)(module_end - module_begin)), n);
			return 0;
		}
	C
}

# build NAME CC OPTION...
build() {
	"$2" -w "${@:3}" -o "$1" own.c begin.S module.c end.S
}

teardown_file() {
	cd /
	rm -rf "$dir"
}

@test "code that the program adds up stays as it is, whatever makes it, and what is outside is hooked" {
	local cc level kind n=0
	cd "$dir"
	for cc in gcc clang; do
		for level in O0 O1 Os O2 O3; do
			for kind in "-pie -fPIE" "-no-pie -fno-pie" "-static"; do
				# a third of them, others of each level
				n=$((n + 1))
				[ $((n % 4)) != 0 ] || continue
				# shellcheck disable=SC2086 # words
				build own "$cc" -$level $kind
				./own >alone
				"$dt" record -o t.db -F inside -F inner -F outside -F sum -- ./own >traced 2>said
				echo "$cc $level $kind: $(cat alone traced said)"
				cmp alone traced
				[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM calls WHERE function = 'outside'" | tr -d '\r')" = 10 ]
				"$dt" list -v own >listed
				grep -q '^own:inside	.*the program reads it as data' listed
				grep -q '^own:inner	.*the program reads it as data' listed
				[ "$(grep -cE '^own:(outside|sum|main)	.*reads it as data' listed)" = 0 ]
			done
		done
	done
}

@test "so does a stripped program's, with everything hooked, and with a tracepoint in it" {
	cd "$dir"
	build own gcc -O2
	strip -o bare own
	./bare >alone
	"$dt" record -o t.db -F '*' -- ./bare >traced 2>said
	cat said
	cmp alone traced
	"$dt" record -o t.db -T inside -T 'inside+4' -F outside -- ./own >traced 2>said
	cat said
	cmp alone traced
	grep -q "1 not: inside" said
}
