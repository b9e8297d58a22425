/* Random requests of LVGL's heap, seeded, with the recorder's stream on standard output. */
#include <stdio.h>

#include "lvgl.h"
#include "simalloc_board.h"

enum { SLOTS = 64, TURNS = 3000 };

void lv_mem_init(void);

static void put(unsigned char byte, void *context)
{
    (void)context;
    putchar(byte);
}

static uint32_t random_below(uint32_t limit)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void *changed(void *block)
{
    void *moved;
    if (block == NULL)
        return random_below(4) ? lv_malloc(1 + random_below(500)) : lv_zalloc(1 + random_below(2000));
    if (random_below(3)) {
        lv_free(block);
        return NULL;
    }
    moved = lv_realloc(block, 1 + random_below(900));
    return moved ? moved : block;
}

int main(void)
{
    static void *slots[SLOTS];
    lv_mem_init();
    for (int turn = 0; turn < TURNS; turn++) {
        void **slot = &slots[random_below(SLOTS)];
        *slot = changed(*slot);
        simalloc_board_drain(put, NULL, (size_t)-1);
    }
    simalloc_board_flush();
    simalloc_board_drain(put, NULL, (size_t)-1);
    return 0;
}
