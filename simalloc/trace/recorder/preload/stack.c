/* Stack walking. On x86-64, the unwinding tables are read once for each return address, and the
 * results are cached; a frame then costs a few loads. Code that is compiled at run time has no
 * tables. Its frames are walked by frame pointers if these point up the stack. On other machines,
 * the compiler's library unwinds the stack. */
#include "stack.h"

#include "bounds.h"
#include "process.h"
#include "tables.h"

#include <stdbool.h>

enum { MAX_OWN = 16 }; /* maximum number of our own frames and signal frames below the caller */

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)

#include <ucontext.h>

enum { KEPT_BITS = 14, KEPT = 1 << KEPT_BITS, FARTHEST = 1 << 20, ADDRESS_BITS = 48 };

/* Entry of the cache. Threads store and load entries without locks. `mixed` is the key xor the
 * rule, so that halves of two different entries never match. */
struct kept_rule {
    uint64_t mixed;
    uint64_t rule;
};

struct place {
    uintptr_t ip, sp, bp;
    bool exact; /* true if `ip` is the current instruction, false if it is a return address */
};

static struct kept_rule *kept;

_Bool stack_begin(void)
{
    if (kept == NULL)
        kept = process_memory(KEPT * sizeof *kept);
    return kept != NULL;
}

void stack_forget(void)
{
    kept = NULL;
}

void stack_begin_thread(void)
{
    stack_find_bounds();
}

static struct rule rule_of(uintptr_t instruction)
{
    union {
        struct rule rule;
        uint64_t word;
    } as;
    uint64_t key = instruction ^ (uint64_t)stack_epoch() << ADDRESS_BITS;
    struct kept_rule *entry = &kept[key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KEPT_BITS)];
    uint64_t mixed = __atomic_load_n(&entry->mixed, __ATOMIC_RELAXED);
    as.word = __atomic_load_n(&entry->rule, __ATOMIC_RELAXED);
    if ((mixed ^ as.word) != key) {
        as.rule = rule_at(instruction);
        __atomic_store_n(&entry->mixed, key ^ as.word, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->rule, as.word, __ATOMIC_RELAXED);
    }
    return as.rule;
}

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* Returns whether the frame pointer is plausible: readable memory a short distance up the stack. */
static bool leads_up(const struct place *place)
{
    return place->bp >= place->sp && place->bp - place->sp < FARTHEST &&
           place->bp % sizeof(uintptr_t) == 0 && stack_is_readable(place->sp, place->bp);
}

static bool leave_signal(struct place *place)
{
    const ucontext_t *context = (const ucontext_t *)place->sp;
    place->ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    place->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    place->bp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
    place->exact = true;
    return true;
}

/* Moves to the caller. Returns false at the end of the stack. */
static bool go_up(struct place *place)
{
    struct rule rule = rule_of(place->exact ? place->ip : place->ip - 1);
    uintptr_t end = (uintptr_t)(intptr_t)rule.offset;
    uintptr_t saved = (uintptr_t)(intptr_t)rule.saved;
    switch ((enum frame_end)rule.end) {
    case END_OF_STACK:
        return false;
    case END_SIGNAL:
        return leave_signal(place);
    case END_SP:
        end += place->sp;
        break;
    case END_BP:
        end += place->bp;
        break;
    case END_AT_BP:
        end = word_at(end + place->bp);
        saved = place->bp - end;
        break;
    case END_UNKNOWN:
        if (!leads_up(place))
            return false;
        end = place->bp + 2 * sizeof(uintptr_t);
        saved = place->bp - end;
        break;
    }
    if (end <= place->sp)
        return false;
    place->ip = word_at(end - sizeof(uintptr_t));
    place->bp = saved != 0 ? word_at(end + saved) : place->bp;
    place->sp = end;
    place->exact = false;
    return place->ip != 0;
}

__attribute__((noinline)) size_t stack_from(const void *caller, uintptr_t *addresses, size_t most)
{
    struct place place = {.exact = true};
    size_t count = 0;
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=&r"(place.ip), "=&r"(place.sp), "=&r"(place.bp));
    for (unsigned own = 0; place.ip != (uintptr_t)caller; own++)
        if (own == MAX_OWN || !go_up(&place)) {
            addresses[0] = (uintptr_t)caller;
            return 1;
        }
    for (;;) { /* a place is identified by the byte before it, which belongs to the call */
        addresses[count++] = place.ip + place.exact;
        if (count == most || !go_up(&place))
            return count;
        addresses[count - 1] += place.exact; /* the frame that a signal has interrupted contains no
                                              * call */
    }
}

#else

#include <unwind.h>

struct search {
    uintptr_t caller;
    uintptr_t *addresses;
    size_t most;
    size_t count;
    unsigned own;
};

_Bool stack_begin(void)
{
    return true;
}

void stack_forget(void)
{
}

void stack_begin_thread(void)
{
}

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *argument)
{
    struct search *search = argument;
    uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (search->count > 0 || address == search->caller)
        search->addresses[search->count++] = address;
    else if (++search->own > MAX_OWN)
        return _URC_END_OF_STACK;
    return search->count == search->most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

size_t stack_from(const void *caller, uintptr_t *addresses, size_t most)
{
    struct search search = {(uintptr_t)caller, addresses, most, 0, 0};
    _Unwind_Backtrace(look_at_frame, &search);
    addresses[0] = (uintptr_t)caller;
    return search.count == 0 ? 1 : search.count;
}

#endif
