/* Operations of slots.h in AVX2. All numbers are non-negative as signed numbers. */
#include <immintrin.h>

ALWAYS_INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

/* movemask results of comparisons of 16-bit numbers, with two bits per slot. */
struct pairs {
    uint64_t low;  /* slots 0 to 31 */
    uint64_t high; /* slots 32 to 63 */
};

ALWAYS_INLINE uint64_t pairs_of(const uint16_t *sizes, __m256i below)
{
    __m256i a = _mm256_cmpgt_epi16(load(&sizes[0]), below);
    __m256i b = _mm256_cmpgt_epi16(load(&sizes[16]), below);
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

ALWAYS_INLINE struct pairs pairs_at_least(const uint16_t *sizes, uint32_t size)
{
    __m256i below = _mm256_set1_epi16((short)(size - 1));
    return (struct pairs){pairs_of(&sizes[0], below), pairs_of(&sizes[32], below)};
}

/* Returns the bits of the slots with at least `size`, which is more than 0. */
ALWAYS_INLINE uint64_t slots_at_least(const uint16_t *sizes, uint32_t size)
{
    struct pairs pairs = pairs_at_least(sizes, size);
    const uint64_t one_of_two = UINT64_C(0x5555555555555555);
    return _pext_u64(pairs.low, one_of_two) | _pext_u64(pairs.high, one_of_two) << SLOTS / 2;
}

ALWAYS_INLINE uint32_t first_of_pairs(struct pairs pairs)
{
    if (LIKELY(pairs.low != 0))
        return (uint32_t)_tzcnt_u64(pairs.low) / 2;
    return SLOTS / 2 + (uint32_t)_tzcnt_u64(pairs.high) / 2;
}

ALWAYS_INLINE uint32_t slots_first(const uint16_t *sizes, uint32_t size)
{
    return first_of_pairs(pairs_at_least(sizes, size));
}

ALWAYS_INLINE uint32_t slots_first_from(const uint16_t *sizes, uint32_t from, uint32_t size)
{
    struct pairs pairs = pairs_at_least(sizes, size);
    if (from < SLOTS / 2) {
        pairs.low = pairs.low >> 2 * from << 2 * from;
    } else {
        pairs.low = 0;
        pairs.high = from == SLOTS ? 0 : pairs.high >> (2 * from - SLOTS) << (2 * from - SLOTS);
    }
    return first_of_pairs(pairs);
}

ALWAYS_INLINE uint32_t slots_last(const uint16_t *sizes, uint32_t size)
{
    struct pairs pairs = pairs_at_least(sizes, size);
    if (pairs.high != 0)
        return SLOTS - 1 - (uint32_t)_lzcnt_u64(pairs.high) / 2;
    return pairs.low == 0 ? SLOTS : SLOTS / 2 - 1 - (uint32_t)_lzcnt_u64(pairs.low) / 2;
}

/* Returns one bit for each of 32 comparisons of 32-bit numbers. */
ALWAYS_INLINE uint64_t bits_of_32(__m256i a, __m256i b, __m256i c, __m256i d)
{
    __m256i words = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return (uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(words, order));
}

ALWAYS_INLINE uint64_t slots_below(const uint32_t *keys, uint32_t key)
{
    __m256i bound = _mm256_set1_epi32((int)key);
    __m256i is[8];
    for (int i = 0; i < 8; i++)
        is[i] = _mm256_cmpgt_epi32(bound, load(&keys[8 * i]));
    return bits_of_32(is[0], is[1], is[2], is[3]) | bits_of_32(is[4], is[5], is[6], is[7]) << 32;
}

ALWAYS_INLINE uint32_t slots_largest(const uint16_t *sizes)
{
    __m256i low = _mm256_max_epu16(load(&sizes[0]), load(&sizes[16]));
    __m256i high = _mm256_max_epu16(load(&sizes[32]), load(&sizes[48]));
    __m256i both = _mm256_max_epu16(low, high);
    __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    /* The only horizontal instruction finds a minimum. The minimum of the complements is the
     * complement of the maximum. */
    __m128i smallest = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    return ~(uint32_t)_mm_cvtsi128_si32(smallest) & UINT16_MAX;
}

/* Returns the sum of the numbers before `slot`. */
ALWAYS_INLINE uint32_t slots_sum_few_before(const uint8_t *numbers, uint32_t slot)
{
    const __m256i place = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                           17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                                           31);
    const __m256i none = _mm256_setzero_si256();
    __m256i low = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)slot), place);
    __m256i high = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)((int)slot - SLOTS / 2)), place);
    __m256i sums =
        _mm256_add_epi64(_mm256_sad_epu8(_mm256_and_si256(low, load(&numbers[0])), none),
                         _mm256_sad_epu8(_mm256_and_si256(high, load(&numbers[32])), none));
    __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return (uint32_t)(_mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 2));
}

ALWAYS_INLINE uint32_t slots_sum_before(const uint32_t *numbers, uint32_t slot)
{
    __m256i bound = _mm256_set1_epi32((int)slot);
    __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t i = 0; i < SLOTS; i += 8) {
        __m256i before = _mm256_cmpgt_epi32(bound, place);
        sum = _mm256_add_epi32(sum, _mm256_and_si256(before, load(&numbers[i])));
        place = _mm256_add_epi32(place, _mm256_set1_epi32(8));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return (uint32_t)(_mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1));
}
