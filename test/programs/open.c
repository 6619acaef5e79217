/* SPDX-License-Identifier: MIT */
/* Calls that are open when a process ends: a child's, while its parent goes on in a call of its own
 * for so many milliseconds; then the parent's. Prints how often each function has been called. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
	long leaf, deep, around, end;
} * made; /* of both processes */

__attribute__((noipa)) long leaf(long x)
{
	made->leaf++;
	return x + 1;
}

__attribute__((noipa)) long deep(long x)
{
	made->deep++;
	if (!x) {
		leaf(1);
		_exit(0);
	}
	return deep(x - 1) + 1;
}

/* Does not return: main(), around() and this are open at the end. */
__attribute__((noipa)) void end(void)
{
	made->end++;
	printf("leaf %ld\ndeep %ld\naround %ld\nend %ld\nmain 1\n", made->leaf, made->deep,
	       made->around, made->end);
	fflush(stdout);
	_exit(0);
}

__attribute__((noipa)) long around(long children)
{
	const struct timespec t = {0, 20000000};

	made->around++;
	for (; children; children--) {
		pid_t child = fork();

		if (!child)
			deep(9);
		waitpid(child, NULL, 0);
		nanosleep(&t, NULL);
		leaf(3);
	}
	end();
	return leaf(4);
}

int main(int argc, char **argv)
{
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return made == MAP_FAILED || around(argc > 1 ? atol(argv[1]) : 1) < 0;
}
