# SPDX-License-Identifier: GPL-2.0-or-later
#
# A thin front to meson and ninja. Every target first installs what is missing
# (scripts/install-deps; as a user without root it says what to install).
#
#   make             build both binaries, and the guests of the examples, into
#                    build/
#   make demo        live-migrate a writing guest between two processes; builds
#                    no more than it needs
#   make check       the whole test suite       make check-quick  its fast part
#   make check-asan  the suite under address and undefined-behaviour sanitizers
#   make check-tsan  the suite under the thread sanitizer
#   make check-locks both programs and all tests by clang, which checks locks
#   make bench       benchmarks, results in build/bench
#   make soak        long loops of migrations
#   make install     programs, manual pages and documentation; DESTDIR= and
#                    PREFIX= are honoured
#   make uninstall   remove what the last `make install` has installed
#   make clean       remove all build directories

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
# The sanitizer builds hand their slow-down to the tests' own timeouts.
ASAN_ARGS = -Db_sanitize=address,undefined -Db_lundef=false
TSAN_ARGS = -Db_sanitize=thread -Db_lundef=false

.PHONY: all deps build build-all demo check check-quick check-asan check-tsan
.PHONY: check-locks bench soak install uninstall clean

all: build

deps:
	@scripts/install-deps

$(BUILD)/build.ninja: | deps
	BUILD_DIR=$(BUILD) ./configure --prefix=$(PREFIX)

build: deps $(BUILD)/build.ninja
	ninja -j$(JOBS) -C $(BUILD) programs

# Tests and all; `make` alone needs a third of that.
build-all: deps $(BUILD)/build.ninja
	ninja -j$(JOBS) -C $(BUILD)

demo: deps $(BUILD)/build.ninja
	ninja -j$(JOBS) -C $(BUILD) to-demo
	@scripts/demo $(BUILD)

check: build-all
	@scripts/run-tests $(BUILD)

check-quick: build-all
	@scripts/run-tests $(BUILD) --suite quick

check-asan: deps
	[ -f build-asan/build.ninja ] || BUILD_DIR=build-asan ./configure $(ASAN_ARGS)
	ninja -j$(JOBS) -C build-asan
	@scripts/run-tests build-asan --no-suite style --timeout-multiplier 4

check-tsan: deps
	[ -f build-tsan/build.ninja ] || BUILD_DIR=build-tsan ./configure $(TSAN_ARGS)
	ninja -j$(JOBS) -C build-tsan
	@scripts/run-tests build-tsan --no-suite style --timeout-multiplier 8

check-locks: deps
	[ -f build-locks/build.ninja ] || CC=clang BUILD_DIR=build-locks ./configure
	ninja -j$(JOBS) -C build-locks

bench: build-all
	@mkdir -p $(BUILD)/bench
	meson test -C $(BUILD) --benchmark --verbose --num-processes 1

soak: build-all
	@FERRY_SOAK=1 scripts/run-tests $(BUILD) --suite soak --timeout-multiplier 0

# A PREFIX that is given counts, whatever the build was configured with.
install: deps $(BUILD)/build.ninja
	$(if $(filter command environment,$(firstword $(origin PREFIX))),meson configure $(BUILD) --prefix=$(PREFIX))
	ninja -j$(JOBS) -C $(BUILD) to-install
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

# What the last `make install` from here has put there.
uninstall:
	ninja -C $(BUILD) uninstall

clean:
	rm -rf $(BUILD) build-asan build-tsan build-locks
