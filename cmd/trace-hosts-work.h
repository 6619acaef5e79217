/* SPDX-License-Identifier: MIT */
/* The machines of --hosts, between cmd/trace-hosts.c and cmd/trace-hosts-list.c. */
#ifndef DT_CMD_TRACE_HOSTS_WORK_H
#define DT_CMD_TRACE_HOSTS_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/push.h"
#include "remote/there.h"

#define HOSTS 64
#define LINE  1024 /* bytes of a line that a host may say */

/* What a host is doing. */
enum doing { GREETS, READY, RECORDS, SENDS, DONE, FAILED };

/* What a host has said of its recording, and the others have not been told. */
enum news { NO_NEWS, NEWS_FROZEN, NEWS_THAWED, NEWS_OVER };

struct host {
	char *name, *address;
	char *pids; /* of `attach': with '+' between; "": none */
	struct dt_there there;
	enum doing doing;
	char line[LINE], said[LINE]; /* what has come of a line, from its two ends */
	size_t n_line, n_said;
	char last[LINE]; /* the last line that it has printed before it was ready */
	unsigned port;	 /* of pings */
	char ping[LINE]; /* its addresses with the port: for others */
	char path[4096]; /* of its trace here */
	int fd;		 /* of that, while it comes; -1 */
	uint64_t size, bytes, come;
	int status; /* the program's there */
	enum news news;
	size_t pushed;	/* bytes of devtrace itself that have been sent there */
	uint64_t since; /* ns: when it was started, or has taken some of these last */
};

struct hosts {
	struct host host[HOSTS];
	unsigned n;
	const char *folder;
	char word[33];
	bool terminal, stopped;
	bool frozen, over; /* the hosts have been told so */
	uint64_t second;   /* ns: when a second began, in which they have been told something */
	unsigned spreads;  /* so often */
	bool attaches;	   /* to processes that run there, rather than starting a program */
	struct dt_push push;
};

/* Takes a list of [NAME=]HOST, of `attach' with :PID+PID behind each, with commas between. False:
 * it is none, which has been reported. */
bool dt_hosts_parse(struct hosts *a, const char *list);

#endif
