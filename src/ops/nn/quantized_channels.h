// Convolutions of quantized numbers whose filters have a range for each output channel. Here 0 stands for
// 0: the ranges are symmetric (qint8: from -127 on), or begin at 0 (quint8).
#ifndef BD_OPS_NN_QUANTIZED_CHANNELS_H
#define BD_OPS_NN_QUANTIZED_CHANNELS_H

#include "ops/common/quantized.h"

// What the ranges of input and filter give.
typedef struct bd_quant_channels {
    braid_dtype input_type;
    bd_quant_range input;
    const float *min, *max; // of the filter
    int64_t count;          // of their elements: 1, or one for each of `channels`
    int64_t channels;
    braid_shape shape; // of the filter's ranges
} bd_quant_channels;

// Reads the ranges from inputs `i` to `i + 3`. False: the kernel has failed.
bool bd_quant_channels_read(bd_op_ctx *c, int i, int64_t channels, bd_quant_channels *r);

// The float that 1 stands for in the sums of channel `k`.
float bd_quant_channels_step(const bd_quant_channels *r, int64_t k);
// What a float bias of channel `k` is multiplied by to be a term of the sums.
float bd_quant_channels_bias_scale(const bd_quant_channels *r, int64_t k);

// Sets outputs 1 and 2 to the ranges of sums as qint32. False: the kernel has failed.
bool bd_quant_channels_output(bd_op_ctx *c, const bd_quant_channels *r);

// For shape functions: checks the ranges from input `i` on; outputs 1 and 2 are like the filter's.
braid_code bd_quant_channels_shape(bd_shape_ctx *c, int i, braid_status *st);

#define BD_QUANT_CHANNELS_DEVIATION                                                                             \
    "TensorFlow has this kernel in its builds with oneDNN only. Sums are those of 1.15, in which 1 stands for " \
    "the step that min_output and max_output give; 2.15 scales them to the widest channel's."

#endif
