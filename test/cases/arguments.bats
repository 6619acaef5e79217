# SPDX-License-Identifier: MIT
# Arguments as people write them: -A and the option ARGS, enumerations, structures, pointers.
load one-session

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/greet.c" <<-'C'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) int greet(const char *name, int n, char *const other)
		{
			__asm__ volatile("" : : "r"(name), "r"(other) : "memory");
			return n + (name != NULL) + (other != NULL);
		}
		__attribute__((noinline)) int sum(int a, int b) { return a + b; }
		int main(int argc, char **argv)
		{
			int turns = argc > 1 ? atoi(argv[1]) : 1, all = 0;
			char named[16] = "first";
			if (turns > 1) {
				puts("ready");
				fflush(stdout);
			}
			for (int i = 0; i < turns; i++) {
				all = greet(named, 3, "second, which is longer than one record holds of it");
				all += greet((char *)16, sum(i, 1), NULL);
				close(open("/etc/hostname", O_RDONLY));
				if (turns > 1)
					usleep(1000);
			}
			printf("%d\n", all);
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/greet" "$dir/greet.c"
	gcc -O1 -g -B"$root/build/lib" -o "$dir/sleds" "$dir/greet.c"
	gcc -O1 -g -static -o "$dir/static" "$dir/greet.c"
}

# one call of greet each with its texts, of program $1
texts_of() {
	"$dt" record -o t.db -A greet "./$1" >out
	[ "$(cat out)" = "$("./$1")" ]
	"$dt" calls t.db >calls
	[ "$(grep -c 'greet(' calls)" = 2 ] || { cat calls; return 1; }
	[ "$(grep -c 'name="first"' calls)" = 1 ] || { cat calls; return 1; }
	grep -q 'other="second, which is longer than one record holds of it"' calls || { cat calls; return 1; }
	grep -q 'greet(name=0x10?, n=1, other=NULL) = 2$' calls || { cat calls; return 1; }
	# elsewhere, too
	"$dt" sql -n t.db "SELECT text FROM calls WHERE function = 'greet' ORDER BY begin" >sql
	sed -n 's/^ *[0-9.]* us *greet/greet/p' calls | diff - sql
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE arguments ->> 'name' = 'first' AND arguments ->> 'other' = 'second, which is longer than one record holds of it'")" = 1 ]
	"$dt" view --index t.db
	"$dt" sql -n t.db "SELECT text FROM calls WHERE function = 'greet' AND begin >= 0 ORDER BY begin" | diff - sql
	# nobody else's
	! grep -q 'sum(\|main(' calls || { cat calls; return 1; }
}

@test "-A shows the texts of a function's arguments, a bad pointer as such" {
	cd "$dir"
	texts_of greet
}

@test "-A shows them in programs with sleds" {
	cd "$dir"
	texts_of sleds
}

@test "-A shows them in static programs" {
	cd "$dir"
	texts_of static
}

@test "-A knows the C library's functions without debug information" {
	cd "$dir"
	"$dt" record -o o.db -A 'libc.so.6:open' ./greet >out
	"$dt" calls o.db >calls
	grep -q 'open(path="/etc/hostname", flags=O_RDONLY' calls || { cat calls; false; }
}

@test "-A beside -F: the others are recorded as they were" {
	cd "$dir"
	"$dt" record -o b.db -F sum -F greet -A greet ./greet >out
	"$dt" calls b.db >calls
	[ "$(grep -c 'sum(' calls)" = 1 ]
	[ "$(grep -c 'greet(' calls)" = 2 ]
	[ "$(grep -c 'name="first"' calls)" = 1 ]
}

