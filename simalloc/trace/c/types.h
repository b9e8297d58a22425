/* Python types of the module. Their methods release the GIL without locking the object, so only one
 * thread may use an object at a time. */
#ifndef SIMALLOC_TYPES_H
#define SIMALLOC_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <structmember.h>

extern PyType_Spec decoder_spec;
extern PyType_Spec live_table_spec;
extern PyType_Spec lives_spec;

/* Python members of the `struct live_slots` at `place` in an object. */
#define LIVE_SLOTS_MEMBER(object, place, name, type, text)                                         \
    {#name, type, offsetof(object, place.name), READONLY, text}
#define LIVE_SLOTS_MEMBERS(object, place)                                                          \
    LIVE_SLOTS_MEMBER(object, place, objects, T_LONGLONG, "number of objects allocated so far"),             \
    LIVE_SLOTS_MEMBER(object, place, reallocs, T_LONGLONG, "number of realloc events so far"),               \
    LIVE_SLOTS_MEMBER(object, place, slots, T_UINT, "peak number of live objects"),    \
    LIVE_SLOTS_MEMBER(object, place, free_count, T_PYSSIZET, "number of slots that are free"),    \
    LIVE_SLOTS_MEMBER(object, place, allocated_bytes, T_LONGLONG,                                  \
                      "bytes requested by malloc and realloc events so far"),                      \
    LIVE_SLOTS_MEMBER(object, place, live_bytes, T_LONGLONG, "live bytes"),                    \
    LIVE_SLOTS_MEMBER(object, place, max_live_bytes, T_LONGLONG,                                   \
                      "peak of live bytes after an event")

#endif
