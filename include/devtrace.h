/* SPDX-License-Identifier: MIT */
/*
 * Events in a program, for devtrace to record. This file is all that is needed: there is nothing to
 * link, and a program that includes it runs where devtrace is not installed. doc/events.md
 * describes all of it.
 *
 *	DT_EVENT(subsystem, event, argument)            16, 16 and 32 bits
 *	DT_EVENT(subsystem, event, argument, a, b, c)   one to three more values of 64 bits
 *	DT_TEXT(subsystem, event, string, length)       bytes, up to DT_TEXT_MAX of them
 *	DT_RAW(body)                                    64 bits that belong to no subsystem
 *	DT_SEND(channel), DT_RECEIVE(channel)           the two ends of a message
 *	DT_SUBSYSTEM_ENABLED(subsystem)                 are its events being recorded?
 *	DT_ENABLED()                                    is a session recording this module?
 *	DT_DISABLE_PROCESS()                            stops all recording of this process for good
 *
 * Subsystem and event are integer constant expressions. Their spelling in the source, for example
 * an enumerator, is the name that devtrace shows. The values are always evaluated, whether they are
 * recorded or not.
 *
 * How it works: a site is one instruction in line, `test $imm32, %eax' (A9), which devtrace turns
 * into a jump (E9) to a stub by writing one byte; imm32 is the jump's displacement. So an event
 * that is off costs that instruction, and the values stay wherever the compiler has them anyway.
 * The stub steps over the red zone, calls the module's thunk, and jumps back; all registers are
 * preserved.
 *
 * C11 and C++17 with GNU extensions, gcc and clang, x86-64 Linux; elsewhere, and with
 * DEVTRACE_NO_EVENTS defined, the macros only evaluate their values. Not with -masm=intel.
 */
#ifndef DEVTRACE_H
#define DEVTRACE_H
#pragma GCC system_header

#define DT_TEXT_MAX 65536 /* bytes that are recorded of a text at most: its first ones */

/* The body of an event, the first value of its record, and the parts of a body. */
#define DT_BODY(subsystem, event, argument)                                                        \
	((unsigned long long)((subsystem) & 0xffffu) << 48 |                                       \
	 (unsigned long long)((event) & 0xffffu) << 32 | (unsigned int)(argument))
#define DT_BODY_SUBSYSTEM(body) ((unsigned int)((unsigned long long)(body) >> 48))
#define DT_BODY_EVENT(body) ((unsigned int)((unsigned long long)(body) >> 32) & 0xffffu)
#define DT_BODY_ARGUMENT(body) ((unsigned int)(body))

/* The bodies of messages: the low 44 bits of the channel are in bits 12 to 55. */
#define DT_SEND_BODY(channel) (0xeaull << 56 | ((unsigned long long)(channel) << 20 >> 8))
#define DT_RECEIVE_BODY(channel) (0xebull << 56 | ((unsigned long long)(channel) << 20 >> 8))

#ifdef __cplusplus
#define DT_CONSTANT_(x)                                                                            \
	static_assert((long long)(x) >= 0 && (long long)(x) <= 65535,                              \
		      "subsystem and event are constants from 0 to 65535")
#else
#define DT_CONSTANT_(x)                                                                            \
	_Static_assert((long long)(x) >= 0 && (long long)(x) <= 65535,                             \
		       "subsystem and event are constants from 0 to 65535")
#endif

#define DT_PICK_(a, b, c, d, e, ...) e
#define DT_JOIN2_(a, b) a##b
#define DT_JOIN_(a, b) DT_JOIN2_(a, b)

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__) && !defined(DEVTRACE_NO_EVENTS)

/*
 * The thunks, and the words that devtrace writes before it switches the first site on. They are
 * emitted once in an object file and linked once into a module (a COMDAT group, hidden). The `ret'
 * after each thunk is for detaching: a thread that is just about to pass through the thunk then is
 * led to it.
 *	__devtrace_event_hooks  at 0: hook for one value, 8: hook for four values, 16: function that
 *				opts out, 24: 1 while this module is recorded, -1 when the process
 *				has opted out
 * __devtrace_text and __devtrace_more load the next words of a text: r8 points to its rest, r9 is
 * the number of bytes left, and rax is lost.
 */
