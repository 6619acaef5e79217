// SPDX-License-Identifier: MIT
/* A library with sleds that known.c loads and unloads. */
long plugged(long a, long (*to)(long));

long plugged(long a, long (*to)(long))
{
	return to(a) + 1;
}
