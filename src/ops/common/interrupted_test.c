// Kernels that take long end soon after their step is stopped: a row for each loop that they share, or have
// of their own.
//
// Each kernel runs once undisturbed, then again with a flag that is set when it has used a part of that time
// of the processor; other programs on the machine do not count.
// timeout: 1200
#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "ops/common/element.h"
#include "ops/testing/op_case.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOP_AT 0.2     // of the time of the whole, the flag is set
#define ENDS_BEFORE 0.6 // of it, the kernel must have ended; one that does not look at the flag takes 1
#define TRIES 3         // a processor is not always as fast

// Inputs as texts of op_test.h. A type with a mark gets other values than the one of the text: "~float[9] 5"
// random ones in [0, 5), "+int32[9] 3" ascending ones, each 3 times, "-int32[9] 1" descending ones.
typedef struct row {
    const char *op, *attrs, *inputs;
} row;

static const row rows[] = {
    // moving elements
    {"Fill", NULL, "int32[1] 100000000; float[] 1"},
    {"ConcatV2", "N=4",
     "float[20000000] 1; float[20000000] 1; float[20000000] 1; float[20000000] 1; int32[] 0"},
    {"ConcatV2", "N=2", "float[2000000,10] 1; float[2000000,10] 1; int32[] 1"},
    {"Concat", "N=2", "int32[] 0; string[1000000] a; string[1000000] b"},
    {"Pack", "N=2; axis=1", "float[20000000] 1; float[20000000] 1"},
    {"Unpack", "num=2; axis=1", "float[20000000,2] 1"},
    {"Split", "num_split=2", "int32[] 1; float[2000000,20] 1"},
    {"SplitV", "num_split=2", "float[2000000,20] 1; int32[2] 10; int32[] 1"},
    {"Tile", NULL, "float[1000000] 1; int32[1] 80"},
    {"TileGrad", NULL, "float[40000000] 1; int32[1] 4000000"},
    {"Pad", NULL, "float[2000000,20] 1; int32[2,2] 1"},
    {"MirrorPad", "mode=REFLECT", "float[2000000,20] 1; int32[2,2] 1"},
    {"MirrorPadGrad", "mode=REFLECT", "float[2000000,20] 1; int32[2,2] 1"},
    {"Transpose", NULL, "float[5000,5000] 1; -int32[2] 1"},
    {"Transpose", NULL, "float[20000000,2] 1; -int32[2] 1"},
    {"ReverseV2", NULL, "float[40000000] 1; int32[1] 0"},
    {"ReverseSequence", "seq_dim=1", "float[700000,20] 1; int64[700000] 10"},
    {"Roll", NULL, "float[2000000,20] 1; int32[] 3; int32[] 1"},
    {"Slice", NULL, "float[2000000,30] 1; int32[2] 1; int32[2] -1"},
    {"StridedSlice", NULL, "float[80000000] 1; int32[1] 0; int32[1] 80000000; int32[1] 2"},
    {"SpaceToDepth", "block_size=2", "float[1,4000,4000,2] 1"},
    {"SpaceToBatch", "block_size=2", "float[1,4000,4000,2] 1; int32[2,2] 0"},
    {"GatherV2", NULL, "float[1000,10] 1; ~int32[5000000] 1000; int32[] 0"},
    {"GatherV2", NULL, "string[1000] abc; ~int32[2000000] 1000; int32[] 0"},
    {"GatherNd", NULL, "float[1000,10] 1; ~int32[5000000,1] 1000"},
    {"ScatterNd", NULL, "~int32[10000000,1] 1000; float[10000000] 1; int32[1] 1000"},
    {"TensorScatterUpdate", NULL, "float[1000,4] 1; ~int32[5000000,1] 1000; float[5000000,4] 1"},
    {"DynamicPartition", "num_partitions=2", "float[10000000] 1; ~int32[10000000] 2"},
    {"DynamicStitch", NULL, "+int32[10000000] 1; float[10000000] 1"},
    {"InplaceUpdate", NULL, "float[1000] 1; ~int32[10000000] 1000; float[10000000] 1"},
    {"Where", NULL, "~float[8000000] 3"},
    {"Unique", NULL, "~int32[400000] 200000"},
    {"ListDiff", NULL, "~int32[300000] 1000000; ~int32[300000] 1000000"},
    {"OneHot", NULL, "~int32[500000] 20; int32[] 20; float[] 1; float[] 0"},
    {"BroadcastTo", NULL, "float[6000,1] 1; int32[2] 6000"},
    {"InvertPermutation", NULL, "+int32[20000000] 1"},
    {"UnravelIndex", NULL, "~int32[10000000] 10000; int32[2] 100"},
    {"Select", NULL, "bool[40000000] true; float[40000000] 1; float[40000000] 2"},
    {"SelectV2", NULL, "bool[40000000] true; float[40000000] 1; float[40000000] 2"},
    // arithmetic
    {"ClipByValue", NULL, "float[80000000] 1; float[] 0; float[] 2"},
    {"LeakyRelu", NULL, "float[80000000] 1"},
    {"ApproximateEqual", NULL, "float[60000000] 1; float[60000000] 2"},
    {"Igamma", NULL, "float[1000000] 3; float[1000000] 2"},
    {"Polygamma", NULL, "float[500000] 2; float[500000] 3"},
    {"Betainc", NULL, "float[500000] 3; float[500000] 2; float[500000] 0.5"},
    {"RandomGammaGrad", NULL, "float[500000] 3; float[500000] 2"},
    {"DivNoNan", NULL, "float[80000000] 3; float[80000000] 2"},
    {"Zeta", NULL, "float[400000] 2; float[400000] 2"},
    {"Lgamma", NULL, "float[5000000] 3"},
    {"Complex", NULL, "float[40000000] 1; float[40000000] 1"},
    {"Range", NULL, "float[] 0; float[] 50000000; float[] 1"},
    {"Range", NULL, "int32[] 0; int32[] 100000000; int32[] 1"},
    {"LinSpace", NULL, "float[] 0; float[] 1; int32[] 100000000"},
    {"AddN", "N=3", "float[40000000] 1; float[40000000] 1; float[40000000] 1"},
    {"Cast", "DstT=bfloat16; Truncate=true", "float[80000000] 1"},
    {"Cumsum", NULL, "float[50000000] 1; int32[] 0"},
    {"CumulativeLogsumexp", NULL, "float[4000000] 1; int32[] 0"},
    {"EuclideanNorm", NULL, "float[60000000] 1; int32[1] 0"},
    {"SegmentSum", NULL, "float[5000000,2] 1; +int32[5000000] 100"},
    {"UnsortedSegmentSum", NULL, "float[10000000,2] 1; ~int32[10000000] 100; int32[] 100"},
    {"SparseSegmentSum", NULL, "float[1000,2] 1; ~int32[10000000] 1000; +int32[10000000] 100"},
    {"SparseSegmentMeanGrad", NULL,
     "float[100000,2] 1; ~int32[10000000] 1000; +int32[10000000] 100; int32[] 1000"},
    {"Bincount", NULL, "~int32[40000000] 100; int32[] 100; int32[0]"},
    {"DenseBincount", NULL, "~int32[20000000] 100; int32[] 100; float[0]"},
    {"HistogramFixedWidth", NULL, "~float[20000000] 100; +float[2] 1; int32[] 10"},
    {"Bucketize", "boundaries=[1,5,9]", "~float[8000000] 10"},
    {"UpperBound", NULL, "+float[1,100000] 1; ~float[1,800000] 100000"},
    {"CompareAndBitpack", NULL, "~float[80000000] 10; float[] 3"},
    {"TopKV2", NULL, "~float[30000000] 1000000; int32[] 5"},
    {"TopKV2", NULL, "~float[30000000] 1000000; int32[] 1000"},
    {"InTopK", "k=5", "~float[3,30000000] 10; int32[3] 1"},
    {"NthElement", NULL, "~float[30000000] 1000000; int32[] 29999997"},
    {"IsotonicRegression", NULL, "~float[5000000] 1000"},
    {"Softmax", NULL, "float[1,40000000] 1"},
    {"LogSoftmax", NULL, "float[1,40000000] 1"},
    {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[1,30000000] 1; int32[1] 1"},
    {"ArgMax", NULL, "~float[60000000] 9; int32[] 0"},
    {"Sum", NULL, "float[100000000] 1; int32[1] 0"},
    {"L2Loss", NULL, "float[100000000] 1"},
    {"BiasAdd", NULL, "float[10000000,8] 1; float[8] 1"},
    {"FusedBatchNorm", NULL, "float[300,100,100,8] 1; float[8] 1; float[8] 1; float[0]; float[0]"},
    {"Conv2D", "strides=[1,1,1,1]; padding=SAME", "float[60,100,100,16] 1; float[3,3,16,64] 1"},
    {"MaxPool", "ksize=[1,3,3,1]; strides=[1,1,1,1]; padding=SAME", "float[60,200,200,16] 1"},
    {"FakeQuantWithMinMaxVars", NULL, "~float[20000000] 6; float[] 0; float[] 6"},
    {"QuantizeV2", "T=quint8", "~float[10000000] 6; float[] 0; float[] 6"},
    {"Dequantize", NULL, "quint8[30000000] 1; float[] 0; float[] 6"},
    {"QuantizeAndDequantizeV2", NULL, "~float[20000000] 6; float[] 0; float[] 6"},
    {"BatchNormWithGlobalNormalization", "variance_epsilon=0.1; scale_after_normalization=true",
     "float[4000,100,20,3] 1; float[3] 1; float[3] 1; float[3] 1; float[3] 1"},
    {"MaxPoolWithArgmax", "ksize=[1,3,3,1]; strides=[1,1,1,1]; padding=SAME", "~float[1,1000,1000,3] 9"},
    {"FractionalMaxPool", "pooling_ratio=[1.0,1.5,1.5,1.0]; seed=1; seed2=1", "~float[1,2000,2000,3] 9"},
    {"Dilation2D", "strides=[1,1,1,1]; rates=[1,1,1,1]; padding=SAME",
     "float[1,700,700,3] 1; float[3,3,3] 1"},
    {"Dilation2DBackpropInput", "strides=[1,1,1,1]; rates=[1,1,1,1]; padding=SAME",
     "float[1,700,700,3] 1; float[3,3,3] 1; float[1,700,700,3] 1"},
    {"LRN", NULL, "float[1,1000,1000,10] 1"},
    {"GRUBlockCell", NULL,
     "float[20000,64] 1; float[20000,64] 1; float[128,128] 1; float[128,64] 1; float[128] 1; float[64] 1"},
    {"LSTMBlockCell", NULL,
     "float[200000,32] 1; float[200000,32] 1; float[200000,32] 1; float[64,128] 1; float[32] 1; float[32] 1; float[32] 1; float[128] 1"},
    // linear algebra
    {"MatMul", NULL, "float[2000,2000] 1; float[2000,2000] 1"},
    {"BatchMatMul", NULL, "float[200000,2,2] 1; float[200000,2,2] 1"},
    {"Einsum", "N=1; equation=ij->j", "float[10000,4000] 1"},
    {"Cross", NULL, "float[10000000,3] 1; float[10000000,3] 2"},
    {"Lu", NULL, "~float[1000,1000] 9"},
    {"MatrixInverse", NULL, "~float[500,500] 1000"},
    {"MatrixTriangularSolve", "lower=true", "float[1000,1000] 1; float[1000,500] 1"},
    {"BandedTriangularSolve", "lower=true", "float[1,2,3000000] 1; float[1,3000000,2] 1"},
    {"TridiagonalSolve", NULL, "float[1,3,3000000] 1; float[1,3000000,2] 1"},
    {"MatrixDiagPart", NULL, "float[8000000,2,2] 1"},
    {"MatrixDeterminant", NULL, "~float[1000000,2,2] 1000"},
    {"Qr", NULL, "~float[500,500] 1000"},
    {"SelfAdjointEigV2", NULL, "~float[2000,30,30] 1000"},
    {"MatrixExponential", NULL, "~float[1,200,200] 1000000"},
    {"CholeskyGrad", NULL, "~float[10000,15,15] 1000; float[10000,15,15] 1"},
    {"TridiagonalMatMul", NULL,
     "float[1,8000000] 1; float[1,8000000] 1; float[1,8000000] 1; float[8000000,4] 1"},
    // sparse tensors
    {"SparseReorder", NULL, "~int64[300000,1] 1000000; float[300000] 1; int64[1] 1000000"},
    {"SparseReshape", NULL, "~int64[10000000,1] 10000; int64[1] 10000; int64[2] 100"},
    {"SparseToDense", "validate_indices=false",
     "~int64[5000000,1] 1000000; int64[1] 1000000; float[5000000] 1; float[] 0"},
    {"SparseTensorDenseMatMul", NULL,
     "~int64[1000000,2] 1000; float[1000000] 1; int64[2] 1000; float[1000,40] 1"},
    {"SparseTensorDenseAdd", NULL, "~int64[5000000,1] 1000; float[5000000] 1; int64[1] 1000; float[1000] 1"},
    {"SparseAdd", NULL,
     "+int64[1500000,1] 1; float[1500000] 1; int64[1] 1500000; +int64[1500000,1] 1; float[1500000] 1; "
     "int64[1] 1500000; float[] 0"},
    {"SparseSparseMaximum", NULL,
     "+int64[4000000,1] 1; float[4000000] 1; int64[1] 4000000; +int64[4000000,1] 1; float[4000000] 1; "
     "int64[1] 4000000"},
    {"SparseReduceSum", NULL, "+int64[10000000,1] 1; float[10000000] 1; int64[1] 10000000; int32[1] 0"},
    {"SparseSoftmax", NULL, "+int64[2000000,2] 1; float[2000000] 1; int64[2] 10000000"},
    {"SparseFillEmptyRows", NULL, "+int64[5000000,1] 2; float[5000000] 1; int64[1] 5000000; float[] 0"},
    {"SparseConcat", "concat_dim=0; N=2",
     "+int64[4000000,1] 1; +int64[4000000,1] 1; float[4000000] 1; float[4000000] 1; int64[1] 4000000; "
     "int64[1] 4000000"},
    {"SparseSplit", "num_split=2", "int64[] 0; ~int64[4000000,1] 100; float[4000000] 1; int64[1] 100"},
    {"SparseSlice", NULL, "~int64[8000000,1] 100; float[8000000] 1; int64[1] 100; int64[1] 10; int64[1] 40"},
    {"SparseCross",
     "N=0; hashed_output=true; num_buckets=1000; hash_key=1; out_type=int64; internal_type=int64",
     "int64[2000000,1] 1; int64[2000000,1] 1"},
    {"SparseDenseCwiseMul", NULL, "~int64[10000000,1] 100; float[10000000] 1; int64[1] 100; float[100] 2"},
    {"DenseCountSparseOutput", "binary_output=false", "~int64[400000] 1000000; float[0]"},
    {"DenseToDenseSetOperation", "set_operation=union", "~int32[1,200000] 9999999; ~int32[1,200000] 9999999"},
    {"ComputeAccidentalHits", "num_true=1", "~int64[300000,1] 1000000; ~int64[300000] 1000000"},
    {"RaggedRange", NULL, "int32[1] 0; int32[1] 60000000; int32[1] 1"},
    {"RaggedTensorToSparse", NULL, "+int64[2000001] 1; float[2000000] 1"},
    // strings
    {"AsString", NULL, "~int32[2000000] 1000000"},
    {"StringToNumber", NULL, "string[1000000] 123.5"},
    {"StringLower", NULL, "string[2000000] ABC"},
    {"StringStrip", NULL, "string[2000000] ABC"},
    {"StringToHashBucketFast", "num_buckets=1000", "string[10000000] ABC"},
    {"StringJoin", "N=2", "string[2000000] a; string[2000000] b"},
    {"StringLength", "unit=UTF8_CHAR", "string[10000000] abc"},
    {"StringSplitV2", NULL, "string[500000] a,b,c; string[] ,"},
    {"RegexFullMatch", NULL, "string[1000000] abc; string[] a.c"},
    {"RegexReplace", "replace_global=true", "string[300000] abc; string[] b; string[] c"},
    {"Substr", NULL, "string[2000000] abc; int32[] 1; int32[] 1"},
    {"EncodeBase64", NULL, "string[2000000] abc"},
    {"UnicodeDecode", "input_encoding='UTF-8'", "string[1000000] abc"},
    {"UnicodeTranscode", "input_encoding=UTF-8; output_encoding=UTF-16-BE", "string[1000000] abc"},
    {"UnicodeEncode", "output_encoding=UTF-8", "int32[1000000] 97; +int64[1000001] 1"},
    {"UnicodeScript", NULL, "int32[20000000] 97"},
    {"StringNGrams",
     "separator=' '; ngram_widths=[1]; left_pad=''; right_pad=''; pad_width=0; preserve_short_sequences=false",
     "string[1000000] abc; +int64[1000001] 1"},
    {"ReduceJoin", NULL, "string[5000000] abc; int32[1] 0"},
    {"UnsortedSegmentJoin", NULL, "string[3000000] abc; ~int32[3000000] 100; int32[] 100"},
    {"Fingerprint", NULL, "~float[5000000,2] 100; string[] farmhash64"},
    {"DecodeRaw", "out_type=uint8", "string[10000000] abcd"},
    {"DecodeCSV", "OUT_TYPE=[float]", "string[1000000] 12.5; float[1] 0"},
    {"Equal", NULL, "string[10000000] abc; string[10000000] abc"},
    // images and sounds
    {"ResizeBilinear", NULL, "float[1,100,100,3] 1; int32[2] 3000"},
    {"ResizeNearestNeighbor", NULL, "float[1,100,100,3] 1; int32[2] 4000"},
    {"ResizeNearestNeighborGrad", NULL, "float[1,4000,4000,3] 1; int32[2] 100"},
    {"ResizeBilinearGrad", NULL, "float[1,3000,3000,3] 1; float[1,100,100,3] 1"},
    {"ResizeBicubic", NULL, "float[1,100,100,3] 1; int32[2] 2000"},
    {"RGBToHSV", NULL, "~float[10000000,3] 1"},
    {"CropAndResize", NULL, "float[1,100,100,3] 1; float[30,4] 1; int32[30] 0; int32[2] 300"},
    {"ExtractImagePatches", "ksizes=[1,3,3,1]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=SAME",
     "float[1,1500,1500,2] 1"},
    {"ImageProjectiveTransformV2", "interpolation=BILINEAR",
     "float[1,2000,2000,1] 1; float[1,8] 0; int32[2] 2000"},
    {"ScaleAndTranslate", NULL, "float[1,100,100,3] 1; int32[2] 2500; float[2] 25; float[2] 0"},
    {"ScaleAndTranslateGrad", NULL, "float[1,2500,2500,3] 1; float[1,100,100,3] 1; float[2] 25; float[2] 0"},
    {"AdjustContrastv2", NULL, "float[1,5000,5000,3] 1; float[] 2"},
    {"AdjustHue", NULL, "~float[2000,2000,3] 2; float[] 0.3"},
    {"DrawBoundingBoxes", NULL, "float[1,1000,1000,3] 1; float[1,5000000,4] 0.5"},
    {"NonMaxSuppression", "iou_threshold=1.0", "~float[2500,4] 1000; ~float[2500] 1000; int32[] 2500"},
    {"ExtractGlimpse", NULL, "float[20,100,100,3] 1; int32[2] 500; float[20,2] 0"},
    {"AudioSpectrogram", "window_size=512; stride=100", "~float[1000000,1] 3"},
    {"Mfcc", NULL, "~float[1,20000,257] 3; int32[] 16000"},
    // random numbers
    {"StatelessRandomUniform", NULL, "int32[1] 20000000; int32[2] 1"},
    {"StatelessTruncatedNormal", NULL, "int32[1] 5000000; int32[2] 1"},
    {"StatelessMultinomial", NULL, "~float[1,1000] 3; int32[] 3000000; int32[2] 1"},
    {"Multinomial", NULL, "~float[1,5000000] 3; int32[] 10"},
    {"ParameterizedTruncatedNormal", NULL, "int32[1] 5000000; float[] 0; float[] 1; float[] -1; float[] 1"},
    {"RandomShuffle", NULL, "float[1000000] 1"},
    {"RandomGamma", NULL, "int32[1] 2000000; float[] 2"},
    {"RandomPoissonV2", NULL, "int32[1] 1000000; float[] 20"},
    {"StatelessRandomBinomial", NULL, "int32[1] 1000000; int32[2] 1; float[] 20; float[] 0.5"},
};

static char **only;
static atomic_bool is_stopped;

static void stop(int unused)
{
    (void)unused;
    is_stopped = true;
}

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void set_number(const braid_tensor *t, int64_t i, int64_t value)
{
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)value; break;
    case BRAID_INT32: bd_tensor_i32(t)[i] = (int32_t)value; break;
    case BRAID_INT64: bd_tensor_i64(t)[i] = value; break;
    default: fail_msg("no values of this type");
    }
}

