# SPDX-License-Identifier: GPL-2.0-or-later
#
# A thin front to meson and ninja. Every target first installs what is missing
# (scripts/install-deps; as a user without root it says what to install).
#
#   make             build both binaries into build/
#   make demo        live-migrate a writing guest between two processes
#   make check       the whole test suite       make check-quick  its fast part
#   make check-asan  the suite under address and undefined-behaviour sanitizers
#   make check-tsan  the suite under the thread sanitizer
#   make bench       benchmarks, results in build/bench
#   make soak        long loops of migrations
#   make install     DESTDIR= and PREFIX= are honoured
#   make clean       remove all build directories

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
# The sanitizer builds hand their slow-down to the tests' own timeouts.
ASAN_ARGS = -Db_sanitize=address,undefined -Db_lundef=false
TSAN_ARGS = -Db_sanitize=thread -Db_lundef=false

.PHONY: all deps build demo check check-quick check-asan check-tsan bench soak
.PHONY: install clean

all: build

deps:
	@scripts/install-deps

$(BUILD)/build.ninja: | deps
	BUILD_DIR=$(BUILD) ./configure --prefix=$(PREFIX)

build: deps $(BUILD)/build.ninja
	ninja -j$(JOBS) -C $(BUILD)

demo: build
	@scripts/demo $(BUILD)

check: build
	@scripts/run-tests $(BUILD)

check-quick: build
	@scripts/run-tests $(BUILD) --suite quick

check-asan: deps
	[ -f build-asan/build.ninja ] || BUILD_DIR=build-asan ./configure $(ASAN_ARGS)
	ninja -j$(JOBS) -C build-asan
	@scripts/run-tests build-asan --no-suite style --timeout-multiplier 4

check-tsan: deps
	[ -f build-tsan/build.ninja ] || BUILD_DIR=build-tsan ./configure $(TSAN_ARGS)
	ninja -j$(JOBS) -C build-tsan
	@scripts/run-tests build-tsan --no-suite style --timeout-multiplier 8

bench: build
	@mkdir -p $(BUILD)/bench
	meson test -C $(BUILD) --benchmark --verbose --num-processes 1

soak: build
	@FERRY_SOAK=1 scripts/run-tests $(BUILD) --suite soak --timeout-multiplier 0

install: build
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean:
	rm -rf $(BUILD) build-asan build-tsan
