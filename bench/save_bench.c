// Checkpoints: `save_bench MODE BYTES`, in a new directory below the current one.
//
//     save   a save of BYTES of variables, from its beginning until the checkpoint is durable
//     pause  of such a save, the time that training waits for its beginning
//     loss   of such a save, all the time that training loses: for its beginning, and by steps that take
//            longer until it is done. The first writes new memory; all share processors, memory and disk.
//     restore  the variables get the values of such a checkpoint, which the system has in memory
//     read   the limit: plain read of a file of as many bytes, which the system has in memory, to new memory
//     write  the limit: plain write and fsync of as many bytes, which replace those of the time before
//     write_loss  the time that steps lose while `write` runs beside them
//
// A step of training updates all variables by gradient descent.
#include "session.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLES 8
#define STEPS 5 // without a save, of which the median counts
#define PATH_SIZE 256
#define HUGE_PAGE ((size_t)2 << 20)

typedef struct bench {
    braid_session *session;
    braid_saver *saver;
    char dir[PATH_SIZE], path[PATH_SIZE + 32];
    long saves;
    braid_op *step;
    char *data;
    size_t size;
    atomic_bool has_written;
} bench;

static void open_session(bench *b)
{
    braid_graph *g = braid_graph_new();
    const int32_t count = (int32_t)(b->size / VARIABLES / sizeof(float));
    const braid_out rate = braid_const_float(g, NULL, 1e-3f);
    const braid_out gradient = braid_variable_get(g, "gradient", BRAID_FLOAT, BRAID_SHAPE(count),
                                                  braid_constant_initializer(1), false)
                                   .ref;
    braid_out vars[VARIABLES];
    braid_op *updates[VARIABLES];
    for (int i = 0; i < VARIABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        vars[i] = braid_variable_get(g, name, BRAID_FLOAT, BRAID_SHAPE(count),
                                     braid_random_uniform_initializer(0, 1), true)
                      .ref;
        const braid_out inputs[] = {vars[i], rate, gradient};
        updates[i] = braid_op_add(g, "ApplyGradientDescent", NULL, inputs, 3);
    }
    b->step = braid_group(g, "step", updates, VARIABLES);
    b->saver = braid_saver_new(g, &(braid_saver_options){.vars = vars,
                                                         .var_count = VARIABLES,
                                                         .sharded = true,
                                                         .asynchronous = true,
                                                         .policy.max_to_keep = 1});
    braid_op *init = braid_global_variables_initializer(g);
    b->session = braid_session_open(g, NULL, NULL); // of all cores
    bench_check(b->session != NULL, "session", "cannot be opened");
    bench_run(b->session, NULL, 0, init);
}

static braid_save *begin_save(bench *b)
{
    braid_status *st = braid_status_new();
    braid_save *save = braid_saver_begin(b->saver, b->session, b->path, ++b->saves, st);
    bench_check(save != NULL, "save", braid_status_message(st));
    braid_status_free(st);
    return save;
}

static void finish_save(braid_save *save)
{
    braid_status *st = braid_status_new();
    char *prefix = braid_save_finish(save, st);
    bench_check(prefix != NULL, "save", braid_status_message(st));
    free(prefix);
    braid_status_free(st);
}

