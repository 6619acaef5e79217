# SPDX-License-Identifier: MIT
# Tracepoints at any instruction: what they capture, how they are set, changed and taken away.
load one-session

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	# every register, the flags and the stack are known at `here'
	cat >"$dir/known.S" <<-'S'
		.globl	known, here, late
		.type	known, @function
	known:
		push	%rbx
		push	%rbp
		push	%r12
		push	%r13
		push	%r14
		push	%r15
		sub	$24, %rsp
		movq	$0x5ac0, 0(%rsp)
		movq	$0x5ac8, 8(%rsp)
		movq	$0x2ed2, -128(%rsp)		/* the red zone's first word */
		lea	words+16(%rip), %rbp
		mov	$0x1111111111111111, %rax
		mov	$0x2222222222222222, %rbx
		mov	$0x3333333333333333, %rcx
		mov	$0x4444444444444444, %rdx
		mov	$0x5555555555555555, %rsi
		mov	$0x7777777777777777, %r8
		mov	$0x9999999999999999, %r9
		mov	$0xaaaaaaaaaaaaaaaa, %r10
		mov	$0xbbbbbbbbbbbbbbbb, %r11
		mov	$0xcccccccccccccccc, %r12
		mov	$0xdddddddddddddddd, %r13
		mov	$0xeeeeeeeeeeeeeeee, %r14
		mov	$0xffffffffffffff01, %r15
		mov	$0x3ff8000000000000, %rdi
		movq	%rdi, %xmm3
		mov	$0x6666666666666666, %rdi
		stc
		std
		nop					/* before a symbol there must be room to jump from */
		nop
		nop
		nop
	here:
		nop
		nop
		nop
		nop
		nop
	late:
		/* all of it is as it was: else it says where */
		jnc	9f
		pushf
		cld
		testl	$0x400, (%rsp)
		lea	8(%rsp), %rsp
		jz	9f
		cmpq	$0x2ed2, -128(%rsp)
		jne	9f
		cmp	$0x3333333333333333 & 0x7fffffff, %ecx
		jne	9f
		add	%rax, %rbx
		add	%rbx, %rdx
		add	%rdx, %rsi
		add	%rsi, %rdi
		add	%rdi, %r8
		add	%r8, %r9
		add	%r9, %r10
		add	%r10, %r11
		add	%r11, %r12
		add	%r12, %r13
		add	%r13, %r14
		add	%r14, %r15
		mov	%r15, %rax
		add	$24, %rsp
		pop	%r15
		pop	%r14
		pop	%r13
		pop	%r12
		pop	%rbp
		pop	%rbx
		ret
	9:	ud2
		.size	known, . - known
		.data
		.globl	words, datum
	words:	.quad	0xf0, 0xf8, 0xf100, 0xf108
	datum:	.quad	0xda7a
		.section .note.GNU-stack, "", @progbits
	S
	cat >"$dir/main.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		unsigned long known(void);
		__attribute__((noinline)) int chase(int **p) { return p != 0; }
		int main(int argc, char **argv)
		{
			int turns = argc > 1 ? atoi(argv[1]) : 3, i;
			unsigned long sum = 0;
			puts("ready");
			fflush(stdout);
			/* a second word names a file: the turns go on until it exists */
			for (i = 0; i < turns || (argc > 2 && access(argv[2], F_OK)); i++) {
				sum = known() + (unsigned)chase((int **)16);
				if (turns > 100)
					usleep(1000);
			}
			printf("%lx\n", sum);
			if (argc > 2)
				printf("%d\n", i);
			return 0;
		}
	C
	sed 's/0x3333333333333333 & 0x7fffffff/0x33333333/' "$dir/known.S" >"$dir/k.S"
	gcc -O1 -g -o "$dir/known" "$dir/main.c" "$dir/k.S"
	cat >"$dir/vars.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		struct inner { short a; signed char b; unsigned char c; };
		struct node {
			struct node *next;
			int len;
			const char *name;
			union { int anon; float f; };
			struct inner in[3];
			char text[16];
			unsigned bit : 3;
			double d;
			enum { RED = 3, BLUE = -5 } color;
		};
		static struct node third = {0, -42, "the third", {7}, {{1, -2, 200}, {3, -4, 250}, {-5, 6, 7}}, "inline", 2, 2.5, BLUE};
		static struct node second = {&third, 22, "the second", {8}, {{0}}, "x", 1, 1.5, RED};
		static struct node first = {&second, 11, "the first", {9}, {{0}}, "y", 1, 0.5, RED};
		int counter = 1000;
		__attribute__((noinline)) long work(long a, struct node *p, char **argv, double ratio)
		{
			long sum = a;
			int array[4] = {10, 20, 30, -40};

			counter++;
			for (int i = 0; i < 4; i++)
				sum += array[i] + p->len; /* in the loop */
			sum += (long)ratio + (argv[1] ? argv[1][0] : 0); /* behind it */
			return sum;
		}
		int main(int argc, char **argv)
		{
			printf("%ld\n", work(5, &first, argv, 1.25));
			return 0;
		}
	C
	gcc -O0 -g -o "$dir/vars0" "$dir/vars.c"
	gcc -O2 -g -o "$dir/vars2" "$dir/vars.c"
	clang -O2 -g -o "$dir/varsc" "$dir/vars.c"
}

