/* SPDX-License-Identifier: MIT */
/*
 * Round trip of the relocator: makes random stretches of instructions, runs the original and the
 * moved copy in a child from the same registers, flags, vector state and memory, and compares all
 * of them and the address at which control leaves.
 *
 * usage: fuzz-relocate [-s SECONDS] [-r SEED] [-n CASE] FILE...
 *   FILE   programs and libraries whose instructions are used
 *   -n     only that case of the seed, with what happened
 *
 * The child has nothing mapped that it could harm: code (read-only to it), data and a stack, all
 * shared with the parent, which sets them up and looks at them. Everything around a stretch is
 * int3, so that wherever control leaves is seen. Left out are instructions whose result is not
 * determined (rdtsc, cpuid), that store their own address (fnstenv), or that call the kernel.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <Zydis/Zydis.h>

#include "arch/arch.h"
#include "elf/elf.h"

/* where things are in the child; the same memory is somewhere else in the parent */
#define CODE  0x200000000000ull
#define NEAR  (CODE + 0x10000000) /* copies: all reach, */
#define EDGE  (CODE + 0x7fff0000) /* some do, */
#define FAR   0x300000000000ull	  /* none does */
#define DATA  (CODE + 0x20000000)
#define LOW   0x10000000ull /* data again, where addresses of 32 bits can be */
#define STACK 0x210000000000ull

#define CODE_SIZE  0x10000
#define COPY_SIZE  0x10000
#define DATA_SIZE  0x4000
#define STACK_SIZE 0x4000
#define TOTAL	   (CODE_SIZE + COPY_SIZE + DATA_SIZE + STACK_SIZE)
#define WINDOW	   (CODE + 0x8000)

#define POOL	   60000
#define PER_CLASS  40
#define CLASSES	   (1 << 16)
#define INSNS	   6
#define XSTATE_MAX 16384

struct piece {
	uint8_t bytes[DT_INSN_MAX], length;
};

struct state {
	struct user_regs_struct regs;
	uint8_t xstate[XSTATE_MAX];
	size_t xsize;
	int signal;
	bool endless;
};

static struct piece *pool;
static size_t pooled;
static uint8_t *code, *copy, *data, *stack; /* the parent's view */
static int memory;
static pid_t child;
static uint8_t first_xstate[XSTATE_MAX], xstates[8][XSTATE_MAX];
static size_t xsize;
static uint64_t seed;
static bool verbose;

static uint64_t any(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(any() >> 32) % n;
}

