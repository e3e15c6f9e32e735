// Data sets of digits: where they come from, their order, and batches of tensors.
#include "mnist.h"

#include "digits.h"
#include <braid/idx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// How many images the program makes when it has no files.
#define MADE_TRAIN 20000
#define MADE_TEST 2000

typedef struct image_set {
    int count;
    uint8_t *pixels;           // [count, 784]
    uint8_t *labels;           // [count]
    const digits_style *style; // made when they are needed; NULL: read from files
    bool *made;                // [count]
} image_set;

struct mnist {
    char *data_dir; // NULL: made
    image_set train, test;
    uint64_t random; // splitmix64
    int *order;      // [train.count]
    int next;        // into order
    mnist_batch batch;
    uint8_t *digits; // [batch.count]
};

// ---- Image sets ----

static void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static void set_free(image_set *set)
{
    free(set->pixels);
    free(set->labels);
    free(set->made);
}

static void set_make(image_set *set, const digits_style *style, int count)
{
    set->count = count;
    set->style = style;
    set->pixels = must(calloc((size_t)count, MNIST_PIXELS));
    set->labels = must(calloc((size_t)count, 1));
    set->made = must(calloc((size_t)count, sizeof(bool)));
}

static bool set_check(const image_set *set, const char *dir, const char *prefix, const int64_t *image_dims,
                      int64_t label_count, braid_status *status)
{
    char message[512] = "";
    if (image_dims[1] != MNIST_SIDE || image_dims[2] != MNIST_SIDE)
        snprintf(message, sizeof message, "%s/%s-images: images of %lld x %lld pixels and not of 28 x 28",
                 dir, prefix, (long long)image_dims[1], (long long)image_dims[2]);
    else if (image_dims[0] != label_count)
        snprintf(message, sizeof message, "%s/%s: %lld images, but %lld labels", dir, prefix,
                 (long long)image_dims[0], (long long)label_count);
    for (int i = 0; i < set->count && !*message; i++) {
        if (set->labels[i] >= MNIST_CLASSES)
            snprintf(message, sizeof message, "%s/%s-labels: label %d is %d, which is no digit", dir, prefix,
                     i, set->labels[i]);
    }
    if (*message) braid_status_set(status, BRAID_DATA_LOSS, message);
    return !*message;
}

