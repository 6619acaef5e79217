/* SPDX-License-Identifier: MIT */
/* Decoding by Zydis. The kind of an instruction is derived from its opcode. */
#include "arch/insn.h"

#include <string.h>
#include <Zydis/Zydis.h>

#define NOP  0x90
#define INT3 0xcc
#define NEAR 64 /* bytes from where an address is put into a register to where a length is made */

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder d;
	static bool ready;

	if (!ready) {
		/* always with the same result, so two threads may do it at once */
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	return &d;
}

static uint8_t kind_one_byte(const ZydisDecodedInstruction *z)
{
	switch (z->opcode) {
	case 0x70 ... 0x7f:
		return DT_INSN_BRANCH;
	case 0x90:
		return z->mnemonic == ZYDIS_MNEMONIC_NOP ? DT_INSN_NOP : DT_INSN_PLAIN;
	case 0xc2:
	case 0xc3:
		return DT_INSN_RETURN;
	case 0xca:
	case 0xcb:
	case 0xcf:
		return DT_INSN_FAR;
	case 0xcc:
	case 0xf1:
	case 0xf4:
		return DT_INSN_TRAP;
	case 0xcd:
		return DT_INSN_SYSCALL;
	case 0xe0 ... 0xe3:
		return DT_INSN_LOOP;
	case 0xe8:
		return DT_INSN_CALL;
	case 0xe9:
	case 0xeb:
		return DT_INSN_JUMP;
	case 0xc7:
		return z->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? DT_INSN_XBEGIN : DT_INSN_PLAIN;
	case 0xff:
		switch (z->raw.modrm.reg) {
		case 2:
			return DT_INSN_CALL_INDIRECT;
		case 4:
			return DT_INSN_JUMP_INDIRECT;
		case 3:
		case 5:
			return DT_INSN_FAR;
		}
	}
	return DT_INSN_PLAIN;
}

static uint8_t kind_of(const ZydisDecodedInstruction *z)
{
	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return DT_INSN_PLAIN;
	if (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return kind_one_byte(z);
	if (z->opcode_map != ZYDIS_OPCODE_MAP_0F)
		return DT_INSN_PLAIN;
	switch (z->opcode) {
	case 0x05:
	case 0x34:
		return DT_INSN_SYSCALL;
	case 0x07:
	case 0x35:
		return DT_INSN_FAR;
	case 0x0b:
	case 0xb9:
	case 0xff:
		return DT_INSN_TRAP;
	case 0x1e:
	case 0x1f:
		if (z->mnemonic == ZYDIS_MNEMONIC_ENDBR64)
			return DT_INSN_ENDBR;
		return z->mnemonic == ZYDIS_MNEMONIC_NOP ? DT_INSN_NOP : DT_INSN_PLAIN;
	case 0x80 ... 0x8f:
		return DT_INSN_BRANCH;
	}
	return DT_INSN_PLAIN;
}

static void prefixes(struct dt_insn *in, const ZydisDecodedInstruction *z)
{
	in->prefixes = z->raw.prefix_count;
	for (unsigned i = 0; i < z->raw.prefix_count; i++) {
		uint8_t p = z->raw.prefixes[i].value;

		in->data16 |= p == 0x66;
		in->addr32 |= p == 0x67;
		if (p == 0x64 || p == 0x65)
			in->segment = p;
	}
}

/* Reads the extension bits, which VEX, XOP and EVEX hold inverted. */
static void extensions(struct dt_insn *in, const ZydisDecodedInstruction *z, const uint8_t *code)
{
	uint8_t bits = 0;

	in->head = 0xff;
	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
	case ZYDIS_INSTRUCTION_ENCODING_3DNOW:
		if (!z->raw.rex.offset && !(z->attributes & ZYDIS_ATTRIB_HAS_REX))
			return;
		in->head = z->raw.rex.offset;
		bits = code[in->head];
		in->wide = bits & 8;
		in->reg_ext = bits & 4;
		in->index_ext = bits & 2;
		in->base_ext = bits & 1;
		return;
	case ZYDIS_INSTRUCTION_ENCODING_XOP:
		in->head = z->raw.xop.offset;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		in->head = z->raw.vex.offset;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		in->head = z->raw.evex.offset;
		break;
	default:
		return;
	}
	bits = (uint8_t)~code[in->head + 1];
	in->reg_ext = bits & 0x80;
	if (code[in->head] == 0xc5) /* the two-byte form has no X and no B */
		return;
	in->index_ext = bits & 0x40;
	in->base_ext = bits & 0x20;
}

