// Images of digits and their labels: MNIST's idx files, or digits that the program makes itself (digits.h).
#ifndef MNIST_H
#define MNIST_H

#include <braid/braid.h>

#define MNIST_SIDE 28
#define MNIST_PIXELS (MNIST_SIDE * MNIST_SIDE)
#define MNIST_CLASSES 10

typedef struct mnist mnist;

typedef struct mnist_batch {
    braid_tensor *images;  // float [count, 784], 0 to 1
    braid_tensor *labels;  // float [count, 10], one-hot
    const uint8_t *digits; // the same labels as numbers [count]
    int count;
} mnist_batch;

// Opens the training images in `data_dir` (train-images-idx3-ubyte and train-labels-idx1-ubyte, plain or with
// .gz), or, for NULL or "", prepares to make some. `seed` decides the order in which they come. NULL on an
// error: NotFound, DataLoss for a damaged file.
mnist *mnist_open(const char *data_dir, uint64_t seed, braid_status *status);
void mnist_close(mnist *data); // NULL is accepted

// The next `size` training images: each once in a random order, then all again in another. Owned by `data`,
// valid until the next batch.
mnist_batch mnist_next_batch(mnist *data, int size);

// Opens the test images (t10k-...) at the first call and returns how many there are; -1 on an error.
int mnist_test_count(mnist *data, braid_status *status);
// Test images [from, from + size), as many of them as there are. Owned by `data`, valid until the next batch.
mnist_batch mnist_test_batch(mnist *data, int from, int size);

#endif
