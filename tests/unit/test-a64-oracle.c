/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A64 instructions against what an independent implementation did.
 *
 * tests/unit/a64-oracle.txt is made by tests/guest/a64-oracle/generate.py,
 * which runs the same code in a QEMU that is not ours. One line per test:
 *
 *   WORD[,WORD...] SEED [align] [flat] [xN:VALUE...] -> [pc=O] [esr=E] [far=A]
 *       [nzcv=F] [sp=S] [xN=VALUE...] [mN=VALUE...]
 *
 * All numbers hexadecimal but N. Left of the arrow is the input: instruction
 * words at CODE, BRK #0 around them; registers, flags and 256 bytes at DATA
 * come from SplitMix64(SEED), registers then as given; SP_EL0 = DATA + 128.
 * "align": SCTLR_EL1.A is set; "flat": M is not. Right of it is all that changed at the first
 * exception: unless said otherwise a BRK #0 (ESR f2000000) behind the last
 * word. O is relative to CODE; FAR is given for aborts only.
 * "# GROUP" begins a group, which becomes one test case.
 *
 * Each is done by the interpreter alone; and by native code where there is a
 * template, reached by a jump from native code: twice, as the first time
 * resolves links and fills the TLB. Then random runs of these words, by both:
 * what native code and the interpreter leave must be the same.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "native.h"
#include "tcg-harness.h"

#define CODE  UINT64_C(0x42000800)
#define ENTRY UINT64_C(0x42010800)
#define DATA  UINT64_C(0x43000f80)
#define BRK   A64_WORD_BRK(0)
#define WORDS 32

typedef struct State {
    uint64_t x[31], sp, pc, esr, far;
    unsigned nzcv;
    uint64_t mem[WORDS];
} State;

typedef struct Group {
    char *name;
    GPtrArray *lines;
    const char *model;
} Group;

static struct {
    TcgVcpu *a57, *max;               /* interpreters */
    TcgVcpu *a57_native, *max_native; /* native code wherever possible */
    GPtrArray *lines;                 /* of all groups, once more */
} cpus;

