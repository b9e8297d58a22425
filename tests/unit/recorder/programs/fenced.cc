// An allocator library for tests that serves C++ by itself, as jemalloc does, and calls its own
// functions by name, as mimalloc does: these inner calls are part of the outer call.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

static unsigned char arena[1 << 26];
static std::size_t used;

static void *take(std::size_t size, std::size_t alignment)
{
    if (size > sizeof arena - used - alignment - 16) {
        errno = ENOMEM;
        return nullptr;
    }
    std::uintptr_t at = reinterpret_cast<std::uintptr_t>(arena) + used + 16;
    at = (at + alignment - 1) / alignment * alignment;
    used = at + size - reinterpret_cast<std::uintptr_t>(arena);
    reinterpret_cast<std::size_t *>(at)[-1] = size;
    return reinterpret_cast<void *>(at);
}

extern "C" {
void *malloc(std::size_t size)
{
    return take(size, 16);
}

void free(void *)
{
}

void *calloc(std::size_t count, std::size_t size)
{
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return malloc(bytes);
}

void *realloc(void *address, std::size_t size)
{
    void *moved = address != nullptr && size == 0 ? nullptr : malloc(size);
    if (address != nullptr && size == 0) {
        free(address);
    } else if (address != nullptr && moved != nullptr) {
        std::size_t old = static_cast<std::size_t *>(address)[-1];
        std::memcpy(moved, address, old < size ? old : size);
        free(address);
    }
    return moved;
}

void *memalign(std::size_t alignment, std::size_t size)
{
    return take(size, alignment);
}

void *aligned_alloc(std::size_t alignment, std::size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **address, std::size_t alignment, std::size_t size)
{
    if (alignment % sizeof(void *) != 0)
        return EINVAL;
    void *taken = memalign(alignment, size);
    *address = taken != nullptr ? taken : *address;
    return taken != nullptr ? 0 : ENOMEM;
}

void *valloc(std::size_t size)
{
    return memalign(4096, size);
}

void *pvalloc(std::size_t size)
{
    return memalign(4096, (size + 4095) / 4096 * 4096);
}

void *mallocx(std::size_t size, int)
{
    return malloc(size);
}

void sdallocx(void *address, std::size_t, int)
{
    free(address);
}
}

void *operator new(std::size_t size)
{
    return take(size, 16);
}

void *operator new[](std::size_t size)
{
    return operator new(size);
}

void *operator new(std::size_t size, std::align_val_t alignment)
{
    return take(size, static_cast<std::size_t>(alignment));
}

void operator delete(void *address) noexcept
{
    free(address);
}

void operator delete[](void *address) noexcept
{
    operator delete(address);
}

void operator delete(void *address, std::size_t) noexcept
{
    free(address);
}

void operator delete[](void *address, std::size_t) noexcept
{
    free(address);
}

void operator delete(void *, std::align_val_t) noexcept
{
}

void operator delete(void *address, std::size_t, std::align_val_t alignment) noexcept
{
    operator delete(address, alignment);
}
