// SPDX-License-Identifier: MIT
// Exceptions through several frames, with destructors, for so many seconds' worth of work.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static unsigned long sum;

struct guard {
	unsigned long k;
	~guard() { sum = sum * 31 + k; }
};

__attribute__((noinline)) static unsigned long deep(unsigned n, unsigned long x)
{
	guard g{n + x};

	if (!n && x % 3 == 0)
		throw std::runtime_error(std::to_string(x));
	if (!n && x % 3 == 1)
		throw x;
	return n ? deep(n - 1, x) + 1 : x;
}

int main(int argc, char **argv)
{
	unsigned long turns = argc > 1 ? strtoul(argv[1], nullptr, 10) * 200000 : 1000;

	for (unsigned long i = 0; i < turns; i++) {
		try {
			sum += deep(i % 7, i);
		} catch (const std::exception &e) {
			sum += e.what()[0];
		} catch (unsigned long x) {
			sum ^= x;
		}
	}
	printf("%lx\n", sum);
	return 0;
}
