/* The operations of node.h in AVX2; sizes and keys are below 2**63, so that signed comparison
 * serves. Stores are as wide as the loads that follow them, or forwarding would stall. */
#include <immintrin.h>

enum { LANES = 4, LANES_32 = 8 };

ALWAYS_INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

ALWAYS_INLINE void store(void *to, __m256i value)
{
    _mm256_storeu_si256((__m256i *)to, value);
}

/* Bit i: a[i] > b[i], for all entries of two node columns, one of them a constant. */
ALWAYS_INLINE uint32_t lanes_above(__m256i a, __m256i b)
{
    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(a, b)));
}

ALWAYS_INLINE uint32_t node_first(const struct node *node, uint32_t from, uint64_t size)
{
    __m256i below = _mm256_set1_epi64x((long long)(size - 1));
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i += LANES)
        fitting |= lanes_above(load(&node->size[i]), below) << i;
    uint64_t candidates = ((uint64_t)fitting >> from << from) | UINT64_C(1) << node->count;
    return (uint32_t)__builtin_ctzll(candidates);
}

ALWAYS_INLINE uint32_t node_last(const struct node *node, uint64_t size)
{
    __m256i below = _mm256_set1_epi64x((long long)(size - 1));
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i += LANES)
        fitting |= lanes_above(load(&node->size[i]), below) << i;
    return fitting == 0 ? NODE_CAPACITY : 31 - (uint32_t)__builtin_clz(fitting);
}

ALWAYS_INLINE uint32_t node_rank(const struct node *node, uint64_t key)
{
    __m256i wanted = _mm256_set1_epi64x((long long)key);
    uint32_t below = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i += LANES)
        below |= lanes_above(wanted, load(&node->key[i])) << i;
    return (uint32_t)__builtin_popcountll(below & ((UINT64_C(1) << node->count) - 1));
}

ALWAYS_INLINE uint32_t node_find(const struct node *node, uint32_t item)
{
    __m256i wanted = _mm256_set1_epi32((int)item);
    uint32_t equal = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i += LANES_32) {
        __m256i same = _mm256_cmpeq_epi32(load(&node->item[i]), wanted);
        equal |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) << i;
    }
    /* Entries from `count` on may hold items that have gone elsewhere; the first is the one. */
    return (uint32_t)__builtin_ctz(equal);
}

ALWAYS_INLINE uint64_t node_largest(const struct node *node)
{
    __m256i largest = load(&node->size[0]);
    for (uint32_t i = LANES; i < NODE_CAPACITY; i += LANES) {
        __m256i next = load(&node->size[i]);
        largest = _mm256_blendv_epi8(largest, next, _mm256_cmpgt_epi64(next, largest));
    }
    uint64_t lane[LANES];
    store(lane, largest);
    uint64_t a = lane[0] > lane[1] ? lane[0] : lane[1];
    uint64_t b = lane[2] > lane[3] ? lane[2] : lane[3];
    return a > b ? a : b;
}

/* The entries at .. count-1 move up by one and `value` comes in at `at`. */
ALWAYS_INLINE void open_64(uint64_t *column, uint32_t count, uint32_t at, uint64_t value)
{
    __m256i place = _mm256_set1_epi64x(at);
    __m256i put = _mm256_set1_epi64x((long long)value);
    __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    for (int i = (int)(count & ~3u); i >= (int)(at & ~3u); i -= LANES) {
        __m256i index = _mm256_add_epi64(lanes, _mm256_set1_epi64x(i));
        __m256i here = load(&column[i]);
        __m256i before = i > 0 ? load(&column[i - 1]) : _mm256_permute4x64_epi64(here, 0x90);
        __m256i shifted = _mm256_blendv_epi8(here, before, _mm256_cmpgt_epi64(index, place));
        store(&column[i], _mm256_blendv_epi8(shifted, put, _mm256_cmpeq_epi64(index, place)));
    }
}

ALWAYS_INLINE void open_32(uint32_t *column, uint32_t count, uint32_t at, uint32_t value)
{
    __m256i place = _mm256_set1_epi32((int)at);
    __m256i put = _mm256_set1_epi32((int)value);
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int i = (int)(count & ~7u); i >= (int)(at & ~7u); i -= LANES_32) {
        __m256i index = _mm256_add_epi32(lanes, _mm256_set1_epi32(i));
        __m256i here = load(&column[i]);
        __m256i before =
            i > 0 ? load(&column[i - 1])
                  : _mm256_permutevar8x32_epi32(here, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
        __m256i shifted = _mm256_blendv_epi8(here, before, _mm256_cmpgt_epi32(index, place));
        store(&column[i], _mm256_blendv_epi8(shifted, put, _mm256_cmpeq_epi32(index, place)));
    }
}

/* The entries at+1 .. count-1 move down by one, as does the 0 behind them. */
ALWAYS_INLINE void close_64(uint64_t *column, uint32_t count, uint32_t at)
{
    __m256i last_kept = _mm256_set1_epi64x((long long)at - 1);
    __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    for (uint32_t i = at & ~3u; i < count; i += LANES) {
        __m256i index = _mm256_add_epi64(lanes, _mm256_set1_epi64x(i));
        __m256i here = load(&column[i]);
        __m256i after = i + LANES < NODE_CAPACITY
                            ? load(&column[i + 1])
                            : _mm256_blend_epi32(_mm256_permute4x64_epi64(here, 0xF9),
                                                 _mm256_setzero_si256(), 0xC0);
        store(&column[i], _mm256_blendv_epi8(here, after, _mm256_cmpgt_epi64(index, last_kept)));
    }
}

ALWAYS_INLINE void close_32(uint32_t *column, uint32_t count, uint32_t at)
{
    __m256i last_kept = _mm256_set1_epi32((int)at - 1);
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (uint32_t i = at & ~7u; i < count; i += LANES_32) {
        __m256i index = _mm256_add_epi32(lanes, _mm256_set1_epi32((int)i));
        __m256i here = load(&column[i]);
        __m256i after =
            i + LANES_32 < NODE_CAPACITY
                ? load(&column[i + 1])
                : _mm256_permutevar8x32_epi32(here, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
        store(&column[i], _mm256_blendv_epi8(here, after, _mm256_cmpgt_epi32(index, last_kept)));
    }
}

ALWAYS_INLINE void leaf_open(struct node *node, uint32_t at, uint64_t size, uint64_t key,
                             uint32_t item, bool keyed)
{
    open_64(node->size, node->count, at, size);
    if (keyed)
        open_64(node->key, node->count, at, key);
    open_32(node->item, node->count, at, item);
    node->count++;
}

ALWAYS_INLINE void leaf_close(struct node *node, uint32_t at, bool keyed)
{
    close_64(node->size, node->count, at);
    if (keyed)
        close_64(node->key, node->count, at);
    close_32(node->item, node->count, at);
    node->count--;
}
