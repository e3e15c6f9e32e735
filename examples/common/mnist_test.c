// Data sets of digits: order, batches, labels, and the digits that the program makes itself.
#include "base/testing/test.h"

#include "digits.h"
#include "mnist.h"
#include <stdio.h>
#include <stdlib.h>

static void the_same_seed_gives_the_same_batches(void **state)
{
    (void)state;
    BD_STATUS(st);
    mnist *a = mnist_open("", 1, st), *b = mnist_open(NULL, 1, st), *other = mnist_open(NULL, 2, st);
    assert_ok(st);
    for (int i = 0; i < 3; i++) {
        mnist_batch x = mnist_next_batch(a, 10), y = mnist_next_batch(b, 10), z = mnist_next_batch(other, 10);
        size_t bytes = braid_tensor_bytes(x.images);
        assert_int_equal(bytes, 10 * MNIST_PIXELS * sizeof(float));
        assert_memory_equal(braid_tensor_data(x.images), braid_tensor_data(y.images), bytes);
        assert_memory_equal(x.digits, y.digits, 10);
        assert_memory_not_equal(braid_tensor_data(x.images), braid_tensor_data(z.images), bytes);
    }
    mnist_close(a);
    mnist_close(b);
    mnist_close(other);
}

static void labels_are_one_hot_and_pixels_between_0_and_1(void **state)
{
    (void)state;
    BD_STATUS(st);
    mnist *data = mnist_open(NULL, 1, st);
    mnist_batch b = mnist_next_batch(data, 200);
    const float *labels = braid_tensor_data(b.labels), *pixels = braid_tensor_data(b.images);
    int seen[MNIST_CLASSES] = {0};
    for (int i = 0; i < b.count; i++) {
        for (int k = 0; k < MNIST_CLASSES; k++)
            assert_float_equal(labels[i * MNIST_CLASSES + k], k == b.digits[i], 0);
        seen[b.digits[i]]++;
    }
    for (int k = 0; k < MNIST_CLASSES; k++)
        assert_true(seen[k] > 0);
    for (int i = 0; i < b.count * MNIST_PIXELS; i++)
        assert_true(pixels[i] >= 0 && pixels[i] <= 1);
    mnist_close(data);
}

// A digest of the pixels, to distinguish images.
static uint64_t digest(const float *pixels)
{
    uint64_t h = 1;
    for (int i = 0; i < MNIST_PIXELS; i++)
        h = (h ^ (uint64_t)(pixels[i] * 255 + 0.5f)) * 0x100000001b3u;
    return h;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// In batches that do not divide the set, so that one batch holds the end of a round and the start of the
// next.
static void each_image_occurs_once_in_an_epoch(void **state)
{
    (void)state;
    BD_STATUS(st);
    enum {
        COUNT = 20000,
        BATCH = 300
    };
    static uint64_t seen[COUNT + BATCH];
    mnist *data = mnist_open(NULL, 3, st);
    int n = 0;
    while (n < COUNT) {
        mnist_batch b = mnist_next_batch(data, BATCH);
        for (int i = 0; i < BATCH; i++)
            seen[n++] = digest((const float *)braid_tensor_data(b.images) + i * MNIST_PIXELS);
    }
    qsort(seen, COUNT, sizeof seen[0], compare);
    for (int i = 1; i < COUNT; i++)
        assert_true(seen[i] != seen[i - 1]);
    mnist_close(data);
}

static void evaluation_images_are_in_order_and_end(void **state)
{
    (void)state;
    BD_STATUS(st);
    mnist *data = mnist_open(NULL, 1, st);
    int count = mnist_test_count(data, st);
    assert_int_equal(count, 2000);
    assert_int_equal(mnist_test_batch(data, 0, 1500).count, 1500);
    assert_int_equal(mnist_test_batch(data, 1500, 1500).count, 500);
    uint8_t pixels[DIGITS_PIXELS];
    assert_int_equal(mnist_test_batch(data, 7, 1).digits[0], digits_draw(&digits_test, 7, pixels));
    mnist_close(data);
}

static void training_and_evaluation_digits_differ(void **state)
{
    (void)state;
    uint8_t a[DIGITS_PIXELS], b[DIGITS_PIXELS];
    for (uint64_t i = 0; i < 100; i++) {
        digits_draw(&digits_train, i, a);
        digits_draw(&digits_test, i, b);
        assert_memory_not_equal(a, b, sizeof a);
    }
}

static void reads_the_real_mnist_files(void **state)
{
    (void)state;
    BD_STATUS(st);
    const char *dir = getenv("BRAID_MNIST_DIR");
    if (!dir || !dir[0]) {
        print_message("BRAID_MNIST_DIR is not set: MNIST's own files are not read\n");
        skip();
    }
    mnist *data = mnist_open(dir, 1, st);
    assert_ok(st);
    assert_int_equal(mnist_test_count(data, st), 10000);
    static const uint8_t first[] = {7, 2, 1, 0, 4, 1, 4, 9, 5, 9}; // as everyone knows them
    assert_memory_equal(mnist_test_batch(data, 0, 10).digits, first, sizeof first);
    mnist_close(data);
}

static void a_directory_without_files_is_not_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_null(mnist_open("/nowhere", 1, st));
    assert_error(st, BRAID_NOT_FOUND, "/nowhere/train-images-idx3-ubyte.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_batches),
        cmocka_unit_test(labels_are_one_hot_and_pixels_between_0_and_1),
        cmocka_unit_test(each_image_occurs_once_in_an_epoch),
        cmocka_unit_test(evaluation_images_are_in_order_and_end),
        cmocka_unit_test(training_and_evaluation_digits_differ),
        cmocka_unit_test(reads_the_real_mnist_files),
        cmocka_unit_test(a_directory_without_files_is_not_found),
    };
    return BD_RUN_TESTS(tests);
}
