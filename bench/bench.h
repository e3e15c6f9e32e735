// What a benchmark program is: it answers "go STEPS" lines with nanoseconds per step, so that the driver (run.py) can
// interleave it with others in one run.
#ifndef BD_BENCH_H
#define BD_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Ends the program with a message unless `ok`: a benchmark that cannot run must not print a time.
static inline void bench_check(int ok, const char *what, const char *why)
{
    if (ok) return;
    fprintf(stderr, "benchmark: %s: %s\n", what, why);
    exit(1);
}

// Serves until the end of standard input. One call of `step(arg)` counts as `units` steps.
static inline int bench_serve(void (*step)(void *arg), void *arg, double units)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "go ", 3) != 0) continue;
        long steps = strtol(line + 3, NULL, 10);
        double begin = bench_now_ns();
        for (long i = 0; i < steps; i++)
            step(arg);
        printf("%.3f\n", (bench_now_ns() - begin) / ((double)steps * units));
        fflush(stdout);
    }
    return 0;
}

#endif
