#include "exact.h"

#include <stdlib.h>
#include <string.h>

static int64_t aligned(int64_t bound, int64_t alignment)
{
    int64_t over = bound % alignment;
    return over == 0 ? bound : bound + (alignment - over);
}

static bool has_bans(const struct exact *exact)
{
    return exact->buffers.bans[exact->buffers.count] > 0;
}

/* Returns the lowest aligned address from `bound` on that no placed buffer bans. */
static int64_t allowed(const struct exact *exact, uint32_t buffer, int64_t bound)
{
    const struct exact_buffers *all = &exact->buffers;
    int64_t address = aligned(bound, all->alignment[buffer]);
    for (uint32_t ban = all->bans[buffer]; ban < all->bans[buffer + 1]; ban++) {
        uint32_t other = all->ban_other[ban];
        int64_t distance = address - exact->low[other];
        if (!exact->placed[other] || distance <= all->under[ban] || distance >= all->over[ban])
            continue;
        address = aligned(exact->low[other] + all->over[ban], all->alignment[buffer]);
        ban = all->bans[buffer] - 1; /* start again: the address may now be in an earlier ban */
    }
    return address;
}

static void set_low(struct exact *exact, uint32_t buffer, int64_t low)
{
    const struct exact_buffers *all = &exact->buffers;
    exact->low[buffer] = low;
    for (uint32_t piece = all->pieces[buffer]; piece < all->pieces[buffer + 1]; piece++)
        exact->piece_bound[piece] = low + all->piece_low[piece];
}

static void mark_changed(struct exact *exact, uint32_t buffer)
{
    const struct exact_buffers *all = &exact->buffers;
    for (uint32_t piece = all->pieces[buffer]; piece < all->pieces[buffer + 1]; piece++) {
        uint32_t length = all->piece_last[piece] - all->piece_first[piece];
        memset(&exact->changed[all->piece_first[piece]], true, length);
    }
    if (exact->first[buffer] < exact->changed_from)
        exact->changed_from = exact->first[buffer];
    if (exact->last[buffer] > exact->changed_to)
        exact->changed_to = exact->last[buffer];
}

/* Saves a bound before it changes. Returns false if memory is exhausted. */
static bool note(struct exact *exact, uint32_t buffer)
{
    if (exact->raise_count == exact->raise_room) {
        size_t room = 2 * exact->raise_room + 1024;
        struct exact_raise *raises = realloc(exact->raises, room * sizeof *raises);
        if (raises == NULL) {
            exact->out_of_memory = exact->stopped = true;
            return false;
        }
        exact->raises = raises;
        exact->raise_room = room;
    }
    exact->raises[exact->raise_count++] = (struct exact_raise){buffer, exact->low[buffer]};
    return true;
}

static void undo(struct exact *exact, size_t count)
{
    while (exact->raise_count > count) {
        struct exact_raise raise = exact->raises[--exact->raise_count];
        set_low(exact, raise.buffer, raise.low);
    }
}

/* Raises a bound to at least `bound`. Returns false if the buffer then exceeds the capacity. */
static bool raise_to(struct exact *exact, uint32_t buffer, int64_t bound)
{
    int64_t low = allowed(exact, buffer, bound);
    if (low > exact->low[buffer] && note(exact, buffer)) {
        set_low(exact, buffer, low);
        mark_changed(exact, buffer);
    }
    return exact->low[buffer] <= exact->capacity - exact->buffers.size[buffer];
}

/* Moves the unplaced members of a section to its front and sorts them by their bounds. Insertion
 * sort is fast, because few members have moved since the previous call. */
static void sort_unplaced(struct exact *exact, uint32_t *members, size_t unplaced)
{
    int64_t *lows = exact->lows;
    size_t sorted = 0;
    for (size_t i = 0; sorted < unplaced; i++) {
        uint32_t piece = members[i];
        if (exact->piece_placed[piece])
            continue;
        members[i] = members[sorted];
        int64_t low = exact->piece_bound[piece];
        size_t place = sorted++;
        for (; place > 0 && lows[place - 1] > low; place--) {
            lows[place] = lows[place - 1];
            members[place] = members[place - 1];
        }
        lows[place] = low;
        members[place] = piece;
    }
}

/* Returns whether the unplaced pieces of a section fit below the capacity when they are stacked in
 * the order of their bounds. */
