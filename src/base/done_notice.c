// The notice to `braid run` that a task's work is done.
#include "base/done_notice.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void (*bd_done_notice_taker)(const char *job, int index);

// The inherited socket; -1: there is none.
static int find_socket(void)
{
    const char *text = getenv(BD_DONE_NOTICE_VARIABLE);
    if (!text) return -1;
    char *end;
    const long fd = strtol(text, &end, 10);
    if (end == text || *end != ':' || fd < 0) return -1;
    const unsigned long long inode = strtoull(end + 1, NULL, 10);
    struct stat file;
    if (fstat((int)fd, &file) != 0 || (unsigned long long)file.st_ino != inode) return -1;
    return S_ISSOCK(file.st_mode) ? (int)fd : -1;
}

void bd_done_notice_keep(void)
{
    const int fd = find_socket();
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void bd_done_notice_write(const char *job, int index)
{
    if (bd_done_notice_taker) {
        bd_done_notice_taker(job, index);
        return;
    }
    const int fd = find_socket();
    if (fd < 0) return;
    char line[160];
    const int len = snprintf(line, sizeof line, "done %s/%d\n", job, index);
    if (len < 0 || (size_t)len >= sizeof line) return;
    // The reader may have ended: no SIGPIPE then.
    if (send(fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        bd_debug("The notice that /job:%s/task:%d is done: %s", job, index, strerror(errno));
}
