# Tests of the C libraries. `make check` runs all of them, `make check TESTS="abi headers"` some. All is built in target/check. What a
# test lacks on this machine it says as SKIPPED.

SHELL := bash
# Says which target it is, as scripts/test.sh counts, and shows its commands.
.SHELLFLAGS = $(if $@,$(info + $@))-evo pipefail -c
.ONESHELL:
.SILENT:
.NOTPARALLEL:

comma := ,
out := $(CURDIR)/target/check
prefix := $(out)/prefix
lib := $(prefix)/lib
full := $(out)/full/lib
warnings := -Wall -Wextra -Wpedantic -Werror
only_with_features := treewide_(update_parallel|hash_file|update_file|update_file_watched)
features := $(full)/libblake3.a $(full)/libtreewide.a -lpthread -ldl -lm
abc := 6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85

tests := lints abi headers drop_in official_tests swapped sanitizers memory misuse stack two_rust_libraries installed \
	with_features examples readme gpu devices
.PHONY: all quick build plain_rustc emulated bench $(tests)
all: quick plain_rustc emulated
# Without the tests that take minutes: another way to build, and another machine.
quick: $(tests)

# Ends a test where one of these programs is missing.
need = for it in $(1); do command -v $$it >/dev/null || { echo "SKIPPED: there is no $$it on this machine"; exit 0; }; done
need_target = [[ -d $$(rustc --print sysroot)/lib/rustlib/$(1) ]] || { echo "SKIPPED: rustup has no rustc target $(1) here"; exit 0; }

# BLAKE3's C library, as Cargo fetches it with the crate `blake3` for the main workspace.
find_theirs = $(shell ls -d $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src/*/blake3-1.8.*/c 2>/dev/null | tail -n 1)
theirs := $(find_theirs)
ifeq ($(theirs),)
$(shell cargo fetch --locked --manifest-path ../../Cargo.toml >&2)
theirs := $(find_theirs)
endif

# It under names of its own, with all instruction sets of the target: $(2)/official.a by compiler $(1) with flags $(3).
define official
	mkdir -p $(2) && rm -f $(2)/*.o
	assembly=() flags=($(3))
	case $$($(1) -dumpmachine) in
	x86_64-*linux-gnu) assembly=($(theirs)/*_unix.S) ;;
	*) flags+=(-DBLAKE3_NO_AVX512 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_SSE2 -DBLAKE3_USE_NEON=0) ;;
	esac
	for file in $(theirs)/{blake3,blake3_dispatch,blake3_portable}.c; do
		$(1) -O3 -fPIC -include tests/official_names.h "$${flags[@]}" -c $$file -o $(2)/$$(basename $$file).o
	done
	for file in "$${assembly[@]}"; do $(1) -c $$file -o $(2)/$$(basename $$file).o; done
	ar rcs $(2)/official.a $(2)/*.o
endef

# The functions that a header declares, without those of a header that it includes; those of a library.
declared = sed 's/^\#include.*//' $(1) | gcc -E -P -DBLAKE3_API= -DTREEWIDE_API= -x c - | \
	grep -oE '\b(blake3|treewide)_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u
exported = nm -D --defined-only $(1) | awk '{ print $$NF }' | sort
# With a target, as in the Makefile.
in_archive = nm --target="$$(ld --print-output-format)" -g --defined-only $(1) | awk 'NF == 3 { print $$3 }' | sort

# Without a registry: Cargo has an empty folder to look for crates, and no network.
build:
	rm -rf $(prefix) $(out)/empty && mkdir -p $(out)/empty
	CARGO_HOME=$(out)/empty CARGO_NET_OFFLINE=true $(MAKE) install PREFIX=$(prefix)
	$(call official,gcc,$(out)/official)

# A program of tests/: with both static libraries, with the shared ones, with sanitizers, and with features.
program = gcc -O1 -g -std=c11 $(warnings) $(2) -Iinclude tests/$(1).c $(out)/official/official.a $(3)
static := $(lib)/libblake3.a $(lib)/libtreewide.a -lpthread
shared := -L$(lib) -lblake3 -ltreewide -Wl,-rpath,$(lib)