#define DT_MODULE_                                                                                 \
	".ifndef __devtrace_event\n"                                                               \
	".pushsection .text.__devtrace_event,\"axG\",@progbits,__devtrace_event_hooks,comdat\n"    \
	".globl __devtrace_event, __devtrace_event4, __devtrace_opt_out\n"                         \
	".hidden __devtrace_event, __devtrace_event4, __devtrace_opt_out\n"                        \
	".globl __devtrace_text, __devtrace_more\n"                                                \
	".hidden __devtrace_text, __devtrace_more\n"                                               \
	".type __devtrace_opt_out,@function\n"                                                     \
	".type __devtrace_event,@function\n"                                                       \
	".type __devtrace_event4,@function\n"                                                      \
	".type __devtrace_text,@function\n"                                                        \
	".type __devtrace_more,@function\n"                                                        \
	"__devtrace_event: notrack jmp *__devtrace_event_hooks(%%rip)\n"                           \
	"ret\n"                                                                                    \
	".size __devtrace_event,.-__devtrace_event\n"                                              \
	"__devtrace_event4: notrack jmp *__devtrace_event_hooks+8(%%rip)\n"                        \
	"ret\n"                                                                                    \
	".size __devtrace_event4,.-__devtrace_event4\n"                                            \
	"__devtrace_opt_out: notrack jmp *__devtrace_event_hooks+16(%%rip)\n"                      \
	"ret\n"                                                                                    \
	".size __devtrace_opt_out,.-__devtrace_opt_out\n"                                          \
	"__devtrace_text:\n" /* edi = its length, r9 = bytes to record; then three words */        \
	"mov $-1,%%edi\n"                                                                          \
	"cmp %%rdi,%%r9\n"                                                                         \
	"cmovb %%r9,%%rdi\n"                                                                       \
	"mov $65536,%%eax\n"                                                                       \
	"cmp %%rax,%%r9\n"                                                                         \
	"cmova %%rax,%%r9\n"                                                                       \
	"jmp 777f\n"                                                                               \
	".size __devtrace_text,.-__devtrace_text\n"                                                \
	"__devtrace_more:\n" /* four words */                                                      \
	"call 778f\n"                                                                              \
	"mov %%rax,%%rdi\n"                                                                        \
	"777: call 778f\n"                                                                         \
	"mov %%rax,%%rsi\n"                                                                        \
	"call 778f\n"                                                                              \
	"mov %%rax,%%rdx\n"                                                                        \
	"call 778f\n"                                                                              \
	"mov %%rax,%%rcx\n"                                                                        \
	"ret\n"                                                                                    \
	"778: sub $8,%%r9\n"                                                                       \
	"jb 779f\n"                                                                                \
	"mov (%%r8),%%rax\n"                                                                       \
	"add $8,%%r8\n"                                                                            \
	"ret\n"                                                                                    \
	"779: xor %%eax,%%eax\n"                                                                   \
	"add $8,%%r9\n"                                                                            \
	"je 777f\n"                                                                                \
	"778: shl $8,%%rax\n"                                                                      \
	"mov -1(%%r8,%%r9),%%al\n"                                                                 \
	"dec %%r9\n"                                                                               \
	"jne 778b\n"                                                                               \
	"777: ret\n"                                                                               \
	".size __devtrace_more,.-__devtrace_more\n"                                                \
	".popsection\n"                                                                            \
	".pushsection devtrace_event_hooks,\"awG\",@nobits,__devtrace_event_hooks,comdat\n"        \
	".balign 16\n"                                                                             \
	".globl __devtrace_event_hooks\n"                                                          \
	".hidden __devtrace_event_hooks\n"                                                         \
	".type __devtrace_event_hooks,@object\n"                                                   \
	".size __devtrace_event_hooks,32\n"                                                        \
	"__devtrace_event_hooks: .zero 32\n"                                                       \
	".popsection\n"                                                                            \
	".endif\n"

