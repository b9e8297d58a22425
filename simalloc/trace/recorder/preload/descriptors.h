/* The recorder's own descriptors. They stay open when a program closes all descriptors that it does
 * not know. */
#ifndef SIMALLOC_RECORDING_DESCRIPTORS_H
#define SIMALLOC_RECORDING_DESCRIPTORS_H

/* Closes a descriptor, even one of the recorder's. */
int close_own(int descriptor);

/* Looks up the program's close() again. All calls are passed to it except calls for the recorder's
 * descriptors. */
void find_close(void);

#endif
