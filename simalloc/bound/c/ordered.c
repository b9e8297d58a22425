#include "ordered.h"

#include <stdlib.h>
#include <string.h>

bool ordered_begin(struct ordered *ordered)
{
    ordered->by_address = malloc((ordered->lives->count + 1) * sizeof *ordered->by_address);
    return ordered->by_address != NULL;
}

void ordered_end(struct ordered *ordered)
{
    free(ordered->by_address);
}

/* Returns the address of a life among the lives placed before it. */
static int64_t gap_for(const struct ordered *ordered, uint32_t life)
{
    const struct lives *lives = ordered->lives;
    int64_t size = lives->size[life], born = lives->born[life], died = lives->died[life];
    int64_t top = 0, found = -1, least = INT64_MAX;
    for (size_t i = 0; i < ordered->placed; i++) {
        uint32_t other = ordered->by_address[i];
        if (lives->born[other] >= died || lives->died[other] <= born)
            continue;
        int64_t gap = ordered->address[other] - top;
        if (gap >= size && gap < least) {
            found = top;
            least = gap;
            if (!ordered->smallest)
                return found;
        }
        if (ordered->address[other] + lives->size[other] > top)
            top = ordered->address[other] + lives->size[other];
    }
    return found < 0 ? top : found;
}

/* Returns the number of placed lives at addresses up to `address`. */
static size_t number_up_to(const struct ordered *ordered, int64_t address)
{
    size_t low = 0, high = ordered->placed;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ordered->address[ordered->by_address[middle]] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ordered_advance(struct ordered *ordered, size_t count)
{
    for (; count > 0 && ordered->placed < ordered->lives->count; count--) {
        uint32_t life = ordered->order[ordered->placed];
        ordered->address[life] = gap_for(ordered, life);
        size_t place = number_up_to(ordered, ordered->address[life]);
        memmove(&ordered->by_address[place + 1], &ordered->by_address[place],
                (ordered->placed - place) * sizeof *ordered->by_address);
        ordered->by_address[place] = life;
        ordered->placed++;
    }
}