static void die(const char *what)
{
	fprintf(stderr, "fuzz-relocate: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- the pool of instructions */

static bool left_out(const ZydisDecodedInstruction *z)
{
	static const ZydisMnemonic no[] = {
		ZYDIS_MNEMONIC_CPUID,	   ZYDIS_MNEMONIC_RDTSC,     ZYDIS_MNEMONIC_RDTSCP,
		ZYDIS_MNEMONIC_RDRAND,	   ZYDIS_MNEMONIC_RDSEED,    ZYDIS_MNEMONIC_RDPID,
		ZYDIS_MNEMONIC_RDPMC,	   ZYDIS_MNEMONIC_POPF,	     ZYDIS_MNEMONIC_POPFD,
		ZYDIS_MNEMONIC_POPFQ,	   ZYDIS_MNEMONIC_WRFSBASE,  ZYDIS_MNEMONIC_WRGSBASE,
		ZYDIS_MNEMONIC_FXSAVE,	   ZYDIS_MNEMONIC_FXSAVE64,  ZYDIS_MNEMONIC_FXRSTOR,
		ZYDIS_MNEMONIC_FXRSTOR64,  ZYDIS_MNEMONIC_XSAVE,     ZYDIS_MNEMONIC_XSAVE64,
		ZYDIS_MNEMONIC_XSAVEC,	   ZYDIS_MNEMONIC_XSAVEC64,  ZYDIS_MNEMONIC_XSAVEOPT,
		ZYDIS_MNEMONIC_XSAVEOPT64, ZYDIS_MNEMONIC_XRSTOR,    ZYDIS_MNEMONIC_XRSTOR64,
		ZYDIS_MNEMONIC_XSAVES,	   ZYDIS_MNEMONIC_XRSTORS,   ZYDIS_MNEMONIC_FNSTENV,
		ZYDIS_MNEMONIC_FNSAVE,	   ZYDIS_MNEMONIC_FLDENV,    ZYDIS_MNEMONIC_FRSTOR,
		ZYDIS_MNEMONIC_LFS,	   ZYDIS_MNEMONIC_LGS,	     ZYDIS_MNEMONIC_XBEGIN,
		ZYDIS_MNEMONIC_XEND,	   ZYDIS_MNEMONIC_XABORT,    ZYDIS_MNEMONIC_XTEST,
		ZYDIS_MNEMONIC_MWAIT,	   ZYDIS_MNEMONIC_MONITOR,   ZYDIS_MNEMONIC_UMWAIT,
		ZYDIS_MNEMONIC_TPAUSE,	   ZYDIS_MNEMONIC_UMONITOR,  ZYDIS_MNEMONIC_WRPKRU,
		ZYDIS_MNEMONIC_IN,	   ZYDIS_MNEMONIC_OUT,	     ZYDIS_MNEMONIC_INSB,
		ZYDIS_MNEMONIC_INSD,	   ZYDIS_MNEMONIC_OUTSB,     ZYDIS_MNEMONIC_OUTSD,
		ZYDIS_MNEMONIC_VMCALL,	   ZYDIS_MNEMONIC_VMMCALL,   ZYDIS_MNEMONIC_SWAPGS,
		ZYDIS_MNEMONIC_LDTILECFG,  ZYDIS_MNEMONIC_TILELOADD, ZYDIS_MNEMONIC_TILEZERO,
		ZYDIS_MNEMONIC_CLUI,	   ZYDIS_MNEMONIC_STUI,	     ZYDIS_MNEMONIC_SENDUIPI,
		ZYDIS_MNEMONIC_ENQCMD,
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (z->mnemonic == no[i])
			return true;
	/* mov to a segment register */
	return z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && !z->opcode_map &&
	       (z->opcode == 0x8e || z->opcode == 0xa1);
}

/* Instructions of which some are as good as all: so that the rare ones are not drowned. */
static unsigned class_of(const ZydisDecodedInstruction *z)
{
	unsigned shape = z->raw.modrm.offset ? z->raw.modrm.mod * 2u + (z->raw.modrm.rm == 5) : 9;

	return (z->mnemonic * 31u + shape * 7919u + z->operand_width * 3u + z->raw.prefix_count) %
	       CLASSES;
}

static void take(const uint8_t *p, size_t n)
{
	static uint8_t seen[CLASSES];
	ZydisDecodedInstruction z;
	struct dt_insn in;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < n && pooled < POOL; at += in.length ? in.length : 1) {
		if (!dt_insn_decode(&in, p + at, n - at, 0) ||
		    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, p + at, n - at, &z)) ||
		    left_out(&z) || dt_insn_immovable(&in) || in.kind == DT_INSN_SYSCALL ||
		    in.kind == DT_INSN_XBEGIN || seen[class_of(&z)] == PER_CLASS)
			continue;
		seen[class_of(&z)]++;
		memcpy(pool[pooled].bytes, p + at, in.length);
		pool[pooled++].length = in.length;
	}
}

static void read_pool(const char *path)
{
	struct dt_error e;
	struct dt_elf *f = dt_elf_open(path, &e);

	if (!f) {
		fprintf(stderr, "fuzz-relocate: %s\n", e.text);
		exit(2);
	}
	for (size_t i = 0; i < f->loads; i++) {
		uint8_t *p = malloc(f->load[i].filesz + 1);
		ssize_t n;

		if (!(f->load[i].flags & PF_X) || !p) {
			free(p);
			continue;
		}
		n = pread(f->fd, p, f->load[i].filesz, (off_t)f->load[i].offset);
		if (n > 0)
			take(p, (size_t)n);
		free(p);
	}
	dt_elf_close(f);
}

/* --- making a stretch */

