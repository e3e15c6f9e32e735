// Fuzzes what a server parses of a process that may not call it: any bytes, in pieces, get a bounded answer.
#include "base/check.h"
#include "base/status.h"
#include "cluster/transport/refusal.h"
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PIECE_MAX 4096

// Reads what was answered, so that the socket takes more.
static void drain(int fd)
{
    char answer[4096];
    while (recv(fd, answer, sizeof answer, MSG_DONTWAIT) > 0) {} // ends: the other end has written it
}

// The first byte says how long the pieces are.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    if (size == 0) return 0;
    const size_t piece = 1 + (size_t)data[0] * data[0] % PIECE_MAX;
    BD_STATUS(why);
    bd_fail(why, BRAID_PERMISSION_DENIED, "Only processes of the user 'bräid' may call: 100%%");
    BD_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    bd_refusal *r = bd_refusal_new(ends[0], why);
    bool is_open = true;
    for (size_t at = 1; at < size && is_open;) {
        const size_t len = (size_t)bd_min((int64_t)piece, (int64_t)(size - at));
        BD_ASSERT(send(ends[1], data + at, len, MSG_NOSIGNAL) == (ssize_t)len);
        at += len;
        is_open = bd_refusal_serve(r);
        drain(ends[1]);
    }
    bd_refusal_free(r);
    close(ends[1]);
    return 0;
}
