/* The device: bytes that are granted while they last, and addresses that are used once. */
#ifndef SIMALLOC_DEVICE_MEMORY_H
#define SIMALLOC_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a device grants is a multiple of this, and begins at one. */
#define GRANULE (UINT64_C(2) << 20)

/* What was taken, or with a size below 0 given back, by one call. */
struct call {
    int64_t event; /* from 0 on */
    int64_t address;
    int64_t size;
};

struct memory {
    uint64_t capacity;
    uint64_t taken; /* <= capacity */
    uint64_t next;  /* the address after all that were ever given out */
    uint64_t allocations, frees; /* calls */
    bool keeps_calls;
    bool lost_calls; /* host memory is exhausted */
    int64_t event;   /* that is being carried out, while calls are kept */
    struct call *calls;
    size_t call_count, call_capacity;
};

static inline uint64_t round_up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Puts where new memory begins; false if the device has no room for it. */
bool memory_allocate(struct memory *memory, uint64_t size, uint64_t *address);
void memory_free(struct memory *memory, uint64_t address, uint64_t size);

/* Gives out addresses without memory. */
uint64_t memory_reserve(struct memory *memory, uint64_t size);
bool memory_map(struct memory *memory, uint64_t address, uint64_t size);
void memory_unmap(struct memory *memory, uint64_t address, uint64_t size);

#endif