@test "attach -A and ARGS in a session: they come and go" {
	cd "$dir"
	start_spin "$dir/greet" 20000
	"$dt" attach -d -s "$session" -A greet "$pid" >log 2>&1 3>&-
	"$dt" cat -s "$session" -f >seen 2>/dev/null 3>&- &
	reader=$!
	# "first", as a word of the record
	three() { [ "$(grep -c 0000007473726966 seen)" -ge 3 ]; }
	for _ in $(seq 3000); do
		three && break
		sleep 0.02
	done
	kill "$reader"
	wait "$reader" || true
	three || { cat log; head seen; false; }
	# it is printed, and can be told again
	ctl | grep ARGS >line
	[ "$(wc -l <line)" = 1 ] || { ctl; false; }
	ctl trace args0 off
	ctl delete args0 || ctl trace args0 remove
	[ "$(ctl | grep -c ARGS || true)" = 0 ]
	ctl - <line
	[ "$(ctl | grep ARGS)" = "$(cat line)" ]
	ctl quit
	stop_spin
}

@test "ARGS for a range of addresses, and for a library that is loaded later" {
	cd "$dir"
	start_spin "$dir/greet" 20000
	"$dt" attach -d -s "$session" "$pid" >log 2>&1 3>&-
	ctl - <<-'T'
		trace greet greet+4 new few ARGS
		trace few on
		start
	T
	"$dt" cat -s "$session" -f >ranged 2>/dev/null 3>&- &
	reader=$!
	for _ in $(seq 3000); do
		[ "$(grep -c 0000007473726966 ranged)" -ge 3 ] && break
		sleep 0.02
	done
	kill "$reader"
	wait "$reader" || true
	[ "$(grep -c 0000007473726966 ranged)" -ge 3 ] || { ctl; head ranged; false; }
	ctl quit
	stop_spin
	cat >late.c <<-'C'
		#include <dlfcn.h>
		int main(void)
		{
			int (*f)(const char *) = dlsym(dlopen("./liblate.so", RTLD_NOW), "late_one");
			return f("of the library") != 1;
		}
	C
	echo 'int late_one(const char *what) { return *what != 0; }' >liblate.c
	gcc -g -O1 -shared -fPIC -o liblate.so liblate.c
	gcc -g -O1 -o late late.c
	"$dt" record -o l.db -A 'liblate.so:late_*' ./late
	"$dt" calls l.db | grep -q 'what="of the library"' || { "$dt" calls l.db; false; }
}

@test "bad input of -A: one line, and no trace" {
	cd "$dir"
	bad() {
		run "$dt" record -o no.db -A "$1" ./greet
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ] || { echo "$output"; false; }
		[[ $output == *"$2"* ]] || { echo "$output"; false; }
		[[ $output != *"line 1"* ]]
		[ ! -e no.db ]
	}
	bad 'greet other' "is no pattern of functions"
	bad 'greet@' "behind @ are arguments"
	bad 'greet@name,,other' "behind @ are arguments"
	bad 'greet@name:text' "'text' is no way to show an argument"
	bad '@name' "empty pattern"
}

# what calls prints of functions and what is in them, without times and the rest of the process
tree() {
	"$dt" calls "$1" | grep -v '_\| main() {$\|/\* main\|^# thread' | sed 's/^.\{16\}//' |
		sed 's/^ *//; s/ *\/\* .* \*\/$//'
}

# "name options source" in C for every compiler, level, and way
each_build() {
	for cc in gcc clang; do
		for level in 0 1 2; do
			$cc -O$level -g -o prog "$1"
			"$2" probes "$cc" "$level"
			[ "$cc" = gcc ] || continue
			gcc -O$level -g -B"$root/build/lib" -o prog "$1"
			"$2" sleds gcc "$level"
		done
	done
}

