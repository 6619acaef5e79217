/* SPDX-License-Identifier: MIT */
/* Code that looks at its own frames: return addresses, and unwinding from inside every call. */
#define TRUTH_MAIN
#include "truth.h"

#include <execinfo.h>

static void *main_address;

FN int look(int n)
{
	void *frame[64];
	int got, same = 0;

	ENTER(ARG(n));
	if (n) {
		got = look(n - 1);
		RETURN(got + 0);
	}
	got = backtrace(frame, 64);
	for (int i = 1; i < got - 1; i++)
		same += frame[i] == frame[i + 1];
	printf("%d frames, %d alike\n", got, same);
	RETURN(got);
}

FN int from(int k)
{
	char *at = __builtin_return_address(0);

	ENTER(ARG(k));
	RETURN((int)(at > (char *)main_address && at < (char *)main_address + 4096));
}

int main(void)
{
	int sum = 0;

	truth_start();
	ENTER0();
	main_address = (void *)main;
	for (int i = 0; i < 5; i++)
		sum += look(i * 3) + from(i);
	printf("%d\n", sum);
	RETURN(0);
}
