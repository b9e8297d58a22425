/* Loads a library at run time, calls `take` in it, and leaves it loaded. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    void (*take)(void) = library == NULL ? NULL : (void (*)(void))dlsym(library, "take");
    if (take == NULL)
        return 1;
    take();
    free(malloc(100));
    return 0;
}
