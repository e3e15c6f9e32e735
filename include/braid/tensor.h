// Element types, shapes and tensors.
#ifndef BRAID_TENSOR_H
#define BRAID_TENSOR_H

#include <braid/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Element types; the numbers are TensorFlow's DataType. A reference type is its base type plus 100.
typedef enum braid_dtype {
    BRAID_INVALID = 0,
    BRAID_FLOAT = 1,
    BRAID_DOUBLE = 2,
    BRAID_INT32 = 3,
    BRAID_UINT8 = 4,
    BRAID_INT16 = 5,
    BRAID_INT8 = 6,
    BRAID_STRING = 7,
    BRAID_COMPLEX64 = 8,
    BRAID_INT64 = 9,
    BRAID_BOOL = 10,
    BRAID_QINT8 = 11,
    BRAID_QUINT8 = 12,
    BRAID_QINT32 = 13,
    BRAID_BFLOAT16 = 14,
    BRAID_QINT16 = 15,
    BRAID_QUINT16 = 16,
    BRAID_UINT16 = 17,
    BRAID_COMPLEX128 = 18,
    BRAID_HALF = 19,
    BRAID_RESOURCE = 20,
    BRAID_VARIANT = 21,
    BRAID_UINT32 = 22,
    BRAID_UINT64 = 23
} braid_dtype;

/// The most dimensions a tensor may have. Most of TensorFlow's kernels stop at 8, its reductions and gathers
/// go further.
#define BRAID_RANK_MAX 12

/// A shape. In shape inference and placeholders a dimension may be -1 (unknown) and the rank may be -1
/// (unknown).
typedef struct braid_shape {
    int rank;
    int64_t dims[BRAID_RANK_MAX];
} braid_shape;

#ifndef __cplusplus
/// BRAID_SHAPE(-1, 784) is a braid_shape of rank 2. Use BRAID_SCALAR for rank 0.
#define BRAID_SHAPE(...)                                                                                     \
    ((braid_shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dims = {__VA_ARGS__}})
#define BRAID_SCALAR ((braid_shape){.rank = 0})
#define BRAID_SHAPE_UNKNOWN ((braid_shape){.rank = -1})
#endif

/// Makes a shape from `rank` (0 to BRAID_RANK_MAX, or -1) dimensions.
BRAID_API braid_shape braid_shape_make(int rank, const int64_t *dims);

/// Returns the number of elements; -1 when a dimension or the rank is unknown.
BRAID_API int64_t braid_shape_num_elements(braid_shape shape);

BRAID_API bool braid_shape_equal(braid_shape a, braid_shape b);

/// Returns the shape as messages print it, "[2,?,3]" ("[]": a scalar, "?": an unknown rank); free() it.
BRAID_API char *braid_shape_text(braid_shape shape);

/// Returns the size of an element in bytes; 0 for strings, resources and variants, which are no plain bytes.
BRAID_API size_t braid_dtype_size(braid_dtype dtype);

/// Returns the customary name: "float", "int32", "string"; a reference type ends in "_ref". "invalid" when
/// unknown.
BRAID_API const char *braid_dtype_name(braid_dtype dtype);

/// A tensor: element type, shape and a reference to a counted buffer. Its content must not change once
/// shared.
typedef struct braid_tensor braid_tensor;

/// Makes a tensor with uninitialized elements (empty strings for BRAID_STRING). Returns NULL and fills
/// `status` (may be NULL): InvalidArgument for a shape that is not fully known, or for a variant, which only
/// ops make; ResourceExhausted when memory is short.
BRAID_API braid_tensor *braid_tensor_new(braid_dtype dtype, braid_shape shape, braid_status *status);

/// Makes a tensor with a copy of `data`, which holds all elements, row-major. Not for strings.
BRAID_API braid_tensor *braid_tensor_from(braid_dtype dtype, braid_shape shape, const void *data,
                                          braid_status *status);

/// Makes a tensor over memory of the caller, without a copy. `release(arg)` is called once, on any thread,
/// after the last use of `data`. `data` is aligned to the element size.
BRAID_API braid_tensor *braid_tensor_borrow(braid_dtype dtype, braid_shape shape, void *data,
                                            void (*release)(void *arg), void *arg, braid_status *status);

BRAID_API braid_tensor *braid_tensor_float(float value);
BRAID_API braid_tensor *braid_tensor_int32(int32_t value);
BRAID_API braid_tensor *braid_tensor_int64(int64_t value);
BRAID_API braid_tensor *braid_tensor_bool(bool value);
BRAID_API braid_tensor *braid_tensor_string(const char *value);

/// Makes a second reference to the same content. The caller frees it.
BRAID_API braid_tensor *braid_tensor_copy(const braid_tensor *tensor);

/// Frees the tensor and its reference to the content; NULL is accepted.
BRAID_API void braid_tensor_free(braid_tensor *tensor);

BRAID_API braid_dtype braid_tensor_dtype(const braid_tensor *tensor);
BRAID_API braid_shape braid_tensor_shape(const braid_tensor *tensor);
BRAID_API int64_t braid_tensor_num_elements(const braid_tensor *tensor);

/// Returns the elements, row-major. Owned by the tensor. Write only to a tensor you made and have not shared
/// yet.
BRAID_API void *braid_tensor_data(const braid_tensor *tensor);

/// Whether `tensor` may be written: it is the only holder of its elements, which are plain data in memory of
/// Braid's own that no other process sees. Most results of a step are; the content of a variable, of a
/// constant and of memory that was fed has other holders. False as well where the elements are less than half
/// of the memory they are in.
BRAID_API bool braid_tensor_is_exclusive(const braid_tensor *tensor);

/// Returns the number of bytes at braid_tensor_data; 0 for strings.
BRAID_API size_t braid_tensor_bytes(const braid_tensor *tensor);

/// String tensors: element `index`, not zero-terminated, its length in `*len`; owned by the tensor.
BRAID_API const char *braid_tensor_string_at(const braid_tensor *tensor, int64_t index, size_t *len);
/// Sets element `index` of a string tensor that has not been shared yet to a copy of `len` bytes.
BRAID_API void braid_tensor_set_string(braid_tensor *tensor, int64_t index, const char *data, size_t len);

/// Returns the elements as text, a row in brackets on each line ("[[1 2]\n [3 4]]"); free() it. At most
/// `max_elements` of them, and then "..."; negative: all. Floating-point numbers have as many digits as tell
/// them from all others of their type.
BRAID_API char *braid_tensor_text(const braid_tensor *tensor, int64_t max_elements);

#ifdef __cplusplus
}
#endif
#endif
