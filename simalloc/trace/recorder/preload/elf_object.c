#include "elf_object.h"

#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { FOR_CALLS = R_X86_64_JUMP_SLOT, FOR_ADDRESSES = R_X86_64_GLOB_DAT, IN_DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { FOR_CALLS = R_AARCH64_JUMP_SLOT, FOR_ADDRESSES = R_AARCH64_GLOB_DAT, IN_DATA = R_AARCH64_ABS64 };
#else
enum { FOR_CALLS = -1, FOR_ADDRESSES = -1, IN_DATA = -1 }; /* unknown architecture: no calls are
                                                            * redirected */
#endif

enum { HIDDEN_VERSION = 0x8000 };

/* The loader adds the base to the addresses in most dynamic sections, but not in every one. */
static const void *in_object(const struct elf_object *object, uintptr_t address)
{
    return (const void *)(address < object->base ? address + object->base : address);
}

static void read_dynamic(struct elf_object *object, const ElfW(Dyn) *entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = in_object(object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            object->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            object->names = at;
        else if (entry->d_tag == DT_GNU_HASH)
            object->hash = at;
        else if (entry->d_tag == DT_VERSYM)
            object->versions = at;
        else if (entry->d_tag == DT_JMPREL)
            object->tables[0].relocations = at;
        else if (entry->d_tag == DT_PLTRELSZ)
            object->tables[0].count = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_RELA)
            object->tables[1].relocations = at;
        else if (entry->d_tag == DT_RELASZ)
            object->tables[1].count = entry->d_un.d_val / sizeof(ElfW(Rela));
    }
}

bool elf_object_of(const struct dl_phdr_info *info, struct elf_object *object)
{
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    *object = (struct elf_object){.base = info->dlpi_addr, .start = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            object->start = start < object->start ? start : object->start;
            object->end = end > object->end ? end : object->end;
        } else if (part->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        } else if (part->p_type == PT_GNU_RELRO) {
            object->protected_start = start / page * page;
            object->protected_end = end / page * page;
        }
    }
    if (dynamic != NULL)
        read_dynamic(object, dynamic);
    return object->symbols != NULL && object->names != NULL;
}

bool elf_object_has(const struct elf_object *object, const void *address)
{
    return (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
}

bool elf_object_protects(const struct elf_object *object, const void *address)
{
    return (uintptr_t)address >= object->protected_start &&
           (uintptr_t)address < object->protected_end;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_definition(const struct elf_object *object, uint32_t number, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[number];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           (object->versions == NULL || (object->versions[number] & HIDDEN_VERSION) == 0) &&
           strcmp(object->names + symbol->st_name, name) == 0;
}

void *elf_object_symbol(const struct elf_object *object, const char *name, uint32_t *number)
{
    if (object->hash == NULL)
        return NULL;
    enum { WORD_BITS = 8 * sizeof(ElfW(Addr)) };
    uint32_t buckets = object->hash[0], first = object->hash[1], words = object->hash[2];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)&object->hash[4];
    const uint32_t *bucket = (const uint32_t *)&filter[words], *chain = &bucket[buckets];
    uint32_t hash = hash_of(name), other = hash >> object->hash[3];
    ElfW(Addr) bits = filter[hash / WORD_BITS % words];
    if ((bits >> hash % WORD_BITS & bits >> other % WORD_BITS & 1) == 0 || buckets == 0)
        return NULL;
    for (*number = bucket[hash % buckets]; *number >= first; ++*number) {
        uint32_t found = chain[*number - first];
        if ((found | 1) == (hash | 1) && is_definition(object, *number, name))
            return (void *)(object->base + object->symbols[*number].st_value);
        if (found & 1)
            break;
    }
    return NULL;
}

void elf_object_entries(const struct elf_object *object, elf_visitor *visit, void *of)
{
    for (size_t table = 0; table < 2; table++)
        for (size_t i = 0; i < object->tables[table].count; i++) {
            const ElfW(Rela) *relocation = &object->tables[table].relocations[i];
            int type = (int)ELF64_R_TYPE(relocation->r_info);
            uint64_t symbol = ELF64_R_SYM(relocation->r_info);
            if (symbol == 0 || (type != FOR_CALLS && type != FOR_ADDRESSES &&
                                (type != IN_DATA || relocation->r_addend != 0)))
                continue;
            struct elf_entry entry = {(void **)(object->base + relocation->r_offset),
                                      object->names + object->symbols[symbol].st_name,
                                      type == FOR_CALLS &&
                                          object->symbols[symbol].st_shndx == SHN_UNDEF};
            visit(object, &entry, of);
        }
}
