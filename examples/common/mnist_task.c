// The life of a task that trains on images of digits, from its flags to the test.
#include "mnist_task.h"

#include "first_step.h"
#include "mnist.h"
#include "mnist_queue.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

mnist_flags mnist_task_flags = {.data_dir = "",
                                .job_name = "",
                                .ps_hosts = "localhost:2222",
                                .worker_hosts = "localhost:2223,localhost:2224",
                                .log_dir = "",
                                .save_checkpoint_secs = 600,
                                .task_index = -1};

#define FLAGS mnist_task_flags

static const flag common_flags[] = {
    {"data_dir", FLAG_STRING, &FLAGS.data_dir,
     "Directory of MNIST's four idx files, plain or gzipped. Empty: the program draws digits itself.", 0},
    {"train_steps", FLAG_INT, &FLAGS.train_steps, "Number of training steps, of all workers together.", 0},
    {"batch_size", FLAG_INT, &FLAGS.batch_size, "Images in a step of one worker.", 0},
    {"queue_batches", FLAG_INT, &FLAGS.queue_batches,
     "A thread keeps so many batches ready in a queue. 0: each step is fed its batch.", 0},
    {"learning_rate", FLAG_FLOAT, &FLAGS.learning_rate, "Learning rate.", 0},
    {"job_name", FLAG_STRING, &FLAGS.job_name, "The job of this process: ps or worker.", 0},
    {"task_index", FLAG_INT, &FLAGS.task_index,
     "The number of this process in its job, from 0. Worker 0 initializes the variables.", 0},
    {"ps_hosts", FLAG_STRING, &FLAGS.ps_hosts, "Comma-separated host:port of the parameter servers.", 0},
    {"worker_hosts", FLAG_STRING, &FLAGS.worker_hosts, "Comma-separated host:port of the workers.", 0},
    {"existing_servers", FLAG_BOOL, &FLAGS.existing_servers,
     "Use the server that already runs at this worker's address and start none.", 0},
    {"insecure", FLAG_BOOL, &FLAGS.insecure,
     "Listen on an address that is not loopback, open to everyone who reaches it.", 0},
    {"log_dir", FLAG_STRING, &FLAGS.log_dir,
     "Directory for checkpoints. Training goes on from the newest one there. Empty: none is written.", 0},
    {"save_checkpoint_secs", FLAG_FLOAT, &FLAGS.save_checkpoint_secs, "Seconds between two checkpoints.", 0},
    {"greedy_placement", FLAG_BOOL, &FLAGS.greedy_placement,
     "Deal variables to the parameter server with the fewest bytes, and not in turn.", 0},
    {"log_device_placement", FLAG_BOOL, &FLAGS.log_device_placement, "Log where each node runs.", 0},
};
#define COMMON_COUNT ((int)(sizeof common_flags / sizeof common_flags[0]))

// ---- Flags and the task ----

static const char *wrong_flag(const mnist_program *program)
{
    const char *own = program->check();
    if (own) return own;
    if (FLAGS.batch_size < 1 || FLAGS.batch_size > 100000) return "--batch_size must be 1 to 100000";
    if (FLAGS.queue_batches < 0 || FLAGS.queue_batches > 1000) return "--queue_batches must be 0 to 1000";
    if (FLAGS.train_steps < 1) return "--train_steps must be at least 1";
    if (!(FLAGS.learning_rate > 0)) return "--learning_rate must be more than 0";
    if (!(FLAGS.save_checkpoint_secs > 0)) return "--save_checkpoint_secs must be more than 0";
    return NULL;
}

static int check_flags(const mnist_program *program)
{
    const char *wrong = wrong_flag(program);
    if (wrong) fprintf(stderr, "%s: %s\n", program->name, wrong);
    return wrong ? EXIT_USAGE : 0;
}

static flags_result parse_flags(const mnist_program *program, int argc, char **argv)
{
    int count = COMMON_COUNT + program->flag_count;
    flag *all = calloc((size_t)count, sizeof *all);
    if (!all) abort();
    memcpy(all, common_flags, sizeof common_flags);
    if (program->flag_count)
        memcpy(all + COMMON_COUNT, program->flags, (size_t)program->flag_count * sizeof *all);
    char about[1024];
    snprintf(about, sizeof about,
             "%s\nThe task of this process is given by --job_name and --task_index, or by the environment: "
             "TF_CONFIG,\nwhich `braid run` sets, or what srun and mpirun set:\n\n"
             "  braid run --ps 1 --workers 2 %s",
             program->about, program->name);
    flags_result result = flags_parse(argc, argv, about, all, count);
    free(all);
    return result;
}

