#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds a real program from Debian's source and prints the path of the result.
#
# usage: test/real/build.sh PROGRAM VARIANT
#   PROGRAM   lua | zstd | sqlite (its benchmark, speedtest1) | redis (the server) | git
#             gmp | jpeg | openssl | zlib | libdeflate | isal | nettle: with the programs of their own test suites; the result is
#             a list, a line a command of the suite, to be run in its folder
#   VARIANT   plain       gcc, Debian's flags (-O2 -g, stack protector, fortify)
#             sled        the same through devtrace-as
#             sled-clang  clang through devtrace-as
#             uftrace     gcc -pg -mfentry, what uftrace wants
#             xray        clang-19 -fxray-instrument, every function
#
# What is built stays in the cache (see fetch.sh) under a name that is made from all that went into
# it: the source's version, how this script builds it, the compiler and, for sleds, devtrace-as itself. So a
# second call costs nothing, a new devtrace-as builds anew, and two trees do not disturb each other.
# Beside the result lie the program's own helpers: datagen and fuzzer for zstd, redis-benchmark ...
# Every program is one file that holds its libraries, so that everything in it is traced.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
lib=${DEVTRACE_BUILD:-$root/build}/lib
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}

die() {
	echo "build.sh: $*" >&2
	exit 1
}

usage() {
	sed -n 's/^# \{0,1\}//; 6,14p' "$0" >&2
	exit 2
}

[ $# = 2 ] || usage
program=$1 variant=$2
case $program in
lua) package=lua5.4 result=lua ;;
zstd) package=libzstd result=programs/zstd ;;
sqlite) package=sqlite3 result=speedtest1 ;;
redis) package=redis result=src/redis-server ;;
git) package=git result=git ;;
gmp | openssl | zlib | libdeflate | nettle) package=$program result=suite ;;
jpeg) package=libjpeg-turbo result=suite ;;
isal) package=libisal result=suite ;;
*) usage ;;
esac

# The instrumentation goes into CC, which every build system hands on, and the flags into CFLAGS.
case $variant in
plain) cc="gcc" ;;
sled) cc="gcc -B$lib" ;;
sled-clang) cc="clang -fno-integrated-as -B$lib" ;;
uftrace) cc="gcc" extra="-pg -mfentry" ;; # not at link time: that would add gprof's own start code
xray) cc="clang-19 -fxray-instrument -fxray-instruction-threshold=1" ;;
*) usage ;;
esac
cflags="-g -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2 ${extra-}"
command -v ${cc%% *} >/dev/null || die "needs ${cc%% *}"
stamp=
case $variant in
sled*)
	[ -x "$lib/as" ] || die "$lib/as is missing: run make build/lib/as"
	stamp=$(sha256sum <"$lib/as")
	;;
esac

