/* Start-up code, a break of BOARD_HEAP bytes for newlib, and output through semihosting. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "startup.h"

extern unsigned char data_load[], data_start[], data_end[], bss_start[], bss_end[], end[], stack_top[];
int main(void);
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_EXIT_EXTENDED = 0x20, BINARY_WRITE = 5, APPLICATION_EXIT = 0x20026 };

static int semihost(int operation, const uint32_t *arguments)
{
    register int r0 __asm__("r0") = operation;
    register const uint32_t *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_exit(int code)
{
    const uint32_t arguments[] = {APPLICATION_EXIT, (uint32_t)code};
    semihost(SYS_EXIT_EXTENDED, arguments);
    for (;;)
        ;
}

static void fault(void)
{
    board_exit(1);
}

void Reset_Handler(void)
{
    for (unsigned char *to = data_start, *from = data_load; to < data_end;)
        *to++ = *from++;
    for (unsigned char *to = bss_start; to < bss_end;)
        *to++ = 0;
    board_exit(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, (void *)Reset_Handler, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    0, 0, 0, 0, (void *)SVC_Handler, 0, 0, (void *)PendSV_Handler, (void *)SysTick_Handler,
};

void *_sbrk(ptrdiff_t bytes)
{
    static size_t used;
    if (used + (size_t)bytes > BOARD_HEAP) {
        errno = ENOMEM;
        return (void *)-1;
    }
    used += (size_t)bytes;
    return end + used - bytes;
}

static unsigned char held[1024];
static unsigned count;
static int file;

void board_open(const char *name, size_t length)
{
    const uint32_t arguments[] = {(uint32_t)(uintptr_t)name, BINARY_WRITE, length};
    file = semihost(SYS_OPEN, arguments);
}

void board_write(void)
{
    const uint32_t arguments[] = {(uint32_t)file, (uint32_t)(uintptr_t)held, count};
    semihost(SYS_WRITE, arguments);
    count = 0;
}

void board_put(unsigned char byte, void *context)
{
    (void)context;
    held[count++] = byte;
    if (count == sizeof held)
        board_write();
}
