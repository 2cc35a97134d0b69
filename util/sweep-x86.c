/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sweep with vector instructions of x86: see sweep-group.h. */
#include "qemu/osdep.h"

#include "sweep-internal.h"

#ifdef SWEEP_HAVE_X86
#include <cpuid.h>
#include <immintrin.h>

#define GROUP_WORDS 8u

/* If @p holds @old, make it (@new0, @new1); else set @old to what it holds. */
static SWEEP_INLINE bool pair_exchange(uint64_t *p, uint64_t *old,
                                       uint64_t new0, uint64_t new1)
{
    bool done;

    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*(struct { uint64_t w[2]; } *)p),
                       "+a"(old[0]), "+d"(old[1])
                     : "b"(new0), "c"(new1)
                     : "memory");
    return done;
}

/* Bit i of @words: word i is not zero; bit 2i of the result: one of a pair. */
static SWEEP_INLINE unsigned pairs_of_words(unsigned words)
{
    return (words | words >> 1) & 0x55;
}

/* ---- AVX2: a group is two registers ---- */

#define G(name)      name##_avx2
#define GROUP_TARGET __attribute__((target("avx2,popcnt")))

typedef struct Vec_avx2 {
    __m256i lo, hi;
} Vec_avx2;

static GROUP_TARGET SWEEP_INLINE Vec_avx2 load_avx2(const uint64_t *p)
{
    const __m256i *v = (const __m256i *)p;

    return (Vec_avx2){ _mm256_loadu_si256(v), _mm256_loadu_si256(v + 1) };
}

static GROUP_TARGET SWEEP_INLINE void store_avx2(uint64_t *p, Vec_avx2 v)
{
    _mm256_storeu_si256((__m256i *)p, v.lo);
    _mm256_storeu_si256((__m256i *)p + 1, v.hi);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx2 zero_avx2(void)
{
    return (Vec_avx2){ _mm256_setzero_si256(), _mm256_setzero_si256() };
}

static GROUP_TARGET SWEEP_INLINE bool is_zero_avx2(Vec_avx2 v)
{
    __m256i any = _mm256_or_si256(v.lo, v.hi);

    return _mm256_testz_si256(any, any);
}

/* Bit i: word i is not zero. */
static GROUP_TARGET SWEEP_INLINE unsigned words_avx2(__m256i v)
{
    __m256i zero = _mm256_cmpeq_epi64(v, _mm256_setzero_si256());

    return 15 ^ _mm256_movemask_pd(_mm256_castsi256_pd(zero));
}

static GROUP_TARGET SWEEP_INLINE unsigned pairs_avx2(Vec_avx2 v)
{
    return pairs_of_words(words_avx2(v.lo) | words_avx2(v.hi) << 4);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx2 or_avx2(Vec_avx2 a, Vec_avx2 b)
{
    return (Vec_avx2){ _mm256_or_si256(a.lo, b.lo),
                       _mm256_or_si256(a.hi, b.hi) };
}

static GROUP_TARGET SWEEP_INLINE Vec_avx2 and_not_avx2(Vec_avx2 a, Vec_avx2 b)
{
    return (Vec_avx2){ _mm256_andnot_si256(b.lo, a.lo),
                       _mm256_andnot_si256(b.hi, a.hi) };
}

/* The words of @v one place up; the lowest is the highest of @before. */
static GROUP_TARGET SWEEP_INLINE __m256i one_up(__m256i v, __m256i before)
{
    return _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x93),
                              _mm256_permute4x64_epi64(before, 0x93), 3);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx2 shift_avx2(Vec_avx2 v,
                                                     Vec_avx2 before,
                                                     unsigned s)
{
    /* A shift by 64 gives zero here. */
    __m128i up = _mm_cvtsi32_si128(s), down = _mm_cvtsi32_si128(64 - s);

    return (Vec_avx2){
        _mm256_or_si256(_mm256_sll_epi64(v.lo, up),
                        _mm256_srl_epi64(one_up(v.lo, before.hi), down)),
        _mm256_or_si256(_mm256_sll_epi64(v.hi, up),
                        _mm256_srl_epi64(one_up(v.hi, v.lo), down))
    };
}

/* Set bits of each byte: a table of those of four bits. */
static GROUP_TARGET SWEEP_INLINE __m256i bits_of_bytes(__m256i v)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3,
                                           2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3,
                                           1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);

    return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(v, low)),
                           _mm256_shuffle_epi8(table, high));
}

static GROUP_TARGET SWEEP_INLINE void count_avx2(Vec_avx2 *sum, Vec_avx2 v)
{
    __m256i bytes = _mm256_add_epi8(bits_of_bytes(v.lo), bits_of_bytes(v.hi));

    sum->lo = _mm256_add_epi64(sum->lo,
                               _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
}

static GROUP_TARGET SWEEP_INLINE uint64_t total_avx2(Vec_avx2 sum)
{
    uint64_t lanes[GROUP_WORDS];

    store_avx2(lanes, sum);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

#include "sweep-group.h"

#undef G
#undef GROUP_TARGET

/* ---- AVX-512 with its count of bits: a group is a register ---- */

#define G(name) name##_avx512
#define GROUP_TARGET \
    __attribute__((target("avx2,avx512f,avx512vpopcntdq,popcnt")))

typedef __m512i Vec_avx512;

static GROUP_TARGET SWEEP_INLINE Vec_avx512 load_avx512(const uint64_t *p)
{
    return _mm512_loadu_si512(p);
}

static GROUP_TARGET SWEEP_INLINE void store_avx512(uint64_t *p, Vec_avx512 v)
{
    _mm512_storeu_si512(p, v);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx512 zero_avx512(void)
{
    return _mm512_setzero_si512();
}

static GROUP_TARGET SWEEP_INLINE bool is_zero_avx512(Vec_avx512 v)
{
    return _mm512_test_epi64_mask(v, v) == 0;
}

static GROUP_TARGET SWEEP_INLINE unsigned pairs_avx512(Vec_avx512 v)
{
    return pairs_of_words(_mm512_test_epi64_mask(v, v));
}

static GROUP_TARGET SWEEP_INLINE Vec_avx512 or_avx512(Vec_avx512 a,
                                                      Vec_avx512 b)
{
    return _mm512_or_si512(a, b);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx512 and_not_avx512(Vec_avx512 a,
                                                           Vec_avx512 b)
{
    return _mm512_andnot_si512(b, a);
}

static GROUP_TARGET SWEEP_INLINE Vec_avx512 shift_avx512(Vec_avx512 v,
                                                         Vec_avx512 before,
                                                         unsigned s)
{
    /* A shift by 64 gives zero here. */
    __m128i up = _mm_cvtsi32_si128(s), down = _mm_cvtsi32_si128(64 - s);
    __m512i one_up = _mm512_alignr_epi64(v, before, 7);

    return _mm512_or_si512(_mm512_sll_epi64(v, up),
                           _mm512_srl_epi64(one_up, down));
}

static GROUP_TARGET SWEEP_INLINE void count_avx512(Vec_avx512 *sum,
                                                   Vec_avx512 v)
{
    *sum = _mm512_add_epi64(*sum, _mm512_popcnt_epi64(v));
}

static GROUP_TARGET SWEEP_INLINE uint64_t total_avx512(Vec_avx512 sum)
{
    return _mm512_reduce_add_epi64(sum);
}

#include "sweep-group.h"

/* ---- what this host has ---- */

static bool has_pair_exchange(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_CMPXCHG16B);
}

bool sweep_host_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           has_pair_exchange();
}

bool sweep_host_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vpopcntdq") && sweep_host_has_avx2();
}
#endif