line() { grep -n "$1" "$dir/vars.c" | cut -d: -f1; }

@test "check-053-registers: every register, flags, stack, frame and memory as they are" {
	cd "$dir"
	"$dt" record -o k.db -T 'here ALLREGS PSR STACK 0 STACK 8 FRAME 0 FRAME -8 LOC datum LOC words+8 REG xmm3 REG ax REG dil REG r15d REG eflags' ./known >out
	alone=$(./known)
	[ "$(cat out)" = "$alone" ]
	"$dt" calls k.db | grep -v '^#' | tr '\n' ' ' | sed 's/\* *//g' >calls
	for v in rax=0x1111111111111111 rbx=0x2222222222222222 rcx=0x3333333333333333 rdx=0x4444444444444444 \
		rsi=0x5555555555555555 rdi=0x6666666666666666 r8=0x7777777777777777 r9=0x9999999999999999 \
		r10=0xaaaaaaaaaaaaaaaa r11=0xbbbbbbbbbbbbbbbb r12=0xcccccccccccccccc r13=0xdddddddddddddddd \
		r14=0xeeeeeeeeeeeeeeee r15=0xffffffffffffff01 stack+0=0x5ac0 stack+8=0x5ac8 frame+0=0xf100 frame-8=0xf8 \
		datum=0xda7a words+8=0xf8 xmm3=1.5 ax=4369 dil=102 r15d=4294967041; do
		[ "$(grep -o -- "$v[,) ]" calls | wc -l)" = 3 ] || { echo "$v"; cat calls; false; }
	done
	"$dt" cat -k k.db | grep '^here' >lines
	grep -q 'rax=1111111111111111 rbx=2222222222222222 rcx=3333333333333333 rdx=4444444444444444$' lines
	grep -q 'rip=[0-9a-f]* (here) rflags=[0-9a-f]* rflags=[0-9a-f]* stack+0=5ac0$' lines
	# carry and direction
	flags=$(grep -o 'rflags=0x[0-9a-f]*' calls | head -n 1 | cut -d= -f2)
	[ $((flags & 0x401)) = $((0x401)) ]
	[ "$(grep -o 'eflags=0x[0-9a-f]*' calls | sort -u)" = "eflags=$flags" ]
}

