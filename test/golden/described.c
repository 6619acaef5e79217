/* SPDX-License-Identifier: MIT */
/*
 * A program with debug information for `session --described': it obeys letters as answers.S does. The
 * tests take what gcc 12 has made of it (described.xz), so that it is the same everywhere:
 * gcc -O1 -g -gdwarf-4 -ffreestanding -fno-stack-protector -fcf-protection=none -fno-pie -falign-functions=16 -c, ld -static -no-pie
 */
typedef unsigned char byte;
enum colour { RED, GREEN = 7, BLUE = -1 };
struct inner { short a; int b : 5, c : 3; };
struct point { float x, y; };
struct list { struct list *next; long len; struct inner inner; char name[8]; enum colour colour; };
union either { double d; long n; };
static struct list second = {0, 22, {3, 4, 1}, "second", GREEN};
struct list first = {&second, 11, {1, 2, 3}, "first", BLUE};
const char *text = "some text";
int numbers[4] = {10, 20, 30, 40};

__attribute__((noipa)) long walk(struct list *l, int depth)
{
	long sum = 0;
	for (; l && depth; l = l->next, depth--)
		sum += l->len;
	return sum;
}
__attribute__((noipa)) double scale(double by, struct point p, float f) { return by * p.x + p.y - f; }
__attribute__((noipa)) enum colour paint(enum colour c, _Bool on, char key) { return on ? c : (enum colour)key; }
__attribute__((noipa)) int say(const char *what, byte n) { int i = 0; while (what[i] && i < n) i++; return i; }
__attribute__((noipa)) union either mixed(union either e, unsigned short u, signed char s) { e.n += u + s; return e; }
__attribute__((noipa)) int *at(int *array, unsigned long long i) { int *p = array + i; return p; }
__attribute__((noipa)) long many(int a, int b, int c, int d, int e, int f, int g, long h) { return a + b + c + d + e + f + g + h; }
__attribute__((noipa)) void nothing(void) { __asm__ volatile(""); }
__attribute__((noipa)) int failing(int n) { return -n; }

static int obey(int letter)
{
	switch (letter) {
	case 'w': return (int)walk(&first, 5);
	case 's': return (int)scale(2.5, (struct point){1.5f, -2}, 0.25f);
	case 'p': return paint(GREEN, 1, 'k');
	case 't': return say(text, 200);
	case 'm': return (int)mixed((union either){.n = 1}, 65535, -3).n;
	case 'a': return *at(numbers, 2);
	case 'y': return (int)many(1, 2, 3, 4, 5, 6, 7, 8);
	case 'n': nothing(); return failing(22);
	}
	return 0;
}

void _start(void)
{
	char letter;
	for (;;) {
		long got;
		__asm__ volatile("syscall" : "=a"(got) : "0"(0L), "D"(0L), "S"(&letter), "d"(1L) : "rcx", "r11", "memory");
		if (got != 1)
			break;
		obey(letter);
	}
	__asm__ volatile("syscall" : : "a"(231L), "D"(0L));
	__builtin_unreachable();
}
