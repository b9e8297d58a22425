/* Allocates, restricts its system calls with seccomp, and allocates more. Any other system call
 * would end the process. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void churn(size_t size, int rounds)
{
    for (int i = 0; i < rounds; i++)
        free(malloc(size + (size_t)i % 5));
}

#define ALLOWED(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filtered(int by_syscall)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOWED(exit_group), ALLOWED(brk), ALLOWED(prctl), ALLOWED(seccomp),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
    return by_syscall ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                      : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **words)
{
    churn(71, 1000);
    if (count > 1 && strcmp(words[1], "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        churn(81, 200000);
        syscall(SYS_exit, 7);
    }
    if (filtered(count > 1 && strcmp(words[1], "syscall") == 0) != 0)
        return 1;
    churn(81, 200000);
    free(malloc(50000));
    _exit(7);
}
