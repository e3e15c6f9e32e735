// Benchmarks between two hosts, which are network namespaces: the environment variable BRAID_BENCH_HOSTS is
// "NETNS ADDRESS OWN_ADDRESS", the namespace and address of the other host, and the address of this one.
#ifndef BD_BENCH_HOSTS_H
#define BD_BENCH_HOSTS_H

#include "bench.h"

typedef struct bench_hosts {
    char space[32], other[20], own[20];
} bench_hosts;

// False: both processes are on this host.
static inline bool bench_find_hosts(bench_hosts *h)
{
    const char *text = getenv("BRAID_BENCH_HOSTS");
    if (!text) return false;
    bench_check(sscanf(text, "%31s %19s %19s", h->space, h->other, h->own) == 3, "BRAID_BENCH_HOSTS",
                "must be NETNS ADDRESS OWN_ADDRESS");
    return true;
}

#endif
