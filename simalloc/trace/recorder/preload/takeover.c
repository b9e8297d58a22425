#include "takeover.h"

#include "elf_object.h"
#include "malloc.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_OWN = 1024 }; /* more than the number of symbols that this library exports */

enum direction { TO_US, TO_THEM };

struct walk {
    enum direction direction;
    bool alone; /* true if no other thread runs */
    int error;  /* errno of a failed write to an entry, or 0 */
};

static struct elf_object self;           /* the recorder's own library */
static void *originals[MAX_OWN];         /* the program's function by the number of this library's
                                          * symbol, or NULL before its look-up */
static unsigned long long walked;        /* number of objects ever loaded, at the last rewriting of
                                          * entries */
static bool active;                      /* true while entries point to this library */
static int locked;                       /* nonzero while a thread is rewriting the entries of new
                                          * objects */

static void *watched_dlsym(void *handle, const char *name);
static void *watched_dlvsym(void *handle, const char *name, const char *version);

/* Functions that are watched only after an attach. A preloaded library with these functions would
 * intercept its own calls. */
static const struct {
    const char *name;
    void *function;
} watched[] = {{"dlsym", (void *)(uintptr_t)watched_dlsym},
               {"dlvsym", (void *)(uintptr_t)watched_dlvsym}};

struct search {
    const char *name;
    void *found;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *of)
{
    struct search *search = of;
    struct elf_object object;
    uint32_t number;
    (void)size;
    if (!elf_object_of(info, &object) || elf_object_has(&object, originals))
        return 0;
    search->found = elf_object_symbol(&object, search->name, &number);
    return search->found != NULL;
}

void *takeover_original(const char *name)
{
    struct search search = {.name = name};
    dl_iterate_phdr(search_object, &search);
    return search.found;
}

/* Returns whether calls of a function are not redirected. Programs that this program starts are not
 * recorded, so functions that start programs are excluded. Most mappings are older than the
 * recording, so mapping functions are excluded too. */
static bool is_left_alone(const char *name)
{
    static const char *const beginnings[] = {"exec", "mmap",   "mremap",   "munmap",
                                             "posix_spawn", "set", "simalloc_"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Returns our function that replaces the program's function of this name, or NULL. Stores the
 * program's function in `*theirs`. */
static void *replacement(const char *name, void **theirs)
{
    uint32_t number;
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        if (strcmp(name, watched[i].name) == 0) {
            *theirs = takeover_original(name);
            return watched[i].function;
        }
    void *ours = elf_object_symbol(&self, name, &number);
    if (ours == NULL || number >= MAX_OWN || is_left_alone(name))
        return NULL;
    if (originals[number] == NULL)
        originals[number] = takeover_original(name);
    *theirs = originals[number];
    return ours;
}

/* Returns whether a word is writable, by letting the kernel add 0 to it. */
static bool is_writable(void *word)
{
    uint32_t own = 0;
    return syscall(SYS_futex, &own, FUTEX_WAKE_OP_PRIVATE, 0, NULL, word,
                   FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

/* Writes to an entry that may be in a page that the loader makes read-only after filling it. If the
 * page is still writable while other threads run, the dlopen of another thread may be filling it.
 * In that case nothing is written, because that thread's next dlsym rewrites the entry. */
static void write_protected(struct walk *walk, void **entry, void *value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)entry / page * page);
    if (is_writable(entry)) {
        if (walk->alone)
            __atomic_store_n(entry, value, __ATOMIC_RELEASE);
        return;
    }
    if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
        walk->error = errno;
        return;
    }
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
    mprotect(start, page, PROT_READ);
}

static void rewrite(const struct elf_object *object, const struct elf_entry *entry, void *of)
{
    struct walk *walk = of;
    void *theirs = NULL, *ours = replacement(entry->name, &theirs);
    if (ours == NULL || theirs == NULL)
        return;
    void *now = __atomic_load_n(entry->place, __ATOMIC_RELAXED);
    /* Until the loader fills such an entry at the first call, the entry points into its own
     * object. */
    bool waiting = entry->is_lazy && elf_object_has(object, now);
    if (walk->direction == TO_US ? now != theirs && !waiting : now != ours)
        return;
    void *value = walk->direction == TO_US ? ours : theirs;
    if (!elf_object_protects(object, entry->place))
        __atomic_store_n(entry->place, value, __ATOMIC_RELEASE);
    else
        write_protected(walk, entry->place, value);
}

static int rewrite_object(struct dl_phdr_info *info, size_t size, void *of)
{
    struct elf_object object;
    (void)size;
    if (elf_object_of(info, &object) && object.base != self.base)
        elf_object_entries(&object, rewrite, of);
    return 0;
}

static int rewrite_all(enum direction direction, bool alone)
{
    struct walk walk = {direction, alone, 0};
    dl_iterate_phdr(rewrite_object, &walk);
    return walk.error;
}

static int find_self(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct elf_object object;
    (void)size, (void)unused;
    if (!elf_object_of(info, &object) || !elf_object_has(&object, originals))
        return 0;
    self = object;
    return 1;
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

static unsigned long long loaded(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(count_loaded, &count);
    return count;
}

int takeover_begin(void)
{
    dl_iterate_phdr(find_self, NULL);
    walked = loaded();
    active = true;
    return rewrite_all(TO_US, true);
}

void takeover_end(void)
{
    active = false;
    rewrite_all(TO_THEM, true);
    memset(originals, 0, sizeof originals); /* the libraries may be unloaded before the next
                                             * attach */
}

static void take_over_new(void)
{
    int error = errno;
    begin_use();
    unsigned long long now = loaded();
    if (active && __atomic_exchange_n(&walked, now, __ATOMIC_RELAXED) != now) {
        while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
            sched_yield();
        rewrite_all(TO_US, false);
        __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
    }
    end_use();
    errno = error;
}

/* A program looks up the functions of a library that it has loaded before it calls them. Therefore
 * the entries of new objects are rewritten here. The loader's result depends on its caller, so both
 * functions end in a tail call, which leaves no frame of ours. */
static void *watched_dlsym(void *handle, const char *name)
{
    static void *(*behind)(void *, const char *);
    take_over_new();
    if (behind == NULL)
        behind = (void *(*)(void *, const char *))takeover_original("dlsym");
    return behind(handle, name);
}

static void *watched_dlvsym(void *handle, const char *name, const char *version)
{
    static void *(*behind)(void *, const char *, const char *);
    take_over_new();
    if (behind == NULL)
        behind = (void *(*)(void *, const char *, const char *))takeover_original("dlvsym");
    return behind(handle, name, version);
}
