/* Ends the recording before a program restricts its own system calls. A restricted program would be
 * killed for a system call of the recorder, so the recorder makes none afterwards. */
#include "malloc.h"
#include "process.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static void end_recording(void)
{
    struct process *process = process_stopped() ? NULL : process_begun();
    if (process != NULL)
        process_lose_from_now(LOST_BY_SECCOMP);
    stream_end();
}

EXPORT int prctl(int option, ...);
EXPORT int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (size_t i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    static int (*behind)(int, ...);
    if (behind == NULL)
        behind = (int (*)(int, ...))function_behind("prctl");
    if (option == PR_SET_SECCOMP)
        end_recording();
    return behind(option, words[0], words[1], words[2], words[3]);
}

/* Filtering libraries call syscall() directly, because libc has no function for seccomp. */
EXPORT long syscall(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    static long (*behind)(long, ...);
    if (behind == NULL)
        behind = (long (*)(long, ...))function_behind("syscall");
    if (number == SYS_seccomp && words[0] != SECCOMP_GET_ACTION_AVAIL &&
        words[0] != SECCOMP_GET_NOTIF_SIZES)
        end_recording();
    return behind(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
