/* A server of 16 threads that counts what a stop can disturb: signals, waits and sleeps.
 *
 * A line on stdin ends the senders. The server then waits for unfinished work and prints its
 * counts. A wait may end with EINTR only if a signal handler ran in it. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { ALLOCATORS = 6, SENDERS = 3, SLEEPERS = 2, SLOTS = 400, BURST = 20000 };
enum { PAUSE_NS = 2000000, INTERVAL_NS = 5000000, TIMEOUT_MS = 20, LAST_EXPIRIES = 20 };
enum { PATIENCE = 60 * (1000000000 / PAUSE_NS) };

static struct {
    _Atomic uint64_t blocks;
    _Atomic uint64_t waits;
    _Atomic uint64_t interrupted; /* waits that ended with EINTR although no handler ran */
    _Atomic uint64_t continued;   /* waits that did not end with EINTR although a handler ran */
    _Atomic uint64_t early;       /* sleeps that were too short */
    _Atomic uint64_t rung, answered;
    _Atomic uint64_t sent, taken;
    _Atomic uint64_t queued, received;
    _Atomic uint64_t expired;
} counts;

static _Atomic bool ending;
static _Atomic uint64_t handlers, expiries_since_end, lag_since_end = UINT64_MAX;
static _Atomic(pid_t) handler_thread;
static pthread_t handler;
static int64_t timer_start;
static int bell, line[2];

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int pause_a_little(void)
{
    return nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void count_wait(bool failed)
{
    bool interrupted = failed && errno == EINTR;
    counts.waits++;
    counts.interrupted += interrupted;
}

static void *allocate(void *number)
{
    void *block[SLOTS] = {0};
    for (uint32_t dice = (uint32_t)(uintptr_t)number;;) {
        dice = dice * 1664525 + 1013904223;
        void **slot = &block[(dice >> 8) % SLOTS];
        free(*slot);
        *slot = malloc((dice >> 20) % 2000);
        if (counts.blocks++ % BURST == 0)
            pause_a_little();
    }
    return NULL;
}

static void *answer_the_bell(void *unused)
{
    int queue = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t value;
    epoll_ctl(queue, EPOLL_CTL_ADD, bell, &event);
    for (;;) {
        int ready = epoll_wait(queue, &event, 1, -1);
        count_wait(ready < 0);
        if (ready == 1 && read(bell, &value, sizeof value) == sizeof value)
            counts.answered += value;
    }
    return unused;
}

static void *ring_the_bell(void *unused)
{
    for (uint64_t one = 1; !ending; pause_a_little())
        if (write(bell, &one, sizeof one) == sizeof one)
            counts.rung++;
    return unused;
}

static void *wait_for_events(void *unused)
{
    int queue = epoll_create1(0);
    struct epoll_event event;
    for (;;)
        count_wait(epoll_wait(queue, &event, 1, TIMEOUT_MS) < 0);
    return unused;
}

static void *wait_for_bytes(void *unused)
{
    struct timeval time = {.tv_usec = TIMEOUT_MS * 1000};
    char byte;
    setsockopt(line[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    for (;;)
        count_wait(read(line[0], &byte, 1) < 0);
    return unused;
}

static void *wait_for_a_signal(void *unused)
{
    struct timespec time = {.tv_nsec = TIMEOUT_MS * 1000000};
    sigset_t never;
    sigemptyset(&never);
    sigaddset(&never, SIGRTMAX);
    for (;;)
        count_wait(sigtimedwait(&never, NULL, &time) < 0);
    return unused;
}

static void *sleep_exactly(void *unused)
{
    for (;;) {
        int64_t before = now();
        count_wait(pause_a_little() < 0);
        counts.early += now() - before < PAUSE_NS;
    }
    return unused;
}

/* si_overrun counts merged expiries. A lost expiry therefore leaves a permanent lag. */
static void count_expiry(const siginfo_t *info)
{
    bool is_over = ending;
    counts.expired += 1 + (uint64_t)info->si_overrun;
    uint64_t lag = (uint64_t)((now() - timer_start) / INTERVAL_NS) - counts.expired;
    if (is_over && lag < lag_since_end)
        lag_since_end = lag;
    expiries_since_end += is_over;
}

static void handle(int signal, siginfo_t *info, void *unused)
{
    (void)unused;
    handlers++;
    if (signal == SIGUSR1)
        counts.taken++;
    else if (signal == SIGRTMIN)
        counts.received++;
    else
        count_expiry(info);
}

static void start_timer(pid_t thread)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1};
    struct itimerspec time = {{.tv_nsec = INTERVAL_NS}, {0}};
    timer_t timer;
    event.sigev_notify_thread_id = thread;
    timer_start = now();
    time.it_value.tv_sec = (timer_start + INTERVAL_NS) / 1000000000;
    time.it_value.tv_nsec = (timer_start + INTERVAL_NS) % 1000000000;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, TIMER_ABSTIME, &time, NULL) != 0)
        abort();
}