@test "-A: every place that an argument can be in" {
	cd "$dir"
	cat >places.c <<-'C'
		#include <stdbool.h>
		enum color { RED = 3, GREEN, BLUE = -5 };
		struct point { int x, y; };
		struct mixed { double d; long n; };
		struct two { double a, b; };
		struct big { long a, b, c; };
		#define N __attribute__((noinline))
		#define KEEP(x) ({ __asm__ volatile("" : : "r"(&(x)) : "memory"); })
		N long many(int a, int b, int c, int d, short e, const char *f, unsigned char g, long h, const char *i, bool j)
		{
			KEEP(a), KEEP(b), KEEP(c), KEEP(d), KEEP(e), KEEP(f), KEEP(g), KEEP(h), KEEP(i), KEEP(j);
			return a + e;
		}
		N double floats(float a, double b, int n, double c)
		{
			KEEP(a), KEEP(b), KEEP(n), KEEP(c);
			return a + b + n + c;
		}
		N double mixed(struct mixed m, struct two t, struct point p, enum color c)
		{
			KEEP(m), KEEP(t), KEEP(p), KEEP(c);
			return m.d + t.b;
		}
		N double late(int a, int b, int c, int d, struct point p, enum color q, struct point r, float f, struct big big,
			      int after)
		{
			KEEP(a), KEEP(b), KEEP(c), KEEP(d), KEEP(p), KEEP(q), KEEP(r), KEEP(f), KEEP(big), KEEP(after);
			return big.b;
		}
		N long wide(long double x, int n)
		{
			KEEP(x), KEEP(n);
			return n;
		}
		int main()
		{
			many(1, 2, 3, 4, -5, "six", 200, -8, "nine", true);
			floats(1.5, 2.25, 3, -4.125);
			mixed((struct mixed){1.5, 7}, (struct two){2.5, 3.5}, (struct point){1, -2}, BLUE);
			mixed((struct mixed){1.5, 7}, (struct two){2.5, 3.5}, (struct point){1, -2}, (enum color)-7);
			late(1, 2, 3, 4, (struct point){5, 6}, GREEN, (struct point){7, -8}, 9.5, (struct big){1, 2, 3}, -11);
			wide(1.5L, 3);
			return 0;
		}
	C
	cat >want <<-'T'
		many(a=1, b=2, c=3, d=4, e=-5, f="six", g=200, h=-8, i="nine", j=true) = -4
		floats(a=1.5, b=2.25, n=3, c=-4.125) = 2.625
		mixed(m={d=1.5, n=7}, t={a=2.5, b=3.5}, p={x=1, y=-2}, c=BLUE) = 5
		mixed(m={d=1.5, n=7}, t={a=2.5, b=3.5}, p={x=1, y=-2}, c=-7) = 5
		late(a=1, b=2, c=3, d=4, p={x=5, y=6}, q=GREEN, r={x=7, y=-8}, f=9.5, big=?, after=-11) = 2
		wide(x=?, n=3) = 3
	T
	check() {
		rm -f p.db
		"$dt" record -A '*' -o p.db ./prog
		tree p.db | grep -v '^}$' >got
		diff want got || { echo "$*"; false; }
	}
	each_build places.c check
}

@test "-A PATTERN@...: only these, by name or number, and as they are asked for" {
	cd "$dir"
	gcc -O1 -g -o named places.c
	"$dt" record -A 'many@e,f:p,9:str,a:u1' -o n.db ./named
	tree n.db >got
	grep -q '^many(a=1, b=2, c=3, d=4, e=-5, f=0x[0-9a-f]*, g=?, h=?, i="nine", j=?) = -4$' got || { cat got; false; }
	! grep -q '"six"\|g=200' got || false
	# without anything known of the function, a number is that of an integer register
	cat >blind.S <<-'S'
		.globl	blind
		.type	blind, @function
	blind:	endbr64
		xor	%eax, %eax
		mov	%rdi, %rdx
		ret
		.size	blind, . - blind
		.section .note.GNU-stack, "", @progbits
	S
	echo 'int blind(); int main() { return blind(1, "text", 3, 4, 5, -6); }' >blindly.c
	gcc -o blindly blindly.c blind.S
	"$dt" record -A 'blind@2:str,6:i4' -o b.db ./blindly
	tree b.db >got
	grep -q '"text"' got || { cat got; false; }
	grep -q '=-6' got
}

