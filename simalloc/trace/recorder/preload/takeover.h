/* Redirects the calls that a running program makes to its allocator. A dynamically linked object
 * calls functions of other objects through entries that the loader has filled with their addresses.
 * This module rewrites the entries of every loaded object and later restores them. */
#ifndef SIMALLOC_RECORDING_TAKEOVER_H
#define SIMALLOC_RECORDING_TAKEOVER_H

/* Returns the first definition of an exported function among the loaded objects, in the loader's
 * order and without this library, or NULL. */
void *takeover_original(const char *name);

/* Directs the entries of all loaded objects to this library's functions. The entries of an object
 * that is loaded later are redirected when the program next looks up a symbol. Returns 0, or an
 * errno if an entry could not be written. No other thread may run. */
int takeover_begin(void);

/* Restores all entries. No other thread may run. */
void takeover_end(void);

#endif
