/* Prints the resident anonymous pages of the process, in bytes. */
#include <stdio.h>

static inline void print_held(void) {
    static char line[256]; /* avoids stdio buffers and malloc, which would change the result */
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    unsigned long held = 0;
    while (rollup && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Anonymous: %lu kB", &held) == 1)
            printf("%lu\n", held * 1024);
    if (rollup)
        fclose(rollup);
}