@test "a number that is asked for as a text: what is there is shown, and what is not is a number with a question mark" {
	cd "$dir"
	cat >numbers.c <<-'C'
		#include <stdio.h>
		#define N __attribute__((noipa))
		static char text[] = "a text";
		N long narrow(int n) { return n; }
		N long wide(long n) { return n; }
		N long pointer(const char *p) { return (long)p; }
		int main(void)
		{
			long v[] = {0, 1, -1, 4096, (long)0xffffffff81000000, (long)0x800000000000};
			for (int i = 0; i < 4; i++)
				narrow((int)v[i]);
			for (int i = 0; i < 6; i++)
				wide(v[i]);
			wide((long)text);
			pointer(0);
			pointer((void *)8);
			pointer(text);
			return printf("%ld %ld\n", v[4], v[5]) < 0;
		}
	C
	gcc -g -O1 -w -o numbers numbers.c
	"$dt" record -A 'narrow@1:str' -A 'wide@1:str' -A 'pointer@1:str' -o n.db ./numbers >said
	read -r kernel beyond <said
	"$dt" calls n.db | sed -n 's/^.* us  \([a-z]*(.*)\) = .*/\1/p' | diff - <(
		printf 'narrow(n=%s)\n' '0?' '1?' '-1?' '4096?'
		printf 'wide(n=%s)\n' '0?' '1?' '-1?' '4096?' "$kernel?" "$beyond?" '"a text"'
		printf 'pointer(p=%s)\n' NULL '0x8?' '"a text"'
	)
}

@test "enumerations by name, structures by value: arguments, results, tracepoints" {
	cd "$dir"
	cat >shapes.c <<-'C'
		#include <stdbool.h>
		enum color { RED = 3, GREEN, BLUE = -5 };
		enum bits { A = 1, B = 2, C = 4, D = 8, AB = 3 };
		enum far { NEAR = 5, HALF = 0x90, MORE = 0x9000, MOST = 0xfffffff0 };
		struct point { int x, y; };
		struct mixed { double d; long n; };
		struct flags { unsigned a : 3; int b : 5; unsigned long c : 40; };
		struct in { struct point p; enum color c; bool yes; char tag[3]; };
		struct text { char name[12]; };
		union u { float f; int i; };
		struct two { float x, y; };
		#define USE(x) ({ __typeof__(x) u_ = (x); __asm__ volatile("" : : "r"(&u_) : "memory"); })
		#define N __attribute__((noinline))
		N enum color paint(enum color c, enum bits b)
		{
			return c == RED ? BLUE : (enum color)b;
		}
		N enum far go(enum far f) { return f == HALF ? MOST : MORE; }
		N struct point move(struct point p, int by)
		{
			p.x += by; /* here */
			return p;
		}
		N struct mixed mix(int n) { USE(n); return (struct mixed){n / 2.0, n}; }
		N struct flags flag(struct flags f) { f.c++; return f; }
		N struct in inner(struct in i) { i.p.x = -i.p.x; return i; }
		N struct text name(struct text t) { t.name[0] = '"'; return t; }
		N union u join(int v) { USE(v); return (union u){.i = v}; }
		N struct two pair(float f) { USE(f); return (struct two){f, -f}; }
		int main()
		{
			USE(paint(RED, A));
			USE(paint(BLUE, A | C));
			USE(paint(77, 16));
			USE(paint(GREEN, 0));
			USE(paint(GREEN, AB | C));
			USE(go(HALF));
			USE(go(MOST));
			USE(move((struct point){1, -2}, 3));
			USE(mix(3));
			USE(flag((struct flags){5, -3, 1000000000000}));
			USE(inner((struct in){{1, 2}, BLUE, true, "ab"}));
			USE(name((struct text){"hello world"}));
			USE(join(0x3f800000));
			USE(pair(1.5));
			return 0;
		}
	C
	cat >want <<-'T'
		paint(c=RED, b=A) = BLUE
		paint(c=BLUE, b=A|C) = 5
		paint(c=77, b=16) = 16
		paint(c=GREEN, b=0) = 0
		paint(c=GREEN, b=A|B|C) = 7
		go(f=HALF) = MOST
		go(f=MOST) = MORE
		move(p={x=1, y=-2}, by=3) = {x=4, y=-2}
		mix(n=3) = {d=1.5, n=3}
		flag(f={a=5, b=-3, c=1000000000000}) = {a=5, b=-3, c=1000000000001}
		inner(i={p={x=1, y=2}, c=BLUE, yes=true, tag="ab"}) = {p={x=-1, y=2}, c=BLUE, yes=true, tag="ab"}
		name(t={name="hello world"}) = {name="\"ello world"}
		join(v=1065353216) = {f=1, i=1065353216}
		pair(f=?) = {x=1.5, y=-1.5}
	T
	check() {
		rm -f s.db
		"$dt" record -o s.db ./prog
		tree s.db | grep -v '^}$' >got
		diff want got || { echo "$*"; false; }
	}
	each_build shapes.c check
	gcc -O0 -g -o shapes0 shapes.c
	"$dt" record -o t.db -T "shapes.c:$(grep -n here shapes.c | cut -d: -f1) VALUE p VALUE &p VALUE by" ./shapes0
	"$dt" calls t.db | grep -q '\* move.*(p={x=1, y=-2}, &p=0x[0-9a-f]*, by=3)' || { "$dt" calls t.db; false; }
	# hist takes the number
	[ "$("$dt" hist -F paint --value c s.db 2>/dev/null | grep -v '^#' | xargs)" = "3 1 4 2 77 1" ]
}

