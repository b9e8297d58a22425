/* No saving is possible: the program keeps all allocated memory. */
#include <stdlib.h>
#include <string.h>

#include "held.h"

enum { OBJECTS = 40000 };

int main(int count, char **arguments) {
    int kept = count > 1 ? atoi(arguments[1]) : OBJECTS;
    for (int i = 0; i < kept; i++) {
        size_t size = 200 + (size_t)i % 1000;
        memset(malloc(size), 1, size);
    }
    print_held();
    return 0;
}
