/* What the program's own unwinding tables (.eh_frame: DWARF 5, section 6.4; System V ABI for
 * x86-64, section 3.7) say of one instruction: where the caller's frame is. */
#ifndef SIMALLOC_RECORDING_TABLES_H
#define SIMALLOC_RECORDING_TABLES_H

#include <stdint.h>

/* Where the frame of a function ends: the value that the stack pointer has again in its caller. */
enum frame_end {
    END_UNKNOWN, /* there is no table, or it says more than these rules can */
    END_OF_STACK,
    END_SIGNAL, /* the frame that the kernel has made for a signal handler */
    END_SP,     /* stack pointer + offset */
    END_BP,     /* frame pointer + offset */
    END_AT_BP,  /* stored at frame pointer + offset; the caller's frame pointer is stored at it */
};

/* In 64 bits, so that it can be stored at once. */
struct rule {
    int32_t offset;
    int16_t saved; /* the caller's frame pointer, from the frame's end on; 0: it is the same */
    uint16_t end;
};

struct rule rule_at(uintptr_t instruction);

#endif
