// Objects of two classes, strings and lists, then "ready".
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace web {
struct Session {
    virtual ~Session() = default;
    int words[8] = {};
};
struct Cached : Session {
    std::string name = "a longer string that allocates";
};
} // namespace web

int main()
{
    static std::vector<web::Session *> kept;
    for (int i = 0; i < 4000; i++)
        kept.push_back(new web::Session);
    for (int i = 0; i < 1000; i++)
        kept.push_back(new web::Cached);
    std::printf("ready %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    char end[8];
    return static_cast<int>(read(0, end, sizeof end));
}
