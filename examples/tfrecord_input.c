// Training from TFRecord files by an input pipeline:
//
//     tfrecord_input DIRECTORY [EPOCHS]
//
// Writes digits as Examples to DIRECTORY, unless the files exist, and trains a small network on them by a
// pipeline: records -> shuffled -> repeated -> batched -> parsed -> prefetched.
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

// Writes `count` digits from number `first` on.
static braid_code write_digits(const char *path, const digits_style *style, int first, int count,
                               braid_status *status)
{
    braid_record_writer *writer = braid_record_writer_open(path, BRAID_COMPRESSION_NONE, status);
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
    return code ? code : closed;
}

// Makes the directory and writes the files that are missing. Stores the names [FILES] of the training files.
static braid_code write_files(const char *directory, braid_tensor *names, char *test, size_t size,
                              braid_status *status)
{
    char path[4096];
    braid_code code = braid_checkpoint_make_dir(directory, status);
    for (int i = 0; i < FILES && !code; i++) {
        snprintf(path, sizeof path, "%s/digits-%05d-of-%05d", directory, i, FILES);
        braid_tensor_set_string(names, i, path, strlen(path));
        if (access(path, F_OK) == 0) continue;
        code = write_digits(path, &digits_train, i * DIGITS_A_FILE, DIGITS_A_FILE, status);
    }
    snprintf(test, size, "%s/test", directory);
    if (!code && access(test, F_OK)) code = write_digits(test, &digits_test, 0, TEST_DIGITS, status);
    return code;
}

// Batches of Examples as images [batch, 784] from 0 to 1 and labels [batch].
static void next_batch(braid_graph *g, braid_dataset records, braid_out *images, braid_out *labels)
{
    static const braid_feature features[] = {{.name = "image", .dtype = BRAID_STRING},
                                             {.name = "label", .dtype = BRAID_INT64}};
    braid_dataset parsed = braid_dataset_parse_example(g, records, features, 2, 2);
    braid_iterator iterator =
        braid_make_initializable_iterator(g, braid_dataset_prefetch(g, parsed, 2), NULL);
    braid_out batch[2] = {BRAID_NONE, BRAID_NONE};
    braid_iterator_get_next(g, iterator, batch);
    braid_op_desc *decode = braid_op_begin(g, "DecodeRaw", NULL);
    braid_op_input(decode, batch[0]);
    braid_op_attr_type(decode, "out_type", BRAID_UINT8);
    braid_out pixels = braid_reshape(g, braid_op_end_out(decode), BRAID_SHAPE(-1, DIGITS_PIXELS));
    *images = braid_mul(g, braid_cast(g, pixels, BRAID_FLOAT), braid_const_float(g, NULL, 1 / 255.0F));
    *labels = batch[1];
}

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

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3 || argv[1][0] == '-') {
        fprintf(stderr, "usage: tfrecord_input DIRECTORY [EPOCHS]\n");
        return 2;
    }
    const int64_t epochs = argc > 2 ? atoll(argv[2]) : 5;
    char test_file[4096];
    braid_status *status = braid_status_new();
    braid_tensor *names = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(FILES), NULL);
    const braid_code written = write_files(argv[1], names, test_file, sizeof test_file, status);
    if (written) fprintf(stderr, "tfrecord_input: %s\n", braid_status_message(status));
    braid_status_free(status);

    braid_graph *g = braid_graph_new();
    braid_out images, labels, test_images, test_labels;
    braid_dataset records = braid_dataset_tf_record(g, braid_const(g, "files", names), NULL);
    braid_tensor_free(names);
    records = braid_dataset_repeat(g, braid_dataset_shuffle(g, records, 1000, 0, true), epochs);
    next_batch(g, braid_dataset_batch(g, records, BATCH, false), &images, &labels);
    braid_dataset test = braid_dataset_tf_record(g, braid_const_string(g, NULL, test_file), NULL);
    next_batch(g, braid_dataset_batch(g, test, TEST_DIGITS, true), &test_images, &test_labels);

    const network n = {trained(g, "w1", BRAID_SHAPE(DIGITS_PIXELS, HIDDEN)),
                       trained(g, "b1", BRAID_SHAPE(HIDDEN)), trained(g, "w2", BRAID_SHAPE(HIDDEN, 10)),
                       trained(g, "b2", BRAID_SHAPE(10))};
    braid_out losses = braid_sparse_softmax_cross_entropy(g, logits_of(g, &n, images), labels);
    braid_out loss = braid_reduce_mean(g, losses);
    braid_out step = braid_global_step(g);
    braid_op *train = braid_minimize(braid_adam(g, 0.002F), loss, step);
    braid_out right = braid_equal(g, braid_argmax(g, logits_of(g, &n, test_images), 1), test_labels);
    braid_out accuracy = braid_reduce_mean(g, braid_cast(g, right, BRAID_FLOAT));

    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.hooks = BRAID_HOOKS(braid_progress(loss, 0))});
    while (!written && !braid_should_stop(s)) // until the pipeline ends
        braid_run(s, NULL, NULL, train);
    braid_tensor *part = NULL, *steps = NULL;
    if (!written && !braid_evaluate(s, NULL, BRAID_FETCH({accuracy, &part}, {step, &steps})))
        printf("test accuracy after %lld steps: %.3f\n", (long long)*(int64_t *)braid_tensor_data(steps),
               (double)*(const float *)braid_tensor_data(part));
    braid_tensor_free(part);
    braid_tensor_free(steps);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(written ? written : code);
}
