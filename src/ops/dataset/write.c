// DatasetToTFRecord: writes the elements of a dataset to a file as records.
//
// One execution reads the dataset. It writes each element on an I/O thread, then it pulls the next one.
#include "base/alloc.h"
#include "io/record.h"
#include "ops/common/file_arg.h"
#include "ops/dataset/files.h"

typedef struct write_run {
    bd_op_ctx *c;
    bd_chain *chain;
    bd_iterator *top;
    char *path; // owned
    bd_compression compression;
    bd_record_writer *writer; // NULL before the first answer
} write_run;

static void end_run(write_run *w)
{
    BD_STATUS(st);
    bd_op_ctx *c = w->c;
    if (bd_record_writer_close(w->writer, st) && !bd_op_failed(c)) bd_op_fail_status(c, st);
    bd_iterator_close(w->top);
    bd_chain_unref(w->chain);
    bd_free(w->path);
    bd_free(w);
    bd_op_done(c);
}

static void write_element(write_run *w, const braid_tensor *t)
{
    BD_STATUS(st);
    if (t->dtype != BRAID_STRING || t->shape.rank != 0)
        bd_op_fail(w->c, BRAID_INVALID_ARGUMENT,
                   "DatasetToTFRecord '%s' writes scalars of strings, and no %s", w->c->node->name,
                   braid_dtype_name(t->dtype));
    else if (bd_record_write(w->writer, bd_tensor_str(t)[0].data, bd_tensor_str(t)[0].len, st))
        bd_op_fail_status(w->c, st);
}

static bd_turn write_answer(bd_iterator *it)
{
    BD_STATUS(st);
    write_run *w = it->chain->arg;
    if (!w->writer &&
        bd_record_writer_open(bd_op_fs(w->c), w->path, BD_FILE_CREATE, w->compression, &w->writer, st))
        bd_op_fail_status(w->c, st);
    if (it->answer.kind == BD_ANSWER_ERROR && !bd_op_failed(w->c)) bd_op_fail_status(w->c, &it->answer.st);
    if (it->answer.kind == BD_ANSWER_ELEMENT) {
        if (!bd_op_failed(w->c)) write_element(w, &it->answer.tensors[0]);
        bd_answer_drop(it);
        if (!bd_op_failed(w->c)) return bd_pull(NULL, it);
    }
    end_run(w);
    return BD_WAIT;
}

static bd_turn answered(bd_chain *chain, bd_iterator *it)
{
    (void)chain;
    return bd_turn_on_disk(it, write_answer);
}

static bool check_dataset(bd_op_ctx *c, const bd_dataset *d)
{
    if (d->count != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "ToTFRecordOp currently only support datasets of 1 single column, but got %d", d->count);
    else if (d->types[0] != BRAID_STRING)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "ToTFRecordOp currently only supports DT_STRING dataypes, but got %s",
                   braid_dtype_name(d->types[0]));
    return !bd_op_failed(c);
}

static void begin(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_compression compression;
    bd_dataset *d = bd_input_dataset(c, 0);
    if (!d || !bd_input_scalar(c, 1, "filename", BRAID_STRING) || !bd_input_compression(c, 2, &compression) ||
        !check_dataset(c, d)) {
        bd_op_done(c);
        return;
    }
    write_run *w = bd_calloc(1, sizeof *w);
    w->c = c;
    w->compression = compression;
    w->chain = bd_chain_new(c->step, c->step->cancellation);
    w->chain->answered = answered;
    w->chain->arg = w;
    w->path = bd_input_text(c, 1, 0);
    if (w->path && !bd_iterator_open(d, w->chain, NULL, 0, &w->top, st)) {
        bd_turn_run(bd_pull(NULL, w->top));
        return;
    }
    if (st->code) bd_op_fail_status(c, st);
    end_run(w);
}

#define WRITE_OP                                                                                             \
    {                                                                                                        \
        .signature = "(input_dataset: variant, filename: string, compression_type: string) -> ()",           \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,                                                  \
        .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .start = begin}), .shape = bd_shape_fn_scalar,  \
        .doc = "Writes the elements of a dataset as the records of a TFRecord file."                         \
    }

BD_OP(DatasetToTFRecord) = WRITE_OP;
BD_OP(ExperimentalDatasetToTFRecord) = WRITE_OP;
