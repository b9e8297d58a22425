#include "process.h"

#include "attach.h"
#include "descriptors.h"
#include "mappings.h"
#include "next.h"
#include "sample.h"
#include "sites.h"
#include "stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAX_IMAGES = 100000, DESCRIPTOR_FROM = 900 };

/* A forked child inherits the following variables unchanged. */
static struct process *process;
static bool off; /* true if no recording is requested */
static pid_t late_process; /* process that loaded the library while it ran, or 0 */
static uint32_t columns;
static uint32_t depth;
static char directory[PATH_BYTES];
static char path[PATH_BYTES + 64];
static char settings[SETTINGS][PATH_BYTES + 64];
static char allocator[EXECUTABLE_BYTES]; /* found once, because a forked child must not search for
                                          * it */
static struct kept {
    int descriptor; /* below 0 if none is open; the program may have closed it and reused its
                     * number */
    dev_t device;
    ino_t inode;
} file = {.descriptor = -1}, folder = {.descriptor = -1};

#define FOLDER_VARIABLE "SIMALLOC_RECORD_FOLDER"
enum { FOLDER = SETTINGS - 1 };

bool process_stopped(void)
{
    return off || (process != NULL && process->stopped);
}

/* Trailer of an allocation for the recorder. The trailers form a list, the newest first. */
struct owned_memory {
    struct owned_memory *next;
    size_t before; /* bytes of the mapping before this trailer */
};

static struct owned_memory *all_owned;

