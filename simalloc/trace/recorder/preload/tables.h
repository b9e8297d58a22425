/* Location of the caller's frame at an instruction, read from the program's own unwinding tables
 * (.eh_frame: DWARF 5, section 6.4; System V ABI for x86-64, section 3.7). */
#ifndef SIMALLOC_RECORDING_TABLES_H
#define SIMALLOC_RECORDING_TABLES_H

#include <stdint.h>

/* End of a function's frame: the value of the stack pointer after the return to its caller. */
enum frame_end {
    END_UNKNOWN, /* no table, or a table that these rules cannot express */
    END_OF_STACK,
    END_SIGNAL, /* frame that the kernel has created for a signal handler */
    END_SP,     /* stack pointer + offset */
    END_BP,     /* frame pointer + offset */
    END_AT_BP,  /* value stored at frame pointer + offset; the frame pointer is the address of the
                 * caller's frame pointer */
};

/* A rule of 64 bits, so that one store writes it. */
struct rule {
    int32_t offset;
    int16_t saved; /* offset of the caller's frame pointer from the frame's end, or 0 if it is
                    * unchanged */
    uint16_t end;
};

struct rule rule_at(uintptr_t instruction);

#endif