static void save(void *arg)
{
    finish_save(begin_save(arg));
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

static void restore(void *arg)
{
    bench *b = arg;
    char prefix[PATH_SIZE + 64];
    snprintf(prefix, sizeof prefix, "%s-%ld", b->path, b->saves);
    braid_status *st = braid_status_new();
    bench_check(!braid_saver_restore(b->saver, b->session, prefix, st), "restore", braid_status_message(st));
    braid_status_free(st);
}

// Into new memory, in huge pages where the system allows that, as that of tensors.
static void read_plainly(void *arg)
{
    bench *b = arg;
    char *data = NULL;
    bench_check(!posix_memalign((void **)&data, HUGE_PAGE, b->size), "memory", "there is not enough");
    madvise(data, b->size, MADV_HUGEPAGE);
    const int fd = open(b->path, O_RDONLY);
    bench_check(fd >= 0, "file", b->path);
    for (size_t at = 0; at < b->size;) {
        const size_t len = b->size - at < 1 << 20 ? b->size - at : 1 << 20;
        const ssize_t n = read(fd, data + at, len);
        bench_check(n > 0, "file", "cannot be read");
        at += (size_t)n;
    }
    close(fd);
    free(data);
}

// ---- What training loses ----

static double step_ns(const bench *b)
{
    const double begin = bench_now_ns();
    bench_run(b->session, NULL, 0, b->step);
    return bench_now_ns() - begin;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double usual_step_ns(const bench *b)
{
    double times[STEPS];
    for (int i = 0; i < STEPS; i++)
        times[i] = step_ns(b);
    qsort(times, STEPS, sizeof *times, compare);
    return times[STEPS / 2];
}

static double pause_by_save(bench *b)
{
    step_ns(b); // writes the memory that the save before has shared
    const double begin = bench_now_ns();
    braid_save *save = begin_save(b);
    const double pause = bench_now_ns() - begin;
    finish_save(save);
    return pause;
}

static double loss_by_save(bench *b)
{
    const double usual = usual_step_ns(b), begin = bench_now_ns();
    braid_save *save = begin_save(b);
    double loss = bench_now_ns() - begin;
    while (!braid_save_is_done(save))
        loss += step_ns(b) - usual;
    finish_save(save);
    return loss;
}

static void *write_beside(void *arg)
{
    bench *b = arg;
    write_plainly(b);
    b->has_written = true;
    return NULL;
}

static double loss_by_write(bench *b)
{
    const double usual = usual_step_ns(b);
    double loss = 0;
    pthread_t thread;
    b->has_written = false;
    bench_check(pthread_create(&thread, NULL, write_beside, b) == 0, "thread", "cannot be started");
    while (!b->has_written)
        loss += step_ns(b) - usual;
    pthread_join(thread, NULL);
    return loss;
}

static void serve_losses(bench *b, double (*loss_ns)(bench *b))
{
    long steps;
    while (bench_next(&steps)) {
        double loss = 0;
        for (long i = 0; i < steps; i++)
            loss += loss_ns(b);
        bench_answer(loss / (double)steps);
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
    bench_check(b.size >= VARIABLES * sizeof(float), "usage",
                "save_bench save|pause|loss|restore|read|write|write_loss BYTES");
    snprintf(b.dir, sizeof b.dir, "save_bench.XXXXXX");
    bench_check(mkdtemp(b.dir) != NULL, "directory", "cannot be made");
    snprintf(b.path, sizeof b.path, "%s/model.ckpt", b.dir);
    const char *mode = argv[1];
    const bool writes = strcmp(mode, "write") == 0, reads = strcmp(mode, "read") == 0,
               shares = strcmp(mode, "write_loss") == 0, has_session = !writes && !reads;
    if (!has_session || shares) {
        b.data = malloc(b.size);
        bench_check(b.data != NULL, "memory", "there is not enough");
        memset(b.data, 1, b.size);
    }
    if (has_session) open_session(&b);
    if (reads) write_plainly(&b);
    if (strcmp(mode, "restore") == 0) save(&b);
    if (strcmp(mode, "loss") == 0 || strcmp(mode, "pause") == 0)
        serve_losses(&b, *mode == 'l' ? loss_by_save : pause_by_save);
    else if (shares)
        serve_losses(&b, loss_by_write);
    else
        bench_serve(writes                         ? write_plainly
                    : reads                        ? read_plainly
                    : strcmp(mode, "restore") == 0 ? restore
                                                   : save,
                    &b, 1);
    if (has_session) braid_session_close(b.session, NULL);
    free(b.data);
    remove_dir(&b);
    return 0;
}
