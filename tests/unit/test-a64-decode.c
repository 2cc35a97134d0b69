/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A64 decoder: words as GNU as 2.40 assembles them, and what they mean. */
#include "qemu/osdep.h"

#include "target/arm/a64-decode.h"

#define PC UINT64_C(0x40001000)

typedef struct DecodeTest {
    uint32_t word;
    const char *asm_text;
    A64Insn expect;
} DecodeTest;

static const DecodeTest tests[] = {
    { 0xd503201f, "nop", { A64_NOP } },
    { 0xd2a24683,
      "mov x3, #0x12340000",
      { A64_MOVI, .rd = 3, .imm = 0x12340000 } },
    { 0x12800023,
      "mov w3, #0xfffffffe",
      { A64_MOVI, .rd = 3, .imm = 0xfffffffe } },
    { 0xf2f579a5,
      "movk x5, #0xabcd, lsl #48",
      { A64_MOVK_X, 48, .rd = 5, .ra = 5, .imm = UINT64_C(0xabcd) << 48 } },
    { 0xaa0203e1, "mov x1, x2", { A64_MOV_X, .rd = 1, .rn = A64_ZR, .rm = 2 } },
    { 0x9100003f, "mov sp, x1", { A64_ADDI_X, .rd = A64_SP, .rn = 1 } },
    { 0x910043e0, "add x0, sp, #16", { A64_ADDI_X, .rn = A64_SP, .imm = 16 } },
    { 0x51400441,
      "sub w1, w2, #1, lsl #12",
      { A64_ADDI_W, .rd = 1, .rn = 2, .imm = -UINT64_C(0x1000) } },
    { 0xf1000cff,
      "cmp x7, #3",
      { A64_SUBSI_X, .rd = A64_SINK, .rn = 7, .imm = 3 } },
    { 0xab238841,
      "adds x1, x2, w3, sxtb #2",
      { A64_ADDSE_X, 4 | 2 << 3, .rd = 1, .rn = 2, .rm = 3 } },
    { 0xcb431c41,
      "sub x1, x2, x3, lsr #7",
      { A64_SUBH_X, A64_SHIFT_AUX(1, 7), .rd = 1, .rn = 2, .rm = 3 } },
    { 0xb200f3e0,
      "mov x0, #0x5555555555555555",
      { A64_ORRI_X, .rn = A64_ZR, .imm = UINT64_C(0x5555555555555555) } },
    { 0x7201047f,
      "tst w3, #0x80000001",
      { A64_ANDSI_W, .rd = A64_SINK, .rn = 3, .imm = 0x80000001 } },
    { 0x4ae31441,
      "eon w1, w2, w3, ror #5",
      { A64_EONH_W, A64_SHIFT_AUX(3, 5), .rd = 1, .rn = 2, .rm = 3 } },
    { 0xfa471825,
      "ccmp x1, #7, #5, ne",
      { A64_CCMPI_X, 1 | 5 << 4, .rn = 1, .imm = 7 } },
    { 0x9a9f07e1,
      "cset x1, ne",
      { A64_CSINC_X, 0, .rd = 1, .rn = A64_ZR, .rm = A64_ZR } },
    { 0xd3442c41,
      "ubfx x1, x2, #4, #8",
      { A64_UBFX, 4, .rd = 1, .rn = 2, .imm = 0xff } },
    { 0x531d7041,
      "lsl w1, w2, #3",
      { A64_UBFIZ, 3, .rd = 1, .rn = 2, .imm = 0x1fffffff } },
    { 0x9349fc41, "asr x1, x2, #9", { A64_SBF_X, 9 << 8, .rd = 1, .rn = 2 } },
    { 0x331c1041,
      "bfi w1, w2, #4, #5",
      { A64_BFI_W, 4, .rd = 1, .rn = 2, .ra = 1, .imm = 0x1f0 } },
    { 0x93c34441,
      "extr x1, x2, x3, #17",
      { A64_EXTR_X, 17, .rd = 1, .rn = 2, .rm = 3 } },
    { 0x9ac35c41,
      "crc32cx w1, w2, x3",
      { A64_CRC32C, 3, .rd = 1, .rn = 2, .rm = 3 } },
    { 0x9b437c41,
      "smulh x1, x2, x3",
      { A64_SMULH, .rd = 1, .rn = 2, .rm = 3, .ra = A64_ZR } },
    { 0x14000002, "b . + 8", { A64_B, .imm = PC + 8 } },
    { 0x97ffffff, "bl . - 4", { A64_BL, .imm = PC - 4 } },
    { 0x5400008c, "b.gt . + 16", { A64_BGT, .imm = PC + 16 } },
    { 0x35000049, "cbnz w9, . + 8", { A64_CBNZ_W, .rn = 9, .imm = PC + 8 } },
    { 0xb6400049,
      "tbz x9, #40, . + 8",
      { A64_TBZ, 40, .rn = 9, .imm = PC + 8 } },
    { 0xd65f03c0, "ret", { A64_BR, .rn = 30 } },
    { 0xf94007e1,
      "ldr x1, [sp, #8]",
      { A64_LDX_I, .rd = 1, .rn = A64_SP, .imm = 8 } },
    { 0x38e34841,
      "ldrsb w1, [x2, w3, uxtw]",
      { A64_LDSB_W_R, 2, .rd = 1, .rn = 2, .rm = 3 } },
    { 0xf8237841,
      "str x1, [x2, x3, lsl #3]",
      { A64_STX_R, 3 | 3 << 3, .rd = 1, .rn = 2, .rm = 3 } },
    { 0x785fe441,
      "ldrh w1, [x2], #-2",
      { A64_LDH_POST, .rd = 1, .rn = 2, .imm = -UINT64_C(2) } },
    { 0x38001c5f,
      "strb wzr, [x2, #1]!",
      { A64_STB_PRE, .rd = A64_ZR, .rn = 2, .imm = 1 } },
    { 0xa9ff0861,
      "ldp x1, x2, [x3, #-16]!",
      { A64_LDPX_PRE, .rd = 1, .rn = 3, .ra = 2, .imm = -UINT64_C(16) } },
    { 0x69400861,
      "ldpsw x1, x2, [x3]",
      { A64_LDPSW_I, .rd = 1, .rn = 3, .ra = 2 } },
    { 0x18000041,
      "ldr w1, . + 8",
      { A64_LDW_I, .rd = 1, .rn = A64_ZR, .imm = PC + 8 } },
    { 0xc85ffc41,
      "ldaxr x1, [x2]",
      { A64_LDXR, 3, .rd = 1, .rn = 2, .rm = A64_SINK } },
    { 0xc8208861,
      "stlxp w0, x1, x2, [x3]",
      { A64_STXP, 3, .rd = 1, .rn = 3, .rm = 0, .ra = 2 } },
    { 0x88e1fc62,
      "casal w1, w2, [x3]",
      { A64_CAS, 2, .rd = 2, .rn = 3, .rm = 1 } },
    { 0xf8e10062,
      "ldaddal x1, x2, [x3]",
      { A64_LDADD, 3, .rd = 2, .rn = 3, .rm = 1 } },
    { 0xd50339bf, "dmb ishld", { A64_DMB_LD } },
    { 0xd5033fdf, "isb", { A64_ISB } },
    { 0xd503207f, "wfi", { A64_WFI } },
    { 0xd40000a1, "svc #5", { A64_SVC, .imm = 5 } },
    { 0xd69f03e0, "eret", { A64_ERET, .rn = A64_ZR } },
    { 0xd50342ff, "msr daifclr, #2", { A64_MSR_IMM, 037, .imm = 2 } },
    { 0xd538d083,
      "mrs x3, tpidr_el1",
      { A64_MRS, A64_SYSREG(3, 0, 13, 0, 4), .rd = 3 } },
    { 0xd50b7421,
      "dc zva, x1",
      { A64_DC_ZVA, A64_SYSREG(1, 3, 7, 4, 1), .rd = 1 } },
    { 0x1e622820, "fadd d0, d1, d2", { A64_FPSIMD, .imm = 0x1e622820 } },
    { 0x00000000, "udf #0", { A64_UNDEF } },
    { 0xf9800020, "prfm pldl1keep, [x1]", { A64_NOP, .rn = 1 } },
};

