/* Calls every function of the malloc family, including its corner cases. */
#include "say.h"

#include <errno.h>

static struct account account;

/* Prevents the compiler from removing calls and from warning about them. */
static void *hide(void *address)
{
    __asm__ volatile("" : "+r"(address));
    return address;
}

static void said_free(void *address)
{
    say(&account, 'f', address, 0, 0);
    free(address);
}

static void said_malloc(void *address, size_t size, size_t alignment)
{
    say(&account, 'm', address, size, alignment);
}

static void plain(void)
{
    void *empty = hide(malloc(0));
    said_malloc(empty, 0, 0);
    void *zeroed = hide(calloc(7, 30));
    say(&account, 'c', zeroed, 210, 0);
    free(hide(NULL));
    said_free(empty);
    said_free(zeroed);
}

static void impossible(void)
{
    volatile size_t huge = SIZE_MAX / 2 - 100;
    void *block = hide(malloc(50));
    said_malloc(block, 50, 0);
    if (malloc(huge) || calloc(huge, 16) || realloc(block, huge) || reallocarray(block, huge, 16) ||
        aligned_alloc(64, huge) || errno != ENOMEM)
        abort();
    void *unset = block;
    if (posix_memalign(&unset, 3, 8) != EINVAL || posix_memalign(&unset, 64, huge) != ENOMEM)
        abort();
    said_free(block);
}

static void reallocs(void)
{
    void *block = hide(realloc(NULL, 24));
    said_malloc(block, 24, 0);
    block = hide(realloc(block, 20));
    say(&account, 'r', block, 20, 0);
    void *fence = hide(malloc(24));
    said_malloc(fence, 24, 0);
    block = hide(realloc(block, 3000));
    say(&account, 'r', block, 3000, 0);
    block = hide(reallocarray(block, 100, 5000)); /* mapped */
    say(&account, 'r', block, 500000, 0);
    block = hide(reallocarray(block, 1000, 5000)); /* perhaps mapped elsewhere */
    say(&account, 'r', block, 5000000, 0);
    say(&account, 'f', block, 0, 0);
    if (hide(realloc(block, 0)) != NULL)
        abort();
    void *array = hide(reallocarray(NULL, 3, 5));
    said_malloc(array, 15, 0);
    said_free(fence);
    said_free(array);
}

static void aligned(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *blocks[6];
    if (posix_memalign(&blocks[0], 64, 100) != 0)
        abort();
    said_malloc(blocks[0], 100, 64);
    said_malloc(blocks[1] = aligned_alloc(256, 512), 512, 256);
    said_malloc(blocks[2] = memalign(4096, 10), 10, 4096);
    said_malloc(blocks[3] = valloc(11), 11, page);
    said_malloc(blocks[4] = pvalloc(12), page, page);
    said_malloc(blocks[5] = pvalloc(page), page, page);
    for (int i = 5; i >= 0; i--)
        said_free(blocks[i]);
}

int main(void)
{
    account = account_open(1000);
    void *mark = hide(malloc(MARK));
    plain();
    impossible();
    reallocs();
    aligned();
    free(mark);
    account_write(&account);
    return 0;
}