src=$("$here/fetch.sh" "$package")
build_lua() {
	cp -r "$src/src" .
	printf '#define DEB_HOST_MULTIARCH "%s"\n' "$(gcc -print-multiarch)" >src/lua5.4-deb-multiarch.h
	cflags="-Wall -Wextra -DLUA_COMPAT_5_3 -DLUA_USE_LINUX $cflags" # no readline: one library less
	cat >Makefile <<-EOF
		objects := \$(patsubst %.c,%.o,\$(filter-out src/luac.c,\$(wildcard src/*.c)))
		lua: \$(objects); $cc -o \$@ \$^ -Wl,-E -lm -ldl
		%.o: %.c; $cc $cflags \$(os) -c -o \$@ \$<
		src/llex.o src/lparser.o src/lcode.o: os := -Os # as Debian has it
	EOF
	make -j2
}

build_zstd() {
	cp -r "$src/lib" "$src/programs" "$src/tests" .
	set -- CC="$cc" CFLAGS="$cflags" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 BACKTRACE=0
	make -j2 -C programs zstd "$@"
	case $variant in
	sled* | plain) make -j2 -C tests datagen fuzzer zstreamtest "$@" ;;
	esac
}

build_sqlite() {
	# one big sqlite3.c, the same for every variant
	local one
	one=$cache/build/sqlite3-$(sha256sum <"$src.done" | cut -c1-12).c
	if [ ! -e "$one" ]; then
		(
			flock 9
			[ -e "$one" ] && exit 0
			cp -r "$src" amalgamation && cd amalgamation
			./configure --disable-readline --disable-amalgamation CC=gcc
			make sqlite3.c sqlite3.h
			cp sqlite3.h "${one%.c}.h" && mv sqlite3.c "$one"
		) 9>"$one.lock"
		rm -rf amalgamation
	fi
	ln -s "$one" sqlite3.c && ln -s "${one%.c}.h" sqlite3.h
	cp "$src/test/speedtest1.c" .
	$cc $cflags -fno-strict-aliasing -I. -DSQLITE_SECURE_DELETE -DSQLITE_ENABLE_COLUMN_METADATA \
		-DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS5 \
		-DSQLITE_ENABLE_RTREE=1 -DSQLITE_SOUNDEX=1 -DSQLITE_ENABLE_UNLOCK_NOTIFY \
		-DSQLITE_OMIT_LOOKASIDE=1 -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_THREADSAFE=1 \
		-DSQLITE_USE_URI=1 -DSQLITE_ENABLE_PREUPDATE_HOOK -DSQLITE_ENABLE_SESSION \
		-o speedtest1 sqlite3.c speedtest1.c -lm -ldl -lpthread
}

build_redis() {
	cp -r "$src/src" "$src/deps" "$src/tests" "$src/runtest" "$src/redis.conf" .
	cp -r "$src/utils" .
	# flags by the environment, as Debian does: each of its libraries adds its own to them
	CFLAGS=$cflags make -j2 -C src V=1 CC="$cc" MALLOC=libc redis-server redis-benchmark redis-cli
}

build_git() {
	cp -r "$src/." .
	make -j2 CC="$cc" CFLAGS="$cflags" USE_LIBPCRE2= NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 NO_OPENSSL=1 all
}

# ---- suites: everything in one file, so that the library's functions are the program's own ----

# programs FOLDER PATTERN...: the programs there of these names are the suite
programs() {
	local p names=()
	for p in "${@:2}"; do names+=(-o -name "$p"); done
	find "$1" -type f -perm -u+x \( "${names[@]:1}" \) ! -name '*.*' ! -path '*/.libs/*' | sort >suite
	chmod +x suite # the result is looked for as a program
	[ -s suite ]
}

build_gmp() {
	cp -r "$src/." .
	# Debian's has no documentation
	mkdir -p doc && [ -e doc/Makefile.in ] || echo 'all check install clean:' >doc/Makefile.in
	./configure --disable-shared --enable-static CC="$cc" CFLAGS="$cflags"
	make -j2
	make -j2 check TESTS=
	programs ./tests 't-*' 'bit' 'convert' 'dive' 'dive_ui' 'io' 'reuse' 'logic' 'toom*' 'gen*' 'logops_n'
}

build_jpeg() {
	local c=${cc%% *} flags=
	[ "$c" = "$cc" ] || flags=${cc#* }
	cmake "$src" -DENABLE_SHARED=0 -DCMAKE_BUILD_TYPE=None -DREQUIRE_SIMD=1 -DCMAKE_C_COMPILER="$c" -DCMAKE_C_FLAGS="$cflags $flags"
	make -j2
	ctest -j2 # its commands read what those before them have written: so any of them can be run by itself
	ctest --show-only=json-v1 | python3 -c '
import json, shlex, sys
for t in json.load(sys.stdin)["tests"]:
    # files are copied by cmake itself, which is no program of this library
    if "command" in t and not t["command"][0].endswith("/cmake"): print(shlex.join(t["command"]))' >suite
	chmod +x suite
}

build_openssl() {
	local t
	# those of its tests that are about assembler; a name that it has no test of is an error of make's
	local programs="bntest bn_internal_test exptest poly1305_internal_test chacha_internal_test modes_internal_test
		sm2_internal_test sm3_internal_test sm4_internal_test siphash_internal_test curve448_internal_test mdc2_internal_test
		ectest ec_internal_test ecdsatest sha_test destest rc2test rc4test rc5test bftest casttest ideatest mdc2test igetest
		aesgcmtest hmactest cmactest rsa_test rsa_mp_test rsa_sp800_56b_test dsatest dhtest ffc_internal_test
		constant_time_test evp_kdf_test pbetest drbgtest rand_test tls13encryptiontest evp_test evp_extra_test
		evp_libctx_test threadstest ecstresstest"
	cp -r "$src/." .
	CC="$cc" ./Configure linux-x86_64 no-shared no-module $cflags
	make -j2 build_generated
	make -j2 libcrypto.a libssl.a
	make -j2 $(printf 'test/%s ' $programs)
	for t in $programs; do
		case $t in
		evp_test) printf 'test/evp_test -config test/default-and-legacy.cnf %s\n' test/recipes/30-test_evp_data/*.txt ;;
		evp_libctx_test) printf 'test/evp_libctx_test -config test/%s.cnf\n' default default-and-legacy ;;
		threadstest) echo 'test/threadstest -config test/default.cnf test/recipes/90-test_threads_data' ;;
		ecstresstest) echo 'test/ecstresstest -num 1000' ;; # of a million, which its recipe leaves out
		*) echo "test/$t" ;;
		esac
	done >suite
	printf 'test/bntest %s\n' test/recipes/10-test_bn_data/*.txt >>suite
	echo 'test/evp_extra_test -context' >>suite
	chmod +x suite
}

build_zlib() {
	cp -r "$src/." .
	CC="$cc" CFLAGS="$cflags" ./configure --static
	make -j2 static
	$cc $cflags -I. -o infcover test/infcover.c libz.a
	printf '%s\n' ./example ./infcover 'sh -c "./minigzip <libz.a"' 'sh -c "./minigzip -9 <libz.a | ./minigzip -d"' >suite
	chmod +x suite
}

build_libdeflate() {
	cp -r "$src/." .
	make -j2 CC="$cc" CFLAGS="$cflags" libdeflate.a
	make -j2 CC="$cc" CFLAGS="$cflags" test_programs
	programs . 'test_*'
}

build_nettle() {
	local t
	cp -a "$src/." .
	touch aclocal.m4 && touch configure config.h.in stamp-h.in # newer than what patches touched
	./configure --disable-shared --enable-static --enable-mini-gmp --disable-documentation --disable-openssl CC="$cc" CFLAGS="$cflags"
	make -j2
	make -j2 -C testsuite check EMULATOR=true TS_SH= # built, not run
	programs ./testsuite '*-test'
	sed -i '/nettle-pbkdf2-test\|-conv-test\|symbols-test\|dlopen-test/d' suite # these are scripts, or about the shared library
	for t in nettle-pbkdf2 sexp-conv pkcs1-conv; do echo "sh -c 'cd testsuite && ./$t-test'"; done >>suite
	# the assembler for processors without instructions for it, too
	sed -n '/\/\(aes\|cbc\|cmac\|eax\|ccm\|gcm\|memxor\|sha1\|sha256\|hmac\)-test/s/^/env NETTLE_FAT_OVERRIDE=none /p' suite >without
	cat without >>suite
}

build_isal() {
	cp -r "$src/." .
	make -j2 -f Makefile.unx CC="$cc" CFLAGS_="$cflags" lib
	make -j2 -f Makefile.unx CC="$cc" D=RANDOMS=16 tests # how often they try each thing, of 20 to 16,384
	programs . '*_test'
}

hash=$({
	cat "$src.done"
	declare -f "build_$program" programs
	${cc%% *} --version
	echo "${cc//$lib/lib} $cflags $stamp" # wherever this tree is
} | sha256sum | cut -c1-12)
name=$program-$variant
dir=$cache/build/$name-$hash

[ -e "$dir/.done" ] && { touch "$dir"; echo "$dir/$result"; exit 0; }
mkdir -p "$cache/build"
exec 9>"$cache/build/$name.lock"
flock 9
[ -e "$dir/.done" ] && { echo "$dir/$result"; exit 0; }

# builds of an earlier devtrace-as that nobody asked for since yesterday
find "$cache/build" -maxdepth 1 -name "$name-????????????" -mmin +1440 -exec rm -rf {} +
rm -rf "$dir" && mkdir "$dir" && cd "$dir"

set +e # for a moment: inside an if, set -e would be off in the function too
(set -e && "build_$program") >"$dir/build.log" 2>&1
rc=$?
set -e
if [ "$rc" != 0 ] || [ ! -x "$dir/$result" ]; then
	tail -n 20 "$dir/build.log" >&2
	die "$name does not build; the whole log is $dir/build.log"
fi
touch "$dir/.done"
echo "$dir/$result"
