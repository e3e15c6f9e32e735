// Joins two network namespaces by a link with a delay, also where the kernel has no netem:
// `delayed_link MICROSECONDS NETNS ADDRESS NETNS ADDRESS`, as root, until it is killed. Each namespace gets a
// TUN device. A packet that is read from one is written to the other after the delay. Packets have up to
// 65520 bytes, as those that a network card cuts into segments.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MTU 65520
#define SLOTS 4096

typedef struct packet {
    int64_t due_ns;
    ssize_t size;
    char bytes[MTU];
} packet;

typedef struct direction {
    int from, to;
    int64_t delay_ns;
    packet *packets; // [SLOTS], a ring
    sem_t filled, free;
} direction;

static void check(int ok, const char *what)
{
    if (ok) return;
    perror(what);
    exit(1);
}

static int open_end(const char *space, const char *address)
{
    char path[256], command[512];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int ns = open(path, O_RDONLY);
    check(ns >= 0 && !setns(ns, CLONE_NEWNET), path);
    close(ns);
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(r.ifr_name, "link0");
    int fd = open("/dev/net/tun", O_RDWR);
    check(fd >= 0 && !ioctl(fd, TUNSETIFF, &r), "/dev/net/tun");
    snprintf(command, sizeof command,
             "ip addr add %s/24 dev link0 && ip link set link0 mtu %d txqueuelen 10000 up && "
             "ip link set lo up",
             address, MTU);
    check(system(command) == 0, command);
    return fd;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *read_packets(void *arg)
{
    direction *d = arg;
    for (size_t at = 0;; at = (at + 1) % SLOTS) {
        while (sem_wait(&d->free)) {}
        packet *p = &d->packets[at];
        p->size = read(d->from, p->bytes, MTU);
        p->due_ns = now_ns() + d->delay_ns;
        sem_post(&d->filled);
    }
}

static void wait_until(int timer, int64_t due_ns)
{
    const struct itimerspec due = {.it_value = {due_ns / 1000000000, due_ns % 1000000000}};
    uint64_t times;
    check(!timerfd_settime(timer, TFD_TIMER_ABSTIME, &due, NULL), "timerfd_settime");
    check(read(timer, &times, sizeof times) == sizeof times, "timer");
}

static void *write_packets(void *arg)
{
    direction *d = arg;
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    check(timer >= 0, "timerfd_create");
    for (size_t at = 0;; at = (at + 1) % SLOTS) {
        while (sem_wait(&d->filled)) {}
        packet *p = &d->packets[at];
        if (d->delay_ns) wait_until(timer, p->due_ns);
        if (p->size > 0 && write(d->to, p->bytes, (size_t)p->size) < 0) perror("write");
        sem_post(&d->free);
    }
}

static void start(direction *d, int from, int to, int64_t delay_ns)
{
    pthread_t t;
    *d = (direction){.from = from, .to = to, .delay_ns = delay_ns, .packets = calloc(SLOTS, sizeof(packet))};
    check(d->packets && !sem_init(&d->filled, 0, 0) && !sem_init(&d->free, 0, SLOTS), "memory");
    check(!pthread_create(&t, NULL, read_packets, d) && !pthread_create(&t, NULL, write_packets, d),
          "thread");
}

int main(int argc, char **argv)
{
    check(argc == 6, "usage: delayed_link MICROSECONDS NETNS ADDRESS NETNS ADDRESS");
    int a = open_end(argv[2], argv[3]), b = open_end(argv[4], argv[5]);
    int64_t delay_ns = atoll(argv[1]) * 1000;
    static direction there, back;
    start(&there, a, b, delay_ns);
    start(&back, b, a, delay_ns);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
