/* Takes over the calls that a running program makes to its allocator. A dynamically linked object
 * calls functions of other objects through entries that the loader has filled with their addresses;
 * here the entries of every loaded object are rewritten, and later restored. */
#ifndef SIMALLOC_RECORDING_TAKEOVER_H
#define SIMALLOC_RECORDING_TAKEOVER_H

/* Returns the first definition of an exported function among the loaded objects, in the loader's
 * order and without this library, or NULL. */
void *takeover_original(const char *name);

/* Directs the entries of all loaded objects to this library's functions. The entries of an object
 * that is loaded later follow when the program first looks up a symbol. Returns 0, or an errno if
 * an entry could not be written. No other thread may run, or no other thread may be in the loader.
 */
int takeover_begin(void);

/* Directs all entries back. No other thread may run. */
void takeover_end(void);

#endif
