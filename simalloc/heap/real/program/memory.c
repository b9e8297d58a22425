#include "memory.h"

#include "allocator.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KILOBYTE = 1024, UNSEEN = 256, WALKS = 1024, LOOKS = 1 << 20, LARGE = 1 << 16, ROWS = 4096 };

/* These buffers are static, because nothing here may call malloc. */
static char text[1 << 17]; /* text of a file of /proc */
static struct sample rows[ROWS];
static size_t row_count;

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

/* Returns the number of a line such as `VmPeak:  3060 kB` in bytes, or 0. */
static int64_t field(const char *name)
{
    const char *line = strstr(text, name);
    return line == NULL ? 0 : strtoll(line + strlen(name), NULL, 10) * KILOBYTE;
}

/* Adds the bytes of a line of /proc/self/maps if it is the break or an anonymous mapping. */
static void add_anonymous(const char *line, int64_t *bytes)
{
    char *rest;
    size_t start = strtoull(line, &rest, 16);
    size_t end = strtoull(rest + 1, &rest, 16);
    const char *name = strpbrk(line, "/[\n");
    if (*name == '\n' || strncmp(name, "[heap]", 6) == 0 || strncmp(name, "[anon", 5) == 0)
        *bytes += (int64_t)(end - start);
}

static bool anonymous(int64_t *bytes)
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

/* Returns the private writable bytes: the sixth number of statm, in pages. */
static int64_t writable(const struct memory *memory)
{
    enum { BEFORE = 5 };
    char *number = text;
    /* The file is short, so one read is sufficient. */
    ssize_t length = pread(memory->sizes, text, sizeof text - 1, 0);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    for (int i = 0; i < BEFORE; i++)
        strtoll(number, &number, 10);
    return strtoll(number, NULL, 10) * sysconf(_SC_PAGESIZE);
}

static bool write_rows(const struct memory *memory)
{
    size_t length = row_count * sizeof *rows;
    row_count = 0;
    return write(memory->samples, rows, length) == (ssize_t)length;
}

static bool walk_page_table(struct memory *memory)
{
    memory->walked_faults = memory->faults;
    memory->walked_writable = memory->writable;
    if (read_text(memory->page_table))
        memory->now.resident = field("\nAnonymous:");
    int64_t taken = memory->now.resident - memory->at_start;
    memory->is_full = memory->most > 0 && taken > memory->most;
    return memory->now.resident > 0;
}

/* Makes the kernel's peak of address space equal to the present size. Otherwise, growth up to an
 * earlier peak would not be measured. Shared memory does not count as anonymous. Returns false if
 * mapping fails. */
static bool rise_to_peak(void)
{
    int64_t below = field("VmPeak:") - field("VmSize:");
    return below == 0 || mmap(NULL, (size_t)below, PROT_NONE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

/* Reads the kernel's counts. If they have changed or `is_due` is set, also reads the allocator's
 * count. */
static void look_at_mapped(struct memory *memory, bool is_due)
{
    int64_t kernel = writable(memory);
    long present = faults();
    if (is_due || kernel != memory->writable || present != memory->faults) {
        int64_t own = allocator_mapped();
        memory->now.mapped = own < 0 ? kernel : own;
    }
    memory->writable = kernel;
    memory->faults = present;
}

bool memory_begin(struct memory *memory)
{
    int64_t mapped;
    memory->page_table = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    memory->sizes = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    /* Huge pages depend on the settings of the machine, and one fault makes many pages resident. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (memory->page_table < 0 || memory->sizes < 0 || !read_path("/proc/self/status") ||
        !rise_to_peak())
        return false;
    memory->outside = field("VmPeak:");
    if (memory->outside == 0 || !anonymous(&mapped))
        return false;
    memory->outside -= mapped;
    /* Resident from the beginning, so that the pages of these buffers do not count. */
    memset(rows, 1, sizeof rows);
    memset(text, 1, sizeof text);
    memory->now.event = -1;
    look_at_mapped(memory, true);
    bool is_known = memory->writable > 0 && walk_page_table(memory);
    memory->at_start = memory->now.resident;
    memory->writable_at_start = memory->writable;
    memory->is_full = false;
    rows[row_count++] = memory->now;
    return is_known;
}

/* Returns whether enough bytes became resident, or were unmapped, since the latest walk. */
static bool is_behind(const struct memory *memory)
{
    int64_t came = (memory->faults - memory->walked_faults) * sysconf(_SC_PAGESIZE);
    int64_t moved = llabs(memory->writable - memory->walked_writable);
    return (came > moved ? came : moved) > memory->now.resident / UNSEEN;
}

static bool look(struct memory *memory, size_t event, bool is_due)
{
    struct sample before = memory->now;
    look_at_mapped(memory, is_due);
    if (is_due || is_behind(memory))
        walk_page_table(memory);
    if (memory->now.mapped == before.mapped && memory->now.resident == before.resident)
        return true;
    memory->now.event = (int64_t)event;
    rows[row_count++] = memory->now;
    return row_count < ROWS || write_rows(memory);
}

size_t memory_run(void *context, size_t begin, size_t end)
{
    struct memory *memory = context;
    const struct trace *trace = memory->trace;
    size_t each_look = trace->events / LOOKS + 1;
    size_t each_walk = trace->events / WALKS + 1;
    for (size_t event = begin; event < end; event++) {
        if (memory->is_full || !trace_step(trace, event, memory->touch))
            return event;
        bool is_due = event % each_walk == 0 || event == memory->max_live ||
                      event + 1 == trace->events;
        bool looks = is_due || event % each_look == 0 || trace->size[event] >= LARGE;
        if (looks && !look(memory, event, is_due))
            return event;
    }
    return end;
}

bool memory_end(struct memory *memory)
{
    bool done = write_rows(memory);
    if (read_path("/proc/self/status"))
        memory->peak_space = field("VmPeak:") - memory->outside;
    return done;
}
