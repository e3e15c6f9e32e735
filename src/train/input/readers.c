// Readers: their nodes.
#include <braid/queues.h>

#include "train/common/build.h"

// ---- Kinds ----

braid_out braid_tf_record_reader(braid_graph *g, const char *compression)
{
    braid_op_desc *d = braid_op_begin(g, "TFRecordReaderV2", NULL);
    braid_op_attr_string(d, "compression_type", compression ? compression : "");
    return braid_op_end_out(d);
}

braid_out braid_text_line_reader(braid_graph *g, int skip_header_lines)
{
    braid_op_desc *d = braid_op_begin(g, "TextLineReaderV2", NULL);
    braid_op_attr_int(d, "skip_header_lines", skip_header_lines);
    return braid_op_end_out(d);
}

braid_out braid_whole_file_reader(braid_graph *g)
{
    return braid_op_end_out(braid_op_begin(g, "WholeFileReaderV2", NULL));
}

braid_out braid_identity_reader(braid_graph *g)
{
    return braid_op_end_out(braid_op_begin(g, "IdentityReaderV2", NULL));
}

braid_out braid_fixed_length_record_reader(braid_graph *g, const braid_fixed_length_options *o)
{
    static const braid_fixed_length_options none;
    if (!o) o = &none;
    if (o->record_bytes < 1 || o->header_bytes < 0 || o->footer_bytes < 0 || o->hop_bytes < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "A reader of records of %lld bytes, header %lld, footer %lld, hop %lld",
                         (long long)o->record_bytes, (long long)o->header_bytes, (long long)o->footer_bytes,
                         (long long)o->hop_bytes);
    if (braid_graph_status(g, NULL)) return BRAID_NONE;
    braid_op_desc *d = braid_op_begin(g, "FixedLengthRecordReaderV2", NULL);
    braid_op_attr_int(d, "header_bytes", o->header_bytes);
    braid_op_attr_int(d, "record_bytes", o->record_bytes);
    braid_op_attr_int(d, "footer_bytes", o->footer_bytes);
    braid_op_attr_int(d, "hop_bytes", o->hop_bytes);
    braid_op_attr_string(d, "encoding", o->compression ? o->compression : "");
    return braid_op_end_out(d);
}

// ---- Reading ----

braid_read braid_reader_read(braid_graph *g, braid_out reader, braid_queue files)
{
    const braid_out inputs[] = {reader, files.handle};
    braid_op *op = braid_op_add(g, "ReaderReadV2", NULL, inputs, 2);
    return op ? (braid_read){braid_output(op, 0), braid_output(op, 1)} : (braid_read){0};
}

braid_read braid_reader_read_up_to(braid_graph *g, braid_out reader, braid_queue files, int64_t count)
{
    if (count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Reading up to %lld records", (long long)count);
    const char *scope = braid_push_name_scope(g, "ReaderReadUpToV2");
    const braid_out inputs[] = {reader, files.handle, braid_const_int64(g, "num_records", count)};
    braid_op *op = braid_op_add(g, "ReaderReadUpToV2", scope, inputs, 3);
    braid_pop_name_scope(g);
    return op ? (braid_read){braid_output(op, 0), braid_output(op, 1)} : (braid_read){0};
}

// ---- State ----

braid_out braid_reader_num_records_produced(braid_graph *g, braid_out reader)
{
    return train_node1(g, "ReaderNumRecordsProducedV2", NULL, reader);
}

braid_out braid_reader_num_work_units_completed(braid_graph *g, braid_out reader)
{
    return train_node1(g, "ReaderNumWorkUnitsCompletedV2", NULL, reader);
}

braid_out braid_reader_serialize_state(braid_graph *g, braid_out reader)
{
    return train_node1(g, "ReaderSerializeStateV2", NULL, reader);
}

braid_op *braid_reader_restore_state(braid_graph *g, braid_out reader, braid_out state)
{
    return braid_op_add(g, "ReaderRestoreStateV2", NULL, (braid_out[]){reader, state}, 2);
}

braid_op *braid_reader_reset(braid_graph *g, braid_out reader)
{
    return braid_op_add(g, "ReaderResetV2", NULL, &reader, 1);
}
