/* Calls the functions that allocators export under their own names, if they exist. */
#include "say.h"

#include <dlfcn.h>

static struct account account;

typedef void *of_size(size_t size);
typedef void *of_count(size_t count, size_t size);
typedef void *of_alignment(size_t size, size_t alignment);
typedef void *of_flags(size_t size, int flags);
typedef void *to_size(void *address, size_t size);
typedef void *to_flags(void *address, size_t size, int flags);
typedef size_t in_place(void *address, size_t size, size_t extra, int flags);
typedef void freeing(void *address);
typedef void freeing_by(void *address, size_t size);
typedef void freeing_flags(void *address, size_t size, int flags);
typedef void *heap_new(void);
typedef void *of_heap(void *heap, size_t size);
typedef void *heap_to(void *heap, void *address, size_t size);

#define FIND(type, name) type *name = (type *)dlsym(RTLD_DEFAULT, #name)

static void *took(char op, void *address, size_t size, size_t alignment)
{
    say(&account, op, address, size, alignment);
    return address;
}

static void *leaves(void *address)
{
    say(&account, 'f', address, 0, 0);
    return address;
}

static void jemalloc(void)
{
    FIND(of_flags, mallocx);
    FIND(to_flags, rallocx);
    FIND(in_place, xallocx);
    FIND(freeing_flags, sdallocx);
    void *block = took('m', mallocx(100, 0), 100, 0);
    void *wide = took('m', mallocx(3000, 9), 3000, 512);
    void *zeroed = took('c', mallocx(200, 0x40), 200, 0);
    block = rallocx(block, 70000, 0);
    took('r', block, 70000, 0);
    if (xallocx(block, 65537, 0, 0) >= 65537)
        took('r', block, 65537, 0);
    sdallocx(leaves(block), 65537, 0);
    sdallocx(leaves(wide), 3000, 9);
    sdallocx(leaves(zeroed), 200, 0);
}

static void tcmalloc(void)
{
    FIND(of_size, tc_malloc);
    FIND(of_count, tc_calloc);
    FIND(to_size, tc_realloc);
    FIND(freeing, tc_free);
    FIND(of_size, tc_new);
    FIND(freeing, tc_delete);
    FIND(freeing_by, tc_delete_sized);
    FIND(of_alignment, tc_new_aligned);
    FIND(freeing_by, tc_delete_aligned);
    void *block = took('m', tc_malloc(100), 100, 0);
    void *zeroed = took('c', tc_calloc(3, 50), 150, 0);
    void *object = took('m', tc_new(77), 77, 0);
    void *wide = took('m', tc_new_aligned(80, 256), 80, 256);
    block = took('r', tc_realloc(block, 9000), 9000, 0);
    tc_free(leaves(block));
    tc_delete(leaves(zeroed));
    tc_delete_sized(leaves(object), 77);
    tc_delete_aligned(leaves(wide), 256);
}

static void mimalloc(void *heap)
{
    FIND(of_size, mi_malloc);
    FIND(of_size, mi_zalloc);
    FIND(of_count, mi_mallocn);
    FIND(of_count, mi_new_n);
    FIND(to_size, mi_realloc);
    FIND(of_alignment, mi_malloc_aligned);
    FIND(freeing, mi_free);
    FIND(freeing_by, mi_free_size);
    FIND(of_heap, mi_heap_malloc);
    FIND(heap_to, mi_heap_realloc);
    void *block = took('m', mi_malloc(100), 100, 0);
    void *zeroed = took('c', mi_zalloc(150), 150, 0);
    void *several = took('m', mi_mallocn(10, 33), 330, 0);
    void *objects = took('m', mi_new_n(5, 60), 300, 0);
    void *wide = took('m', mi_malloc_aligned(80, 4096), 80, 4096);
    block = took('r', mi_realloc(block, 90000), 90000, 0);
    mi_free(leaves(block));
    void *mine = took('m', mi_heap_malloc(heap, 500), 500, 0);
    mine = took('r', mi_heap_realloc(heap, mine, 5000), 5000, 0);
    mi_free_size(leaves(zeroed), 150);
    mi_free(leaves(several));
    mi_free(leaves(objects));
    mi_free(leaves(wide));
    mi_free(leaves(mine));
}

int main(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "";
    void *heap = NULL;
    account = account_open(1000);
    if (strcmp(name, "mimalloc") == 0) { /* mimalloc itself allocates something */
        FIND(heap_new, mi_heap_new);
        heap = mi_heap_new();
    }
    void *mark = malloc(MARK);
    if (heap != NULL)
        mimalloc(heap);
    else if (strcmp(name, "jemalloc") == 0)
        jemalloc();
    else
        tcmalloc();
    free(mark);
    account_write(&account);
    return 0;
}
