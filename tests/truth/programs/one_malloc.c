/* Calls malloc(8) once, then writes the resident and private bytes of each memory area from
 * /proc/self/smaps, without malloc. With a number as the argument, that many threads each call
 * malloc(8). */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t all_there, all_printed;

static void *take(void *nothing)
{
    char *volatile taken = malloc(8);
    memset(taken, 1, 8);
    if (nothing != NULL) {
        pthread_barrier_wait(&all_there);
        pthread_barrier_wait(&all_printed);
    }
    return NULL;
}

static void print_figures(void)
{
    char part[4096];
    int areas = open("/proc/self/smaps", O_RDONLY);
    for (ssize_t length; (length = read(areas, part, sizeof part)) > 0;)
        if (write(STDOUT_FILENO, part, (size_t)length) < 0)
            exit(EXIT_FAILURE);
    close(areas);
}

int main(int count, char **values)
{
    int threads = count > 1 ? atoi(values[1]) : 0;
    pthread_t started[256];
    take(NULL);
    if (threads == 0) {
        print_figures();
        return EXIT_SUCCESS;
    }
    pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&all_printed, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&started[i], NULL, take, started);
    pthread_barrier_wait(&all_there);
    print_figures();
    pthread_barrier_wait(&all_printed);
    for (int i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    return EXIT_SUCCESS;
}
