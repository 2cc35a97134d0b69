/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block cache: decoded runs of guest code, found by address.
 *
 * Each vCPU has its own: no lock in any lookup. Blocks live in an arena that
 * is given back as a whole when it is full. A block that was dropped is out
 * of the hash and never gets a current key again, so that links to it fail
 * and are resolved anew.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "native.h"
#include "qemu/log.h"
#include "target/arm/arm-cpu.h"
#include "target/arm/syndrome.h"

/* Never valid to jump to: what empty slots point at. */
static TcgBlock no_block = { .key = UINT64_MAX, .pc = 1 };

static unsigned hash_pc(vaddr pc)
{
    return (pc >> 2 ^ pc >> (2 + TCG_HASH_BITS)) & (TCG_HASH_SIZE - 1);
}

static void forget_all(TcgVcpu *v)
{
    unsigned i;

    for (i = 0; i < TCG_JUMP_SIZE; i++) {
        v->jump[i] = &no_block;
    }
    memset(v->hash, 0, sizeof(v->hash));
    memset(v->pages, 0, sizeof(v->pages));
    v->arena_used = 0;
    tcg_native_forget(v);
}

/* Operations and, behind them, native code, which is within reach of them. */
static void arena_init(TcgVcpu *v)
{
    size_t native = tcg_native_bytes();

    v->arena = mmap(NULL, TCG_ARENA_BYTES + native, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_assert(v->arena != MAP_FAILED);
    /* A host may forbid it: then there is the interpreter alone. */
    if (native && mprotect(v->arena + TCG_ARENA_BYTES, native,
                           PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
        tcg_native_init(v, v->arena + TCG_ARENA_BYTES);
    }
}

void tcg_blocks_init(TcgVcpu *v)
{
    v->labels = tcg_run_labels();
    v->gen = 1;
    arena_init(v);
    forget_all(v);
}

/* All links and jump entries made so far become invalid. */
static void next_generation(TcgVcpu *v)
{
    uint64_t key = v->gen++;

    /* A request (0) that came meanwhile stays. */
    atomic_compare_exchange_strong(&v->chain_key, &key, v->gen);
}

/* What is linked is not looked up: it would not be logged. */
void tcg_blocks_follow_log(TcgVcpu *v)
{
    bool log_blocks = qemu_loglevel_mask(LOG_EXEC | LOG_CPU);

    if (log_blocks != v->log_blocks) {
        v->log_blocks = log_blocks;
        next_generation(v);
    }
}

/* Before @b is executed; its registers are in @v. */
static void log_block(TcgVcpu *v, const TcgBlock *b)
{
    if (!qemu_log_in_addr_range(b->pc)) {
        return;
    }
    qemu_log_mask(LOG_EXEC, "Trace %d: 0x%016" PRIx64 ", %u instructions\n",
                  v->cs->cpu_index, b->pc, b->nr_ops);
    if (qemu_loglevel_mask(LOG_CPU)) {
        g_autoptr(GString) text = g_string_new(NULL);

        v->pc = b->pc;
        tcg_regs_store(v);
        CPU_GET_CLASS(v->cs)->dump_state(v->cs, text);
        qemu_log("%s", text->str);
    }
}

void tcg_blocks_flush(TcgVcpu *v)
{
    forget_all(v);
    v->arena_flushes++;
    v->flush_pending = false;
    tcg_count(&v->stats.flushes);
    next_generation(v);
}

void tcg_blocks_drop_page(TcgVcpu *v, uint64_t page)
{
    TcgBlock **p = &v->pages[page & (TCG_PAGES_SIZE - 1)], *b;

    while ((b = *p)) {
        TcgBlock **h;

        if (b->page != page) {
            p = &b->page_next;
            continue;
        }
        *p = b->page_next;
        for (h = &v->hash[hash_pc(b->pc)]; *h != b; h = &(*h)->hash_next) {
        }
        *h = b->hash_next;
    }
    next_generation(v);
}

static TcgBlock *find(TcgVcpu *v, vaddr pc)
{
    TcgBlock *b = v->hash[hash_pc(pc)];

    while (b && b->pc != pc) {
        b = b->hash_next;
    }
    return b;
}

static void make_op(TcgVcpu *v, TcgOp *op, const A64Insn *insn)
{
    unsigned enc = insn->aux;

    op->op = insn->op;
    op->aux = insn->aux;
    op->rd = insn->rd;
    op->rn = insn->rn;
    op->rm = insn->rm;
    op->ra = insn->ra;
    op->imm = insn->imm;
    op->label = v->labels[insn->op];
    op->link = &no_block;
    if (insn->op == A64_MRS || insn->op == A64_MSR || insn->op == A64_DC_ZVA) {
        op->sysreg = arm_sysreg_lookup(ARM_CPU(v->cs), enc >> 14, enc >> 11 & 7,
                                       enc >> 7 & 15, enc >> 3 & 15, enc & 7);
    }
}

/* How many operations the block that begins at @code will have. */
static unsigned measure(const uint32_t *code, vaddr pc, unsigned max_ops)
{
    A64Insn insn;
    unsigned n;

    for (n = 1; n < max_ops; n++) {
        a64_decode(__atomic_load_n(&code[n - 1], __ATOMIC_RELAXED), pc, ~0u,
                   &insn);
        if (a64_ends_block(insn.op)) {
            break;
        }
    }
    return n;
}

static void log_instruction(vaddr pc, uint32_t word, const A64Insn *insn)
{
    if (!qemu_loglevel_mask(LOG_IN_ASM | LOG_OP) ||
        !qemu_log_in_addr_range(pc)) {
        return;
    }
    qemu_log_mask(LOG_IN_ASM, "0x%08" PRIx64 ":  %08x  %s\n", pc, word,
                  a64_opcode_name(insn->op));
    qemu_log_mask(LOG_OP,
                  " %s rd=%u rn=%u rm=%u ra=%u aux=%u imm=0x%" PRIx64 "\n",
                  a64_opcode_name(insn->op), insn->rd, insn->rn, insn->rm,
                  insn->ra, insn->aux, (uint64_t)insn->imm);
}

static unsigned decode(TcgVcpu *v, TcgBlock *b, const uint32_t *code,
                       unsigned max_ops)
{
    A64Insn insn;
    unsigned n;

    for (n = 0; n < max_ops; n++) {
        uint32_t word = __atomic_load_n(&code[n], __ATOMIC_RELAXED);

        a64_decode(word, b->pc + 4 * n, v->features, &insn);
        make_op(v, &b->ops[n], &insn);
        log_instruction(b->pc + 4 * n, word, &insn);
        if (a64_ends_block(insn.op)) {
            n++;
            break;
        }
    }
    /* Beyond the last: go on at what follows, for those that fall through. */
    memset(&insn, 0, sizeof(insn));
    insn.op = A64_B;
    insn.imm = b->pc + 4 * n;
    make_op(v, &b->ops[n], &insn);
    return n;
}

static TcgBlock *make(TcgVcpu *v, vaddr pc)
{
    unsigned offset = pc & ~TCG_PAGE_MASK, max_ops;
    size_t room;
    TcgTarget t;
    TcgBlock *b;

    if (pc & 3) {
        v->env->exception.vaddress = pc;
        tcg_raise(v, pc, EXCP_UDEF, syn_pc_alignment());
        return NULL;
    }
    max_ops = MIN(TCG_BLOCK_MAX_OPS, (TCG_PAGE_SIZE - offset) / 4);
    room = sizeof(*b) + (max_ops + 1) * sizeof(TcgOp);
    if (v->arena_used + room > TCG_ARENA_BYTES ||
        !tcg_native_has_room(v, max_ops)) {
        tcg_blocks_flush(v);
    }
    if (!tcg_probe(v, NULL, pc, TCG_FETCH, &t)) {
        return NULL;
    }
    /* What is read before the page is watched only says how far to watch. */
    max_ops = measure(t.host, pc, max_ops);
    tcg_code_protect(v, t.ram, t.page, offset, max_ops * 4);
    if (v->flush_pending) { /* the memory map changed while we waited */
        v->pc = pc;
        return NULL;
    }
    b = (TcgBlock *)(v->arena + v->arena_used);
    b->pc = pc;
    b->page = t.ram->first_page + t.page;
    b->nr_ops = decode(v, b, t.host, max_ops);
    tcg_native_make(v, b, v->labels[A64_NUM_OPCODES]);
    v->arena_used += sizeof(*b) + (b->nr_ops + 1) * sizeof(TcgOp);
    b->hash_next = v->hash[hash_pc(pc)];
    v->hash[hash_pc(pc)] = b;
    b->page_next = v->pages[b->page & (TCG_PAGES_SIZE - 1)];
    v->pages[b->page & (TCG_PAGES_SIZE - 1)] = b;
    tcg_count(&v->stats.blocks_made);
    return b;
}

TcgBlock *tcg_block_get(TcgVcpu *v, vaddr pc)
{
    TcgBlock *b;

    if (tcg_chain_key(v) == 0 && tcg_poll(v)) {
        v->pc = pc;
        return NULL;
    }
    b = find(v, pc);
    if (!b) {
        b = make(v, pc);
        if (!b) {
            return NULL;
        }
    }
    b->key = v->gen;
    v->jump[(pc >> 2) & (TCG_JUMP_SIZE - 1)] = b;
    if (unlikely(v->log_blocks)) {
        log_block(v, b);
        b->key = no_block.key; /* no jump leads here without us */
    }
    return b;
}
