/* SPDX-License-Identifier: MIT */
/* For server.c, which accepts connections, and request.c, which answers the requests that come over
 * them. */
#ifndef DT_SESSION_SERVER_WORK_H
#define DT_SESSION_SERVER_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

#include "session/state.h"

#define CONNECTIONS 1000 /* at a time */

struct connection {
	struct dt_server *server;
	int fd; /* -1: free */
	pthread_t thread;
	bool ended;	     /* the thread has ended, and has to be joined */
	atomic_bool quits;   /* the client has said quit, and waits until the session is closed */
	atomic_bool follows; /* the client reads records as they come, until the end */
	uint32_t pid;	     /* of the client */
	char *text;	     /* the answer that is being made */
	size_t n, room;
	bool short_of_memory; /* a part of the answer is missing */
};

struct dt_server {
	struct dt_session *session;
	int fd, stop[2];
	bool stopping; /* with the session's lock */
	pthread_t thread;
	pthread_mutex_t lock; /* guards connection[] */
	struct connection connection[CONNECTIONS];
	char name[64], path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Answers the requests of a connection until it ends or an answer cannot be sent. */
void dt_request_answer_all(struct connection *c);

#endif