static uint64_t next(uint64_t *s)
{
    uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_value(uint64_t *s)
{
    static const uint64_t interesting[] = {
        0,
        1,
        2,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_C(1) << 63,
        INT64_MAX,
        UINT64_C(1) << 31,
        INT32_MAX,
        UINT32_MAX,
        UINT64_C(1) << 32,
        UINT64_C(0xffffffff80000000),
        UINT64_C(0x5555555555555555),
        UINT64_C(0xaaaaaaaaaaaaaaaa),
        UINT64_C(0x8000000080000000),
        UINT64_C(0x0123456789abcdef),
    };
    unsigned kind = next(s) & 7;
    uint64_t v = next(s);

    if (kind < 3) {
        return interesting[v % ARRAY_SIZE(interesting)];
    }
    if (kind == 3) {
        return v & 0xff;
    }
    return kind == 4 ? (uint64_t)(int32_t)v : v;
}

static void initial_state(State *s, uint64_t seed)
{
    unsigned i;

    memset(s, 0, sizeof(*s));
    for (i = 0; i < 31; i++) {
        s->x[i] = random_value(&seed);
    }
    s->nzcv = next(&seed) & 15;
    for (i = 0; i < WORDS; i++) {
        s->mem[i] = next(&seed);
    }
    s->sp = DATA + 128;
}

/* Everything that a line says. */
typedef struct Line {
    uint32_t words[4];
    unsigned nr_words;
    bool align, flat;
    State in, out;
    bool has_far;
} Line;

static void parse_input(Line *l, const char *token)
{
    unsigned n;
    uint64_t v;

    if (g_str_equal(token, "align")) {
        l->align = true;
    } else if (g_str_equal(token, "flat")) {
        l->flat = true;
    } else if (sscanf(token, "x%u:%" SCNx64, &n, &v) == 2 && n < 31) {
        l->in.x[n] = v;
    } else {
        g_error("input '%s'", token);
    }
}

static void parse_output(Line *l, const char *token)
{
    unsigned n;
    uint64_t v;

    if (sscanf(token, "pc=%" SCNx64, &v) == 1) {
        l->out.pc = CODE + v;
    } else if (sscanf(token, "esr=%" SCNx64, &v) == 1) {
        l->out.esr = v;
    } else if (sscanf(token, "far=%" SCNx64, &v) == 1) {
        l->out.far = v;
        l->has_far = true;
    } else if (sscanf(token, "nzcv=%x", &n) == 1) {
        l->out.nzcv = n;
    } else if (sscanf(token, "sp=%" SCNx64, &v) == 1) {
        l->out.sp = v;
    } else if (sscanf(token, "x%u=%" SCNx64, &n, &v) == 2 && n < 31) {
        l->out.x[n] = v;
    } else if (sscanf(token, "m%u=%" SCNx64, &n, &v) == 2 && n < WORDS) {
        l->out.mem[n] = v;
    } else {
        g_error("output '%s'", token);
    }
}

static void parse(Line *l, const char *text)
{
    g_auto(GStrv) tokens = g_strsplit(text, " ", -1);
    char *p = tokens[0];
    unsigned i;

    memset(l, 0, sizeof(*l));
    while (l->nr_words < ARRAY_SIZE(l->words)) {
        l->words[l->nr_words++] = g_ascii_strtoull(p, &p, 16);
        if (*p++ != ',') {
            break;
        }
    }
    initial_state(&l->in, g_ascii_strtoull(tokens[1], NULL, 16));
    for (i = 2; !g_str_equal(tokens[i], "->"); i++) {
        parse_input(l, tokens[i]);
    }
    l->out = l->in;
    l->out.pc = CODE + 4 * l->nr_words;
    l->out.esr = 0xf2000000;
    for (i++; tokens[i]; i++) {
        parse_output(l, tokens[i]);
    }
}

static void put_code(const Line *l)
{
    uint32_t code[4] = { BRK, BRK, BRK, BRK };

    memcpy(code, l->words, 4 * l->nr_words);
    guest_write(CODE, code, sizeof(code));
}

static void execute(TcgVcpu *v, const Line *l, vaddr pc, State *out)
{
    CPUARMState *env = v->env;

    guest_write(DATA, l->in.mem, sizeof(l->in.mem));
    arm_pstate_write(env, PSTATE_MODE_EL1t | PSTATE_DAIF);
    memcpy(env->xregs, l->in.x, sizeof(l->in.x));
    env->xregs[31] = l->in.sp;
    env->exclusive_addr = UINT64_MAX;
    env->sys.sctlr_el1 &= ~(SCTLR_A | SCTLR_M);
    env->sys.sctlr_el1 |= (l->align ? SCTLR_A : 0) | (l->flat ? 0 : SCTLR_M);
    arm_nzcv_write(env, l->in.nzcv << 28);
    out->esr = guest_run(v, pc);
    out->far = env->sys.far_el1;
    out->pc = env->elr_el[1];
    out->nzcv = env->banked_spsr[BANKED_SPSR_EL1] >> 28;
    memcpy(out->x, env->xregs, sizeof(out->x));
    out->sp = arm_sp_read(env, 0);
    address_space_read(&address_space_memory, DATA, MEMTXATTRS_UNSPECIFIED,
                       out->mem, sizeof(out->mem));
}

static unsigned differ(const char *name, unsigned n, uint64_t is,
                       uint64_t should)
{
    if (is != should) {
        g_test_message("  %s%u: is %" PRIx64 ", should be %" PRIx64, name, n,
                       is, should);
    }
    return is != should;
}

static unsigned compare(const Line *l, const State *is)
{
    const State *should = &l->out;
    unsigned bad = 0, i;

    bad += differ("pc", 0, is->pc, should->pc);
    bad += differ("esr", 0, is->esr, should->esr);
    bad += differ("nzcv", 0, is->nzcv, should->nzcv);
    bad += differ("sp", 0, is->sp, should->sp);
    if (l->has_far) {
        bad += differ("far", 0, is->far, should->far);
    }
    for (i = 0; i < 31; i++) {
        bad += differ("x", i, is->x[i], should->x[i]);
    }
    for (i = 0; i < WORDS; i++) {
        bad += differ("m", i, is->mem[i], should->mem[i]);
    }
    return bad;
}

/* False: something was not as it should be. */
static bool check(TcgVcpu *v, const Line *l, vaddr pc)
{
    State is;

    execute(v, l, pc, &is);
    return compare(l, &is) == 0;
}

static void test_group(const void *data)
{
    const Group *g = data;
    bool max = g_str_equal(g->name, "lse");
    TcgVcpu *v = max ? cpus.max : cpus.a57;
    TcgVcpu *native = max ? cpus.max_native : cpus.a57_native;
    uint64_t runs = atomic_load(&native->stats.native_runs);
    unsigned failed = 0, i;

    for (i = 0; i < g->lines->len; i++) {
        const char *text = g_ptr_array_index(g->lines, i);
        Line l;

        parse(&l, text);
        put_code(&l);
        if (!check(v, &l, CODE) || !check(native, &l, ENTRY) ||
            !check(native, &l, ENTRY)) {
            g_test_message("%s", text);
            failed++;
        }
    }
    if (TCG_NATIVE) {
        g_assert_cmpuint(atomic_load(&native->stats.native_runs) - runs, >=,
                         2 * g->lines->len);
    }
    g_test_message("%u tests", g->lines->len);
    g_assert_cmpuint(g->lines->len, >, 0);
    if (failed) {
        g_test_fail_printf("%u tests differ", failed);
    }
}

/* ---- random runs ---- */

#define RUN_WORDS  24u
#define RUN_MEMORY (2 * TCG_PAGE_SIZE)

/* Words that can be anywhere in a run which ends. */
static bool is_for_runs(uint32_t word)
{
    A64Insn insn;

    a64_decode(word, CODE, 0, &insn);
    switch (insn.op) {
    case A64_BR:
    case A64_BLR:
    case A64_MSR:
    case A64_MSR_IMM:
    case A64_MRS: /* counters differ */
    case A64_WFI:
    case A64_WFE:
    case A64_ERET:
        return false;
    case A64_UNDEF:
    case A64_FPSIMD:
    case A64_SVC:
    case A64_HVC:
    case A64_SMC:
    case A64_BRK:
    case A64_HLT:
        return false;
    default:
        /* No way back; and few that end the run at once. */
        return insn.op < A64_B || insn.op > A64_BLR ||
               (insn.imm > CODE && insn.imm <= CODE + 12);
    }
}

/* Results go here, and addresses come from there: they last to the end. */
static const uint8_t result_regs[] = { 0, 1, 2, 3, 4, 19, 10, 31 };
static const uint8_t address_regs[] = { 8, 20, 22, 24 };

static bool is_memory(uint32_t word)
{
    return (word & 0x0a000000) == 0x08000000;
}

/* The word with other registers, so that they are the same now and then. */
static uint32_t other_registers(uint64_t *seed, uint32_t word)
{
    uint32_t rd = result_regs[next(seed) % ARRAY_SIZE(result_regs)];
    uint32_t rn = result_regs[next(seed) % ARRAY_SIZE(result_regs)];
    uint32_t rm = result_regs[next(seed) % ARRAY_SIZE(result_regs)];

    if (is_memory(word)) {
        rn = address_regs[next(seed) % ARRAY_SIZE(address_regs)];
        return (word & ~0x3ffu) | rn << 5 | rd;
    }
    if ((word & 0x0e000000) == 0x0a000000) { /* data processing, registers */
        word = (word & ~(31u << 16)) | rm << 16;
        if ((word & 0x1f000000) == 0x1b000000) { /* three sources */
            rm = result_regs[next(seed) % ARRAY_SIZE(result_regs)];
            word = (word & ~(31u << 10)) | rm << 10;
        }
    }
    return (word & ~0x3ffu) | rn << 5 | rd;
}

/* What sets flags, and a branch that looks at them. */
static uint32_t flags_or_branch(uint64_t *seed)
{
    static const uint32_t setters[] = {
        0xeb000000, 0x6b000000, 0xab000000, 0x2b000000, 0xea000000, 0x6a000000,
        0xea200000, 0x6a200000, 0xf1000000, 0x71000000, 0xb1000000, 0x31000000,
    };
    unsigned kind = next(seed) % (2 * ARRAY_SIZE(setters));

    if (kind < ARRAY_SIZE(setters)) {
        return other_registers(seed, setters[kind]);
    }
    return 0x54000000 | (2 + next(seed) % 2) << 5 | next(seed) % 14;
}

/* A random line's registers, mostly, and words of many lines. */
static void make_run(uint64_t *seed, GArray *words, Line *l, uint32_t *code)
{
    unsigned i;

    parse(l, g_ptr_array_index(cpus.lines, next(seed) % cpus.lines->len));
    for (i = 0; i < ARRAY_SIZE(address_regs); i++) {
        l->in.x[address_regs[i]] = DATA +
                                   (next(seed) % 240 & (i & 1 ? 0xf8 : 0xff));
    }
    for (i = 0; i < RUN_WORDS; i++) {
        do {
            code[i] = next(seed) % 3 == 0
                          ? flags_or_branch(seed)
                          : other_registers(
                                seed, g_array_index(words, uint32_t,
                                                    next(seed) % words->len));
        } while (!is_for_runs(code[i]));
    }
    code[RUN_WORDS] = code[RUN_WORDS + 1] = code[RUN_WORDS + 2] = BRK;
}

/* Bases move: two pages around the data too. */
static void execute_run(TcgVcpu *v, const Line *l, vaddr pc, State *out,
                        uint8_t *pages)
{
    const hwaddr base = DATA & TCG_PAGE_MASK;

    memset(pages, 0x5a, RUN_MEMORY);
    guest_write(base, pages, RUN_MEMORY);
    execute(v, l, pc, out);
    address_space_read(&address_space_memory, base, MEMTXATTRS_UNSPECIFIED,
                       pages, RUN_MEMORY);
}

static void test_runs(void)
{
    g_autofree uint8_t *pages_a = g_malloc(RUN_MEMORY);
    g_autofree uint8_t *pages_b = g_malloc(RUN_MEMORY);

    g_autoptr(GArray) words = g_array_new(false, false, sizeof(uint32_t));
    unsigned failed = 0, to_the_end = 0, i, k;
    uint64_t seed = 1;

    for (i = 0; i < cpus.lines->len; i++) {
        Line l;

        parse(&l, g_ptr_array_index(cpus.lines, i));
        for (k = 0; k < l.nr_words; k++) {
            if (is_for_runs(l.words[k]) && l.out.esr == 0xf2000000) {
                g_array_append_val(words, l.words[k]);
            }
        }
    }
    for (i = 0; i < 40000 && failed < 5; i++) {
        uint32_t code[RUN_WORDS + 3];
        State a, b;
        Line l;

        make_run(&seed, words, &l, code);
        guest_write(CODE, code, sizeof(code));
        execute_run(cpus.a57, &l, CODE, &a, pages_a);
        to_the_end += a.esr == 0xf2000000;
        for (k = 0; k < 2; k++) {
            execute_run(cpus.a57_native, &l, ENTRY, &b, pages_b);
            l.out = a;
            l.has_far = true;
            if (compare(&l, &b) || memcmp(pages_a, pages_b, RUN_MEMORY)) {
                unsigned w;

                g_test_message("run %u, time %u", i, k + 1);
                for (w = 0; w < RUN_WORDS; w++) {
                    g_test_message("  .inst 0x%08x", code[w]);
                }
                failed++;
            }
        }
    }
    g_test_message("%u of %u runs came to their end", to_the_end, i);
    g_assert_cmpuint(failed, ==, 0);
    g_assert_cmpuint(to_the_end, >, i / 4);
}

static void group_free(void *data)
{
    Group *g = data;

    g_free(g->name);
    g_ptr_array_unref(g->lines);
    g_free(g);
}

static void add_groups(const char *path)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    Group *g = NULL;
    unsigned i;

    if (!path || !g_file_get_contents(path, &text, NULL, NULL)) {
        g_error("A64_ORACLE must name the data file");
    }
    lines = g_strsplit(text, "\n", -1);
    for (i = 0; lines[i]; i++) {
        if (lines[i][0] == '#') {
            g_autofree char *name = NULL;

            g = g_new0(Group, 1);
            g->name = g_strdup(lines[i] + 2);
            g->lines = g_ptr_array_new_with_free_func(g_free);
            name = g_strconcat("/a64-oracle/", g->name, NULL);
            g_test_add_data_func_full(name, g, test_group, group_free);
        } else if (lines[i][0]) {
            g_ptr_array_add(g->lines, g_strdup(lines[i]));
            g_ptr_array_add(cpus.lines, g_strdup(lines[i]));
        }
    }
}

int main(int argc, char **argv)
{
    int ret;
    uint32_t page[1024];
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    guest_init();
    tcg_native_use(TCG_NATIVE_OFF);
    cpus.a57 = guest_vcpu("cortex-a57");
    cpus.max = guest_vcpu("max");
    tcg_native_use(TCG_NATIVE_EVERYWHERE);
    cpus.a57_native = guest_vcpu("cortex-a57");
    cpus.max_native = guest_vcpu("max");
    cpus.lines = g_ptr_array_new_with_free_func(g_free);
    for (i = 0; i < ARRAY_SIZE(page); i++) {
        page[i] = BRK;
    }
    guest_write(CODE & TCG_PAGE_MASK, page, sizeof(page));
    GUEST_CODE(ENTRY, A64_WORD_NOP, A64_WORD_B((int64_t)(CODE - ENTRY) / 4 - 1),
               BRK);
    add_groups(g_getenv("A64_ORACLE"));
    g_test_add_func("/a64-oracle/native-runs", test_runs);
    ret = g_test_run();
    bql_unlock();
    return ret;
}
