// SPDX-License-Identifier: MIT
// C++ exceptions through traced frames: caught, thrown again, past destructors, out of
// constructors, and out of a tail call.
#define TRUTH_MAIN
#include "truth.h"

static int sum;

// A destructor that runs while an exception passes is called by the frame that owns the object.
struct guard {
	int k, depth;
	FN guard(int n) : k(n), depth(truth_depth)
	{
		ENTER(UNTOLD, ARG(n));
		LEAVE();
	}
	FN ~guard()
	{
		truth_depth = depth;
		ENTER(UNTOLD);
		sum = sum * 7 + k;
		LEAVE();
	}
};

struct fails {
	int k;
	FN fails(int n) : k(n)
	{
		ENTER(UNTOLD, ARG(n));
		{
			guard g(n);
			if (n > 2)
				throw n;
		}
		LEAVE();
	}
};

FN int thrower(int n)
{
	ENTER(ARG(n));
	if (n == 0)
		throw 42;
	if (n == 1)
		throw 1.5;
	RETURN(n);
}

FN int passes(int n, int x)
{
	ENTER(ARG(n), ARG(x));
	{
		guard g(n);
		if (!n)
			x = thrower(x);
		else
			x = passes(n - 1, x);
	}
	RETURN(x + 0);
}

FN int again(int x)
{
	int depth;

	ENTER(ARG(x));
	depth = truth_depth;
	try {
		x = thrower(x);
	} catch (int) {
		truth_depth = depth;
		sum++;
		throw;
	}
	RETURN(x);
}

FN int catches(int x)
{
	int depth;

	ENTER(ARG(x));
	depth = truth_depth;
	try {
		x = again(x);
	} catch (int v) {
		truth_depth = depth;
		x = v;
	} catch (double v) {
		truth_depth = depth;
		x = (int)(v * 2);
	}
	RETURN(x);
}

FN int constructs(int n)
{
	int depth;

	ENTER(ARG(n));
	depth = truth_depth;
	try {
		fails f(n);
		sum += f.k;
	} catch (int v) {
		truth_depth = depth;
		RETURN(v);
	}
	RETURN(n + 1);
}

int main()
{
	int depth;

	truth_start();
	ENTER0();
	depth = truth_depth;
	for (int i = 0; i < 3; i++) {
		sum += catches(i);
		try {
			sum += passes(4, i) + 1;
		} catch (int v) {
			truth_depth = depth;
			sum += v;
		} catch (...) {
			truth_depth = depth;
			sum += 3;
		}
	}
	for (int i = 1; i < 5; i++)
		sum += constructs(i);
	printf("%d\n", sum);
	RETURN(0);
}