/* Forms that must be fixed, as templates; distances are filled in afterwards. */
static const struct {
	const char *bytes;
	uint8_t length;
} forms[] = {
	{"\xeb\0", 2},
	{"\xe9\0\0\0\0", 5},
	{"\xf2\xe9\0\0\0\0", 6},
	{"\xe3\0", 2},
	{"\x67\xe3\0", 3},
	{"\xe2\0", 2},
	{"\xe1\0", 2},
	{"\xe0\0", 2},
	{"\x67\xe2\0", 3},
	{"\xe8\0\0\0\0", 5},
	{"\x66\x66\x48\xe8\0\0\0\0", 8},
	{"\xff\x15\0\0\0\0", 6}, /* call and jmp through memory at rip */
	{"\xff\x25\0\0\0\0", 6},
	{"\x3e\xff\x25\0\0\0\0", 7},
	{"\x41\xff\x15\0\0\0\0", 7},
	{"\x67\xff\x15\0\0\0\0", 7},
	{"\xff\x35\0\0\0\0", 6}, /* push and pop */
	{"\x8f\x05\0\0\0\0", 6},
	{"\xff\xd0", 2}, /* call and jmp through registers */
	{"\x41\xff\xd3", 3},
	{"\xff\xe0", 2},
	{"\x3e\xff\xe2", 3},
	{"\x41\xff\xe1", 3},
	{"\xff\x10", 2}, /* and memory that registers point to */
	{"\xff\x53\x08", 3},
	{"\x41\xff\x54\xc5\x10", 5},
	{"\x41\xff\x14\x24", 4},
	{"\xff\x54\x24\x18", 4}, /* the stack */
	{"\xff\x14\x24", 3},
	{"\xff\x94\x24\x40\0\0\0", 7},
	{"\xff\x54\x24\xf8", 4},
	{"\xff\x14\xcc", 3},
	{"\xff\x64\x24\xf0", 4},
	{"\xff\x24\x24", 3},
	{"\xc3", 1},
	{"\xf3\xc3", 2},
	{"\xf2\xc3", 2},
	{"\xc2\x10\0", 3},
	{"\xf3\x0f\x1e\xfa", 4},
	{"\x48\x8d\x05\0\0\0\0", 7}, /* lea */
	{"\x4c\x8d\x3d\0\0\0\0", 7},
	{"\x48\x8d\x25\0\0\0\0", 7},
	{"\x8d\x0d\0\0\0\0", 6},
	{"\x66\x8d\x15\0\0\0\0", 7},
	{"\x67\x48\x8d\x05\0\0\0\0", 8},
	{"\x67\x8d\x35\0\0\0\0", 7},
	{"\x48\x8b\x05\0\0\0\0", 7}, /* mov and arithmetic */
	{"\x4d\x8b\x05\0\0\0\0", 7},
	{"\x67\x48\x8b\x05\0\0\0\0", 8},
	{"\x48\xc7\x05\0\0\0\0\x78\x56\x34\x12", 11},
	{"\x66\xc7\x05\0\0\0\0\x34\x12", 9},
	{"\x80\x3d\0\0\0\0\x7f", 7},
	{"\xf0\x48\x0f\xb1\x0d\0\0\0\0", 9},
	{"\xf0\x48\x0f\xc7\x0d\0\0\0\0", 9}, /* cmpxchg16b: few registers are left */
	{"\xf7\x35\0\0\0\0", 6},
	{"\xf3\x0f\x10\x05\0\0\0\0", 8},
	{"\xc5\xfc\x28\x05\0\0\0\0", 8},
	{"\xc4\xe2\x7d\x18\x05\0\0\0\0", 9},
	{"\xc4\xe3\x7d\x19\x05\0\0\0\0\x01", 10},
	{"\x62\xf1\xfd\x48\x6f\x05\0\0\0\0", 10},
	{"\x62\xd1\xfd\x48\x6f\x05\0\0\0\0", 10},
	{"\x62\xf3\x7d\x48\x25\x0d\0\0\0\0\xff", 11},
	{"\x66\x0f\x3a\x0f\x05\0\0\0\0\x04", 10},
	{"\x0f\x1f\x05\0\0\0\0", 7},
	{"\xd9\x05\0\0\0\0", 6},
};

static uint8_t *form(uint8_t *out)
{
	uint32_t i = below(sizeof(forms) / sizeof(*forms) + 6);

	if (i >= sizeof(forms) / sizeof(*forms)) { /* any jcc */
		if (i & 1) {
			*out++ = (uint8_t)(0x70 | below(16));
			*out++ = 0;
			return out;
		}
		*out++ = 0x0f;
		*out++ = (uint8_t)(0x80 | below(16));
		memset(out, 0, 4);
		return out + 4;
	}
	memcpy(out, forms[i].bytes, forms[i].length);
	return out + forms[i].length;
}

/* An instruction of the pool, its memory operand (if it has one) made relative to rip. */
static uint8_t *make_relative(uint8_t *out, const struct piece *p)
{
	uint8_t bytes[DT_INSN_MAX + 8], n;
	unsigned rest;
	struct dt_insn in, now;

	dt_insn_decode(&in, p->bytes, p->length, 0);
	if (!in.modrm_at || in.modrm >= 0xc0 || in.relative)
		goto plain;
	memcpy(bytes, p->bytes, in.modrm_at);
	n = in.modrm_at;
	bytes[n++] = (uint8_t)((in.modrm & 0x38) | 5);
	memset(bytes + n, 0, 4);
	n += 4;
	rest = in.modrm_at + 1u + (in.sib_at != 0) + in.disp_size;
	memcpy(bytes + n, p->bytes + rest, in.length - rest);
	n = (uint8_t)(n + in.length - rest);
	if (n > DT_INSN_MAX || dt_insn_decode(&now, bytes, n, 0) != n || !now.relative ||
	    now.opcode != in.opcode)
		goto plain;
	memcpy(out, bytes, n);
	return out + n;
plain:
	memcpy(out, p->bytes, p->length);
	return out + p->length;
}