static void test_words(void)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        const A64Insn *e = &tests[i].expect;
        A64Insn insn;

        a64_decode(tests[i].word, PC, ~0u, &insn);
        g_test_message("%s: %s", tests[i].asm_text, a64_opcode_name(insn.op));
        g_assert_cmpstr(a64_opcode_name(insn.op), ==, a64_opcode_name(e->op));
        g_assert_cmphex(insn.aux, ==, e->aux);
        g_assert_cmpuint(insn.rd, ==, e->rd);
        g_assert_cmpuint(insn.rn, ==, e->rn);
        g_assert_cmpuint(insn.rm, ==, e->rm);
        g_assert_cmpuint(insn.ra, ==, e->ra);
        g_assert_cmphex(insn.imm, ==, e->imm);
    }
}

static unsigned opcode_without(uint32_t word, unsigned features)
{
    A64Insn insn;

    a64_decode(word, PC, features, &insn);
    return insn.op;
}

static void test_features(void)
{
    g_assert_cmpuint(opcode_without(0x9ac35c41, ~A64_FEATURE_CRC32), ==,
                     A64_UNDEF);
    g_assert_cmpuint(opcode_without(0x88e1fc62, ~A64_FEATURE_LSE), ==,
                     A64_UNDEF);
    g_assert_cmpuint(opcode_without(0xf8e10062, ~A64_FEATURE_LSE), ==,
                     A64_UNDEF);
    /* LDXR is there without any extension. */
    g_assert_cmpuint(opcode_without(0xc85ffc41, 0), ==, A64_LDXR);
}

/* What an executor may rely on, for any word whatever. */
static void test_random_words_stay_in_range(void)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(20260731);
    unsigned i;

    for (i = 0; i < 2000000; i++) {
        uint32_t word = g_rand_int(r);
        A64Insn insn;

        a64_decode(word, PC, g_rand_int(r), &insn);
        if (insn.op >= A64_NUM_OPCODES || insn.rd >= A64_NUM_REGS ||
            insn.rn >= A64_NUM_REGS || insn.rm >= A64_NUM_REGS ||
            insn.ra >= A64_NUM_REGS) {
            g_error("%08x: op %u rd %u rn %u rm %u ra %u", word, insn.op,
                    insn.rd, insn.rn, insn.rm, insn.ra);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/a64-decode/words", test_words);
    g_test_add_func("/a64-decode/features-absent-are-undefined", test_features);
    g_test_add_func("/a64-decode/random-words-stay-in-range",
                    test_random_words_stay_in_range);
    return g_test_run();
}
