// Summary nodes, whose values an event writer writes for TensorBoard (tf.summary).
//
//     braid_summary_scalar(graph, "loss", loss);
//     braid_summary_histogram(graph, "weights", weights.read);
//     ... .checkpoint_dir = dir ... // the monitored session's chief writes them every 100 steps
//
// Each node is a serialized Summary, a string scalar, and is in the collection "summaries". Its tag is `name`
// behind the name scope. Errors are the graph's.
#ifndef BRAID_SUMMARY_H
#define BRAID_SUMMARY_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRAID_SUMMARIES "summaries"

/// A number: `value` is a scalar of a real type.
BRAID_API braid_out braid_summary_scalar(braid_graph *graph, const char *name, braid_out value);
/// The distribution of the elements of `values`, of any shape and real type. Fails when one is not finite.
BRAID_API braid_out braid_summary_histogram(braid_graph *graph, const char *name, braid_out values);
/// The first `max_outputs` images of [batch, height, width, channels]: 1 (grey), 3 (RGB) or 4 channels;
/// uint8, or floats, which are scaled.
BRAID_API braid_out braid_summary_image(braid_graph *graph, const char *name, braid_out images,
                                        int max_outputs);
/// The first `max_outputs` clips of float [batch, frames, channels] or [batch, frames] from -1 to 1;
/// `sample_rate` in Hz.
BRAID_API braid_out braid_summary_audio(braid_graph *graph, const char *name, braid_out clips,
                                        float sample_rate, int max_outputs);
/// Texts: strings of any shape, shown as Markdown.
BRAID_API braid_out braid_summary_text(braid_graph *graph, const char *name, braid_out texts);

/// One summary of several. It fails when two have the same tag.
BRAID_API braid_out braid_summary_merge(braid_graph *graph, const braid_out *summaries, int count);
/// One summary of the collection "summaries"; no output when that is empty.
BRAID_API braid_out braid_summary_merge_all(braid_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
