// Runs ops on images and on files of images, for their tests.
#ifndef BD_OPS_TESTING_IMAGE_OP_H
#define BD_OPS_TESTING_IMAGE_OP_H

#include "tensor/tensor.h"

// Runs an op on `first` and a tensor as text (NULL: no second input); the caller frees its output.
braid_code image_op_run(const char *op, const char *attrs, const braid_tensor *first, const char *second,
                        braid_tensor *out, braid_status *st);

#endif