static void set_values(const braid_tensor *t, char mark, int64_t number)
{
    bd_rng rng = bd_rng_init(1);
    for (int64_t i = 0; i < bd_tensor_count(t); i++)
        set_number(t, i,
                   mark == '+'   ? i / number
                   : mark == '-' ? bd_tensor_count(t) - 1 - i
                                 : (int64_t)(bd_rng_double(&rng) * (double)number));
}

// Reads an input of a row. `text` is one piece of it.
static void read_input(const char *text, op_text *form, braid_tensor *t)
{
    const char mark = strchr("~+-", *text) ? *text : 0;
    op_text read[OP_TEXT_MAX];
    assert_int_equal(op_text_read(text + (mark != 0), read), 1);
    *form = read[0];
    const braid_shape shape = form->shape;
    if (!form->has_values || bd_shape_count(&shape) == 0) {
        op_text_tensor(form, t);
        return;
    }
    braid_tensor one; // of which the others are copies
    form->shape = BD_SCALAR;
    op_text_tensor(form, &one);
    form->shape = shape;
    assert_true(bd_tensor_alloc(t, form->dtype, &shape));
    const int64_t count = bd_tensor_count(t);
    bd_elements_copy(t, 0, &one, 0, 1);
    for (int64_t i = 1; !mark && i < count; i *= 2)
        bd_elements_copy(t, i, t, 0, bd_min(i, count - i));
    bd_tensor_fini(&one);
    if (mark) set_values(t, mark, strtol(strchr(text, ']') + 1, NULL, 10));
}

