// Reads the limits of memory: of the host, the control groups, the process.
#include "base/system_memory.h"

#include "base/alloc.h"
#include "base/check.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define UNKNOWN (INT64_C(1) << 30)
#define PATH_LEN_MAX 4096

static int64_t of_host(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (int64_t)pages * page_bytes : UNKNOWN;
}

// The addresses that this process has: more than the memory that it uses.
static int64_t addresses_used(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%ld", &pages) != 1) pages = 0;
    fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int64_t of_process(int resource, int64_t used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= INT64_MAX) return INT64_MAX;
    return bd_max((int64_t)limit.rlim_cur - used, 1);
}

// The number in a file; without one, as in "max", there is no limit.
static int64_t number_in(const char *path)
{
    int64_t number = INT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file) return INT64_MAX;
    if (fscanf(file, "%" SCNd64, &number) != 1 || number <= 0) number = INT64_MAX;
    fclose(file);
    return number;
}

// A group's limit holds for the groups in it: the least of the way up counts.
static int64_t of_group(const char *root, char *group, const char *name)
{
    int64_t least = INT64_MAX;
    for (char *end = group + strlen(group); end >= group; end--) {
        if (*end != '/' && *end != '\0') continue;
        *end = '\0';
        char *path = bd_asprintf("%s%s/%s", root, group, name);
        least = bd_min(least, number_in(path));
        bd_free(path);
    }
    return least;
}

// Lines of /proc/self/cgroup: "0::/group" of version 2, "9:memory:/group" of version 1.
static int64_t of_groups(void)
{
    char line[PATH_LEN_MAX];
    int64_t least = INT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) { // ends with the file
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        if (strcmp(controllers, ":") == 0)
            least = bd_min(least, of_group("/sys/fs/cgroup", group, "memory.max"));
        else if (strcmp(controllers, ":memory") == 0)
            least = bd_min(least, of_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
    if (file) fclose(file);
    return least;
}

int64_t bd_system_memory(void)
{
    const int64_t of_limits = bd_min(of_process(RLIMIT_AS, addresses_used()), of_process(RLIMIT_DATA, 0));
    return bd_min(bd_min(of_host(), of_groups()), of_limits);
}