/* 771: the site, 772: its stub, 773: after the site, 774 and 775: where the hook returns to */
#define DT_SITE_ ".Ldevtrace%=: 771: .byte 0xa9\n.long 772f-.-4\n773:\n"
#define DT_STUB_ ".pushsection .text.devtrace.%=,\"ax?\",@progbits\n772:\n"
#define DT_STUB_END_ "jmp 773b\n.popsection\n"
/* all stubs have a frame of the same size: 128 bytes of red zone, 64 to keep registers in */
#define DT_FRAME_ "lea -192(%%rsp),%%rsp\n"
#define DT_FRAME_END_ "lea 192(%%rsp),%%rsp\n"
/* the hook finds the record's kind and number of values (meta) in the code that it returns to */
#define DT_CALL_(thunk, label, meta) "call " thunk "\n" label ": .byte 0xa9\n.long " meta "\n"

/*
 * Puts subsystem and event into the upper half of rdi. An immediate is sign-extended: where its top
 * bit is set, edi is inverted first, which the extension inverts back.
 */
#define DT_SET_BODY_                                                                               \
	".if %c[subsystem] & 0x8000\n"                                                             \
	"not %%edi\n"                                                                              \
	"shl $32,%%rdi\n"                                                                          \
	"xor $(%c[subsystem]<<16|%c[event])-0x100000000,%%rdi\n"                                   \
	".else\n"                                                                                  \
	"shl $32,%%rdi\n"                                                                          \
	"or $(%c[subsystem]<<16|%c[event]),%%rdi\n"                                                \
	".endif\n"                                                                                 \
	"rol $32,%%rdi\n"

/* keep the four registers of values in the frame, and load them again */
#define DT_KEEP4_                                                                                  \
	"mov %%rdi,(%%rsp)\n"                                                                      \
	"mov %%rsi,8(%%rsp)\n"                                                                     \
	"mov %%rdx,16(%%rsp)\n"                                                                    \
	"mov %%rcx,24(%%rsp)\n"
#define DT_GIVE4_                                                                                  \
	"mov (%%rsp),%%rdi\n"                                                                      \
	"mov 8(%%rsp),%%rsi\n"                                                                     \
	"mov 16(%%rsp),%%rdx\n"                                                                    \
	"mov 24(%%rsp),%%rcx\n"

/*
 * An entry in the table of sites, which the linker keeps or drops together with the function. It
 * has: the address of the site, and the two addresses that its hook returns to (the second is 0
 * except for a text), each relative to its own field; meta, as for DT_CALL_(); subsystem, event;
 * the entry's size; flags (1: belongs to no subsystem, 2: text, 4: no event, always on); the two
 * names.
 */
#define DT_ENTRY_(pc, more, meta, subsystem, event, flags, subsystem_name, event_name)             \
	".pushsection devtrace_events,\"ao?\",@progbits,.Ldevtrace%=\n"                            \
	".balign 4\n"                                                                              \
	"776: .long 771b-.," pc "," more "," meta "\n"                                             \
	".short " subsystem "," event ",777f-776b," flags "\n"                                     \
	".asciz \"" subsystem_name "\"\n"                                                          \
	".asciz \"" event_name "\"\n"                                                              \
	".balign 4\n"                                                                              \
	"777:\n"                                                                                   \
	".popsection\n"

/* A note for other tools in the form of <sys/sdt.h> (USDT); arguments: "size@operand"... */
#define DT_NOTE_(provider, name, arguments)                                                        \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",@progbits,.stapsdt.base,comdat\n"                       \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base,1\n"                                                                 \
	".popsection\n"                                                                            \
	".endif\n"                                                                                 \
	".pushsection .note.stapsdt,\"o?\",@note,.Ldevtrace%=\n"                                  \
	".balign 4\n"                                                                              \
	".long 772f-771f,775f-774f,3\n"                                                            \
	"771: .asciz \"stapsdt\"\n"                                                                \
	"772: .balign 4\n"                                                                         \
	"774: .quad .Ldevtrace%=,_.stapsdt.base,0\n" provider name                                 \
	".asciz \"" arguments "\"\n"                                                               \
	"775: .balign 4\n"                                                                         \
	".popsection\n"
#define DT_NAMED_(provider, name)                                                                  \
	".asciz \"" provider "\"\n", ".asciz \"" name "\"\n"