typedef struct subject {
    braid_graph *graph;
    braid_op *node;
    bd_value inputs[OP_TEXT_MAX];
    int count;
} subject;

static void begin(const row *r, subject *s)
{
    braid_out outs[OP_TEXT_MAX];
    *s = (subject){.graph = braid_graph_new()};
    char *copy = bd_strdup(r->inputs), *rest = copy;
    for (char *piece; (piece = strsep(&rest, ";")); s->count++) {
        op_text form;
        read_input(piece + strspn(piece, " "), &form, &s->inputs[s->count].tensor);
        outs[s->count] = op_case_input(s->graph, &form, true);
        op_text_fini(&form, 1);
    }
    bd_free(copy);
    BD_STATUS(st);
    s->node = op_test_node(s->graph, r->op, r->attrs, outs, s->count);
    if (braid_graph_status(s->graph, st)) fail_msg("%s: %s", r->op, st->message);
}

static void end(subject *s)
{
    for (int i = 0; i < s->count; i++)
        bd_value_fini(&s->inputs[i]);
    braid_graph_free(s->graph);
}

// Runs the kernel until it ends; returns the time of the processor that it took.
static double run(const subject *s, braid_status *st)
{
    bd_step step;
    bd_value outputs[OP_TEXT_MAX] = {0}, inputs[OP_TEXT_MAX] = {0};
    op_step_init(&step);
    for (int i = 0; i < s->count; i++)
        op_value_ref(&inputs[i], &s->inputs[i]);
    const double before = processor_seconds();
    op_run_node(s->node, &step, inputs, outputs, st);
    const double taken = processor_seconds() - before;
    for (int i = 0; i < s->node->output_count; i++)
        bd_value_fini(&outputs[i]);
    for (int i = 0; i < s->count; i++)
        bd_value_fini(&inputs[i]);
    op_step_fini(&step);
    return taken;
}

