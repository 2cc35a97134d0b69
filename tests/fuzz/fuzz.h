/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz targets: one parser each, fed with bytes.
 *
 * A target defines the two functions below, as libFuzzer calls them; replay.c
 * calls them for the seeds. What a target needs of a machine, fuzz-machine.c
 * starts; it is one for all inputs.
 *
 * Used by: tests/fuzz.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of fuzz-stream and fuzz-vmstate: the last input was taken. */
extern bool fuzz_taken;

/* Start a machine as the command line @args (words between blanks) says. */
void fuzz_machine_start(const char *args);

/* The name of file @n (0 or 1), which has this content until the next call. */
const char *fuzz_file(unsigned n, const void *data, size_t size);

#endif /* TESTS_FUZZ_FUZZ_H */
