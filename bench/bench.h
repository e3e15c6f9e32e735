// The protocol of a benchmark program: it answers each line "go STEPS" with a number (mostly nanoseconds per
// step), so that the driver (run.py) can interleave it with others in one run.
#ifndef BD_BENCH_H
#define BD_BENCH_H

#include <stdbool.h>
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

// The steps of the next line; false at the end of standard input.
static inline bool bench_next(long *steps)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "go %ld", steps) == 1) return true;
    }
    return false;
}

static inline void bench_answer(double number)
{
    printf("%.3f\n", number);
    fflush(stdout);
}

// Serves until the end of standard input. One call of `step(arg)` counts as `units` steps.
static inline int bench_serve(void (*step)(void *arg), void *arg, double units)
{
    long steps;
    while (bench_next(&steps)) {
        double begin = bench_now_ns();
        for (long i = 0; i < steps; i++)
            step(arg);
        bench_answer((bench_now_ns() - begin) / ((double)steps * units));
    }
    return 0;
}

#endif
