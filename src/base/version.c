// The version of the library: BRAID_VERSION comes from the project() line of CMakeLists.txt.
#include <braid/version.h>

const char *braid_version(void)
{
    return BRAID_VERSION;
}
