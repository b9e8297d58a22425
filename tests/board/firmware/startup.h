#ifndef STARTUP_H
#define STARTUP_H
#include <stddef.h>

/* Opens the file that receives the recording, on the computer that runs the emulator. */
void board_open(const char *name, size_t length);
/* Adds a byte to the file; `context` is unused. */
void board_put(unsigned char byte, void *context);
/* Writes the buffered bytes. */
void board_write(void);
_Noreturn void board_exit(int code);
#endif
