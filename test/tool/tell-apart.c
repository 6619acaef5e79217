/* SPDX-License-Identifier: MIT */
/* Prints what a process apart answers of a file, as it comes on the channel: seeds for
 * test/fuzz/apart.c. usage: tell-apart FILE */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf/elf.h"
#include "symbols/symtab-apart.h"
#include "symbols/symtab-tell.h"
#include "test/fuzz/apart.h"

/* Hands on what comes from one end of each pair to the other; answers are printed, too. */
static void stand_between(int asker, int answerer)
{
	struct pollfd f[2] = {{asker, POLLIN, 0}, {answerer, POLLIN, 0}};
	static char bytes[1 << 16];

	while (poll(f, 2, -1) > 0)
		for (int i = 0; i < 2; i++) {
			ssize_t n = f[i].revents ? read(f[i].fd, bytes, sizeof(bytes)) : 1;

			if (n <= 0)
				exit(fflush(stdout));
			if (!f[i].revents)
				continue;
			if (write(f[!i].fd, bytes, (size_t)n) != n ||
			    (i && fwrite(bytes, 1, (size_t)n, stdout) != (size_t)n))
				exit(1);
		}
}

int main(int argc, char **argv)
{
	int asker[2], answerer[2], file = argc == 2 ? dt_elf_file(argv[1], true, NULL) : -1;
	struct dt_error e = {""};
	struct dt_symtab *t;

	if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, asker) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, answerer)) {
		fprintf(stderr, "usage: tell-apart FILE\n");
		return 2;
	}
	if (fork() == 0) {
		close(answerer[0]);
		close(asker[0]);
		close(asker[1]);
		dt_symtab_tell(answerer[1],
			       &(struct dt_apart_file){argv[1], file, {-1, -1, -1, -1}});
		_exit(0);
	}
	close(answerer[1]);
	if (fork() == 0) {
		close(asker[1]);
		close(answerer[0]);
		t = dt_symtab_apart_begin(asker[0], argv[1], &e);
		if (t)
			dt_code_close(fuzz_apart_ask(t, argv[1], &e));
		dt_symtab_close(t);
		_exit(0);
	}
	close(asker[0]);
	stand_between(asker[1], answerer[0]);
}
