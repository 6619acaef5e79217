# The blob: code that runs inside the traced process. No libc, no vector registers, nothing that needs relocation but
# the distance to the session's memory; no calls of libgcc for atomic accesses. Of target/, what serves a site's hooks:
# points, events, gates, and clone, are not there yet.
TB       := $(B)/arch/aarch64/target
TFLAGS   := -std=gnu11 -I. -Os -ffreestanding -fno-builtin -mgeneral-regs-only -mno-outline-atomics -mbranch-protection=none -fPIC \
	-fvisibility=hidden -fno-stack-protector -fno-asynchronous-unwind-tables \
	-fno-tree-loop-distribute-patterns -fno-jump-tables $(WARN) -MMD -MP
TPARTS   := append birth calls careful exec forbid held request ring rseq

TOBJ     := $(TB)/hook.o $(TB)/inside.o $(TPARTS:%=$(B)/target/%.o)

$(TB)/%.o: arch/aarch64/target/%.c | needs
	@mkdir -p $(@D)
	$(TARGETCC) $(TFLAGS) -c -o $@ $<
$(B)/target/%.o: target/%.c | needs
	@mkdir -p $(@D)
	$(TARGETCC) $(TFLAGS) -c -o $@ $<
$(TB)/%.o: arch/aarch64/target/%.S | needs
	@mkdir -p $(@D)
	$(TARGETCC) -I. -MMD -MP -c -o $@ $<
$(TB)/blob.elf $(TB)/other.elf: $(TOBJ) arch/aarch64/target/blob.ld
	$(CROSS)ld -nostdlib -static -no-dynamic-linker -z noexecstack --defsym=other=$(OTHER) \
		-T arch/aarch64/target/blob.ld -o $@ $(TOBJ)
$(TB)/blob.elf: OTHER = 0
$(TB)/other.elf: OTHER = 0x01000000
$(TB)/%.bin: $(TB)/%.elf
	$(CROSS)objcopy -O binary -j .text $< $@
$(B)/arch/aarch64/blob.o: arch/blob.S $(TB)/blob.bin $(TB)/other.bin
	$(TARGETCC) -Wa,-I$(TB) -c -o $@ $<
