// Free loopback ports for the tasks of a cluster on this host.
//
// A port is reserved by an abstract unix socket of its name: another run that draws the same number sees it
// taken even before the task has begun to listen, and the reservation ends with the process that holds it.
#include "ports.h"
#include "base/random.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT_MIN 12000
#define PORT_MAX 32000 // Linux hands out ports from 32768 on to outgoing connections
#define TRIES_MAX 4096

static bool is_free(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    int one = 1; // allows to listen on a port with connections in TIME_WAIT
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool ok = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return ok;
}

static int reserve(int port)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid-port-%d", port);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    if (bind(fd, (struct sockaddr *)&address, size) == 0) return fd;
    close(fd);
    return -1;
}

static bool take(bd_port *port)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        int number = PORT_MIN + (int)(bd_random_u64() % (PORT_MAX - PORT_MIN));
        int reservation = reserve(number);
        if (reservation < 0) continue;
        if (is_free(number)) {
            *port = (bd_port){number, reservation};
            return true;
        }
        close(reservation);
    }
    errno = EADDRINUSE;
    return false;
}

bool bd_ports_take(bd_port *ports, int count)
{
    for (int i = 0; i < count; i++)
        if (!take(&ports[i])) {
            bd_ports_release(ports, i);
            return false;
        }
    return true;
}

void bd_ports_release(bd_port *ports, int count)
{
    for (int i = 0; i < count; i++)
        close(ports[i].reservation);
}