/* Fills in where the instruction leads: in the stretch, near it, or far from it. */
static bool direct(const struct dt_insn *in, uint8_t *at, const uint8_t *starts, unsigned n,
		   size_t size)
{
	uint64_t to, next = in->address + in->length;
	bool loops = in->kind == DT_INSN_LOOP && in->opcode != 0xe3;
	int64_t distance;

	if (in->kind == DT_INSN_CALL && !below(4)) {
		to = next;
	} else if (in->kind != DT_INSN_CALL && below(3) == 0) {
		to = WINDOW + starts[below(n)];
		if (to <= in->address && !loops && below(20))
			to = next;
	} else if (in->imm_size == 1) {
		to = below(2) ? WINDOW - 1 - below(30) : WINDOW + size + below(30);
	} else {
		to = below(2) ? CODE + below(0x7000) : WINDOW + 0x1000 + below(0x6000);
	}
	distance = (int64_t)(to - next);
	if (in->imm_size == 1 && distance != (int8_t)distance)
		return false;
	memcpy(at + in->imm_at, &distance, in->imm_size);
	return true;
}

/* Makes a stretch; 0: it did not work out. */
static size_t make(uint8_t *out)
{
	unsigned n = 1 + below(INSNS), count = 0, fixed = below(n);
	uint8_t *end = out, starts[INSNS + 1];
	struct dt_insn in;

	for (unsigned i = 0; i < n; i++) {
		const struct piece *p = &pool[below((uint32_t)pooled)];

		if (i == fixed || !below(4)) {
			end = form(end);
		} else if (below(2)) {
			end = make_relative(end, p);
		} else {
			memcpy(end, p->bytes, p->length);
			end += p->length;
		}
	}
	for (size_t at = 0; at < (size_t)(end - out); at += in.length) {
		if (!dt_insn_decode(&in, out + at, (size_t)(end - out) - at, WINDOW + at))
			return 0;
		starts[count++] = (uint8_t)at;
	}
	for (unsigned i = 0; i < count; i++) {
		uint8_t *at = out + starts[i];
		int32_t distance;

		dt_insn_decode(&in, at, (size_t)(end - at), WINDOW + starts[i]);
		if (dt_insn_direct(&in) && !direct(&in, at, starts, count, (size_t)(end - out)))
			return 0;
		if (!in.relative)
			continue;
		distance =
			(int32_t)((in.addr32 ? LOW : DATA) +
				  (below(5) ? 64 * below(DATA_SIZE / 64 - 1) : below(DATA_SIZE)) -
				  in.address - in.length);
		memcpy(at + in.disp_at, &distance, sizeof(distance));
	}
	return (size_t)(end - out);
}

/* --- the child */

static void map(uint64_t address, size_t size, off_t offset, int prot)
{
	if (mmap((void *)address, size, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, memory, offset) ==
	    MAP_FAILED)
		die("mmap");
}

static void stop_child(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

static void start_child(void)
{
	struct itimerval tick = {{0, 4000}, {0, 4000}}; /* of its own time: it may run in circles */
	struct iovec v = {first_xstate, sizeof(first_xstate)};
	int status;

	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		map(CODE, CODE_SIZE, 0, PROT_READ | PROT_EXEC);
		map(NEAR, COPY_SIZE, CODE_SIZE, PROT_READ | PROT_EXEC);
		map(EDGE, COPY_SIZE, CODE_SIZE, PROT_READ | PROT_EXEC);
		map(FAR, COPY_SIZE, CODE_SIZE, PROT_READ | PROT_EXEC);
		map(DATA, DATA_SIZE, CODE_SIZE + COPY_SIZE, PROT_READ | PROT_WRITE);
		map(LOW, DATA_SIZE, CODE_SIZE + COPY_SIZE, PROT_READ | PROT_WRITE);
		map(STACK, STACK_SIZE, CODE_SIZE + COPY_SIZE + DATA_SIZE, PROT_READ | PROT_WRITE);
		setitimer(ITIMER_VIRTUAL, &tick, NULL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(3);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		die("the child did not stop");
	ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL);
	if (ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &v))
		die("PTRACE_GETREGSET");
	xsize = v.iov_len;
}

/* Random values in the vector, mask and x87 registers that this processor has. */
static void make_xstates(void)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t *x = xstates[i];
		uint64_t supported, wanted = 0;

		memcpy(x, first_xstate, xsize);
		memcpy(&supported, x + 464, sizeof(supported));
		for (unsigned k = 0; k < 128; k++)
			x[32 + k] = (k & 15) < 10 ? (uint8_t)any() : 0; /* st0 to st7 */
		x[4] = (uint8_t)any();
		for (unsigned k = 160; k < 416; k++)
			x[k] = (uint8_t)any();
		wanted = supported & 3;
		for (unsigned k = 2; k < 8; k++) {
			unsigned size, offset, c, d;

			/* AVX; masks, the upper halves and the upper registers of AVX-512 */
			if ((k != 2 && k < 5) || !(supported >> k & 1))
				continue;
			__cpuid_count(0xd, k, size, offset, c, d);
			(void)c, (void)d;
			for (unsigned j = 0; j < size && offset + j < xsize; j++)
				x[offset + j] = (uint8_t)any();
			wanted |= 1ul << k;
		}
		memcpy(x + 512, &wanted, sizeof(wanted));
	}
}

