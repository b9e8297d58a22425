#include "pickle_scan.h"

#include <stdbool.h>
#include <string.h>

enum { STOP = '.', ITEMS = 'u', FRAME = 0x95, PUT = 'q', LONG_PUT = 'r', MEMOIZE = 0x94 };
enum { PERSISTENT = 'Q' };

/* What follows an opcode: so many bytes, or a length of so many bytes and then as many. */
struct argument {
    bool known;
    uint8_t bytes;
    uint8_t length_bytes;
};

static const struct argument arguments[256] = {
    [0x80] = {true, 1, 0},                                                  /* protocol */
    [0x95] = {true, 8, 0},                                                  /* frame */
    ['}'] = {true, 0, 0},  [']'] = {true, 0, 0},  [')'] = {true, 0, 0},     /* empty containers */
    ['('] = {true, 0, 0},  ['t'] = {true, 0, 0},                            /* mark, tuples */
    [0x85] = {true, 0, 0}, [0x86] = {true, 0, 0}, [0x87] = {true, 0, 0},
    ['a'] = {true, 0, 0},  ['e'] = {true, 0, 0},                            /* appends */
    ['s'] = {true, 0, 0},  ['u'] = {true, 0, 0},                            /* items */
    ['N'] = {true, 0, 0},  [0x88] = {true, 0, 0}, [0x89] = {true, 0, 0},    /* None and truths */
    ['J'] = {true, 4, 0},  ['K'] = {true, 1, 0},  ['M'] = {true, 2, 0},     /* numbers */
    [0x8a] = {true, 0, 1}, [0x8b] = {true, 0, 4}, ['G'] = {true, 8, 0},
    [0x8c] = {true, 0, 1}, ['X'] = {true, 0, 4},  [0x8d] = {true, 0, 8},    /* texts */
    ['C'] = {true, 0, 1},  ['B'] = {true, 0, 4},                            /* bytes */
    ['q'] = {true, 1, 0},  ['r'] = {true, 4, 0},  [0x94] = {true, 0, 0},    /* into the memo */
    ['h'] = {true, 1, 0},  ['j'] = {true, 4, 0},                            /* out of it */
    ['.'] = {true, 0, 0},                                                   /* stop */
};

static uint64_t number(const uint8_t *bytes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = count; i-- > 0;)
        sum = sum << 8 | bytes[i];
    return sum;
}

/* What an opcode is, where the next one begins, and the number that it is given or 0. */
struct step {
    uint8_t opcode;
    size_t next;
    uint64_t value;
};

/* Reads the opcode at a place; false if it is none of plain data, or the pickle ends within it. */
static bool read_step(const uint8_t *bytes, size_t length, size_t at, struct step *step)
{
    if (at >= length)
        return false;
    const struct argument *argument = &arguments[bytes[at]];
    size_t given = (size_t)argument->bytes + argument->length_bytes;
    if (!argument->known || given > length - at - 1)
        return false;
    *step = (struct step){bytes[at], at + 1 + given, number(&bytes[at + 1], given)};
    if (argument->length_bytes > 0) {
        if (step->value > length - step->next)
            return false;
        step->next += (size_t)step->value;
    }
    return true;
}

size_t pickle_marked_length(const uint8_t *bytes, size_t length)
{
    uint64_t puts = 0;
    size_t marked = 0;
    struct step step;
    for (size_t at = 0; read_step(bytes, length, at, &step); at = step.next) {
        bool names_place = step.opcode == PUT || step.opcode == LONG_PUT;
        if (names_place && step.value > puts)
            return 0;
        puts += names_place || step.opcode == MEMOIZE;
        if (step.opcode != FRAME)
            marked += step.next - at + (step.opcode == ITEMS);
        if (step.opcode == STOP)
            return marked;
    }
    return 0;
}

void pickle_mark(const uint8_t *bytes, size_t length, uint8_t *into)
{
    struct step step;
    for (size_t at = 0; read_step(bytes, length, at, &step); at = step.next) {
        if (step.opcode == FRAME)
            continue;
        memcpy(into, &bytes[at], step.next - at);
        into += step.next - at;
        if (step.opcode == ITEMS)
            *into++ = PERSISTENT;
        if (step.opcode == STOP)
            return;
    }
}