// Reads the bytes of DIR/NAME, which must have `rank` dimensions, to new memory.
static uint8_t *read_bytes(const char *dir, const char *name, int rank, int64_t *dims, braid_status *status)
{
    char path[4096], message[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    braid_tensor *t = braid_idx_read(path, status);
    if (!t) return NULL;
    const braid_shape shape = braid_tensor_shape(t);
    uint8_t *bytes = NULL;
    if (braid_tensor_dtype(t) == BRAID_UINT8 && shape.rank == rank) {
        memcpy(dims, shape.dims, (size_t)rank * sizeof *dims);
        bytes = must(malloc(braid_tensor_bytes(t) + 1));
        memcpy(bytes, braid_tensor_data(t), braid_tensor_bytes(t));
    } else {
        snprintf(message, sizeof message, "%s: not bytes in %d dimensions", path, rank);
        braid_status_set(status, BRAID_DATA_LOSS, message);
    }
    braid_tensor_free(t);
    return bytes;
}

static bool set_read(image_set *set, const char *dir, const char *prefix, braid_status *status)
{
    char name[64];
    int64_t image_dims[3], label_count;
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    set->pixels = read_bytes(dir, name, 3, image_dims, status);
    if (!set->pixels) return false;
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    set->labels = read_bytes(dir, name, 1, &label_count, status);
    if (!set->labels) return false;
    set->count = (int)(image_dims[0] < label_count ? image_dims[0] : label_count);
    return set_check(set, dir, prefix, image_dims, label_count, status);
}

static const uint8_t *set_image(image_set *set, int i)
{
    uint8_t *pixels = set->pixels + (size_t)i * MNIST_PIXELS;
    if (set->style && !set->made[i]) {
        set->labels[i] = (uint8_t)digits_draw(set->style, (uint64_t)i, pixels);
        set->made[i] = true;
    }
    return pixels;
}

// ---- Order ----

static uint64_t next_random(mnist *data)
{
    uint64_t z = data->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(mnist *data)
{
    for (int i = data->train.count - 1; i > 0; i--) {
        int k = (int)(next_random(data) % (uint64_t)(i + 1)), image = data->order[i];
        data->order[i] = data->order[k];
        data->order[k] = image;
    }
    data->next = 0;
}

static int next_image(mnist *data)
{
    if (data->next == data->train.count) shuffle(data);
    return data->order[data->next++];
}

// ---- Opening ----

mnist *mnist_open(const char *data_dir, uint64_t seed, braid_status *status)
{
    mnist *data = must(calloc(1, sizeof *data));
    data->random = seed;
    if (data_dir && *data_dir) {
        data->data_dir = must(strdup(data_dir));
        if (!set_read(&data->train, data_dir, "train", status)) {
            mnist_close(data);
            return NULL;
        }
    } else {
        set_make(&data->train, &digits_train, MADE_TRAIN);
    }
    data->order = must(calloc((size_t)data->train.count, sizeof(int)));
    for (int i = 0; i < data->train.count; i++)
        data->order[i] = i;
    shuffle(data);
    return data;
}

int mnist_test_count(mnist *data, braid_status *status)
{
    if (data->test.count > 0) return data->test.count;
    if (!data->data_dir) {
        set_make(&data->test, &digits_test, MADE_TEST);
    } else if (!set_read(&data->test, data->data_dir, "t10k", status)) {
        set_free(&data->test);
        data->test = (image_set){0};
        return -1;
    }
    return data->test.count;
}

static void batch_free(mnist *data)
{
    braid_tensor_free(data->batch.images);
    braid_tensor_free(data->batch.labels);
    free(data->digits);
    data->batch = (mnist_batch){0};
    data->digits = NULL;
}

void mnist_close(mnist *data)
{
    if (!data) return;
    batch_free(data);
    set_free(&data->train);
    set_free(&data->test);
    free(data->order);
    free(data->data_dir);
    free(data);
}

// ---- Batches ----

// New tensors for each batch: a step may still hold those of the last one.
static void batch_begin(mnist *data, int count)
{
    batch_free(data);
    data->batch.images = must(braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, MNIST_PIXELS), NULL));
    data->batch.labels = must(braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, MNIST_CLASSES), NULL));
    memset(braid_tensor_data(data->batch.labels), 0, braid_tensor_bytes(data->batch.labels));
    data->digits = must(calloc(count > 0 ? (size_t)count : 1, 1));
    data->batch.digits = data->digits;
    data->batch.count = count;
}

static void batch_set(mnist *data, int row, image_set *set, int image)
{
    const uint8_t *pixels = set_image(set, image);
    float *out = (float *)braid_tensor_data(data->batch.images) + (size_t)row * MNIST_PIXELS;
    float *one_hot = (float *)braid_tensor_data(data->batch.labels) + (size_t)row * MNIST_CLASSES;
    for (int i = 0; i < MNIST_PIXELS; i++)
        out[i] = (float)pixels[i] * (1.0f / 255.0f);
    one_hot[set->labels[image]] = 1;
    data->digits[row] = set->labels[image];
}

mnist_batch mnist_next_batch(mnist *data, int size)
{
    batch_begin(data, size);
    for (int i = 0; i < size; i++)
        batch_set(data, i, &data->train, next_image(data));
    return data->batch;
}

mnist_batch mnist_test_batch(mnist *data, int from, int size)
{
    int left = data->test.count - from;
    batch_begin(data, size < left ? size : left > 0 ? left : 0);
    for (int i = 0; i < data->batch.count; i++)
        batch_set(data, i, &data->test, from + i);
    return data->batch;
}
