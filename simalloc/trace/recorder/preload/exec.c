/* Records the programs that a recorded process starts, whatever environment they get. The recorder
 * also stays in the environment of `env LD_PRELOAD=library program` and of `env -i program`.
 *
 * The caller may be a child of vfork, which shares its parent's memory, or a child of fork at any
 * point of the program. Therefore all data is built on the stack, and all functions have been
 * looked up before. */
#include "malloc.h"
#include "process.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="

typedef int run_path(const char *path, char *const arguments[], char *const environment[]);
typedef int run_file(int file, char *const arguments[], char *const environment[]);
typedef int run_at(int folder, const char *path, char *const arguments[], char *const environment[],
                   int flags);
typedef int spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                  const posix_spawnattr_t *attributes, char *const arguments[],
                  char *const environment[]);

static struct {
    run_path *execve, *execvpe;
    run_file *fexecve;
    run_at *execveat;
    spawn *posix_spawn, *posix_spawnp;
} behind; /* the next functions in the loader's order; all NULL before the look-up */

static char own_path[PATH_MAX]; /* path under which the loader has loaded this library */

static void find(void)
{
    Dl_info info;
    if (dladdr(&next, &info) != 0 && info.dli_fname != NULL &&
        strlen(info.dli_fname) < sizeof own_path)
        strcpy(own_path, info.dli_fname);
    behind.execvpe = (run_path *)dlsym(RTLD_NEXT, "execvpe");
    behind.fexecve = (run_file *)dlsym(RTLD_NEXT, "fexecve");
    behind.execveat = (run_at *)dlsym(RTLD_NEXT, "execveat");
    behind.posix_spawn = (spawn *)dlsym(RTLD_NEXT, "posix_spawn");
    behind.posix_spawnp = (spawn *)dlsym(RTLD_NEXT, "posix_spawnp");
    behind.execve = (run_path *)dlsym(RTLD_NEXT, "execve");
}

__attribute__((constructor)) static void find_early(void)
{
    if (behind.execve == NULL)
        find();
}

static bool names_us(const char *preloaded)
{
    const char *found = strstr(preloaded, own_path);
    size_t length = strlen(own_path);
    return found != NULL && (found[length] == '\0' || found[length] == ':' || found[length] == ' ');
}

static size_t length_of(char *const environment[])
{
    size_t length = 0;
    while (environment != NULL && environment[length] != NULL)
        length++;
    return length;
}

static const char *preloaded_in(char *const environment[])
{
    for (size_t i = 0; i < length_of(environment); i++)
        if (strncmp(environment[i], PRELOAD, strlen(PRELOAD)) == 0)
            return environment[i] + strlen(PRELOAD);
    return "";
}

/* Returns whether an entry is a variable that a recording sets. */
static bool is_set(const char *entry)
{
    bool set = strncmp(entry, PRELOAD, strlen(PRELOAD)) == 0;
    for (size_t i = 0; i < SETTINGS && !set; i++)
        set = strncmp(entry, process_setting(i), strcspn(process_setting(i), "=") + 1) == 0;
    return set;
}

/* Writes to `entries` the environment with the recorder added, and LD_PRELOAD to `preload`. */
static char **keep_recorder(char *const environment[], char **entries, char *preload)
{
    const char *others = preloaded_in(environment);
    size_t count = 0;
    for (size_t i = 0; i < length_of(environment); i++)
        if (!is_set(environment[i]))
            entries[count++] = environment[i];
    for (size_t i = 0; i < SETTINGS; i++)
        if (process_setting(i)[0] != '\0')
            entries[count++] = (char *)(uintptr_t)process_setting(i);
    strcpy(preload, PRELOAD);
    if (!names_us(others))
        strcat(strcat(preload, own_path), *others == '\0' ? "" : ":");
    entries[count++] = strcat(preload, others);
    entries[count] = NULL;
    return entries;
}

/* The environment with the recorder added, in memory of the calling function (alloca). */
#define RECORDED(environment)                                                                       \
    (!is_kept() ? (environment)                                                                     \
                : keep_recorder(environment,                                                        \
                                alloca((length_of(environment) + SETTINGS + 2) * sizeof(char *)),   \
                                alloca(sizeof PRELOAD + strlen(own_path) + 1 +                      \
                                       strlen(preloaded_in(environment)))))

static bool is_kept(void)
{
    if (behind.execve == NULL)
        find();
    return process_setting(0)[0] != '\0' && own_path[0] != '\0';
}

static int fail(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    char *const *recorded = RECORDED(environment);
    return behind.execve != NULL ? behind.execve(path, arguments, recorded) : fail();
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    char *const *recorded = RECORDED(environment);
    return behind.execvpe != NULL ? behind.execvpe(file, arguments, recorded) : fail();
}

EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[])
{
    char *const *recorded = RECORDED(environment);
    return behind.fexecve != NULL ? behind.fexecve(file, arguments, recorded) : fail();
}

EXPORT int execveat(int folder, const char *path, char *const arguments[],
                    char *const environment[], int flags)
{
    char *const *recorded = RECORDED(environment);
    return behind.execveat != NULL ? behind.execveat(folder, path, arguments, recorded, flags)
                                   : fail();
}

EXPORT int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const arguments[],
                       char *const environment[])
{
    char *const *recorded = RECORDED(environment);
    return behind.posix_spawn != NULL
               ? behind.posix_spawn(child, path, actions, attributes, arguments, recorded)
               : ENOSYS;
}

EXPORT int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[],
                        char *const environment[])
{
    char *const *recorded = RECORDED(environment);
    return behind.posix_spawnp != NULL
               ? behind.posix_spawnp(child, file, actions, attributes, arguments, recorded)
               : ENOSYS;
}

/* Variable arguments up to NULL as an array, in memory of the calling function (alloca). */
#define LISTED(first, list)                                                                         \
    va_list list, counted;                                                                          \
    va_start(list, first);                                                                          \
    va_copy(counted, list);                                                                         \
    size_t count = 1;                                                                               \
    while (va_arg(counted, char *) != NULL)                                                         \
        count++;                                                                                    \
    va_end(counted);                                                                                \
    char **arguments = alloca((count + 1) * sizeof *arguments);                                     \
    arguments[0] = (char *)(uintptr_t)(first);                                                      \
    for (size_t i = 1; i <= count; i++)                                                             \
        arguments[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
    LISTED(first, list);
    va_end(list);
    return execve(path, arguments, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    LISTED(first, list);
    va_end(list);
    return execvpe(file, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    LISTED(first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
