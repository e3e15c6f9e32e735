// Summary nodes: those of TensorFlow's tf.summary, with their names and tags.
#include <braid/summary.h>

#include "base/alloc.h"
#include "train/common/build.h"

// A summary node and the constant of its tag, which is the node's name.
typedef struct building {
    braid_graph *g;
    const char *scope; // of the constants
    braid_op_desc *node;
} building;

static building begin(braid_graph *g, const char *op, const char *name, const char *tag_name)
{
    const char *scope = braid_push_name_scope(g, name ? name : op);
    char *tag = train_scope_name(scope);
    const braid_out tag_node = braid_const_string(g, tag_name, tag);
    braid_pop_name_scope(g);
    building b = {g, scope, braid_op_begin(g, op, scope)};
    braid_op_input(b.node, tag_node);
    bd_free(tag);
    return b;
}

static braid_out end(building *b)
{
    const braid_out summary = braid_op_end_out(b->node);
    if (summary.op) braid_collect(b->g, BRAID_SUMMARIES, summary);
    return summary;
}

braid_out braid_summary_scalar(braid_graph *g, const char *name, braid_out value)
{
    building b = begin(g, "ScalarSummary", name, "tags");
    braid_op_input(b.node, value);
    return end(&b);
}

braid_out braid_summary_histogram(braid_graph *g, const char *name, braid_out values)
{
    building b = begin(g, "HistogramSummary", name, "tag");
    braid_op_input(b.node, values);
    return end(&b);
}

braid_out braid_summary_image(braid_graph *g, const char *name, braid_out images, int max_outputs)
{
    building b = begin(g, "ImageSummary", name, "tag");
    braid_op_input(b.node, images);
    braid_op_attr_int(b.node, "max_images", max_outputs);
    return end(&b);
}

braid_out braid_summary_audio(braid_graph *g, const char *name, braid_out clips, float sample_rate,
                              int max_outputs)
{
    building b = begin(g, "AudioSummaryV2", name, "tag");
    (void)braid_push_name_scope(g, b.scope);
    const braid_out rate = braid_const_float(g, "sample_rate", sample_rate);
    braid_pop_name_scope(g);
    braid_op_input(b.node, clips);
    braid_op_input(b.node, rate);
    braid_op_attr_int(b.node, "max_outputs", max_outputs);
    return end(&b);
}

// A SummaryMetadata message that names TensorBoard's plugin for text.
static const char text_metadata[] = "\x0a\x06\x0a\x04text";

braid_out braid_summary_text(braid_graph *g, const char *name, braid_out texts)
{
    building b = begin(g, "TensorSummaryV2", name, "tag");
    (void)braid_push_name_scope(g, b.scope);
    const braid_out metadata = braid_const_string(g, "serialized_summary_metadata", text_metadata);
    braid_pop_name_scope(g);
    braid_op_input(b.node, texts);
    braid_op_input(b.node, metadata);
    return end(&b);
}

braid_out braid_summary_merge(braid_graph *g, const braid_out *summaries, int count)
{
    (void)braid_push_name_scope(g, "Merge");
    braid_op_desc *d = braid_op_begin(g, "MergeSummary", "MergeSummary");
    braid_op_input_list(d, summaries, count);
    const braid_out merged = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return merged;
}

braid_out braid_summary_merge_all(braid_graph *g)
{
    int count;
    const braid_out *summaries = braid_collection(g, BRAID_SUMMARIES, &count);
    return count ? braid_summary_merge(g, summaries, count) : BRAID_NONE;
}
