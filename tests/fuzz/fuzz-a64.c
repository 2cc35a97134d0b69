/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: A64 words. Whatever they are, operands stay in their bounds. */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "target/arm/a64-decode.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        for (unsigned features = 0; features < 4; features++) {
            A64Insn insn;
            uint32_t word;

            memset(&insn, 0xff, sizeof(insn));
            memcpy(&word, data + i, 4);
            a64_decode(word, 0x40000000 + i, features, &insn);
            g_assert_cmpuint(insn.op, <, A64_NUM_OPCODES);
            g_assert_cmpuint(insn.rd, <, A64_NUM_REGS);
            g_assert_cmpuint(insn.rn, <, A64_NUM_REGS);
            g_assert_cmpuint(insn.rm, <, A64_NUM_REGS);
            g_assert_cmpuint(insn.ra, <, A64_NUM_REGS);
            g_assert_nonnull(a64_opcode_name(insn.op));
            a64_ends_block(insn.op);
        }
    }
    return 0;
}
