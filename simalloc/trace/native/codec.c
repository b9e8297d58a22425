#include "codec.h"

#include "live_table.h"

enum { BLOCK = 1024 };

/* A run of numbers taken out of their planes a block at a time. */
struct cursor {
    struct planes planes;
    size_t next;  /* the first number not yet in `block` */
    size_t place; /* in `block` */
    size_t filled;
    uint64_t block[BLOCK];
};

static void refill(struct cursor *cursor)
{
    size_t left = cursor->planes.count - cursor->next;
    size_t count = left < BLOCK ? left : BLOCK;
    for (size_t i = 0; i < count; i++)
        cursor->block[i] = 0;
    for (size_t byte = 0; byte < cursor->planes.width; byte++) {
        const uint8_t *plane = cursor->planes.bytes + byte * cursor->planes.count + cursor->next;
        for (size_t i = 0; i < count; i++)
            cursor->block[i] |= (uint64_t)plane[i] << 8 * byte;
    }
    cursor->next += count;
    cursor->filled = count;
    cursor->place = 0;
}

static bool take(struct cursor *cursor, uint64_t *number)
{
    if (cursor->place == cursor->filled) {
        refill(cursor);
        if (cursor->filled == 0)
            return false;
    }
    *number = cursor->block[cursor->place++];
    return true;
}

static bool exhausted(const struct cursor *cursor)
{
    return cursor->place == cursor->filled && cursor->next == cursor->planes.count;
}

bool codec_unpack(size_t count, const uint8_t *packed_ops, struct planes sizes, struct planes ages,
                  int64_t objects, uint8_t *op, int64_t *key, int64_t *size)
{
    struct cursor size_cursor = {.planes = sizes}, age_cursor = {.planes = ages};
    uint64_t allocated = (uint64_t)objects;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0, age = 0;
        op[i] = packed_ops[i / 4] >> i % 4 * 2 & 3;
        if (op[i] > OP_REALLOC)
            return false;
        if (op[i] != OP_FREE && !take(&size_cursor, &bytes))
            return false;
        if (op[i] != OP_MALLOC && !take(&age_cursor, &age))
            return false;
        size[i] = (int64_t)bytes;
        key[i] = (int64_t)(allocated - age);
        allocated += op[i] == OP_MALLOC;
    }
    return exhausted(&size_cursor) && exhausted(&age_cursor);
}
