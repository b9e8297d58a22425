/* Hides a stop from a system call that it interrupted. */
#ifndef SIMALLOC_RESTART_H
#define SIMALLOC_RESTART_H

#include <sys/types.h>

/* Has a stopped thread repeat the system call that the stop ended with EINTR, when the thread goes
 * on. If a signal handler runs first, the call still returns EINTR, as it does without a stop. */
void restart_call(pid_t thread);

#endif
