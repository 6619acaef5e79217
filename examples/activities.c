/* SPDX-License-Identifier: MIT */
/*
 * A server, as far as it is of interest here: workers take requests through their stages, and share
 * two locks. Its events are what examples/locks.sql and examples/stages.sql make activities from.
 */
#include <pthread.h>
#include <stdio.h>
#include <devtrace.h>

enum { LOCK = 20, REQUEST = 21 };
enum { WANTED = 1, TAKEN, RELEASED };
enum { RECEIVED = 1, PARSED, ANSWERED };

#define WORKERS	 3
#define REQUESTS 20 /* of each worker */

static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile unsigned work_done;

static void work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		work_done = i;
}

static void locked(unsigned which, unsigned n)
{
	DT_EVENT(LOCK, WANTED, which);
	pthread_mutex_lock(&lock[which]);
	DT_EVENT(LOCK, TAKEN, which);
	work(n);
	DT_EVENT(LOCK, RELEASED, which);
	pthread_mutex_unlock(&lock[which]);
}

static void serve(unsigned request)
{
	DT_EVENT(REQUEST, RECEIVED, request);
	work(200);
	DT_EVENT(REQUEST, PARSED, request);
	locked(request % 2, 500);
	DT_EVENT(REQUEST, ANSWERED, request);
}

static void *worker(void *first)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		serve((unsigned)(size_t)first + i);
	return NULL;
}

int main(void)
{
	pthread_t thread[WORKERS];

	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i * REQUESTS));
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	printf("%d requests\n", WORKERS * REQUESTS);
	return 0;
}
