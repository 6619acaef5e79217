/* SPDX-License-Identifier: MIT */
/*
 * A program that makes these system calls and no others: three times write(1, text, 1 + i),
 * lseek(0, -5, SEEK_SET), access("/nosuch", 4) and getpid(); then exit(7). Without a libc. In
 * between it calls leaf() a number of times. With -DINT80, and with -m32, by int $0x80: those have
 * other numbers, and their arguments other registers.
 */
#if defined(INT80) || defined(__i386__)
enum { WRITE = 4, LSEEK = 19, ACCESS = 33, GETPID = 20, EXIT = 1 };
#else
enum { WRITE = 1, LSEEK = 8, ACCESS = 21, GETPID = 39, EXIT = 60 };
#endif

#ifdef INT80 /* what stands above the 32 bits is not looked at */
#define HIGH 0xabcd00000000
#else
#define HIGH 0l
#endif

static long call(long nr, long a, long b, long c)
{
	long ret;

#if defined(INT80) || defined(__i386__)
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a | HIGH), "c"(b), "d"(c)
			 : "memory");
#else
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
#endif
	return ret;
}

__attribute__((noinline)) long leaf(long v)
{
	__asm__ volatile("" : "+r"(v));
	return v * 2;
}

__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3000; k++)
			leaf(k);
		call(WRITE, 1, (long)"abc", 1 + i);
		call(LSEEK, 0, -5, 0);
		call(ACCESS, (long)"/nosuch", 4, 0);
		call(GETPID, 0, 0, 0);
	}
}

void _start(void)
{
	work();
	call(EXIT, 7, 0, 0);
}