# bats test_tags=long
@test "each flag of arithmetic and the direction are as they were, in all combinations" {
	cd "$dir"
	cat >flags.c <<-'C'
		#include <stdio.h>
		/* CF, PF, AF, ZF, SF, DF, OF */
		static const unsigned long flag[] = {1, 4, 16, 64, 128, 0x400, 0x800};
		unsigned long set(unsigned long flags);
		__asm__(".text\n.globl set, there\nset: push %rdi\n popfq\n nop\n nop\n nop\n nop\n nop\n"
			"there: nop\n nop\n nop\n nop\n nop\n nop\n pushfq\n cld\n pop %rax\n ret\n"
			".type set, @function\n.size set, . - set\n");
		int main(void)
		{
			int wrong = 0;
			for (int i = 0; i < 128; i++) {
				unsigned long f = 0x202;
				for (int b = 0; b < 7; b++)
					f |= i >> b & 1 ? flag[b] : 0;
				wrong += set(f) != f;
			}
			printf("%d\n", wrong);
			return 0;
		}
	C
	gcc -O1 -fcf-protection=none -o flags flags.c
	"$dt" record -o f.db -T 'there REG rflags' ./flags >said 2>err || { cat err; return 1; }
	[ "$(cat said)" = 0 ]
	[ "$("$dt" calls f.db | grep -c 'rflags=0x')" = 128 ]
}

@test "check-052-any-instruction: each of a function is one" {
	cd "$dir"
	alone=$(./known)
	objdump -d known --no-show-raw-insn --disassemble=known | awk -F: '/^ +[0-9a-f]+:\t/ && !/nop|ud2/ {gsub(/ /, "", $1); print $1}' >places
	n=$(wc -l <places)
	[ "$n" -gt 50 ]
	[ "$n" -le 64 ]
	# all at once, in one window after the other
	args=()
	while read -r p; do args+=(-T "0x$p REG rsp"); done <places
	[ "$("$dt" record -o all.db "${args[@]}" ./known 2>err)" = "$alone" ] || { cat err; false; }
	[ "$(sqlite3 all.db "SELECT count(DISTINCT pc) FROM site WHERE kind = 'P'")" = "$n" ]
	# each alone
	while read -r p; do
		[ "$("$dt" record -o one.db -T "0x$p ALLREGS" ./known 2>err)" = "$alone" ] || { echo "$p"; cat err; false; }
		[ "$("$dt" calls one.db | grep -c 'rax=')" = 3 ] || { echo "$p"; "$dt" calls one.db; false; }
	done <places
}