static bool section_fits(struct exact *exact, uint32_t section)
{
    const struct exact_buffers *all = &exact->buffers;
    uint32_t *members = &exact->members.items[exact->members.start[section]];
    size_t unplaced = exact->unplaced[section];
    int64_t height = 0, padding = 0;
    sort_unplaced(exact, members, unplaced);
    for (size_t i = 0; i < unplaced; i++) {
        uint32_t piece = members[i];
        if (exact->lows[i] > height)
            height = exact->lows[i];
        height += all->room[piece];
        if (all->padding[piece] > padding)
            padding = all->padding[piece];
    }
    if (height - padding <= exact->capacity)
        return true;
    exact->failures[section]++;
    return false;
}

/* Examines the sections with changed bounds, up to the first that does not fit. Returns whether all
 * fit. */
static bool changed_sections_fit(struct exact *exact)
{
    bool fits = true;
    for (uint32_t section = exact->changed_from; section < exact->changed_to; section++) {
        if (exact->changed[section] && fits)
            fits = section_fits(exact, section);
        exact->changed[section] = false;
    }
    exact->changed_from = exact->buffers.sections;
    exact->changed_to = 0;
    return fits;
}

/* Marks a buffer as placed or unplaced. */
static void set_placed(struct exact *exact, uint32_t buffer, bool placed)
{
    const struct exact_buffers *all = &exact->buffers;
    if (exact->placed[buffer] == placed)
        return;
    exact->placed[buffer] = placed;
    for (uint32_t piece = all->pieces[buffer]; piece < all->pieces[buffer + 1]; piece++) {
        exact->piece_placed[piece] = placed;
        for (uint32_t at = all->piece_first[piece]; at < all->piece_last[piece]; at++)
            exact->unplaced[at] += placed ? UINT32_MAX : 1;
    }
}

/* Places a buffer at its bound, and raises the bounds of all buffers that overlap it in time.
 * Returns false if a section or a buffer no longer fits. */
static bool place(struct exact *exact, uint32_t buffer)
{
    int64_t top = exact->low[buffer] + exact->buffers.size[buffer];
    bool raised = true, banning = has_bans(exact);
    set_placed(exact, buffer, true);
    for (size_t i = exact->beside.start[buffer]; i < exact->beside.start[buffer + 1]; i++) {
        uint32_t other = exact->beside.items[i];
        if (!exact->placed[other] && !raise_to(exact, other, banning ? exact->low[other] : top))
            raised = false;
    }
    return changed_sections_fit(exact) && raised;
}

/* Returns the lowest top of an unplaced buffer that overlaps a buffer in time, or INT64_MAX. */
static int64_t lowest_top_beside(const struct exact *exact, uint32_t buffer)
{
    int64_t lowest = INT64_MAX;
    for (size_t i = exact->beside.start[buffer]; i < exact->beside.start[buffer + 1]; i++) {
        uint32_t other = exact->beside.items[i];
        int64_t top = exact->low[other] + exact->buffers.size[other];
        if (!exact->placed[other] && top < lowest)
            lowest = top;
    }
    return lowest;
}

/* Returns the lowest address above a buffer's bound at which a ban makes it rest on an unplaced
 * buffer, or INT64_MAX. */
static int64_t lowest_rest_by_bans(const struct exact *exact, uint32_t buffer)
{
    const struct exact_buffers *all = &exact->buffers;
    int64_t lowest = INT64_MAX, low = exact->low[buffer];
    for (uint32_t ban = all->bans[buffer]; ban < all->bans[buffer + 1]; ban++) {
        uint32_t other = all->ban_other[ban];
        if (exact->placed[other] || exact->low[other] + all->under[ban] >= low)
            continue;
        int64_t rest = exact->low[other] + all->over[ban];
        if (rest < low + all->step)
            rest = low + all->step;
        if (rest < lowest)
            lowest = rest;
    }
    return lowest;
}

/* Raises the bounds of a buffer and its twins, because they cannot be placed at their bound.
 * Returns false if a section or a buffer no longer fits. */
static bool raise_twins(struct exact *exact, const uint32_t *part, size_t count, uint32_t lowest)
{
    const uint32_t *twins = exact->buffers.twins;
    int64_t low = exact->low[lowest];
    bool raised = true, banning = has_bans(exact);
    for (size_t i = 0; i < count && raised; i++)
        if (twins[part[i]] == twins[lowest] && exact->low[part[i]] == low) {
            int64_t rest = banning ? lowest_rest_by_bans(exact, part[i])
                                   : lowest_top_beside(exact, part[i]);
            raised = rest != INT64_MAX && raise_to(exact, part[i], rest);
        }
    return changed_sections_fit(exact) && raised;
}

static uint32_t lowest_of(const struct exact *exact, const uint32_t *part, size_t count)
{
    uint32_t lowest = part[0];
    for (size_t i = 1; i < count; i++) {
        int64_t low = exact->low[part[i]];
        if (low < exact->low[lowest] ||
            (low == exact->low[lowest] && exact->buffers.rank[part[i]] < exact->buffers.rank[lowest]))
            lowest = part[i];
    }
    return lowest;
}

