/* The recorder's own descriptors, which survive a program that closes all unknown descriptors. */
#ifndef SIMALLOC_RECORDING_DESCRIPTORS_H
#define SIMALLOC_RECORDING_DESCRIPTORS_H

/* Closes any descriptor. */
int close_own(int descriptor);

/* Looks up the program's close() again, which gets all calls except those on the recorder's
 * descriptors. */
void find_close(void);

#endif
