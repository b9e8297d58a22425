// Calls every form of new and delete in C++, and prints the requested sizes.
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

struct alignas(128) Wide {
    char bytes[300];
};

template <typename T> T *hide(T *pointer)
{
    __asm__ volatile("" : "+r"(pointer));
    return pointer;
}

int main()
{
    delete hide(new int);
    delete[] hide(new char[1777]);
    delete hide(new Wide);
    delete hide(new (std::nothrow) long double);
    std::vector<int> numbers;
    numbers.reserve(2345);
    std::string text(3456, 'x');
    std::printf("%zu\n", numbers.capacity() + text.size());
    return 0;
}