void *process_memory(size_t bytes)
{
    size_t before = (bytes + _Alignof(struct owned_memory) - 1) / _Alignof(struct owned_memory) *
                    _Alignof(struct owned_memory);
    size_t length = before + sizeof(struct owned_memory);
    char *memory = map_own(length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, length, MADV_WIPEONFORK) != 0) {
        unmap_own(memory, length);
        return NULL;
    }
    struct owned_memory *made = (struct owned_memory *)(memory + before);
    *made = (struct owned_memory){__atomic_load_n(&all_owned, __ATOMIC_RELAXED), before};
    while (!__atomic_compare_exchange_n(&all_owned, &made->next, made, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return memory;
}

static void give_back_memory(void)
{
    while (all_owned != NULL) {
        struct owned_memory newest = *all_owned;
        char *memory = (char *)all_owned - newest.before;
        all_owned = newest.next;
        unmap_own(memory, newest.before + sizeof newest);
    }
}

void process_lock(struct process *of)
{
    while (__atomic_exchange_n(&of->locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void process_unlock(struct process *of)
{
    __atomic_store_n(&of->locked, 0, __ATOMIC_RELEASE);
}

void process_lose(uint64_t sequence, int reason)
{
    struct recording_header *header = process->header;
    uint64_t lost_from = __atomic_load_n(&header->lost_from, __ATOMIC_RELAXED);
    if (lost_from == NOTHING_LOST)
        __atomic_store_n(&header->lost_reason, (uint32_t)reason, __ATOMIC_RELAXED);
    while (sequence < lost_from &&
           !__atomic_compare_exchange_n(&header->lost_from, &lost_from, sequence, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    process->stopped = true;
}

void process_lose_from_now(int reason)
{
    process_lose(__atomic_load_n(&process->header->sequence, __ATOMIC_RELAXED), reason);
}

bool process_peaks(struct process *of, int64_t bytes)
{
    enum { STEP = 256 << 10, SHARE = 100 }; /* the live bytes must exceed the peak by the larger of
                                             * STEP bytes and 1 / SHARE of the peak */
    int64_t live = __atomic_add_fetch(&of->live, bytes, __ATOMIC_RELAXED);
    int64_t peak = __atomic_load_n(&of->peak, __ATOMIC_RELAXED);
    int64_t step = peak / SHARE > STEP ? peak / SHARE : STEP;
    return live > peak + step && __atomic_compare_exchange_n(&of->peak, &peak, live, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void process_count_unwritten(void)
{
    if (process != NULL && process->header != NULL)
        __atomic_fetch_add(&process->header->unwritten, 1, __ATOMIC_RELAXED);
}

void process_count_other(uintptr_t start)
{
    Dl_info found;
    if (process == NULL || process->header == NULL ||
        __atomic_fetch_add(&process->header->others, 1, __ATOMIC_RELAXED) != 0)
        return;
    if (dladdr((void *)start, &found) != 0 && found.dli_fname != NULL)
        snprintf(process->header->other, EXECUTABLE_BYTES, "%s", found.dli_fname);
}

struct large_blocks *process_large(void)
{
    return process == NULL ? NULL : process->large;
}

static bool is_open(const struct kept *kept)
{
    struct stat now;
    return kept->descriptor >= 0 && fstat(kept->descriptor, &now) == 0 &&
           now.st_dev == kept->device && now.st_ino == kept->inode;
}

/* Moves an open file to a high descriptor, because some programs expect to get low ones. */
static bool keep(struct kept *kept, int descriptor, int how)
{
    struct stat status;
    int high = fcntl(descriptor, how, DESCRIPTOR_FROM);
    if (high >= 0) {
        close_own(descriptor);
        descriptor = high;
    }
    if (fstat(descriptor, &status) != 0) {
        close_own(descriptor);
        return false;
    }
    *kept = (struct kept){descriptor, status.st_dev, status.st_ino};
    return true;
}

int process_descriptor(size_t number)
{
    return number == 0 ? file.descriptor : folder.descriptor;
}

bool process_owns(int descriptor)
{
    return (descriptor == file.descriptor && is_open(&file)) ||
           (descriptor == folder.descriptor && is_open(&folder));
}

/* Names a user's folder by its descriptor. Programs that this process starts can reach the folder
 * only through the inherited descriptor. */
static void name_folder(void)
{
    snprintf(settings[FOLDER], sizeof settings[FOLDER], "%s=%d %llu %llu", FOLDER_VARIABLE,
             folder.descriptor, (unsigned long long)folder.device,
             (unsigned long long)folder.inode);
}

void process_prepare_user(uid_t user)
{
    char name[sizeof path];
    int error = errno;
    if (geteuid() == 0 && user != 0 && user != (uid_t)-1 && directory[0] != '\0' && !off) {
        snprintf(name, sizeof name, "%s/uid.%u", directory, (unsigned)user);
        mkdir(name, 0700);
        int descriptor = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor >= 0 && fchown(descriptor, user, (gid_t)-1) == 0) {
            if (is_open(&folder))
                close_own(folder.descriptor);
            if (keep(&folder, descriptor, F_DUPFD))
                name_folder();
        } else if (descriptor >= 0) {
            close_own(descriptor);
        }
    }
    errno = error;
}

/* Takes over the user's folder that the previous program of this process has left open. */
static void inherit_folder(const char *text)
{
    char *rest;
    struct kept left = {.descriptor = (int)strtol(text, &rest, 10)};
    left.device = strtoull(rest, &rest, 10);
    left.inode = strtoull(rest, &rest, 10);
    if (*text != '\0' && is_open(&left))
        folder = left;
}

static int create_in(const char *where, int image)
{
    snprintf(path, sizeof path, "%s/%d.%d.raw", where, (int)getpid(), image);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Creates PROCESS.IMAGE.raw. IMAGE distinguishes the programs that one process executes. */
static bool create_file(void)
{
    char left[64] = "";
    if (late_process != 0) {
        int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        return descriptor >= 0 && keep(&file, descriptor, F_DUPFD_CLOEXEC);
    }
    if (is_open(&file))
        close_own(file.descriptor); /* the parent's file */
    for (int image = 1; image < MAX_IMAGES; image++) {
        int descriptor = create_in(*left == '\0' ? directory : left, image);
        if (descriptor >= 0)
            return keep(&file, descriptor, F_DUPFD_CLOEXEC);
        if (*left == '\0' && (errno == EACCES || errno == EPERM) && is_open(&folder)) {
            snprintf(left, sizeof left, "/proc/self/fd/%d", folder.descriptor);
            image--;
        } else if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

/* A file that exceeds the size limit would cause a signal. */
static int grow_file(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && process->file_bytes + bytes > limit.rlim_cur)
        return EFBIG;
    if (!is_open(&file)) {
        struct kept before = file;
        int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (descriptor < 0 || !keep(&file, descriptor, F_DUPFD_CLOEXEC))
            return errno;
        if (file.device != before.device || file.inode != before.inode) {
            close_own(file.descriptor);
            file = (struct kept){.descriptor = -1};
            return ESTALE;
        }
    }
    return posix_fallocate(file.descriptor, (off_t)process->file_bytes, (off_t)bytes);
}

/* Maps new bytes at the end of the file. Reserves their disk space first, so that a store cannot
 * fail. */
static void *map_more(uint64_t bytes)
{
    errno = grow_file(bytes);
    if (errno != 0)
        return NULL;
    void *address = map_own(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor,
                            (off_t)process->file_bytes);
    if (address == MAP_FAILED)
        return NULL;
    process->file_bytes += bytes;
    return address;
}

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void process_ended(void)
{
    if (process != NULL && process->header != NULL)
        __atomic_store_n(&process->header->processor_ended, clock_now(CLOCK_PROCESS_CPUTIME_ID),
                         __ATOMIC_RELAXED);
}

static uint32_t read_command(char *into)
{
    int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = descriptor < 0 ? 0 : read(descriptor, into, COMMAND_BYTES);
    if (descriptor >= 0)
        close_own(descriptor);
    return bytes < 0 ? 0 : (uint32_t)bytes;
}

static void find_allocator(void)
{
    Dl_info found;
    if (allocator[0] == '\0' && next_is_known() &&
        dladdr((void *)(uintptr_t)next.malloc, &found) != 0 && found.dli_fname != NULL)
        snprintf(allocator, sizeof allocator, "%s", found.dli_fname);
}

static uint32_t unit_bytes(void)
{
    long page = sysconf(_SC_PAGESIZE);
    return page > SMALLEST_UNIT ? (uint32_t)page : (uint32_t)SMALLEST_UNIT;
}

static bool begin(void)
{
    struct recording_header *header;
    if (!create_file() || (header = map_more(first_segment(unit_bytes()))) == NULL)
        return false;
    header->unit = unit_bytes();
    header->columns = columns;
    header->depth = depth;
    header->every = sample_every();
    header->process = (uint32_t)(late_process != 0 ? late_process : getpid());
    header->parent = (uint32_t)getppid();
    header->started = clock_now(CLOCK_REALTIME);
    header->clock = clock_now(CLOCK_MONOTONIC);
    header->processor = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    header->lost_from = NOTHING_LOST;
    header->command_bytes = read_command(header->command);
    ssize_t length = readlink("/proc/self/exe", header->executable, EXECUTABLE_BYTES - 1);
    header->executable[length < 0 ? 0 : length] = '\0';
    find_allocator();
    memcpy(header->allocator, allocator, sizeof allocator);
    snprintf(header->libc, sizeof header->libc, "%s", gnu_get_libc_version());
    __atomic_store_n(&header->magic, RECORDING_MAGIC, __ATOMIC_RELEASE);
    process->large = (struct large_blocks *)((char *)header + unit_bytes());
    process->header = header;
    return true;
}

/* Returns the value of a variable, or "" if it is not set. Keeps the value for the programs that
 * this process starts. */
static const char *setting(size_t number, const char *variable)
{
    const char *text = getenv(variable);
    if (text == NULL)
        text = "";
    snprintf(settings[number], sizeof settings[number], "%s=%s", variable, text);
    return text;
}

const char *process_setting(size_t number)
{
    return directory[0] != '\0' ? settings[number] : "";
}

/* Returns false without a recording to write to, or if it is too early to decide. */
static bool read_settings(void)
{
    if (environ == NULL)
        return false;
    const char *wanted = setting(0, "SIMALLOC_RECORD_DIRECTORY");
    off = *wanted == '\0' || strlen(wanted) >= sizeof directory;
    if (off)
        return false;
    if (strstr(setting(1, "SIMALLOC_RECORD_COLUMNS"), "time") != NULL)
        columns |= COLUMN_TIME;
    unsigned long frames = strtoul(setting(2, "SIMALLOC_RECORD_DEPTH"), NULL, 10);
    depth = frames > MAX_DEPTH ? MAX_DEPTH : (uint32_t)frames;
    columns |= depth > 0 ? COLUMN_SITE : 0;
    setting(3, "SIMALLOC_RECORD_EVERY");
    if (*setting(4, "SIMALLOC_RECORD_PYTHON") != '\0')
        strcpy(settings[5], "PYTHONMALLOC=malloc");
    inherit_folder(setting(FOLDER, FOLDER_VARIABLE));
    strcpy(directory, wanted);
    return true;
}

static void complain(int reason)
{
    if (reason == ENOENT) /* simalloc has ended the recording and removed its directory */
        return;
    char text[256];
    int length = snprintf(text, sizeof text, "simalloc: process %d is not recorded: %s\n",
                          (int)getpid(), strerrordesc_np(reason));
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
}

struct process *process_begun(void)
{
    if (process_stopped() || (late_process == 0 && directory[0] == '\0' && !read_settings()))
        return NULL;
    if (process == NULL && (process = process_memory(sizeof *process)) == NULL) {
        off = true;
        complain(errno);
        return NULL;
    }
    if (process->header == NULL && late_process != 0) { /* a forked child, which is not recorded
                                                         * after an attach */
        process->stopped = true;
        return NULL;
    }
    if (process->header == NULL && !begin()) {
        process->stopped = true;
        complain(errno);
        return NULL;
    }
    return process;
}

/* Begins before the program can close files, clear its environment or give up its rights. */
__attribute__((constructor)) static void begin_early(void)
{
    process_begun();
}

struct segment_header *process_add_segment(struct process *of, uint64_t *bytes, uint32_t stream)
{
    if (__atomic_load_n(&of->header->lost_from, __ATOMIC_RELAXED) != NOTHING_LOST) {
        of->stopped = true;
        return NULL;
    }
    uint64_t unit = unit_bytes();
    *bytes = (*bytes + unit - 1) / unit * unit;
    struct segment_header *segment = map_more(*bytes);
    if (segment == NULL) {
        process_lose_from_now(errno);
        return NULL;
    }
    segment->bytes = *bytes;
    segment->stream = stream;
    __atomic_store_n(&segment->magic, SEGMENT_MAGIC, __ATOMIC_RELEASE);
    return segment;
}

int process_begin_late(const struct late_request *request)
{
    late_process = (pid_t)request->process;
    columns = request->columns;
    depth = request->depth;
    snprintf(path, sizeof path, "%s", request->path);
    sample_begin(request->every);
    if ((process = process_memory(sizeof *process)) != NULL && begin())
        return 0;
    return errno != 0 ? errno : EIO;
}

void process_open(uint32_t threads)
{
    process->threads = threads;
    __atomic_store_n(&off, false, __ATOMIC_RELEASE);
}

void process_end_late(void)
{
    off = true;
    if (process != NULL && process->header != NULL) {
        process_lose_from_now(0);
        stream_release_all(process);
        unmap_own(process->header, first_segment(unit_bytes()));
    }
    if (is_open(&file))
        close_own(file.descriptor);
    file = (struct kept){.descriptor = -1};
    process = NULL;
    sites_forget();
    sample_begin(0);
    give_back_memory();
}

void process_release_segment(struct segment_header *segment, uint64_t bytes)
{
    unmap_own(segment, bytes);
}

/* Returns space for `bytes` in the segment of mappings, or NULL. */
static uint8_t *mapping_room(struct process *of, uint64_t bytes)
{
    enum { ROOM = 64 << 10 };
    if (of->mappings == NULL ||
        sizeof *of->mappings + of->mappings->committed + bytes > of->mappings_bytes) {
        uint64_t fresh = of->mappings == NULL ? unit_bytes() : ROOM;
        struct segment_header *segment = process_add_segment(of, &fresh, MAPPINGS_STREAM);
        if (segment == NULL)
            return NULL;
        if (of->mappings != NULL)
            process_release_segment(of->mappings, of->mappings_bytes);
        of->mappings = segment;
        of->mappings_bytes = fresh;
    }
    return (uint8_t *)(of->mappings + 1) + of->mappings->committed;
}

void process_add_mapping(struct mapping_record *record, const char *file_path)
{
    static const uint64_t filling;
    if (process == NULL || process->header == NULL || process->stopped)
        return;
    process_lock(process);
    uintptr_t *known = &process->callers[record->caller * UINT64_C(0x9E3779B97F4A7C15) >> 56];
    size_t length = *known == record->caller ? 0 : strnlen(file_path, EXECUTABLE_BYTES);
    uint64_t filled = (sizeof filling - length % sizeof filling) % sizeof filling;
    uint8_t *out = mapping_room(process, sizeof *record + length + filled);
    if (out != NULL) {
        *known = record->caller;
        record->sequence = __atomic_load_n(&process->header->sequence, __ATOMIC_RELAXED);
        record->time = clock_now(CLOCK_MONOTONIC) - process->header->clock;
        record->path_bytes = length;
        memcpy(out, record, sizeof *record);
        memcpy(out + sizeof *record, file_path, length);
        memcpy(out + sizeof *record + length, &filling, filled);
        __atomic_fetch_add(&process->mappings->committed, sizeof *record + length + filled,
                           __ATOMIC_RELEASE);
    }
    process_unlock(process);
}
