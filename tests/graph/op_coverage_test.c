// The required parts of every op: a doc, a shape function, kernels for the types that a user expects,
// TensorFlow's gradient, and a test that names it.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "op/kernel.h"
#include "tensor/dtype.h"
#include <dirent.h>
#include <stdio.h>

// The ops for which TensorFlow's Python registers a gradient function (tf.RegisterGradient in
// python/ops/*_grad.py).
static const char differentiable[] =
    // math_grad.py
    " Sum Max Min Mean Prod SegmentSum SegmentMean SegmentMin SegmentMax SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN "
    "UnsortedSegmentSum UnsortedSegmentMax Abs Neg Inv Reciprocal InvGrad ReciprocalGrad Square Sqrt SqrtGrad Rsqrt RsqrtGrad Exp "
    "Expm1 Log Log1p Sinh Cosh Tanh Asinh Acosh Atanh TanhGrad Erf Erfc Lgamma Digamma Sigmoid SigmoidGrad Sign Sin Cos Tan Asin "
    "Acos Atan Atan2 AddN Add AddV2 Sub Mul Div FloorDiv FloorMod TruncateDiv RealDiv Pow Maximum Minimum SquaredDifference Select "
    "MatMul SparseMatMul Floor Ceil Round Rint BatchMatMul Complex Real Imag Conj ComplexAbs Cast Cross Cumsum Cumprod "
    "ArgMax ArgMin AccumulateNV2 "
    // array_grad.py
    "Pack Unpack Concat ConcatV2 Slice StridedSlice StridedSliceGrad Split SplitV Diag DiagPart MatrixDiag MatrixDiagPart "
    "MatrixSetDiag MatrixBandPart Fill PreventGradient Gather GatherV2 GatherNd CheckNumerics PlaceholderWithDefault Identity "
    "RefIdentity IdentityN Snapshot Reshape ExpandDims Squeeze Transpose Tile Pad PadV2 ReverseSequence Reverse ReverseV2 "
    "SpaceToBatch SpaceToBatchND BatchToSpace BatchToSpaceND SpaceToDepth DepthToSpace MirrorPad MirrorPadGrad "
    "ExtractImagePatches ScatterNd ScatterNdNonAliasingAdd QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 "
    "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel "
    // spectral_grad.py
    "FFT IFFT FFT2D IFFT2D FFT3D IFFT3D RFFT IRFFT RFFT2D IRFFT2D RFFT3D IRFFT3D "
    // nn_grad.py
    "Conv2D Conv2DBackpropInput Conv2DBackpropFilter DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput "
    "DepthwiseConv2dNativeBackpropFilter Softmax LogSoftmax BiasAdd BiasAddGrad BiasAddV1 Relu ReluGrad Relu6 Relu6Grad Elu "
    "EluGrad Selu SeluGrad Softplus SoftplusGrad Softsign SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits LRN "
    "AvgPool AvgPoolGrad AvgPool3D AvgPool3DGrad Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2 MaxPool3D MaxPool3DGrad "
    "MaxPool3DGradGrad ExtractVolumePatches MaxPool MaxPoolV2 MaxPoolGrad MaxPoolGradV2 MaxPoolGradGrad L2Loss TopKV2 FusedBatchNorm "
    "FusedBatchNormGrad FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGradV2 FusedBatchNormGradV3 "
    "BatchNormWithGlobalNormalization Dilation2D MaxPoolWithArgmax CropAndResize "
    "FractionalMaxPool FractionalAvgPool "
    // ops added up to TensorFlow 1.15
    "Angle ConjugateTranspose DivNoNan MulNoNan Xdivy Xlogy NextAfter Igamma Igammac Betainc Zeta Polygamma BesselI0e BesselI1e BatchMatMulV2 EuclideanNorm "
    "CumulativeLogsumexp SelectV2 UnsortedSegmentMin UnsortedSegmentProd SparseSegmentSumWithNumSegments "
    "SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments LeakyRelu LeakyReluGrad ClipByValue BroadcastTo EnsureShape "
    "MatrixDiagV2 MatrixDiagPartV2 MatrixSetDiagV2 MatrixDiagV3 MatrixDiagPartV3 MatrixSetDiagV3 Roll TensorScatterUpdate TensorScatterAdd TensorScatterSub NthElement TopK "
    "LogMatrixDeterminant Cholesky Qr MatrixSolveLs SelfAdjointEigV2 Svd MatrixSquareRoot TridiagonalSolve TridiagonalMatMul Einsum ResourceGatherNd "
    // rnn_grad.py
    "BlockLSTM BlockLSTMV2 "
    // contrib/rnn: lstm_ops.py, gru_ops.py
    "LSTMBlockCell GRUBlockCell "
    // ctc_ops.py
    "CTCLoss "
    // contrib/batching
    "Batch Unbatch "
    // contrib/resampler
    "Resampler "
    // ops added by TensorFlow 2
    "QuantizeAndDequantizeV4 BatchMatMulV3 CheckNumericsV2 TensorScatterMax TensorScatterMin ImageProjectiveTransformV2 "
    "ImageProjectiveTransformV3 Xlog1py Erfinv Ndtri Dawsn Expint FresnelCos FresnelSin Spence BesselI0 BesselI1 BesselJ0 BesselJ1 "
    "BesselY0 BesselY1 BesselK0 BesselK0e BesselK1 BesselK1e BandedTriangularSolve IsotonicRegression "
    // random_grad.py
    "RandomGamma "
    // tf.contrib
    "PeriodicResample "
    // the others
    "MatrixExponential " // tf.linalg.expm, which has one, is made of other ops there
    "SparseToDense DebugGradientIdentity DebugGradientRefIdentity "
    "DynamicPartition DynamicStitch ParallelDynamicStitch Switch RefSwitch Merge RefMerge Enter RefEnter Exit RefExit "
    "NextIteration RefNextIteration LoopCond ReadVariableOp ResourceGather MatrixInverse MatrixDeterminant MatrixSolve "
    "MatrixTriangularSolve SparseReorder SparseAdd SparseSlice SparseTensorDenseAdd SparseReduceSum SparseTensorDenseMatMul "
    "SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv SparseSoftmax SparseSparseMaximum SparseSparseMinimum "
    "SparseFillEmptyRows RaggedFillEmptyRows RaggedGather RaggedTensorToSparse RaggedTensorToTensor ResizeNearestNeighbor ResizeBilinear ResizeBicubic ScaleAndTranslate RGBToHSV Print TensorArrayReadV3 TensorArrayWriteV3 "
    "TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 TensorArraySplitV3 "
    "TensorArrayReadV2 TensorArrayWriteV2 TensorArrayGatherV2 TensorArrayScatterV2 TensorArrayConcatV2 TensorArraySplitV2 "
    "TensorArrayRead TensorArrayWrite TensorArrayGather TensorArrayScatter TensorArrayConcat TensorArraySplit "
    // function.py, cond_v2.py, while_v2.py
    "PartitionedCall StatefulPartitionedCall If StatelessIf Case StatelessCase While StatelessWhile "
    // list_ops.py
    "TensorListPushBack TensorListPopBack TensorListStack TensorListConcat TensorListConcatV2 TensorListSplit "
    "TensorListFromTensor TensorListGetItem TensorListSetItem TensorListResize TensorListGather TensorListScatter "
    "TensorListScatterV2 TensorListScatterIntoExistingList ";

