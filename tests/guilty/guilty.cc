// `temp_buffer` is innocent and `remember_session` guilty, and both allocate in the library.
#include <string>
#include <vector>

static std::vector<std::string> sessions;

__attribute__((noinline)) static std::size_t temp_buffer(int number)
{
    std::vector<char> buffer(3000 + number % 7 * 100, 'x');
    return buffer.size();
}

__attribute__((noinline)) static void remember_session(int number)
{
    sessions.push_back(std::string(100 + number % 10, 's')); // guilty
}

int main()
{
    std::size_t bytes = 0;
    sessions.reserve(2);
    for (int number = 0; number < 2000; number++) {
        bytes += temp_buffer(number);
        remember_session(number);
    }
    return bytes == 0;
}