lints:
	{ cargo clippy --version && cargo fmt --version; } || { echo "SKIPPED: there is no cargo clippy, or no cargo fmt"; exit 0; }
	cargo fmt --check
	cargo clippy --locked -- -D warnings
	cargo clippy --locked --manifest-path full/Cargo.toml --all-features -- -D warnings
	cargo clippy --locked --manifest-path full/Cargo.toml -p libtreewide_gpu -- -D warnings
	for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
		($(call need_target,$$target); exit 1) && continue
		cargo clippy --locked --target $$target -- -D warnings
	done

# The sizes and names that programs rely on. Change tests/abi.txt on purpose, with the SONAME.
abi: build
	$(call need,nm readelf)
	$(call program,sizes) -o $(out)/sizes
	{
		$(out)/sizes
		for it in blake3 treewide; do
			$(call exported,$(lib)/lib$$it.so.0) | sed "s/^/lib$$it.so: /"
			readelf -d $(lib)/lib$$it.so.0 | sed -n "s/.*\(SONAME\|NEEDED\).*\[\(.*\)\]/lib$$it.so \1 \2/p"
		done
	} >$(out)/abi.txt
	[[ $$(uname -m) != x86_64 ]] || diff -u tests/abi.txt $(out)/abi.txt
	for it in blake3 treewide; do
		diff <($(call declared,include/$$it.h) | grep -vxE '$(only_with_features)') <($(call exported,$(lib)/lib$$it.so))
		diff <($(call in_archive,$(lib)/lib$$it.a)) <($(call exported,$(lib)/lib$$it.so))
	done

