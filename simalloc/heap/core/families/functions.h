/* Functions of the core that a family outside the package can call, in addition to inlined code.
 * Each entry contains the result type, the name, the parameter declarations, and the names of the
 * parameters. The indexes (index/) are not available to such a family. */
FUNCTION(bool, heap_grow_table, (struct heap *heap, uint64_t spare), (heap, spare))
FUNCTION(bool, heap_reserve_more, (struct heap *heap, uint64_t blocks), (heap, blocks))
FUNCTION(uint64_t, heap_unit, (const struct heap *heap), (heap))
FUNCTION(const char *, heap_check, (const struct heap *heap), (heap))
FUNCTION(uint32_t, heap_refuse, (struct heap *heap), (heap))
FUNCTION(void, heap_fail_beyond, (struct heap *heap), (heap))
FUNCTION(bool, heap_lower, (struct heap *heap, uint64_t size), (heap, size))
FUNCTION(uint32_t, heap_map_segment, (struct heap *heap, uint64_t size, uint64_t alignment),
         (heap, size, alignment))
FUNCTION(void, largest_free_note, (struct heap *heap, uint32_t id), (heap, id))
FUNCTION(void, heap_unmap_segment, (struct heap *heap, uint32_t id), (heap, id))
FUNCTION(void, heap_unmap, (struct heap *heap, uint32_t id), (heap, id))
FUNCTION(bool, heap_map, (struct heap *heap, uint32_t id), (heap, id))
FUNCTION(void, residence_touch, (struct heap *heap, uint64_t address, uint64_t size),
         (heap, address, size))
FUNCTION(void, residence_set,
         (struct heap *heap, uint64_t first, uint64_t end, bool resident),
         (heap, first, end, resident))
FUNCTION(const char *, check_coalesced, (const struct heap *heap), (heap))
FUNCTION(bool, table_resize, (void *table, size_t width, uint32_t *capacity, uint32_t wanted),
         (table, width, capacity, wanted))
FUNCTION(bool, table_grow,
         (void *table, size_t width, uint32_t used, uint64_t spare, uint32_t most,
          uint32_t *capacity),
         (table, width, used, spare, most, capacity))
FUNCTION(bool, table_cover, (void *table, size_t width, uint32_t *capacity, uint32_t number),
         (table, width, capacity, number))
FUNCTION(void, table_release, (void *entries), (entries))
FUNCTION(bool, replay_begin,
         (struct replay *replay, const struct events *events, size_t first,
          reserve_function *reserve, struct events *part),
         (replay, events, first, reserve, part))
FUNCTION(size_t, replay_end,
         (struct replay *replay, const struct events *part, struct batch *batch, uint32_t used),
         (replay, part, batch, used))
FUNCTION(void, replay_begin_pages, (struct replay *replay), (replay))
FUNCTION(bool, replay_note,
         (struct replay *replay, const struct events *events, struct batch *batch, size_t event),
         (replay, events, batch, event))
FUNCTION(uint32_t, replay_seldom,
         (const struct replay *replay, uint8_t op, uint32_t block, uint64_t size,
          const struct layer *layer),
         (replay, op, block, size, layer))
FUNCTION(uint32_t, reallocate,
         (const struct replay *replay, uint32_t old, uint64_t size, const struct layer *layer),
         (replay, old, size, layer))
