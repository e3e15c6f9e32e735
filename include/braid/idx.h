// The idx files in which MNIST and data sets like it come: a magic number, dimensions, then the elements.
#ifndef BRAID_IDX_H
#define BRAID_IDX_H

#include <braid/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a file, plain or gzipped, as a tensor of the type and shape that it declares: uint8, int8, int16,
/// int32, float or double. Reads `path`.gz where `path` does not exist. The caller frees the tensor. NULL on
/// an error: NotFound, DataLoss for a file that is no idx file, is cut off or has more bytes than it
/// declares.
BRAID_API braid_tensor *braid_idx_read(const char *path, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
