# What test/aarch64/sleds.t links with each of its programs: the test itself, and what of devtrace serves sleds, in sections
# that the linker leaves out where they are not used. So a few files are compiled, and not all of devtrace.
SLEDSRC := test/aarch64/sleds.c session/rings.c hook/shared.c hook/area.c process/maps.c process/memory.c process/now.c core/error.c core/text.c \
	core/plain.c arch/emit.c arch/hooks.c $(patsubst %,arch/aarch64/%.c,emit insn sled hooks trial object missing unknown) elf/elf.c elf/elf-tables.c elf/build-id.c
SLEDOBJ := $(SLEDSRC:%.c=$(B)/sleds/%.o)

$(B)/sleds/%.o: %.c Makefile test/aarch64/test.mk | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -O1 -ffunction-sections -fdata-sections -c -o $@ $<

$(B)/libsleds.a: $(SLEDOBJ) $(B)/arch/aarch64/blob.o
	rm -f $@ && $(CROSS)ar rcs $@ $^
