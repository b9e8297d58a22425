#include "replay/requests.h"

#include "layers/aligning.h"
#include "layers/pymalloc/pymalloc.h"
#include "space/largest_free.h"
#include "space/residence.h"

static bool events_have_columns(const struct events *events)
{
    return events->alignment != NULL || events->thread != NULL || events->time != NULL ||
           events->site != NULL || events->stream != NULL || events->pool != NULL ||
           events->unwritten != NULL;
}

bool requests_are_needed(const struct replay *replay, const struct events *events)
{
    const struct heap *heap = replay->heap;
    const struct family *family = replay->family;
    bool tracks_pages = heap->residence != NULL;
    return heap->may_refuse ||
           (family->columns != 0 &&
            (events_have_columns(events) || !family->needs_columns_only)) ||
           heap->setting.columns != 0 || replay->measures.series_count > tracks_pages ||
           (tracks_pages && (family->replay_requests != NULL || events->unwritten != NULL)) ||
           (heap->setting.memalign && events->alignment != NULL);
}

/* Returns the scaled alignment of an event, or 0. */
static uint64_t alignment_of(const struct heap *heap, const struct events *events, size_t event)
{
    if (events->alignment == NULL || events->alignment[event] <= 1)
        return 0;
    return (uint64_t)events->alignment[event] * heap->setting.scale;
}

/* Stores the request of an event in the heap. Without columns, all other fields are already 0. */
static void take_request(const struct replay *replay, const struct events *events, size_t event,
                         bool has_columns)
{
    struct heap *heap = replay->heap;
    if (!has_columns) {
        heap->request.size = (uint64_t)events->size[event];
        heap->request.event = replay->measures.events + event;
        heap->request.unwritten = 0; /* the family may have set it for an earlier object */
        heap->request.is_zeroed = events->op[event] == OP_CALLOC;
        heap->request.is_freed = false;
        return;
    }
    bool aligns = heap->setting.memalign || (replay->family->columns & COLUMN_ALIGNMENT) != 0;
    uint8_t op = events->op[event];
    heap->request = (struct request){
        .size = (uint64_t)events->size[event],
        .alignment = aligns && op == OP_MALLOC ? alignment_of(heap, events, event) : 0,
        .event = replay->measures.events + event,
        .time = events->time == NULL ? 0 : (uint64_t)events->time[event],
        .thread = events->thread == NULL ? 0 : events->thread[event],
        .site = events->site == NULL ? 0 : events->site[event],
        .stream = events->stream == NULL ? 0 : events->stream[event],
        .pool = events->pool == NULL ? 0 : events->pool[event],
        .unwritten = events->unwritten == NULL ? 0 : (uint64_t)events->unwritten[event],
        .is_zeroed = op == OP_CALLOC,
    };
}

/* Allocates the block of an object. An alignment is honoured by the family, or else by
 * aligning.c. */
static uint32_t allocate(const struct replay *replay, uint64_t size)
{
    struct heap *heap = replay->heap;
    if (heap->request.alignment == 0 || (replay->family->columns & COLUMN_ALIGNMENT) != 0)
        return heap->front->allocate(heap, size);
    return allocate_aligned(heap, size);
}

static uint32_t request_block(struct replay *replay, uint8_t op, uint32_t block)
{
    struct heap *heap = replay->heap;
    if (UNLIKELY(heap->cannot_start))
        return NO_BLOCK;
    uint64_t size = scaled(heap->request.size, heap->setting.scale);
    if (overhead_is_on(&heap->setting))
        size = overhead_gross(&heap->setting, size);
    if (op == OP_REALLOC && block != NO_BLOCK)
        return reallocate(replay, block, size, heap->front);
    if (op <= OP_CALLOC && block == NO_BLOCK)
        return allocate(replay, size);
    heap_fail(heap, INVALID_EVENTS);
    return NO_BLOCK;
}

/* Records the bytes of an object's block that are written: its header and footer, and the bytes
 * that the program writes. */
