/* Scudo's quarantine: freed small blocks that wait before they are reused. */
#include <stdlib.h>

#include "families/scudo/parts.h"
#include "space/residence.h"

enum { BATCH_BYTES = 8176, BATCH_LENGTH = 1019, BATCH_HEAD = 24, ENTRY = 8, KIB = 1024 };

struct quarantine_batch {
    struct quarantine_batch *next;
    uint64_t weight;
    uint32_t home; /* block that stores the batch */
    uint32_t count;
    uint32_t blocks[BATCH_LENGTH];
};

bool scudo_is_quarantined(const struct scudo *state, uint32_t id)
{
    uint64_t size = size_asked(state, id);
    return state->thread_local_quarantine_size_kb > 0 && size > 0 &&
           size <= state->quarantine_max_chunk_size;
}

static void append(struct quarantine *quarantine, struct quarantine_batch *batch)
{
    if (quarantine->newest == NULL)
        quarantine->oldest = batch;
    else
        quarantine->newest->next = batch;
    quarantine->newest = batch;
    quarantine->weight += batch->weight;
    quarantine->batches++;
}

static struct quarantine_batch *take_oldest(struct quarantine *quarantine)
{
    struct quarantine_batch *batch = quarantine->oldest;
    quarantine->oldest = batch->next;
    if (batch->next == NULL)
        quarantine->newest = NULL;
    batch->next = NULL;
    quarantine->weight -= batch->weight;
    quarantine->batches--;
    return batch;
}

static void transfer(struct quarantine *from, struct quarantine *to)
{
    while (from->oldest != NULL)
        append(to, take_oldest(from));
}

static uint32_t batch_class(const struct scudo *state)
{
    return state->class_of[(BATCH_BYTES + GRAIN - 1) / GRAIN];
}

/* Starts a batch, stored in a separate block. Returns false, with the heap's failure set, if memory
 * is exhausted. */
static bool begin_batch(struct scudo *state, struct local *local)
{
    struct quarantine_batch *batch = calloc(1, sizeof *batch);
    uint32_t home = batch == NULL ? NO_BLOCK : scudo_pop_local(state, local, batch_class(state));
    if (home == NO_BLOCK) {
        free(batch);
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return false;
    }
    heap_mark(&state->heap, home, STATE_TABLE);
    batch->home = home;
    batch->weight = BATCH_BYTES;
    append(&local->quarantine, batch);
    return true;
}

void scudo_quarantine(struct scudo *state, struct local *local, uint32_t id)
{
    struct heap *heap = &state->heap;
    struct quarantine *quarantine = &local->quarantine;
    struct quarantine_batch *batch = quarantine->newest;
    if (batch == NULL || batch->count == BATCH_LENGTH) {
        if (!begin_batch(state, local))
            return;
        batch = quarantine->newest;
    }
    batch->blocks[batch->count++] = id;
    batch->weight += size_asked(state, id);
    quarantine->weight += size_asked(state, id);
    heap_touch(heap, heap->blocks[batch->home].address,
               payload_of(state) + BATCH_HEAD + ENTRY * (uint64_t)batch->count);
    if (quarantine->weight > state->thread_local_quarantine_size_kb * KIB)
        scudo_collect(state, local);
}

/* Merges each batch into the previous one if both fit in one batch. Moves the emptied batches to
 * another list. */
static void merge(struct quarantine *quarantine, struct quarantine *emptied)
{
    struct quarantine kept = {.oldest = NULL};
    while (quarantine->oldest != NULL) {
        struct quarantine_batch *batch = take_oldest(quarantine);
        struct quarantine_batch *last = kept.newest;
        if (last == NULL || last->count + batch->count > BATCH_LENGTH) {
            append(&kept, batch);
            continue;
        }
        for (uint32_t i = 0; i < batch->count; i++)
            last->blocks[last->count++] = batch->blocks[i];
        last->weight += batch->weight - BATCH_BYTES;
        kept.weight += batch->weight - BATCH_BYTES;
        batch->count = 0;
        batch->weight = BATCH_BYTES;
        append(emptied, batch);
    }
    *quarantine = kept;
}

/* Frees the blocks of a batch in a random order, and then the block that stores the batch. */
static void recycle_batch(struct scudo *state, struct local *local, struct quarantine_batch *batch)
{
    uint32_t random = (uint32_t)(state->heap.blocks[batch->home].address >> 4);
    scudo_shuffle(&random, batch->blocks, batch->count);
    for (uint32_t i = 0; i < batch->count; i++)
        scudo_push_local(state, local, class_of_block(state, batch->blocks[i]), batch->blocks[i]);
    heap_mark(&state->heap, batch->home, STATE_CACHED);
    scudo_push_local(state, local, class_of_block(state, batch->home), batch->home);
    free(batch);
}

/* Frees the oldest batches until the list's weight is at most `most` bytes. */
static void recycle(struct scudo *state, struct local *local, uint64_t most)
{
    struct quarantine *quarantine = &state->quarantine;
    struct quarantine leaving = {.oldest = NULL};
    uint64_t overhead = quarantine->batches * BATCH_BYTES;
    if (quarantine->weight > overhead && quarantine->weight < 2 * overhead)
        merge(quarantine, &leaving);
    while (quarantine->weight > most)
        append(&leaving, take_oldest(quarantine));
    while (leaving.oldest != NULL)
        recycle_batch(state, local, take_oldest(&leaving));
}

void scudo_collect(struct scudo *state, struct local *local)
{
    uint64_t most = state->quarantine_size_kb * KIB;
    transfer(&local->quarantine, &state->quarantine);
    if (state->quarantine.weight > most)
        recycle(state, local, most / 10 * 9);
}

void scudo_recycle_all(struct scudo *state, struct local *local)
{
    transfer(&local->quarantine, &state->quarantine);
    recycle(state, local, 0);
}

uint64_t scudo_quarantined(const struct quarantine *quarantine)
{
    uint64_t blocks = 0;
    for (const struct quarantine_batch *batch = quarantine->oldest; batch != NULL;
         batch = batch->next)
        blocks += batch->count;
    return blocks;
}

void scudo_release_quarantine(struct quarantine *quarantine)
{
    while (quarantine->oldest != NULL)
        free(take_oldest(quarantine));
}