/* the note of an event; one that is written as numbers is called devtrace:event_7_3 */
#define DT_NOTE_EVENT_(subsystem_name, event_name, arguments)                                      \
	DT_NOTE_(".ifeqs \"" subsystem_name "\",\"%c[subsystem]\"\n"                               \
		 ".asciz \"devtrace\"\n"                                                           \
		 ".else\n"                                                                         \
		 ".asciz \"" subsystem_name "\"\n"                                                 \
		 ".endif\n",                                                                       \
		 ".ifeqs \"" event_name "\",\"%c[event]\"\n"                                       \
		 ".asciz \"event_%c[subsystem]_%c[event]\"\n"                                      \
		 ".else\n"                                                                         \
		 ".asciz \"" event_name "\"\n"                                                     \
		 ".endif\n",                                                                       \
		 arguments)

#define DT_NUMBERS_(s, e)                                                                          \
	[subsystem] "i"((unsigned int)(s)), [event] "i"((unsigned int)(e))
#define DT_VALUE_(x) ((unsigned long long)(x))

#define DT_EVENT1_(s, e, s_name, e_name, a)                                                        \
	do {                                                                                       \
		DT_CONSTANT_(s);                                                                   \
		DT_CONSTANT_(e);                                                                   \
		__asm__ __volatile__(                                                              \
			DT_MODULE_ DT_SITE_ DT_STUB_ DT_FRAME_                                     \
			"mov %%rdi,(%%rsp)\n"                                                      \
			"mov %[va],%%edi\n" DT_SET_BODY_                                            \
			DT_CALL_("__devtrace_event", "774", "0x0156")                              \
			"mov (%%rsp),%%rdi\n" DT_FRAME_END_ DT_STUB_END_                           \
			DT_ENTRY_("774b-.", "0", "0x0156", "%c[subsystem]", "%c[event]", "0",      \
				  s_name, e_name)                                                  \
			DT_NOTE_EVENT_(s_name, e_name,                                             \
				       "2@$%c[subsystem] 2@$%c[event] 4@%[va]")                     \
			:                                                                          \
			: DT_NUMBERS_(s, e), [va] "ri"((unsigned int)(a))                           \
			: "cc");                                                                   \
	} while (0)