@test "check-012-points: consecutive instructions, names, updates, deletion" {
	cd "$dir"
	start_spin "$dir/known" 100000
	"$dt" attach -d -s "$session" "$pid"
	ctl trace known REG rsp known+1 known+2 known+4
	ctl trace here CONST 7
	[ "$(ctl list)" = "known                    REG rsp
known+1
known+2
known+4
here                     CONST 0x7" ]
	ctl start
	read_shell() { "$dt" shell -s "$session" -c printclear; }
	for i in $(seq 3000); do [ "$(ctl | sed -n 's/#tracehits \([0-9]*\).*/\1/p')" -gt 20 ] && break; sleep 0.01; done
	read_shell >out
	[ "$(head -n 40 out | cut -d' ' -f1 | sort | uniq -c | awk '{print $2}' | tr '\n' ' ')" = "here known known+1 known+2 known+4 " ]
	grep -q 'here .* const=7$' out
	[ "$(ctl trace known+2 REG rax)" = "kitrace: Tracepoint at known+2 already exists, updating" ]
	[ "$(ctl trace here REG rax)" = "kitrace: Tracepoint at here already exists, updating" ]
	read_shell >/dev/null
	for i in $(seq 3000); do [ "$(ctl | sed -n 's/.*in queue \([0-9]*\).*/\1/p')" -gt 20 ] && break; sleep 0.01; done
	read_shell >out
	grep -q '^here .* rax=1111111111111111$' out
	grep -q '^known+2 .* rax=' out
	! grep -q 'const=' out || false
	# nothing of the old one, and what is deleted is gone
	ctl delete known+1 known
	read_shell >/dev/null
	for i in $(seq 3000); do [ "$(ctl | sed -n 's/.*in queue \([0-9]*\).*/\1/p')" -gt 20 ] && break; sleep 0.01; done
	read_shell >out
	! grep -q '^known[ ]' out || false
	! grep -q '^known+1 ' out || false
	ctl >saved
	ctl quit
	while kill -0 "$pid" && grep -q devtrace "/proc/$pid/maps"; do sleep 0.02; done
	# it replays to the same
	"$dt" attach -d -s "$session" "$pid"
	ctl - <saved
	[ "$(ctl | grep '^trace')" = "$(grep '^trace' saved)" ]
	ctl quit
	stop_spin
}

@test "check-054-triggers: FREEZE keeps what belongs together, UNFREEZE begins with its own" {
	cd "$dir"
	start_spin "$dir/known" 100000
	"$dt" attach -d -s "$session" "$pid"
	ctl freeze
	ctl trace known UNFREEZE ALLREGS late FREEZE ALLREGS
	ctl start
	for i in $(seq 3000); do [ "$(ctl | grep -c '^freeze')" = 1 ] && [ "$(ctl | sed -n 's/#tracehits \([0-9]*\).*/\1/p')" -ge 10 ] && break; sleep 0.01; done
	"$dt" shell -s "$session" -c print >out
	[ "$(cut -d' ' -f1 out | head -n 2 | tr '\n' ' ')" = "known late " ]
	[ "$(grep -o 'r15=[0-9a-f]*' out | wc -l)" = "$(wc -l <out)" ]
	grep -q '^late.*FREEZE.*rflags=' out
	ctl quit
	stop_spin
}

@test "check-056-bad-memory: what can not be read is said, and harms nobody" {
	cd "$dir"
	alone=$(./known)
	for option in 'FRAME 7fffffff' 'STACK 7fff0000' 'LOC 0x10' 'LOC 0xffffffffff600000' 'LOC 0x7fffffffffff'; do
		[ "$("$dt" record -o bad.db -T "here $option REG rax" ./known)" = "$alone" ]
		[ "$("$dt" calls bad.db | grep -c '=?, rax=0x1111111111111111)')" = 3 ] || { echo "$option"; "$dt" calls bad.db; false; }
	done
	# between the segments of a file there may be nothing
	python3 - known >gaps <<-'P'
		import struct, sys
		b = open(sys.argv[1], 'rb').read()
		off, n = struct.unpack_from('<Q', b, 32)[0], struct.unpack_from('<H', b, 56)[0]
		loads = [struct.unpack_from('<IIQQQQQQ', b, off + 56 * i) for i in range(n)]
		loads = [(l[3], l[3] + l[6]) for l in loads if l[0] == 1]
		for (_, a), (c, _) in zip(loads, loads[1:]):
		    a = (a + 4095) & ~4095
		    if (c & ~4095) > a: print(hex(a))
		print(hex(loads[-1][1] + 4096 * 64))
	P
	while read -r at; do
		[ "$("$dt" record -o bad.db -T "here LOC __ehdr_start+$at REG rax" ./known 2>err)" = "$alone" ] ||
			[ "$("$dt" record -o bad.db -T "here LOC _init+$at REG rax" ./known 2>err)" = "$alone" ] || { cat err; false; }
	done <gaps
	[ "$("$dt" record -o bad.db -T 'chase VALUE p VALUE **p' ./known)" = "$alone" ]
	"$dt" calls bad.db | grep -q 'p=0x10, \*\*p=?'
	"$dt" cat -k bad.db | grep -q ' p=10 \*\*p=?$'
}

@test "check-093-variables: names of the source and chains, as they are there" {
	cd "$dir"
	in=$(line 'in the loop') behind=$(line 'behind it')
	what="VALUE p->next->len VALUE p->next->next->in[1].b VALUE p->next->next->in[2].a VALUE p->next->next->color VALUE p->anon VALUE p->d VALUE p->next->next->in[1].c VALUE counter VALUE argv[1] VALUE p->next->next->text TEXT p->name VALUE p->next->next->next->len"
	for prog in vars0 vars2 varsc; do
		# what an optimizer has not kept is said
		[ "$prog" = vars0 ] || what=${what/ VALUE argv\[1\]/}
		"$dt" record -o v.db -T "vars.c:$behind $what" "./$prog" "an argument" >out
		"$dt" calls v.db | grep -v '^#' | tr '\n' ' ' | sed 's/ *\* */ /g' >calls
		for v in 'p->next->len=22' 'p->next->next->in\[1\].b=-4' 'p->next->next->in\[2\].a=-5' 'p->next->next->color=BLUE' \
			'p->anon=9' 'p->d=0.5' 'p->next->next->in\[1\].c=250' 'counter=1001' 'argv\[1\]="an argument"' \
			'p->next->next->text="inline"' 'p->name="the first"' 'p->next->next->next->len=?'; do
			[ "$prog${v%%=*}" = "$prog"'argv\[1\]' ] && [ "$prog" != vars0 ] && continue
			grep -q -- "$v" calls || { echo "$prog: $v"; cat calls; false; }
		done
	done
	"$dt" record -o v.db -T "vars.c:$in VALUE i VALUE sum VALUE array[3] VALUE &array VALUE a VALUE ratio" ./vars0 >out
	[ "$("$dt" calls v.db | grep -o 'i=[0-9], sum=[0-9]*, array\[3\]=-40' | tr '\n' ' ')" = \
		"i=0, sum=5, array[3]=-40 i=1, sum=26, array[3]=-40 i=2, sum=57, array[3]=-40 i=3, sum=98, array[3]=-40 " ]
	[ "$("$dt" calls v.db | grep -c 'a=5, ratio=1.25')" -ge 1 ] || [ "$("$dt" calls v.db | grep -c 'ratio=1.25')" = 4 ]
}

@test "check-091-points: what is wrong is said in a line, and nothing is set" {
	cd "$dir"
	bad() {
		want=$1
		shift
		run "$dt" record -o bad.db "$@" ./known
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ] || { echo "$output"; false; }
		[[ $output == *"$want"* ]] || { echo "$output"; false; }
	}
	bad "the one that it is in begins at" -T known+3
	bad "not in the code of any function" -T datum
	bad "is no register" -T 'known REG g1'
	bad "an offset is a hexadecimal number" -T 'known STACK far'
	bad "neither a symbol nor" -T 'known LOC nowhere'
	bad "REG needs a register" -T 'known REG'
	bad "no variable of that name" -T 'main VALUE nothing'
	bad "was expected" -T 'main VALUE ->'
	bad "'new' is neither a symbol" -T 'known REG rax new a'
	bad "neither a symbol" -T 'nosuch REG rax'
	run "$dt" record -o bad.db -T "vars.c:$(line 'in the loop') VALUE p->bit" ./vars0
	[[ $output == *"bit field"* ]]
	run "$dt" record -o bad.db -T "vars.c:$(line 'in the loop') VALUE p->nosuch" ./vars0
	[[ $output == *"there is no member nosuch"* ]]
	run "$dt" record -o bad.db -T "vars.c:$(line 'in the loop') VALUE a->len" ./vars0
	[[ $output == *"it is no pointer"* ]]
	run "$dt" record -o bad.db -T "work VALUE a" ./vars0
	[[ $output == *"not in its place yet"* ]]
	# 33 values are one too many
	run "$dt" record -o bad.db -T "known ALLREGS ALLREGS" ./known
	[[ $output == *"at most 32 values"* ]]
}

