/* Passes the events on standard input to the recorder for boards, and writes its stream to standard output.
 *
 * A line is `m ADDRESS SIZE`, `c ADDRESS SIZE`, `l ADDRESS ALIGNMENT SIZE`, `r OLD NEW SIZE`, `f ADDRESS`, `t THREAD`,
 * `x THREAD`, `@ TICKS`, `s CALLER`, or `d` to drain the ring. */
#include <inttypes.h>
#include <stdio.h>

#include "simalloc_board.h"

uintptr_t thread;
uint32_t ticks;

static void put(unsigned char byte, void *context)
{
    (void)context;
    putchar(byte);
}

static void drain(void)
{
#ifdef TEXT
    simalloc_board_drain_text(put, NULL, (size_t)-1);
#else
    simalloc_board_drain(put, NULL, (size_t)-1);
#endif
}

static void take(char kind, const uintptr_t *numbers, const void *caller)
{
    const void *block = (const void *)numbers[0];
    switch (kind) {
    case 'm': simalloc_board_malloc(block, numbers[1], caller); break;
    case 'c': simalloc_board_calloc(block, numbers[1], caller); break;
    case 'l': simalloc_board_aligned(block, numbers[1], numbers[2], caller); break;
    case 'r': simalloc_board_realloc(block, (const void *)numbers[1], numbers[2], caller); break;
    case 'f': simalloc_board_free(block, caller); break;
    case 'x': simalloc_board_thread_end(numbers[0]); break;
    case 't': thread = numbers[0]; break;
    case '@': ticks = (uint32_t)numbers[0]; break;
    case 'd': drain(); break;
    }
}

int main(void)
{
    char line[200], kind;
    const void *caller = NULL;
    while (fgets(line, sizeof line, stdin)) {
        uintptr_t numbers[3] = {0};
        sscanf(line, "%c %" SCNuPTR " %" SCNuPTR " %" SCNuPTR, &kind, &numbers[0], &numbers[1], &numbers[2]);
        if (kind == 's')
            caller = (const void *)numbers[0];
        else
            take(kind, numbers, caller);
    }
    drain();
    simalloc_board_flush();
    drain();
    fprintf(stderr, "%" PRIu32 " %" PRIu32 "\n", simalloc_board_events(), simalloc_board_lost());
    return 0;
}
