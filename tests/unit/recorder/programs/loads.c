/* Loads the library that its argument names, lets it allocate, and unloads it. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    void *library = dlopen(count > 1 ? arguments[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return 1;
    void *(*allocate)(void) = (void *(*)(void))dlsym(library, "plugin_allocate");
    void *block = allocate();
    dlclose(library);
    free(block);
    return 0;
}