@test "check-F16-update: a point that is changed again and again misses nothing and repeats nothing" {
	cd "$dir"
	rm -f enough
	"$dt" record -s "$session" -o u.db -T 'known REG rsp' ./known 4000 enough >out 3>&- &
	tracer=$!
	updates=0
	while kill -0 "$tracer" 2>/dev/null; do
		if ctl trace known REG rax REG rbx >/dev/null 2>&1; then updates=$((updates + 1)); fi
		ctl trace known+1 ALLREGS >/dev/null 2>&1 || true
		if ctl trace known STACK 0 >/dev/null 2>&1; then updates=$((updates + 1)); fi
		ctl delete known+1 >/dev/null 2>&1 || true
		[ "$updates" -le 40 ] || : >enough
	done
	wait "$tracer"
	[ "$updates" -gt 40 ]
	# one record a call, whichever of the points made it
	"$dt" cat -l u.db | grep -c 'kind=P .*function=known ' >hits
	[ "$(cat hits)" = "$(tail -n 1 out)" ] || { cat hits out; echo "$updates updates"; false; }
}

@test "F16: who stands in a trampoline while its point is changed is recorded" {
	cd "$dir"
	# goes on where a thread would that was stopped at the trampoline's first instruction
	cat >old.c <<-'C'
		#include <stdio.h>
		#include <string.h>
		unsigned long known(void);
		static const unsigned char *trampoline(void)
		{
			const unsigned char *p = (const unsigned char *)known;
			int to;
			memcpy(&to, p + 1, 4);
			return *p == 0xe9 ? p + 5 + to : 0;
		}
		int main(void)
		{
			const unsigned char *old = trampoline();
			puts("ready");
			fflush(stdout);
			getchar();
			if (!old || old == trampoline())
				return 1;
			return ((unsigned long (*)(void))old)() != known();
		}
	C
	gcc -O1 -g -o old old.c k.S
	mkfifo go
	for change in "trace known STACK 0" "trace known+1 ALLREGS"; do
		"$dt" record -s "$session" -o o.db -T 'known REG rsp' ./old >ready <go 3>&- &
		tracer=$!
		exec 4>go
		until grep -q ready ready; do :; done
		ctl $change
		echo >&4
		exec 4>&-
		wait "$tracer"
		# the call through the old one, and the call
		[ "$("$dt" cat -l o.db | grep -c 'kind=P .*function=known ')" = 2 ]
		rm o.db
	done
}