static void write_block(const struct replay *replay, uint8_t op, uint32_t id)
{
    struct heap *heap = replay->heap;
    const struct block *block = &heap->blocks[id];
    const struct setting *setting = &heap->setting;
    uint64_t payload = setting->payload;
    bool by_allocator = !replay->family->writes_itself && !pymalloc_has(heap, id);
    if (by_allocator)
        heap_touch(heap, block->address, setting->header);
    if (by_allocator && setting->footer > 0)
        heap_touch(heap, block->address + block->size - setting->footer, setting->footer);
    if (replay->family->writes_objects)
        return;
    uint64_t size = heap->request.size;
    if (!(op == OP_CALLOC && by_allocator))
        size -= heap->request.unwritten < size ? heap->request.unwritten : size;
    if (setting->program_writes || (op == OP_CALLOC && by_allocator))
        heap_touch(heap, block->address + payload, size * setting->scale);
}

/* Stores the block of a request. A refused request does not count its searches. A refused realloc
 * does not change the object. If the realloc had freed the object first, the object is allocated
 * again with its old size, which may move it. */
static void take_block(struct replay *replay, uint8_t op, uint32_t *object, uint32_t got,
                       uint64_t old_size, const struct counters *before)
{
    struct heap *heap = replay->heap;
    bool refused = got == NO_BLOCK && heap->failure == NULL && !heap->request.is_freed;
    bool counts = heap->request.size > 0 || !replay->family->is_pool;
    if (refused) {
        refusals_note(&replay->refusals, replay->family, heap, counts);
        forget_searches(heap, before);
    }
    if (refused && *object != NO_BLOCK && replay->realloc_rule == REALLOC_FREE_FIRST) {
        heap->request.size = old_size;
        heap->has_refused = false;
        *object = got = request_block(replay, OP_MALLOC, NO_BLOCK);
        if (got == NO_BLOCK)
            forget_searches(heap, before);
    } else if (!refused) {
        *object = got;
    }
    if (got != NO_BLOCK && heap->residence != NULL)
        write_block(replay, op, got);
}

/* Executes an event of an object of `old_size` bytes. A trial ends at the first refusal and
 * therefore does not save the counters. */
ALWAYS_INLINE void carry_out(struct replay *replay, uint8_t op, uint32_t *object, uint64_t old_size,
                             bool is_trial)
{
    struct heap *heap = replay->heap;
    struct counters before;
    if (!is_trial)
        before = heap->counters;
    uint32_t block = *object;
    switch (op) {
    case OP_FREE:
        *object = NO_BLOCK;
        heap->front->release(heap, block);
        break;
    case OP_USE:
        if (replay->family->use != NULL && block != NO_BLOCK)
            replay->family->use(heap, block);
        break;
    case OP_EMPTY:
    case OP_THREAD_END:
        replay_seldom(replay, op, block, 0, heap->front);
        break;
    default:
        take_block(replay, op, object, request_block(replay, op, block), old_size,
                   is_trial ? &heap->counters : &before);
    }
}

/* Records the present extent of the object in a slot, for the occupied pages. */
static void note_extent(struct replay *replay, uint8_t op, uint32_t slot)
{
    struct heap *heap = replay->heap;
    if (op == OP_USE || op == OP_EMPTY || op == OP_THREAD_END)
        return;
    uint32_t block = replay->objects.blocks[slot];
    if (block != NO_BLOCK && replay->refusals.is_latest &&
        replay->realloc_rule != REALLOC_FREE_FIRST)
        return; /* the object keeps its address */
    struct live_extent now = {0, 0};
    if (block != NO_BLOCK)
        now = (struct live_extent){heap->blocks[block].address + heap->setting.payload,
                              heap->request.size * heap->setting.scale};
    heap_needs(heap, occupancy_move(&replay->occupancy, slot, now));
}

/* Begins a batch of the additional series. */
static void begin_series(struct measures *measures)
{
    for (size_t i = 0; i < measures->series_count; i++)
        measures->series[i].changes.count = 0;
}

static void note_series(struct byte_series *series, size_t event, uint64_t bytes, uint64_t allocated)
{
    struct changes *changes = &series->changes;
    uint64_t before = changes->count == 0 ? series->footprint.bytes
                                          : changes->at[changes->count - 1].bytes;
    if (bytes != before)
        changes->at[changes->count++] = (struct byte_change){event, bytes, allocated};
}

