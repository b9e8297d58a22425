#include "pickle_scan.h"

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

bool pickle_is_plain(const uint8_t *bytes, size_t length)
{
    uint64_t puts = 0;
    for (size_t at = 0; at < length;) {
        uint8_t opcode = bytes[at++];
        const struct argument *argument = &arguments[opcode];
        size_t given = (size_t)argument->bytes + argument->length_bytes;
        if (!argument->known || given > length - at)
            return false;
        uint64_t value = number(&bytes[at], given);
        at += given;
        if (opcode == '.')
            return true;
        if (argument->length_bytes > 0) {
            if (value > length - at)
                return false;
            at += (size_t)value;
        }
        if ((opcode == 'q' || opcode == 'r') && value > puts)
            return false;
        puts += opcode == 'q' || opcode == 'r' || opcode == 0x94;
    }
    return false;
}
