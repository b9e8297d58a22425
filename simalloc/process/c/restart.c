#define _GNU_SOURCE
#include "restart.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* The kernel's internal result for "repeat the call unless a handler runs". Programs never see
 * it. */
enum { ERESTARTNOHAND = 514 };

/* Returns whether the kernel ends a call with EINTR at every stop: signal(7), "Interruption of
 * system calls and library functions by stop signals". Calls on a socket are affected if the socket
 * has a timeout. connect is excluded, because a second call reports the result of the first. */
static bool is_ended_by_stops(long call)
{
    switch (call) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_rt_sigtimedwait:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_io_uring_enter:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
        return true;
    default:
        return false;
    }
}

static long register_of(pid_t thread, size_t offset)
{
    return ptrace(PTRACE_PEEKUSER, thread, (void *)offset, NULL);
}

void restart_call(pid_t thread)
{
    static const size_t result = offsetof(struct user, regs.rax);
    if (register_of(thread, result) == -EINTR &&
        is_ended_by_stops(register_of(thread, offsetof(struct user, regs.orig_rax))))
        ptrace(PTRACE_POKEUSER, thread, (void *)result, (void *)(long)-ERESTARTNOHAND);
}

#else

void restart_call(pid_t thread)
{
    (void)thread;
}

#endif