static bool visit(struct exact *exact)
{
    if (!exact->stopped)
        exact->stopped = exact->nodes == exact->limit ||
                         (exact->nodes % EXACT_STRIDE == 0 && !exact->goes_on(exact->context));
    if (!exact->stopped)
        exact->nodes++;
    return !exact->stopped;
}

static bool solve(struct exact *exact, const uint32_t *part, size_t count, uint32_t *rest);

/* Copies the unplaced buffers of a part to `rest` and solves them in parts without a common
 * section. Deeper nodes copy to the space after them. */
static bool solve_rest(struct exact *exact, const uint32_t *part, size_t count, uint32_t *rest)
{
    size_t left = 0, begin = 0;
    for (size_t i = 0; i < count; i++)
        if (!exact->placed[part[i]])
            rest[left++] = part[i];
    while (begin < left) {
        size_t end = begin;
        uint32_t reach = 0;
        while (end < left && (end == begin || exact->first[rest[end]] < reach)) {
            if (exact->last[rest[end]] > reach)
                reach = exact->last[rest[end]];
            end++;
        }
        if (!solve(exact, rest + begin, end - begin, rest + left))
            return false;
        begin = end;
    }
    return true;
}

/* Places the buffers of a part, which are sorted by first section. Returns false, with all of them
 * unplaced, if this is impossible. */
static bool solve(struct exact *exact, const uint32_t *part, size_t count, uint32_t *rest)
{
    size_t before = exact->raise_count;
    while (visit(exact)) {
        uint32_t lowest = lowest_of(exact, part, count);
        size_t undone = exact->raise_count;
        if (place(exact, lowest) && solve_rest(exact, part, count, rest))
            return true;
        undo(exact, undone);
        for (size_t i = 0; i < count; i++)
            set_placed(exact, part[i], false);
        if (exact->stopped || !raise_twins(exact, part, count, lowest))
            break;
    }
    undo(exact, before);
    return false;
}

/* Computes the first and last section of each buffer, and the pieces of each section. */
static bool find_members(struct exact *exact)
{
    const struct exact_buffers *all = &exact->buffers;
    struct exact_lists *members = &exact->members;
    members->start = calloc((size_t)all->sections + 2, sizeof *members->start);
    if (members->start == NULL)
        return false;
    for (uint32_t buffer = 0; buffer < all->count; buffer++) {
        exact->first[buffer] = UINT32_MAX;
        for (uint32_t piece = all->pieces[buffer]; piece < all->pieces[buffer + 1]; piece++) {
            exact->owner[piece] = buffer;
            if (all->piece_first[piece] < exact->first[buffer])
                exact->first[buffer] = all->piece_first[piece];
            if (all->piece_last[piece] > exact->last[buffer])
                exact->last[buffer] = all->piece_last[piece];
            for (uint32_t at = all->piece_first[piece]; at < all->piece_last[piece]; at++)
                members->start[at + 2]++;
        }
    }
    for (uint32_t section = 0; section < all->sections; section++)
        members->start[section + 2] += members->start[section + 1];
    members->items = calloc(members->start[all->sections + 1] + 1, sizeof *members->items);
    if (members->items == NULL)
        return false;
    for (uint32_t piece = 0; piece < all->all_pieces; piece++)
        for (uint32_t at = all->piece_first[piece]; at < all->piece_last[piece]; at++)
            members->items[members->start[at + 1]++] = piece;
    for (uint32_t section = 0; section < all->sections; section++)
        exact->unplaced[section] =
            (uint32_t)(members->start[section + 1] - members->start[section]);
    return true;
}

/* Returns the number of buffers that overlap a buffer in time, and writes them to `into` if it is
 * not NULL. `seen[b]` is 1 + the last buffer for which buffer b was counted. */
static size_t walk_beside(const struct exact *exact, uint32_t buffer, uint32_t *seen,
                          uint32_t *into)
{
    const struct exact_buffers *all = &exact->buffers;
    size_t count = 0;
    for (uint32_t piece = all->pieces[buffer]; piece < all->pieces[buffer + 1]; piece++) {
        size_t from = exact->members.start[all->piece_first[piece]];
        size_t to = exact->members.start[all->piece_last[piece]];
        for (size_t i = from; i < to; i++) {
            uint32_t other = exact->owner[exact->members.items[i]];
            if (other == buffer || seen[other] == buffer + 1)
                continue;
            seen[other] = buffer + 1;
            if (into != NULL)
                into[count] = other;
            count++;
        }
    }
    return count;
}

