#define _GNU_SOURCE
#include "caller.h"

#include "copying.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#if defined(__x86_64__)

enum { LEAVE_ROUNDS = 300, LEAVE_NS = 20 * 1000, LEAVE_STEADY_ROUNDS = 10 };
enum { KERNEL_ROUNDS = 5 }; /* first rounds in which threads that wait in the kernel are awaited */
/* time for a call to end before the other threads are also run */
enum { ALONE_NS = 300 * 1000 * 1000 };
enum { NT_PRSTATUS_SET = 1, NT_X86_XSTATE_SET = 0x202 };
enum { RED_ZONE = 128, EXTENDED_BYTES = 1 << 16, DIRECTION_FLAG = 1 << 10, TRAP_FLAG = 1 << 8 };
enum {
    STACK_PAGE_BYTES = 4096,
    STACK_PAGE_WORDS = STACK_PAGE_BYTES / 8,
    STACK_PAGES = 32 /* maximum number of pages of a stack that are searched */
};
enum { HEAP_ALIGNMENT = 64 << 20, HEAP_HEADER_SMALL = 32, HEAP_HEADER = 48 };

/* Results of a blocked system call that was interrupted or will be restarted. */
enum { RESTART_FIRST = -516, RESTART_LAST = -512, INTERRUPTED = -4 };

static bool get_registers(pid_t number, struct user_regs_struct *registers)
{
    struct iovec vector = {registers, sizeof *registers};
    return ptrace(PTRACE_GETREGSET, number, (void *)NT_PRSTATUS_SET, &vector) == 0;
}

static bool set_registers(pid_t number, struct user_regs_struct *registers)
{
    struct iovec vector = {registers, sizeof *registers};
    return ptrace(PTRACE_SETREGSET, number, (void *)NT_PRSTATUS_SET, &vector) == 0;
}

static bool is_in(uint64_t address, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].start <= address && address < ranges[i].end)
            return true;
    return false;
}

/* Returns whether a thread waits in the kernel for an external event, as an idle thread does. An
 * allocator waits only for its locks, which are in its data or at the start of an arena's heap. */
static bool waits(const struct user_regs_struct *registers, const struct allocator_memory *memory)
{
    int64_t answer = (int64_t)registers->rax;
    if ((int64_t)registers->orig_rax < 0 ||
        (answer != INTERRUPTED && (answer < RESTART_FIRST || answer > RESTART_LAST)))
        return false;
    uint64_t place = registers->rdi % HEAP_ALIGNMENT;
    return registers->orig_rax != SYS_futex ||
           (!is_in(registers->rdi, memory->data, memory->data_count) &&
            place != HEAP_HEADER_SMALL && place != HEAP_HEADER);
}

/* Returns whether a thread yields its processor in a call of sched_yield by the program. A call by
 * the allocator does not count, because an allocator yields while it waits for a lock. If the
 * processors are busy, a thread that only yields is almost always stopped in this call. sched_yield
 * has no frame, so its return address is on top of the stack. */
static bool yields(const struct thread *thread, const struct user_regs_struct *registers,
                   const struct allocator_memory *memory)
{
    if (registers->orig_rax != SYS_sched_yield)
        return false;
    errno = 0;
    uint64_t caller =
        (uint64_t)ptrace(PTRACE_PEEKDATA, thread->number, (void *)registers->rsp, NULL);
    return errno == 0 && !is_in(caller, memory->code, memory->code_count);
}

static bool is_amid(const struct thread *thread, const struct allocator_memory *memory)
{
    struct user_regs_struct registers;
    return thread->state == THREAD_STOPPED && get_registers(thread->number, &registers) &&
           is_in(registers.rip, memory->code, memory->code_count) && !waits(&registers, memory) &&
           !yields(thread, &registers, memory);
}

int tracer_leave(struct tracer *tracer, const struct allocator_memory *memory, bool everyone)
{
    for (int round = 0;; round++) {
        int amid = 0;
        bool patient = round < KERNEL_ROUNDS;
        if (everyone && !(patient ? tracer_await_kernel(tracer) : tracer_all_stopped(tracer)))
            return -1;
        for (size_t i = 0; i < tracer->count; i++) {
            if (!is_amid(&tracer->threads[i], memory))
                continue;
            amid++;
            if (round < LEAVE_ROUNDS)
                tracer_let_go(&tracer->threads[i]);
        }
        if (amid == 0 || round == LEAVE_ROUNDS)
            return amid;
        /* A longer run does not make it likelier that a thread stops outside, but slow calls need
         * more time. */
        tracer_pause(LEAVE_NS * (1 + round / LEAVE_STEADY_ROUNDS));
        if (!tracer_interrupt(tracer))
            return -1;
    }
}

