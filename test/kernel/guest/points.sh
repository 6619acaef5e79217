# SPDX-License-Identifier: MIT
# Tracepoints at instructions, triggers, events.

# values: those of the log's points, in their order, one line each
values() {
	records | grep '^[Pc]' | cut -d' ' -f5- | tr -d '\n' | sed 's/\(................\) \{0,1\}/\1\n/g'
}

case_check_053_registers() {
	tell trace traced_here ALLREGS STACK 0 STACK 8 FRAME 0 FRAME -8 LOC traced_datum LOC traced_words+8 REG ax REG dil REG r15d
	tell start
	do_traced registers
	tell stop
	values >/tmp/v
	head -n 6 /tmp/v >/tmp/six
	is "$(tr '\n' ' ' </tmp/six)" '1111111111111111 2222222222222222 3333333333333333 4444444444444444 5555555555555555 6666666666666666 '
	is "$(sed -n 7p /tmp/v)" "$(address traced_words 16)"
	is "$(sed -n '9,16p' /tmp/v | tr '\n' ' ')" '7777777777777777 9999999999999999 aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb cccccccccccccccc dddddddddddddddd eeeeeeeeeeeeeeee ffffffffffffff01 '
	is "$(sed -n 17p /tmp/v)" "$(address traced_here)"
	# carry
	is $((0x$(sed -n 18p /tmp/v) & 1)) 1
	is "$(sed -n '19,27p' /tmp/v | tr '\n' ' ')" '0000000000005ac0 0000000000005ac8 000000000000f100 00000000000000f8 000000000000da7a 00000000000000f8 0000000000001111 0000000000000066 00000000ffffff01 '
}

case_check_052_any_instruction() {
	# push, push, ... up to the first store; the last ones: mov, mov, add
	for i in $(seq 0 14); do
		tell trace traced_known+$(printf %x $i) REG rsp 2>/dev/null && echo $i || true
	done >/tmp/set
	is "$(tr '\n' ' ' </tmp/set)" '0 1 2 4 6 8 10 14 '
	for i in 0 1 2 3 4 5 6; do
		tell trace traced_here+$i REG rsp 2>/dev/null && echo $i || true
	done >/tmp/set
	is "$(tr '\n' ' ' </tmp/set)" '0 3 6 '
	tell start
	do_traced registers
	tell stop
	is "$(records | cut -d' ' -f2 | sort -u | wc -l)" 11
	is "$(grep -c '^trace' $C)" 11
}

case_check_012_update_delete_list() {
	# the second instruction: some kernels have an endbr64 in front
	next=$(for i in 5 4; do tell trace traced_call+$i 2>/dev/null && echo $i && break; done)
	tell delete traced_call+$next
	tell trace traced_call REG rdi traced_call+$next PSR
	tell trace traced_nest CONST 0x7
	echo list >$C
	exec 3<>$C
	echo list >&3
	is "$(cat <&3)" "traced_call              REG rdi
traced_call+$next            PSR
traced_nest              CONST 0x7"
	echo trace traced_call REG rsi >&3
	is "$(cat <&3)" 'kitrace: Tracepoint at traced_call already exists, updating'
	exec 3>&-
	tell start
	do_traced calls 3
	is "$(records | grep '^P' | grep -c ' 0000000000000002 0000000000000000 0000000000000000 0000000000000000')" 3
	tell delete traced_call traced_nest
	do_traced calls 2
	do_traced nest 3
	is "$(counter tracehits)" 8
	refused 'in the middle of an instruction' trace traced_call+2
	refused 'in the tracer itself' trace devtrace_event
	refused 'no tracepoint can be at' trace traced_datum
	refused 'no tracepoint can be at' trace asm_exc_int3
	refused 'is no register' trace traced_nest REG r99
	refused 'debugging information' trace traced_nest VALUE n
}

case_check_056_bad_memory() {
	tell trace traced_here LOC 10 STACK 7fffffff FRAME 7fffffff LOC traced_datum
	tell start
	do_traced registers
	tell stop
	is "$(values | tr '\n' ' ')" 'badbadba00000000 badbadba00000000 badbadba00000000 000000000000da7a '
}