static double run_stopped(const subject *s, double after)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec at = {.it_value = {(time_t)after, (long)((after - (double)(time_t)after) * 1e9)}};
    BD_STATUS(unused); // a kernel that is interrupted may fail
    is_stopped = false;
    assert_int_equal(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &at, NULL), 0);
    const atomic_bool *flag = bd_interrupt_set(&is_stopped);
    const double taken = run(s, unused);
    bd_interrupt_set(flag);
    timer_delete(timer);
    return taken;
}

// Returns whether the kernel ended soon after it was stopped.
static bool ends_soon(const row *r)
{
    subject s;
    begin(r, &s);
    double whole = 0, stopped = 0;
    bool ok = false;
    for (int i = 0; i < TRIES && !ok; i++) {
        BD_STATUS(st);
        run(&s, st); // makes memory for the next runs
        if (st->code) print_message("%s: %s\n", r->op, st->message);
        if (st->code) break;
        whole = run(&s, st);
        stopped = run_stopped(&s, whole * STOP_AT);
        ok = stopped < whole * ENDS_BEFORE;
    }
    print_message("%-28s %6.0f ms, stopped at %5.0f ms, ended at %5.0f ms%s\n", r->op, whole * 1e3,
                  whole * STOP_AT * 1e3, stopped * 1e3, ok ? "" : ": too late");
    end(&s);
    return ok;
}

static bool is_asked(const char *op)
{
    for (char **o = only; *o; o++)
        if (strcmp(*o, op) == 0) return true;
    return !*only;
}

static void kernels_end_soon_after_their_step_is_stopped(void **state)
{
    (void)state;
    int late = 0;
    const char *sanitizer = getenv("BRAID_SANITIZE");
    if (sanitizer && *sanitizer && !*only) skip(); // it takes very long: name some ops
    signal(SIGUSR1, stop);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        late += is_asked(rows[i].op) && !ends_soon(&rows[i]);
    assert_int_equal(late, 0);
}

// Arguments: the ops to be tested; all without one.
int main(int argc, char **argv)
{
    only = argv + 1;
    (void)argc;
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_end_soon_after_their_step_is_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