// Known to be missing.
static const char no_gradient_yet[] =
    " Enter RefEnter Exit RefExit NextIteration RefNextIteration " // the walk makes it (graph/gradient_loops.h)
    "If StatelessIf Case StatelessCase While StatelessWhile "      // lowered before the walk (graph/lower.h)
    "LoopCond "                                                    // registered there with gradient None
    "SparseDenseCwiseAdd SparseSparseMaximum SparseSparseMinimum "; // registered there, to raise NotImplementedError

static bool lists(const char *list, const char *op)
{
    char *word = bd_asprintf(" %s ", op);
    bool found = strstr(list, word) != NULL;
    bd_free(word);
    return found;
}

static int gaps;

static void gap(const char *op, const char *what)
{
    print_message("%s: %s\n", op, what);
    gaps++;
}

static void definitions_match_the_registry_of_tensorflow(void **state)
{
    (void)state;
    gaps = 0;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        const bd_op *op = bd_op_table[i].op;
        bool is_differentiable = lists(differentiable, name) && !lists(no_gradient_yet, name);
        if (!op->doc || !op->doc[0]) gap(name, "no doc");
        if (!op->shape && bd_op_lookup(name)->output_count > 0) gap(name, "no shape function");
        if (op->kernel_count == 0) gap(name, "no kernel");
        if (is_differentiable && !op->gradient) gap(name, "no gradient, where TensorFlow has one");
        if (!is_differentiable && op->gradient) gap(name, "a gradient, where TensorFlow has none");
    }
    assert_int_equal(gaps, 0);
}