// The cluster, from flags if they say which task this is, else from the environment. NULL on an error.
static braid_cluster *find_cluster(const mnist_program *program, const char **job, int *index,
                                   braid_status *status)
{
    if (*FLAGS.job_name) {
        *job = FLAGS.job_name;
        *index = (int)FLAGS.task_index;
        if (FLAGS.task_index >= 0)
            return braid_cluster_from_hosts(FLAGS.ps_hosts, FLAGS.worker_hosts, status);
        braid_status_set(status, BRAID_INVALID_ARGUMENT, "--job_name needs --task_index");
        return NULL;
    }
    braid_cluster *cluster = braid_cluster_from_env(status);
    if (!cluster) return NULL;
    *job = braid_cluster_this_job(cluster);
    *index = braid_cluster_this_task(cluster);
    if (*job) return cluster;
    *job = "worker";
    if (getenv("TF_CONFIG")) return cluster;
    braid_cluster_free(cluster);
    char message[256];
    snprintf(message, sizeof message,
             "which task is this? Give --job_name=worker --task_index=0 (and the like), or start it "
             "with: braid run --ps 1 --workers 2 %s. In a single process: TF_CONFIG='{}' %s",
             program->name, program->name);
    braid_status_set(status, BRAID_INVALID_ARGUMENT, message);
    return NULL;
}

// ---- The model ----

mnist_model mnist_model_new(braid_graph *g)
{
    mnist_model m = {0};
    if (FLAGS.queue_batches > 0) {
        mnist_add_queue(g, &m);
        return m;
    }
    m.images = braid_placeholder(g, NULL, BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_PIXELS));
    m.labels = braid_placeholder(g, NULL, BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_CLASSES));
    return m;
}

braid_out mnist_accuracy(braid_graph *g, const mnist_model *m)
{
    braid_out recognized = braid_argmax(g, m->scores, 1), right = braid_argmax(g, m->labels, 1);
    return braid_reduce_mean(g, braid_cast(g, braid_equal(g, recognized, right), BRAID_FLOAT));
}

// ---- Training and testing ----

// Prints which part of the test images the model recognizes.
static void test(const mnist_program *program, braid_monitored_session *s, const mnist_model *m,
                 braid_out accuracy, mnist *data)
{
    braid_status *status = braid_status_new();
    braid_tensor *keep_all = braid_tensor_float(1);
    int count = mnist_test_count(data, status);
    double right = 0;
    if (count < 0) braid_monitored_session_fail(s, status);
    for (int from = 0; from < count; from += program->test_batch) {
        mnist_batch b = mnist_test_batch(data, from, program->test_batch);
        braid_tensor *part;
        // Without dropout the third entry ends the list.
        if (braid_evaluate(s,
                           BRAID_FEED({m->images, b.images}, {m->labels, b.labels}, {m->keep_prob, keep_all}),
                           BRAID_FETCH({accuracy, &part})))
            break;
        right += *(float *)braid_tensor_data(part) * b.count;
        braid_tensor_free(part);
    }
    if (count > 0 && !braid_monitored_session_status(s, NULL)) printf("test accuracy: %.4f\n", right / count);
    braid_tensor_free(keep_all);
    braid_status_free(status);
}

static void train_steps(braid_monitored_session *s, const mnist_model *m, mnist *data)
{
    braid_tensor *keep_prob = braid_tensor_float((float)m->keep_in_training);
    while (m->enqueue && !braid_should_stop(s))
        braid_run(s, BRAID_FEED({m->keep_prob, keep_prob}), NULL, m->train);
    while (!braid_should_stop(s)) {
        mnist_batch b = mnist_next_batch(data, (int)FLAGS.batch_size);
        braid_run(s, BRAID_FEED({m->images, b.images}, {m->labels, b.labels}, {m->keep_prob, keep_prob}),
                  NULL, m->train);
    }
    braid_tensor_free(keep_prob);
}

// ---- Threads that train at the same time ----

typedef struct crew {
    const mnist_model *m;
    mnist **data; // of each thread: the images in an order of its own
} crew;

static void train_thread(braid_hogwild_thread *thread, int number, void *arg)
{
    const crew *c = arg;
    while (c->m->enqueue && !braid_hogwild_should_stop(thread)) // the queue has the batches
        braid_hogwild_run(thread, NULL, NULL, c->m->train);
    while (!braid_hogwild_should_stop(thread)) {
        mnist_batch b = mnist_next_batch(c->data[number], (int)FLAGS.batch_size);
        braid_hogwild_run(thread, BRAID_FEED({c->m->images, b.images}, {c->m->labels, b.labels}), NULL,
                          c->m->train);
    }
}

static void train_by_threads(braid_monitored_session *s, const mnist_model *m)
{
    braid_status *status = braid_status_new();
    crew c = {.m = m, .data = calloc((size_t)m->threads, sizeof(mnist *))};
    if (!c.data) abort();
    int opened = 0;
    while (opened < m->threads &&
           (c.data[opened] = mnist_open(FLAGS.data_dir, (uint64_t)opened, status)) != NULL)
        opened++;
    if (opened < m->threads)
        braid_monitored_session_fail(s, status);
    else
        braid_hogwild(m->algorithm, s, m->threads, train_thread, &c);
    for (int i = 0; i < opened; i++)
        mnist_close(c.data[i]);
    free(c.data);
    braid_status_free(status);
}

// ---- The task ----

