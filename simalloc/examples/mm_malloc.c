/* Turns a solution of the malloc lab into a malloc library for `simalloc native`.
 *
 *   cc -O2 -shared -fPIC -pthread -o libmm.so mm.c mm_malloc.c
 *   simalloc native short1-bal.rep -a glibc,./libmm.so
 *
 * Compile it in the folder of the handout, in place of mdriver.c and memlib.c. Add -DDRIVER if your
 * mm.c needs this macro to name its functions mm_malloc, mm_free and mm_realloc. The heap grows by
 * sbrk(), so it is not limited to the lab's 20 MB. The lab's functions are not thread-safe, so each
 * call holds one lock. An object with a requested alignment is placed within a larger block. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

int mm_init(void);
void *mm_malloc(size_t size);
void mm_free(void *payload);
void *mm_realloc(void *payload, size_t size);

enum { LAB_ALIGNMENT = 8 }; /* minimum alignment of mm_malloc's results; 16 in the 64-bit lab */

static char *lowest, *end; /* bounds of the heap: [lowest, end) */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* memlib.h */

void *mem_sbrk(int bytes)
{
    if (bytes < 0 || sbrk(bytes) == (void *)-1) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += bytes;
    return end - bytes;
}

void mem_init(void) {}
void mem_deinit(void) {}
void *mem_heap_lo(void) { return lowest; }
void *mem_heap_hi(void) { return end - 1; }
size_t mem_heapsize(void) { return (size_t)(end - lowest); }
size_t mem_pagesize(void) { return (size_t)getpagesize(); }

/* Creates the heap at the first call. Returns 0 with the lock held, or -1 without the lock, with
 * errno set, if the heap cannot be created. */
static int begin(void)
{
    pthread_mutex_lock(&lock);
    if (lowest != NULL)
        return 0;
    uintptr_t page = (uintptr_t)getpagesize();
    sbrk((intptr_t)(-(uintptr_t)sbrk(0) % page));
    lowest = end = sbrk(0);
    if (mm_init() >= 0)
        return 0;
    lowest = NULL;
    pthread_mutex_unlock(&lock);
    errno = ENOMEM;
    return -1;
}

static void *done(void *payload)
{
    pthread_mutex_unlock(&lock);
    if (payload == NULL)
        errno = ENOMEM;
    return payload;
}

/* An object within a larger block of the lab's malloc. The object starts behind the struct. */
struct aligned {
    struct aligned *next;
    void *block;
    size_t size; /* bytes of the object */
};

static struct aligned *aligned; /* list of all aligned objects, usually empty */

/* Returns the link to the aligned object at an address, or NULL for other objects. */
static struct aligned **find_aligned(void *payload)
{
    for (struct aligned **link = &aligned; *link != NULL; link = &(*link)->next)
        if (*link + 1 == payload)
            return link;
    return NULL;
}

static void release(void *payload)
{
    struct aligned **link = find_aligned(payload);
    if (link != NULL) {
        payload = (*link)->block;
        *link = (*link)->next;
    }
    mm_free(payload);
}

static void *resize(void *payload, size_t size)
{
    struct aligned **link = find_aligned(payload);
    if (link == NULL)
        return mm_realloc(payload, size);
    void *moved = mm_malloc(size);
    if (moved != NULL) {
        memcpy(moved, payload, size < (*link)->size ? size : (*link)->size);
        release(payload);
    }
    return moved;
}

static void *place(size_t alignment, size_t size)
{
    size_t whole;
    if (__builtin_add_overflow(size, alignment + sizeof(struct aligned), &whole))
        return NULL;
    char *block = mm_malloc(whole);
    if (block == NULL)
        return NULL;
    uintptr_t lowest_end = (uintptr_t)(block + sizeof(struct aligned));
    struct aligned *made = (struct aligned *)(lowest_end + -lowest_end % alignment) - 1;
    *made = (struct aligned){aligned, block, size};
    aligned = made;
    return made + 1;
}

/* stdlib.h and malloc.h */

void *malloc(size_t size)
{
    return begin() < 0 ? NULL : done(mm_malloc(size > 0 ? size : 1));
}

void free(void *payload)
{
    int before = errno;
    if (payload != NULL && begin() == 0) {
        release(payload);
        pthread_mutex_unlock(&lock);
    }
    errno = before;
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || begin() < 0)
        return NULL;
    void *payload = done(mm_malloc(bytes > 0 ? bytes : 1)); /* malloc + memset may become calloc */
    return payload == NULL ? NULL : memset(payload, 0, bytes);
}

void *realloc(void *payload, size_t size)
{
    if (payload == NULL)
        return malloc(size);
    if (size == 0) {
        free(payload);
        return NULL;
    }
    return begin() < 0 ? NULL : done(resize(payload, size));
}

void *memalign(size_t alignment, size_t size)
{
    if (alignment <= LAB_ALIGNMENT)
        return malloc(size);
    return begin() < 0 ? NULL : done(place(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void *valloc(size_t size) { return memalign(mem_pagesize(), size); }

int posix_memalign(void **payload, size_t alignment, size_t size)
{
    int before = errno;
    void *made = memalign(alignment, size);
    errno = before;
    if (made == NULL)
        return ENOMEM;
    *payload = made;
    return 0;
}
