/* SPDX-License-Identifier: MIT */
/* Twice in 100 calls, work() waits 60 ms for a lock, and as long for a byte from a pipe. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile int asked, told;

static void *holder(void *x)
{
	struct timespec t = {0, 60000000};

	pthread_mutex_lock(&lock);
	asked = 1;
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&lock);
	nanosleep(&t, NULL);
	told = write(ends[1], "x", 1) == 1;
	return x;
}

__attribute__((noinline)) static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static int take_byte(void)
{
	char c;

	return (int)read(ends[0], &c, 1);
}

__attribute__((noinline)) int work(int n)
{
	pthread_t t;
	int r = 0;

	if (n % 50 == 49) {
		asked = 0;
		pthread_create(&t, NULL, holder, NULL);
		while (!asked)
			usleep(100);
		take_lock();
		r = take_byte();
		pthread_join(t, NULL);
	}
	return r + n;
}

int main(void)
{
	int sum = pipe(ends);

	for (int n = 0; n < 100; n++)
		sum += work(n);
	printf("%d\n", sum);
	return 0;
}