static bool has_restorer(const uint64_t *words, size_t count,
                         const struct allocator_memory *memory)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < memory->restorer_count; j++)
            if (words[i] == memory->restorers[j])
                return true;
    return false;
}

/* Returns whether a thread may be executing a signal handler: the return address of a handler is on
 * its stack. The word may also be left from an earlier handler. */
static bool may_handle_signal(pid_t process, const struct user_regs_struct *registers,
                              const struct allocator_memory *memory)
{
    uint64_t words[STACK_PAGE_WORDS];
    uint64_t at = registers->rsp & ~UINT64_C(7), place = 0;
    for (int page = 0; page < STACK_PAGES; page++) {
        uint64_t length = STACK_PAGE_BYTES - at % STACK_PAGE_BYTES;
        if (copy_ranges(process, &at, &length, &place, 1, (uint8_t *)words) != 0)
            return false;
        if (has_restorer(words, length / sizeof *words, memory))
            return true;
        at += length;
    }
    return false;
}

struct thread *tracer_outside(struct tracer *tracer, const struct allocator_memory *memory,
                              bool *interrupted)
{
    struct thread *found = NULL;
    *interrupted = true;
    for (size_t i = 0; *interrupted && i < tracer->count; i++) {
        struct user_regs_struct registers;
        struct thread *thread = &tracer->threads[i];
        if (thread->state != THREAD_STOPPED || !get_registers(thread->number, &registers) ||
            is_amid(thread, memory))
            continue;
        *interrupted = may_handle_signal(tracer->process, &registers, memory);
        found = thread;
    }
    return found;
}

uint64_t tracer_thread_pointer(const struct thread *thread)
{
    struct user_regs_struct registers;
    bool known = thread->state == THREAD_STOPPED && get_registers(thread->number, &registers);
    return known ? registers.fs_base : 0;
}

int tracer_write(const struct tracer *tracer, uint64_t address, const void *bytes, size_t count)
{
    struct iovec local = {(void *)(uintptr_t)bytes, count};
    struct iovec remote = {(void *)(uintptr_t)address, count};
    ssize_t written = process_vm_writev(tracer->process, &local, 1, &remote, 1, 0);
    return written < 0 ? errno : (size_t)written == count ? 0 : EFAULT;
}

/* The state of a thread that a call changes. */
struct saved {
    struct user_regs_struct registers;
    uint8_t extended[EXTENDED_BYTES];
    struct iovec extended_vector;
    uint64_t signals; /* mask of blocked signals */
    uint64_t code;    /* code at the entry of the program */
};

static bool save(struct saved *saved, const struct thread *thread, uint64_t entry)
{
    saved->extended_vector = (struct iovec){saved->extended, sizeof saved->extended};
    errno = 0;
    saved->code = (uint64_t)ptrace(PTRACE_PEEKTEXT, thread->number, (void *)entry, NULL);
    return errno == 0 && get_registers(thread->number, &saved->registers) &&
           ptrace(PTRACE_GETREGSET, thread->number, (void *)NT_X86_XSTATE_SET,
                  &saved->extended_vector) == 0 &&
           ptrace(PTRACE_GETSIGMASK, thread->number, (void *)sizeof saved->signals,
                  &saved->signals) == 0;
}

static void restore(struct saved *saved, const struct thread *thread, uint64_t entry)
{
    ptrace(PTRACE_POKETEXT, thread->number, (void *)entry, (void *)saved->code);
    ptrace(PTRACE_SETREGSET, thread->number, (void *)NT_X86_XSTATE_SET, &saved->extended_vector);
    ptrace(PTRACE_SETSIGMASK, thread->number, (void *)sizeof saved->signals, &saved->signals);
    set_registers(thread->number, &saved->registers);
}

/* Code written to the program's entry: call *%rax, int3. */
static const uint64_t TRAMPOLINE = UINT64_C(0x9090909090ccd0ff);
enum { AFTER_TRAP = 3 };

/* Makes a thread begin the call. Signals are blocked, so no signal handler of the program runs
 * during the call. */
