/* A loaded ELF object: its exported symbols, and the entries that hold the addresses of functions
 * of other objects. */
#ifndef SIMALLOC_RECORDING_ELF_OBJECT_H
#define SIMALLOC_RECORDING_ELF_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_object {
    uintptr_t base;
    uintptr_t start, end;                     /* bounds of its mappings */
    uintptr_t protected_start, protected_end; /* bounds of the part that is read-only after
                                               * loading */
    const ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *hash;     /* the GNU hash table of exported symbols, or NULL */
    const uint16_t *versions; /* version by symbol, or NULL */
    struct {
        const ElfW(Rela) *relocations;
        size_t count;
    } tables[2]; /* relocations of calls, and all other relocations */
};

/* An entry that holds the address of a function. */
struct elf_entry {
    void **place;
    const char *name;
    bool is_lazy; /* true if the loader may fill it at the first call */
};

/* Returns false for an object without symbols. */
bool elf_object_of(const struct dl_phdr_info *info, struct elf_object *object);

bool elf_object_has(const struct elf_object *object, const void *address);
bool elf_object_protects(const struct elf_object *object, const void *address);

/* Returns the object's own definition of a function and stores its index among the symbols in
 * `number`, or returns NULL. */
void *elf_object_symbol(const struct elf_object *object, const char *name, uint32_t *number);

typedef void elf_visitor(const struct elf_object *object, const struct elf_entry *entry, void *of);

/* Visits each entry that is filled with the address of a named function. */
void elf_object_entries(const struct elf_object *object, elf_visitor *visit, void *of);

#endif
