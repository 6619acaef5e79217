/* SPDX-License-Identifier: MIT */
/* Calls the functions of odd.S and prints what they answer. */
#include <stdio.h>

long plain(long), one_byte_padded(void), loop_to_entry(int, long), far_loop_to_entry(int, long),
	target_inside(int, int), shared_exit(long, long), branches_out(long), skips_lock(long, int),
	skips_lock_alone(long, int),
	counts_down(long, long), calls_first(long), has_endbr(long), uses_flags(long, long),
	red_zone(long, long), behind_shared_exit(void), shared_exit_short(long, long),
	behind_shared_exit_short(void), cold_exits(long), behind_cold_exits(void),
	loop_moved(int, long), behind_loop_moved(void), before_rooms(long), returns_to_two(long),
	moves_call(void), moves_entry(long), runs_into_two(long), room_elsewhere(long),
	behind_rooms(long), across_page(long), behind_across(long);
int reads_itself(void), takes_itself(long);
void one_byte(void), two_bytes(void);
void *asks_address(void);

static long pops(long a, long b)
{
	long r;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %2\n\tcall pops\n\tlea 128(%%rsp), %%rsp"
			 : "=a"(r), "+D"(a)
			 : "r"(b)
			 : "memory", "cc");
	return r;
}

int main(void)
{
	for (long i = -3; i < 9; i++) {
		one_byte();
		two_bytes();
		one_byte_padded();
		printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld\n", plain(i), loop_to_entry((int)i, i * 5),
		       far_loop_to_entry((int)i, i), target_inside(1, (int)i * 100),
		       shared_exit(i, 70 + i), branches_out(i), skips_lock(i, (int)i & 1),
		       counts_down(i, i + 4), skips_lock_alone(i, (int)i & 1));
		printf("%ld %ld %ld %ld %ld %ld\n", loop_moved((int)i, i), behind_loop_moved(),
		       shared_exit_short(i, 70 + i), behind_shared_exit_short(), cold_exits(i),
		       behind_cold_exits());
		printf("%ld %d %ld %ld %ld %ld %ld\n", calls_first(i),
		       asks_address() == (void *)asks_address, has_endbr(i), uses_flags(i, 4) & 1,
		       red_zone(i, 9), pops(i, 11 * i), behind_shared_exit());
		printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld\n", before_rooms(i), returns_to_two(i),
		       moves_call(), moves_entry(i), runs_into_two(i), room_elsewhere(i),
		       behind_rooms(i), across_page(i), behind_across(i));
	}
	printf("%x %x\n", reads_itself(), takes_itself(1));
	return 3;
}
