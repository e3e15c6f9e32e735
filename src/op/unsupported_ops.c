// Families of TensorFlow's ops that Braid does not support, for error messages.
#include "op/kernel.h"
#include <string.h>

typedef struct family {
    const char *part; // of the ops' names
    bool begins;      // it is a prefix
    const char *why;
} family;

static const family families[] = {
    {"TPU", false, "Braid does not run on TPUs"},
    {"Infeed", true, "Braid does not run on TPUs"},
    {"Outfeed", true, "Braid does not run on TPUs"},
    {"Xla", true, "Braid does not compile by XLA"},
    {"QuantizedConv2DAnd", true, "Braid has no quantized kernels of several ops"},
    {"QuantizedConv2DWith", true, "Braid has no quantized kernels of several ops"},
    {"QuantizedMatMulWith", true, "Braid has no quantized kernels of several ops"},
    {"CudnnRNN", true, "cuDNN's ops are not part of Braid"},
    {"Nccl", true, "NCCL's ops are not part of Braid"},
    {"CreateSummaryDbWriter", true, "Braid writes no summaries to databases: see CreateSummaryFileWriter"},
    {"EagerPyFunc", true, "Braid has no eager execution: see PyFunc"},
};

const char *bd_op_unsupported(const char *op_type)
{
    for (size_t i = 0; i < BD_COUNTOF(families); i++) {
        const char *at = strstr(op_type, families[i].part);
        if (at && (at == op_type || !families[i].begins)) return families[i].why;
    }
    return NULL;
}
