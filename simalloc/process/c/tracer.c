#define _GNU_SOURCE
#include "tracer.h"

#include "copying.h"
#include "restart.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PROGRAM_COUNTER(registers) ((registers).rip)
#define STACK_POINTER(registers) ((registers).rsp)
#define WAITS_FOR_LOCK(registers) ((registers).orig_rax == SYS_futex)
#else
#define PROGRAM_COUNTER(registers) ((registers).pc)
#define STACK_POINTER(registers) ((registers).sp)
#define WAITS_FOR_LOCK(registers) 0
#endif

enum { PATIENCE_NS = 20 * 1000 * 1000 };  /* time for a thread to stop before its state is
                                           * examined */
enum { KERNEL_NS = 1000 * 1000 * 1000 };  /* time for a thread that waits in the kernel to stop */
enum { ROUNDS = 500, ROUNDS_OF_OWNERS = 3 };
enum { LOOK_NS = 20 * 1000, SHORTEST_RUN_NS = 1000 * 1000, LONGEST_RUN_NS = 10 * 1000 * 1000 };
enum { STACK_WORDS = 128 }; /* number of stack words that are searched for the address of an
                             * arena */

int64_t tracer_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void tracer_pause(long nanoseconds)
{
    struct timespec time = {.tv_nsec = nanoseconds};
    nanosleep(&time, NULL);
}

/* Returns the letter of a thread's state, as /proc reports it, or 'X' if the thread does not
 * exist. */
static char state_letter(pid_t process, pid_t number)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)number);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 'X';
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 'X';
}

/* Stores a stop or an exit that waitpid has reported. */
static void note_status(struct thread *thread, int status)
{
    if (!WIFSTOPPED(status)) {
        thread->state = THREAD_GONE;
        return;
    }
    thread->state = THREAD_STOPPED;
    if (status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
}

void tracer_await(struct thread *thread, int64_t deadline)
{
    for (unsigned tries = 0; thread->state == THREAD_RUNNING; tries++) {
        int status;
        pid_t found = waitpid(thread->number, &status, __WALL | WNOHANG);
        if (found == thread->number)
            note_status(thread, status);
        else if (found < 0 && errno != EINTR)
            thread->state = THREAD_GONE;
        else if (tracer_now() >= deadline)
            return;
        else if (tries > 20)
            tracer_pause(20 * 1000);
    }
}

/* Waits until all interrupted threads have stopped. Returns false if a thread neither stops nor
 * waits in the kernel. */
static bool await_stops(struct tracer *tracer)
{
    int64_t deadline = tracer_now() + PATIENCE_NS;
    for (size_t i = 0; i < tracer->count; i++) {
        struct thread *thread = &tracer->threads[i];
        tracer_await(thread, deadline);
        for (unsigned more = 0; thread->state == THREAD_RUNNING; more++) {
            if (state_letter(tracer->process, thread->number) == 'D')
                break;
            if (more == 50)
                return false;
            tracer_await(thread, tracer_now() + PATIENCE_NS);
        }
    }
    return true;
}

static bool is_known(const struct tracer *tracer, pid_t number)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].number == number)
            return true;
    return false;
}

/* Makes a thread stop once. Returns false, with errno set, on failure. A thread that is already
 * stopped is not interrupted, because it would stop a second time when it continues. */
static bool interrupt(struct thread *thread)
{
    if (thread->interrupted)
        return true;
    thread->interrupted = true;
    return ptrace(PTRACE_INTERRUPT, thread->number, NULL, NULL) == 0;
}

/* Attaches to a thread and interrupts it. Ignores a thread that has ended. Returns 0 or an
 * errno. */
static int seize(struct tracer *tracer, pid_t number)
{
    if (tracer->count == tracer->capacity) {
        size_t capacity = tracer->capacity == 0 ? 64 : 2 * tracer->capacity;
        struct thread *threads = realloc(tracer->threads, capacity * sizeof *threads);
        if (threads == NULL)
            return ENOMEM;
        tracer->threads = threads;
        tracer->capacity = capacity;
    }
    if (ptrace(PTRACE_SEIZE, number, NULL, NULL) < 0) {
        int error = errno;
        char letter = state_letter(tracer->process, number);
        return letter == 'Z' || letter == 'X' ? 0 : error;
    }
    tracer->threads[tracer->count++] = (struct thread){.number = number};
    return interrupt(&tracer->threads[tracer->count - 1]) || errno == ESRCH ? 0 : errno;
}

