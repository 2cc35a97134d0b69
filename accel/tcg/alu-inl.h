/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic of A64 on plain values and on the split flags of TcgVcpu.
 *
 * Used by: run.c. Uses: nothing.
 */
#ifndef ACCEL_TCG_ALU_INL_H
#define ACCEL_TCG_ALU_INL_H

#include "tcg-int.h"

/* Bit nzcv (N = 8, V = 1) of word c: does condition c hold? */
static const uint16_t tcg_cond_mask[16] = {
    0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff, 0xaaaa, 0x5555,
    0x0c0c, 0xf3f3, 0xaa55, 0x55aa, 0x0a05, 0xf5fa, 0xffff, 0xffff,
};

static inline unsigned flags_get(const TcgVcpu *v)
{
    return (v->fl_n >> 63) << 3 | (unsigned)(v->fl_z == 0) << 2 |
           (unsigned)v->fl_c << 1 | (unsigned)v->fl_v;
}

static inline void flags_set(TcgVcpu *v, unsigned nzcv)
{
    v->fl_n = (uint64_t)nzcv << 60; /* N to bit 63; the rest is not looked at */
    v->fl_z = !(nzcv & 4);
    v->fl_c = (nzcv >> 1) & 1;
    v->fl_v = nzcv & 1;
}

static inline bool cond_holds(const TcgVcpu *v, unsigned cond)
{
    return (tcg_cond_mask[cond] >> flags_get(v)) & 1;
}

static inline void flags_logic_x(TcgVcpu *v, uint64_t r)
{
    v->fl_n = v->fl_z = r;
    v->fl_c = v->fl_v = 0;
}

static inline void flags_logic_w(TcgVcpu *v, uint32_t r)
{
    flags_logic_x(v, (uint64_t)r << 32);
}

static inline uint64_t adds_x(TcgVcpu *v, uint64_t a, uint64_t b)
{
    uint64_t r = a + b;

    v->fl_n = v->fl_z = r;
    v->fl_c = r < a;
    v->fl_v = ((a ^ r) & (b ^ r)) >> 63;
    return r;
}

static inline uint64_t subs_x(TcgVcpu *v, uint64_t a, uint64_t b)
{
    uint64_t r = a - b;

    v->fl_n = v->fl_z = r;
    v->fl_c = a >= b;
    v->fl_v = ((a ^ b) & (a ^ r)) >> 63;
    return r;
}

/* 32 bits: the same in the upper half of 64. */
static inline uint64_t adds_w(TcgVcpu *v, uint64_t a, uint64_t b)
{
    return adds_x(v, a << 32, b << 32) >> 32;
}

static inline uint64_t subs_w(TcgVcpu *v, uint64_t a, uint64_t b)
{
    return subs_x(v, a << 32, b << 32) >> 32;
}

static inline uint64_t adcs_x(TcgVcpu *v, uint64_t a, uint64_t b)
{
    uint64_t t = a + b, r = t + v->fl_c;

    v->fl_n = v->fl_z = r;
    v->fl_c = (t < a) | (r < t);
    v->fl_v = ((a ^ r) & (b ^ r)) >> 63;
    return r;
}

static inline uint64_t adcs_w(TcgVcpu *v, uint32_t a, uint32_t b)
{
    uint64_t sum = (uint64_t)a + b + v->fl_c;
    uint32_t r = sum;

    v->fl_n = v->fl_z = (uint64_t)r << 32;
    v->fl_c = sum >> 32;
    v->fl_v = ((a ^ r) & (b ^ r)) >> 31;
    return r;
}

static inline uint64_t ror_x(uint64_t a, unsigned n)
{
    return n & 63 ? a >> (n & 63) | a << (64 - (n & 63)) : a;
}

static inline uint32_t ror_w(uint32_t a, unsigned n)
{
    return n & 31 ? a >> (n & 31) | a << (32 - (n & 31)) : a;
}

/* @aux: A64_SHIFT_AUX(), amount below the width. */
static inline uint64_t shift_x(uint64_t a, unsigned aux)
{
    unsigned n = aux & 63;

    switch (aux >> 6) {
    case 0:
        return a << n;
    case 1:
        return a >> n;
    case 2:
        return (uint64_t)((int64_t)a >> n);
    default:
        return ror_x(a, n);
    }
}

static inline uint32_t shift_w(uint32_t a, unsigned aux)
{
    unsigned n = aux & 31;

    switch (aux >> 6) {
    case 0:
        return a << n;
    case 1:
        return a >> n;
    case 2:
        return (uint32_t)((int32_t)a >> n);
    default:
        return ror_w(a, n);
    }
}

/* @aux: option | shift << 3 */
static inline uint64_t extend(uint64_t a, unsigned aux)
{
    unsigned n = aux >> 3;

    switch (aux & 7) {
    case 0:
        return (uint64_t)(uint8_t)a << n;
    case 1:
        return (uint64_t)(uint16_t)a << n;
    case 2:
        return (uint64_t)(uint32_t)a << n;
    case 4:
        return (uint64_t)(int8_t)a << n;
    case 5:
        return (uint64_t)(int16_t)a << n;
    case 6:
        return (uint64_t)(int32_t)a << n;
    default: /* 3 UXTX, 7 SXTX */
        return a << n;
    }
}

static inline uint64_t rbit_x(uint64_t a)
{
    a = (a >> 1 & 0x5555555555555555) | (a & 0x5555555555555555) << 1;
    a = (a >> 2 & 0x3333333333333333) | (a & 0x3333333333333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f0f0f0f0f) | (a & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(a);
}

static inline uint64_t rev16_x(uint64_t a)
{
    return (a >> 8 & 0x00ff00ff00ff00ff) | (a & 0x00ff00ff00ff00ff) << 8;
}

static inline uint64_t clz_x(uint64_t a)
{
    return a ? __builtin_clzll(a) : 64;
}

static inline uint64_t clz_w(uint32_t a)
{
    return a ? __builtin_clz(a) : 32;
}

/* Leading bits equal to the sign, without the sign itself. */
static inline uint64_t cls_x(uint64_t a)
{
    return clz_x(a ^ (uint64_t)((int64_t)a >> 1)) - 1;
}

static inline uint64_t cls_w(uint32_t a)
{
    return clz_w(a ^ (uint32_t)((int32_t)a >> 1)) - 1;
}

static inline uint64_t sdiv_x(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static inline uint32_t sdiv_w(int32_t a, int32_t b)
{
    return b == 0 ? 0 : b == -1 ? 0 - (uint32_t)a : (uint32_t)(a / b);
}

static inline uint64_t smulh(uint64_t a, uint64_t b)
{
    return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> 64);
}

static inline uint64_t umulh(uint64_t a, uint64_t b)
{
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

/* CRC of @n bytes of @data, reflected; @poly is bit-reversed. */
static inline uint32_t crc32_step(uint32_t crc, uint64_t data, unsigned n,
                                  uint32_t poly)
{
    unsigned i, bit;

    for (i = 0; i < n; i++) {
        crc ^= (uint8_t)(data >> (8 * i));
        for (bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (poly & (0 - (crc & 1)));
        }
    }
    return crc;
}

#endif /* ACCEL_TCG_ALU_INL_H */
