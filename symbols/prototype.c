/* SPDX-License-Identifier: MIT */
/* Prototypes as in the manual pages, with types in the letters of signatures. */
#include "symbols/prototype.h"

#include <string.h>

#include "core/error.h"

/* "result name(type parameter, ...)", sorted by name. */
static const char *const prototype[] = {
	"v _exit(i4 status)",
	"v abort()",
	"i4 abs(i4 j)",
	"i4 accept(i4 sockfd, p addr, p addrlen)",
	"i4 accept4(i4 sockfd, p addr, p addrlen, i4 flags)",
	"i4 access(s path, i4 mode)",
	"u4 alarm(u4 seconds)",
	"p aligned_alloc(u8 alignment, u8 size)",
	"i4 asprintf(p strp, s format, ...)",
	"i4 atexit(p function)",
	"f8 atof(s nptr)",
	"i4 atoi(s nptr)",
	"i8 atol(s nptr)",
	"i4 bind(i4 sockfd, p addr, u4 addrlen)",
	"s bindtextdomain(s domainname, s dirname)",
	"i4 brk(p addr)",
	"p bsearch(p key, p base, u8 nmemb, u8 size)",
	"p calloc(u8 nmemb, u8 size)",
	"i4 chdir(s path)",
	"i4 chmod(s path, u4 mode)",
	"i4 chown(s path, u4 owner, u4 group)",
	"i8 clock()",
	"i4 clock_gettime(i4 clockid, p tp)",
	"i4 clock_nanosleep(i4 clockid, i4 flags, p request, p remain)",
	"i4 close(i4 fd)",
	"i4 closedir(p dirp)",
	"i4 connect(i4 sockfd, p addr, u4 addrlen)",
	"i4 creat(s path, u4 mode)",
	"s dcgettext(s domainname, s msgid, i4 category)",
	"i4 dlclose(p handle)",
	"s dlerror()",
	"p dlopen(s filename, i4 flags)",
	"p dlsym(p handle, s symbol)",
	"i4 dprintf(i4 fd, s format, ...)",
	"i4 dup(i4 oldfd)",
	"i4 dup2(i4 oldfd, i4 newfd)",
	"i4 dup3(i4 oldfd, i4 newfd, i4 flags)",
	"i4 epoll_create1(i4 flags)",
	"i4 epoll_ctl(i4 epfd, i4 op, i4 fd, p event)",
	"i4 epoll_wait(i4 epfd, p events, i4 maxevents, i4 timeout)",
	"i4 eventfd(u4 initval, i4 flags)",
	"i4 execv(s path, p argv)",
	"i4 execvp(s file, p argv)",
	"v exit(i4 status)",
	"i4 faccessat(i4 dirfd, s path, i4 mode, i4 flags)",
	"i4 fchdir(i4 fd)",
	"i4 fchmod(i4 fd, u4 mode)",
	"i4 fchown(i4 fd, u4 owner, u4 group)",
	"i4 fclose(p stream)",
	"i4 fcntl(i4 fd, i4 cmd, i8 arg)",
	"i4 fdatasync(i4 fd)",
	"p fdopen(i4 fd, s mode)",
	"p fdopendir(i4 fd)",
	"i4 feof(p stream)",
	"i4 ferror(p stream)",
	"i4 fflush(p stream)",
	"i4 fgetc(p stream)",
	"s fgets(p s, i4 size, p stream)",
	"i4 fileno(p stream)",
	"i4 flock(i4 fd, i4 operation)",
	"i4 fnmatch(s pattern, s string, i4 flags)",
	"p fopen(s path, s mode)",
	"i4 fork()",
	"i4 fprintf(p stream, s format, ...)",
	"i4 fputc(i4 c, p stream)",
	"i4 fputs(s s, p stream)",
	"i4 fputs_unlocked(s s, p stream)",
	"u8 fread(p ptr, u8 size, u8 nmemb, p stream)",
	"v free(p ptr)",
	"v freeaddrinfo(p res)",
	"p freopen(s path, s mode, p stream)",
	"i4 fscanf(p stream, s format, ...)",
	"i4 fseek(p stream, i8 offset, i4 whence)",
	"i4 fstat(i4 fd, p statbuf)",
	"i4 fstatat(i4 dirfd, s path, p statbuf, i4 flags)",
	"i4 fsync(i4 fd)",
	"i8 ftell(p stream)",
	"i4 ftruncate(i4 fd, i8 length)",
	"u8 fwrite(p ptr, u8 size, u8 nmemb, p stream)",
	"i4 getaddrinfo(s node, s service, p hints, p res)",
	"i4 getc(p stream)",
	"s getcwd(p buf, u8 size)",
	"i8 getdelim(p lineptr, p n, i4 delim, p stream)",
	"u4 getegid()",
	"s getenv(s name)",
	"u4 geteuid()",
	"u4 getgid()",
	"i4 gethostname(p name, u8 len)",
	"i8 getline(p lineptr, p n, p stream)",
	"i4 getopt(i4 argc, p argv, s optstring)",
	"i4 getopt_long(i4 argc, p argv, s optstring, p longopts, p longindex)",
	"i4 getpeername(i4 sockfd, p addr, p addrlen)",
	"i4 getpid()",
	"i4 getppid()",
	"p getpwnam(s name)",
	"p getpwuid(u4 uid)",
	"i8 getrandom(p buf, u8 buflen, u4 flags)",
	"i4 getrlimit(i4 resource, p rlim)",
	"i4 getrusage(i4 who, p usage)",
	"i4 getsockname(i4 sockfd, p addr, p addrlen)",
	"i4 getsockopt(i4 sockfd, i4 level, i4 optname, p optval, p optlen)",
	"s gettext(s msgid)",
	"i4 gettid()",
	"i4 gettimeofday(p tv, p tz)",
	"u4 getuid()",
	"i4 glob(s pattern, i4 flags, p errfunc, p pglob)",
	"p gmtime(p timep)",
	"p gmtime_r(p timep, p result)",
	"i4 inotify_add_watch(i4 fd, s pathname, u4 mask)",
	"i4 ioctl(i4 fd, u8 request, i8 arg)",
	"i4 isatty(i4 fd)",
	"i4 kill(i4 pid, i4 sig)",
	"i4 link(s oldpath, s newpath)",
	"i4 listen(i4 sockfd, i4 backlog)",
	"p localtime(p timep)",
	"p localtime_r(p timep, p result)",
	"i8 lseek(i4 fd, i8 offset, i4 whence)",
	"i4 lstat(s path, p statbuf)",
	"i4 madvise(p addr, u8 length, i4 advice)",
	"p malloc(u8 size)",
	"u8 malloc_usable_size(p ptr)",
	"p memalign(u8 alignment, u8 size)",
	"p memchr(p s, i4 c, u8 n)",
	"i4 memcmp(p s1, p s2, u8 n)",
	"p memcpy(p dest, p src, u8 n)",
	"i4 memfd_create(s name, u4 flags)",
	"p memmove(p dest, p src, u8 n)",
	"p memset(p s, i4 c, u8 n)",
	"i4 mkdir(s path, u4 mode)",
	"i4 mkdirat(i4 dirfd, s path, u4 mode)",
	"s mkdtemp(p template)",
	"i4 mkstemp(p template)",
	"i8 mktime(p tm)",
	"i4 mlock(p addr, u8 len)",
	"p mmap(p addr, u8 length, i4 prot, i4 flags, i4 fd, i8 offset)",
	"i4 mount(s source, s target, s filesystemtype, u8 mountflags, p data)",
	"i4 mprotect(p addr, u8 len, i4 prot)",
	"p mremap(p old_address, u8 old_size, u8 new_size, i4 flags)",
	"i4 msync(p addr, u8 length, i4 flags)",
	"i4 munmap(p addr, u8 length)",
	"i4 nanosleep(p req, p rem)",
	"i4 open(s path, i4 flags, u4 mode)",
	"i4 openat(i4 dirfd, s path, i4 flags, u4 mode)",
	"p opendir(s name)",
	"i4 pause()",
	"i4 pclose(p stream)",
	"v perror(s s)",
	"i4 pipe(p pipefd)",
	"i4 pipe2(p pipefd, i4 flags)",
	"i4 poll(p fds, u8 nfds, i4 timeout)",
	"p popen(s command, s type)",
	"i4 posix_memalign(p memptr, u8 alignment, u8 size)",
	"i4 prctl(i4 option, u8 arg2, u8 arg3, u8 arg4, u8 arg5)",
	"i8 pread(i4 fd, p buf, u8 count, i8 offset)",
	"i4 printf(s format, ...)",
	"i4 pthread_cond_broadcast(p cond)",
	"i4 pthread_cond_init(p cond, p attr)",
	"i4 pthread_cond_signal(p cond)",
	"i4 pthread_cond_timedwait(p cond, p mutex, p abstime)",
	"i4 pthread_cond_wait(p cond, p mutex)",
	"i4 pthread_create(p thread, p attr, p start_routine, p arg)",
	"i4 pthread_detach(u8 thread)",
	"p pthread_getspecific(u4 key)",
	"i4 pthread_join(u8 thread, p retval)",
	"i4 pthread_key_create(p key, p destructor)",
	"i4 pthread_kill(u8 thread, i4 sig)",
	"i4 pthread_mutex_destroy(p mutex)",
	"i4 pthread_mutex_init(p mutex, p attr)",
	"i4 pthread_mutex_lock(p mutex)",
	"i4 pthread_mutex_trylock(p mutex)",
	"i4 pthread_mutex_unlock(p mutex)",
	"i4 pthread_once(p once_control, p init_routine)",
	"i4 pthread_rwlock_rdlock(p rwlock)",
	"i4 pthread_rwlock_unlock(p rwlock)",
	"i4 pthread_rwlock_wrlock(p rwlock)",
	"u8 pthread_self()",
	"i4 pthread_setspecific(u4 key, p value)",
	"i8 ptrace(i4 request, i4 pid, p addr, p data)",
	"i4 putc(i4 c, p stream)",
	"i4 putchar(i4 c)",
	"i4 putenv(s string)",
	"i4 puts(s s)",
	"i8 pwrite(i4 fd, p buf, u8 count, i8 offset)",
	"v qsort(p base, u8 nmemb, u8 size, p compar)",
	"i4 raise(i4 sig)",
	"i4 rand()",
	"i8 random()",
	"i8 read(i4 fd, p buf, u8 count)",
	"p readdir(p dirp)",
	"i8 readlink(s path, p buf, u8 bufsiz)",
	"i8 readv(i4 fd, p iov, i4 iovcnt)",
	"p realloc(p ptr, u8 size)",
	"p reallocarray(p ptr, u8 nmemb, u8 size)",
	"s realpath(s path, p resolved)",
	"i8 recv(i4 sockfd, p buf, u8 len, i4 flags)",
	"i8 recvfrom(i4 sockfd, p buf, u8 len, i4 flags, p src_addr, p addrlen)",
	"i8 recvmsg(i4 sockfd, p msg, i4 flags)",
	"i4 regcomp(p preg, s regex, i4 cflags)",
	"i4 regexec(p preg, s string, u8 nmatch, p pmatch, i4 eflags)",
	"i4 rename(s oldpath, s newpath)",
	"v rewind(p stream)",
	"i4 rmdir(s path)",
	"p sbrk(i8 increment)",
	"i4 scanf(s format, ...)",
	"i4 sched_getaffinity(i4 pid, u8 cpusetsize, p mask)",
	"i4 sched_setaffinity(i4 pid, u8 cpusetsize, p mask)",
	"i4 sched_yield()",
	"s secure_getenv(s name)",
	"i4 select(i4 nfds, p readfds, p writefds, p exceptfds, p timeout)",
	"i4 sem_init(p sem, i4 pshared, u4 value)",
	"i4 sem_post(p sem)",
	"i4 sem_trywait(p sem)",
	"i4 sem_wait(p sem)",
	"i8 send(i4 sockfd, p buf, u8 len, i4 flags)",
	"i8 sendfile(i4 out_fd, i4 in_fd, p offset, u8 count)",
	"i8 sendmsg(i4 sockfd, p msg, i4 flags)",
	"i8 sendto(i4 sockfd, p buf, u8 len, i4 flags, p dest_addr, u4 addrlen)",
	"i4 setenv(s name, s value, i4 overwrite)",
	"i4 setgid(u4 gid)",
	"i4 setitimer(i4 which, p new_value, p old_value)",
	"s setlocale(i4 category, s locale)",
	"i4 setrlimit(i4 resource, p rlim)",
	"i4 setsockopt(i4 sockfd, i4 level, i4 optname, p optval, u4 optlen)",
	"i4 setuid(u4 uid)",
	"i4 shutdown(i4 sockfd, i4 how)",
	"i4 sigaction(i4 signum, p act, p oldact)",
	"i4 sigaddset(p set, i4 signum)",
	"i4 sigemptyset(p set)",
	"i4 sigfillset(p set)",
	"i4 sigismember(p set, i4 signum)",
	"p signal(i4 signum, p handler)",
	"i4 sigprocmask(i4 how, p set, p oldset)",
	"i4 sigsuspend(p mask)",
	"u4 sleep(u4 seconds)",
	"i4 snprintf(p str, u8 size, s format, ...)",
	"i4 socket(i4 domain, i4 type, i4 protocol)",
	"i4 socketpair(i4 domain, i4 type, i4 protocol, p sv)",
	"i8 splice(i4 fd_in, p off_in, i4 fd_out, p off_out, u8 len, u4 flags)",
	"i4 sprintf(p str, s format, ...)",
	"v srand(u4 seed)",
	"v srandom(u4 seed)",
	"i4 sscanf(s str, s format, ...)",
	"i4 stat(s path, p statbuf)",
	"s stpcpy(p dest, s src)",
	"i4 strcasecmp(s s1, s s2)",
	"s strcat(p dest, s src)",
	"s strchr(s s, i4 c)",
	"i4 strcmp(s s1, s s2)",
	"i4 strcoll(s s1, s s2)",
	"s strcpy(p dest, s src)",
	"u8 strcspn(s s, s reject)",
	"s strdup(s s)",
	"s strerror(i4 errnum)",
	"u8 strftime(p s, u8 max, s format, p tm)",
	"u8 strlen(s s)",
	"i4 strncasecmp(s s1, s s2, u8 n)",
	"s strncat(p dest, s src, u8 n)",
	"i4 strncmp(s s1, s s2, u8 n)",
	"s strncpy(p dest, s src, u8 n)",
	"s strndup(s s, u8 n)",
	"u8 strnlen(s s, u8 maxlen)",
	"s strpbrk(s s, s accept)",
	"s strrchr(s s, i4 c)",
	"u8 strspn(s s, s accept)",
	"s strstr(s haystack, s needle)",
	"f8 strtod(s nptr, p endptr)",
	"s strtok(s str, s delim)",
	"s strtok_r(s str, s delim, p saveptr)",
	"i8 strtol(s nptr, p endptr, i4 base)",
	"i8 strtoll(s nptr, p endptr, i4 base)",
	"u8 strtoul(s nptr, p endptr, i4 base)",
	"u8 strtoull(s nptr, p endptr, i4 base)",
	"i4 symlink(s target, s linkpath)",
	"i8 sysconf(i4 name)",
	"v syslog(i4 priority, s format, ...)",
	"i4 system(s command)",
	"i4 tcgetattr(i4 fd, p termios_p)",
	"i4 tcsetattr(i4 fd, i4 optional_actions, p termios_p)",
	"s textdomain(s domainname)",
	"i8 time(p tloc)",
	"i4 timerfd_create(i4 clockid, i4 flags)",
	"i4 tolower(i4 c)",
	"i4 toupper(i4 c)",
	"i4 truncate(s path, i8 length)",
	"u4 umask(u4 mask)",
	"i4 uname(p buf)",
	"i4 ungetc(i4 c, p stream)",
	"i4 unlink(s path)",
	"i4 unlinkat(i4 dirfd, s path, i4 flags)",
	"i4 unsetenv(s name)",
	"i4 usleep(u4 usec)",
	"i4 vfprintf(p stream, s format, p ap)",
	"i4 vprintf(s format, p ap)",
	"i4 vsnprintf(p str, u8 size, s format, p ap)",
	"i4 wait(p wstatus)",
	"i4 wait4(i4 pid, p wstatus, i4 options, p rusage)",
	"i4 waitid(i4 idtype, u4 id, p infop, i4 options)",
	"i4 waitpid(i4 pid, p wstatus, i4 options)",
	"i8 write(i4 fd, p buf, u8 count)",
	"i8 writev(i4 fd, p iov, i4 iovcnt)",
};

