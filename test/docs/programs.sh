# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by what documents have run beforehand (document.py): makes programs of which they speak, in this folder.
#   program, server   call parse_line() and parse_space(), handle(), logging(), malloc(); run so many seconds as $LIVES
#                     says, or until they have made 200 rounds
#   pidof NAME        starts NAME, a copy of it that lives $lives seconds (4), and prints its process id
cat >program.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int logging(int n)
{
	void *volatile p = malloc(16 + n % 100);
	free(p);
	return n + getpid();
}
__attribute__((noinline)) int parse_space(int n)
{
	return n + getppid();
}
__attribute__((noinline)) int parse_line(int n)
{
	return parse_space(n) * 2 + logging(n);
}
__attribute__((noinline)) int handle(int n)
{
	usleep(n % 8 ? 1000 : 60000);
	return parse_line(n);
}
int main(void)
{
	const char *lives = getenv("LIVES");
	time_t end = time(NULL) + (lives ? atoi(lives) : 0);
	int fd = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 200 || time(NULL) < end; i++) {
		handle(i);
		fsync(fd);
	}
	return 0;
}
C
gcc -g -O1 -fno-optimize-sibling-calls -o program program.c && cp program server && cp program prog
lives=4
pidof() {
	[ -e "$1" ] || cp program "$1"
	LIVES=$lives "./$1" >/dev/null 2>&1 &
	echo $!
	sleep 0.2 # until it is in main()
}