unsigned dt_insn_decode(struct dt_insn *in, const uint8_t *code, size_t size, uint64_t address)
{
	ZydisDecodedInstruction z;

	if (size > DT_INSN_MAX)
		size = DT_INSN_MAX;
	*in = (struct dt_insn){.address = address};
	if (!size || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), NULL, code, size, &z)))
		return 0;
	in->length = z.length;
	in->opcode = z.opcode;
	in->map = (uint8_t)z.opcode_map;
	in->encoding = (uint8_t)z.encoding;
	in->kind = kind_of(&z);
	prefixes(in, &z);
	extensions(in, &z, code);
	if (z.raw.modrm.offset) {
		in->modrm_at = z.raw.modrm.offset;
		in->modrm = code[in->modrm_at];
	}
	if (z.raw.sib.offset) {
		in->sib_at = z.raw.sib.offset;
		in->sib = code[in->sib_at];
	}
	if (z.raw.disp.size) {
		in->disp_at = z.raw.disp.offset;
		in->disp_size = z.raw.disp.size / 8;
		in->disp = (int32_t)z.raw.disp.value;
	}
	if (z.raw.imm[0].size) {
		in->imm_at = z.raw.imm[0].offset;
		in->imm_size = z.raw.imm[0].size / 8;
	}
	if (z.raw.imm[0].is_relative)
		in->target = address + in->length + (uint64_t)z.raw.imm[0].value.s;
	/* mov to and from control registers can have this ModRM too, but has no displacement */
	if (in->modrm_at && (in->modrm & 0xc7) == 5 && in->disp_size == 4) {
		in->relative = true;
		in->memory = address + in->length + (uint64_t)(int64_t)in->disp;
		if (in->addr32)
			in->memory = (uint32_t)in->memory;
	}
	return in->length;
}

bool dt_insn_points(const struct dt_insn *in)
{
	uint8_t mod = in->modrm >> 6, rm = in->modrm & 7;

	if (in->map || in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return false;
	if (in->opcode == 0x8d) /* lea of something above rsp or rbp */
		return !in->base_ext &&
		       ((rm == 4 && ((in->sib & 7) == 4 || (in->sib & 7) == 5)) || rm == 5);
	if (mod != 3)
		return false;
	if (in->opcode == 0x89) /* mov %rsp, rm */
		return !in->reg_ext && (in->modrm >> 3 & 7) == 4 && (in->base_ext || rm != 5);
	return in->opcode == 0x8b && !in->base_ext && rm == 4;
}

/* Returns a decoder that decodes operands too; decoder() does not. */
static const ZydisDecoder *full_decoder(void)
{
	static ZydisDecoder d;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	return &d;
}

/* Returns the mask with the bit of the general register that r is a part of; 0: it is no such. */
static uint16_t register_bit(ZydisRegister r)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return 0;
	return (uint16_t)(1u << ZydisRegisterGetId(whole));
}

/* Looks whether the instruction clears a register with itself: xor or sub. */
static bool is_cleared(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	return (z->mnemonic == ZYDIS_MNEMONIC_XOR || z->mnemonic == ZYDIS_MNEMONIC_SUB) &&
	       o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == o[1].reg.value;
}

