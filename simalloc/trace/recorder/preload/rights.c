/* Continues recording in a program that gives up root's rights, and in the programs that it starts
 * afterwards. */
#include "malloc.h"
#include "process.h"

#include <dlfcn.h>
#include <unistd.h>

#define FIND(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

EXPORT int setuid(uid_t user)
{
    process_prepare_user(user);
    return FIND(setuid)(user);
}

EXPORT int seteuid(uid_t user)
{
    process_prepare_user(user);
    return FIND(seteuid)(user);
}

EXPORT int setreuid(uid_t real, uid_t effective)
{
    process_prepare_user(effective);
    return FIND(setreuid)(real, effective);
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    process_prepare_user(effective);
    return FIND(setresuid)(real, effective, saved);
}
