/* The recorder's own descriptors: a program that closes all it knows nothing of spares them. */
#ifndef SIMALLOC_RECORDING_DESCRIPTORS_H
#define SIMALLOC_RECORDING_DESCRIPTORS_H

/* Closes any descriptor. */
int close_own(int descriptor);

/* Asks again for the program's close, to which all but the recorder's descriptors are passed on. */
void find_close(void);

#endif