/* Stores the resident bytes after an event, if they have changed. */
static void note_resident(struct replay *replay, size_t event)
{
    const struct heap *heap = replay->heap;
    struct residence *residence = heap->residence;
    struct changes *changes = &replay->measures.series->changes;
    if (residence->pages == residence->noted)
        return;
    residence->noted = residence->pages;
    changes->at[changes->count++] =
        (struct byte_change){event, heap_resident(heap), heap->counters.allocated};
}

void replay_begin_pages(struct replay *replay)
{
    begin_series(&replay->measures);
    replay->heap->heap_changed |= PAGES_MAY_CHANGE;
}

/* Stores the change of the heap by an event. Returns false if the heap has failed. */
static bool note_change(struct batch *batch, size_t event, struct heap *heap)
{
    if (heap->failure != NULL)
        return false;
    heap->heap_changed = 0;
    batch->mapped.at[batch->mapped.count++] =
        (struct byte_change){event, heap->mapped, heap->counters.allocated};
    return true;
}

bool replay_note(struct replay *replay, const struct events *events, struct batch *batch,
                 size_t event)
{
    struct heap *heap = replay->heap;
    if (heap->residence == NULL)
        return note_change(batch, event, heap);
    uint8_t op = events->op[event];
    uint32_t id = replay->objects.blocks[events->slot[event]];
    const struct block *block = &heap->blocks[id];
    bool is_request = id != NO_BLOCK && (op < OP_USE || op == OP_CALLOC);
    uint64_t end = block->address + block->size + heap->setting.payload;
    if (is_request && end > heap->residence->dense)
        write_block(replay, op, id);
    heap->request.unwritten = 0; /* the family may have set it for this object */
    if (heap->heap_changed != PAGES_MAY_CHANGE && !note_change(batch, event, heap))
        return false;
    heap->heap_changed = PAGES_MAY_CHANGE;
    note_resident(replay, event);
    return true;
}

uint64_t replay_largest_free(const struct replay *replay)
{
    struct heap *heap = replay->heap;
    const struct family *family = replay->family;
    return family->largest_free != NULL
               ? heap_with_room(heap, family->largest_free(heap), false)
               : heap_with_room(heap, largest_free_size(heap), !heap->new_memory_is_apart);
}

/* Stores the values of all series after an event. */
static void note_all_series(struct replay *replay, size_t event)
{
    const struct heap *heap = replay->heap;
    struct byte_series *series = replay->measures.series;
    uint64_t allocated = heap->counters.allocated;
    if (heap->residence != NULL) {
        note_resident(replay, event);
        series++;
    }
    for (size_t i = 0; i < replay->occupancy.sizes; i++) {
        const struct occupied_pages *of = &replay->occupancy.of[i];
        note_series(series++, event, of->pages * of->page, allocated);
    }
    if (replay->measures_largest_free)
        note_series(series, event, replay_largest_free(replay), allocated);
}

/* Returns whether the object of an event does not exist. Either it was refused to a program that
 * continues without it, or a realloc to 0 bytes has freed it. */
static bool is_left_out(const struct replay *replay, uint8_t op, uint32_t block)
{
    return (replay->refusals.count > 0 || replay->family->is_pool) && block == NO_BLOCK &&
           (op == OP_FREE || op == OP_REALLOC || op == OP_USE);
}

/* Stores the granted bytes of an event and the live bytes after it, both without refused
 * objects. */
static void note_live(struct replay *replay, const struct events *events, size_t event,
                      bool left_out)
{
    struct refusals *refusals = &replay->refusals;
    uint8_t op = events->op[event];
    uint32_t slot = events->slot[event];
    if (op < OP_USE || op == OP_CALLOC) {
        uint64_t asked = refusals->is_latest ? refusals->sizes[slot] : replay->heap->request.size;
        refusals_note_live(refusals, slot, replay->objects.blocks[slot] == NO_BLOCK ? 0 : asked);
    }
    refusals->live_after[event] = refusals->live;
    refusals->granted[event] = left_out || refusals->is_latest ? 0 : events->size[event];
}