void dt_insn_registers(const uint8_t *code, size_t size, uint16_t *written, uint16_t *read)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;

	*written = *read = 0xffff;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(full_decoder(), code, size, &z, o)))
		return;
	*written = *read = 0;
	for (unsigned i = 0; i < z.operand_count; i++) {
		if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			*read |= register_bit(o[i].mem.base) | register_bit(o[i].mem.index);
		if (o[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			*written |= register_bit(o[i].reg.value);
		if (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			*read |= register_bit(o[i].reg.value);
	}
	if (is_cleared(&z, o))
		*read &= (uint16_t) ~*written;
}

/* Looks whether an lea of this operand computes an address in the frame. From the return address
 * on, the stack is the caller's. */
static bool leads_into(const ZydisDecodedOperandMem *m, uint16_t held, int64_t depth)
{
	uint16_t base = register_bit(m->base), index = register_bit(m->index);

	if (base == DT_INSN_SP && !index && depth >= 8)
		return m->disp.value < depth - 8;
	return (base | index) & held;
}

uint16_t dt_insn_derive(const uint8_t *code, size_t size, uint16_t held, int64_t depth)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	uint16_t written = 0;
	bool from = false;

	held |= DT_INSN_SP;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(full_decoder(), code, size, &z, o)))
		return held;
	for (unsigned i = 0; i < z.operand_count; i++) {
		bool explicit = o[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;

		if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY && z.mnemonic == ZYDIS_MNEMONIC_LEA)
			from = leads_into(&o[i].mem, held, depth);
		if (o[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			written |= register_bit(o[i].reg.value);
		if (explicit && o[i].size == 64 &&
		    (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ ||
		     o[i].actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
			from = from || (register_bit(o[i].reg.value) & held);
	}
	if (is_cleared(&z, o))
		from = false;
	return (uint16_t)((from ? held | written : held & ~written) | DT_INSN_SP);
}

const char *dt_insn_immovable(const struct dt_insn *in)
{
	switch (in->kind) {
	case DT_INSN_TRAP:
		return "an instruction that is there to trap";
	case DT_INSN_FAR:
		return "a far transfer of control";
	case DT_INSN_JUMP:
	case DT_INSN_BRANCH:
	case DT_INSN_LOOP:
	case DT_INSN_CALL:
	case DT_INSN_XBEGIN:
	case DT_INSN_JUMP_INDIRECT:
	case DT_INSN_CALL_INDIRECT:
	case DT_INSN_RETURN:
		if (in->data16 && !in->wide)
			return "a branch with an operand-size prefix";
	}
	return NULL;
}

bool dt_insn_is_padding(const struct dt_insn *in)
{
	return in->kind == DT_INSN_NOP || (!in->map && in->opcode == INT3);
}

bool dt_insn_pads(uint8_t byte)
{
	return byte == INT3 || byte == NOP;
}

bool dt_insn_is_prefix(const struct dt_insn *in, uint64_t n)
{
	return n <= in->prefixes;
}

static bool is_lea(const struct dt_insn *in)
{
	return !in->map && in->opcode == 0x8d;
}

bool dt_insn_makes_address(const struct dt_insn *in)
{
	return in->relative && is_lea(in);
}

bool dt_insn_loads(const struct dt_insn *in)
{
	return !in->map && in->opcode == 0x8b && in->relative;
}

unsigned dt_insn_reads(const struct dt_insn *in)
{
	static const uint8_t size[] = {
		[ZYDIS_INSTRUCTION_ENCODING_LEGACY] = 8, [ZYDIS_INSTRUCTION_ENCODING_3DNOW] = 8,
		[ZYDIS_INSTRUCTION_ENCODING_XOP] = 32,	 [ZYDIS_INSTRUCTION_ENCODING_VEX] = 32,
		[ZYDIS_INSTRUCTION_ENCODING_EVEX] = 64,	 [ZYDIS_INSTRUCTION_ENCODING_MVEX] = 64,
	};

	if (!in->relative || in->kind == DT_INSN_NOP || is_lea(in))
		return 0;
	/* SSE, and what x87 instructions load */
	if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	    (in->map || (in->opcode >= 0xd8 && in->opcode <= 0xdf)))
		return 16;
	return size[in->encoding];
}

unsigned dt_insn_numbers(const struct dt_insn *in, const uint8_t *code, uint64_t number[2])
{
	unsigned n = 0;
	uint32_t v;

	if (in->imm_size == 4 && !dt_insn_direct(in)) {
		memcpy(&v, code + in->imm_at, sizeof(v));
		number[n++] = v;
	}
	if (in->disp_size == 4 && !in->relative && in->disp > 0)
		number[n++] = (uint64_t)in->disp;
	return n;
}

uint64_t dt_insn_puts(const struct dt_insn *in, const uint8_t *code)
{
	uint64_t v = 0;

	/* mov to memory, push, mov to a register */
	if (in->map || in->imm_size < 4 ||
	    (in->opcode != 0xc7 && in->opcode != 0x68 && (in->opcode & 0xf8) != 0xb8))
		return 0;
	memcpy(&v, code + in->imm_at, in->imm_size);
	return v;
}

void dt_insn_each_taken(const uint8_t *code, uint64_t n, uint64_t address, bool fixed,
			void (*fn)(void *ctx, uint64_t taken), void *ctx)
{
	uint32_t number;

	for (uint64_t i = 0; i + 6 <= n; i++) {
		if (code[i] == 0x8d && (code[i + 1] & 0xc7) == 5) { /* lea ...(%rip) */
			memcpy(&number, code + i + 2, sizeof(number));
			fn(ctx, address + i + 6 + (uint64_t)(int64_t)(int32_t)number);
		} else if (fixed && ((code[i] & 0xf8) == 0xb8 || code[i] == 0x68)) {
			memcpy(&number, code + i + 1, sizeof(number)); /* mov, push */
			fn(ctx, number);
		} else if (fixed && code[i] == 0xc7) { /* mov to a register or memory */
			for (uint64_t k = i + 2; k <= i + 7 && k + 4 <= n; k++) {
				memcpy(&number, code + k, sizeof(number));
				fn(ctx, number);
			}
		}
	}
}

uint64_t dt_insn_absolute(const struct dt_insn *in)
{
	return in->disp_size == 4 && !in->relative ? (uint64_t)(int64_t)in->disp : 0;
}

/* An lea that sets up the frame, as Free Pascal uses, does not count. */
bool dt_insn_below_sp(const struct dt_insn *in)
{
	bool frame = is_lea(in) && (in->modrm >> 3 & 7) == 4 && !in->reg_ext;

	return in->sib_at && (in->sib & 7) == 4 && !in->base_ext && in->disp < 0 && !frame;
}

enum dt_insn_looks dt_insn_looks(const struct dt_insn *in, const struct dt_insn *before)
{
	uint8_t target = in->modrm & 7;

	if (in->relative)
		return DT_INSN_BY_SLOT;
	if (in->modrm >= 0xc0) {
		bool adds = !before->map && before->modrm >= 0xc0 &&
			    ((before->opcode == 0x01 && (before->modrm & 7) == target &&
			      before->base_ext == in->base_ext) ||
			     (before->opcode == 0x03 && (before->modrm >> 3 & 7) == target &&
			      before->reg_ext == in->base_ext));

		return adds ? DT_INSN_BY_DISTANCES : DT_INSN_BY_REGISTER;
	}
	/* index number 4 means no index, but with its extension it is r12 */
	if (!in->sib_at || ((in->sib >> 3 & 7) == 4 && !in->index_ext))
		return in->sib_at && (in->sib & 7) == 5 && in->modrm < 0x40 ? DT_INSN_BY_SLOT
									    : DT_INSN_BY_MEMORY;
	if ((in->sib & 7) == 5 && in->modrm < 0x40)
		return DT_INSN_BY_TABLE;
	return DT_INSN_BY_INDEX;
}

/* Notes an address that an instruction puts into a register, by itself or as a number. */
void dt_insn_follow(struct dt_insn_seen *seen, struct dt_insn *in, const uint8_t *code)
{
	unsigned reg = dt_insn_reg(in);

	if (in->relative && in->wide && is_lea(in)) {
		seen->made[reg] = in->memory;
	} else if (code && !in->map && (in->opcode & 0xf8) == 0xb8) {
		reg = (in->opcode & 7u) | (in->base_ext ? 8u : 0);
		seen->made[reg] = dt_insn_puts(in, code);
	} else {
		return;
	}
	seen->at[reg] = in->address;
}

/* Returns the address that a register was given not far before; 0: none. */
static uint64_t made_before(const struct dt_insn_seen *seen, const struct dt_insn *in, unsigned reg)
{
	return seen->at[reg] && in->address - seen->at[reg] < NEAR ? seen->made[reg] : 0;
}

bool dt_insn_makes_length(const struct dt_insn_seen *seen, const struct dt_insn *in,
			  const uint8_t *code, uint64_t *from, uint64_t *to)
{
	unsigned less = dt_insn_reg(in), more = dt_insn_rm(in);
	int32_t number; /* it has a sign, which addresses have not */

	if (in->map || in->encoding || !in->wide)
		return false;
	if ((in->opcode == 0x29 || in->opcode == 0x2b) && in->modrm >= 0xc0) {
		/* sub less, more; sub more, less */
		*from = made_before(seen, in, in->opcode == 0x29 ? less : more);
		*to = made_before(seen, in, in->opcode == 0x29 ? more : less);
	} else if (code &&
		   (in->opcode == 0x2d || (in->opcode == 0x81 && (in->modrm & 0xf8) == 0xe8))) {
		/* sub number, rax; sub number, more */
		memcpy(&number, code + in->imm_at, sizeof(number));
		*from = number > 0 ? (uint64_t)number : 0;
		*to = made_before(seen, in, in->opcode == 0x2d ? 0 : more);
	} else {
		return false;
	}
	return *from && *to;
}