// ---- Types ----

// TensorFlow has kernels of floating types only, or (TruncateDiv) of integers only; or there is no use for
// the others.
static const char not_of_all_types[] =
    " QuantizedConcat RealDiv Reciprocal Inv Tan Asin Acos Atan TruncateDiv BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad "
    // random numbers of one kind only
    "Multinomial StatelessMultinomial NonDeterministicInts StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal "
    "StatefulUniform StatefulUniformFullInt StatefulUniformInt StatefulRandomBinomial StatelessRandomBinomial ";

static bool is_update(const char *op)
{
    return strstr(op, "Apply") != NULL && strncmp(op, "Accumulator", 11) != 0;
}

static bool kernel_serves(const bd_kernel *k, const char *attr, braid_dtype type)
{
    char *start = bd_asprintf("%s=", attr);
    const char *at = k->types ? strstr(k->types, start) : NULL;
    while (at && at != k->types && at[-1] != ' ' && at[-1] != ';')
        at = strstr(at + 1, start);
    bool serves = !at;
    const char *end = at ? at + strcspn(at, ";") : NULL;
    for (const char *word = at ? at + strlen(start) : NULL; word && word < end && !serves; word++) {
        size_t len = strcspn(word, "|; ");
        serves = bd_dtype_parse(word, len) == type;
        word += len;
    }
    bd_free(start);
    return serves;
}

static void check_types(const char *name, const bd_op *op, const bd_attr_def *attr)
{
    if (strcmp(attr->name, "key_dtype") == 0) return; // keys of tables are integers or strings
    static const braid_dtype expected[] = {BRAID_FLOAT, BRAID_DOUBLE, BRAID_INT32, BRAID_INT64};
    for (size_t t = 0; t < BD_COUNTOF(expected); t++) {
        bool serves = false;
        if (attr->allowed_types && !(attr->allowed_types & BD_DTYPE_BIT(expected[t]))) continue;
        if (t >= 2 && is_update(name)) continue;
        for (int k = 0; k < op->kernel_count; k++)
            serves = serves || kernel_serves(&op->kernels[k], attr->name, expected[t]);
        if (!serves) gap(name, braid_dtype_name(expected[t]));
    }
}

static void kernels_take_the_types_of_tensorflow(void **state)
{
    (void)state;
    gaps = 0;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const bd_op_def *def = bd_op_lookup(bd_op_table[i].name);
        for (int a = 0; a < def->attr_count; a++) {
            if (def->attrs[a].kind == BD_ATTR_TYPE && !lists(not_of_all_types, bd_op_table[i].name))
                check_types(bd_op_table[i].name, bd_op_table[i].op, &def->attrs[a]);
        }
    }
    assert_int_equal(gaps, 0);
}

// ---- Tests ----

static bd_strbuf tests;

static void read_file(const char *path)
{
    char text[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(text, 1, sizeof text, f)) > 0;)
        bd_strbuf_append_n(&tests, text, n);
    fclose(f);
}

// Reads the files below `dir` whose names contain `ending`.
static void read_tests(const char *dir, const char *ending)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "op_coverage_test.c") == 0) continue;
        char *path = bd_asprintf("%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR)
            read_tests(path, ending);
        else if (strstr(e->d_name, ending))
            read_file(path);
        bd_free(path);
    }
    closedir(d);
}

// The forms of an optimizer's update are tested by the optimizer's name.
static const char *tested_name(const char *op)
{
    const char *apply = strstr(op, "Apply");
    return apply && is_update(op) ? apply + strlen("Apply") : op;
}

static bool is_written(const char *before, const char *name, const char *after)
{
    char *text = bd_asprintf("%s%s%s", before, name, after);
    bool found = strstr(bd_strbuf_str(&tests), text) != NULL;
    bd_free(text);
    return found;
}

// Quoted, or in the text of a pipeline of datasets (ops/testing/pipeline.h).
static bool is_tested(const char *name)
{
    static const char *const around[][2] = {{"\"", "\""}, {"\"", "("}, {" ", "("}, {"\"", "{"}, {" ", "{"}};
    bool found = false;
    for (size_t i = 0; i < BD_COUNTOF(around) && !found; i++)
        found = is_written(around[i][0], name, around[i][1]);
    return found;
}

