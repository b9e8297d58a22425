/* A solution of the malloc lab (Bryant & O'Hallaron, Computer Systems, chapter 9): first fit on one
 * LIFO list of free blocks, with boundary tags and immediate coalescing.
 *
 * A block is a header, the payload and a footer. Header and footer are the same word: the size of
 * the block, with 1 in the lowest bit if the block is allocated. The payload of a free block starts
 * with two links. Replace this file by your own mm.c. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *mem_sbrk(int bytes); /* memlib.h of the handout */

enum { WORD = 8, ALIGNMENT = 16, MINIMUM = 32, CHUNK = 4096 };

struct free_block {
    struct free_block *previous, *next;
};

static struct free_block *first; /* head of the free list, or NULL */

static size_t *header(void *payload) { return (size_t *)payload - 1; }
static size_t size_of(void *payload) { return *header(payload) & ~(size_t)1; }
static int is_free(void *payload) { return !(*header(payload) & 1); }
static void *after(void *payload) { return (char *)payload + size_of(payload); }

/* Returns the block below. Its footer is the word in front of this block's header. */
static void *before(void *payload)
{
    return (char *)payload - (((size_t *)payload)[-2] & ~(size_t)1);
}

static void mark(void *payload, size_t size, int allocated)
{
    *header(payload) = size | (size_t)allocated;
    *(size_t *)((char *)payload + size - 2 * WORD) = size | (size_t)allocated;
}

static void link_at(struct free_block *previous, struct free_block *block, struct free_block *next)
{
    block->previous = previous;
    block->next = next;
    *(previous ? &previous->next : &first) = block;
    if (next)
        next->previous = block;
}

static void leave(struct free_block *block)
{
    *(block->previous ? &block->previous->next : &first) = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

/* Merges a block with its free neighbours and puts the result in front of the list. */
static void enter(void *payload)
{
    size_t size = size_of(payload);
    void *above = after(payload);
    if (is_free(above)) {
        leave(above);
        size += size_of(above);
    }
    if (!(((size_t *)payload)[-2] & 1)) {
        payload = before(payload);
        leave(payload);
        size += size_of(payload);
    }
    mark(payload, size, 0);
    link_at(NULL, payload, first);
}

/* Extends the heap. The old end marker becomes the header of the new block. Returns 0, or -1 if no
 * memory is left. */
static int extend(size_t size)
{
    size_t bytes = (size + CHUNK - 1) / CHUNK * CHUNK;
    void *payload = mem_sbrk((int)bytes);
    if (payload == (void *)-1)
        return -1;
    mark(payload, bytes, 1);
    *header(after(payload)) = 1;
    enter(payload);
    return 0;
}

int mm_init(void)
{
    size_t *start = mem_sbrk(2 * WORD); /* a footer below the first block, and the end marker */
    if (start == (void *)-1)
        return -1;
    start[0] = start[1] = 1;
    first = NULL;
    return 0;
}

static void *find(size_t size)
{
    struct free_block *block = first;
    while (block && size_of(block) < size)
        block = block->next;
    return block;
}

/* Allocates the low end of a free block. The remainder keeps the block's position in the list. */
static void *place(struct free_block *block, size_t size)
{
    size_t rest = size_of(block) - size;
    if (rest < MINIMUM) {
        leave(block);
        mark(block, size + rest, 1);
        return block;
    }
    struct free_block *previous = block->previous, *next = block->next;
    mark(block, size, 1);
    mark(after(block), rest, 0);
    link_at(previous, after(block), next);
    return block;
}

void *mm_malloc(size_t wanted)
{
    if (wanted > INT32_MAX - CHUNK)
        return NULL;
    size_t size = (wanted + 2 * WORD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size = size < MINIMUM ? MINIMUM : size;
    void *block = find(size);
    if (!block && extend(size) == 0)
        block = find(size);
    return block ? place(block, size) : NULL;
}

void mm_free(void *payload)
{
    if (payload)
        enter(payload);
}

void *mm_realloc(void *payload, size_t wanted)
{
    void *moved = mm_malloc(wanted);
    if (payload && moved) {
        size_t had = size_of(payload) - 2 * WORD;
        memcpy(moved, payload, had < wanted ? had : wanted);
        mm_free(payload);
    }
    return moved;
}
