#include "live_bytes.h"

#include "event.h"

bool live_bytes(size_t count, const uint8_t *op, const int64_t *size, const uint32_t *slot,
                int64_t *held, size_t slots, int64_t *live)
{
    int64_t now = 0;
    for (size_t i = 0; i < count; i++) {
        if (!op_allocates(op[i]) && op[i] != OP_FREE) {
            live[i] = now;
            continue;
        }
        if (slot[i] >= slots)
            return false;
        int64_t holds = op[i] == OP_FREE ? 0 : size[i];
        now += holds - held[slot[i]];
        held[slot[i]] = holds;
        live[i] = now;
    }
    return true;
}

static inline __attribute__((always_inline)) void sum_up(const int64_t *live, const int64_t *size,
                                                         struct live_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++)
        spans[i] = live_span_of(&live[i * SPAN_EVENTS], &size[i * SPAN_EVENTS], SPAN_EVENTS);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void sum_up_avx2(const int64_t *live, const int64_t *size,
                                                        struct live_span *spans, size_t count)
{
    sum_up(live, size, spans, count);
}
#endif

void live_spans(const int64_t *live, const int64_t *size, struct live_span *spans, size_t count)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        sum_up_avx2(live, size, spans, count);
        return;
    }
#endif
    sum_up(live, size, spans, count);
}
