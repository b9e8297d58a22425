// Allocates through operator new in its plain, aligned and nothrow forms.
#include <map>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Line {
    char bytes[100];
};

int main()
{
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 5; i++)
        map[std::string(30, char('a' + i))].resize(3 * static_cast<size_t>(i));
    map.clear();
    delete new Line;
    delete[] new Line[3];
    delete new (std::nothrow) int;
}
