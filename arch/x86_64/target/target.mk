# The blob: code that runs inside the traced process. No libc, no vector registers, no red zone of
# its own, nothing that needs relocation.
TB       := $(B)/arch/x86_64/target
TFLAGS   := -std=gnu11 -I. -Os -ffreestanding -fno-builtin -mgeneral-regs-only -mno-red-zone -fPIC \
	-fvisibility=hidden -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none \
	-fno-tree-loop-distribute-patterns -fno-jump-tables $(WARN) -MMD -MP

# what runs for each text that is recorded
$(B)/target/text.o: TFLAGS += -O2

TOBJ     := $(TB)/hook.o $(TB)/text.o $(TB)/inside.o $(patsubst %.c,$(B)/%.o,$(wildcard target/*.c))

$(TB)/%.o: arch/x86_64/target/%.c | needs
	@mkdir -p $(@D)
	$(TARGETCC) $(TFLAGS) -c -o $@ $<
$(B)/target/%.o: target/%.c | needs
	@mkdir -p $(@D)
	$(TARGETCC) $(TFLAGS) -c -o $@ $<
$(TB)/%.o: arch/x86_64/target/%.S | needs
	@mkdir -p $(@D)
	$(TARGETCC) -I. -MMD -MP -c -o $@ $<
$(TB)/blob.elf $(TB)/other.elf: $(TOBJ) arch/x86_64/target/blob.ld
	ld -nostdlib -static -no-dynamic-linker -z noexecstack --defsym=base=$(BASE) \
		-T arch/x86_64/target/blob.ld -o $@ $(TOBJ)
$(TB)/blob.elf: BASE = 0
$(TB)/other.elf: BASE = 0x01000000
$(TB)/%.bin: $(TB)/%.elf
	objcopy -O binary -j .text $< $@
$(B)/arch/x86_64/blob.o: arch/blob.S $(TB)/blob.bin $(TB)/other.bin
	$(TARGETCC) -Wa,-I$(TB) -c -o $@ $<