@test "a point whose code is not as in the file: the function's entry stays hooked" {
	cd "$dir"
	cat >changed.c <<-'C'
		#include <stdio.h>
		#include <sys/mman.h>
		long other(long a);
		__asm__(".globl other\n.type other, @function\nother: mov %edi, %eax\nlea 1(%rax), %eax\n"
			"test %eax, %eax\nnop\nnop\nnop\nnop\nmov $7, %ecx\nadd %ecx, %eax\n"
			"nop\nnop\nnop\nret\n.size other, . - other\nnop\nnop\nnop\nnop\nnop");
		static void call(void)
		{
			for (int i = 0; i < 50; i++)
				other(i);
		}
		int main(void)
		{
			char *page = (char *)((unsigned long)other & -4096);
			call();
			mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
			((char *)other)[12] = 8;
			mprotect(page, 8192, PROT_READ | PROT_EXEC);
			puts("changed");
			fflush(stdout);
			getchar();
			call();
			return other(1) != 10;
		}
	C
	gcc -O1 -g -o changed changed.c
	mkfifo on
	"$dt" record -s "$session" -F other -o c.db ./changed >said <on 3>&- &
	tracer=$!
	exec 4>on
	until grep -q changed said; do :; done
	# all three at once, when somebody watches it again
	ctl watch 1
	ctl trace other REG rdi
	ctl trace other+2 REG rax
	ctl trace other+b REG rcx || true
	ctl watch 0 || true
	ctl
	echo >&4
	exec 4>&-
	wait "$tracer"
	[ "$("$dt" cat -l c.db | grep -c 'kind=E .*function=other ')" = 101 ]
	[ "$("$dt" cat -l c.db | grep -c 'kind=X .*function=other ')" = 101 ]
}