static void read_all_tests(void)
{
    if (tests.len > 0) return;
    read_tests(BD_SOURCE_DIR "/src/ops", "_test.c");
    read_tests(BD_SOURCE_DIR "/src/ops/testing", "_nodes.c"); // the files that tests share
    read_tests(BD_SOURCE_DIR "/src/ops/testing", "pipeline.c");
    read_tests(BD_SOURCE_DIR "/src/runtime", "_test.c");
    read_tests(BD_SOURCE_DIR "/tests/runtime", "_test.c"); // ops that call functions need a session
}

static void each_has_a_test(void **state)
{
    (void)state;
    gaps = 0;
    read_all_tests();
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        bool is_internal = name[0] == '_'; // made by rewrites and by partitioning, and tested there
        if (!is_internal && !is_tested(name) && !is_tested(tested_name(name))) gap(name, "in no test");
    }
    assert_int_equal(gaps, 0);
}

// ---- Gradients against finite differences ----

// Properties that no row of a table can state: other tests check them.
static const char checked_otherwise[] =
    // by differences in single precision, or of outputs that belong together: batch_norm_test, image_*_test,
    // lstm_block_test, ...
    " CropAndResize "
    "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 "
    "FusedBatchNormV2 FusedBatchNormV3 LRN MaxPoolGradGrad MaxPool3D MaxPool3DGrad "
    "MaxPool3DGradGrad "
    "ResizeBicubic ResizeBilinear ResizeNearestNeighbor ScaleAndTranslate BlockLSTM BlockLSTMV2 LSTMBlockCell GRUBlockCell "
    // of resources, of values that live for a step, of branches, or of functions
    "PartitionedCall StatefulPartitionedCall ReadVariableOp ResourceGather ResourceGatherNd TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 "
    "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3 "
    "TensorArrayConcatV2 TensorArrayGatherV2 TensorArrayReadV2 TensorArrayScatterV2 TensorArraySplitV2 TensorArrayWriteV2 "
    "TensorArrayConcat TensorArrayGather TensorArrayRead TensorArrayScatter TensorArraySplit TensorArrayWrite TensorListConcat TensorListConcatV2 TensorListFromTensor "
    "TensorListGather TensorListGetItem TensorListPopBack TensorListPushBack TensorListResize TensorListScatter "
    "TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack Switch Merge "
    "RefSwitch RefMerge RaggedTensorToTensor "
    // of steps that run at the same time: tests/python/batch_ops_test.py
    "Batch Unbatch "
    // by other values than finite differences: straight-through estimators, random values, an error, or no
    // gradient
    "ArgMax ArgMin Ceil Rint NextAfter TruncateDiv FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars "
    "FakeQuantWithMinMaxVarsPerChannel QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 "
    "QuantizeAndDequantizeV4 RandomGamma PreventGradient "
    // ops that forward their input, which may be a reference; and types without differences in double
    "Print RefIdentity DebugGradientRefIdentity Snapshot SparseMatMul ";

// Whether a row of a table of gradients is about the op.
static bool has_gradient_case(const char *name)
{
    static const char table[] = "op_grad_case ";
    char *row = bd_asprintf("\"%s\"", name);
    bool found = false;
    for (const char *at = strstr(bd_strbuf_str(&tests), table); at && !found; at = strstr(at + 1, table)) {
        const char *end = strstr(at, "};"), *in = strstr(at, row);
        found = in && end && in < end;
    }
    bd_free(row);
    return found;
}

static void each_gradient_is_compared(void **state)
{
    (void)state;
    gaps = 0;
    read_all_tests();
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        if (!bd_op_table[i].op->gradient || name[0] == '_') continue;
        const bool has_case = has_gradient_case(name), is_listed = lists(checked_otherwise, name);
        if (!has_case && !is_listed) gap(name, "its gradient is in no table of finite differences");
        if (has_case && is_listed) gap(name, "need not be listed: its gradient is in a table");
    }
    assert_int_equal(gaps, 0);
    bd_strbuf_fini(&tests);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(definitions_match_the_registry_of_tensorflow),
        cmocka_unit_test(kernels_take_the_types_of_tensorflow), cmocka_unit_test(each_has_a_test),
        cmocka_unit_test(each_gradient_is_compared), // must be last: it frees the shared state
    };
    return BD_RUN_TESTS(all);
}
