# What test/aarch64/sleds.t links with each of its programs: the test itself, and what of devtrace serves sleds, in sections
# that the linker leaves out where they are not used. So a few files are compiled, and not all of devtrace.
SLEDSRC := test/aarch64/sleds.c session/rings.c hook/shared.c hook/area.c process/maps.c process/memory.c process/now.c core/error.c core/text.c \
	core/plain.c arch/emit.c arch/hooks.c $(patsubst %,arch/aarch64/%.c,connection emit insn sled hooks trial object missing unknown) elf/elf.c elf/elf-tables.c elf/build-id.c
SLEDOBJ := $(SLEDSRC:%.c=$(B)/sleds/%.o)

$(B)/sleds/%.o: %.c Makefile test/aarch64/test.mk | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -O1 -ffunction-sections -fdata-sections -c -o $@ $<

$(B)/libsleds.a: $(SLEDOBJ) $(B)/arch/aarch64/blob.o
	rm -f $@ && $(CROSS)ar rcs $@ $^

# What test/aarch64/plan.t links with: the map of a file's code, and the planner.
PLANSRC := $(wildcard core/*.c) $(addprefix symbols/,$(addsuffix .c,code code-apart code-data code-flow code-handed memo memo-file \
	shorten symtab symtab-apart symtab-debug symtab-find symtab-objects symtab-tell unwind)) $(wildcard symbols/dwarf*.c) \
	$(addprefix elf/,$(addsuffix .c,build-id debug-cache elf elf-tables frames go go-names ifunc mini slots start symtab-file unwind)) \
	$(addprefix process/,$(addsuffix .c,apart aside confine now outside passed rights)) \
	$(addprefix arch/,$(addsuffix .c,emit item relocate)) \
	$(patsubst %,arch/aarch64/%.c,abi emit insn insn-flow object plan plan-emit relocate sled unknown)

$(B)/libplan.a: $(PLANSRC:%.c=$(B)/%.o) test/aarch64/test.mk
	rm -f $@ && $(CROSS)ar rcs $@ $(PLANSRC:%.c=$(B)/%.o)
