/* Loads each library that its arguments name, lets it allocate, and unloads it. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            return 1;
        void *(*allocate)(void) = (void *(*)(void))dlsym(library, "plugin_allocate");
        void *block = allocate();
        dlclose(library);
        free(block);
    }
    return 0;
}