static bool enter(const struct saved *saved, const struct thread *thread, const struct call *call)
{
    static const int faults[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct user_regs_struct registers = saved->registers;
    uint64_t blocked = ~UINT64_C(0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        blocked &= ~(UINT64_C(1) << (faults[i] - 1));
    uint64_t stack = call->stack != 0 ? call->stack : registers.rsp - RED_ZONE;
    registers.rip = call->entry;
    registers.rsp = stack & ~UINT64_C(15);
    registers.rax = call->function;
    registers.orig_rax = (uint64_t)-1; /* prevents the restart of a system call */
    registers.eflags &= ~(uint64_t)(DIRECTION_FLAG | TRAP_FLAG);
    registers.rdi = call->arguments[0];
    registers.rsi = call->arguments[1];
    registers.rdx = call->arguments[2];
    registers.rcx = call->arguments[3];
    registers.r8 = call->arguments[4];
    registers.r9 = call->arguments[5];
    return ptrace(PTRACE_POKETEXT, thread->number, (void *)call->entry, (void *)TRAMPOLINE) == 0 &&
           ptrace(PTRACE_SETSIGMASK, thread->number, (void *)sizeof blocked, &blocked) == 0 &&
           set_registers(thread->number, &registers);
}

/* Interprets a stop within a call. Returns 0, an errno, or EAGAIN if the call continues. */
static int examine(struct thread *thread, const struct call *call, uint64_t *result)
{
    struct user_regs_struct registers;
    int signal = thread->signal;
    if (signal == 0)
        return EAGAIN;
    thread->signal = 0;
    if (!get_registers(thread->number, &registers))
        return ESRCH;
    if (signal == SIGTRAP && registers.rip == call->entry + AFTER_TRAP) {
        *result = registers.rax;
        return 0;
    }
    return signal == SIGTRAP || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
                   signal == SIGFPE
               ? EFAULT
               : -signal;
}

/* Runs a call to its end. A signal that cannot be blocked is stored in `*kept` for delivery after
 * the call. */
static int run(struct tracer *tracer, struct thread *thread, const struct call *call,
               uint64_t *result, int *kept)
{
    bool may_release = !call->alone; /* true if the other threads are stopped but may run */
    pid_t number = thread->number;
    for (;;) {
        tracer_let_go(thread);
        while (thread->state == THREAD_RUNNING) {
            tracer_await(thread, tracer_now() + ALONE_NS);
            if (thread->state == THREAD_RUNNING && may_release) {
                may_release = false;
                for (size_t i = 0; i < tracer->count; i++)
                    if (tracer->threads[i].number != number &&
                        tracer->threads[i].state == THREAD_STOPPED)
                        tracer_let_go(&tracer->threads[i]);
            }
        }
        if (thread->state == THREAD_GONE)
            return ESRCH;
        int answer = examine(thread, call, result);
        if (answer < 0)
            *kept = -answer;
        else if (answer != EAGAIN)
            return answer;
    }
}

int tracer_call(struct tracer *tracer, struct thread *thread, const struct call *call,
                uint64_t *result)
{
    struct saved saved;
    int kept = thread->signal;
    if (!save(&saved, thread, call->entry))
        return errno;
    thread->signal = 0;
    int error = enter(&saved, thread, call) ? run(tracer, thread, call, result, &kept) : errno;
    if (error == ESRCH)
        return error;
    restore(&saved, thread, call->entry);
    thread->signal = kept;
    return error == 0 && !tracer_interrupt(tracer) ? ETIMEDOUT : error;
}

#else

int tracer_leave(struct tracer *tracer, const struct allocator_memory *memory, bool everyone)
{
    (void)tracer, (void)memory, (void)everyone;
    return -1;
}

struct thread *tracer_outside(struct tracer *tracer, const struct allocator_memory *memory,
                              bool *interrupted)
{
    (void)tracer, (void)memory, (void)interrupted;
    return NULL;
}

int tracer_call(struct tracer *tracer, struct thread *thread, const struct call *call,
                uint64_t *result)
{
    (void)tracer, (void)thread, (void)call, (void)result;
    return ENOSYS;
}

int tracer_write(const struct tracer *tracer, uint64_t address, const void *bytes, size_t count)
{
    (void)tracer, (void)address, (void)bytes, (void)count;
    return ENOSYS;
}

uint64_t tracer_thread_pointer(const struct thread *thread)
{
    (void)thread;
    return 0;
}

#endif
