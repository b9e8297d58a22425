/* simalloc-native FILE EVENTS SLOTS THREADS ALIGNS STARTS TOUCH SAMPLES MOST MAX_LIVE
 *
 * Replays a trace through the malloc of its own process. Each thread of the trace is a real thread.
 *
 * FILE is the number of an inherited file with the columns size, alignment (if ALIGNS is 1), slot,
 * thread (if THREADS is more than 1) and op. STARTS is 1 if the C library's requests for starting
 * threads must be added, otherwise 0. TOUCH is 1 if blocks are written to, otherwise 0. SAMPLES is
 * a file that receives the measurements of memory (memory.h). MOST is the number of additional
 * resident bytes at which they stop. MAX_LIVE is the event with the most live bytes.
 *
 * The program first writes `system` if malloc belongs to the C library, or else `preloaded`, and
 * the path of malloc's library. Then each byte from stdin is a command, and the reply is a line.
 * `t` times one pass over the trace, in nanoseconds of CPU time and of wall-clock time. `m`
 * measures memory over one pass and writes the peak of address space. If the allocator refused an
 * event of a pass, the reply is `refused EVENT`. Other failures are `full EVENT` and `threadless
 * EVENT`.
 *
 * Only the trace's events call malloc here. Therefore stdio is used only for error messages. */
#include "allocator.h"
#include "memory.h"
#include "threads.h"
#include "trace.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct timing {
    const struct trace *trace;
    bool touch;
    int64_t inside; /* nanoseconds of the clock in which threads executed events */
};

static bool reply(const char *line)
{
    size_t length = strlen(line);
    return write(STDOUT_FILENO, line, length) == (ssize_t)length;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool fail(const char *how, size_t event)
{
    char line[64];
    snprintf(line, sizeof line, "%s %zu\n", how, event);
    return reply(line);
}

static size_t timed_run(void *context, size_t begin, size_t end)
{
    struct timing *timing = context;
    int64_t since = nanoseconds(CLOCK_MONOTONIC);
    size_t done = trace_run(timing->trace, begin, end, timing->touch);
    timing->inside += nanoseconds(CLOCK_MONOTONIC) - since;
    return done;
}

static bool time_pass(const struct trace *trace, bool touch)
{
    char line[64];
    struct timing timing = {.trace = trace, .touch = touch};
    int error;
    int64_t wall = nanoseconds(CLOCK_MONOTONIC);
    int64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    size_t done = threads_pass(trace, timed_run, &timing, &error);
    cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = nanoseconds(CLOCK_MONOTONIC) - wall;
    trace_clear(trace);
    threads_end();
    if (done < trace->events)
        return fail(error == 0 ? "refused" : "threadless", done);
    /* Switching threads takes longer than malloc and is not part of its time. */
    snprintf(line, sizeof line, "time %" PRId64 " %" PRId64 "\n",
             trace->threads > 1 ? timing.inside : cpu, wall);
    return reply(line);
}

static bool measure_memory(struct memory *memory)
{
    char line[64];
    int error;
    if (!memory_begin(memory))
        return reply("unmeasurable\n");
    size_t done = threads_pass(memory->trace, memory_run, memory, &error);
    if (!memory_end(memory))
        return reply("unmeasurable\n");
    if (done < memory->trace->events)
        return fail(memory->is_full ? "full" : error == 0 ? "refused" : "threadless", done);
    snprintf(line, sizeof line, "memory %" PRId64 " %" PRId64 "\n", memory->peak_space,
             memory->writable_at_start);
    return reply(line);
}

static bool name_allocator(void)
{
    char line[4096];
    Dl_info library;
    bool is_system;
    if (!allocator_find(&library, &is_system))
        return false;
    snprintf(line, sizeof line, "%s %s\n", is_system ? "system" : "preloaded", library.dli_fname);
    return reply(line);
}

/* Ensures that a hanging malloc does not outlive the parent process. Returns false if the parent
 * has already ended and has left no command. */
static bool end_with_parent(void)
{
    struct pollfd commands = {.fd = STDIN_FILENO, .events = POLLIN};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return poll(&commands, 1, 0) >= 0 && (commands.revents & (POLLIN | POLLHUP)) != POLLHUP;
}

int main(int count, char **arguments)
{
    enum { ARGUMENTS = 11 };
    int64_t number[ARGUMENTS] = {0};
    struct trace trace;
    char command;
    if (count != ARGUMENTS)
        return 2;
    for (int i = 1; i < ARGUMENTS; i++)
        number[i] = strtoll(arguments[i], NULL, 10);
    bool touch = number[7] != 0;
    if (!end_with_parent())
        return 0;
    if (!trace_map(&trace, (int)number[1], (size_t)number[2], (size_t)number[3],
                   (uint32_t)number[4], number[5] != 0)) {
        perror("the trace's columns");
        return 1;
    }
    struct memory memory = {.trace = &trace,
                            .touch = touch,
                            .samples = (int)number[8],
                            .most = number[9],
                            .max_live = (size_t)number[10]};
    trace.starts_threads = number[6] != 0;
    if (!name_allocator())
        return 1;
    while (read(STDIN_FILENO, &command, 1) == 1)
        if (!(command == 'm' ? measure_memory(&memory) : time_pass(&trace, touch)))
            return 1;
    return 0;
}
