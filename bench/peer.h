// A second process of a benchmark: started with a pipe to its standard input and one from its standard
// output.
#ifndef BD_BENCH_PEER_H
#define BD_BENCH_PEER_H

#include "bench.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct bench_peer {
    pid_t pid;
    FILE *in, *out; // its standard input and output
} bench_peer;

// `argv` ends with NULL; its first word is a path.
static inline bench_peer bench_peer_start(char *const *argv)
{
    extern char **environ;
    int in[2], out[2];
    // No other peer keeps an end open.
    bench_check(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC), argv[0], "no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    bench_peer p;
    bench_check(!posix_spawn(&p.pid, argv[0], &actions, NULL, argv, environ), argv[0], "cannot be started");
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    p.in = fdopen(in[1], "w");
    p.out = fdopen(out[0], "r");
    return p;
}

static inline void bench_peer_line(bench_peer *p, char *line, int size)
{
    bench_check(fgets(line, size, p->out) != NULL, "peer", "it has ended");
    line[strcspn(line, "\n")] = 0;
}

// Closes its standard input and waits for its end.
static inline void bench_peer_end(bench_peer *p)
{
    fclose(p->in);
    waitpid(p->pid, NULL, 0);
    fclose(p->out);
}

#endif