/* Attaches to every new thread. Returns 0 or an errno. */
static int seize_new(struct tracer *tracer, size_t *found)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)tracer->process);
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT ? ESRCH : errno;
    int error = 0;
    *found = tracer->count;
    for (struct dirent *entry; error == 0 && (entry = readdir(directory)) != NULL;) {
        pid_t number = (pid_t)strtol(entry->d_name, NULL, 10);
        if (number > 0 && !is_known(tracer, number))
            error = seize(tracer, number);
    }
    closedir(directory);
    *found = tracer->count - *found;
    return error;
}

/* Attaches to threads until no new thread appears. Returns 0 or an errno. */
static int stop_new(struct tracer *tracer)
{
    size_t found = 0;
    int error;
    do {
        error = seize_new(tracer, &found);
        if (error == 0 && !await_stops(tracer))
            error = ETIMEDOUT;
    } while (error == 0 && found != 0);
    return error;
}

int tracer_stop(struct tracer *tracer, pid_t process)
{
    *tracer = (struct tracer){.process = process};
    int error = stop_new(tracer);
    if (error == 0 && tracer->count == 0)
        error = ESRCH;
    if (error != 0)
        tracer_release(tracer);
    return error;
}

bool tracer_all_stopped(const struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].state == THREAD_RUNNING)
            return false;
    return true;
}

/* Locks of arenas. word[i] != 0 if lock i was held when it was last read. */
struct locks {
    const uint64_t *address;
    uint32_t *word;
    size_t count;
};

static bool is_any_held(pid_t process, const struct locks *locks)
{
    bool held = false;
    for (size_t i = 0; i < locks->count; i++) {
        uint64_t length = sizeof *locks->word, place = 0;
        uint8_t *word = (uint8_t *)&locks->word[i];
        if (copy_ranges(process, &locks->address[i], &length, &place, 1, word) != 0)
            locks->word[i] = 0;
        held = held || locks->word[i] != 0;
    }
    return held;
}

/* Returns the index + 1 of the held lock at an address, or 0. */
static size_t held_lock_at(const struct locks *locks, uint64_t address)
{
    for (size_t i = 0; i < locks->count; i++)
        if (locks->word[i] != 0 && locks->address[i] == address)
            return i + 1;
    return 0;
}

/* Returns the index + 1 of the held lock whose address a thread has in its registers or on top of
 * its stack, or 0. The address of an arena's lock is also the arena's address, which code that
 * holds the lock uses. */
static size_t known_lock(pid_t process, const struct user_regs_struct *registers,
                         const struct locks *locks)
{
    uint64_t words[sizeof *registers / 8 + STACK_WORDS] = {0};
    uint64_t start = STACK_POINTER(*registers), length = 8 * STACK_WORDS, place = sizeof *registers;
    memcpy(words, registers, sizeof *registers);
    copy_ranges(process, &start, &length, &place, 1, (uint8_t *)words);
    size_t lock = 0;
    for (size_t i = 0; lock == 0 && i < sizeof words / sizeof *words; i++)
        lock = held_lock_at(locks, words[i]);
    return lock;
}

static bool is_in(uint64_t address, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].start <= address && address < ranges[i].end)
            return true;
    return false;
}

/* Returns whether a thread may hold one of the held locks: it executes code in one of the ranges
 * and is not waiting for a lock. Stores the known lock of the thread. With only_owners, the thread
 * must have a known lock. */
static bool may_hold(const struct tracer *tracer, struct thread *thread, const struct locks *locks,
                     bool only_owners, const struct range *code, size_t code_count)
{
    struct user_regs_struct registers;
    struct iovec vector = {.iov_base = &registers, .iov_len = sizeof registers};
    if (ptrace(PTRACE_GETREGSET, thread->number, (void *)1 /* NT_PRSTATUS */, &vector) < 0)
        return false;
    if (!is_in(PROGRAM_COUNTER(registers), code, code_count) || WAITS_FOR_LOCK(registers))
        return false;
    thread->lock = known_lock(tracer->process, &registers, locks);
    return !only_owners || thread->lock != 0;
}

void tracer_let_go(struct thread *thread)
{
    long signal = thread->signal;
    thread->signal = 0;
    thread->interrupted = false;
    restart_call(thread->number);
    thread->state =
        ptrace(PTRACE_CONT, thread->number, NULL, signal) < 0 ? THREAD_GONE : THREAD_RUNNING;
}

bool tracer_interrupt(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].state == THREAD_RUNNING)
            interrupt(&tracer->threads[i]);
    return await_stops(tracer) && stop_new(tracer) == 0;
}

