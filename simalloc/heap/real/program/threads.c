#include "threads.h"

#include "allocator.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 18, OWN_BYTES = 1 << 12, TABLE_BYTES = 272, NOBODY = -1 };

/* A thread. Its memory consists of a page, which serves the C library's calloc at the start of the
 * thread, and its stack. */
struct runner {
    pthread_t handle;
    sem_t turn;
    char *memory;
    bool is_running;
};

/* Only the thread whose turn it is accesses these fields. It writes them before it wakes the next
 * thread. */
static struct {
    const struct trace *trace;
    carry_out *work;
    void *context;
    struct runner *runners; /* by thread; the first is the process's own thread */
    char *starting;         /* memory of the thread that is starting, or NULL */
    size_t next;            /* next event to execute */
    int64_t ended;          /* thread to join before the next event, or NOBODY */
    int error;
    bool refused;
} relay = {.ended = NOBODY};

static bool is_of_threads(const void *address)
{
    const char *first = relay.runners == NULL ? NULL : relay.runners[0].memory;
    size_t length = first == NULL ? 0 : relay.trace->threads * (size_t)(STACK_BYTES + OWN_BYTES);
    return (const char *)address >= first && (const char *)address < first + length;
}

/* Serves the C library's request for a starting thread (its table of thread-local storage) from
 * `starting`. In the measured heap, this request would be counted twice, because the recorded
 * program made it too. */
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    if (relay.starting != NULL && count * size <= OWN_BYTES) {
        void *own = memset(relay.starting, 0, count * size);
        relay.starting = NULL;
        return own;
    }
    if (allocator.calloc == NULL)
        allocator.calloc = (typeof(allocator.calloc))dlsym(RTLD_NEXT, "calloc");
    return allocator.calloc(count, size);
}

__attribute__((visibility("default"))) void free(void *object)
{
    if (object != NULL && is_of_threads(object))
        return;
    if (allocator.free == NULL)
        allocator.free = (typeof(allocator.free))dlsym(RTLD_NEXT, "free");
    allocator.free(object);
}

static bool is_over(void)
{
    return relay.refused || relay.error != 0 || relay.next == relay.trace->events;
}

static struct runner *runner_of_next(void)
{
    return &relay.runners[relay.trace->thread[relay.next]];
}

static bool next_is_end(void)
{
    return relay.trace->op[relay.next] == OP_THREAD_END;
}

static void work_until(size_t end)
{
    relay.next = relay.work(relay.context, relay.next, end);
    relay.refused = relay.next < end;
}

/* Executes the next events of the same thread, up to its end. */
static void work_in_turn(void)
{
    const struct trace *trace = relay.trace;
    uint32_t thread = trace->thread[relay.next];
    size_t end = relay.next + 1;
    while (end < trace->events && trace->thread[end] == thread && trace->op[end] != OP_THREAD_END)
        end++;
    work_until(end);
}

static void wait_for_turn(struct runner *runner)
{
    while (sem_wait(&runner->turn) != 0) /* interrupted by a signal */
        continue;
}

/* Wakes the thread of the next event. If that thread is not running, or the trace is over, wakes
 * the process's own thread, which starts and joins all others. */
static void pass_on(void)
{
    struct runner *heir = is_over() ? relay.runners : runner_of_next();
    sem_post(heir->is_running ? &heir->turn : &relay.runners->turn);
}

static void *run(void *argument)
{
    struct runner *self = argument;
    for (;;) {
        wait_for_turn(self);
        if (is_over())
            return NULL;
        if (next_is_end()) {
            relay.ended = self - relay.runners;
            sem_post(&relay.runners->turn);
            return NULL;
        }
        work_in_turn();
        pass_on();
    }
}

static int start(struct runner *runner)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    relay.starting = runner->memory;
    error = pthread_attr_setstack(&attributes, runner->memory + OWN_BYTES, STACK_BYTES);
    if (error == 0)
        error = pthread_create(&runner->handle, &attributes, run, runner);
    relay.starting = NULL;
    runner->is_running = error == 0;
    pthread_attr_destroy(&attributes);
    return error;
}

static void join(struct runner *runner)
{
    pthread_join(runner->handle, NULL);
    runner->is_running = false;
}

/* Executes a turn of the process's own thread, which always waits to start or join other
 * threads. */
static void lead(void)
{
    struct runner *own = relay.runners;
    struct runner *next = runner_of_next();
    if (relay.ended != NOBODY) {
        join(&relay.runners[relay.ended]);
        relay.ended = NOBODY;
        work_until(relay.next + 1);
    } else if (next_is_end() && (next == own || !next->is_running)) {
        work_until(relay.next + 1); /* a thread without requests, or the process's own thread */
    } else if (next == own) {
        work_in_turn();
    } else {
        if (!next->is_running)
            relay.error = start(next);
        if (relay.error == 0) {
            pass_on();
            wait_for_turn(own);
        }
    }
}

static bool prepare(const struct trace *trace)
{
    size_t each = STACK_BYTES + OWN_BYTES;
    int shared = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    int access = PROT_READ | PROT_WRITE;
    struct runner *runners =
        mmap(NULL, trace->threads * sizeof(struct runner), access, shared, -1, 0);
    char *memory = mmap(NULL, trace->threads * each, access, shared, -1, 0);
    if (runners == MAP_FAILED || memory == MAP_FAILED)
        return false;
    for (uint32_t i = 0; i < trace->threads; i++) {
        runners[i].memory = memory + i * each;
        sem_init(&runners[i].turn, 0, 0);
    }
    runners[0].is_running = true;
    relay.trace = trace;
    relay.runners = runners;
    for (uint32_t i = 1; trace->starts_threads && i < trace->threads; i++)
        if (allocator.calloc(1, TABLE_BYTES) == NULL)
            return false;
    return true;
}

size_t threads_pass(const struct trace *trace, carry_out *work, void *context, int *error)
{
    *error = 0;
    if (trace->threads == 1)
        return work(context, 0, trace->events);
    if (relay.runners == NULL && !prepare(trace)) {
        *error = ENOMEM;
        return 0;
    }
    relay.work = work;
    relay.context = context;
    relay.next = 0;
    relay.error = 0;
    relay.refused = false;
    while (!is_over())
        lead();
    *error = relay.error;
    return relay.next;
}

void threads_end(void)
{
    if (relay.runners == NULL)
        return;
    relay.next = relay.trace->events;
    for (uint32_t i = 1; i < relay.trace->threads; i++)
        if (relay.runners[i].is_running) {
            sem_post(&relay.runners[i].turn);
            join(&relay.runners[i]);
        }
}
