// Training from TFRecord files by an input pipeline, alone or on a cluster:
//
//     tfrecord_input DIRECTORY [EPOCHS]
//     braid run --ps 1 --workers 2 tfrecord_input --work_queue DIRECTORY [EPOCHS]
//
// Writes digits as Examples to DIRECTORY, unless the files exist, and trains a small network on them by a
// pipeline: records -> shuffled -> batched -> parsed -> decoded by a function -> prefetched. With
// --work_queue each worker takes one file after another from a queue, and the file of a lost worker goes to
// another. Without it each worker reads all files.
#include "digits.h"

#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 4 // of training digits
#define DIGITS_A_FILE 1000
#define TEST_DIGITS 500
#define BATCH 50
#define HIDDEN 64

// Writes `count` digits from number `first` on, unless the file exists. It gets its name when it is whole,
// because other workers look for it.
static braid_code write_digits(const char *path, const digits_style *style, int first, int count,
                               braid_status *status)
{
    char part[4200];
    if (access(path, F_OK) == 0) return BRAID_OK;
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    braid_record_writer *writer = braid_record_writer_open(part, BRAID_COMPRESSION_NONE, status);
    braid_example *example = braid_example_new();
    braid_code code = braid_status_code(status);
    for (int i = 0; i < count && !code; i++) {
        uint8_t pixels[DIGITS_PIXELS];
        size_t len;
        const int64_t label = digits_draw(style, (uint64_t)first + (uint64_t)i, pixels);
        braid_example_clear(example);
        braid_example_bytes(example, "image", pixels, sizeof pixels);
        braid_example_int64s(example, "label", &label, 1);
        const void *data = braid_example_serialize(example, &len, status);
        code = braid_record_write(writer, data, len, status);
    }
    braid_example_free(example);
    const braid_code closed = braid_record_writer_close(writer, code ? NULL : status);
    if (!code) code = closed;
    if (!code && rename(part, path)) {
        code = BRAID_INTERNAL;
        braid_status_set(status, code, "cannot rename the file that was written");
    }
    return code;
}

// The files: names of those to train on, and of that to test on.
typedef struct files {
    char names[FILES][4096], test[4096];
} files;

// Makes the directory and writes the files that are missing.
static braid_code write_files(const char *directory, files *f, braid_status *status)
{
    braid_code code = braid_checkpoint_make_dir(directory, status);
    for (int i = 0; i < FILES && !code; i++) {
        snprintf(f->names[i], sizeof f->names[i], "%s/digits-%05d-of-%05d", directory, i, FILES);
        code = write_digits(f->names[i], &digits_train, i * DIGITS_A_FILE, DIGITS_A_FILE, status);
    }
    snprintf(f->test, sizeof f->test, "%s/test", directory);
    return code ? code : write_digits(f->test, &digits_test, 0, TEST_DIGITS, status);
}

// ---- The pipeline ----

// Parsed Examples as images [batch, 784] from 0 to 1 and labels [batch].
static void decode(void *arg, braid_graph *body, const braid_out *element, braid_out *results)
{
    (void)arg;
    braid_op_desc *d = braid_op_begin(body, "DecodeRaw", NULL);
    braid_op_input(d, element[0]);
    braid_op_attr_type(d, "out_type", BRAID_UINT8);
    braid_out pixels = braid_reshape(body, braid_op_end_out(d), BRAID_SHAPE(-1, DIGITS_PIXELS));
    results[0] =
        braid_mul(body, braid_cast(body, pixels, BRAID_FLOAT), braid_const_float(body, NULL, 1 / 255.0F));
    results[1] = element[1];
}

// Stores images and labels to `batch`.
static braid_iterator next_batch(braid_graph *g, braid_dataset batches, braid_out batch[2])
{
    static const braid_feature features[] = {{.name = "image", .dtype = BRAID_STRING},
                                             {.name = "label", .dtype = BRAID_INT64}};
    batch[0] = batch[1] = BRAID_NONE;
    braid_dataset parsed = braid_dataset_parse_example(g, batches, features, 2, 2);
    braid_dataset decoded = braid_dataset_map(g, parsed, decode, NULL, 2, 2);
    braid_iterator iterator =
        braid_make_initializable_iterator(g, braid_dataset_prefetch(g, decoded, 2), NULL);
    braid_iterator_get_next(g, iterator, batch);
    return iterator;
}

// The records of all files `epochs` times, or, with a work queue, of the file that this worker has.
static braid_dataset training_records(braid_graph *g, const files *f, braid_work_queue *work, int64_t epochs)
{
    if (work) return braid_dataset_tf_record(g, braid_work_queue_share(work), NULL);
    braid_tensor *names = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(FILES), NULL);
    for (int i = 0; i < FILES; i++)
        braid_tensor_set_string(names, i, f->names[i], strlen(f->names[i]));
    braid_dataset records = braid_dataset_tf_record(g, braid_const(g, "files", names), NULL);
    braid_tensor_free(names);
    return braid_dataset_repeat(g, records, epochs);
}

// ---- The model ----

typedef struct network {
    braid_out w1, b1, w2, b2;
} network;

static braid_out trained(braid_graph *g, const char *name, braid_shape shape)
{
    const braid_initializer first =
        shape.rank == 2 ? braid_glorot_uniform_initializer() : braid_zeros_initializer();
    return braid_variable_get(g, name, BRAID_FLOAT, shape, first, true).read;
}