headers: build
	for compiler in gcc clang; do
		command -v $$compiler >/dev/null || { echo "SKIPPED: there is no $$compiler on this machine"; continue; }
		for header in $(CURDIR)/include/*.h; do
			for standard in c89 c99 c11 c17 c++11 c++17 c++20; do
				language=c && [[ $$standard != c++* ]] || language=c++
				$$compiler -x $$language -std=$$standard $(warnings) "-DHEADER=\"$$header\"" -c tests/header.c -o $(out)/header.o
			done
		done
	done
	$(call program,hidden,,$(shared)) -o $(out)/hidden
	$(out)/hidden

drop_in: build
	for it in dropin beyond; do
		$(call program,$$it,,$(static)) -o $(out)/$$it
		$(out)/$$it
		$(call program,$$it,,$(shared)) -o $(out)/$$it-shared
		$(out)/$$it-shared 50
	done

sanitizers: build
	for it in dropin beyond; do
		$(call program,$$it,-fsanitize=address$(comma)undefined -fno-sanitize-recover=all,$(static)) -o $(out)/$$it-sanitized
		$(out)/$$it-sanitized 20
	done

memory: build
	$(call need,valgrind)
	for it in dropin beyond; do
		$(call program,$$it,,$(static)) -o $(out)/$$it-memory
		valgrind -q --error-exitcode=1 --leak-check=full --max-stackframe=4000000 $(out)/$$it-memory 500
	done

# The compiler sees the misuse, and would warn.
misuse: build
	$(call program,misuse,-Wno-stringop-overread,$(static)) -o $(out)/misuse
	$(out)/misuse

stack: build
	$(call program,stack,-g0,$(static)) -o $(out)/stack
	$(out)/stack

# Also both of ours.
two_rust_libraries: build
	rustc --edition 2024 -O --crate-type staticlib --crate-name other tests/other_rust.rs -o $(out)/libother.a
	$(call program,two_rust_libraries,,$(static) $(out)/libother.a -ldl -lm) -o $(out)/two
	$(out)/two

# Their own tests and examples, unchanged.
official_tests: build
	$(call need,python3)
	folder=$(out)/official-tests/c
	mkdir -p $$folder $$folder/../test_vectors
	sed 's/"len"/"input_len"/; s/"context"/"context_string"/' ../../vectors/hash.json >$$folder/../test_vectors/test_vectors.json
	cp $(theirs)/{main.c,test.py,blake3_impl.h,example.c,example_tbb.c} include/blake3.h $$folder
	gcc -O1 $$folder/main.c tests/main_features.c $(lib)/libblake3.a -o $$folder/blake3
	python3 $$folder/test.py 2>/dev/null
	gcc -O1 $$folder/example.c $(shared) -o $$folder/example
	gcc -O1 -DBLAKE3_USE_TBB $$folder/example_tbb.c $(shared) -o $$folder/example_tbb
	test $$(echo -n abc | $$folder/example) = $(abc)
	test $$($$folder/example <$$folder/main.c) = $$($$folder/example_tbb $$folder/main.c)

# A program that was built with their header and their library finds ours in its place.
swapped: build
	folder=$(out)/swapped
	mkdir -p $$folder/ours && cp $(lib)/libblake3.so.0 $$folder/ours
	gcc -O2 -fPIC -fvisibility=hidden -shared -Wl,-soname,libblake3.so.0 -DBLAKE3_NO_AVX512 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_SSE41 \
		-DBLAKE3_NO_SSE2 $(theirs)/{blake3,blake3_dispatch,blake3_portable}.c -o $$folder/libblake3.so.0
	gcc -O2 -I$(theirs) $(theirs)/example.c $$folder/libblake3.so.0 -o $$folder/example
	LD_LIBRARY_PATH=$$folder/ours ldd $$folder/example | grep $$folder/ours/libblake3.so.0
	for file in check.mk $(lib)/libblake3.a; do
		test $$(LD_LIBRARY_PATH=$$folder $$folder/example <$$file) = $$(LD_LIBRARY_PATH=$$folder/ours $$folder/example <$$file)
	done

# What needs a registry: threads, files and GPUs.
$(out)/full: build
	rm -rf $@
	$(MAKE) install FEATURES="parallel,file gpu" PREFIX=$@

with_features: $(out)/full two_rust_libraries
	for it in blake3 treewide treewide_gpu; do
		diff <($(call declared,include/$$it.h)) <($(call exported,$(full)/lib$$it.so))
		diff <($(call in_archive,$(full)/lib$$it.a)) <($(call exported,$(full)/lib$$it.so))
	done
	for it in beyond dropin stack ends no_memory two_rust_libraries; do
		$(call program,$$it,-g0 -DFEATURES,$(features) $(out)/libother.a) -o $(out)/$$it-full
	done
	$(out)/beyond-full 10
	$(out)/dropin-full 10
	# Two libraries, each with Rust's standard library in it.
	$(out)/two_rust_libraries-full
	$(out)/stack-full
	gcc -shared -fPIC ../../crates/treewide/tests/lengths.c -o $(out)/lengths.so
	CUT=100 LD_PRELOAD=$(out)/lengths.so $(out)/ends-full $(out)
	head -c 5000000 /dev/zero >$(out)/zeros
	$(out)/no_memory-full $(out)/zeros
	# The library stays after dlclose, and so does its handler of SIGBUS, which hands signals on.
	$(call program,unload,,-ldl) -o $(out)/unload
	$(out)/unload $(full)/libtreewide.so $(out)/zeros own
	code=0
	# A shell of its own says that it died.
	bash -c '"$$@"; exit' - $(out)/unload $(full)/libtreewide.so $(out)/zeros 2>/dev/null || code=$$?
	test $$code = $$((128 + $$(kill -l BUS)))
	$(call need,pkg-config)
	export PKG_CONFIG_PATH=$(full)/pkgconfig
	gcc -static $(theirs)/example.c -o $(out)/static-full $$(pkg-config --static --cflags --libs libblake3)
	$(out)/static-full <check.mk

examples: build
	for compiler in clang gcc; do
		command -v $$compiler >/dev/null || continue
		for it in sum many; do
			$$compiler -std=c89 $(warnings) -Iinclude examples/$$it.c $(lib)/libtreewide.a -o $(out)/$$it
		done
	done
	printf abc >$(out)/abc
	test "$$($(out)/sum $(out)/abc)" = "$(abc)  $(out)/abc"
	test "$$($(out)/sum <$(out)/abc)" = $(abc)
	errors=$$($(out)/sum $(out)/absent $(out)/abc 2>&1 >/dev/null) && exit 1
	test "$$errors" = "sum: $(out)/absent: No such file or directory"
	test $$($(out)/many ../../vectors/README.md | wc -l) = $$(wc -l <../../vectors/README.md)

# The program of language $(2) in document $(1).
block = sed -n '/^```$(2)$$/,/^```/ { /^```/!p }' $(1)

# The commands of README.md, with its programs.
readme:
	$(call need,cmake pkg-config cc)
	folder=$(out)/readme
	rm -rf $$folder && mkdir -p $$folder
	# What one of them reads.
	printf abc >$$folder/README.md
	$(call block,README.md,c) >$$folder/hello.c
	$(call block,README.md,cmake) >$$folder/CMakeLists.txt
	$(call block,README.md,sh) | sed 's|bindings/c|$(CURDIR)|' >$$folder/commands
	export RUSTUP_HOME=$${RUSTUP_HOME:-$$HOME/.rustup} CARGO_HOME=$${CARGO_HOME:-$$HOME/.cargo}
	(cd $$folder && HOME=$$folder bash -e commands >printed)
	grep -x ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f $$folder/printed
	grep -x "$(abc)  README.md" $$folder/printed

# With the driver of a device that is the CPU, in the place of NVIDIA's.
gpu: $(out)/full examples
	$(call need,g++)
	! ldconfig -p | grep libcuda.so.1 || { echo "SKIPPED: this machine has NVIDIA's driver, and this test has one of its own"; exit 0; }
	folder=$(out)/gpu host=../../crates/treewide-gpu/kernels/cuda/host
	mkdir -p $$folder
	g++ -std=c++17 -O2 -Wno-unknown-pragmas -U_FORTIFY_SOURCE -shared -fPIC -Wl,-soname,libcuda.so $$host/{stages,driver}.cpp -ldl \
		-o $(out)/libcuda.so
	export LD_LIBRARY_PATH=$(full)
	libraries="-L$(full) -ltreewide_gpu -ltreewide"
	g++ -std=c++17 $(warnings) -Iinclude examples/device.cpp $$libraries -o $$folder/device
	LD_PRELOAD=$(out)/libcuda.so $$folder/device check.mk >$$folder/printed
	diff <($(out)/sum <check.mk; tail -c +2 check.mk | $(out)/sum) <(grep -xE '[0-9a-f]{64}' $$folder/printed | head -2)
	# The program of the documentation, with a type of the CUDA runtime.
	echo 'typedef void *cudaStream_t;' >$$folder/cuda_runtime.h
	{ $(call block,../../docs/gpu.md,cpp); cat tests/docs_gpu.cpp; } >$$folder/docs.cpp
	g++ -std=c++17 $(warnings) -Iinclude -Itests -I$$folder $$folder/docs.cpp $$libraries -o $$folder/docs
	LD_PRELOAD=$(out)/libcuda.so $$folder/docs
	gcc -std=c11 $(warnings) -Iinclude tests/misuse_gpu.c $$libraries -o $$folder/misuse
	LD_PRELOAD=$(out)/libcuda.so $$folder/misuse

# Devices of every backend: the twin, and what the drivers find, such as lavapipe.
devices: $(out)/full
	mkdir -p $(out)/devices
	gcc -O1 -g -std=gnu11 $(warnings) -Iinclude tests/devices.c $(full)/lib{treewide_gpu,treewide}.a -lpthread -ldl -lm -o $(out)/devices/devices
	drivers=(/usr/share/vulkan/icd.d/lvp_icd*.json)
	[[ ! -e $${drivers[0]} ]] || export VK_DRIVER_FILES=$${drivers[0]}
	NODEVICE_SELECT=1 $(out)/devices/devices $(out)/devices

# With neither Cargo nor a registry. With `-C lto` the static library needs no routine of unwinding.
plain_rustc: build
	folder=$(out)/rustc flags="--edition 2024 -C opt-level=1 -C panic=abort -C lto=thin"
	mkdir -p $$folder
	rustc $$flags --crate-name treewide --crate-type rlib -A warnings ../../crates/treewide/src/lib.rs --out-dir $$folder
	CARGO_PKG_VERSION=0.1.0 rustc $$flags --crate-name treewide_c --crate-type staticlib --extern treewide=$$folder/libtreewide.rlib \
		src/libtreewide.rs -o $$folder/libtreewide.a
	$(call program,beyond,,$$folder/libtreewide.a) -o $$folder/beyond
	$$folder/beyond 50

# Big-endian.
emulated:
	$(call need,s390x-linux-gnu-gcc qemu-s390x)
	$(call need_target,s390x-unknown-linux-gnu)
	$(MAKE) TARGET=s390x-unknown-linux-gnu CROSS=s390x-linux-gnu-
	$(call official,s390x-linux-gnu-gcc,$(out)/s390x)
	for it in dropin beyond; do
		s390x-linux-gnu-gcc -O1 -std=c11 -static $(warnings) -Iinclude tests/$$it.c $(out)/s390x/official.a \
			target/s390x-unknown-linux-gnu/release/lib/lib{blake3,treewide}.a -o $(out)/s390x/$$it
		qemu-s390x $(out)/s390x/$$it 200
	done

# What a program for CMake says of the packages below $(1).
define cmake_builds
	rm -rf $(out)/cmake/build
	cmake -S $(out)/cmake -B $(out)/cmake/build -DCMAKE_PREFIX_PATH=$(1)
	cmake --build $(out)/cmake/build
	$(out)/cmake/build/BLAKE3__blake3 <check.mk
	$(out)/cmake/build/BLAKE3__blake3_static <check.mk
endef

# Versions that CMake's find_package(blake3 ...) finds, and such as it does not: as BLAKE3's own package answers.
found := "" 1 1.8 1.8.7 "1.8.7 EXACT" 1.0...1.9 "1.2...<2" 1.8...1.8.7 "1 OPTIONAL_COMPONENTS none"
not_found := 0.9 1.9 1.8.8 2 "1.8 EXACT" 1.0...1.5 "1.0...<1.8.7" 1.8...2 0.1...1.9 "1.9...<2" "1 COMPONENTS none"

installed: build
	root=$(out)/root
	rm -rf $$root
	$(MAKE) install DESTDIR=$$root PREFIX=/usr
	test -e $$root/usr/lib/libblake3.so.0 -a -e $$root/usr/include/blake3.h
	# Also with a umask that hides new files, and with a target and profile in the user's configuration.
	rm -rf $$root
	mkdir -p $(out)/cargo-home
	printf '[build]\ntarget = "no-such-target"\n[profile.release]\npanic = "unwind"\n' >$(out)/cargo-home/config.toml
	(umask 077 && CARGO_HOME=$(out)/cargo-home $(MAKE) install DESTDIR=$$root PREFIX=/usr)
	test -z "$$(find $$root/usr \( -type f ! -perm 644 ! -name '*.so.0' -o -name '*.so.0' ! -perm 755 -o -type d ! -perm 755 \) -print)"
	$(MAKE) uninstall DESTDIR=$$root PREFIX=/usr
	test -z "$$(find $$root ! -type d -print)"
	{ $(MAKE) install PREFIX=here 2>&1 || true; } | grep "PREFIX=here .*name an absolute folder"
	# One version in quotes: programs take any for that of BLAKE3, such as ccache.
	test $$(grep -cE '^#define [A-Z0-9_]+ "' include/blake3.h) = 1
	[[ $$(uname -m) != x86_64 ]] || for it in $(lib)/lib{blake3,treewide}.{so,a}; do readelf -n $$it | grep SHSTK; done
	$(call need,pkg-config)
	export PKG_CONFIG_PATH=$(lib)/pkgconfig
	gcc $(theirs)/example.c -o $(out)/with-pkg-config $$(pkg-config --cflags --libs libblake3)
	LD_LIBRARY_PATH=$(lib) $(out)/with-pkg-config <check.mk
	gcc -static $(theirs)/example.c -o $(out)/with-pkg-config $$(pkg-config --static --cflags --libs libblake3)
	$(out)/with-pkg-config <check.mk
	$(call need,cmake)
	mkdir -p $(out)/cmake $(out)/versions
	sed 's|@source@|$(theirs)/example.c|' tests/package.cmake >$(out)/cmake/CMakeLists.txt
	$(call cmake_builds,$(prefix))
	finds() {
		printf 'cmake_minimum_required(VERSION 3.19)\nproject(versions NONE)\nset(CMAKE_SIZEOF_VOID_P %s)\nfind_package(blake3 %s CONFIG QUIET)\nmessage(STATUS "found $${blake3_FOUND}")\n' \
			$$1 "$$2" >$(out)/versions/CMakeLists.txt
		cmake -S $(out)/versions -B $(out)/versions/build -DCMAKE_PREFIX_PATH=$(prefix) | grep 'found \(1\|TRUE\)$$'
	}
	for it in $(found); do finds 8 "$$it"; done
	for it in $(not_found); do ! finds 8 "$$it" || exit 1; done
	! finds 4 1.8 || exit 1
	# Moved, to a folder with a blank: nothing points to where it was.
	moved="$(out)/moved & elsewhere"
	rm -rf "$$moved" $(out)/was
	CARGO_BUILD_TARGET=no-such-target $(MAKE) install PREFIX=$(out)/was
	mv $(out)/was "$$moved"
	$(call cmake_builds,"$$moved")
	export PKG_CONFIG_PATH=$$moved/lib/pkgconfig
	points_there() {
		eval "flags=($$(pkg-config $$1 --cflags --libs libblake3))"
		test "$${flags[0]} $${flags[1]}" = "-I$$moved/include -L$$moved/lib"
	}
	points_there --define-prefix
	# Installed to such a folder.
	rm -rf "$$moved"
	$(MAKE) install PREFIX="$$moved"
	points_there

# No test: samples of these libraries and of BLAKE3's, without features and then with threads. Only they go to standard output.
bench:
	exec 3>&1 >&2
	$(MAKE) -f check.mk build
	gcc -O2 -std=c99 -Iinclude bench/bench.c $(out)/official/official.a $(static) -o $(out)/bench
	$(out)/bench $${SECONDS_EACH:-1} >&3
	$(MAKE) FEATURES=parallel
	tbb=()
	if echo '#include <oneapi/tbb/parallel_invoke.h>' | g++ -E -x c++ - >/dev/null 2>&1; then
		$(call official,gcc,$(out)/tbb,-DBLAKE3_USE_TBB)
		g++ -O3 -fno-exceptions -fno-rtti -DBLAKE3_USE_TBB -DTBB_USE_EXCEPTIONS=0 -c $(theirs)/blake3_tbb.cpp -o $(out)/tbb/tbb.o
		ar rs $(out)/tbb/official.a $(out)/tbb/tbb.o
		tbb=(-DTBB $(out)/tbb/official.a -ltbb -lstdc++)
	else
		echo "SKIPPED: theirs with TBB, as there is no g++ or no oneTBB (libtbb-dev) on this machine"
		tbb=($(out)/official/official.a)
	fi
	gcc -O2 -std=c99 -Iinclude bench/bench.c full/target/release/lib/lib{blake3,treewide}.a "$${tbb[@]}" -lpthread -ldl -lm -o $(out)/bench-threads
	$(out)/bench-threads $${SECONDS_EACH:-1} threads >&3
