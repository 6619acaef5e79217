# make ARCH=aarch64: built on another processor, into build/aarch64/, by Debian's cross compiler. The libraries that it is
# linked with are Debian's packages for that processor, unpacked in the cache (sysroot.sh beside this file): no foreign
# architecture is added to apt. `make ARCH=aarch64 deps' installs the compiler, and qemu-user, which runs what was built.
CROSS    := $(ARCH)-linux-gnu-
CROSSDEPS := $(ARCH)
ifeq ($(filter deps clean,$(MAKECMDGOALS)),)
ifeq ($(shell command -v $(CROSS)gcc),)
$(error devtrace can not be built for $(ARCH) yet: $(CROSS)gcc is missing; 'make ARCH=$(ARCH) deps' installs it)
endif
ROOT     := $(shell packaging/cross/sysroot.sh $(ARCH))
ifeq ($(ROOT),)
$(error devtrace can not be built for $(ARCH) yet: its libraries could not be had, see above)
endif
endif
CC       := $(CROSS)gcc --sysroot=$(ROOT)
