/* Hides a stop from the system call that it interrupted. */
#ifndef SIMALLOC_RESTART_H
#define SIMALLOC_RESTART_H

#include <sys/types.h>

/* Makes a stopped thread repeat the system call that the stop has ended with EINTR. The call is
 * repeated when the thread continues. If a signal handler runs first, the call still returns EINTR,
 * as it would without a stop. */
void restart_call(pid_t thread);

#endif