static int train(const mnist_program *program, braid_cluster *cluster, const char *job, int index,
                 braid_server *server, mnist *data)
{
    bool chief = braid_is_chief(cluster, job, index);
    char own_task[128], device[160], ps_device[64], target[300];
    snprintf(own_task, sizeof own_task, "/job:%s/task:%d", job, index);
    snprintf(device, sizeof device, "%s%s", own_task, program->device);
    snprintf(ps_device, sizeof ps_device, "/job:ps%s", program->device);
    const char *address = braid_cluster_address(cluster, job, index);
    snprintf(target, sizeof target, "grpc://%s", address ? address : "");

    braid_graph *g = braid_graph_new();
    braid_device_setter *setter = braid_replica_device_setter(
        g, cluster,
        &(braid_device_setter_options){.worker_device = device,
                                       .ps_device = ps_device,
                                       .strategy =
                                           FLAGS.greedy_placement ? BRAID_PS_GREEDY : BRAID_PS_ROUND_ROBIN});
    braid_push_device_setter(g, setter);
    const int workers = braid_cluster_num_tasks(cluster, "worker");
    mnist_model m = program->build(g, workers > 0 ? workers : 1, index);
    braid_out accuracy = mnist_accuracy(g, &m);
    if (*FLAGS.log_dir) braid_summary_scalar(g, "loss", m.loss);
    if (*FLAGS.log_dir && m.sync)
        braid_summary_scalar(g, "stale_gradients",
                             braid_cast(g, braid_sync_replicas_num_stale(m.sync), BRAID_FLOAT));
    if (chief) braid_device_setter_log(setter);

    const int64_t last_step = m.last_step ? m.last_step : FLAGS.train_steps;
    const char *const filters[] = {"/job:ps", own_task}; // other workers may come and go
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session = {.server = server,
                           .target = FLAGS.existing_servers ? target : NULL,
                           .device_filters = filters,
                           .device_filter_count = address ? 2 : 0,
                           .allow_soft_placement = true,
                           .log_device_placement = FLAGS.log_device_placement && chief},
               .is_chief = chief,
               .checkpoint_dir = *FLAGS.log_dir ? FLAGS.log_dir : NULL,
               .save_checkpoint_seconds = FLAGS.save_checkpoint_secs,
               .hooks =
                   BRAID_HOOKS(m.sync ? braid_sync_replicas_hook(m.sync, chief, -1) : NULL,
                               m.algorithm ? braid_algorithm_sync_hook(m.algorithm) : NULL,
                               m.algorithm ? braid_algorithm_hook(m.algorithm) : NULL,
                               m.enqueue ? mnist_queue_hook(&m, index) : NULL, braid_stop_at_step(last_step),
                               first_step_hook(), braid_progress(m.loss, last_step))});
    if (m.threads > 1)
        train_by_threads(s, &m);
    else
        train_steps(s, &m, data);
    if (m.algorithm) braid_algorithm_pull(m.algorithm, s); // tests what all workers have learnt
    if (braid_monitored_session_is_chief(s)) test(program, s, &m, accuracy, data);
    braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(code);
}

// ---- The program ----

static int fail(const mnist_program *program, const braid_status *status)
{
    fprintf(stderr, "%s: %s\n", program->name, braid_status_message(status));
    return braid_status_code(status) == BRAID_INVALID_ARGUMENT ? EXIT_USAGE : 1;
}

static int run_task(const mnist_program *program, braid_status *status)
{
    const char *job;
    int index;
    braid_cluster *cluster = find_cluster(program, &job, &index, status);
    if (!cluster) return fail(program, status);
    bool is_ps = strcmp(job, "ps") == 0, distributed = braid_cluster_num_jobs(cluster) > 0;
    mnist *data = is_ps ? NULL : mnist_open(FLAGS.data_dir, (uint64_t)index, status);
    braid_server *server = NULL;
    if (distributed && !FLAGS.existing_servers && !braid_status_code(status)) {
        const braid_server_options options = {.insecure = FLAGS.insecure};
        server = braid_server_start(cluster, job, index, &options, status);
        if (server) braid_server_stop_on_signals(server);
        if (server && *FLAGS.log_dir) braid_server_allow_files(server, FLAGS.log_dir, status); // the saver's
    }
    int exit_code = 0;
    if (braid_status_code(status))
        exit_code = fail(program, status);
    else if (!is_ps)
        exit_code = train(program, cluster, job, index, server, data);
    else if (server && braid_server_join(server, status)) // returns when the workers are done
        exit_code = fail(program, status);
    braid_server_free(server);
    mnist_close(data);
    braid_cluster_free(cluster);
    return exit_code;
}

int mnist_main(const mnist_program *program, int argc, char **argv)
{
    FLAGS.train_steps = program->train_steps;
    FLAGS.batch_size = program->batch_size;
    FLAGS.learning_rate = program->learning_rate;
    switch (parse_flags(program, argc, argv)) {
    case FLAGS_HELP: return 0;
    case FLAGS_ERROR: return EXIT_USAGE;
    case FLAGS_OK: break;
    }
    int usage = check_flags(program);
    if (usage) return usage;
    braid_status *status = braid_status_new();
    int exit_code = run_task(program, status);
    braid_status_free(status);
    return exit_code;
}
