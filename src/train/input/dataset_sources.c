// Sources of datasets: tensors, numbers, and files.
#include "train/input/dataset_internal.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/ops.h>
#include <string.h>

// The buffer of TensorFlow's readers of files.
#define BUFFER_BYTES (256 * 1024)

static braid_dataset of_tensors(braid_graph *g, const char *op_type, const braid_out *components, int count,
                                bool are_sliced)
{
    const bool is_empty = !components || count < 1;
    if (is_empty) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: no tensors", op_type);
    if (is_empty || braid_graph_status(g, NULL)) return (braid_dataset){0};
    braid_dtype *dtypes = bd_calloc((size_t)count, sizeof *dtypes);
    braid_shape *shapes = bd_calloc((size_t)count, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        dtypes[i] = train_base_dtype(braid_out_dtype(components[i]));
        shapes[i] = braid_out_shape(components[i]);
        if (are_sliced && shapes[i].rank == 0)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: component %d is a scalar, which has no slices",
                             op_type, i);
        if (!are_sliced || shapes[i].rank <= 0) continue;
        shapes[i].rank--;
        memmove(shapes[i].dims, shapes[i].dims + 1, (size_t)shapes[i].rank * sizeof *shapes[i].dims);
    }
    braid_op_desc *d = train_dataset_begin(g, op_type, NULL, 0);
    braid_op_input_list(d, components, count);
    const braid_dataset out = train_dataset_end_typed(g, d, "Toutput_types", dtypes, shapes, count);
    bd_free(dtypes);
    bd_free(shapes);
    return out;
}

braid_dataset braid_dataset_from_tensors(braid_graph *g, const braid_out *components, int count)
{
    return of_tensors(g, "TensorDataset", components, count, false);
}

braid_dataset braid_dataset_from_tensor_slices(braid_graph *g, const braid_out *components, int count)
{
    return of_tensors(g, "TensorSliceDataset", components, count, true);
}

braid_dataset braid_dataset_range(braid_graph *g, int64_t start, int64_t stop, int64_t step)
{
    if (step == 0) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "RangeDataset: a step of 0");
    braid_op_desc *d = train_dataset_begin(g, "RangeDataset", NULL, 0);
    braid_op_input(d, braid_const_int64(g, "start", start));
    braid_op_input(d, braid_const_int64(g, "stop", stop));
    braid_op_input(d, braid_const_int64(g, "step", step));
    const braid_dtype dtype = BRAID_INT64;
    return train_dataset_end_typed(g, d, NULL, &dtype, &BRAID_SCALAR, 1);
}

// ---- Files ----

static braid_dataset end_strings(braid_graph *g, braid_op_desc *d)
{
    const braid_dtype dtype = BRAID_STRING;
    return train_dataset_end(g, d, &dtype, &BRAID_SCALAR, 1);
}

braid_dataset braid_dataset_list_files(braid_graph *g, braid_out patterns)
{
    braid_op_desc *d = train_dataset_begin(g, "MatchingFilesDataset", NULL, 0);
    braid_op_input(d, patterns);
    return end_strings(g, d);
}

static void put_reading(braid_graph *g, braid_op_desc *d, braid_out files, const char *compression)
{
    braid_op_input(d, files);
    braid_op_input(d, braid_const_string(g, "compression_type", compression ? compression : ""));
    braid_op_input(d, braid_const_int64(g, "buffer_size", BUFFER_BYTES));
}

braid_dataset braid_dataset_text_line(braid_graph *g, braid_out files, const char *compression)
{
    braid_op_desc *d = train_dataset_begin(g, "TextLineDataset", NULL, 0);
    put_reading(g, d, files, compression);
    return end_strings(g, d);
}

braid_dataset braid_dataset_tf_record(braid_graph *g, braid_out files, const char *compression)
{
    braid_op_desc *d = train_dataset_begin(g, "TFRecordDataset", NULL, 0);
    put_reading(g, d, files, compression);
    return end_strings(g, d);
}

braid_dataset braid_dataset_fixed_length_record(braid_graph *g, braid_out files, int64_t record_bytes,
                                                int64_t header_bytes, int64_t footer_bytes)
{
    if (record_bytes < 1 || header_bytes < 0 || footer_bytes < 0)
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "FixedLengthRecordDataset: records of %lld bytes, a header of %lld, a footer of %lld",
            (long long)record_bytes, (long long)header_bytes, (long long)footer_bytes);
    braid_op_desc *d = train_dataset_begin(g, "FixedLengthRecordDataset", NULL, 0);
    braid_op_input(d, files);
    braid_op_input(d, braid_const_int64(g, "header_bytes", header_bytes));
    braid_op_input(d, braid_const_int64(g, "record_bytes", record_bytes));
    braid_op_input(d, braid_const_int64(g, "footer_bytes", footer_bytes));
    braid_op_input(d, braid_const_int64(g, "buffer_size", BUFFER_BYTES));
    return end_strings(g, d);
}

braid_dataset braid_dataset_csv(braid_graph *g, braid_out files, const braid_out *record_defaults, int count,
                                bool has_header)
{
    const bool is_empty = !record_defaults || count < 1;
    if (is_empty) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "CSVDataset: no columns");
    if (is_empty || braid_graph_status(g, NULL)) return (braid_dataset){0};
    braid_dtype *dtypes = bd_calloc((size_t)count, sizeof *dtypes);
    braid_shape *shapes = bd_calloc((size_t)count, sizeof *shapes); // scalars
    for (int i = 0; i < count; i++)
        dtypes[i] = braid_out_dtype(record_defaults[i]);
    braid_tensor *all_columns = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(0), NULL);
    braid_op_desc *d = train_dataset_begin(g, "ExperimentalCSVDataset", NULL, 0);
    put_reading(g, d, files, NULL);
    braid_op_input(d, braid_const_bool(g, "header", has_header));
    braid_op_input(d, braid_const_string(g, "field_delim", ","));
    braid_op_input(d, braid_const_bool(g, "use_quote_delim", true));
    braid_op_input(d, braid_const_string(g, "na_value", ""));
    braid_op_input(d, braid_const(g, "select_cols", all_columns));
    braid_op_input_list(d, record_defaults, count);
    const braid_dataset out = train_dataset_end_typed(g, d, NULL, dtypes, shapes, count);
    braid_tensor_free(all_columns);
    bd_free(dtypes);
    bd_free(shapes);
    return out;
}
