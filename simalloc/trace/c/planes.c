#include "planes.h"

#include <string.h>

/* Joins `count` numbers from up to four planes. */
static void join(uint32_t *restrict into, const uint8_t *plane, size_t width, size_t stride,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[i] = plane[i];
    for (unsigned byte = 1; byte < width && byte < 4; byte++) {
        plane += stride;
        for (size_t i = 0; i < count; i++)
            into[i] |= (uint32_t)plane[i] << 8 * byte;
    }
}

void cursor_begin(struct cursor *cursor, const struct planes *planes)
{
    cursor->planes = *planes;
    cursor->next = cursor->from = cursor->to = 0;
    if (planes->width <= 4)
        memset(cursor->high, 0, sizeof cursor->high);
}

void cursor_prepare(struct cursor *cursor)
{
    const struct planes *planes = &cursor->planes;
    size_t kept = cursor->to - cursor->from;
    if (kept >= BLOCK)
        return;
    size_t left = planes->count - cursor->next;
    size_t count = left < BLOCK ? left : BLOCK;
    const uint8_t *bytes = planes->bytes + cursor->next;
    memmove(cursor->low, cursor->low + cursor->from, kept * sizeof cursor->low[0]);
    join(cursor->low + kept, bytes, planes->width, planes->count, count);
    if (planes->width > 4) {
        memmove(cursor->high, cursor->high + cursor->from, kept * sizeof cursor->high[0]);
        join(cursor->high + kept, bytes + 4 * planes->count, planes->width - 4, planes->count,
             count);
    }
    cursor->next += count;
    cursor->from = 0;
    cursor->to = kept + count;
}

bool cursor_take(struct cursor *cursor, uint64_t *number)
{
    if (cursor->from >= cursor->to)
        return false;
    *number = (uint64_t)cursor->high[cursor->from] << 32 | cursor->low[cursor->from];
    cursor->from++;
    return true;
}

bool cursor_exhausted(const struct cursor *cursor)
{
    return cursor->from == cursor->to && cursor->next == cursor->planes.count;
}