// The logits [batch, 10] of images. Training and test share the variables.
static braid_out logits_of(braid_graph *g, const network *n, braid_out images)
{
    return braid_xw_plus_b(g, braid_relu(g, braid_xw_plus_b(g, images, n->w1, n->b1)), n->w2, n->b2);
}

// ---- The program ----

static void print_accuracy(braid_monitored_session *s, braid_out accuracy, braid_out step)
{
    braid_tensor *part = NULL, *steps = NULL;
    if (!braid_evaluate(s, NULL, BRAID_FETCH({accuracy, &part}, {step, &steps})))
        printf("test accuracy after %lld steps: %.3f\n", (long long)*(int64_t *)braid_tensor_data(steps),
               (double)*(const float *)braid_tensor_data(part));
    braid_tensor_free(part);
    braid_tensor_free(steps);
}

static braid_code train(const braid_cluster *cluster, braid_server *server, const files *f, bool shares,
                        int64_t epochs)
{
    const int task = braid_cluster_this_task(cluster);
    char device[64];
    snprintf(device, sizeof device, "/job:worker/task:%d", task);
    braid_graph *g = braid_graph_new();
    braid_push_device_setter(
        g, braid_replica_device_setter(g, cluster, &(braid_device_setter_options){.worker_device = device}));
    const char *const names[] = {f->names[0], f->names[1], f->names[2], f->names[3]};
    braid_work_queue *work =
        shares ? braid_work_queue_new(g, names, FILES, &(braid_work_queue_options){.num_epochs = epochs})
               : NULL;
    braid_out batch[2], test_batch[2];
    braid_dataset records = braid_dataset_shuffle(g, training_records(g, f, work, epochs), 1000, 0, true);
    const braid_iterator iterator = next_batch(g, braid_dataset_batch(g, records, BATCH, false), batch);
    braid_dataset test = braid_dataset_tf_record(g, braid_const_string(g, NULL, f->test), NULL);
    next_batch(g, braid_dataset_batch(g, test, TEST_DIGITS, true), test_batch);

    const network n = {trained(g, "w1", BRAID_SHAPE(DIGITS_PIXELS, HIDDEN)),
                       trained(g, "b1", BRAID_SHAPE(HIDDEN)), trained(g, "w2", BRAID_SHAPE(HIDDEN, 10)),
                       trained(g, "b2", BRAID_SHAPE(10))};
    braid_out losses = braid_sparse_softmax_cross_entropy(g, logits_of(g, &n, batch[0]), batch[1]);
    braid_out loss = braid_reduce_mean(g, losses);
    braid_out step = braid_global_step(g);
    braid_op *train_op = braid_minimize(braid_adam(g, 0.002F), loss, step);
    braid_out right = braid_equal(g, braid_argmax(g, logits_of(g, &n, test_batch[0]), 1), test_batch[1]);
    braid_out accuracy = braid_reduce_mean(g, braid_cast(g, right, BRAID_FLOAT));

    const char *const filters[] = {"/job:ps", device}; // other workers may come and go
    braid_monitored_session *s = braid_monitored_session_open(
        g,
        &(braid_session_config){
            .session = {.server = server, .device_filters = filters, .device_filter_count = server ? 2 : 0},
            .is_chief = braid_is_chief(cluster, "worker", task),
            .hooks = (braid_hook *const[]){braid_progress(loss, 0),
                                           work ? braid_work_queue_hook(work, iterator) : NULL, NULL}});
    while (!braid_should_stop(s)) // until the pipeline ends
        braid_run(s, NULL, NULL, train_op);
    if (braid_monitored_session_is_chief(s)) print_accuracy(s, accuracy, step);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return code;
}

// A task of a cluster, or, without one, the whole program.
static braid_code run_task(const char *directory, bool shares, int64_t epochs, braid_status *status)
{
    static files f;
    braid_cluster *cluster = braid_cluster_from_env(status);
    const char *job = cluster ? braid_cluster_this_job(cluster) : NULL;
    const bool is_ps = job && strcmp(job, "ps") == 0;
    braid_server *server = NULL;
    if (job) server = braid_server_start(cluster, job, braid_cluster_this_task(cluster), NULL, status);
    if (server) braid_server_stop_on_signals(server);
    if (server) braid_server_allow_files(server, directory, status); // which the nodes of the data set read
    braid_code code = braid_status_code(status);
    if (!code && is_ps) {
        code = braid_server_join(server, status); // returns when the workers are done
    } else if (!code) {
        code = write_files(directory, &f, status);
        if (!code)
            code = train(cluster, server, &f, shares, epochs);
        else if (server)
            braid_server_failed(server);
    }
    braid_server_free(server);
    braid_cluster_free(cluster);
    return code;
}

int main(int argc, char **argv)
{
    const bool shares = argc > 1 && strcmp(argv[1], "--work_queue") == 0;
    argv += shares, argc -= shares;
    const int64_t epochs = argc > 2 ? atoll(argv[2]) : 5;
    if (argc < 2 || argc > 3 || argv[1][0] == '-' || epochs < 1) {
        fprintf(stderr, "usage: tfrecord_input [--work_queue] DIRECTORY [EPOCHS]\n");
        return 2;
    }
    braid_status *status = braid_status_new();
    const braid_code code = run_task(argv[1], shares, epochs, status);
    if (braid_status_code(status)) fprintf(stderr, "tfrecord_input: %s\n", braid_status_message(status));
    braid_status_free(status);
    return braid_exit_code(code);
}