static bool find_beside(struct exact *exact)
{
    uint32_t count = exact->buffers.count;
    struct exact_lists *beside = &exact->beside;
    uint32_t *seen = calloc((size_t)count + 1, sizeof *seen);
    beside->start = calloc((size_t)count + 1, sizeof *beside->start);
    if (seen == NULL || beside->start == NULL) {
        free(seen);
        return false;
    }
    for (uint32_t buffer = 0; buffer < count; buffer++)
        beside->start[buffer + 1] =
            beside->start[buffer] + walk_beside(exact, buffer, seen, NULL);
    beside->items = calloc(beside->start[count] + 1, sizeof *beside->items);
    if (beside->items != NULL) {
        memset(seen, 0, (size_t)count * sizeof *seen);
        for (uint32_t buffer = 0; buffer < count; buffer++)
            walk_beside(exact, buffer, seen, &beside->items[beside->start[buffer]]);
    }
    free(seen);
    return beside->items != NULL;
}

static bool begin(struct exact *exact)
{
    size_t count = exact->buffers.count, sections = exact->buffers.sections;
    size_t pieces = exact->buffers.all_pieces;
    exact->changed_from = exact->buffers.sections;
    exact->placed = calloc(count + 1, sizeof *exact->placed);
    exact->owner = calloc(pieces + 1, sizeof *exact->owner);
    exact->piece_placed = calloc(pieces + 1, sizeof *exact->piece_placed);
    exact->piece_bound = calloc(pieces + 1, sizeof *exact->piece_bound);
    exact->changed = calloc(sections + 1, sizeof *exact->changed);
    exact->unplaced = calloc(sections + 1, sizeof *exact->unplaced);
    exact->lows = calloc(count + 1, sizeof *exact->lows);
    exact->first = calloc(count + 1, sizeof *exact->first);
    exact->last = calloc(count + 1, sizeof *exact->last);
    /* Space for all buffers and, for each open node at depth d, for at most count - d unplaced
     * buffers. */
    exact->parts = malloc((count + 1) * (count + 2) / 2 * sizeof *exact->parts);
    return exact->placed != NULL && exact->owner != NULL && exact->piece_placed != NULL &&
           exact->piece_bound != NULL && exact->changed != NULL && exact->unplaced != NULL &&
           exact->lows != NULL && exact->first != NULL && exact->last != NULL &&
           exact->parts != NULL && find_members(exact) && find_beside(exact);
}

static void end(struct exact *exact)
{
    free(exact->placed);
    free(exact->owner);
    free(exact->piece_placed);
    free(exact->piece_bound);
    free(exact->changed);
    free(exact->unplaced);
    free(exact->lows);
    free(exact->first);
    free(exact->last);
    free(exact->parts);
    free(exact->members.start);
    free(exact->members.items);
    free(exact->beside.start);
    free(exact->beside.items);
    free(exact->raises);
}

/* Returns whether every section fits before any buffer is placed. */
static bool all_sections_fit(struct exact *exact)
{
    for (uint32_t buffer = 0; buffer < exact->buffers.count; buffer++)
        if (exact->buffers.size[buffer] > exact->capacity)
            return false;
    for (uint32_t section = 0; section < exact->buffers.sections; section++)
        if (!section_fits(exact, section))
            return false;
    return true;
}

/* Writes all buffers, sorted by first section, to the start of the stack of parts. */
static void fill_first_part(struct exact *exact)
{
    size_t filled = 0;
    for (uint32_t section = 0; section < exact->buffers.sections; section++) {
        size_t from = exact->members.start[section], to = exact->members.start[section + 1];
        for (size_t i = from; i < to; i++) {
            uint32_t buffer = exact->owner[exact->members.items[i]];
            if (exact->first[buffer] == section)
                exact->parts[filled++] = buffer;
        }
    }
}

enum outcome exact_search(struct exact *exact)
{
    enum outcome outcome = REFUTED;
    if (!begin(exact)) {
        end(exact);
        return NO_MEMORY;
    }
    fill_first_part(exact);
    for (uint32_t buffer = 0; buffer < exact->buffers.count; buffer++)
        set_low(exact, buffer, 0);
    if (all_sections_fit(exact)) {
        bool solved = exact->buffers.count == 0 ||
                      solve(exact, exact->parts, exact->buffers.count,
                            exact->parts + exact->buffers.count);
        outcome = solved ? FITS : exact->stopped ? UNDECIDED : REFUTED;
        if (exact->out_of_memory)
            outcome = NO_MEMORY;
    }
    end(exact);
    return outcome;
}
