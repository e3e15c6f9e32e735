// Example messages (tf.train.Example): named lists of numbers or bytes, the usual content of TFRecord files.
//
//     braid_example *example = braid_example_new();
//     braid_example_int64s(example, "label", &label, 1);
//     braid_example_bytes(example, "image", pixels, sizeof pixels);
//     const void *data = braid_example_serialize(example, &len, status);
//
// braid_parse_example (parsing.h) reads them in a graph.
#ifndef BRAID_EXAMPLE_H
#define BRAID_EXAMPLE_H

#include <braid/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An Example that is being built. Errors are sticky: add freely and check braid_example_serialize. Used by
/// one thread at a time.
typedef struct braid_example braid_example;

BRAID_API braid_example *braid_example_new(void);
/// NULL is accepted.
BRAID_API void braid_example_free(braid_example *example);
/// Makes it empty and without an error, for the next example.
BRAID_API void braid_example_clear(braid_example *example);

/// Append values to the feature `name`, which is made at its first values, perhaps none. All values of a
/// feature are of one kind.
BRAID_API void braid_example_int64s(braid_example *example, const char *name, const int64_t *values,
                                    int count);
BRAID_API void braid_example_floats(braid_example *example, const char *name, const float *values, int count);
/// Appends one value of `len` bytes.
BRAID_API void braid_example_bytes(braid_example *example, const char *name, const void *data, size_t len);

/// Returns the message and its length: it is the example's, valid until the example is changed. NULL for the
/// first error: InvalidArgument for values of another kind than those before, and for missing values.
BRAID_API const void *braid_example_serialize(braid_example *example, size_t *len, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
