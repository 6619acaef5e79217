/* SPDX-License-Identifier: MIT */
/*
 * A small shop with two counters and events of its own: examples/events.sh builds it, records it
 * and shows them. Nothing of devtrace is linked, and it runs where there is none.
 */
#include <devtrace.h>
#include <pthread.h>
#include <stdio.h>

enum { SHOP = 1, TILL = 2 };		      /* subsystems */
enum { OPEN = 1, CLOSE, ARRIVE, NOTE, PAID }; /* events of theirs */

struct customer {
	unsigned long id;
	unsigned coins;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct customer queue[64];
static int first, last;

__attribute__((noinline)) static unsigned price(unsigned coins)
{
	return coins / 2 + 1;
}

__attribute__((noinline)) static void serve(const struct customer *c, int counter)
{
	unsigned sum = price(c->coins);

	DT_RECEIVE(c->id); /* the other end of DT_SEND() in arrive() */
	DT_EVENT(TILL, PAID, sum, c->id, counter);
	if (sum > c->coins)
		DT_TEXT(SHOP, NOTE, "has not got enough", 18);
}

static void *counter(void *number)
{
	for (;;) {
		struct customer c;

		pthread_mutex_lock(&lock);
		if (first == last) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		c = queue[first++];
		pthread_mutex_unlock(&lock);
		serve(&c, (int)(long)number);
	}
}

__attribute__((noinline)) static void arrive(unsigned long id)
{
	struct customer c = {id, (unsigned)(id * 7 % 5)};

	DT_EVENT(SHOP, ARRIVE, id);
	DT_SEND(id);
	queue[last++] = c;
}

int main(void)
{
	pthread_t thread[2];

	DT_EVENT(SHOP, OPEN, 0);
	for (unsigned long id = 1; id <= 6; id++)
		arrive(id);
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, counter, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	DT_EVENT(SHOP, CLOSE, last);
	printf("%d served%s\n", first, DT_ENABLED() ? ", and recorded" : "");
	return 0;
}
