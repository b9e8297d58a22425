#include "memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KILOBYTE = 1024, UNSEEN = 256 };

static char text[1 << 17]; /* of a file of /proc; static, since nothing here may malloc */

static bool read_text(int file)
{
    size_t length = 0;
    ssize_t got;
    while ((got = pread(file, text + length, sizeof text - 1 - length, (off_t)length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    return got == 0 && length > 0;
}

static bool read_path(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool done = file >= 0 && read_text(file);
    if (file >= 0)
        close(file);
    return done;
}

/* The figure of a line such as `VmPeak:     3060 kB`, in bytes, or 0. */
static size_t field(const char *name)
{
    const char *line = strstr(text, name);
    return line == NULL ? 0 : strtoull(line + strlen(name), NULL, 10) * KILOBYTE;
}

/* Whether a line of /proc/self/maps is the break or a mapping of no file; adds up its bytes. */
static void add_anonymous(const char *line, size_t *bytes)
{
    char *rest;
    size_t start = strtoull(line, &rest, 16);
    size_t end = strtoull(rest + 1, &rest, 16);
    const char *name = strpbrk(line, "/[\n");
    if (*name == '\n' || strncmp(name, "[heap]", 6) == 0 || strncmp(name, "[anon", 5) == 0)
        *bytes += end - start;
}

static bool anonymous(size_t *bytes)
{
    if (!read_path("/proc/self/maps"))
        return false;
    *bytes = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
        add_anonymous(line, bytes);
    return true;
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static void walk_page_table(struct memory *memory)
{
    memory->faults = faults();
    if (read_text(memory->page_table))
        memory->present = field("\nAnonymous:");
    if (memory->present > memory->resident)
        memory->resident = memory->present;
}

/* The kernel's peak of address space must be the present size when the measurement begins, or growth
 * up to an earlier peak would not be seen. Shared memory does not count as anonymous. */
static bool rise_to_peak(void)
{
    size_t below = field("VmPeak:") - field("VmSize:");
    return below == 0 || mmap(NULL, below, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1, 0) != MAP_FAILED;
}

bool memory_begin(struct memory *memory)
{
    size_t mapped;
    memset(memory, 0, sizeof *memory);
    memory->page_table = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    /* A huge page is a matter of the machine's settings, and brings in many pages at one fault. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (memory->page_table < 0 || !read_path("/proc/self/status") || !rise_to_peak())
        return false;
    memory->outside = field("VmPeak:");
    if (memory->outside == 0 || !anonymous(&mapped))
        return false;
    memory->outside -= mapped;
    walk_page_table(memory);
    return memory->present > 0;
}

size_t memory_pass(struct memory *memory, const struct trace *trace, bool touch)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t event = 0;
    while (event < trace->events && trace_step(trace, event, touch)) {
        size_t unseen = (size_t)(faults() - memory->faults) * page;
        if (unseen > memory->present / UNSEEN)
            walk_page_table(memory);
        event++;
    }
    walk_page_table(memory);
    if (read_path("/proc/self/status"))
        memory->mapped = field("VmPeak:") - memory->outside;
    return event;
}
