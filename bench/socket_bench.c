// The limit beside RecvTensor: a raw blocking TCP socket, on loopback or between two hosts (hosts.h), brings
// BYTES from another process into one piece of memory each time a byte asks for it: `socket_bench BYTES`.
#include "hosts.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct bench {
    int fd;
    char *data;
    size_t size;
} bench;

static void set_no_delay(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void serve(int listener, bench *b)
{
    b->fd = accept(listener, NULL, NULL);
    set_no_delay(b->fd);
    char ask;
    while (read(b->fd, &ask, 1) == 1) {
        for (size_t sent = 0; sent < b->size;) {
            ssize_t n = write(b->fd, b->data + sent, b->size - sent);
            if (n <= 0) _exit(1);
            sent += (size_t)n;
        }
    }
    _exit(0);
}

// A listener on loopback or on the other host, whose address it stores.
static int listen_for(struct sockaddr_in *address)
{
    bench_hosts h;
    socklen_t len = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int own = open("/proc/self/ns/net", O_RDONLY);
    const bool is_elsewhere = bench_find_hosts(&h);
    if (is_elsewhere) {
        char path[128];
        snprintf(path, sizeof path, "/run/netns/%s", h.space);
        int other = open(path, O_RDONLY);
        bench_check(other >= 0 && !setns(other, CLONE_NEWNET), path, "cannot be entered");
        close(other);
        inet_pton(AF_INET, h.other, &address->sin_addr);
    }
    int listener = socket(AF_INET, SOCK_STREAM, 0); // it stays in this namespace
    bench_check(listener >= 0 && !bind(listener, (struct sockaddr *)address, len) && !listen(listener, 1) &&
                    !getsockname(listener, (struct sockaddr *)address, &len),
                "socket", "cannot listen");
    bench_check(!is_elsewhere || !setns(own, CLONE_NEWNET), "namespace", "cannot be entered");
    close(own);
    return listener;
}

static void step(void *arg)
{
    bench *b = arg;
    bench_check(write(b->fd, "?", 1) == 1, "socket", "cannot be written");
    for (size_t got = 0; got < b->size;) {
        ssize_t n = read(b->fd, b->data + got, b->size - got);
        bench_check(n > 0, "socket", "is closed");
        got += (size_t)n;
    }
}

int main(int argc, char **argv)
{
    bench b = {.size = argc == 2 ? (size_t)atol(argv[1]) : 0};
    bench_check(b.size > 0, "usage", "socket_bench BYTES");
    b.data = malloc(b.size);
    bench_check(b.data != NULL, "memory", "there is not enough");
    memset(b.data, 1, b.size);
    struct sockaddr_in address;
    int listener = listen_for(&address);
    pid_t child = fork();
    bench_check(child >= 0, "process", "cannot be started");
    if (child == 0) serve(listener, &b);
    close(listener);
    b.fd = socket(AF_INET, SOCK_STREAM, 0);
    bench_check(!connect(b.fd, (struct sockaddr *)&address, sizeof address), "socket", "cannot connect");
    set_no_delay(b.fd);
    memset(b.data, 0, b.size); // the memory is this process's from here on
    bench_serve(step, &b, 1);
    close(b.fd);
    waitpid(child, NULL, 0);
    free(b.data);
    return 0;
}
