/* SPDX-License-Identifier: MIT */
/* Branches through a register that do not leave the function, and one that does; and what no
 * compiler wrote, which gets no sled: sleds.t counts the sites. */
#ifdef RAW
__asm__(".text\nraw_file:\n\tret\n");
#ifdef __clang__
__attribute__((naked)) int raw_naked(int a)
{
	__asm__("mov w0, w1\n\tret");
}
#endif
int raw_inside(int a)
{
	__asm__ volatile("bl raw_file\n\tb 1f\n\tret\n1:" ::: "x30");
	return a;
}
#endif

int jumps_switch(int a, int b)
{
	switch (a) {
	case 0:
		return b * 3;
	case 1:
		return b / 7;
	case 2:
		return b ^ a;
	case 3:
		return b << a;
	case 4:
		return b % 11;
	case 5:
		return b - 100;
	case 6:
		return b & 77;
	case 7:
		return b | 1024;
	default:
		return 0;
	}
}

#ifdef GOTO
int jumps_goto(const unsigned char *p, int b)
{
	static void *const to[] = {&&more, &&less, &&end};

	goto *to[*p];
more:
	b += 3;
	goto *to[*++p];
less:
	b *= 5;
	goto *to[*++p];
end:
	return b;
}
#else
int jumps_away(int (*to)(int), int a)
{
	return to(a + 1);
}
#endif