case_check_054_triggers() {
	tell trace traced_call new c
	tell trace c on
	tell freeze
	tell trace traced_nest UNFREEZE
	tell trace traced_empty new e ENTRY LATEFREEZE 3
	tell trace e on
	tell start
	do_traced calls 5
	is "$(counter tracehits)" 0
	do_traced nest 0
	do_traced calls 2
	# two calls: four records, after that the late freeze's own and three more
	do_traced time 1
	do_traced calls 5
	is "$(counter tracehits)" 9
	grep -q '^freeze' $C
	do_traced nest 0
	do_traced calls 1
	is "$(counter tracehits)" 12
	tell freeze
	do_traced calls 1
	is "$(counter tracehits)" 12
	# each hit is a record or has been left out
	is "$(($(counter tracehits) + $(count 'left out')))" "$(($(counter traceinhits) + $(counter traceouthits)))"
	tell unfreeze
	tell trace c remove
	tell trace traced_call new c ENTRY FREEZE CONST 0x99
	tell trace c on
	do_traced calls 3
	# the record and its constant
	is "$(counter tracehits)" 14
	is "$(records | tail -n 1 | cut -d' ' -f1,5)" 'c 0000000000000099'
}

case_check_057_stop_behind_so_many() {
	tell trace traced_call new c
	tell trace c on
	tell events 7
	tell start
	do_traced calls 10
	is "$(counter tracehits)" 7
	# and not one more, when the other core is at it, too
	for i in 1 2 3; do
		tell events 0
		tell reset
		tell events 4001
		taskset 1 sh -c 'echo calls 4000 >/proc/traced' & a=$!
		taskset 2 sh -c 'echo calls 4000 >/proc/traced'
		wait $a
		is "$(counter tracehits)" 4001
	done
}

case_check_events_of_other_modules() {
	tell start
	do_traced event 7 3 17 4096
	tell subsystem 7 off
	do_traced event 7 3 18 4097
	tell subsystem 7 on
	do_traced event 8 1 2 3
	tell stop
	do_traced event 8 1 2 4
	records >/tmp/log
	is "$(cut -d' ' -f1,5,6 /tmp/log)" 'V 0007000300000011 0000000000001000
V 0008000100000002 0000000000000003'
}

case_check_arm_by_events() {
	tell trace traced_call new c
	tell trace c on
	tell arm 7:1:1 7:1:0
	tell start
	do_traced calls 3
	is "$(counter tracehits)" 0
	do_traced event 7 1 1 0
	do_traced calls 2
	do_traced event 7 1 0 0
	do_traced calls 3
	is "$(counter tracehits)" 6
	is "$(records | cut -d' ' -f1 | tr -d '\n')" VEXEXV
	# a duration ends it, too
	tell disarm
	tell arm 7:1:1 - 1s
	do_traced event 7 1 1 0
	do_traced calls 1
	while ! grep -q '^freeze' $C; do sleep 0.05; done
	do_traced calls 1
	is "$(counter tracehits)" 9
}

case_check_arm_by_an_event_in_an_nmi() {
	tell trace traced_call new c
	tell trace c on
	tell arm 7:2:1 - 200ms
	tell start
	dmesg -n 1
	do_traced nmi 7 2 1 5
	do_traced calls 1
	is "$(counter tracehits)" 0
	# the other cores are asked by NMIs where they are
	echo l >/proc/sysrq-trigger
	while ! grep -q '^freeze' $C || [ "$(counter tracehits)" = 0 ]; do
		do_traced calls 1
	done
	do_traced nmi
	hits=$(counter tracehits)
	do_traced calls 1
	is "$(counter tracehits)" "$hits"
}

case_check_tracepoints_of_the_documents() {
	cat /documented
	[ -s /documented ]
	while read -r point; do
		tell "trace ${point#kernel:} REG rdi"
		tell "delete ${point#kernel:}"
	done </documented
	# as any other instruction, and nothing in between
	refused 'vfs_read+0x3/' trace vfs_read+3 REG rdi
	refused 'is in the middle of an instruction' trace vfs_read+3
}
