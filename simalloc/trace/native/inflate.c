#include "inflate.h"

#include <stdbool.h>
#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum { MAX_BITS = 15, FAST_BITS = 11, MAX_CODES = 288, END_OF_BLOCK = 256, LONGEST_MATCH = 258 };

struct input {
    const uint8_t *next;
    const uint8_t *end;
    uint64_t bits;  /* the next ones in the lowest places */
    unsigned count; /* of them; as many zeros as are wanted follow the end */
    size_t beyond;  /* bytes that were taken behind the end */
};

/* A canonical Huffman code. */
struct code {
    /* By the next FAST_BITS bits: symbol << 4 | its length, or 0 if it is longer than that. */
    uint16_t fast[1 << FAST_BITS];
    uint16_t count[MAX_BITS + 1]; /* symbols of each length */
    uint16_t symbols[MAX_CODES];  /* in the order of their codes */
};

/* Whether more was taken than there is. */
static bool overrun(const struct input *input)
{
    return input->beyond * 8 > input->count;
}

static void refill(struct input *input)
{
    if (LIKELY(input->end - input->next >= 8)) {
        uint64_t word;
        memcpy(&word, input->next, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        input->bits |= word << input->count;
        input->next += (63 - input->count) >> 3;
        input->count |= 56;
        return;
    }
    for (; input->count <= 56; input->count += 8) {
        if (input->next < input->end)
            input->bits |= (uint64_t)*input->next++ << input->count;
        else
            input->beyond++;
    }
}

static inline unsigned take(struct input *input, unsigned count)
{
    unsigned value = (unsigned)(input->bits & ((UINT64_C(1) << count) - 1));
    input->bits >>= count;
    input->count -= count;
    return value;
}

static unsigned reversed(unsigned code, unsigned length)
{
    unsigned turned = 0;
    for (; length > 0; length--, code >>= 1)
        turned = turned << 1 | (code & 1);
    return turned;
}

/* Makes a code of the lengths of its symbols, 0 for those that it lacks; false if there is no such
 * code. One that leaves sequences of bits without a symbol has one symbol at most. */
static bool make_code(struct code *code, const uint8_t *lengths, unsigned symbols)
{
    unsigned offsets[MAX_BITS + 2] = {0}, next[MAX_BITS + 2] = {0};
    int left = 1;
    memset(code->count, 0, sizeof code->count);
    memset(code->fast, 0, sizeof code->fast);
    for (unsigned symbol = 0; symbol < symbols; symbol++)
        code->count[lengths[symbol]]++;
    unsigned used = symbols - code->count[0];
    code->count[0] = 0;
    for (unsigned length = 1; length <= MAX_BITS; length++) {
        left = 2 * left - code->count[length];
        if (left < 0)
            return false;
        offsets[length + 1] = offsets[length] + code->count[length];
        next[length + 1] = (next[length] + code->count[length]) << 1;
    }
    if (left > 0 && used > 1)
        return false;
    for (unsigned symbol = 0; symbol < symbols; symbol++) {
        unsigned length = lengths[symbol];
        if (length == 0)
            continue;
        code->symbols[offsets[length]++] = (uint16_t)symbol;
        unsigned bits = reversed(next[length]++, length);
        if (length <= FAST_BITS)
            for (; bits < 1 << FAST_BITS; bits += 1u << length)
                code->fast[bits] = (uint16_t)(symbol << 4 | length);
    }
    return true;
}

/* The next symbol of a code, taken bit by bit; MAX_CODES if there is none. */
static unsigned take_slowly(struct input *input, const struct code *code)
{
    unsigned bits = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= MAX_BITS; length++) {
        bits |= take(input, 1);
        if (bits < first + code->count[length])
            return code->symbols[index + bits - first];
        index += code->count[length];
        first = (first + code->count[length]) << 1;
        bits <<= 1;
    }
    return MAX_CODES;
}

static inline unsigned take_symbol(struct input *input, const struct code *code)
{
    unsigned entry = code->fast[input->bits & ((1 << FAST_BITS) - 1)];
    if (UNLIKELY(entry == 0))
        return take_slowly(input, code);
    take(input, entry & 15);
    return entry >> 4;
}

struct output {
    uint8_t *start;
    uint8_t *next;
    uint8_t *end;
};

