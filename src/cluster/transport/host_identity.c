// The identity of a host: see host_identity.h.
#include "cluster/transport/host_identity.h"
#include "base/fingerprint.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t find(void)
{
    char boot[64] = "";
    struct stat pids, net;
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t len = fd < 0 ? -1 : read(fd, boot, sizeof boot - 1);
    if (fd >= 0) close(fd);
    if (len <= 0 || stat("/proc/self/ns/pid", &pids) != 0 || stat("/proc/self/ns/net", &net) != 0) return 0;
    char text[192];
    const int n = snprintf(text, sizeof text, "%.*s %" PRIuMAX " %" PRIuMAX " %" PRIuMAX, (int)len, boot,
                           (uintmax_t)pids.st_ino, (uintmax_t)net.st_ino, (uintmax_t)geteuid());
    return bd_fingerprint64(text, (size_t)n) | 1;
}

uint64_t bd_host_identity(void)
{
    static _Atomic uint64_t known;
    uint64_t host = atomic_load_explicit(&known, memory_order_relaxed);
    if (!host) host = find();
    atomic_store_explicit(&known, host, memory_order_relaxed);
    return host;
}
