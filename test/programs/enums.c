/* SPDX-License-Identifier: MIT */
/*
 * Enumerations whose numbers have their highest bit set, in the smallest form that holds them. Prints
 * each call as it is to be shown. For C and, with -x c++, for C++ with types of the program's choice.
 */
#include <stdio.h>

enum mixed { V255 = 255, M1 = -1 };
enum bytes { B0, B127 = 127, B128, B255 = 255 };
enum words { W32767 = 32767, W32768, W65535 = 65535 };
enum both { S200 = 200, M56 = -56, S40000 = 40000, M25536 = -25536 };
enum wide { D31 = 0x80000000u, DF = 0xffffffffu };
enum huge { H0, H32 = 0x100000000, H63 = 0x7fffffffffffffff };
enum __attribute__((packed)) small { P0, P200 = 200 };
enum __attribute__((packed)) minus { Q0, Q56 = -56 };

#define USE(type)                                                                           \
	__attribute__((noinline)) static void use_##type(enum type x)                       \
	{                                                                                   \
		__asm__ volatile("" : : "r"(x) : "memory");                                 \
	}
#define CALL(type, value)                         \
	do {                                      \
		use_##type(value);                \
		puts("use_" #type "(x=" #value ")"); \
	} while (0)

USE(mixed)
USE(bytes)
USE(words)
USE(both)
USE(wide)
USE(huge)
USE(small)
USE(minus)

#ifdef __cplusplus
enum class u8 : unsigned char { A128 = 128, A255 = 255 };
enum class i8 : signed char { A127 = 127, A1 = -1, A128 = -128 };
enum class u16 : unsigned short { A128 = 128, A32768 = 32768, A65535 = 65535 };
enum class i16 : short { A255 = 255, A1 = -1, A32768 = -32768 };
enum class u32 : unsigned { A255 = 255, A65535 = 65535, A4294967295 = 4294967295 };
enum class i32 : int { A255 = 255, A65535 = 65535, A1 = -1 };
enum class i64 : long { A255 = 255, A65535 = 65535, A4294967295 = 4294967295, A1 = -1 };
enum class none : unsigned char {};

#define USE_CLASS(type)                                                        \
	__attribute__((noinline)) static void use_##type(type x)               \
	{                                                                      \
		__asm__ volatile("" : : "r"(x) : "memory");                    \
	}
#define CALL_CLASS(type, value)                   \
	do {                                      \
		use_##type(type::value);          \
		puts("use_" #type "(x=" #value ")"); \
	} while (0)

USE_CLASS(u8)
USE_CLASS(i8)
USE_CLASS(u16)
USE_CLASS(i16)
USE_CLASS(u32)
USE_CLASS(i32)
USE_CLASS(i64)
USE_CLASS(none)
#endif

int main(void)
{
	CALL(mixed, V255);
	CALL(mixed, M1);
	CALL(bytes, B0);
	CALL(bytes, B127);
	CALL(bytes, B128);
	CALL(bytes, B255);
	CALL(words, W32767);
	CALL(words, W32768);
	CALL(words, W65535);
	CALL(both, S200);
	CALL(both, M56);
	CALL(both, S40000);
	CALL(both, M25536);
	CALL(wide, D31);
	CALL(wide, DF);
	CALL(huge, H32);
	CALL(huge, H63);
	CALL(small, P200);
	CALL(minus, Q56);
	/* numbers without a name: with a sign if the type has one */
	use_bytes((enum bytes)4294967295u);
	puts("use_bytes(x=4294967295)");
	use_both((enum both)-2);
	puts("use_both(x=-2)");
#ifdef __cplusplus
	CALL_CLASS(u8, A128);
	CALL_CLASS(u8, A255);
	CALL_CLASS(i8, A127);
	CALL_CLASS(i8, A1);
	CALL_CLASS(i8, A128);
	CALL_CLASS(u16, A128);
	CALL_CLASS(u16, A32768);
	CALL_CLASS(u16, A65535);
	CALL_CLASS(i16, A255);
	CALL_CLASS(i16, A1);
	CALL_CLASS(i16, A32768);
	CALL_CLASS(u32, A255);
	CALL_CLASS(u32, A65535);
	CALL_CLASS(u32, A4294967295);
	CALL_CLASS(i32, A255);
	CALL_CLASS(i32, A65535);
	CALL_CLASS(i32, A1);
	CALL_CLASS(i64, A255);
	CALL_CLASS(i64, A65535);
	CALL_CLASS(i64, A4294967295);
	CALL_CLASS(i64, A1);
	use_none((none)200);
	puts("use_none(x=200)");
	use_i8((i8)-2);
	puts("use_i8(x=-2)");
#endif
	return 0;
}
