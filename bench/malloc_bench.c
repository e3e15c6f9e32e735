// An uncontended malloc and free of 64 bytes: the yardstick beside the executor's overhead per node.
#include "bench.h"

static void step(void *arg)
{
    void *volatile *sink = arg; // keeps the pair from being optimized away
    for (int i = 0; i < 1000; i++) {
        *sink = malloc(64);
        free(*sink);
    }
}

int main(void)
{
    void *volatile sink;
    return bench_serve(step, (void *)&sink, 1000);
}
