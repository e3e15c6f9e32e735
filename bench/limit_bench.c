// What one host can do at best, for comparison with Braid's times:
//   limit_bench memcpy BYTES   a copy from memory to memory
//   limit_bench futex          two processes that wake each other in turn, there and back
#include "bench.h"
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- memcpy ----

typedef struct copy {
    char *from, *to;
    size_t bytes;
} copy;

static void step_copy(void *arg)
{
    const copy *c = arg;
    memcpy(c->to, c->from, c->bytes);
    __asm__ volatile("" : : "r"(c->to) : "memory"); // the copy is made, although nothing reads it
}

static int run_copy(size_t bytes)
{
    copy c = {malloc(bytes), malloc(bytes), bytes};
    bench_check(c.from && c.to, "memory", "there is not enough");
    memset(c.from, 1, bytes);
    memset(c.to, 2, bytes);
    const int code = bench_serve(step_copy, &c, 1);
    free(c.from);
    free(c.to);
    return code;
}

// ---- futex ----

enum {
    HERE,
    THERE
};

static void wait_until(_Atomic uint32_t *word, uint32_t wanted)
{
    for (uint32_t is; (is = atomic_load(word)) != wanted;)
        syscall(SYS_futex, word, FUTEX_WAIT, is, NULL, NULL, 0);
}

static void hand_over(_Atomic uint32_t *word, uint32_t to)
{
    atomic_store(word, to);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void step_futex(void *arg)
{
    hand_over(arg, THERE);
    wait_until(arg, HERE);
}

static int run_futex(void)
{
    _Atomic uint32_t *word =
        mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_check(word != MAP_FAILED, "memory", "cannot be shared");
    const pid_t parent = getpid(), child = fork();
    bench_check(child >= 0, "fork", "failed");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (; getppid() == parent; hand_over(word, HERE))
            wait_until(word, THERE);
        _exit(0);
    }
    const int code = bench_serve(step_futex, word, 1);
    kill(child, SIGKILL);
    return code;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const long bytes = argc == 3 && !strcmp(what, "memcpy") ? atol(argv[2]) : 0;
    const bool is_futex = argc == 2 && !strcmp(what, "futex");
    bench_check(bytes > 0 || is_futex, "usage", "limit_bench memcpy BYTES | limit_bench futex");
    return is_futex ? run_futex() : run_copy((size_t)bytes);
}