/* Only this thread runs signal handlers, during its waits. Each handler ends its wait. */
static void *take_signals(void *unused)
{
    int queue = epoll_create1(0);
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    handler = pthread_self();
    handler_thread = (pid_t)syscall(SYS_gettid);
    start_timer(handler_thread);
    for (;;) {
        uint64_t before = handlers;
        bool failed = epoll_pwait(queue, &event, 1, TIMEOUT_MS, &none) < 0;
        if (handlers == before)
            count_wait(failed);
        else
            counts.continued += !failed || errno != EINTR;
    }
    return unused;
}

/* Sends real-time signals, which are queued. None may be lost. */
static void *queue_signals(void *unused)
{
    for (; !ending; pause_a_little())
        if (pthread_sigqueue(handler, SIGRTMIN, (union sigval){0}) == 0)
            counts.queued++;
    return unused;
}

/* Sends SIGUSR1. Pending signals of the same kind merge, so each is sent after the previous signal
 * was handled. */
static void *send_signals(void *unused)
{
    for (; !ending; pause_a_little())
        if (counts.taken == counts.sent) {
            counts.sent++;
            kill(getpid(), SIGUSR1);
        }
    return unused;
}

static pthread_t start(void *(*work)(void *), uintptr_t number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)number) != 0)
        abort();
    return thread;
}

static void start_threads(pthread_t senders[SENDERS])
{
    start(take_signals, 0);
    while (handler_thread == 0)
        pause_a_little();
    senders[0] = start(queue_signals, 0);
    senders[1] = start(send_signals, 0);
    senders[2] = start(ring_the_bell, 0);
    start(answer_the_bell, 0);
    start(wait_for_events, 0);
    start(wait_for_bytes, 0);
    start(wait_for_a_signal, 0);
    for (uintptr_t i = 0; i < SLEEPERS; i++)
        start(sleep_exactly, i);
    for (uintptr_t i = 0; i < ALLOCATORS; i++)
        start(allocate, i);
}

static void finish(const pthread_t senders[SENDERS])
{
    ending = true;
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    for (int patience = 0; patience < PATIENCE; patience++) {
        pause_a_little();
        if (expiries_since_end >= LAST_EXPIRIES && counts.received == counts.queued &&
            counts.taken == counts.sent && counts.answered == counts.rung)
            break;
    }
    printf("blocks %ju waits %ju interrupted %ju continued %ju early %ju rung %ju answered %ju "
           "sent %ju taken %ju queued %ju received %ju expired %ju lost_expiries %jd\n",
           (uintmax_t)counts.blocks, (uintmax_t)counts.waits, (uintmax_t)counts.interrupted,
           (uintmax_t)counts.continued, (uintmax_t)counts.early, (uintmax_t)counts.rung,
           (uintmax_t)counts.answered, (uintmax_t)counts.sent, (uintmax_t)counts.taken,
           (uintmax_t)counts.queued, (uintmax_t)counts.received, (uintmax_t)counts.expired,
           (intmax_t)lag_since_end);
}

int main(void)
{
    static const int handled[] = {-1, 0, 1};
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigset_t all;
    sigfillset(&all);
    sigfillset(&action.sa_mask);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaction(handled[i] < 0 ? SIGUSR1 : SIGRTMIN + handled[i], &action, NULL);
    bell = eventfd(0, 0);
    if (bell < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0)
        abort();
    pthread_t senders[SENDERS];
    start_threads(senders);
    puts("ready");
    fflush(stdout);
    getchar();
    finish(senders);
    return 0;
}
