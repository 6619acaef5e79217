# The BPF programs that record the kernel where the module is not loaded. Only clang makes them here; without it
# devtrace is built without them, and says so.
BPFCC    ?= clang
BPFFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Werror -I. $(addprefix -I/usr/include/,$(shell $(TARGETCC) -print-multiarch 2>/dev/null)) \
	-D__TARGET_ARCH_x86
# they know the registers of one processor
HAS_BPF  := $(if $(filter x86_64,$(ARCH)),$(shell echo 'extern int none;' | $(BPFCC) $(BPFFLAGS) -include linux/types.h -include bpf/bpf_helpers.h -x c -c -o /dev/null - 2>/dev/null && echo 1))

$(B)/bpf/record.bpf.o: bpf/record.bpf.c $(wildcard bpf/*.h) core/stream.h include/devtrace-ioctl.h bpf/bpf.mk | needs
	@mkdir -p $(@D)
	$(BPFCC) $(BPFFLAGS) -c -o $@ $<
	@! command -v llvm-strip >/dev/null || llvm-strip -g $@

$(B)/bpf/image.o: bpf/image.S bpf/bpf.mk $(if $(HAS_BPF),$(B)/bpf/record.bpf.o) | needs
	@mkdir -p $(@D)
	@$(if $(HAS_BPF)$(filter-out x86_64,$(ARCH)),:,echo 'clang is missing (Debian: clang): devtrace is built without the BPF programs for -k' >&2)
	$(TARGETCC) $(if $(HAS_BPF),-DDT_HAS_BPF) -Wa,-I$(B)/bpf -c -o $@ $<