/* The values may be in any registers, so they are moved to those of the hook through the frame. */
#define DT_EVENTN_(n, s, e, s_name, e_name, v0, v1, v2, v3, arguments)                             \
	do {                                                                                       \
		DT_CONSTANT_(s);                                                                   \
		DT_CONSTANT_(e);                                                                   \
		__asm__ __volatile__(                                                              \
			DT_MODULE_ DT_SITE_ DT_STUB_ DT_FRAME_ DT_KEEP4_                           \
			"movl %[va],32(%%rsp)\n"                                                    \
			"movq %[vb],40(%%rsp)\n"                                                    \
			"movq %[vc],48(%%rsp)\n"                                                    \
			"movq %[vd],56(%%rsp)\n"                                                    \
			"mov 32(%%rsp),%%edi\n"                                                    \
			"mov 40(%%rsp),%%rsi\n"                                                    \
			"mov 48(%%rsp),%%rdx\n"                                                    \
			"mov 56(%%rsp),%%rcx\n" DT_SET_BODY_                                       \
			DT_CALL_("__devtrace_event4", "774", "0x0" #n "56")                        \
			DT_GIVE4_ DT_FRAME_END_ DT_STUB_END_                                       \
			DT_ENTRY_("774b-.", "0", "0x0" #n "56", "%c[subsystem]", "%c[event]", "0", \
				  s_name, e_name)                                                  \
			DT_NOTE_EVENT_(s_name, e_name,                                             \
				       "2@$%c[subsystem] 2@$%c[event] 4@%[va] " arguments)          \
			:                                                                          \
			: DT_NUMBERS_(s, e), [va] "ri"((unsigned int)(v0)),                         \
			  [vb] "re"(DT_VALUE_(v1)), [vc] "re"(DT_VALUE_(v2)),                        \
			  [vd] "re"(DT_VALUE_(v3))                                                  \
			: "cc");                                                                   \
	} while (0)
#define DT_EVENT2_(s, e, s_name, e_name, a, b)                                                     \
	DT_EVENTN_(2, s, e, s_name, e_name, a, b, 0, 0, "8@%[vb]")
#define DT_EVENT3_(s, e, s_name, e_name, a, b, c)                                                  \
	DT_EVENTN_(3, s, e, s_name, e_name, a, b, c, 0, "8@%[vb] 8@%[vc]")
#define DT_EVENT4_(s, e, s_name, e_name, a, b, c, d)                                               \
	DT_EVENTN_(4, s, e, s_name, e_name, a, b, c, d, "8@%[vb] 8@%[vc] 8@%[vd]")

#define DT_EVENT(subsystem, event, ...)                                                            \
	DT_JOIN_(DT_EVENT, DT_JOIN_(DT_PICK_(__VA_ARGS__, 4, 3, 2, 1, ), _))                       \
	(subsystem, event, #subsystem, #event, __VA_ARGS__)

#define DT_TEXT(s, e, string, length)                                                              \
	do {                                                                                       \
		DT_CONSTANT_(s);                                                                   \
		DT_CONSTANT_(e);                                                                   \
		__asm__ __volatile__(                                                              \
			DT_MODULE_ DT_SITE_ DT_STUB_ DT_FRAME_ DT_KEEP4_                           \
			"mov %%r8,32(%%rsp)\n"                                                     \
			"mov %%r9,40(%%rsp)\n"                                                     \
			"mov %%rax,48(%%rsp)\n"                                                    \
			"mov %[vp],56(%%rsp)\n"                                                \
			"mov %[vn],%%r9\n"                                                     \
			"mov 56(%%rsp),%%r8\n"                                                     \
			"call __devtrace_text\n" DT_SET_BODY_                                      \
			DT_CALL_("__devtrace_event4", "774", "0x0456")                             \
			"test %%r9,%%r9\n"                                                         \
			"je 777f\n"                                                                \
			"776: call __devtrace_more\n"                                              \
			DT_CALL_("__devtrace_event4", "775", "0x0463")                             \
			"test %%r9,%%r9\n"                                                         \
			"jne 776b\n"                                                               \
			"777:\n"                                                                   \
			"mov 32(%%rsp),%%r8\n"                                                     \
			"mov 40(%%rsp),%%r9\n"                                                     \
			"mov 48(%%rsp),%%rax\n" DT_GIVE4_ DT_FRAME_END_ DT_STUB_END_               \
			DT_ENTRY_("774b-.", "775b-.", "0x0456", "%c[subsystem]", "%c[event]", "2", \
				  #s, #e)                                                          \
			DT_NOTE_EVENT_(#s, #e,                                                     \
				       "2@$%c[subsystem] 2@$%c[event] 8@%[vp] 8@%[vn]")    \
			:                                                                          \
			: DT_NUMBERS_(s, e), [vp] "r"((const void *)(string)),                 \
			  [vn] "r"((unsigned long long)(length))                               \
			: "cc", "memory");                                                         \
	} while (0)

#define DT_RAW(body)                                                                               \
	__asm__ __volatile__(DT_MODULE_ DT_SITE_ DT_STUB_ DT_FRAME_                                \
			     "mov %%rdi,(%%rsp)\n"                                                 \
			     "mov %[va],%%rdi\n"                                                    \
			     DT_CALL_("__devtrace_event", "774", "0x0156")                         \
			     "mov (%%rsp),%%rdi\n" DT_FRAME_END_ DT_STUB_END_                      \
			     DT_ENTRY_("774b-.", "0", "0x0156", "0", "0", "1", "raw", "")          \
			     DT_NOTE_(".asciz \"devtrace\"\n", ".asciz \"raw\"\n", "8@%[va]")       \
			     :                                                                     \
			     : [va] "ri"((unsigned long long)(body))                                \
			     : "cc")

#define DT_MESSAGE_(channel, top, meta, name)                                                      \
	__asm__ __volatile__(DT_MODULE_ DT_SITE_ DT_STUB_ DT_FRAME_                                \
			     "mov %%rdi,(%%rsp)\n"                                                 \
			     "mov %[va],%%rdi\n"                                                    \
			     "shl $20,%%rdi\n"                                                     \
			     "or $" top ",%%rdi\n"                                                 \
			     "ror $8,%%rdi\n"                                                      \
			     DT_CALL_("__devtrace_event", "774", meta)                             \
			     "mov (%%rsp),%%rdi\n" DT_FRAME_END_ DT_STUB_END_                      \
			     DT_ENTRY_("774b-.", "0", meta, "0", "0", "1", "message", name)        \
			     DT_NOTE_(".asciz \"devtrace\"\n", ".asciz \"" name "\"\n", "8@%[va]")  \
			     :                                                                     \
			     : [va] "ri"((unsigned long long)(channel))                             \
			     : "cc")
#define DT_SEND(channel) DT_MESSAGE_(channel, "0xea", "0x014d", "send")
#define DT_RECEIVE(channel) DT_MESSAGE_(channel, "0xeb", "0x014e", "receive")

/* Uses a site that records nothing: its stub, when the site is on, sets the result. */
#define DT_SUBSYSTEM_ENABLED(s)                                                                    \
	__extension__({                                                                            \
		unsigned int dt_on_;                                                               \
		DT_CONSTANT_(s);                                                                   \
		__asm__ __volatile__(DT_MODULE_                                                    \
				     "xor %[von],%[von]\n" DT_SITE_ DT_STUB_                         \
				     "mov $1,%[von]\n" DT_STUB_END_                                 \
				     DT_ENTRY_("0", "0", "0", "%c[subsystem]", "0", "0", #s, "")   \
				     : [von] "=r"(dt_on_)                                           \
				     : [subsystem] "i"((unsigned int)(s))                          \
				     : "cc");                                                      \
		dt_on_ != 0;                                                                       \
	})

#define DT_ENABLED()                                                                               \
	__extension__({                                                                            \
		unsigned int dt_on_;                                                               \
		__asm__ __volatile__(DT_MODULE_ "movl __devtrace_event_hooks+24(%%rip),%0"         \
				     : "=r"(dt_on_));                                              \
		dt_on_ == 1;                                                                       \
	})

/*
 * Uses a site that is on whenever any site of the module is. The word -1 tells a session that
 * attaches later that the process has opted out.
 */
#define DT_DISABLE_PROCESS()                                                                       \
	__asm__ __volatile__(DT_MODULE_ DT_SITE_                                                   \
			     "movl $-1,__devtrace_event_hooks+24(%%rip)\n" DT_STUB_ DT_FRAME_      \
			     DT_CALL_("__devtrace_opt_out", "774", "0")                            \
			     DT_FRAME_END_ DT_STUB_END_                                            \
			     DT_ENTRY_("774b-.", "0", "0", "0", "0", "5", "devtrace", "disable")   \
			     :                                                                     \
			     :                                                                     \
			     : "cc", "memory")

#else /* values only */

#define DT_NOTHING1_(a) ((void)(a))
#define DT_NOTHING2_(a, b) ((void)(a), (void)(b))
#define DT_NOTHING3_(a, b, c) ((void)(a), (void)(b), (void)(c))
#define DT_NOTHING4_(a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define DT_EVENT(subsystem, event, ...)                                                            \
	do {                                                                                       \
		DT_CONSTANT_(subsystem);                                                           \
		DT_CONSTANT_(event);                                                               \
		DT_JOIN_(DT_NOTHING, DT_JOIN_(DT_PICK_(__VA_ARGS__, 4, 3, 2, 1, ), _))             \
		(__VA_ARGS__);                                                                     \
	} while (0)
#define DT_TEXT(subsystem, event, string, length) DT_EVENT(subsystem, event, string, length)
#define DT_RAW(body) DT_NOTHING1_(body)
#define DT_SEND(channel) DT_NOTHING1_(channel)
#define DT_RECEIVE(channel) DT_NOTHING1_(channel)
#define DT_SUBSYSTEM_ENABLED(subsystem) 0
#define DT_ENABLED() 0
#define DT_DISABLE_PROCESS() ((void)0)

#endif
#endif