@test "a pointer is shown with what it leads to: functions and variables, of libraries too" {
	cd "$dir"
	cat >leads.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#define N __attribute__((noinline))
		int table[8];
		static struct { int a, b; } pair;
		N int apply(int (*f)(int), int *where, void *heap, FILE *out) { *where = f(3); return heap != out; }
		N static int twice(int n) { return 2 * n; }
		N int *pick(int i) { return &table[i]; }
		int main()
		{
			void *p = malloc(8);
			apply(twice, &pair.b, p, stdout);
			apply(abs, pick(3), p, stderr);
			apply(abs, pick(0), NULL, NULL);
			return pair.b != 6;
		}
	C
	gcc -O1 -g -o leads leads.c
	gcc -O1 -g -no-pie -B"$root/build/lib" -o leads-sleds leads.c
	for p in leads leads-sleds; do
		rm -f l.db
		"$dt" record -o l.db -F apply -F pick ./$p
		"$dt" calls l.db | sed '/^# thread/d; s/0x[0-9a-f]*[1-9a-f][0-9a-f]*/0xN/g; s/^.\{16\}//' >got
		diff - got <<-'T'
			apply(f=0xN <twice>, where=0xN <pair+4>, heap=0xN, out=0xN <_IO_2_1_stdout_>) = 1
			pick(i=3) = 0xN <table+c>
			apply(f=0xN <abs>, where=0xN <table+c>, heap=0xN, out=0xN <_IO_2_1_stderr_>) = 1
			pick(i=0) = 0xN <table>
			apply(f=0xN <abs>, where=0xN <table>, heap=0x0, out=0x0) = 0
		T
	done
	# a program that is another by now tells nothing
	cp leads kept
	"$dt" record -o l.db -F apply -F pick ./leads
	gcc -O2 -g -o leads -DOTHER leads.c
	! "$dt" calls l.db | grep 'twice\|table\|pair' || false
	"$dt" calls l.db | grep -q '<abs>'
	# neither does one that is gone
	rm leads
	! "$dt" calls l.db | grep 'twice\|table\|pair'
}