static uint64_t landing(void)
{
	return CODE + 0x100 + below(0x7000);
}

static uint64_t value(void)
{
	switch (below(8)) {
	case 0:
	case 1:
	case 2:
		return DATA + 0x1000 + 64 * below(0x80);
	case 3:
		return landing();
	case 4:
		return below(16);
	case 5:
		return (uint64_t) - (int64_t)below(64);
	case 6:
		return DATA + below(DATA_SIZE);
	}
	return any();
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t v = below(2) ? landing() : value();

		memcpy(p + i, &v, 8);
	}
}

static void make_regs(struct user_regs_struct *r, const struct user_regs_struct *base)
{
	*r = *base;
	r->rax = value(), r->rbx = value(), r->rcx = value(), r->rdx = value();
	r->rsi = value(), r->rdi = value(), r->rbp = value();
	r->r8 = value(), r->r9 = value(), r->r10 = value(), r->r11 = value();
	r->r12 = value(), r->r13 = value(), r->r14 = value(), r->r15 = value();
	r->rsp = STACK + STACK_SIZE / 2 + 8 * below(8);
	/* carry, parity, adjust, zero, sign, overflow, rarely direction */
	r->eflags = 0x202 | (any() & 0x8d5) | (below(8) ? 0 : 0x400);
	r->fs_base = r->gs_base = DATA + 0x800;
	r->orig_rax = ~0ull;
}

/* Runs from the state in s until it leaves; false: the child is of no more use. */
static bool run(struct state *s, uint64_t ip)
{
	struct iovec v = {s->xstate, xsize};
	int status;

	s->regs.rip = ip;
	s->endless = false;
	if (ptrace(PTRACE_SETREGS, child, NULL, &s->regs) ||
	    ptrace(PTRACE_SETREGSET, child, NT_X86_XSTATE, &v))
		return false;
	for (int ticks = 0; ticks < 3; ticks++) {
		if (ptrace(PTRACE_CONT, child, NULL, NULL) || waitpid(child, &status, 0) != child ||
		    !WIFSTOPPED(status))
			return false;
		s->signal = WSTOPSIG(status);
		if (s->signal == SIGVTALRM)
			continue;
		v.iov_len = sizeof(s->xstate);
		return !ptrace(PTRACE_GETREGS, child, NULL, &s->regs) &&
		       !ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &v);
	}
	s->endless = true;
	return true;
}

/* --- one case */

struct test {
	uint8_t bytes[INSNS * DT_INSN_MAX];
	size_t size;
	uint64_t to; /* of the copy */
	struct dt_relocate_hook hook[2 * INSNS];
	size_t hooks;
	struct dt_moved moved;
	uint8_t copy[1024];
	size_t copy_size;
	struct user_regs_struct regs;
	unsigned xstate;
};

static uint8_t data_image[DATA_SIZE], stack_image[STACK_SIZE];
static uint8_t data_after[DATA_SIZE], stack_after[STACK_SIZE];

static void print_bytes(const char *what, const uint8_t *p, size_t n)
{
	printf("# %s", what);
	for (size_t i = 0; i < n; i++)
		printf(" %02x", p[i]);
	printf("\n");
}

static void print_test(const struct test *t, const struct state *a, const struct state *b,
		       const char *what)
{
	printf("# %s\n", what);
	print_bytes("original", t->bytes, t->size);
	print_bytes("copy", t->copy, t->copy_size);
	printf("# at 0x%lx, signals %d %d, leaves at 0x%llx 0x%llx, rsp 0x%llx 0x%llx\n",
	       (unsigned long)t->to, a->signal, b->signal, a->regs.rip, b->regs.rip, a->regs.rsp,
	       b->regs.rsp);
	for (size_t i = 0; i < sizeof(a->regs) / 8; i++) {
		const unsigned long long *x = (const void *)&a->regs, *y = (const void *)&b->regs;

		if (x[i] != y[i])
			printf("# user_regs_struct[%zu]: %llx, copy %llx\n", i, x[i], y[i]);
	}
	printf("# afterwards (r15 to gs, as in user_regs_struct):");
	for (size_t i = 0; i < sizeof(a->regs) / 8; i++)
		printf(" %llx", ((const unsigned long long *)&a->regs)[i]);
	printf("\n");
}

