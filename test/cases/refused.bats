# SPDX-License-Identifier: MIT
# Code that is not known to be safe to hook: it is left alone, and named.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	# what Go's linker says of a program: of all of it, or by its table of functions where it is
	cat >"$dir/go.c" <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		#define FUNCTION(name, body) ".globl " #name "\n.type " #name ", @function\n" #name ":\n" body "\n.size " #name ", .-" #name "\n"
		asm(".section .note.go.buildid, \"a\"\n.byte 0\n"
		    ".text\n.p2align 4\ngo_text:\n" FUNCTION(runtime_add, "lea 8(%rdi), %rax\nret") FUNCTION(runtime_sub, "lea -8(%rdi), %rax\nret")
		    ".p2align 4\ngo_end:\n");
		#ifdef TABLE
		asm(".section .gopclntab, \"a\"\n1:\n.long 0xfffffff1\n.byte 0, 0, 1, 8\n.quad 2, 1, go_text, 0, 0, 0, 0, 2f - 1b\n"
		    "2:\n.long 0, 0, runtime_sub - go_text, 0, go_end - go_text\n.text\n");
		#endif
		long runtime_add(long), runtime_sub(long);
		__attribute__((noinline)) long of_c(long n) { return runtime_sub(runtime_add(n)) + 1; }
		int main(int argc, char **argv)
		{
			long n = 0;
			for (int i = 0; i < 100; i++)
				n = of_c(n);
			printf("%ld\n", n);
			fflush(stdout);
			if (argc > 1)
				pause();
		}
	C
	gcc -O1 -no-pie -o "$dir/go" "$dir/go.c"
	gcc -O1 -no-pie -static -o "$dir/go-static" "$dir/go.c"
	gcc -O1 -no-pie -DTABLE -o "$dir/cgo" "$dir/go.c"
}

teardown_file() {
	rm -rf "$dir"
}

@test "refused: a Go program is not started, and it is said what can be traced of it" {
	for p in go go-static; do
		for choose in "-F go*:*" "-F main" "-F runtime_*" "-S"; do
			run "$dt" record -o "$dir/t.db" $choose "$dir/$p"
			[ "$status" = 1 ]
			one_line "$dir/$p: is a Go program: Go's stacks are too small for a hook" "-F 'libc.so.6:*'" --follow -k
		done
		run "$dt" "$dir/$p"
		[ "$status" = 1 ]
		one_line "is a Go program"
		run "$dt" list -v "$dir/$p"
		[[ $output == *":runtime_add"*"not: it is Go: its stacks are too small for a hook, and are moved"* ]]
	done
}

@test "refused: nor is one attached to" {
	exec {out}< <(exec "$dir/go" wait 3>&-)
	pid=$!
	read -r line <&"$out"
	[ "$line" = 100 ]
	maps=$(wc -l <"/proc/$pid/maps")
	run timeout 20 "$dt" attach -o "$dir/t.db" "$pid"
	[ "$status" = 1 ]
	[[ $output == *"process $pid: is a Go program: Go's stacks"* ]]
	[ "$(wc -l <"/proc/$pid/maps")" = "$maps" ]
	kill "$pid"
	exec {out}<&-
}

@test "refused: C code in a Go program is traced, and so are its libraries" {
	run "$dt" record -o "$dir/t.db" "$dir/cgo"
	[ "$status" = 0 ]
	[ "${lines[0]}" = 100 ]
	[[ $output == *"$dir/cgo: its functions of Go are not traced: Go's stacks are too small for a hook, and are moved"* ]]
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT function, count(*) FROM calls WHERE function IN ('of_c', 'runtime_add', 'runtime_sub') GROUP BY 1" | tr -d '\r')" = of_c,100 ]
	run "$dt" record -F 'libc.so.6:printf' -F 'libc.so.6:_IO_printf' -o "$dir/t.db" "$dir/go"
	[ "$status" = 0 ]
	[ "$output" = 100 ]
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls" | tr -d '\r')" = 1 ]
}

# as goroutines begin: whoever makes a stack pushes the address of a function and one
@test "refused: a function that hand-made stacks return to, behind its nop" {
	cat >"$dir/stacks.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#define FUNCTION(name, body) ".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body "\n.cfi_endproc\n.size " #name ", .-" #name "\n"
		/* run(stack, back, f): f on that stack, which returns to back */
		asm(".text\n.p2align 4\n" FUNCTION(run, "push %rbx\npush %rbp\nmov %rsp, saved(%rip)\nmov %rdi, %rsp\npush %rsi\njmp *%rdx")
		    ".p2align 4\n" FUNCTION(finish, ".cfi_undefined rip\nnop\ncall finish1\nnop")
		    ".p2align 4\n" FUNCTION(finish1, "mov saved(%rip), %rsp\npop %rbp\npop %rbx\nret")
		    ".local saved\n.comm saved, 8, 8\n");
		void run(char *stack, long back, void (*f)(void)), finish(void);
		static int n;
		static void body(void) { n++; }
		static volatile int behind = 1;
		int main(void)
		{
			char *stack = malloc(65536);
			for (int i = 0; i < 1000; i++)
				run(stack + 65536 - 64, (long)finish + behind, body);
			printf("%d\n", n);
		}
	C
	gcc -O1 -o "$dir/stacks" "$dir/stacks.c"
	run "$dir/stacks"
	[ "$output" = 1000 ]
	run "$dt" record -o "$dir/t.db" -F 'stacks:*' "$dir/stacks"
	[ "$status" = 0 ]
	[ "${lines[0]}" = 1000 ]
	unsound t.db # run leaves by a jump, on another stack than it was entered on
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'body'" | tr -d '\r')" = 1000 ]
	run "$dt" list -v "$dir/stacks"
	[[ $output == *":finish"$'\t'*"not: it begins with a nop and a call: whoever made its stack returns to behind the nop"* ]]
}
