// `temp_buffer` is innocent and `remember_session` guilty, and both allocate in the library.
// With the argument "apart", sessions have a separate arena.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

constexpr int SESSIONS = 2000;

static std::vector<std::vector<char>> buffers;
static std::vector<std::string> sessions;
static std::pmr::monotonic_buffer_resource arena(1 << 20);
static std::vector<std::pmr::string> sessions_apart;

__attribute__((noinline)) static void temp_buffer(int number)
{
    buffers.emplace_back(3000 + number % 7 * 100, 'x');
}

__attribute__((noinline)) static void remember_session(int number, bool apart)
{
    if (apart)
        sessions_apart.emplace_back(100 + number % 10, 's', &arena);
    else
        sessions.push_back(std::string(100 + number % 10, 's')); // guilty
}

int main(int count, char **)
{
    buffers.reserve(SESSIONS);
    sessions_apart.reserve(SESSIONS);
    for (int number = 0; number < SESSIONS; number++) {
        temp_buffer(number);
        remember_session(number, count > 1);
    }
    buffers.clear();
    return std::getchar() != EOF; // until the test has examined the process
}
