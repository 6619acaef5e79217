// SPDX-License-Identifier: MIT
/*
 * C++: exceptions through traced frames, virtual and inline functions in COMDAT groups, static
 * construction and destruction, lambdas, thread-local objects.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static int alive;

struct Guard {
	int n;
	explicit Guard(int i) : n(i) { alive++; }
	NOINLINE ~Guard() { alive--; }
};

struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual double twice() const { return area() * 2; }
};
struct Square : Shape {
	double s;
	explicit Square(double x) : s(x) {}
	double area() const override { return s * s; }
};
struct Circle final : Shape {
	double r;
	explicit Circle(double x) : r(x) {}
	double area() const override { return r * r * 3; }
	double twice() const override { return Shape::twice() + 1; }
};

template <typename T> NOINLINE T power(T x, unsigned n)
{
	return n == 0 ? T(1) : x * power(x, n - 1);
}

NOINLINE int thrower(int n)
{
	Guard g(n);
	if (n == 0)
		throw std::runtime_error("deep");
	if (n == 13)
		throw n;
	int r = thrower(n - 1);
	return r + g.n;
}

NOINLINE int catcher(int n)
{
	Guard g(n);
	try {
		return thrower(n);
	} catch (const std::runtime_error &e) {
		return (int)std::string(e.what()).size() + alive;
	}
}

NOINLINE int rethrower(int n)
{
	try {
		return catcher(n);
	} catch (...) {
		Guard g(1);
		throw;
	}
}

NOINLINE int outer(int n)
{
	try {
		return rethrower(n);
	} catch (int i) {
		return -i;
	}
}

struct Global {
	std::vector<int> v{3, 1, 2};
	~Global() { std::printf("bye %zu\n", v.size()); }
};
static Global global;
static thread_local std::string name = "tls";

NOINLINE static void terminate_guard() noexcept
{
	try {
		thrower(3);
	} catch (std::exception &) {
		name += "!";
	}
}

int main()
{
	std::vector<std::unique_ptr<Shape>> shapes;
	std::map<std::string, int> words;
	double total = 0;

	for (int i = 0; i < 20; i++)
		if (i % 3)
			shapes.push_back(std::make_unique<Square>(i));
		else
			shapes.push_back(std::make_unique<Circle>(i));
	std::sort(shapes.begin(), shapes.end(),
		  [](const auto &a, const auto &b) { return a->twice() > b->twice(); });
	for (const auto &s : shapes)
		total = total / 2 + s->twice();
	for (const char *w : {"one", "two", "three", "two", "one", "two"})
		words[w]++;
	for (const auto &[w, n] : words)
		std::printf("%s %d\n", w.c_str(), n);
	std::function<int(int)> f = [&](int x) { return x + (int)words.size(); };
	std::sort(global.v.begin(), global.v.end());
	terminate_guard();
	std::printf("%g %d %d %d\n", total, f(4), catcher(10), alive);
	std::printf("%d %d %d %s\n", outer(20), outer(12), alive, name.c_str());
	std::printf("%ld %g\n", power(3L, 13), power(1.5, 4));
	long sum = 0;
	for (int i = 0; i < 2000; i++)
		sum += outer(i % 16);
	std::printf("%ld %d\n", sum, alive);
	for (int i = std::getenv("REPEAT") ? std::atoi(std::getenv("REPEAT")) * 2000 : 0; i > 0; i--)
		if (outer(i % 14) != outer(i % 14))
			std::puts("outer differs");
	return 0;
}
