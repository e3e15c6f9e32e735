// Checkpoints: `save_bench MODE BYTES`, in a new directory below the current one.
//
//     save   a save of BYTES of variables, from its beginning until the checkpoint is durable
//     pause  of such a save, the time that training waits: until the variables have been copied
//     write  the limit: plain write and fsync of as many bytes, which then replace those of the time before
#include "session.h"
#include <fcntl.h>
#include <unistd.h>

#define VARIABLES 8
#define PATH_SIZE 256

typedef struct bench {
    braid_session *session;
    braid_saver *saver;
    char dir[PATH_SIZE], path[PATH_SIZE + 32];
    long saves;
    double pause_ns; // of all saves so far
    char *data;
    size_t size;
} bench;

static void open_session(bench *b)
{
    braid_graph *g = braid_graph_new();
    const int32_t count = (int32_t)(b->size / VARIABLES / sizeof(float));
    for (int i = 0; i < VARIABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        braid_variable_get(g, name, BRAID_FLOAT, BRAID_SHAPE(count), braid_random_uniform_initializer(0, 1),
                           true);
    }
    b->saver = braid_saver_new(
        g, &(braid_saver_options){.sharded = true, .asynchronous = true, .policy.max_to_keep = 1});
    braid_op *init = braid_global_variables_initializer(g);
    b->session = braid_session_open(g, NULL, NULL); // of all cores: the copies of several variables
    bench_check(b->session != NULL, "session", "cannot be opened");
    bench_run(b->session, NULL, 0, init);
}

static void save(void *arg)
{
    bench *b = arg;
    braid_status *st = braid_status_new();
    const double begin = bench_now_ns();
    braid_save *save = braid_saver_begin(b->saver, b->session, b->path, ++b->saves, st);
    b->pause_ns += bench_now_ns() - begin;
    bench_check(save != NULL, "save", braid_status_message(st));
    char *prefix = braid_save_finish(save, st);
    bench_check(prefix != NULL, "save", braid_status_message(st));
    free(prefix);
    braid_status_free(st);
}

static void write_plainly(void *arg)
{
    bench *b = arg;
    char temp[PATH_SIZE + 32];
    snprintf(temp, sizeof temp, "%s/temp", b->dir);
    const int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bench_check(fd >= 0, "file", temp);
    for (size_t at = 0; at < b->size;) {
        const size_t len = b->size - at < 1 << 20 ? b->size - at : 1 << 20;
        const ssize_t n = write(fd, b->data + at, len);
        bench_check(n > 0, "file", "cannot be written");
        at += (size_t)n;
    }
    bench_check(!fsync(fd) && !close(fd) && !rename(temp, b->path), "file", "cannot be written");
}

static void serve_pauses(bench *b)
{
    long steps;
    while (bench_next(&steps)) {
        b->pause_ns = 0;
        for (long i = 0; i < steps; i++)
            save(b);
        bench_answer(b->pause_ns / (double)steps);
    }
}

static void remove_dir(const bench *b)
{
    char command[PATH_SIZE + 32];
    snprintf(command, sizeof command, "rm -r '%s'", b->dir);
    bench_check(system(command) == 0, "directory", "cannot be removed");
}

int main(int argc, char **argv)
{
    bench b = {.size = argc == 3 ? (size_t)atol(argv[2]) : 0};
    bench_check(b.size >= VARIABLES * sizeof(float), "usage", "save_bench save|pause|write BYTES");
    snprintf(b.dir, sizeof b.dir, "save_bench.XXXXXX");
    bench_check(mkdtemp(b.dir) != NULL, "directory", "cannot be made");
    snprintf(b.path, sizeof b.path, "%s/model.ckpt", b.dir);
    if (strcmp(argv[1], "write") == 0) {
        b.data = malloc(b.size);
        bench_check(b.data != NULL, "memory", "there is not enough");
        memset(b.data, 1, b.size);
        bench_serve(write_plainly, &b, 1);
        free(b.data);
    } else {
        open_session(&b);
        if (strcmp(argv[1], "pause") == 0)
            serve_pauses(&b);
        else
            bench_serve(save, &b, 1);
        braid_session_close(b.session, NULL);
    }
    remove_dir(&b);
    return 0;
}