static void hook_bytes(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	dt_emit_bytes(o, "\x0f\x1f\x80\0\0\0\0", 7);
	for (int i = 0; i < 20; i++) /* too long for a short jump over it */
		dt_emit_bytes(o, "\x0f\x1f\x80\0\0\0\0", 7);
}

/* Where the original's address ip is in the copy, from and to. */
static bool same_place(const struct test *t, uint64_t ip, uint64_t copy_ip)
{
	for (unsigned i = 0; i < t->moved.n; i++)
		if (ip == WINDOW + t->moved.at[i].from)
			return copy_ip >= t->to + t->moved.at[i].to &&
			       copy_ip < t->to + t->moved.at[i + 1].to;
	return false;
}

/* The kind of the instruction that was the last one, for what may differ after it. */
static unsigned kind_at(const struct test *t, uint64_t ip)
{
	struct dt_insn in;
	size_t at = ip - WINDOW;

	if (ip < WINDOW || at >= t->size)
		return DT_INSN_PLAIN;
	dt_insn_decode(&in, t->bytes + at, t->size - at, ip);
	return in.kind;
}

static bool has_kind(const struct test *t, unsigned kind)
{
	for (unsigned i = 0; i < t->moved.n; i++)
		if (kind_at(t, WINDOW + t->moved.at[i].from) == kind)
			return true;
	return false;
}

static bool same_registers(const struct state *a, const struct state *b)
{
	struct user_regs_struct x = a->regs, y = b->regs;

	x.orig_rax = y.orig_rax = 0;
	x.rip = y.rip = 0;
	x.eflags &= ~0x10000ull; /* RF is set by faults */
	y.eflags &= ~0x10000ull;
	return !memcmp(&x, &y, sizeof(x));
}

static bool same_vectors(struct state *a, struct state *b)
{
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *x = i ? b->xstate : a->xstate;

		memset(x + 6, 0, 18); /* address of the last x87 instruction and operand */
		memset(x + 464, 0, 512 - 464 + 64); /* which parts are in use is up to the kernel */
	}
	return !memcmp(a->xstate, b->xstate, xsize);
}

/*
 * The stack, but for what may differ. A copy that is far away saves registers below the red zone;
 * an indirect call may use the eight bytes below its return address.
 */
static bool same_stack(const struct test *t, const struct state *a, bool far)
{
	uint64_t sp = a->regs.rsp - STACK, low = t->regs.rsp - STACK, high = low;

	if (has_kind(t, DT_INSN_CALL_INDIRECT) && sp >= 8 && sp < STACK_SIZE) {
		memset(stack_after + sp - 8, 0, 8);
		memset(stack + sp - 8, 0, 8);
	}
	if (sp >= STACK_SIZE)
		sp = low;
	if (sp < low)
		low = sp;
	if (sp > high)
		high = sp;
	if (t->moved.n > 2) /* it may have been higher in between */
		high += 64;
	if (far && low >= 512) {
		memset(stack_after + low - 512, 0, high - low + 512 - 128);
		memset(stack + low - 512, 0, high - low + 512 - 128);
	}
	return !memcmp(stack, stack_after, STACK_SIZE);
}

static bool on_data(const struct state *s)
{
	return s->regs.rsp - DATA < DATA_SIZE || s->regs.rsp - LOW < DATA_SIZE;
}

static const char *differs(const struct test *t, struct state *a, struct state *b)
{
	/* EDGE: some operands do not reach */
	bool far = t->to >= EDGE, fault = a->signal != SIGTRAP;

	/* a far operand needs a stack; one that is being switched to nowhere is none */
	if (far && (b->signal == SIGSEGV || b->signal == SIGBUS) &&
	    b->regs.rsp - STACK >= STACK_SIZE)
		return NULL;
	if (a->signal != b->signal)
		return "another signal";
	if (!fault) {
		if (a->regs.rip != b->regs.rip)
			return "it leaves elsewhere";
	} else {
		unsigned kind = kind_at(t, a->regs.rip);

		if (!same_place(t, a->regs.rip, b->regs.rip) && a->regs.rip != b->regs.rip)
			return "it faults elsewhere";
		/* a call through bad memory has pushed already; far operands have borrowed */
		if (kind == DT_INSN_CALL_INDIRECT || far)
			return NULL;
	}
	if (!same_registers(a, b))
		return "other registers";
	if (!same_vectors(a, b))
		return "other vector registers";
	/* where the stack was switched to the data, those exceptions are there too */
	if (!on_data(a) && memcmp(data, data_after, DATA_SIZE))
		return "other data";
	return same_stack(t, a, far) ? NULL : "another stack";
}

/*
 * The stack was switched to the data, or has run out: what is saved below the red zone, or pushed
 * before a call's operand is read, then meets the instructions' own memory.
 */