@test "-A: each text in its own call: nested, recursive, of several threads, in time, long calls only" {
	cd "$dir"
	cat >nested.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noipa)) int leaf(int a, int b, int c, int d, double e, const char *text) { return a + (int)e; }
		__attribute__((noipa)) int walk(const char *path, int depth)
		{
			char below[64];
			int sum = 0;
			snprintf(below, sizeof(below), "%s/%d", path, depth);
			if (depth)
				sum = walk(below, depth - 1);
			else
				usleep(2000);
			return sum + leaf(1, 2, 3, 4, depth + 0.5, below);
		}
		static void *run(void *name) { for (int i = 0; i < 5; i++) walk(name, 3); return NULL; }
		int main(void)
		{
			static char name[3][8] = {"a", "b", "c"};
			pthread_t t[3];
			for (int i = 0; i < 3; i++)
				pthread_create(&t[i], NULL, run, name[i]);
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	C
	gcc -O1 -g -pthread -o nested nested.c
	"$dt" record -A walk -A leaf -o nest.db ./nested
	for t in a b c; do
		for _ in 1 2 3 4 5; do
			cat <<-T
			walk(path="$t", depth=3) {
			walk(path="$t/3", depth=2) {
			walk(path="$t/3/2", depth=1) {
			walk(path="$t/3/2/1", depth=0) {
			leaf(a=1, b=2, c=3, d=4, e=0.5, text="$t/3/2/1/0") = 1
			} = 1
			leaf(a=1, b=2, c=3, d=4, e=1.5, text="$t/3/2/1") = 2
			} = 3
			leaf(a=1, b=2, c=3, d=4, e=2.5, text="$t/3/2") = 3
			} = 6
			leaf(a=1, b=2, c=3, d=4, e=3.5, text="$t/3") = 4
			} = 10
			T
		done
	done >want
	lines() { sed 's/^.\{16\}//; s/ *\/\* walk \*\/$//; s/^ *//' | grep -v '^$\|^#\|thread'; }
	# threads in any order
	"$dt" calls nest.db | sed 's/^# thread.*//' | lines >got
	[ "$(grep -c . got)" = 180 ]
	for t in a b c; do
		diff <(grep "\"$t" want) <(grep "\"$t" got)
	done
	diff <(sed 's/"[abc]/"x/' want) <(sed 's/"[abc]/"x/' got)
	# long ones only: those around the sleep, with their texts. A leaf is there only if it was
	# kept from running for so long, as on a busy machine; its own line says that.
	"$dt" calls -t 1ms nest.db | lines >got
	[ "$(grep -c '^walk(path="[abc][/0-9]*", depth=[0-3])' got)" = 60 ]
	grep -c leaf got >long || true
	"$dt" calls nest.db | awk '/leaf/ && $1 >= 1000 { n++ } END { print n + 0 }' >want
	diff want long
	# in the order of time: in its place or just behind, none is lost
	"$dt" calls --merge nest.db >got
	[ "$(grep -c 'path="' got)" = 60 ]
	[ "$(grep -c 'text="' got)" = 60 ]
	# those that are not shown show nothing
	"$dt" calls -F leaf nest.db >got
	! grep -q 'path' got || false
	[ "$(grep -c 'e=[0-3].5, text="' got)" = 60 ]
}

@test "-A: a function or an argument that is not there is told" {
	cd "$dir"
	run "$dt" record -A nosuch -o none.db ./greet
	[ "$status" = 1 ]
	[[ "$output" == *"no function matches 'nosuch'"* ]]
	run "$dt" record -A greet@name:str,nmae,9 -o some.db ./greet
	[ "$status" = 0 ]
	[[ "$output" == *"devtrace: no function that matches 'greet' has an argument nmae, 9"* ]]
	"$dt" calls some.db | grep -q 'greet(name="first"'
	run "$dt" record -A greet@name:str,2:u1 -A sum -o some.db ./greet
	[[ "$output" != *"devtrace:"* ]]
}

@test "enumerators with their highest bit set have their own names" {
	cd "$BATS_TEST_TMPDIR"
	local cc language dwarf
	for cc in gcc clang; do
		for language in c c++; do
			for dwarf in 4 5; do
				"$cc" -O0 "-gdwarf-$dwarf" -x "$language" -o e "$root/test/programs/enums.c"
				"$dt" record -F 'use_*' -o e.db ./e >want
				"$dt" calls e.db | sed -n 's/.*\(use_[a-z0-9]*([^)]*)\).*/\1/p' >got
				diff want got || { echo "$cc $language DWARF $dwarf"; false; }
			done
		done
	done
}

@test "functions that the linker folded into one: each name has its own signature, one that is none of theirs has none" {
	cat >"$dir/fold.c" <<-'C'
		__attribute__((noinline)) int one(int a, int b) { __asm__ volatile("" ::: "memory"); return a + b + 3; }
		__attribute__((noinline)) int two(unsigned x, unsigned y) { __asm__ volatile("" ::: "memory"); return x + y + 3; }
		int main(void) { return one(1, 2) + two(3, 4) != 16; }
	C
	gcc -O1 -g -ffunction-sections -no-pie -fuse-ld=gold -Wl,--icf=all -o "$dir/fold" "$dir/fold.c"
	one=$(nm "$dir/fold" | sed -n 's/ T one$//p')
	[ -n "$one" ]
	[ "$one" = "$(nm "$dir/fold" | sed -n 's/ T two$//p')" ]
	text=$(objdump -h "$dir/fold" | awk '$2 == ".text" { print $4 }')
	objcopy --strip-symbol=one "$dir/fold" "$dir/fold-two"
	objcopy --strip-symbol=two "$dir/fold" "$dir/fold-one"
	objcopy --strip-symbol=one --strip-symbol=two "$dir/fold" "$dir/fold-other" \
		--add-symbol "other=.text:$((0x$one - 0x$text)),function,global"
	while read -r name want; do
		"$dt" record -o "$dir/fold.db" -F "$name" "$dir/fold-$name"
		got=$(sqlite3 "$dir/fold.db" "SELECT count(*) || signature FROM function WHERE name = '$name'")
		[ "$got" = "1$want" ] || { echo "$name: $got"; false; }
	done <<-'TEXT'
		one a:i4@0,b:i4@1;i4@0
		two x:u4@0,y:u4@1;i4@0
		other
	TEXT
}

@test "-A: numbers behind complex ones: where those have left them" {
	cd "$dir"
	cat >"$dir/complex.c" <<-'C'
		#include <complex.h>
		#include <stdio.h>
		#define F __attribute__((noinline, noclone)) double
		struct s { double complex z; };
		F of_double(double complex z, double d, int k) { __asm__ volatile("" ::: "memory"); return creal(z) + d + k; }
		F of_float(float complex z, double d, int k) { __asm__ volatile("" ::: "memory"); return creal(z) + d + k; }
		F of_long(long double complex z, double d, int k) { __asm__ volatile("" ::: "memory"); return (double)creall(z) + d + k; }
		F of_struct(struct s z, double d, int k) { __asm__ volatile("" ::: "memory"); return creal(z.z) + d + k; }
		int main(void)
		{
			struct s s = {5};
			printf("%g\n", of_double(1, 2.5, 2) + of_float(1, 3.5, 3) + of_long(1, 4.5, 4) + of_struct(s, 5.5, 5));
			return 0;
		}
	C
	for cc in gcc clang; do
		"$cc" -O1 -g -o "$dir/complex" "$dir/complex.c"
		"$dt" record -A 'of_*' -o "$dir/complex.db" "$dir/complex" >/dev/null
		"$dt" calls "$dir/complex.db" | grep -o 'of_.*' >got
		diff <(sed 's/(.*, d=/(d=/; s/).*/)/' got) <(printf '%s\n' 'of_double(d=2.5, k=2)' 'of_float(d=3.5, k=3)' \
			'of_long(d=4.5, k=4)' 'of_struct(d=5.5, k=5)') || { cat got; false; }
	done
}

@test "arguments in full: of a function in several processes, each of which has it at another address" {
	cat >"$dir/opens.c" <<-'C'
		#include <fcntl.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			open(argv[1], O_RDONLY);
			return argc > 2 ? execl(argv[0], argv[0], argv[2], (char *)0) : 0;
		}
	C
	gcc -O1 -o "$dir/opens" "$dir/opens.c"
	for n in 1 2 3; do
		"$dt" record -f -A 'libc.so.6:open' -o "$dir/opens.db" "$dir/opens" /none/first /none/second >/dev/null
		"$dt" calls "$dir/opens.db" >"$dir/opened"
		grep -q 'open(path="/none/first", flags=O_RDONLY) = -1 ENOENT' "$dir/opened"
		grep -q 'open(path="/none/second", flags=O_RDONLY) = -1 ENOENT' "$dir/opened"
		[ "$("$dt" sql -n -c "$dir/opens.db" "select count(*) from calls where text like '%path=\"/none/%'" | tr -d '\r')" = 2 ]
	done
}