#define PROTOTYPES (sizeof(prototype) / sizeof(*prototype))

bool dt_prototype_file(const char *path)
{
	static const char *const base[] = {"libc.so", "libc-2.", "libpthread", "libdl.so",
					   "ld-musl"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++)
		if (strncmp(name, base[i], strlen(base[i])) == 0)
			return true;
	return false;
}

/* Compares a name of n bytes with that of an entry. */
static int compare(const char *name, size_t n, const char *entry)
{
	const char *own = strchr(entry, ' ') + 1;
	size_t length = strcspn(own, "(");
	int c = strncmp(name, own, n < length ? n : length);

	return c ? c : n < length ? -1 : n > length;
}

static const char *find(const char *name, size_t n)
{
	size_t low = 0, high = PROTOTYPES;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = compare(name, n, prototype[mid]);

		if (c == 0)
			return prototype[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* Finds the entry also by other names of the same function: __libc_read, _IO_puts, fopen64. */
static const char *find_any(const char *name)
{
	static const char *const prefix[] = {"", "__libc_", "__GI_", "_IO_", "__new_", "__"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++) {
		size_t skip = strlen(prefix[i]);
		const char *found;

		if (n <= skip || strncmp(name, prefix[i], skip) != 0)
			continue;
		found = find(name + skip, n - skip);
		if (!found && n - skip > 2 && strcmp(name + n - 2, "64") == 0)
			found = find(name + skip, n - skip - 2);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Writes the parameters. The first four are in the record; none of the table's are in vector
 * registers.
 */
static size_t parameters(const char *p, bool places, char *buf, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; *p && *p != ')' && at < size; i++) {
		size_t type = strcspn(p, " "), name;

		if (strncmp(p, "...", 3) == 0)
			return at + dt_format(buf + at, size - at, "%s...:a@-", i ? "," : "");
		name = strcspn(p + type + 1, ",)");
		at += dt_format(buf + at, size - at, "%s%.*s:%.*s@", i ? "," : "", (int)name,
				p + type + 1, (int)type, p);
		if (at < size)
			at += i < (places ? 6 : 4) ? dt_format(buf + at, size - at, "%u", i)
						   : dt_format(buf + at, size - at, "-");
		p += type + 1 + name;
		if (*p == ',')
			p += 2;
	}
	return at;
}

static void write_out(const char *p, bool places, char *buf, size_t size)
{
	size_t result = p ? strcspn(p, " ") : 0, at;

	buf[0] = '\0';
	if (!p)
		return;
	at = parameters(strchr(p, '(') + 1, places, buf, size);
	if (at < size)
		at += dt_format(buf + at, size - at, ";%.*s%s", (int)result, p,
				p[0] == 'v'   ? ""
				: p[0] == 'f' ? "@2"
					      : "@0");
	if (at >= size)
		buf[0] = '\0';
}

void dt_prototype(const char *name, bool places, char *buf, size_t size)
{
	write_out(find_any(name), places, buf, size);
}

/* ---- system calls for which the library has no function, or a different one ---- */

static const char *const call[] = {
	"i4 arch_prctl(i4 option, u8 arg2)",
	"i4 bpf(i4 cmd, p attr, u4 size)",
	"u8 brk(u8 brk)",
	"i4 capget(p header, p data)",
	"i4 capset(p header, p data)",
	"i4 clock_adjtime(i4 which_clock, p tx)",
	"i4 clone(u8 flags, u8 newsp, p parent_tidptr, p child_tidptr, u8 tls)",
	"i4 clone3(p uargs, u8 size)",
	"i4 close_range(u4 fd, u4 max_fd, u4 flags)",
	"i8 copy_file_range(i4 fd_in, p off_in, i4 fd_out, p off_out, u8 len, u4 flags)",
	"i4 epoll_pwait2(i4 epfd, p events, i4 maxevents, p timeout, p sigmask, u8 sigsetsize)",
	"v exit_group(i4 error_code)",
	"i4 fcntl(u4 fd, u4 cmd, u8 arg)",
	"i4 faccessat2(i4 dfd, s filename, i4 mode, i4 flags)",
	"i4 futex(p uaddr, i4 op, u4 val, p utime, p uaddr2, u4 val3)",
	"i8 getcwd(p buf, u8 size)",
	"i8 getdents(u4 fd, p dirent, u4 count)",
	"i8 getdents64(u4 fd, p dirent, u4 count)",
	"i8 getrandom(p buf, u8 count, u4 flags)",
	"i4 gettid()",
	"i8 io_uring_enter(u4 fd, u4 to_submit, u4 min_complete, u4 flags, p argp, u8 argsz)",
	"i8 io_uring_register(u4 fd, u4 opcode, p arg, u4 nr_args)",
	"i8 io_uring_setup(u4 entries, p params)",
	"i4 ioctl(u4 fd, u4 cmd, u8 arg)",
	"i4 membarrier(i4 cmd, u4 flags, i4 cpu_id)",
	"i4 memfd_create(s uname, u4 flags)",
	"u8 mremap(p addr, u8 old_len, u8 new_len, u8 flags, p new_addr)",
	"i4 newfstat(u4 fd, p statbuf)",
	"i4 newfstatat(i4 dfd, s filename, p statbuf, i4 flag)",
	"i4 newlstat(s filename, p statbuf)",
	"i4 newstat(s filename, p statbuf)",
	"i4 newuname(p name)",
	"i4 open(s filename, i4 flags, u4 mode)",
	"i4 openat(i4 dfd, s filename, i4 flags, u4 mode)",
	"i4 openat2(i4 dfd, s filename, p how, u8 usize)",
	"i4 perf_event_open(p attr, i4 pid, i4 cpu, i4 group_fd, u8 flags)",
	"i4 pidfd_getfd(i4 pidfd, i4 fd, u4 flags)",
	"i4 pidfd_open(i4 pid, u4 flags)",
	"i4 pidfd_send_signal(i4 pidfd, i4 sig, p info, u4 flags)",
	"i4 ppoll(p ufds, u4 nfds, p tsp, p sigmask, u8 sigsetsize)",
	"i4 prctl(i4 option, u8 arg2, u8 arg3, u8 arg4, u8 arg5)",
	"i8 preadv2(u8 fd, p vec, u8 vlen, u8 pos_l, u8 pos_h, i4 flags)",
	"i8 process_vm_readv(i4 pid, p lvec, u8 liovcnt, p rvec, u8 riovcnt, u8 flags)",
	"i8 process_vm_writev(i4 pid, p lvec, u8 liovcnt, p rvec, u8 riovcnt, u8 flags)",
	"i4 prlimit64(i4 pid, u4 resource, p new_rlim, p old_rlim)",
	"i4 pselect6(i4 n, p inp, p outp, p exp, p tsp, p sig)",
	"i8 pwritev2(u8 fd, p vec, u8 vlen, u8 pos_l, u8 pos_h, i4 flags)",
	"i4 renameat2(i4 olddfd, s oldname, i4 newdfd, s newname, u4 flags)",
	"i4 rseq(p rseq, u4 rseq_len, i4 flags, u4 sig)",
	"i4 rt_sigaction(i4 sig, p act, p oact, u8 sigsetsize)",
	"i4 rt_sigprocmask(i4 how, p nset, p oset, u8 sigsetsize)",
	"i4 rt_sigreturn()",
	"i4 rt_sigsuspend(p unewset, u8 sigsetsize)",
	"i4 rt_sigtimedwait(p uthese, p uinfo, p uts, u8 sigsetsize)",
	"i4 sched_getattr(i4 pid, p attr, u4 size, u4 flags)",
	"i4 sched_setattr(i4 pid, p attr, u4 flags)",
	"i4 seccomp(u4 op, u4 flags, p uargs)",
	"i4 set_robust_list(p head, u8 len)",
	"i4 set_tid_address(p tidptr)",
	"i4 statx(i4 dfd, s filename, u4 flags, u4 mask, p buffer)",
	"i4 tgkill(i4 tgid, i4 pid, i4 sig)",
	"i4 tkill(i4 pid, i4 sig)",
};

void dt_prototype_call(const char *name, char *buf, size_t size)
{
	for (size_t i = 0; i < sizeof(call) / sizeof(*call); i++)
		if (compare(name, strlen(name), call[i]) == 0) {
			write_out(call[i], false, buf, size);
			return;
		}
	dt_prototype(name, false, buf, size);
}
