# SPDX-License-Identifier: MIT
# Structures by value, made by chance (structures.py): in which registers they are, and the numbers between them, is the
# compiler's word. The seed is printed where something differs.
load devtrace

setup() {
	dir=$(mktemp -d)
}

teardown() {
	check_traces
	rm -rf "$dir"
}

# shown SEED COMPILER...: a program of that seed, made by that compiler
shown() {
	local seed=$1 more=() alone
	shift
	[[ $1 != *++ ]] || more=(--cxx)
	# of seed 15287 clang++ 14 -O1 -mavx copies a vector in a packed structure as if that were aligned: it dies alone
	for alone in 1 2 3; do
		echo "seed $seed: $*"
		"$root/test/cases/structures.py" make "$seed" "${more[@]}" >"$dir/s.c"
		"$@" -w -Wno-psabi -g -o "$dir/s" "$dir/s.c"
		! "$dir/s" >/dev/null || break
		seed=$((seed + 1))
	done
	"$dt" -A 'f*' "$dir/s" >"$dir/calls" 2>"$dir/messages"
	"$root/test/cases/structures.py" check "$seed" "${more[@]}" <"$dir/calls"
}

@test "structures by value, and what comes behind them: no value is another one; gcc" {
	shown 1 gcc -O0
	shown $RANDOM gcc -O1
	shown $RANDOM gcc -O2 -mavx
}

@test "structures by value, and what comes behind them: no value is another one; clang" {
	shown 1 clang -O0
	shown $RANDOM clang -O1
	shown $RANDOM clang -O2 -mavx
}

@test "structures by value, and what comes behind them: no value is another one; C++" {
	shown 31000 g++ -O0 -x c++
	shown $RANDOM g++ -O0 -x c++
	shown $RANDOM clang++ -O0 -x c++
	shown $RANDOM clang++ -O1 -mavx -x c++
}

@test "pointers to members, and references: numbers of one and two words" {
	local compiler
	cat >"$dir/m.cc" <<-'C'
		struct A { long a, b; void g(int) {} };
		__attribute__((noinline)) long A::*take(long A::*p, void (A::*q)(int), long mid, decltype(nullptr) n, int &r, int &&s, long after)
		{
			__asm__ volatile("" : : "m"(p), "m"(q), "m"(mid), "m"(after), "m"(n), "m"(r), "m"(s));
			return p;
		}
		int main()
		{
			int x = 5;
			return !take(&A::b, &A::g, 7, nullptr, x, 6, 9);
		}
	C
	for compiler in 'g++ -O1' 'clang++ -O0'; do
		$compiler -g -w -o "$dir/m" "$dir/m.cc"
		run "$dt" -A take "$dir/m"
		[[ $output =~ take\(p=0x8,\ q=0x0:0x[0-9a-f]+,\ mid=7,\ n=0x0,\ r=0x7f[0-9a-f]+,\ s=0x7f[0-9a-f]+,\ after=9\)\ =\ 0x8 ]] || {
			echo "$compiler: $output"
			false
		}
	done
}

@test "values of enumerations have the sign of the type below them" {
	local compiler
	cat >"$dir/e.cc" <<-'C'
		enum class S : signed char { ONE = 1 };
		enum class U : unsigned char { ONE = 1 };
		enum class L : long { ONE = 1 };
		enum class M : unsigned long { ONE = 1 };
		__attribute__((noinline)) U take(S s, U u, L l, M m)
		{
			__asm__ volatile("" : : "m"(s), "m"(u), "m"(l), "m"(m));
			return u;
		}
		int main()
		{
			return take((S)-56, (U)200, (L)-2, (M)-2) != (U)200;
		}
	C
	for compiler in 'g++ -O1' 'clang++ -O1' 'clang++ -gdwarf-4 -O0'; do
		$compiler -g -w -o "$dir/e" "$dir/e.cc"
		run "$dt" -A take "$dir/e"
		[[ $output == *"take(s=-56, u=200, l=-2, m=18446744073709551614) = 200"* ]] || {
			echo "$compiler: $output"
			false
		}
	done
}