bool tracer_await_kernel(struct tracer *tracer)
{
    int64_t deadline = tracer_now() + KERNEL_NS;
    if (tracer_all_stopped(tracer))
        return true;
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].state == THREAD_STOPPED)
            tracer_let_go(&tracer->threads[i]);
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].interrupted)
            tracer_await(&tracer->threads[i], deadline);
    return tracer_interrupt(tracer) && tracer_all_stopped(tracer);
}

/* Lets threads that may hold one of the held locks continue. Returns the number of these
 * threads. */
static size_t let_holders_go(struct tracer *tracer, const struct locks *locks, bool only_owners,
                             const struct range *code, size_t code_count)
{
    size_t count = 0;
    for (size_t i = 0; i < tracer->count; i++) {
        struct thread *thread = &tracer->threads[i];
        if (thread->state == THREAD_STOPPED &&
            may_hold(tracer, thread, locks, only_owners, code, code_count)) {
            tracer_let_go(thread);
            count++;
        }
    }
    return count;
}

/* Interrupts the threads whose lock has been released, because they may soon take it again. Returns
 * whether other threads still run. */
static bool interrupt_released(struct tracer *tracer, const struct locks *locks)
{
    bool running = false;
    for (size_t i = 0; i < tracer->count; i++) {
        struct thread *thread = &tracer->threads[i];
        if (thread->state != THREAD_RUNNING)
            continue;
        if (thread->lock != 0 && locks->word[thread->lock - 1] == 0)
            interrupt(thread);
        running = running || !thread->interrupted;
    }
    return running;
}

/* Lets threads run until they have released their locks or the time has passed. Then interrupts
 * them. */
static bool run_and_interrupt(struct tracer *tracer, const struct locks *locks, int64_t time)
{
    int64_t deadline = tracer_now() + time;
    while (tracer_now() < deadline && is_any_held(tracer->process, locks) &&
           interrupt_released(tracer, locks))
        tracer_pause(LOOK_NS);
    return tracer_interrupt(tracer);
}

static int settle(struct tracer *tracer, const struct locks *locks, const struct range *code,
                  size_t code_count)
{
    int64_t time = SHORTEST_RUN_NS;
    for (int round = 0; round < ROUNDS; round++) {
        if (!is_any_held(tracer->process, locks))
            return round;
        bool only_owners = round % (ROUNDS_OF_OWNERS + 1) < ROUNDS_OF_OWNERS;
        if (let_holders_go(tracer, locks, only_owners, code, code_count) == 0)
            let_holders_go(tracer, locks, false, code, code_count);
        if (!run_and_interrupt(tracer, locks, time))
            return -1;
        time = time < LONGEST_RUN_NS ? 2 * time : LONGEST_RUN_NS;
    }
    return -1;
}

int tracer_settle(struct tracer *tracer, const uint64_t *locks, size_t lock_count,
                  const struct range *code, size_t code_count)
{
    uint32_t *words = calloc(lock_count + 1, sizeof *words);
    if (words == NULL)
        return -1;
    int rounds = settle(tracer, &(struct locks){locks, words, lock_count}, code, code_count);
    free(words);
    return rounds;
}

static void detach(struct thread *thread)
{
    restart_call(thread->number);
    ptrace(PTRACE_DETACH, thread->number, NULL, (long)thread->signal);
    thread->state = THREAD_GONE;
}

void tracer_keep(struct tracer *tracer, const uint64_t *kept, size_t count)
{
    for (size_t i = 0; i < tracer->count; i++) {
        struct thread *thread = &tracer->threads[i];
        bool is_kept = false;
        for (size_t j = 0; j < count; j++)
            is_kept = is_kept || kept[j] == (uint64_t)thread->number;
        if (!is_kept && thread->state == THREAD_STOPPED)
            detach(thread);
    }
}

static void detach_stopped(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i].state == THREAD_STOPPED)
            detach(&tracer->threads[i]);
}

void tracer_release(struct tracer *tracer)
{
    detach_stopped(tracer);
    await_stops(tracer);
    detach_stopped(tracer);
    free(tracer->threads);
    *tracer = (struct tracer){0};
}

int thread_robust_list(pid_t thread, uint64_t *head)
{
    void *list = NULL;
    size_t length;
    long answer = syscall(SYS_get_robust_list, thread, &list, &length);
    *head = (uint64_t)(uintptr_t)list;
    return (int)answer;
}