@test "a function whose code is not as in the file: a point that is in it stays" {
	cd "$dir"
	cat >late.c <<-'C'
		#include <stdio.h>
		#include <sys/mman.h>
		long late(long a);
		/* the instruction in front of the return is changed, which an exit's window takes along */
		__asm__(".globl late\n.type late, @function\nlate: mov %edi, %eax\nlea 1(%rax), %eax\n"
			"test %eax, %eax\nnop\nnop\nnop\nnop\nmov $7, %ecx\nret\n.size late, . - late\n"
			".globl behind\n.type behind, @function\nbehind: mov $1, %eax\nadd $1, %eax\nret\n.size behind, . - behind");
		static void call(void)
		{
			for (int i = 0; i < 50; i++)
				late(i);
		}
		int main(void)
		{
			char *page = (char *)((unsigned long)late & -4096);
			call();
			mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
			((char *)late)[12] = 8;
			mprotect(page, 8192, PROT_READ | PROT_EXEC);
			puts("changed");
			fflush(stdout);
			getchar();
			call();
			return late(1) != 2;
		}
	C
	gcc -O1 -g -o late late.c
	mkfifo later
	"$dt" record -s "$session" -T 'late+2 REG rax' -o l.db ./late >said <later 3>&- &
	tracer=$!
	exec 4>later
	until grep -q changed said; do :; done
	ctl trace late new f
	ctl trace f on || true
	echo >&4
	exec 4>&-
	wait "$tracer"
	[ "$("$dt" cat -l l.db | grep -c 'kind=P')" = 101 ]
	[ "$("$dt" cat -l l.db | grep -c 'kind=[EX]')" = 0 ]
}

@test "F9: a line of the source, F18: an address of data" {
	cd "$dir"
	in=$(line 'in the loop')
	"$dt" record -o v.db -T "vars.c:$in" ./vars0 >out
	[ "$("$dt" calls v.db | grep -c 'work+')" = 4 ]
	# a line without code is the next one that has some
	"$dt" record -o v.db -T "vars.c:$((in - 2)) VALUE a" ./vars0 >out
	[ "$("$dt" calls v.db | grep -c 'a=5')" = 1 ]
	# behind the last one there is none
	for n in $(($(wc -l <vars.c) + 1)) 999 1000000000; do
		run "$dt" record -o v.db -T "vars.c:$n" ./vars0
		[ "$status" = 1 ]
		[[ $output == *"vars.c has no code at line $n or after it; its last function begins at line "* ]]
	done
	run "$dt" record -o v.db -T counter ./vars0
	[ "$status" = 1 ]
	[[ $output == *"not in the code of any function"* ]]
}

@test "check-053-constants: two points with different constants, each its own" {
	cd "$dir"
	"$dt" record -o const.db -T 'known CONST 0x11' -T 'here CONST 0x22' ./known >/dev/null
	"$dt" cat -k const.db >out
	cat out
	[ "$(grep -c '^known .* const=11$' out) $(grep -c '^here .* const=22$' out) $(wc -l <out)" = "3 3 12" ]
	[ "$("$dt" calls const.db | grep -c "const=0x[12][12]")" = 6 ]
}

@test "check-056-symbols: captured values are named after what they point to" {
	cd "$dir"
	cat >holder.c <<-'C'
		#include <stdio.h>
		int first(void) { return 1; }
		int second(void) { return 2; }
		struct entry { const char *name; int (*call)(void); } table[] = {{"one", first}, {"two", second}};
		__attribute__((noipa)) int use(const struct entry *e) { return e->call(); }
		int main(void) { return use(&table[0]) + use(&table[1]) - 3; }
	C
	gcc -O1 -g -o holder holder.c
	"$dt" record -o holder.db -T 'use REG rdi VALUE e->call LOC table+8' ./holder
	"$dt" cat -k holder.db >out
	cat out
	[[ "$(sed -n 1p out)" =~ ^use\ .*\ rdi=[0-9a-f]+\ \(table\)\ e-\>call=[0-9a-f]+\ \(first\)\ .*=[0-9a-f]+\ \(first\)$ ]]
	[[ "$(sed -n 2p out)" =~ ^use\ .*\ rdi=[0-9a-f]+\ \(table\+10\)\ e-\>call=[0-9a-f]+\ \(second\)\ .*=[0-9a-f]+\ \(first\)$ ]]
	"$dt" calls holder.db >out
	cat out
	grep -q 'e->call=0x[0-9a-f]* <second>' out
}

