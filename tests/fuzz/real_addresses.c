/* Replays events from stdin through this process's malloc and writes the address of each object.
 *
 * An event is three int64: op (0 malloc, 1 free, 2 realloc), object, size. The answer to each event
 * is an int64: the object's address, or 0 if the event leaves no object. The process allocates
 * nothing else. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { EVENTS = 1 << 14 };

static int64_t events[EVENTS][3];
static int64_t addresses[EVENTS];
static void *objects[EVENTS];

int main(void)
{
    size_t have = 0;
    for (ssize_t got; (got = read(0, (char *)events + have, sizeof events - have)) > 0;)
        have += (size_t)got;
    size_t count = have / sizeof events[0];
    for (size_t event = 0; event < count; event++) {
        void **object = &objects[events[event][1]];
        size_t size = (size_t)events[event][2];
        if (events[event][0] == 0)
            *object = malloc(size);
        else if (events[event][0] == 2)
            *object = realloc(*object, size);
        else {
            free(*object);
            *object = NULL;
        }
        addresses[event] = (int64_t)(intptr_t)*object;
    }
    for (size_t done = 0; done < count * sizeof addresses[0];) {
        ssize_t put = write(1, (char *)addresses + done, count * sizeof addresses[0] - done);
        if (put < 0)
            return 1;
        done += (size_t)put;
    }
    return 0;
}