/* Ends the run before the current event, because the allocator was refused memory for its own
 * tables. */
static void end_exhausted(struct replay *replay)
{
    struct heap *heap = replay->heap;
    heap->failure = NULL;
    if (!replay->refusals.is_latest)
        refusals_note(&replay->refusals, replay->family, heap, true);
    replay->refusals.is_over = true;
}

/* Executes an event. Returns false if the run ends before the event, because the allocator was
 * refused memory for its own tables. */
ALWAYS_INLINE bool carry_out_event(struct replay *replay, const struct events *events, size_t event,
                                   bool has_columns, bool is_trial)
{
    struct heap *heap = replay->heap;
    struct refusals *refusals = &replay->refusals;
    uint8_t op = events->op[event];
    uint32_t slot = events->slot[event];
    uint32_t *object = &replay->objects.blocks[slot];
    bool left_out = is_left_out(replay, op, *object);
    if (op == OP_FREE && *object == NO_BLOCK && !left_out)
        heap_fail(heap, INVALID_EVENTS);
    take_request(replay, events, event, has_columns);
    refusals->is_latest = heap->has_refused = false;
    if (heap->failure == NULL && !left_out)
        carry_out(replay, op, object, heap->may_refuse ? refusals->sizes[slot] : 0,
                  is_trial);
    if (heap->failure == heap_exhausted) {
        end_exhausted(replay);
        return false;
    }
    if (heap->may_refuse && (!is_trial || replay->realloc_rule == REALLOC_FREE_FIRST))
        note_live(replay, events, event, left_out);
    if (heap->heap_changed && replay->family->after_change != NULL)
        replay->family->after_change(heap);
    return true;
}

static void carry_out_batch(struct replay *replay, const struct events *events, struct batch *batch)
{
    struct heap *heap = replay->heap;
    const bool has_columns = events_have_columns(events);
    size_t i = 0;
    while (i < events->count && carry_out_event(replay, events, i, has_columns, false)) {
        if (replay->occupancy.sizes > 0 && heap->failure == NULL)
            note_extent(replay, events->op[i], events->slot[i]);
        if (heap->heap_changed && !note_change(batch, i, heap))
            break;
        note_all_series(replay, i);
        batch->free_blocks[i] =
            (uint32_t)(heap->counters.free_blocks + heap->counters.cached_blocks);
        i++;
        if (refusals_end(&replay->refusals))
            break;
    }
    batch->events = i;
}

/* Executes the events of a batch up to the first refused request, without measures. Returns the
 * number of executed events. */
static size_t try_batch(struct replay *replay, const struct events *events)
{
    struct heap *heap = replay->heap;
    const bool has_columns = events_have_columns(events);
    size_t i = 0;
    while (i < events->count && heap->failure == NULL && !refusals_end(&replay->refusals) &&
           carry_out_event(replay, events, i, has_columns, true)) {
        heap->heap_changed = 0;
        i++;
    }
    replay->measures.events += i;
    return i;
}

size_t replay_requests(struct replay *replay, const struct events *events)
{
    struct heap *heap = replay->heap;
    struct events part;
    struct batch batch;
    size_t done = 0;
    struct refusals *refusals = &replay->refusals;
    batch.has_series = true;
    while (done < events->count && heap->failure == NULL && !refusals_end(refusals) &&
           replay_begin(replay, events, done, heap->front->reserve, &part)) {
        uint32_t used = heap->used;
        batch.mapped.count = 0;
        begin_series(&replay->measures);
        if (heap->may_refuse && !refusals_reserve(refusals, replay->objects.count)) {
            heap->failure = OUT_OF_MEMORY;
            break;
        }
        if (replay->is_trial) {
            done += try_batch(replay, &part);
            continue;
        }
        carry_out_batch(replay, &part, &batch);
        if (refusals->count > 0) { /* the live bytes differ from the live bytes of the trace */
            part.live = refusals->live_after;
            part.size = refusals->granted;
            part.span_count = 0;
        }
        done += replay_end(replay, &part, &batch, used);
    }
    return done;
}