@test "check-022-onlypid: each instruction's point for its own process" {
	cd "$dir"
	start_spin "$dir/known" 100000
	one=$pid first=$out
	"$dt" attach -d -s "$session" "$pid"
	start_spin "$dir/known" 100000
	ctl attach "$pid"
	ctl trace known PID ONLYPID "$one" here PID ONLYPID "$pid" late
	ctl start
	for _ in $(seq 3000); do [ "$(ctl | sed -n 's/#tracehits \([0-9]*\).*/\1/p')" -gt 200 ] && break; sleep 0.01; done
	ctl stop
	"$dt" shell -s "$session" -c print >out
	[ "$(awk -v one="$one" -v two="$pid" '{for (i = 1; i <= NF; i++) if ($i == "pid") t = $(i + 1);
		if (($1 == "known" && t != one) || ($1 == "here" && t != two)) n++; seen[$1]++}
		END {print n + 0, (seen["known"] > 20), (seen["here"] > 20), (seen["late"] > 40)}' out)" = "0 1 1 1" ]
	ctl quit
	stop_spin
	kill "$one"
	exec {first}<&-
}

@test "check-038-latefreeze: exactly so many records behind an instruction's" {
	cd "$dir"
	for n in 0 1 10 100; do
		start_spin "$dir/known" 100000
		"$dt" attach -d -s "$session$n" "$pid"
		"$dt" ctl -s "$session$n" trace known late here LATEFREEZE "$n"
		"$dt" ctl -s "$session$n" start
		frozen() { "$dt" ctl -s "$session$n" | grep -q '^freeze'; }
		for _ in $(seq 3000); do frozen && break; sleep 0.01; done
		frozen
		"$dt" shell -s "$session$n" -c print >out
		"$dt" ctl -s "$session$n" quit
		stop_spin
		[ "$(grep -n '^here' out | head -n 1 | cut -d: -f1)" = "$(($(wc -l <out) - n))" ] || { echo "$n"; head -n 20 out; false; }
	done
}

@test "a thousand changes of a hundred points: there is room for all, and it is not much" {
	cd "$BATS_TEST_TMPDIR"
	cat >many.c <<-'C'
		#include <stdio.h>
		#define NOP ".byte 0x0f,0x1f,0x44,0,0;" /* five bytes */
		#define TEN(x) x x x x x x x x x x
		__attribute__((noinline)) void many(void) { __asm__ volatile(".globl row; row:" TEN(TEN(NOP))); }
		int main(void)
		{
			char line[8];
			puts("ready"), fflush(stdout);
			while (fgets(line, sizeof(line), stdin))
				many(), puts("done"), fflush(stdout);
			return 0;
		}
	C
	gcc -O1 -g -o many many.c
	coproc ./many 3>&-
	pid=$COPROC_PID
	read -r answer <&"${COPROC[0]}"
	"$dt" attach -d -s "$session" -o m.db "$pid" 3>&-
	what=(rax "eax REG bl REG r15w" rip rflags rsp)
	for i in $(seq 0 99); do printf 'trace row+%x REG rax\n' $((5 * i)); done >first
	for i in {1..5}; do echo "${what[i % 5]}"; done | awk '{ what[NR % 5] = $0 } END { for (i = 1; i <= 1000; i++) printf "trace row+%x REG %s\n", i * 35 % 500, what[i % 5] }' >changes
	ctl - <first >/dev/null
	ctl start
	ctl - <changes >answers 2>&1 || { grep -v already answers; false; }
	echo >&"${COPROC[1]}"
	read -r answer <&"${COPROC[0]}"
	# trampolines of 1,100 points and their neighbours: pages, not what the tables of all could take
	size=$(python3 - "/proc/$pid/maps" <<-'P'
		import sys
		maps = (l.split() for l in open(sys.argv[1]))
		print(sum(int(m[0].split("-")[1], 16) - int(m[0].split("-")[0], 16) for m in maps if m[1] == "r-xp" and len(m) == 5))
	P
	)
	echo "# $size bytes"
	# (five pages each, of which the ways to functions' hooks take three: some functions of the file are hooked, too)
	[ "$size" -lt 22000000 ]
	ctl quit
	[ "$("$dt" sql -n m.db "SELECT count(DISTINCT event), count(*) FROM events WHERE kind = 'point'" | xargs)" = "100 100" ]
	exec {COPROC[1]}>&-
	wait "$pid"
}