/* Repeats `length` bytes from `distance` before; there are so many. */
static inline void repeat(struct output *output, unsigned distance, unsigned length)
{
    uint8_t *to = output->next, *end = to + length;
    const uint8_t *from = to - distance;
    output->next = end;
    if (distance == 1) {
        memset(to, *from, length);
    } else if (LIKELY(distance >= 8 && output->end - end >= 8)) {
        do { /* eight at a time, which may go over the end */
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
    } else {
        while (to < end)
            *to++ = *from++;
    }
}

static const uint16_t LENGTHS[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                   31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t LENGTH_BITS[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t DISTANCES[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,
                                     33,  49,  65,  97,  129, 193,  257,  385,  513,  769,
                                     1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

static enum inflated take_block(struct input *input, struct output *output,
                                const struct code *literals, const struct code *distances)
{
    for (;;) {
        refill(input); /* 56 bits: a length and a distance take 48 */
        unsigned symbol = take_symbol(input, literals);
        if (symbol < END_OF_BLOCK) {
            if (UNLIKELY(output->next == output->end))
                return INFLATE_TOO_LONG;
            *output->next++ = (uint8_t)symbol;
            continue;
        }
        if (symbol == END_OF_BLOCK)
            return INFLATED;
        symbol -= END_OF_BLOCK + 1;
        if (UNLIKELY(symbol >= sizeof LENGTH_BITS || overrun(input)))
            return INFLATE_DAMAGED;
        unsigned length = LENGTHS[symbol] + take(input, LENGTH_BITS[symbol]);
        symbol = take_symbol(input, distances);
        if (UNLIKELY(symbol >= sizeof DISTANCES / sizeof *DISTANCES))
            return INFLATE_DAMAGED;
        unsigned distance = DISTANCES[symbol] + take(input, symbol < 4 ? 0 : symbol / 2 - 1);
        if (UNLIKELY(distance > output->next - output->start))
            return INFLATE_DAMAGED;
        if (UNLIKELY(length > output->end - output->next))
            return INFLATE_TOO_LONG;
        repeat(output, distance, length);
    }
}

static enum inflated take_stored(struct input *input, struct output *output)
{
    take(input, input->count & 7);
    refill(input);
    unsigned length = take(input, 16), complement = take(input, 16);
    if (overrun(input) || length != (~complement & 0xFFFF))
        return INFLATE_DAMAGED;
    input->next -= input->count / 8 - input->beyond; /* give back what was read ahead */
    input->bits = input->count = 0;
    input->beyond = 0;
    if (length > input->end - input->next)
        return INFLATE_DAMAGED;
    if (length > output->end - output->next)
        return INFLATE_TOO_LONG;
    memcpy(output->next, input->next, length);
    output->next += length;
    input->next += length;
    return INFLATED;
}

static bool take_codes(struct input *input, struct code *literals, struct code *distances)
{
    static const uint8_t ORDER[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[MAX_CODES + 32 + 138] = {0}, of_lengths[sizeof ORDER] = {0};
    unsigned literal_count = take(input, 5) + 257, distance_count = take(input, 5) + 1;
    unsigned count = take(input, 4) + 4;
    for (unsigned i = 0; i < count; i++) {
        refill(input);
        of_lengths[ORDER[i]] = (uint8_t)take(input, 3);
    }
    if (!make_code(literals, of_lengths, sizeof of_lengths))
        return false;
    for (unsigned i = 0; i < literal_count + distance_count;) {
        refill(input);
        unsigned symbol = take_symbol(input, literals); /* for now the code of lengths */
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol > 18 || (symbol == 16 && i == 0))
            return false;
        unsigned times = symbol == 18 ? 11 + take(input, 7) : 3 + take(input, symbol - 14);
        memset(&lengths[i], symbol == 16 ? lengths[i - 1] : 0, times);
        i += times;
        if (i > literal_count + distance_count)
            return false;
    }
    return !overrun(input) && literal_count <= 286 && lengths[END_OF_BLOCK] != 0 &&
           make_code(literals, lengths, literal_count) &&
           make_code(distances, lengths + literal_count, distance_count);
}

static void fixed_codes(struct code *literals, struct code *distances)
{
    uint8_t lengths[MAX_CODES];
    for (unsigned symbol = 0; symbol < MAX_CODES; symbol++)
        lengths[symbol] = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    make_code(literals, lengths, MAX_CODES);
    memset(lengths, 5, 32);
    make_code(distances, lengths, 32);
}

enum inflated inflate_all(const uint8_t *stream, size_t length, uint8_t *out, size_t capacity,
                          size_t *made)
{
    struct input input = {.next = stream, .end = stream + length};
    struct output output = {out, out, out + capacity};
    struct code literals, distances;
    enum inflated answer = INFLATED;
    bool last = false;
    while (answer == INFLATED && !last) {
        refill(&input);
        last = take(&input, 1);
        unsigned kind = take(&input, 2);
        if (kind == 0) {
            answer = take_stored(&input, &output);
            continue;
        }
        if (kind == 1)
            fixed_codes(&literals, &distances);
        if (kind == 3 || (kind == 2 && !take_codes(&input, &literals, &distances)))
            answer = INFLATE_DAMAGED;
        else
            answer = take_block(&input, &output, &literals, &distances);
    }
    *made = (size_t)(output.next - output.start);
    return overrun(&input) ? INFLATE_DAMAGED : answer;
}
