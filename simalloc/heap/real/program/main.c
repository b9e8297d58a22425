/* simalloc-native FILE EVENTS SLOTS TOUCH: replays a trace through the malloc of its own process.
 *
 * FILE is the number of an inherited file that holds the columns size, slot and op; TOUCH is 0 or 1.
 * It first writes whether malloc is the C library's (`system`) or another's (`preloaded`), and the
 * path of the library. Then each byte read from stdin is a command, answered by a line: `t` times
 * one pass over the trace (nanoseconds of CPU and of the clock on the wall), `m` measures memory
 * over one pass (bytes mapped and resident at their peak). The answer to a pass in which the
 * allocator refused an event is `refused EVENT`.
 *
 * Nothing here calls malloc but the trace: stdio is not used but to complain. */
#include "memory.h"
#include "trace.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static bool answer(const char *line)
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

static bool time_pass(const struct trace *trace, bool touch)
{
    char line[64];
    int64_t wall = nanoseconds(CLOCK_MONOTONIC);
    int64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    size_t granted = trace_pass(trace, touch);
    cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = nanoseconds(CLOCK_MONOTONIC) - wall;
    if (granted < trace->events)
        snprintf(line, sizeof line, "refused %zu\n", granted);
    else
        snprintf(line, sizeof line, "time %" PRId64 " %" PRId64 "\n", cpu, wall);
    trace_clear(trace);
    return answer(line);
}

static bool measure_memory(const struct trace *trace, bool touch)
{
    char line[64];
    struct memory memory;
    if (!memory_begin(&memory))
        return answer("unmeasurable\n");
    size_t granted = memory_pass(&memory, trace, touch);
    if (granted < trace->events)
        snprintf(line, sizeof line, "refused %zu\n", granted);
    else
        snprintf(line, sizeof line, "memory %zu %zu\n", memory.mapped, memory.resident);
    return answer(line);
}

/* Where the dynamic linker found a function; the address in the program's own table of calls, which
 * `malloc` can mean, does not tell. */
static Dl_info library_of(const char *function)
{
    Dl_info library = {0};
    void *found = dlsym(RTLD_DEFAULT, function);
    if (found != NULL)
        dladdr(found, &library);
    return library;
}

static bool name_allocator(void)
{
    char line[4096];
    Dl_info allocator = library_of("malloc");
    bool system = allocator.dli_fbase == library_of("getpid").dli_fbase;
    if (allocator.dli_fname == NULL)
        return false;
    snprintf(line, sizeof line, "%s %s\n", system ? "system" : "preloaded", allocator.dli_fname);
    return answer(line);
}

/* Sees to it that no malloc that hangs outlives who asked for it; false if that one is gone already
 * and has left no command. */
static bool end_with_parent(void)
{
    struct pollfd commands = {.fd = STDIN_FILENO, .events = POLLIN};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return poll(&commands, 1, 0) >= 0 && (commands.revents & (POLLIN | POLLHUP)) != POLLHUP;
}

int main(int count, char **arguments)
{
    struct trace trace;
    char command;
    if (count != 5)
        return 2;
    bool touch = arguments[4][0] == '1';
    if (!end_with_parent())
        return 0;
    if (!trace_map(&trace, atoi(arguments[1]), strtoull(arguments[2], NULL, 10),
                   strtoull(arguments[3], NULL, 10))) {
        perror("the trace's columns");
        return 1;
    }
    if (!name_allocator())
        return 1;
    while (read(STDIN_FILENO, &command, 1) == 1)
        if (!(command == 'm' ? measure_memory(&trace, touch) : time_pass(&trace, touch)))
            return 1;
    return 0;
}
