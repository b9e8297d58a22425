#include "live_table.h"

#include <string.h>

/* Returns whether an event that is invalid for this reason can be skipped. */
static bool can_skip(enum reason why)
{
    return why == REASON_FREE_OF_DEAD || why == REASON_REALLOC_OF_DEAD ||
           why == REASON_USE_OF_DEAD || why == REASON_SIZE;
}

/* Frees the object that still has the new key of event `i`, because the log has lost that free. */
static void free_holder(struct live_table *table, const struct read_events *events, size_t i,
                        int64_t *object, uint32_t *slot)
{
    static const uint8_t op = OP_FREE;
    static const int64_t size = 0;
    bool moves = events->op[i] == OP_REALLOC && events->new_key != NULL;
    const struct read_events holder = {
        1, &op, moves ? &events->new_key[i] : &events->key[i], &size, NULL,
    };
    live_table_enter_one(table, &holder, 0, object, slot);
}

void live_table_enter_lenient(struct live_table *table, const struct read_events *events,
                              const struct kept_events *kept, struct leniency *leniency)
{
    size_t i = 0, n = 0;
    memset(leniency, 0, sizeof *leniency);
    while (i < events->count && n < kept->capacity) {
        enum reason why =
            live_table_enter_one(table, events, i, &kept->object[n], &kept->slot[n]);
        bool lost_free = why == REASON_MALLOC_OF_LIVE || why == REASON_MOVE_TO_LIVE;
        if (why != REASON_NONE) {
            if (!lost_free && !can_skip(why)) {
                leniency->why = why;
                break;
            }
            if (leniency->count[why]++ == 0)
                leniency->first[why] = (int64_t)i;
        }
        if (lost_free)
            free_holder(table, events, i, &kept->object[n], &kept->slot[n]);
        if (lost_free || why == REASON_NONE) {
            kept->op[n] = lost_free ? OP_FREE : events->op[i];
            kept->size[n] = lost_free || !op_allocates(events->op[i]) ? 0 : events->size[i];
            kept->source[n++] = (int64_t)i;
        }
        i += !lost_free; /* the key is free now, so the next iteration enters the event */
    }
    leniency->taken = i;
    leniency->kept = n;
}
