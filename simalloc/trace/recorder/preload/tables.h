/* Location of the caller's frame at an instruction, by the program's own unwinding tables
 * (.eh_frame: DWARF 5, section 6.4; System V ABI for x86-64, section 3.7). */
#ifndef SIMALLOC_RECORDING_TABLES_H
#define SIMALLOC_RECORDING_TABLES_H

#include <stdint.h>

/* End of a function's frame: the value that the stack pointer has again in its caller. */
enum frame_end {
    END_UNKNOWN, /* the table is missing, or cannot be expressed by these rules */
    END_OF_STACK,
    END_SIGNAL, /* frame that the kernel has made for a signal handler */
    END_SP,     /* stack pointer + offset */
    END_BP,     /* frame pointer + offset */
    END_AT_BP,  /* stored at frame pointer + offset; the caller's frame pointer is stored at it */
};

/* A rule in 64 bits, so that it can be stored at once. */
struct rule {
    int32_t offset;
    int16_t saved; /* offset of the caller's frame pointer from the frame's end, or 0 if it is
                    * unchanged */
    uint16_t end;
};

struct rule rule_at(uintptr_t instruction);

#endif
