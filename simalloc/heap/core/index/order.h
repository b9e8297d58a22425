/* Order in which free blocks are listed and searched, with the names that descriptions use. */
#ifndef SIMALLOC_ORDER_H
#define SIMALLOC_ORDER_H

enum fit { FIT_FIRST, FIT_NEXT, FIT_BEST, FIT_WORST };
enum order { ORDER_LIFO, ORDER_FIFO, ORDER_ADDRESS };

static const char *const fit_names[] = {
    [FIT_FIRST] = "first", [FIT_NEXT] = "next", [FIT_BEST] = "best", [FIT_WORST] = "worst"};
static const char *const order_names[] = {
    [ORDER_LIFO] = "lifo", [ORDER_FIFO] = "fifo", [ORDER_ADDRESS] = "ao"};

#endif