static bool no_stack(const struct state *s)
{
	return s->regs.rsp - STACK - 1024 >= STACK_SIZE - 1024;
}

/* A repeated string instruction reads megabytes from where a register points. */
static bool reads_far(const struct test *t)
{
	struct dt_insn in;

	for (size_t at = 0; at < t->size; at += in.length) {
		dt_insn_decode(&in, t->bytes + at, t->size - at, 0);
		if (!in.map && in.prefixes &&
		    ((in.opcode >= 0xa4 && in.opcode <= 0xa7) ||
		     (in.opcode >= 0xaa && in.opcode <= 0xaf)))
			return true;
	}
	return false;
}

/* A call through (%rsp, %rcx, 8) may find its target where far operands save registers. */
static bool reads_below(const struct test *t)
{
	struct dt_insn in;

	for (size_t at = 0; at < t->size; at += in.length) {
		dt_insn_decode(&in, t->bytes + at, t->size - at, 0);
		if ((in.kind == DT_INSN_CALL_INDIRECT || in.kind == DT_INSN_JUMP_INDIRECT) &&
		    in.sib_at && (in.sib & 7) == 4 && !in.base_ext)
			return true;
	}
	return false;
}

enum outcome { SAME, DIFFERENT, SKIPPED, BROKEN };

/* The copy, with these bytes in the stretch that it comes from. */
static bool run_copy(const struct test *t, struct state *b, const uint8_t *bytes)
{
	bool done;

	memcpy(data, data_image, DATA_SIZE);
	memcpy(stack, stack_image, STACK_SIZE);
	b->regs = t->regs;
	memcpy(b->xstate, xstates[t->xstate], xsize);
	if (bytes)
		memcpy(code + (WINDOW - CODE), bytes, t->size);
	memcpy(copy + (t->to & (COPY_SIZE - 1)), t->copy, t->copy_size);
	done = run(b, t->to);
	memset(copy + (t->to & (COPY_SIZE - 1)), 0xcc, t->copy_size);
	memset(code + (WINDOW - CODE), 0xcc, t->size);
	return done;
}

static enum outcome execute(const struct test *t, struct state *a, struct state *b,
			    const char **what)
{
	static struct state again;

	memcpy(data, data_image, DATA_SIZE);
	memcpy(stack, stack_image, STACK_SIZE);
	memcpy(code + (WINDOW - CODE), t->bytes, t->size);
	a->regs = t->regs;
	memcpy(a->xstate, xstates[t->xstate], xsize);
	if (!run(a, WINDOW))
		return BROKEN;
	memset(code + (WINDOW - CODE), 0xcc, t->size);
	if (a->endless)
		return SKIPPED;
	memcpy(data_after, data, DATA_SIZE);
	memcpy(stack_after, stack, STACK_SIZE);
	if (!run_copy(t, b, NULL))
		return BROKEN;
	/* comes back into the stretch: no such stretch is ever chosen (arch/plan.h) */
	if (b->signal == SIGTRAP && b->regs.rip > WINDOW && b->regs.rip <= WINDOW + t->size)
		return SKIPPED;
	if (a->signal == SIGTRAP && a->regs.rip > WINDOW && a->regs.rip <= WINDOW + t->size)
		return SKIPPED;
	/* a loop of a thousand million rounds, which takes the copy longer */
	if (b->endless && has_kind(t, DT_INSN_LOOP))
		return SKIPPED;
	*what = b->endless ? "the copy does not end" : differs(t, a, b);
	if (*what && reads_far(t)) /* the stretch itself, which is int3 by now */
		return SKIPPED;
	if (*what && (t->to >= EDGE || has_kind(t, DT_INSN_CALL_INDIRECT)) &&
	    (no_stack(a) || no_stack(b)))
		return SKIPPED;
	if (*what && t->to >= EDGE && reads_below(t))
		return SKIPPED;
	if (!*what)
		return SAME;
	/* what was read was the instructions themselves: as data they are the same no more */
	if (!run_copy(t, &again, t->bytes))
		return BROKEN;
	if (!again.endless && !differs(t, a, &again))
		return SKIPPED;
	/* as it was, for whoever prints it */
	return run_copy(t, b, NULL) ? DIFFERENT : BROKEN;
}

/* false: nothing to be tried. refused counts what the relocator would not move. */
static bool prepare(struct test *t, const struct user_regs_struct *base, uint64_t *refused)
{
	static const uint64_t places[] = {NEAR, EDGE, FAR};
	struct dt_emit o = {.bytes = t->copy, .room = sizeof(t->copy)};
	struct dt_error e;
	struct dt_insn in;

	t->size = make(t->bytes);
	if (!t->size)
		return false;
	t->to = places[below(4) ? 0 : 1 + below(2)] + below(COPY_SIZE - 2048);
	o.address = t->to;
	t->hooks = 0;
	for (size_t at = 0; at < t->size; at += in.length) {
		dt_insn_decode(&in, t->bytes + at, t->size - at, WINDOW + at);
		if (!below(8) && t->hooks < 3) /* an internal taken branch may need any reach */
			t->hook[t->hooks++] = (struct dt_relocate_hook){
				.address = WINDOW + at,
				.place = below(2) ? DT_HOOK_TAKEN : DT_HOOK_BEFORE,
				.emit = hook_bytes,
			};
	}
	make_regs(&t->regs, base);
	t->xstate = below(8);
	fill(data_image + 64 * below(DATA_SIZE / 64), 64);
	if (!below(64))
		fill(data_image, DATA_SIZE);
	fill(stack_image + (t->regs.rsp - STACK) - 256, 512);
	if (dt_relocate(&o, t->bytes, t->size, WINDOW, t->hook, t->hooks, &t->moved, &e)) {
		if (verbose)
			printf("# %s\n", e.text);
		++*refused;
		return false;
	}
	if (t->moved.falls)
		dt_emit_jump(&o, WINDOW + t->size);
	t->copy_size = o.size;
	if (o.size > sizeof(t->copy)) {
		printf("# a copy of %zu bytes\n", o.size);
		return false;
	}
	return true;
}

static void set_up(void)
{
	uint8_t *p;

	memory = memfd_create("fuzz-relocate", MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, TOTAL))
		die("memfd_create");
	p = mmap(NULL, TOTAL, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (p == MAP_FAILED)
		die("mmap");
	code = p;
	copy = code + CODE_SIZE;
	data = copy + COPY_SIZE;
	stack = data + DATA_SIZE;
	memset(code, 0xcc, CODE_SIZE + COPY_SIZE);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	uint64_t first = 20261120, only = 0, cases = 0, refused = 0, skipped = 0, faults = 0,
		 moved = 0;
	struct user_regs_struct base;
	static struct state a, b;
	double seconds = 10, end;
	unsigned broken = 0;
	int c, bad = 0;
	cpu_set_t one;

	while ((c = getopt(argc, argv, "s:r:n:")) != -1)
		switch (c) {
		case 's':
			seconds = atof(optarg);
			break;
		case 'r':
			first = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			only = strtoull(optarg, NULL, 0);
			verbose = true;
			break;
		default:
			return 2;
		}
	if (optind == argc) {
		fprintf(stderr, "usage: fuzz-relocate [-s SECONDS] [-r SEED] [-n CASE] FILE...\n");
		return 2;
	}
	pool = calloc(POOL, sizeof(*pool));
	if (!pool)
		die("calloc");
	for (int i = optind; i < argc; i++)
		read_pool(argv[i]);
	set_up();
	/* parent and child take turns: on one core that is a switch, not a wake-up */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	start_child();
	seed = first;
	make_xstates();
	fill(data_image, DATA_SIZE);
	fill(stack_image, STACK_SIZE);
	if (ptrace(PTRACE_GETREGS, child, NULL, &base))
		die("PTRACE_GETREGS");
	end = now() + seconds;
	for (uint64_t i = 1; now() < end && bad < 5; i++) {
		const char *what = "";
		enum outcome how;
		struct test t;

		seed = first + i * 0x1000000;
		if (only)
			seed = first + only * 0x1000000;
		/* each case is the same whatever came before it */
		if (!prepare(&t, &base, &refused)) {
			if (only)
				break;
			continue;
		}
		how = execute(&t, &a, &b, &what);
		if (how == DIFFERENT) /* once more, from the beginning: it must be repeatable */
			how = execute(&t, &a, &b, &what);
		if (only)
			print_test(&t, &a, &b, "this case");
		if (how == BROKEN) {
			stop_child();
			start_child();
			if (ptrace(PTRACE_GETREGS, child, NULL, &base))
				die("PTRACE_GETREGS");
			broken++;
		} else if (how == SKIPPED) {
			skipped++;
		} else if (how == DIFFERENT) {
			printf("# seed %lu case %lu\n", (unsigned long)first, (unsigned long)i);
			print_test(&t, &a, &b, what);
			bad++;
		} else {
			cases++;
			moved += t.moved.n;
			faults += a.signal != SIGTRAP;
		}
		if (only)
			break;
	}
	stop_child();
	printf("# %zu kinds of instruction; %lu cases of %lu instructions: %lu ended in a fault; "
	       "%lu skipped, %lu refused, %u children lost\n",
	       pooled, (unsigned long)cases, (unsigned long)moved, (unsigned long)faults,
	       (unsigned long)skipped, (unsigned long)refused, broken);
	free(pool);
	if (!only && cases < 1000) {
		printf("# too few cases to mean anything\n");
		return 1;
	}
	return bad ? 1 : 0;
}
